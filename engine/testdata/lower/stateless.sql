-- update
SELECT k, x + 1 AS y FROM t WHERE s = 'a'
----
map0: Map where s@1 = a, then [k@0, x@2 + 1 as y]
  columns: k integer, y bigint
  changes: any
  input0: Read t
    columns: k integer, s text, x bigint
    changes: any

-- append
SELECT k, ts FROM e WHERE x > 3 AND s LIKE 'a%'
----
map0: Map where x@2 > 3, then where s@1 LIKE a%, then [k@0, ts@3]
  columns: k integer, ts timestamp without time zone
  event time: ts
  changes: insertions only
  input0: Read e, watermark ts - 10 s
    columns: k integer, s text, x bigint, ts timestamp without time zone
    event time: ts
    changes: insertions only

-- append
SELECT k FROM t
----
error: output_mode 'append' needs input that is only ever added to, but rows of t can change
hint: Use output_mode 'update' (EMIT CHANGES), or read from a stream or a source.

-- update
SELECT k, processing_time() AS at FROM e
----
map0: Map [k@0, processing_time() as at]
  columns: k integer, at timestamp with time zone
  changes: insertions only
  input0: Read e, watermark ts - 10 s
    columns: k integer, ts timestamp without time zone
    event time: ts
    changes: insertions only

-- update
SELECT k, processing_time() AS at FROM t
----
error: now() cannot be kept up to date by a streaming view: its input can change, and a row would not have the same time when it is taken back
hint: Compare it with a time or day of the row in WHERE, as in ts > now() - INTERVAL '1 hour' (a month is no fixed time), or read from a stream or a source, where rows are only added.

-- update
SELECT k, random() AS r FROM e
----
error: random() cannot be kept up to date by a streaming view: it gives another value each time, also when a row is taken back or an epoch is run again
hint: Compute the value where the rows are made and store it in a column.

-- update
SELECT k, s FROM t UNION ALL SELECT k, s FROM e UNION ALL SELECT k, s FROM t
----
union0: Union
  columns: k integer, s text
  changes: any
  input0: Read t
    columns: k integer, s text
    changes: any
  map0: Map [k@0, s@1]
    columns: k integer, s text
    changes: insertions only
    input1: Read e, watermark ts - 10 s
      columns: k integer, s text, ts timestamp without time zone
      event time: ts
      changes: insertions only
  input2: Read t
    columns: k integer, s text
    changes: any

-- append
SELECT k, unnest(make_array(x, 1)) AS u FROM e
----
map1: Map [k@0, __unnest_placeholder(make_array(e.x,Int64(1)),depth=1)@1 as u]
  columns: k integer, u bigint
  changes: insertions only
  unnest0: Unnest __unnest_placeholder(make_array(e.x,Int64(1)))
    columns: k integer, __unnest_placeholder(make_array(e.x,Int64(1)),depth=1) bigint
    changes: insertions only
    map0: Map [k@0, make_array(x@1, 1) as __unnest_placeholder(make_array(e.x,Int64(1)))]
      columns: k integer, __unnest_placeholder(make_array(e.x,Int64(1))) bigint[]
      changes: insertions only
      input0: Read e, watermark ts - 10 s
        columns: k integer, x bigint, ts timestamp without time zone
        event time: ts
        changes: insertions only

-- append
SELECT window_start, k FROM e_hop WHERE k > 0
----
map1: Map [window_start@2, k@0]
  columns: window_start timestamp without time zone, k integer
  changes: insertions only
  window0: WindowAssign hop(slide = 5 s, size = 10 s) over ts
    columns: k integer, ts timestamp without time zone, window_start timestamp without time zone, window_end timestamp without time zone
    changes: insertions only
    map0: Map where k@0 > 0
      columns: k integer, ts timestamp without time zone
      changes: insertions only
      input0: Read e, watermark ts - 10 s
        columns: k integer, ts timestamp without time zone
        event time: ts
        changes: insertions only

