CREATE STREAM ev (k text, v int, ts timestamp, WATERMARK FOR ts AS ts - INTERVAL '10 minutes'); CREATE TABLE t (a int, b text)
----
CreateRelation ev reads []
  k text
  v integer
  ts timestamp without time zone
  append only
  watermark on column 2, delay 600000000 us, max future Some(86400000000) us
  CREATE STREAM ev (k text, v integer, ts timestamp without time zone, WATERMARK FOR ts AS ts - INTERVAL '10 minutes')
CreateRelation t reads []
  a integer
  b text
  CREATE TABLE t (a integer, b text)

====
CREATE STREAMING VIEW v AS SELECT k, count(*), sum(v) AS total FROM ev WHERE v > 0 GROUP BY k
----
CreateView v reads [1]
  k text
  count bigint not null
  total bigint
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW v AS SELECT k, count(*), sum(v) AS total FROM ev WHERE v > 0 GROUP BY k
  Projection: ev.k, count(Int64(1)) AS count(*) AS count, sum(ev.v) AS total
    Aggregate: groupBy=[[ev.k]], aggr=[[count(Int64(1)), sum(CAST(ev.v AS Int64))]]
      Filter: ev.v > Int32(0)
        TableScan: ev projection=[k, v]

====
CREATE STREAMING VIEW v2 (x, y) WITH (output_mode = 'append', trigger='10 seconds', onError='fail', query_name = 'q', no_data_batches = off) AS SELECT window_start, count(*) FROM tumble(ev, ts, INTERVAL '5 minutes') GROUP BY window_start, window_end
----
CreateView v2 reads [1]
  x timestamp without time zone not null
  y bigint not null
  ViewOptions { output_mode: Append, trigger: Every(10s), fail_on_error: true, query_name: Some("q"), no_data_epochs: false, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW v2 (x, y) WITH (output_mode = 'append', trigger = '10 seconds', on_error = 'fail', query_name = 'q', no_data_batches = 'false') AS SELECT window_start, count(*) FROM tumble(ev, ts, INTERVAL '5 minutes') GROUP BY window_start, window_end
  Projection: window_start AS x, count(Int64(1)) AS y
    Aggregate: groupBy=[[window_start, window_end]], aggr=[[count(Int64(1))]]
      Projection: ev.window_start AS window_start, ev.window_end AS window_end
        WindowAssign: ev.ts size=300000000 slide=300000000 offset=0
          TableScan: ev projection=[ts]

====
CREATE STREAMING VIEW v3 AS SELECT window, k, count(*) FROM ev GROUP BY window(ts, '5 minutes'), k EMIT ON WINDOW CLOSE
----
CreateView v3 reads [1]
  window record
  k text
  count bigint not null
  ViewOptions { output_mode: Append, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW v3 WITH (output_mode = 'append') AS SELECT window, k, count(*) FROM ev GROUP BY window(ts, '5 minutes'), k
  Projection: CAST(named_struct(Utf8("start"), ev.window_start, Utf8("end"), ev.window_end) AS Struct("start": Timestamp(µs), metadata: {"millpond.sql_type": "timestamp without time zone"}, "end": Timestamp(µs), metadata: {"millpond.sql_type": "timestamp without time zone"})) AS window, ev.k AS k, count(Int64(1)) AS count
    Aggregate: groupBy=[[ev.window_start, ev.window_end, ev.k]], aggr=[[count(Int64(1))]]
      Projection: ev.k, ev.window_start, ev.window_end
        WindowAssign: ev.ts size=300000000 slide=300000000 offset=0
          TableScan: ev projection=[k, ts]

====
CREATE STREAMING VIEW v4 AS SELECT window.start AS s, window.end AS e, count(*) AS n FROM ev GROUP BY window(ts, '10 minutes', '5 minutes', '1 minute')
----
CreateView v4 reads [1]
  s timestamp without time zone
  e timestamp without time zone
  n bigint not null
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW v4 AS SELECT window.start AS s, window.end AS e, count(*) AS n FROM ev GROUP BY window(ts, '10 minutes', '5 minutes', '1 minute')
  Projection: get_field(window(ev.ts,Utf8("10 minutes"),Utf8("5 minutes"),Utf8("1 minute")), Utf8("start")) AS s, get_field(window(ev.ts,Utf8("10 minutes"),Utf8("5 minutes"),Utf8("1 minute")), Utf8("end")) AS e, count(Int64(1)) AS count(*) AS n
    Projection: named_struct(Utf8("start"), ev.window_start, Utf8("end"), ev.window_end) AS window(ev.ts,Utf8("10 minutes"),Utf8("5 minutes"),Utf8("1 minute")), count(Int64(1))
      Aggregate: groupBy=[[ev.window_start, ev.window_end]], aggr=[[count(Int64(1))]]
        Projection: ev.window_start, ev.window_end
          WindowAssign: ev.ts size=600000000 slide=300000000 offset=60000000
            TableScan: ev projection=[ts]

====
CREATE STREAMING VIEW v5 AS SELECT * FROM hop(ev, ts, INTERVAL '1 minute', INTERVAL '5 minutes') w
----
CreateView v5 reads [1]
  k text
  v integer
  ts timestamp without time zone
  window_start timestamp without time zone not null
  window_end timestamp without time zone not null
  window_time timestamp without time zone not null
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW v5 AS SELECT * FROM hop(ev, ts, INTERVAL '1 minute', INTERVAL '5 minutes') w
  SubqueryAlias: w
    Projection: ev.k, ev.v, ev.ts, ev.window_start AS window_start, ev.window_end AS window_end, ev.window_end - IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 1000 }") AS window_time
      WindowAssign: ev.ts size=300000000 slide=60000000 offset=0
        TableScan: ev projection=[k, v, ts]
notice: hop: windows of size 5 minutes every 1 minute

====
CREATE STREAMING VIEW v6 AS SELECT TUMBLE_START(ts, INTERVAL '1' MINUTE) AS s, TUMBLE_END(ts, INTERVAL '1' MINUTE) AS e, count(*) FROM ev GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE)
----
CreateView v6 reads [1]
  s timestamp without time zone not null
  e timestamp without time zone not null
  count bigint not null
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW v6 AS SELECT TUMBLE_START(ts, INTERVAL '1' MINUTE) AS s, TUMBLE_END(ts, INTERVAL '1' MINUTE) AS e, count(*) FROM ev GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE)
  Projection: ev.window_start AS s, ev.window_start + IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 0, nanoseconds: 60000000000 }") AS e, count(Int64(1)) AS count
    Aggregate: groupBy=[[ev.window_start, ev.window_end]], aggr=[[count(Int64(1))]]
      Projection: ev.window_start, ev.window_end
        WindowAssign: ev.ts size=60000000 slide=60000000 offset=0
          TableScan: ev projection=[ts]

