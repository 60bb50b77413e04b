CREATE TABLE t (a int, "B" text NOT NULL DEFAULT 'x', PRIMARY KEY (a))
----
CREATE TABLE t (a INT, "B" TEXT NOT NULL DEFAULT 'x', PRIMARY KEY (a))

====
create table if not exists public.t (a bigint primary key, ts timestamptz, watermark for ts as ts - interval '5' minute) append only;
----
CREATE TABLE IF NOT EXISTS public.t (a BIGINT, ts TIMESTAMPTZ, PRIMARY KEY (a), WATERMARK FOR ts AS ts - INTERVAL '5' MINUTE) APPEND ONLY

====
CREATE STREAM ev (k text, v int, ts timestamp, WATERMARK FOR ts AS ts - INTERVAL '10 minutes');
----
CREATE STREAM ev (k TEXT, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '10 minutes')

====
CREATE OR REPLACE SOURCE s (ts timestamp, v int) WATERMARK FOR ts WITH (connector='rate', rowsPerSecond = 5, "scan.startup.mode" = 'x', scan.startup.mode2 = latest, a-b = -1)
----
CREATE OR REPLACE SOURCE s (ts TIMESTAMP, v INT, WATERMARK FOR ts) WITH (connector = 'rate', "rowsPerSecond" = '5', "scan.startup.mode" = 'x', "scan.startup.mode2" = 'latest', "a-b" = '-1')

====
CREATE EXTERNAL STREAM s (v int) WITH (connector = 'file')
----
CREATE SOURCE s (v INT) WITH (connector = 'file')

====
CREATE TABLE flink (ts TIMESTAMP(3), v BIGINT, PRIMARY KEY (v) NOT ENFORCED, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'kafka', 'topic' = 't')
----
CREATE SOURCE flink (ts TIMESTAMP(3), v BIGINT, PRIMARY KEY (v) NOT ENFORCED, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH (connector = 'kafka', topic = 't')

====
CREATE SOURCE s (v int) WITH (connector = 'file') FORMAT PLAIN ENCODE JSON (x = 'y')
----
CREATE SOURCE s (v INT) WITH (connector = 'file', format = 'json', x = 'y')

====
CREATE SOURCE r WITH (connector='rate', rowsPerSecond=5)
----
CREATE SOURCE r WITH (connector = 'rate', "rowsPerSecond" = '5')

====
CREATE TABLE t (a int GENERATED ALWAYS AS (b + 1) STORED)
----
error Unsupported: computed columns are not supported yet
  at 23: GENERATED
  hint: Compute the value in the SELECT of a streaming view.

====
CREATE TABLE t (a AS b + 1)
----
error Unsupported: computed columns are not supported yet
  at 19: AS
  hint: Compute the value in the SELECT of a streaming view.

====
CREATE TABLE t (a int CHECK (a > 1))
----
CREATE TABLE t (a INT, CHECK (a > 1))

====
CREATE TABLE t (a int, WATERMARK FOR a, WATERMARK FOR a)
----
error InvalidTableDefinition: only one watermark can be declared
  at 41: WATERMARK

====
CREATE TABLE t (a int) AS SELECT 1
----
error Syntax: syntax error at or near "int"
  at 19: int)
  detail: Expected ")".

====
CREATE TABLE t (a int
----
error Syntax: syntax error at end of input
  at 22: 
  detail: Expected ")".

====
CREATE TABLE t a int
----
error Syntax: syntax error at or near "a"
  at 16: a
  detail: Expected WITH, WATERMARK FOR, APPEND ONLY or the end of the statement.

====
CREATE TABLE t (a int,)
----
error Syntax: syntax error at or near ")"
  at 23: )
  detail: Expected an identifier.

====
CREATE INDEX i ON t (a)
----
CREATE INDEX i ON t (a)

====
CREATE TEMP TABLE t (a int)
----
CREATE TEMPORARY TABLE t (a INT)

====
CREATE TABEL t (a int)
----
error Syntax: syntax error at or near "TABEL"
  at 8: TABEL
  detail: Expected TABLE, STREAM, SOURCE, VIEW, STREAMING VIEW or SINK.

====
CREATE TABLE t (a int) WITH (x)
----
error Syntax: syntax error at or near ")"
  at 31: )
  detail: Expected "=".

====
CREATE TABLE t (a numeric(10,2), b varchar(5), c double precision, d int[], e "char")
----
CREATE TABLE t (a NUMERIC(10,2), b VARCHAR(5), c DOUBLE PRECISION, d INT[], e "char")
