CREATE SINK s FROM v WITH (connector = 'file', path = '/x')
----
CREATE SINK s WITH (connector = 'file', path = '/x') FROM v

====
CREATE OR REPLACE SINK IF NOT EXISTS s WITH (connector = console) FROM public.v EMIT EVERY '10 seconds'
----
CREATE OR REPLACE SINK IF NOT EXISTS s WITH (connector = 'console') FROM public.v EMIT EVERY INTERVAL '10 seconds'

====
CREATE SINK s AS SELECT a, (SELECT max(b) FROM t) AS b FROM v WITH (connector = 'file', path = '/x')
----
CREATE SINK s WITH (connector = 'file', path = '/x') AS SELECT a, (SELECT max(b) FROM t) AS b FROM v

====
CREATE SINK s AS WITH w AS (SELECT 1 AS a) SELECT a FROM w EMIT ON WINDOW CLOSE WITH (connector = 'x') PARTITIONED BY (a, "B")
----
CREATE SINK s WITH (connector = 'x', partition_by = 'a,B') AS WITH w AS (SELECT 1 AS a) SELECT a FROM w EMIT ON WINDOW CLOSE

====
CREATE SINK s WITH (connector = 'x') AS SELECT a FROM v EMIT FINAL
----
CREATE SINK s WITH (connector = 'x') AS SELECT a FROM v EMIT ON WINDOW CLOSE

====
CREATE SINK s AS SELECT a FROM v AS w
----
CREATE SINK s AS SELECT a FROM v AS w

====
CREATE SINK s WITH (connector = 'x')
----
error Syntax: syntax error at end of input
  at 37: 
  detail: Expected FROM or AS.

====
CREATE SINK s FROM v FROM w
----
error Syntax: syntax error at or near "FROM"
  at 22: FROM
  detail: Expected EMIT, TRIGGER EVERY, LATE DATA TO or the end of the statement.

====
CREATE SINK s AS SELECT FROM WHERE WITH (connector = 'x')
----
error Syntax: syntax error at or near "WHERE"
  at 30: WHERE
  detail: Expected a relation.

====
CREATE SINK s INTO t FROM v
----
error Syntax: syntax error at or near "INTO"
  at 15: INTO
  detail: Expected FROM, AS or WITH.

====
DROP SINK a, b CASCADE
----
DROP SINK a, b CASCADE

====
ALTER SINK s PAUSE
----
ALTER STREAMING VIEW s PAUSE

====
SHOW SINKS LIKE 'a%'
----
SHOW SINKS LIKE 'a%'

====
SHOW CREATE SINK s
----
SHOW CREATE SINK s