====
CREATE STREAMING VIEW v7 AS SELECT * FROM v WHERE total > (SELECT 1)
----
CreateView v7 reads [3]
  k text
  count bigint not null
  total bigint
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW v7 AS SELECT * FROM v WHERE total > (SELECT 1)
  Projection: v.k, v.count, v.total
    Inner Join:  Filter: v.total > __scalar_sq_1.?column?
      TableScan: v projection=[k, count, total]
      SubqueryAlias: __scalar_sq_1
        Projection: Int64(1) AS ?column?
          EmptyRelation: rows=1

====
CREATE STREAMING VIEW v8 AS SELECT current_timestamp AS t, current_date AS d, k FROM ev
----
CreateView v8 reads [1]
  t timestamp with time zone
  d date
  k text
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW v8 AS SELECT current_timestamp AS t, current_date AS d, k FROM ev
  Projection: processing_time() AS t, CAST(processing_time() AS Date32) AS d, ev.k
    TableScan: ev projection=[k]

====
CREATE STREAMING VIEW v9 AS SELECT unnest(string_to_array(k, ' ')) AS word FROM ev
----
CreateView v9 reads [1]
  word text
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW v9 AS SELECT unnest(string_to_array(k, ' ')) AS word FROM ev
  Projection: __unnest_placeholder(string_to_array(ev.k,Utf8(" ")),depth=1) AS UNNEST(string_to_array(ev.k,Utf8(" "))) AS word
    Unnest: lists[__unnest_placeholder(string_to_array(ev.k,Utf8(" ")))|depth=1] structs[]
      Projection: string_to_array(ev.k, Utf8(" ")) AS __unnest_placeholder(string_to_array(ev.k,Utf8(" ")))
        TableScan: ev projection=[k]

