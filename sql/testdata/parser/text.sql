
----
nothing

====
;;; -- only a comment
;
----
nothing

====
/* a */ SELECT 1 -- b
; /* c /* nested */ */ TABLE t ; VALUES (1), (2)
----
SELECT 1
TABLE t
VALUES (1), (2)

====
INSERT INTO t VALUES (1, DEFAULT), (2, 'x;y'); INSERT INTO t (a, b) SELECT 1, 2; INSERT INTO t DEFAULT VALUES; INSERT INTO t (SELECT 1); INSERT INTO s.t WITH x AS (SELECT 1) SELECT * FROM x
----
INSERT INTO t VALUES (1, DEFAULT), (2, 'x;y')
INSERT INTO t (a, b) SELECT 1, 2
INSERT INTO t DEFAULT VALUES
INSERT INTO t (SELECT 1)
INSERT INTO s.t WITH x AS (SELECT 1) SELECT * FROM x

====
INSERT INTO t VALUES (1) RETURNING a
----
INSERT INTO t VALUES (1) RETURNING a

====
INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING
----
INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING

====
SELECT 1; SELEC 2
----
error Syntax: syntax error at or near "SELEC"
  at 11: SELEC
  detail: Expected an SQL statement.
  hint: Did you mean "SELECT"?

====
SELECT
----
error Syntax: syntax error at end of input
  at 7: 
  detail: Expected an expression.

====
SELECT 1 FORM t
----
error Syntax: syntax error at or near "t"
  at 15: t
  detail: Expected the end of the statement.

====
SELECT * FROM t WHERE
----
error Syntax: syntax error at end of input
  at 22: 
  detail: Expected an expression.

====
SELECT 'unterminated
----
error Syntax: unterminated string literal
  at 8: 'unterminated

====
SELECT "unterminated
----
error Syntax: expected close delimiter '"' before EOF.
  at 8: "unterminated

====
SELECT é, ü FROM t WHERE ) = 1
----
error Syntax: syntax error at or near ")"
  at 26: )
  detail: Expected an expression.

====
UPDATE t SET a = 1
----
UPDATE t SET a = 1

====
DELETE FROM t
----
DELETE FROM t

====
COPY t FROM STDIN
----
COPY t FROM STDIN WITH (FORMAT text, DELIMITER '	', NULL '\N')

====
TRUNCATE t
----
TRUNCATE t

====
SELECT $1::int, $2 FROM t LIMIT $3
----
SELECT $1::INT, $2 FROM t LIMIT $3

====
WITH x AS (SELECT 1) SELECT * FROM x UNION ALL TABLE t
----
WITH x AS (SELECT 1) SELECT * FROM x UNION ALL TABLE t

====
SELECT E'a\nb', U&'d', $$dollar$$, 1_000, 'a'
  'b'
----
SELECT E'a\nb', 'd', $$dollar$$, 1_000, 'ab'

====
SELECT a FROM t EMIT CHANGES
----
error Unsupported: EMIT is supported in CREATE STREAMING VIEW only
  at 17: EMIT
  hint: CREATE STREAMING VIEW v AS SELECT .. EMIT .., then SELECT from v.

====
SELECT a FROM t WATERMARK ts DELAY OF INTERVAL '1 minute'
----
SELECT a FROM watermark(t, ts, INTERVAL '1 minute')
