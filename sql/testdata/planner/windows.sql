CREATE STREAM ev (k text, v int, ts timestamptz, "Event Time" timestamp)
----
CreateRelation ev reads []
  k text
  v integer
  ts timestamp with time zone
  Event Time timestamp without time zone
  append only
  CREATE STREAM ev (k text, v integer, ts timestamp with time zone, "Event Time" timestamp without time zone)

====
SELECT * FROM tumble(ev, ts, INTERVAL '5 minutes')
----
Select reads [1]
  k: text
  v: integer
  ts: timestamp with time zone
  Event Time: timestamp without time zone
  window_start: timestamp with time zone
  window_end: timestamp with time zone
  window_time: timestamp with time zone
  Projection: ev.k, ev.v, ev.ts, ev.Event Time, window_start, window_end, window_time
    Projection: ev.k, ev.v, ev.ts, ev.Event Time, ev.window_start AS window_start, ev.window_end AS window_end, ev.window_end - IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 1000 }") AS window_time
      WindowAssign: ev.ts size=300000000 slide=300000000 offset=0
        TableScan: ev

====
SELECT * FROM TABLE(TUMBLE(TABLE ev, DESCRIPTOR(ts), INTERVAL '5' MINUTES))
----
Select reads [1]
  k: text
  v: integer
  ts: timestamp with time zone
  Event Time: timestamp without time zone
  window_start: timestamp with time zone
  window_end: timestamp with time zone
  window_time: timestamp with time zone
  Projection: ev.k, ev.v, ev.ts, ev.Event Time, window_start, window_end, window_time
    Projection: ev.k, ev.v, ev.ts, ev.Event Time, ev.window_start AS window_start, ev.window_end AS window_end, ev.window_end - IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 1000 }") AS window_time
      WindowAssign: ev.ts size=300000000 slide=300000000 offset=0
        TableScan: ev

====
SELECT * FROM TABLE(HOP(DATA => TABLE ev, TIMECOL => DESCRIPTOR(ts), SLIDE => INTERVAL '1' MINUTE, SIZE => INTERVAL '5' MINUTES)) AS h
----
Select reads [1]
  k: text
  v: integer
  ts: timestamp with time zone
  Event Time: timestamp without time zone
  window_start: timestamp with time zone
  window_end: timestamp with time zone
  window_time: timestamp with time zone
  Projection: h.k, h.v, h.ts, h.Event Time, h.window_start, h.window_end, h.window_time
    SubqueryAlias: h
      Projection: ev.k, ev.v, ev.ts, ev.Event Time, ev.window_start AS window_start, ev.window_end AS window_end, ev.window_end - IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 1000 }") AS window_time
        WindowAssign: ev.ts size=300000000 slide=60000000 offset=0
          TableScan: ev
notice: hop: windows of size 5 minutes every 1 minute

====
SELECT * FROM tumble((SELECT k, "Event Time" AS et FROM ev WHERE v > 1), et, '1 hour', "offset" => '15 minutes') x
----
Select reads [1]
  k: text
  et: timestamp without time zone
  window_start: timestamp without time zone
  window_end: timestamp without time zone
  window_time: timestamp without time zone
  Projection: x.k, x.et, x.window_start, x.window_end, x.window_time
    SubqueryAlias: x
      Projection: ev.k, et, window_start, window_end, window_end - IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 1000 }") AS window_time
        WindowAssign: et size=3600000000 slide=3600000000 offset=900000000
          Projection: ev.k, ev.Event Time AS et
            Filter: ev.v > Int32(1)
              TableScan: ev

====
SELECT w.k, window_end, sum(v) FROM tumble(public.ev, ev.ts, INTERVAL '1 minute') w GROUP BY w.k, window_end
----
Select reads [1]
  k: text
  window_end: timestamp with time zone
  sum: bigint
  Projection: w.k, w.window_end, sum(w.v) AS sum
    Aggregate: groupBy=[[w.k, w.window_end]], aggr=[[sum(CAST(w.v AS Int64))]]
      SubqueryAlias: w
        Projection: public.ev.k, public.ev.v, public.ev.ts, public.ev.Event Time, public.ev.window_start AS window_start, public.ev.window_end AS window_end, public.ev.window_end - IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 1000 }") AS window_time
          WindowAssign: public.ev.ts size=60000000 slide=60000000 offset=0
            TableScan: public.ev

====
SELECT window(ts, '5 minutes') AS w, v FROM ev
----
Select reads [1]
  w: record
  v: integer
  Projection: named_struct(Utf8("start"), ev.window_start, Utf8("end"), ev.window_end) AS w, ev.v
    WindowAssign: ev.ts size=300000000 slide=300000000 offset=0
      TableScan: ev

