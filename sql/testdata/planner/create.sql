CREATE TABLE t (a int, "B" text NOT NULL DEFAULT 'x', n numeric(10,2), v varchar(5), PRIMARY KEY (a))
----
CreateRelation t reads []
  a integer not null
  B text not null default 'x'
  n numeric(10,2)
  v character varying(5)
  primary key [0]
  CREATE TABLE t (a integer NOT NULL, "B" text NOT NULL DEFAULT 'x', n numeric(10,2), v character varying(5), PRIMARY KEY (a))

====
CREATE STREAM ev (k text, v int, ts timestamp, WATERMARK FOR ts AS ts - INTERVAL '10 minutes') WITH (maxFuture = 'none')
----
CreateRelation ev reads []
  k text
  v integer
  ts timestamp without time zone
  append only
  watermark on column 2, delay 600000000 us, max future None us
  CREATE STREAM ev (k text, v integer, ts timestamp without time zone, WATERMARK FOR ts AS ts - INTERVAL '10 minutes') WITH (max_future = 'none')

====
CREATE TABLE ao (a int, at timestamptz DEFAULT now()) APPEND ONLY
----
CreateRelation ao reads []
  a integer
  at timestamp with time zone default now()
  append only
  CREATE TABLE ao (a integer, at timestamp with time zone DEFAULT now()) APPEND ONLY

====
CREATE SOURCE r WITH (connector='rate', rowsPerSecond=5, type = 'source')
----
CreateRelation r reads []
  timestamp timestamp without time zone not null
  value bigint not null
  connector rate
  option rows_per_second = 5
  CREATE SOURCE r (timestamp timestamp without time zone NOT NULL, value bigint NOT NULL) WITH (connector = 'rate', rows_per_second = '5')

====
CREATE SOURCE j (timestamp timestamp, user_id int, action text, WATERMARK FOR timestamp AS timestamp - INTERVAL '1' MINUTE) WITH (connector='file', path='/data/in', "kafka.client.id"='It''s', max_future = '2 hours')
----
CreateRelation j reads []
  timestamp timestamp without time zone
  user_id integer
  action text
  connector file
  option path = /data/in
  option kafka.client.id = It's
  watermark on column 0, delay 60000000 us, max future Some(7200000000) us
  CREATE SOURCE j (timestamp timestamp without time zone, user_id integer, action text, WATERMARK FOR timestamp AS timestamp - INTERVAL '1 minute') WITH (connector = 'file', path = '/data/in', "kafka.client.id" = 'It''s', max_future = '2 hours')

====
CREATE SOURCE j2 WITH (connector='file', path='/data/in')
----
error InvalidTableDefinition: source "j2" needs a list of columns
  at 15: j2
  detail: Connector 'file' reads rows of any schema.
  hint: CREATE SOURCE j2 (column type, ..) WITH (..).

====
CREATE SOURCE j3 (a int) WITH (path='/data/in')
----
error InvalidParameterValue: a source needs the option "connector"
  at 15: j3
  hint: Write WITH (connector = 'file', ..), or CREATE STREAM for rows inserted by SQL.

====
CREATE TABLE t (a int)
----
error DuplicateTable: relation "t" already exists
  at 14: t
  hint: Use IF NOT EXISTS, OR REPLACE or another name.

====
CREATE TABLE IF NOT EXISTS t (a int)
----
Nothing (CREATE TABLE)
notice: relation "t" already exists, skipping

====
CREATE OR REPLACE TABLE ao (a bigint)
----
CreateRelation ao reads []
  a bigint
  CREATE TABLE ao (a bigint) replacing 3

====
CREATE OR REPLACE STREAM t (a bigint)
----
error WrongObjectType: "t" is not a stream
  at 26: t
  detail: It is a table.

====
CREATE TABLE x (a int, A text)
----
error DuplicateColumn: column "a" specified more than once
  at 24: A

====
CREATE TABLE x (a foo)
----
error UndefinedObject: type "foo" does not exist
  at 17: a

====
CREATE TABLE x (a int DEFAULT 'y')
----
error InvalidTextRepresentation: invalid input syntax for type integer: "y"
  at 17: a
  detail: In the default of column "a".

====
CREATE TABLE x (a int, PRIMARY KEY (b))
----
error UndefinedColumn: column "b" does not exist
  at 37: b))
  hint: Did you mean "a"?

====
CREATE TABLE x (a int, WATERMARK FOR a)
----
error TypeMismatch: a watermark needs a column of type timestamp or timestamptz, but "a" is integer
  at 38: a)

====
CREATE TABLE x (ts timestamp, WATERMARK FOR t)
----
error UndefinedColumn: column "t" does not exist
  at 45: t)
  hint: Did you mean "ts"?

====
CREATE TABLE x (ts timestamp, WATERMARK FOR ts AS ts + INTERVAL '1 second')
----
error Unsupported: the watermark expression ts + INTERVAL '1 second' is not supported
  at 45: ts
  hint: Write WATERMARK FOR ts AS ts - INTERVAL '10 minutes'.

====
CREATE TABLE x (ts timestamp, WATERMARK FOR ts AS ts - INTERVAL '1 month')
----
error InvalidParameterValue: watermark delay must not have months or years
  at 45: ts
  hint: Their length varies; use days.

====
CREATE TABLE x (ts timestamp, WATERMARK FOR ts AS ts - INTERVAL '-1 minute')
----
error InvalidParameterValue: the delay of a watermark must not be negative
  at 45: ts
  hint: Write WATERMARK FOR ts AS ts - INTERVAL '..'.

====
CREATE TABLE x (a int) WITH (retention = '1 day')
----
error InvalidParameterValue: unknown option "retention" for a table
  at 30: retention
  hint: Known options: max_future, idle_timeout, append_only.

====
CREATE TABLE x (a int) WITH (max_futur = '1 day')
----
error InvalidParameterValue: unknown option "max_futur" for a table
  at 30: max_futur
  hint: Did you mean "max_future"?

====
CREATE TABLE x (a oid)
----
error Unsupported: columns of type oid are not supported
  at 17: a

====
CREATE TABLE nowhere.x (a int)
----
error UndefinedSchema: schema "nowhere" does not exist
  at 14: nowhere.x

====
CREATE TABLE pg_catalog.x (a int)
----
error ReservedName: schema "pg_catalog" is read only
  at 14: pg_catalog.x
  hint: Create objects in the schema "public".

====
CREATE TABLE x ()
----
error InvalidTableDefinition: a table needs at least one column
  at 14: x

====
CREATE SOURCE k (a int) WITH (connector = 'kafka', type = 'sink')
----
error Unsupported: tables of type 'sink' are not supported yet
  hint: Only sources can be created.

====
CREATE TABLE "Odd name" ("select" int, "a""b" text)
----
CreateRelation "Odd name" reads []
  select integer
  a"b text
  CREATE TABLE "Odd name" ("select" integer, "a""b" text)

====
CREATE TABLE lists (a int[], s text[], u uuid, j jsonb, iv interval, d date, tm time, b bytea, f real, g double precision, big bigint, sm smallint, ok boolean)
----
CreateRelation lists reads []
  a integer[]
  s text[]
  u uuid
  j jsonb
  iv interval
  d date
  tm time without time zone
  b bytea
  f real
  g double precision
  big bigint
  sm smallint
  ok boolean
  CREATE TABLE lists (a integer[], s text[], u uuid, j jsonb, iv interval, d date, tm time without time zone, b bytea, f real, g double precision, big bigint, sm smallint, ok boolean)
