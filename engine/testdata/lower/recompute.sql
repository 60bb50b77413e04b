-- update
SELECT k FROM t ORDER BY k
----
input0: Read t
  columns: k integer
  changes: any

-- update
SELECT k FROM t LIMIT 3
----
first0: FirstRows by []: limit 3, emits changes
  columns: k integer
  changes: any
  state: all input rows, kept for ever
  <- all rows to one worker
  input0: Read t
    columns: k integer
    changes: any

-- update
SELECT k, row_number() OVER (ORDER BY x) FROM t
----
map0: Map [k@0, row_number() ORDER BY [t.x ASC NULLS LAST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW@2]
  columns: k integer, row_number() ORDER BY [t.x ASC NULLS LAST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW numeric(20,0)
  changes: any
  recompute0: Recompute by []: row_number() ORDER BY [t.x ASC NULLS LAST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW, emits changes
    columns: k integer, x bigint, row_number() ORDER BY [t.x ASC NULLS LAST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW numeric(20,0)
    changes: any
    state: all input rows, kept for ever
    <- all rows to one worker
    input0: Read t
      columns: k integer, x bigint
      changes: any

-- update
SELECT DISTINCT ON (k) k, s FROM t ORDER BY k, s
----
first0: FirstRows by [k] ordered by [s]: the first row, emits changes
  columns: k integer, s text
  key: k
  changes: any
  state: all input rows per (k), kept for ever
  <- to workers by hash of k
  input0: Read t
    columns: k integer, s text
    changes: any

-- update
SELECT k, x FROM (SELECT k, x, row_number() OVER (PARTITION BY k ORDER BY x DESC) AS n FROM e) WHERE n <= 3
----
map1: Map [k@0, x@1]
  columns: k integer, x bigint
  changes: any
  first0: FirstRows by [k] ordered by [x desc]: row_number 1 to 3, emits changes
    columns: k integer, x bigint, row_number() PARTITION BY [e.k] ORDER BY [e.x DESC NULLS FIRST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW numeric(20,0)
    changes: any
    state: the first 3 rows per (k), kept for ever
    <- to workers by hash of k
    map0: Map [k@0, x@1]
      columns: k integer, x bigint
      changes: insertions only
      input0: Read e, watermark ts - 10 s
        columns: k integer, x bigint, ts timestamp without time zone
        event time: ts
        changes: insertions only

-- update
SELECT k, s, count(*) OVER (PARTITION BY k) AS a, sum(x) OVER (PARTITION BY k, s ORDER BY ts) AS b FROM t
----
map0: Map [k@0, s@1, count(Int64(1)) PARTITION BY [t.k] ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING@3 as a, sum(t.x) PARTITION BY [t.k, t.s] ORDER BY [t.ts ASC NULLS LAST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW@2 as b]
  columns: k integer, s text, a bigint, b numeric(38,0)
  changes: any
  recompute0: Recompute by [k]: sum(t.x) PARTITION BY [t.k, t.s] ORDER BY [t.ts ASC NULLS LAST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW; count(Int64(1)) PARTITION BY [t.k] ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING, emits changes
    columns: k integer, s text, sum(t.x) PARTITION BY [t.k, t.s] ORDER BY [t.ts ASC NULLS LAST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW numeric(38,0), count(Int64(1)) PARTITION BY [t.k] ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING bigint
    changes: any
    state: all input rows per (k), kept for ever
    <- to workers by hash of k
    input0: Read t
      columns: k integer, s text, x bigint, ts timestamp without time zone
      changes: any

-- update
SELECT x FROM t ORDER BY x DESC LIMIT 5 OFFSET 2
----
first0: FirstRows by [] ordered by [x desc]: limit 5 offset 2, emits changes
  columns: x bigint
  changes: any
  state: all input rows, kept for ever
  <- all rows to one worker
  input0: Read t
    columns: x bigint
    changes: any

-- update
SELECT window_start, median(x) FROM e_hop GROUP BY window_start
----
recompute0: Recompute by [window_start]: median(CAST(e_hop.x AS Float64)), emits changes
  columns: window_start timestamp without time zone, median(e_hop.x) double precision
  key: window_start
  changes: any
  state: all input rows per (window_start), until the watermark passes the window's end
  <- to workers by hash of window_start
  map0: Map [window_start@2, CAST(x@0 AS Float64) as e_hop.x]
    columns: window_start timestamp without time zone, e_hop.x double precision
    changes: insertions only
    window0: WindowAssign hop(slide = 5 s, size = 10 s) over ts, late rows dropped
      columns: x bigint, ts timestamp without time zone, window_start timestamp without time zone, window_end timestamp without time zone
      changes: insertions only
      input0: Read e, watermark ts - 10 s
        columns: x bigint, ts timestamp without time zone
        event time: ts
        changes: insertions only

-- append
SELECT window_start, array_agg(k ORDER BY k) FROM e_tumble GROUP BY window_start
----
recompute0: Recompute by [window_start]: array_agg(e_tumble.k) ORDER BY [e_tumble.k ASC NULLS LAST], emits when the window is final
  columns: window_start timestamp without time zone, array_agg(e_tumble.k) ORDER BY [e_tumble.k ASC NULLS LAST] integer[]
  key: window_start
  changes: insertions only
  state: all input rows per (window_start), until the watermark passes the window's end
  <- to workers by hash of window_start
  map0: Map [window_start@2, k@0]
    columns: window_start timestamp without time zone, k integer
    changes: insertions only
    window0: WindowAssign tumble(size = 10 s) over ts, late rows dropped
      columns: k integer, ts timestamp without time zone, window_start timestamp without time zone, window_end timestamp without time zone
      changes: insertions only
      input0: Read e, watermark ts - 10 s
        columns: k integer, ts timestamp without time zone
        event time: ts
        changes: insertions only

-- append
SELECT window_start, k, c, rank() OVER (PARTITION BY window_start ORDER BY c DESC) AS r FROM (SELECT window_start, k, count(*) AS c FROM e_tumble GROUP BY window_start, k)
----
map1: Map [window_start@0, k@1, c@2, rank() PARTITION BY [e_tumble.window_start] ORDER BY [c DESC NULLS FIRST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW@3 as r]
  columns: window_start timestamp without time zone, k integer, c bigint, r numeric(20,0)
  changes: insertions only
  recompute0: Recompute by [window_start]: rank() PARTITION BY [e_tumble.window_start] ORDER BY [c DESC NULLS FIRST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW, emits when the window is final
    columns: window_start timestamp without time zone, k integer, c bigint, rank() PARTITION BY [e_tumble.window_start] ORDER BY [c DESC NULLS FIRST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW numeric(20,0)
    changes: insertions only
    state: all input rows per (window_start), until the watermark passes the window's end
    <- to workers by hash of window_start
    map0: Map [window_start@0, k@1, count(Int64(1))@2 as c]
      columns: window_start timestamp without time zone, k integer, c bigint
      key: window_start, k
      changes: any
      aggregate0: FinalAggregate by [tumble(size = 10 s) over ts, k] accumulates [rows], emits changes
        columns: window_start timestamp without time zone, k integer, count(Int64(1)) bigint
        key: window_start, k
        changes: any
        state: one group per (k) and window, until the watermark passes the window's end
        <- to workers by hash of window_start, k
        partial0: PartialAggregate by [tumble(size = 10 s) over ts, k] accumulates [rows]
          columns: window_start timestamp without time zone, k integer, rows bigint
          changes: insertions only
          input0: Read e, watermark ts - 10 s
            columns: k integer, ts timestamp without time zone
            event time: ts
            changes: insertions only

-- append
SELECT k, median(x) FROM e GROUP BY k
----
error: output_mode 'append' needs groups that become final, but a group by e.k never does: group by a window over a column with a watermark
hint: Use output_mode 'update' (EMIT CHANGES) to see results as they change.

-- append
SELECT x, row_number() OVER (ORDER BY x) FROM e
----
error: output_mode 'append' needs rows that become final, but a window function (OVER) can change with every new row unless it is computed per window of a column with a watermark
hint: Use output_mode 'update' (EMIT CHANGES) to see results as they change.

-- append
SELECT x FROM e ORDER BY x LIMIT 3
----
error: output_mode 'append' needs rows that become final, but LIMIT can change with every new row unless it is computed per window of a column with a watermark
hint: Use output_mode 'update' (EMIT CHANGES) to see results as they change.

-- complete
SELECT window_start, count(*) AS c FROM e_tumble GROUP BY window_start ORDER BY c DESC LIMIT 2
----
first0: FirstRows by [] ordered by [c desc]: limit 2, emits changes
  columns: window_start timestamp without time zone, c bigint
  key: window_start
  changes: any
  state: all input rows, kept for ever
  <- all rows to one worker
  map0: Map [window_start@0, count(Int64(1))@1 as c]
    columns: window_start timestamp without time zone, c bigint
    key: window_start
    changes: any
    aggregate0: FinalAggregate by [tumble(size = 10 s) over ts] accumulates [rows], emits changes
      columns: window_start timestamp without time zone, count(Int64(1)) bigint
      key: window_start
      changes: any
      state: one group and window, kept for ever: no watermark makes the window final
      <- to workers by hash of window_start
      partial0: PartialAggregate by [tumble(size = 10 s) over ts] accumulates [rows]
        columns: window_start timestamp without time zone, rows bigint
        changes: insertions only
        input0: Read e, watermark ts - 10 s
          columns: ts timestamp without time zone
          event time: ts
          changes: insertions only

-- complete
SELECT k FROM e
----
error: output_mode 'complete' needs an aggregation: without one the result only grows with its input
hint: Use output_mode 'update', which shows the same rows, or 'append'.

