-- update
SELECT window_start, window_end, k, count(*), sum(x), avg(x) FROM e_tumble GROUP BY window_start, window_end, k
----
map0: Map [window_start@0, window_end@1, k@2, count(Int64(1))@3 as count(*), sum(e_tumble.x)@4, avg(e_tumble.x)@5]
  columns: window_start timestamp without time zone, window_end timestamp without time zone, k integer, count(*) bigint, sum(e_tumble.x) numeric(38,0), avg(e_tumble.x) numeric(38,16)
  key: window_start, window_end, k
  changes: any
  aggregate0: FinalAggregate by [tumble(size = 10 s) over ts, k] accumulates [rows, sum(x)], emits changes
    columns: window_start timestamp without time zone, window_end timestamp without time zone, k integer, count(Int64(1)) bigint, sum(e_tumble.x) numeric(38,0), avg(e_tumble.x) numeric(38,16)
    key: window_start, window_end, k
    changes: any
    state: one group per (k) and window, until the watermark passes the window's end
    <- to workers by hash of window_start, k
    partial0: PartialAggregate by [tumble(size = 10 s) over ts, k] accumulates [rows, sum(x)]
      columns: window_start timestamp without time zone, k integer, state0.0 numeric(38,0), state0.1 bigint, rows bigint
      changes: insertions only
      input0: Read e, watermark ts - 10 s
        columns: k integer, x bigint, ts timestamp without time zone
        event time: ts
        changes: insertions only

-- append
SELECT window_start, k, count(*) AS n FROM e_hop WHERE s = 'a' GROUP BY window_start, k
----
map1: Map [window_start@0, k@1, count(Int64(1))@2 as n]
  columns: window_start timestamp without time zone, k integer, n bigint
  key: window_start, k
  changes: insertions only
  aggregate0: FinalAggregate by [hop(slide = 5 s, size = 10 s) over ts, k] accumulates [rows], emits when the window is final, from the one before
    columns: window_start timestamp without time zone, k integer, count(Int64(1)) bigint
    key: window_start, k
    changes: insertions only
    state: one group per (k) and window, until the watermark passes the window's end
    <- to workers by hash of k
    partial0: PartialAggregate by [hop(slide = 5 s, size = 10 s) over ts, k] accumulates [rows]
      columns: window_start timestamp without time zone, windows integer, k integer, rows bigint
      changes: insertions only
      map0: Map where s@1 = a, then [ts@2, k@0]
        columns: ts timestamp without time zone, k integer
        changes: insertions only
        input0: Read e, watermark ts - 10 s
          columns: k integer, s text, ts timestamp without time zone
          event time: ts
          changes: insertions only

-- complete
SELECT window_start, count(*) AS n FROM e_tumble GROUP BY window_start
----
map0: Map [window_start@0, count(Int64(1))@1 as n]
  columns: window_start timestamp without time zone, n bigint
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

-- append
SELECT w, count(*) AS n FROM (SELECT named_struct('start', window_start, 'end', window_end) AS w FROM e_tumble) GROUP BY w
----
map0: Map [named_struct(start, window_start@1, end, window_end@2) as w, count(Int64(1))@0 as n]
  columns: w record, n bigint
  key: w
  changes: insertions only
  aggregate0: FinalAggregate by [tumble(size = 10 s) over ts] accumulates [rows], emits when the window is final
    columns: count(Int64(1)) bigint, window_start timestamp without time zone, window_end timestamp without time zone
    key: window_start, window_end
    changes: insertions only
    state: one group and window, until the watermark passes the window's end
    <- to workers by hash of window_start
    partial0: PartialAggregate by [tumble(size = 10 s) over ts] accumulates [rows]
      columns: window_start timestamp without time zone, rows bigint
      changes: insertions only
      input0: Read e, watermark ts - 10 s
        columns: ts timestamp without time zone
        event time: ts
        changes: insertions only

-- append
SELECT window_start, n FROM (SELECT window_start, count(*) AS n FROM e_tumble GROUP BY window_start) WHERE window_start > TIMESTAMP '2026-01-01' AND n > 2
----
map0: Map where window_start@2 > 1767225600000000, then [window_start@0, count(Int64(1))@1], then where count(Int64(1))@1 > 2, then [window_start@0, count(Int64(1))@1 as n]
  columns: window_start timestamp without time zone, n bigint
  key: window_start
  changes: insertions only
  aggregate0: FinalAggregate by [tumble(size = 10 s) over ts] accumulates [rows], emits when the window is final
    columns: window_start timestamp without time zone, count(Int64(1)) bigint, window_start timestamp without time zone, window_end timestamp without time zone
    key: window_start, window_end
    changes: insertions only
    state: one group and window, until the watermark passes the window's end
    <- to workers by hash of window_start
    partial0: PartialAggregate by [tumble(size = 10 s) over ts] accumulates [rows]
      columns: window_start timestamp without time zone, rows bigint
      changes: insertions only
      input0: Read e, watermark ts - 10 s
        columns: ts timestamp without time zone
        event time: ts
        changes: insertions only

