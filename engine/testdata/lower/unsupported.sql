-- update
SELECT t.k FROM t JOIN e ON t.k = e.k
----
map1: Map [k@0]
  columns: k integer
  changes: any
  join0: Join inner on [k = k]
    columns: k integer, k integer
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

-- update
SELECT k FROM t WHERE k IN (SELECT k FROM e)
----
join0: Join left semi on [k = k]
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

-- update
SELECT k FROM t WHERE x = (SELECT max(x) FROM e)
----
map1: Map [k@0]
  columns: k integer
  changes: any
  join0: Join inner on [x = max(e.x)]
    columns: k integer, x bigint, max(e.x) bigint
    changes: any
    state: the rows of both sides
    <- to workers by hash of x
    map0: Map where true
      columns: k integer, x bigint
      changes: any
      input0: Read t
        columns: k integer, x bigint
        changes: any
    <- to workers by hash of max(e.x)
    aggregate0: FinalAggregate by [] accumulates [rows, max(x)], emits changes
      columns: max(e.x) bigint
      changes: any
      state: one group
      <- all rows to one worker
      partial0: PartialAggregate by [] accumulates [rows, max(x)]
        columns: state0.0 bigint, rows bigint
        changes: insertions only
        input1: Read e, watermark ts - 10 s
          columns: x bigint, ts timestamp without time zone
          event time: ts
          changes: insertions only

-- update
SELECT 1 AS one
----
map0: Map [1 as one]
  columns: one bigint
  changes: insertions only
  constant0: Constant, 1 rows
    columns: 
    changes: insertions only
    empty0: Empty
      columns: 
      changes: insertions only

-- update
VALUES (1), (2)
----
constant0: Constant, 2 rows
  columns: column1 bigint
  changes: insertions only
  empty0: Empty
    columns: column1 bigint
    changes: insertions only

