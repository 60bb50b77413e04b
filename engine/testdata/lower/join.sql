-- update
SELECT t.k, t.s, e.x FROM t JOIN e ON t.k = e.k AND t.x < e.x
----
map1: Map [k@0, s@1, x@4]
  columns: k integer, s text, x bigint
  changes: any
  join0: Join inner on [k = k] where t.x@0 < e.x@1
    columns: k integer, s text, x bigint, k integer, x bigint
    changes: any
    state: the rows of both sides
    <- to workers by hash of k
    input0: Read t
      columns: k integer, s text, x bigint
      changes: any
    <- to workers by hash of k
    map0: Map [k@0, x@1]
      columns: k integer, x bigint
      changes: insertions only
      input1: Read e, watermark ts - 10 s
        columns: k integer, x bigint, ts timestamp without time zone
        event time: ts
        changes: insertions only

-- update
SELECT t.k, e.x FROM t LEFT JOIN e ON t.k + 1 = e.k
----
map2: Map [k@0, x@2]
  columns: k integer, x bigint
  changes: any
  join0: Join left on [CAST(t.k AS Int64) + Int64(1) = CAST(e.k AS Int64)]
    columns: k integer, k integer, x bigint
    changes: any
    state: the rows of both sides
    <- to workers by hash of CAST(t.k AS Int64) + Int64(1)
    map0: Map [k@0, CAST(k@0 AS Int64) + 1 as CAST(t.k AS Int64) + Int64(1)]
      columns: k integer, CAST(t.k AS Int64) + Int64(1) bigint
      changes: any
      input0: Read t
        columns: k integer
        changes: any
    <- to workers by hash of CAST(e.k AS Int64)
    map1: Map [k@0, x@1, CAST(k@0 AS Int64) as CAST(e.k AS Int64)]
      columns: k integer, x bigint, CAST(e.k AS Int64) bigint
      changes: insertions only
      input1: Read e, watermark ts - 10 s
        columns: k integer, x bigint, ts timestamp without time zone
        event time: ts
        changes: insertions only

-- update
SELECT t.k, e.x FROM t FULL JOIN e ON t.s IS NOT DISTINCT FROM e.s
----
map1: Map [k@0, x@3]
  columns: k integer, x bigint
  changes: any
  join0: Join full on [s is not distinct from s]
    columns: k integer, s text, s text, x bigint
    changes: any
    state: the rows of both sides
    <- to workers by hash of s
    input0: Read t
      columns: k integer, s text
      changes: any
    <- to workers by hash of s
    map0: Map [s@0, x@1]
      columns: s text, x bigint
      changes: insertions only
      input1: Read e, watermark ts - 10 s
        columns: s text, x bigint, ts timestamp without time zone
        event time: ts
        changes: insertions only

-- update
SELECT t.k, e.x FROM t CROSS JOIN e
----
join0: Join cross
  columns: k integer, x bigint
  changes: any
  state: the rows of both sides
  <- all rows to one worker
  input0: Read t
    columns: k integer
    changes: any
  <- all rows to one worker
  map0: Map [x@0]
    columns: x bigint
    changes: insertions only
    input1: Read e, watermark ts - 10 s
      columns: x bigint, ts timestamp without time zone
      event time: ts
      changes: insertions only

-- update
SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM e WHERE e.k = t.k)
----
join0: Join left anti on [k = k]
  columns: k integer
  changes: any
  state: the rows of both sides
  <- to workers by hash of k
  input0: Read t
    columns: k integer
    changes: any
  <- to workers by hash of k
  map0: Map [k@0]
    columns: k integer
    changes: insertions only
    input1: Read e, watermark ts - 10 s
      columns: k integer, ts timestamp without time zone
      event time: ts
      changes: insertions only

-- append
SELECT a.k, b.s FROM e a JOIN e b ON a.k = b.k
----
map2: Map [k@0, s@2]
  columns: k integer, s text
  changes: insertions only
  join0: Join inner on [k = k]
    columns: k integer, k integer, s text
    changes: insertions only
    state: the rows of both sides
    <- to workers by hash of k
    map0: Map [k@0]
      columns: k integer
      changes: insertions only
      input0: Read e, watermark ts - 10 s
        columns: k integer, ts timestamp without time zone
        event time: ts
        changes: insertions only
    <- to workers by hash of k
    map1: Map [k@0, s@1]
      columns: k integer, s text
      changes: insertions only
      input1: Read e, watermark ts - 10 s
        columns: k integer, s text, ts timestamp without time zone
        event time: ts
        changes: insertions only

-- append
SELECT a.k, b.s FROM e a LEFT JOIN e b ON a.k = b.k
----
error: output_mode 'append' cannot have an outer join or NOT EXISTS: a row that came out for want of a partner is taken back when one arrives (Join left on [k = k])
hint: Use output_mode 'update' (EMIT CHANGES), or an inner join.