====
CREATE STREAMING VIEW v10 AS SELECT k FROM ev UNION ALL SELECT b FROM t
----
CreateView v10 reads [1, 2]
  k text
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW v10 AS SELECT k FROM ev UNION ALL SELECT b FROM t
  Union
    TableScan: ev projection=[k]
    Projection: t.b AS k
      TableScan: t projection=[b]

====
CREATE STREAMING VIEW bad AS SELECT count(*), count(*) FROM ev
----
error DuplicateColumn: column "count" specified more than once
  hint: Give one of them another name with AS.

====
CREATE STREAMING VIEW bad AS SELECT k FROM evv
----
error UndefinedTable: relation "evv" does not exist
  at 44: evv
  hint: Did you mean "ev"?

====
CREATE STREAMING VIEW bad AS SELECT kk FROM ev
----
error UndefinedColumn: column "kk" does not exist
  at 37: kk
  hint: Did you mean "k"?

====
CREATE STREAMING VIEW bad AS SELECT x.k FROM ev
----
error UndefinedTable: missing FROM-clause entry for table "x"
  at 37: x.k

====
CREATE STREAMING VIEW bad AS SELECT k, v FROM ev GROUP BY k
----
error Grouping: column "ev.v" must appear in the GROUP BY clause or be used in an aggregate function
  at 40: v

====
CREATE STREAMING VIEW bad AS SELECT nofunc(k) FROM ev
----
error UndefinedFunction: function nofunc does not exist
  at 37: nofunc(k)

====
CREATE STREAMING VIEW bad AS SELECT k FROM ev WHERE v = $1
----
error UndefinedParameter: a streaming view cannot have parameters

