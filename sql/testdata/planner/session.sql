CREATE TABLE t (a int); CREATE STREAMING VIEW v AS SELECT a FROM t
----
CreateRelation t reads []
  a integer
  CREATE TABLE t (a integer)
CreateView v reads [1]
  a integer
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW v AS SELECT a FROM t
  TableScan: t projection=[a]

====
SET application_name = 'x'; SET TIME ZONE 'europe/berlin'; SHOW TimeZone; RESET timezone; SHOW application_name; RESET ALL; SHOW application_name
----
Set application_name = "x"
Set TimeZone = "Europe/Berlin"
Rows TimeZone
  Europe/Berlin
Set TimeZone = default
Rows application_name
  x
ResetAll
Rows application_name

====
SET nope = 1
----
error UndefinedObject: unrecognized configuration parameter "nope"
  at 5: nope

====
SET statement_timout = 1
----
error UndefinedObject: unrecognized configuration parameter "statement_timout"
  at 5: statement_timout
  hint: Did you mean "statement_timeout"?

====
SET TimeZone = 'Mars/Olympus'
----
error InvalidParameterValue: invalid value for parameter "TimeZone": "Mars/Olympus"
  at 5: TimeZone

====
SET server_version = '16'
----
error CannotChangeNow: parameter "server_version" cannot be changed
  at 5: server_version

====
SET TIME ZONE 'America/New_York'; SELECT TIMESTAMPTZ '2024-07-01 00:00:00'; RESET ALL
----
Set TimeZone = "America/New_York"
Select reads []
  timestamptz: timestamp with time zone
  Projection: TimestampMicrosecond(1719806400000000, Some("UTC")) AS timestamptz
    EmptyRelation: rows=1
ResetAll

====
SHOW TABLES; SHOW STREAMING VIEWS; SHOW SOURCES; SHOW CREATE STREAMING VIEW v; SHOW CREATE TABLE t; SHOW COLUMNS FROM t; SHOW SCHEMAS; SHOW TABLES LIKE 'x%'
----
Rows name
  t
Rows name | output_mode | trigger | paused
  v | update | default | false
Rows name | connector | fault_tolerant
Rows name | create_sql
  v | CREATE STREAMING VIEW v AS SELECT a FROM t
Rows name | create_sql
  t | CREATE TABLE t (a integer)
Rows name | type | nullable | default
  a | integer | YES | NULL
Rows name
  information_schema
  pg_catalog
  public
  sys
Rows name

====
SHOW CREATE TABLE v
----
error WrongObjectType: "v" is not a table
  hint: It is a streaming view: use SHOW CREATE STREAMING VIEW.

====
SHOW CREATE TABLE nope
----
error UndefinedTable: relation "nope" does not exist
  at 19: nope

====
PAUSE v; ALTER STREAMING VIEW v RESUME; FLUSH; FLUSH v
----
AlterView 2 Pause
AlterView 2 Resume
Flush all
Flush 2

====
PAUSE t
----
error WrongObjectType: "t" is not a streaming view
  at 7: t
  detail: It is a table.

====
PAUSE nope
----
error UndefinedTable: relation "nope" does not exist
  at 7: nope

====
ALTER STREAMING VIEW IF EXISTS nope PAUSE
----
Nothing (ALTER STREAMING VIEW)
notice: relation "nope" does not exist, skipping

====
FLUSH t
----
error WrongObjectType: "t" is not a streaming view
  at 7: t
  detail: It is a table.

====
BEGIN; COMMIT; DISCARD ALL; LISTEN x
----
Transaction BEGIN
Transaction COMMIT
Discard: DISCARD ALL
Listen: LISTEN x

====
PREPARE p (int) AS SELECT $1 + 1; EXECUTE p (1 + 2, 'x'); DEALLOCATE p
----
Prepare p: SELECT $1 + 1
Execute p (Int32(3), Utf8("x"))
Deallocate p

====
PREPARE p AS SELECT nope
----
error UndefinedColumn: column "nope" does not exist
  at 21: nope

====
DECLARE c CURSOR FOR SELECT a FROM t; FETCH 5 FROM c; CLOSE c
----
DeclareCursor c: Select reads [1]
  a: integer from 1.0
  Projection: t.a
    TableScan: t
Fetch: FETCH FORWARD 5 FROM c
CloseCursor c

====
EXPLAIN (PLAN) SELECT a FROM t; EXPLAIN STREAMING VIEW v; EXPLAIN (STATEMENT) INSERT INTO t VALUES (1)
----
Explain Plan: Select reads [1]
  a: integer from 1.0
  Projection: t.a
    TableScan: t
Explain Dataflow: view 2
Explain Statement: Insert into 1 reads [] not null []
  Projection: column1 AS a
    Values: (Int32(1))

====
SET search_path = ''; SELECT * FROM t
----
Set search_path = ""
error UndefinedTable: relation "t" does not exist
  at 37: t
  hint: Did you mean "public.t"?

====
CREATE TABLE u (a int)
----
error UndefinedSchema: no schema has been selected to create in
  at 14: u
  hint: SET search_path TO public.

====
RESET search_path; SET search_path = sys; SELECT * FROM queries; SELECT * FROM public.t
----
Set search_path = default
Set search_path = "sys"
Select reads []
  name: text
  is_active: boolean
  Projection: queries.name, queries.is_active
    TableScan: queries
Select reads [1]
  a: integer from 1.0
  Projection: public.t.a
    TableScan: public.t
