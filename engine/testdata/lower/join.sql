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
error: output_mode 'append' cannot have this outer join or NOT EXISTS: nothing says when a row without a partner will not get one any more (Join left on [k = k])
hint: Bound the time between partners, as in r.ts BETWEEN l.ts AND l.ts + INTERVAL '1 hour', with a watermark on both times; or use output_mode 'update' (EMIT CHANGES).

-- append
SELECT e.k, e.ts, g.x FROM e LEFT JOIN g ON e.k = g.k AND g.ts BETWEEN e.ts AND e.ts + INTERVAL '5 seconds'
----
map0: Map [k@0, ts@1, x@3]
  columns: k integer, ts timestamp without time zone, x bigint
  event time: ts
  changes: insertions only
  join0: Join left on [k = k] where g.ts@1 >= e.ts@0 AND g.ts@1 <= e.ts@0 + IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 5000000000 }, right ts - left ts in 0 us .. 5 s, rows without a match come out when none can come
    columns: k integer, ts timestamp without time zone, k integer, x bigint, ts timestamp without time zone
    event time: ts
    changes: insertions only
    state: left rows with ts >= watermark of g - 5 s, right rows with ts >= least of (watermark of e, watermark of g - 5 s)
    <- to workers by hash of k
    input0: Read e, watermark ts - 10 s
      columns: k integer, ts timestamp without time zone
      event time: ts
      changes: insertions only
    <- to workers by hash of k
    input1: Read g, watermark ts - 4 s
      columns: k integer, x bigint, ts timestamp without time zone
      event time: ts
      changes: insertions only

-- update
SELECT e.k, g.x FROM e FULL JOIN g ON e.k = g.k AND g.ts > e.ts - INTERVAL '2 seconds' AND g.ts - e.ts < INTERVAL '5 seconds'
----
map0: Map [k@0, x@3]
  columns: k integer, x bigint
  changes: any
  join0: Join full on [k = k] where g.ts@1 > e.ts@0 - IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 2000000000 } AND CAST(g.ts@1 - e.ts@0 AS Interval(MonthDayNano)) < IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 5000000000 }, right ts - left ts in -1999999 us .. 4999999 us
    columns: k integer, ts timestamp without time zone, k integer, x bigint, ts timestamp without time zone
    event time: ts
    changes: any
    state: left rows with ts >= least of (watermark of e - 6999998 us, watermark of g - 4999999 us), right rows with ts >= least of (watermark of e - 1999999 us, watermark of g - 6999998 us)
    <- to workers by hash of k
    input0: Read e, watermark ts - 10 s
      columns: k integer, ts timestamp without time zone
      event time: ts
      changes: insertions only
    <- to workers by hash of k
    input1: Read g, watermark ts - 4 s
      columns: k integer, x bigint, ts timestamp without time zone
      event time: ts
      changes: insertions only

-- update
SELECT a.k, b.x FROM e AS a JOIN e AS b ON a.k = b.k AND b.ts >= a.ts
----
map0: Map [k@0, x@3]
  columns: k integer, x bigint
  changes: insertions only
  join0: Join inner on [k = k] where b.ts@1 >= a.ts@0, right ts - left ts in 0 us .. any
    columns: k integer, ts timestamp without time zone, k integer, x bigint, ts timestamp without time zone
    event time: ts
    changes: insertions only
    state: all left rows, right rows with ts >= watermark of e
    <- to workers by hash of k
    input0: Read e, watermark ts - 10 s
      columns: k integer, ts timestamp without time zone
      event time: ts
      changes: insertions only
    <- to workers by hash of k
    input1: Read e, watermark ts - 10 s
      columns: k integer, x bigint, ts timestamp without time zone
      event time: ts
      changes: insertions only

-- append
SELECT l.k, l.window_start, l.n, r.n FROM (SELECT k, window_start, count(*) AS n FROM e_tumble GROUP BY k, window_start) AS l JOIN (SELECT k, window_start, count(*) AS n FROM g_tumble GROUP BY k, window_start) AS r ON l.k = r.k AND l.window_start = r.window_start
----
map2: Map [k@0, window_start@1, n@2, n@5]
  columns: k integer, window_start timestamp without time zone, n bigint, n bigint
  changes: insertions only
  join0: Join inner on [k = k, window_start = window_start], right window_start - left window_start in 0 us .. 0 us
    columns: k integer, window_start timestamp without time zone, n bigint, k integer, window_start timestamp without time zone, n bigint
    changes: insertions only
    state: left rows with window_start >= watermark of g - 9999999 us, right rows with window_start >= watermark of e - 9999999 us
    <- to workers by hash of k, window_start
    map0: Map [k@0, window_start@1, count(Int64(1))@2 as n]
      columns: k integer, window_start timestamp without time zone, n bigint
      key: k, window_start
      changes: insertions only
      aggregate0: FinalAggregate by [tumble(size = 10 s) over ts, k] accumulates [rows], emits when the window is final
        columns: k integer, window_start timestamp without time zone, count(Int64(1)) bigint
        key: k, window_start
        changes: insertions only
        state: one group per (k) and window, until the watermark passes the window's end
        <- to workers by hash of window_start, k
        partial0: PartialAggregate by [tumble(size = 10 s) over ts, k] accumulates [rows]
          columns: window_start timestamp without time zone, k integer, rows bigint
          changes: insertions only
          input0: Read e, watermark ts - 10 s
            columns: k integer, ts timestamp without time zone
            event time: ts
            changes: insertions only
    <- to workers by hash of k, window_start
    map1: Map [k@0, window_start@1, count(Int64(1))@2 as n]
      columns: k integer, window_start timestamp without time zone, n bigint
      key: k, window_start
      changes: insertions only
      aggregate1: FinalAggregate by [tumble(size = 10 s) over ts, k] accumulates [rows], emits when the window is final
        columns: k integer, window_start timestamp without time zone, count(Int64(1)) bigint
        key: k, window_start
        changes: insertions only
        state: one group per (k) and window, until the watermark passes the window's end
        <- to workers by hash of window_start, k
        partial1: PartialAggregate by [tumble(size = 10 s) over ts, k] accumulates [rows]
          columns: window_start timestamp without time zone, k integer, rows bigint
          changes: insertions only
          input1: Read g, watermark ts - 4 s
            columns: k integer, ts timestamp without time zone
            event time: ts
            changes: insertions only

-- append
SELECT e.k, t.x FROM e LEFT JOIN t ON e.k = t.k
----
map1: Map [k@0, x@2]
  columns: k integer, x bigint
  changes: insertions only
  join0: Join left on [k = k], left rows meet the right rows of their epoch
    columns: k integer, k integer, x bigint
    changes: insertions only
    state: the rows of the right side
    <- to workers by hash of k
    map0: Map [k@0]
      columns: k integer
      changes: insertions only
      input0: Read e, watermark ts - 10 s
        columns: k integer, ts timestamp without time zone
        event time: ts
        changes: insertions only
    <- to workers by hash of k
    input1: Read t
      columns: k integer, x bigint
      changes: any

-- append
SELECT e.k, t.x FROM t LEFT JOIN e ON e.k = t.k
----
error: output_mode 'append' needs input that is only ever added to, but rows of t can change
hint: Use output_mode 'update' (EMIT CHANGES), or read from a stream or a source.