====
CREATE STREAMING VIEW whole WITH (outputmode = 'complete') AS SELECT k, count(*) AS n FROM ev GROUP BY k ORDER BY n DESC LIMIT 3
----
CreateView whole reads [1]
  k text
  n bigint not null
  ViewOptions { output_mode: Complete, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW whole WITH (output_mode = 'complete') AS SELECT k, count(*) AS n FROM ev GROUP BY k ORDER BY n DESC LIMIT 3
  Limit: skip=0, fetch=3
    Sort: n DESC NULLS FIRST
      Projection: ev.k, count(Int64(1)) AS count(*) AS n
        Aggregate: groupBy=[[ev.k]], aggr=[[count(Int64(1))]]
          TableScan: ev projection=[k]

====
CREATE STREAMING VIEW bad WITH (output_mod = 'update') AS SELECT k FROM ev
----
error InvalidParameterValue: unknown option "output_mod" for a streaming view
  at 33: output_mod
  hint: Did you mean "output_mode"?

====
CREATE STREAMING VIEW bad WITH (output_mode = 'updat') AS SELECT k FROM ev
----
error InvalidParameterValue: invalid value for option "output_mode": "updat"
  at 33: output_mode
  hint: Did you mean "update"?

====
CREATE STREAMING VIEW bad WITH (output_mode = 'update') AS SELECT k FROM ev EMIT ON WINDOW CLOSE
----
error Syntax: conflicting clauses for the output mode
  at 77: EMIT

====
CREATE STREAMING VIEW single WITH (trigger = 'once') AS SELECT k FROM ev
----
CreateView single reads [1]
  k text
  ViewOptions { output_mode: Update, trigger: Once, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW single WITH (trigger = 'once') AS SELECT k FROM ev
  TableScan: ev projection=[k]
notice: trigger 'once' is deprecated

====
ALTER STREAMING VIEW single SET (trigger = 'available-now', query_name = 'q')
----
AlterView 14 Set CREATE STREAMING VIEW single WITH (trigger = 'availableNow', query_name = 'q') AS SELECT k FROM ev

====
ALTER STREAMING VIEW single SET (output_mode = 'append')
----
error Unsupported: the output mode of a streaming view cannot be changed
  at 34: output_mode
  detail: What it keeps depends on the mode.
  hint: Use CREATE OR REPLACE STREAMING VIEW, which begins anew.

====
SUBSCRIBE single WITH (PROGRESS) AS OF 3 UP TO 5
----
Subscribe 14 snapshot progress as of 3 up to 5

====
DECLARE c CURSOR WITH HOLD FOR SUBSCRIBE TO ev WITH (SNAPSHOT = false)
----
DeclareCursor c with hold: Subscribe 1

====
SUBSCRIBE nosuch
----
error UndefinedTable: relation "nosuch" does not exist
  at 11: nosuch

====
CREATE STREAMING VIEW bad WITH (trigger = 'soon') AS SELECT k FROM ev
----
error InvalidParameterValue: invalid value for option "trigger": "soon"
  at 33: trigger
  hint: Use 'default', an interval such as '10 seconds', 'availableNow' or 'once'.

====
CREATE STREAMING VIEW bad AS SELECT * FROM sys.queries
----
error Unsupported: streaming views cannot read the system relation "queries"
  at 44: sys.queries
  hint: Read it with a SELECT.

====
CREATE STREAMING VIEW bad AS SELECT * FROM hop(ev, ts, INTERVAL '5 minutes', INTERVAL '1 minute')
----
error InvalidParameterValue: window slide 5 minutes is greater than size 1 minute
  at 44: hop(ev,
  detail: Rows between two windows would be in none.
  hint: The order of arguments is hop(t, ts, slide, size).

====
CREATE STREAMING VIEW bad AS SELECT * FROM tumble(ev, ts, INTERVAL '0 minutes')
----
error InvalidParameterValue: window size must be positive, not 0 seconds
  at 44: tumble(ev,

====
CREATE STREAMING VIEW bad AS SELECT * FROM tumble(ev, ts, INTERVAL '1 month')
----
error InvalidParameterValue: size must not have months or years
  at 44: tumble(ev,
  hint: Their length varies; use days.

====
CREATE STREAMING VIEW bad AS SELECT * FROM tumble(ev, tss, INTERVAL '1 minute')
----
error UndefinedColumn: column "tss" does not exist
  at 55: tss,
  hint: Did you mean "ts"?

====
CREATE STREAMING VIEW bad AS SELECT * FROM tumble(ev, k, INTERVAL '1 minute')
----
error TypeMismatch: tumble needs a column of type timestamp or timestamptz, but "k" is text
  at 44: tumble(ev,

====
CREATE STREAMING VIEW bad AS SELECT * FROM tumble(ev, ts)
----
error UndefinedFunction: tumble needs a size
  at 44: tumble(ev,
  hint: Write tumble(t, ts, size[, offset]).

====
CREATE STREAMING VIEW bad AS SELECT * FROM tumble(ev, ts, size => INTERVAL '1 minute', colour => 3)
----
error UndefinedFunction: window functions have no argument "colour"
  at 44: tumble(ev,

====
CREATE STREAMING VIEW sessions AS SELECT k, window_start, count(*) AS n FROM session(ev, ts, INTERVAL '1 minute') GROUP BY k, window_start, window_end
----
CreateView sessions reads [1]
  k text
  window_start timestamp without time zone not null
  n bigint not null
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW sessions AS SELECT k, window_start, count(*) AS n FROM session(ev, ts, INTERVAL '1 minute') GROUP BY k, window_start, window_end
  Projection: ev.k, window_start, count(Int64(1)) AS count(*) AS n
    Aggregate: groupBy=[[ev.k, window_start, window_end]], aggr=[[count(Int64(1))]]
      Projection: ev.k, ev.window_start AS window_start, ev.window_end AS window_end
        WindowAssign: ev.ts sessions by 1 keys
          TableScan: ev projection=[k, ts]

====
CREATE STREAMING VIEW bad AS SELECT window(ts, '1 minute'), window(ts, '2 minutes') FROM ev
----
error Unsupported: a SELECT can have one window only
  hint: Join two streaming views, one per window.

====
CREATE STREAMING VIEW bad AS SELECT k FROM ev WHERE window(ts, '1 minute') IS NOT NULL
----
error Unsupported: window() is allowed in SELECT and GROUP BY only
  detail: Found in Filter: window(ev.ts, Utf8("1 minute")) IS NOT NULL.
  hint: Use tumble(t, ts, size) in FROM and filter on window_start.

====
CREATE STREAMING VIEW bad AS SELECT window(k, '1 minute') FROM ev
----
error TypeMismatch: window needs a time of type timestamp or timestamptz, not text

====
CREATE STREAMING VIEW bad (a, b, c) AS SELECT k FROM ev
----
error Syntax: CREATE STREAMING VIEW specifies more column names than columns
  at 31: b,

====
CREATE STREAMING VIEW ev AS SELECT 1
----
error DuplicateTable: relation "ev" already exists
  at 23: ev
  hint: Use IF NOT EXISTS, OR REPLACE or another name.

====
CREATE OR REPLACE STREAMING VIEW v AS SELECT k FROM ev
----
error DependentObjects: cannot replace streaming view v because other objects depend on it
  at 34: v
  detail: v7 depends on streaming view v
  hint: Drop the dependent objects first.

====
CREATE OR REPLACE STREAMING VIEW v2 AS SELECT k FROM ev
----
CreateView v2 reads [1]
  k text
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW v2 AS SELECT k FROM ev replacing 4
  TableScan: ev projection=[k]

====
CREATE OR REPLACE STREAMING VIEW v2 AS SELECT k FROM v2
----
error InvalidParameterValue: streaming view v2 cannot read itself
  at 34: v2

====
DROP TABLE ev
----
error DependentObjects: cannot drop stream ev because other objects depend on it
  detail: v depends on stream ev
v3 depends on stream ev
v4 depends on stream ev
v5 depends on stream ev
v6 depends on stream ev
v8 depends on stream ev
v9 depends on stream ev
v10 depends on stream ev
whole depends on stream ev
single depends on stream ev
sessions depends on stream ev
v2 depends on stream ev
v7 depends on stream ev
  hint: Use DROP ... CASCADE to drop the dependent objects too.

====
DROP STREAM ev
----
error DependentObjects: cannot drop stream ev because other objects depend on it
  detail: v depends on stream ev
v3 depends on stream ev
v4 depends on stream ev
v5 depends on stream ev
v6 depends on stream ev
v8 depends on stream ev
v9 depends on stream ev
v10 depends on stream ev
whole depends on stream ev
single depends on stream ev
sessions depends on stream ev
v2 depends on stream ev
v7 depends on stream ev
  hint: Use DROP ... CASCADE to drop the dependent objects too.

====
DROP STREAM ev, t CASCADE
----
error WrongObjectType: "t" is not a stream
  at 17: t
  hint: It is a table: use DROP TABLE.

====
DROP STREAMING VIEW IF EXISTS v, nothing CASCADE
----
Drop [9, 3]
notice: relation "nothing" does not exist, skipping
notice: drop cascades to streaming view v7

====
DROP SOURCE nothing
----
error UndefinedTable: relation "nothing" does not exist
  at 13: nothing

====
DROP STREAM ev CASCADE
----
Drop [16, 15, 14, 13, 12, 11, 10, 8, 7, 6, 5, 1]
notice: drop cascades to streaming view v3, streaming view v4, streaming view v5, streaming view v6, streaming view v8, streaming view v9, streaming view v10, streaming view whole, streaming view single, streaming view sessions, streaming view v2
