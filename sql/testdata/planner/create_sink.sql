CREATE STREAM ev (k text, v int, ts timestamp, WATERMARK FOR ts AS ts)
----
CreateRelation ev reads []
  k text
  v integer
  ts timestamp without time zone
  append only
  watermark on column 2, delay 0 us, max future Some(86400000000) us
  CREATE STREAM ev (k text, v integer, ts timestamp without time zone, WATERMARK FOR ts)

====
CREATE SINK s FROM ev WITH (connector = 'file', path = '/x', partitionBy = 'k', onError = 'fail')
----
CreateView s reads [1]
  k text
  v integer
  ts timestamp without time zone
  connector file
  option path = /x
  option partition_by = k
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: true, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE SINK s WITH (connector = 'file', path = '/x', partition_by = 'k', on_error = 'fail') FROM ev
  TableScan: ev projection=[k, v, ts]

====
CREATE SINK "S" AS SELECT k, v + 1 AS v FROM ev EMIT EVERY '10 seconds' WITH ("Path" = '/y', connector = console)
----
CreateView "S" reads [1]
  k text
  v integer
  connector console
  option path = /y
  ViewOptions { output_mode: Update, trigger: Every(10s), fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE SINK "S" WITH (connector = 'console', path = '/y', trigger = '10 seconds') AS SELECT k, v + 1 AS v FROM ev
  Projection: ev.k, ev.v + Int32(1) AS v
    TableScan: ev projection=[k, v]

====
CREATE SINK s FROM ev WITH (connector = 'file')
----
error DuplicateTable: relation "s" already exists
  at 13: s
  hint: Use IF NOT EXISTS, OR REPLACE or another name.

====
CREATE SINK IF NOT EXISTS s FROM ev WITH (connector = 'file')
----
Nothing (CREATE SINK)
notice: relation "s" already exists, skipping

====
CREATE OR REPLACE SINK s WITH (connector = 'file') AS SELECT window_start, count(*) AS n FROM tumble(ev, ts, INTERVAL '1 hour') GROUP BY window_start EMIT ON WINDOW CLOSE
----
CreateView s reads [1]
  window_start timestamp without time zone not null
  n bigint not null
  connector file
  ViewOptions { output_mode: Append, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE SINK s WITH (connector = 'file', output_mode = 'append') AS SELECT window_start, count(*) AS n FROM tumble(ev, ts, INTERVAL '1 hour') GROUP BY window_start replacing 2
  Projection: window_start, count(Int64(1)) AS count(*) AS n
    Aggregate: groupBy=[[window_start]], aggr=[[count(Int64(1))]]
      Projection: ev.window_start AS window_start
        WindowAssign: ev.ts size=3600000000 slide=3600000000 offset=0
          TableScan: ev projection=[ts]

====
CREATE SINK x FROM ev
----
error InvalidTableDefinition: sink "x" has no connector
  at 13: x
  hint: Write WITH (connector = 'file', path = '..', format = 'parquet').

====
CREATE SINK x FROM eve WITH (connector = 'file')
----
error UndefinedTable: relation "eve" does not exist
  at 20: eve
  hint: Did you mean "ev"?

====
CREATE SINK x FROM s WITH (connector = 'file')
----
error WrongObjectType: "s" is a sink: its rows are outside of the server
  at 15: FROM
  hint: Read what the sink reads.

====
CREATE SINK x AS SELECT k AS a, v AS a FROM ev WITH (connector = 'file')
----
error DuplicateColumn: column "a" specified more than once
  hint: Give one of them another name with AS.

====
CREATE SINK x AS SELECT $1::int AS a WITH (connector = 'file')
----
error UndefinedParameter: a sink cannot have parameters

====
CREATE SINK x FROM ev WITH (connector = 'file', path = '/a', Path = '/b')
----
error Syntax: option "path" is given twice
  at 62: Path

====
SELECT * FROM s
----
error WrongObjectType: "s" is a sink: its rows are outside of the server
  at 15: s
  hint: Read what the sink reads.

====
INSERT INTO s VALUES (1)
----
error WrongObjectType: cannot insert into sink "s"
  at 13: s
  hint: Only tables and streams take INSERT.

====
DROP TABLE s
----
error WrongObjectType: "s" is not a table
  at 12: s
  hint: It is a sink: use DROP SINK.

====
DROP STREAM ev
----
error DependentObjects: cannot drop stream ev because other objects depend on it
  detail: "S" depends on stream ev
s depends on stream ev
  hint: Use DROP ... CASCADE to drop the dependent objects too.

====
DROP SINK s, "S"
----
Drop [4, 3]

====
DROP STREAM ev
----
Drop [1]