====
SELECT window.start FROM ev GROUP BY window(ts, '5 minutes') HAVING count(*) > 1 ORDER BY window.start
----
Select reads [1]
  start: timestamp with time zone
  Sort: start ASC NULLS LAST
    Projection: get_field(window(ev.ts,Utf8("5 minutes")), Utf8("start")) AS start
      Filter: count(Int64(1)) > Int64(1)
        Projection: named_struct(Utf8("start"), ev.window_start, Utf8("end"), ev.window_end) AS window(ev.ts,Utf8("5 minutes")), count(Int64(1))
          Aggregate: groupBy=[[ev.window_start, ev.window_end]], aggr=[[count(Int64(1))]]
            WindowAssign: ev.ts size=300000000 slide=300000000 offset=0
              TableScan: ev

====
SELECT window, sum(v) FROM ev GROUP BY window(date_trunc('second', ts), '5 minutes')
----
Select reads [1]
  window: record
  sum: bigint
  Projection: window(date_trunc(Utf8("second"),ev.ts),Utf8("5 minutes")) AS window, sum(ev.v) AS sum
    Projection: named_struct(Utf8("start"), window_start, Utf8("end"), window_end) AS window(date_trunc(Utf8("second"),ev.ts),Utf8("5 minutes")), sum(ev.v)
      Aggregate: groupBy=[[window_start, window_end]], aggr=[[sum(CAST(ev.v AS Int64))]]
        WindowAssign: window_time_of_row size=300000000 slide=300000000 offset=0
          Projection: ev.k, ev.v, ev.ts, ev.Event Time, date_trunc(Utf8("second"), ev.ts) AS window_time_of_row
            TableScan: ev

====
SELECT count(*) FROM ev GROUP BY window(ts, '5 minutes')
----
Select reads [1]
  count: bigint
  Projection: count(Int64(1)) AS count(*) AS count
    Projection: named_struct(Utf8("start"), ev.window_start, Utf8("end"), ev.window_end) AS window(ev.ts,Utf8("5 minutes")), count(Int64(1))
      Aggregate: groupBy=[[ev.window_start, ev.window_end]], aggr=[[count(Int64(1))]]
        WindowAssign: ev.ts size=300000000 slide=300000000 offset=0
          TableScan: ev

====
SELECT window(ts, '5 minutes'), k, count(*) FROM ev GROUP BY 1, 2
----
Select reads [1]
  window: record
  k: text
  count: bigint
  Projection: window(ev.ts,Utf8("5 minutes")) AS window, ev.k, count(Int64(1)) AS count(*) AS count
    Projection: named_struct(Utf8("start"), ev.window_start, Utf8("end"), ev.window_end) AS window(ev.ts,Utf8("5 minutes")), ev.k, count(Int64(1))
      Aggregate: groupBy=[[ev.window_start, ev.window_end, ev.k]], aggr=[[count(Int64(1))]]
        WindowAssign: ev.ts size=300000000 slide=300000000 offset=0
          TableScan: ev

====
SELECT HOP_START(ts, INTERVAL '1' MINUTE, INTERVAL '5' MINUTE), HOP_END(ts, INTERVAL '1' MINUTE, INTERVAL '5' MINUTE), count(*) FROM ev GROUP BY HOP(ts, INTERVAL '1' MINUTE, INTERVAL '5' MINUTE)
----
Select reads [1]
  hop_start: timestamp with time zone
  hop_end: timestamp with time zone
  count: bigint
  Projection: window(ev.ts,Utf8("5 minute"),Utf8("1 minute"))[start] AS hop_start, window(ev.ts,Utf8("5 minute"),Utf8("1 minute"))[start] + IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 300000000000 }") AS hop_end, count(Int64(1)) AS count(*) AS count
    Projection: ev.window_start AS window(ev.ts,Utf8("5 minute"),Utf8("1 minute"))[start], count(Int64(1))
      Aggregate: groupBy=[[ev.window_start, ev.window_end]], aggr=[[count(Int64(1))]]
        WindowAssign: ev.ts size=300000000 slide=60000000 offset=0
          TableScan: ev

====
SELECT window, count(*) FROM ev GROUP BY ROLLUP (window(ts, '5 minutes'))
----
error UndefinedColumn: column "window" does not exist
  at 8: window,

====
SELECT * FROM tumble(ev, ts, v)
----
error UndefinedColumn: column "v" does not exist
  at 30: v)

====
SELECT * FROM hop(ev, ts, INTERVAL '1 microsecond', INTERVAL '1 hour')
----
error InvalidParameterValue: every row would be in 3600000000 windows
  at 15: hop(ev,
  hint: Use a greater slide.

====
SELECT * FROM tumble(nothing, ts, INTERVAL '1 minute')
----
error UndefinedTable: relation "nothing" does not exist
  at 22: nothing,
