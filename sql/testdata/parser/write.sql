UPDATE ONLY t AS x SET a = 1, (b, c) = (2, DEFAULT), (d, e) = (SELECT 1, 2), f = ROW(1) FROM u, v JOIN w USING (k) WHERE x.a = u.a OR true RETURNING *, x.a AS n
----
UPDATE t AS x SET a = 1, (b, c) = ROW(2, DEFAULT), (d, e) = (SELECT 1, 2), (f) = ROW(1) FROM u, v JOIN w USING(k) WHERE x.a = u.a OR true RETURNING *, x.a AS n

====
DELETE FROM s.t x USING u WHERE x.a = u.a RETURNING x.a; DELETE FROM t
----
DELETE FROM s.t AS x USING u WHERE x.a = u.a RETURNING x.a
DELETE FROM t

====
WITH q AS (SELECT 1 AS a) DELETE FROM t USING q WHERE t.a = q.a; WITH RECURSIVE q AS (SELECT 1) UPDATE t SET a = 1; WITH q AS (SELECT 1) INSERT INTO t AS n SELECT * FROM q RETURNING n.a
----
WITH q AS (SELECT 1 AS a) DELETE FROM t USING q WHERE t.a = q.a
WITH RECURSIVE q AS (SELECT 1) UPDATE t SET a = 1
WITH q AS (SELECT 1) INSERT INTO t AS n SELECT * FROM q RETURNING n.a

====
TRUNCATE a, ONLY b RESTART IDENTITY CASCADE; TRUNCATE TABLE t
----
TRUNCATE a, b
TRUNCATE t

====
UPDATE t SET
----
error Syntax: syntax error at end of input
  at 13: 
  detail: Expected an identifier.

====
UPDATE t SET a.b = 1
----
error Unsupported: columns in SET are written without their table
  at 15: .b

====
UPDATE t SET a[1] = 1
----
error Unsupported: assigning to an element of an array is not supported
  at 15: [1]
  hint: Assign the whole array.

====
DELETE FROM t WHERE CURRENT OF c
----
error Unsupported: WHERE CURRENT OF is not supported
  at 21: CURRENT
  hint: Name the row by its key: WHERE id = ...

====
DELETE t
----
error Syntax: syntax error at or near "t"
  at 8: t
  detail: Expected FROM.

====
WITH q AS (SELECT 1) TRUNCATE t
----
error Syntax: syntax error at or near "TRUNCATE"
  at 22: TRUNCATE
  detail: Expected SELECT, VALUES, or a subquery in the query body.