-- append
SELECT window_end, count(*) FROM e_hop WHERE window_start > ts - INTERVAL '3 seconds' GROUP BY window_end
----
map1: Map [window_end@0, count(Int64(1))@1 as count(*)]
  columns: window_end timestamp without time zone, count(*) bigint
  key: window_end
  changes: insertions only
  aggregate0: FinalAggregate by [e_hop.window_end - IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 10000000000 }") + 10 s] accumulates [rows], emits when the window is final
    columns: window_end timestamp without time zone, count(Int64(1)) bigint
    key: window_end
    changes: insertions only
    state: one group and window, until the watermark passes the window's end
    <- to workers by hash of window_start
    partial0: PartialAggregate by [e_hop.window_end - IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 10000000000 }") + 10 s] accumulates [rows]
      columns: window_start timestamp without time zone, rows bigint
      changes: insertions only
      map0: Map where window_start@1 > ts@0 - IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 3000000000 }, then [window_end@2 - IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 10000000000 } as e_hop.window_end - IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 10000000000 }")]
        columns: e_hop.window_end - IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 10000000000 }") timestamp without time zone
        changes: insertions only
        window0: WindowAssign hop(slide = 5 s, size = 10 s) over ts, late rows dropped
          columns: ts timestamp without time zone, window_start timestamp without time zone, window_end timestamp without time zone
          changes: insertions only
          input0: Read e, watermark ts - 10 s
            columns: ts timestamp without time zone
            event time: ts
            changes: insertions only

-- append
SELECT window_start, max(n) FROM (SELECT window_start, k, count(*) AS n FROM e_tumble GROUP BY window_start, k) GROUP BY window_start
----
aggregate1: FinalAggregate by [window_start + 10 s] accumulates [rows, max(n)], emits when the window is final
  columns: window_start timestamp without time zone, max(n) bigint
  key: window_start
  changes: insertions only
  state: one group and window, until the watermark passes the window's end
  <- to workers by hash of window_start
  partial1: PartialAggregate by [window_start + 10 s] accumulates [rows, max(n)]
    columns: window_start timestamp without time zone, state0.0 record[], rows bigint
    changes: insertions only
    map0: Map [window_start@0, count(Int64(1))@2 as n]
      columns: window_start timestamp without time zone, n bigint
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
SELECT window_start, count(*) FROM t_tumble GROUP BY window_start
----
error: output_mode 'append' needs a watermark on column ts, by which its windows become final: declare WATERMARK FOR ts on the relation
hint: Use output_mode 'update' (EMIT CHANGES) to see results as they change.

-- append
SELECT window_start, count(*) FROM (SELECT * FROM e_tumble UNION ALL SELECT * FROM t_tumble) GROUP BY window_start
----
error: output_mode 'append' needs groups that become final, but a group by window_start never does: group by a window over a column with a watermark
hint: Use output_mode 'update' (EMIT CHANGES) to see results as they change.

-- update
SELECT k, count(*) FROM e_hop GROUP BY k
----
map1: Map [k@0, count(Int64(1))@1 as count(*)]
  columns: k integer, count(*) bigint
  key: k
  changes: any
  aggregate0: FinalAggregate by [k] accumulates [rows], emits changes
    columns: k integer, count(Int64(1)) bigint
    key: k
    changes: any
    state: one group per (k), kept for ever
    <- to workers by hash of k
    partial0: PartialAggregate by [k] accumulates [rows]
      columns: k integer, rows bigint
      changes: insertions only
      map0: Map [k@0]
        columns: k integer
        changes: insertions only
        window0: WindowAssign hop(slide = 5 s, size = 10 s) over ts
          columns: k integer, ts timestamp without time zone, window_start timestamp without time zone, window_end timestamp without time zone
          changes: insertions only
          input0: Read e, watermark ts - 10 s
            columns: k integer, ts timestamp without time zone
            event time: ts
            changes: insertions only

