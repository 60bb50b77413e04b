CREATE TABLE t (a int NOT NULL, b text DEFAULT 'none', v varchar(3)); CREATE TABLE u (a int, c int)
----
CreateRelation t reads []
  a integer not null
  b text default 'none'
  v character varying(3)
  CREATE TABLE t (a integer NOT NULL, b text DEFAULT 'none', v character varying(3))
CreateRelation u reads []
  a integer
  c integer
  CREATE TABLE u (a integer, c integer)

====
UPDATE t SET a = a + 1, b = DEFAULT WHERE v = 'x'
----
Update 1 reads [] not null [0] max length [(2, 3)]
  Projection: t.$row, $old0, $old1, $old2, $new0 AS $will0, $new1 AS $will1, $old2 AS $will2
    Projection: t.$row, t.a AS $old0, t.b AS $old1, t.v AS $old2, t.a + Int32(1) AS $new0, Utf8("none") AS $new1
      Filter: t.v = Utf8("x")
        SubqueryAlias: t
          TableScan: $.rows

====
UPDATE t AS x SET v = u.c FROM u WHERE u.a = x.a RETURNING x.v, c + 1
----
Update 1 reads [2] not null [0] max length [(2, 3)]
  Projection: x.$row, $old0, $old1, $old2, $old0 AS $will0, $old1 AS $will1, text($new0) AS $will2, $other0, $other1
    Projection: x.$row, x.a AS $old0, x.b AS $old1, x.v AS $old2, u.c AS $new0, u.a AS $other0, u.c AS $other1
      Filter: u.a = x.a
        Cross Join:
          SubqueryAlias: x
            TableScan: $.rows
          TableScan: u
Returning
  v: character varying(3)
  ?column?: integer
  Projection: x.v, x.$other1 + Int32(1) AS ?column?
    SubqueryAlias: x
      TableScan: $.rows

====
DELETE FROM t WHERE a IN (SELECT a FROM u) RETURNING *
----
Delete from 1 reads [2]
  Projection: t.$row, t.a AS $old0, t.b AS $old1, t.v AS $old2
    Filter: t.a IN (<subquery>)
      Subquery:
        Projection: u.a
          TableScan: u
      SubqueryAlias: t
        TableScan: $.rows
Returning
  a: integer
  b: text
  v: character varying(3)
  Projection: t.a, t.b, t.v
    SubqueryAlias: t
      TableScan: $.rows

====
DELETE FROM t USING u WHERE t.a = u.a AND u.c = $1 RETURNING t.a, $2::int
----
Delete from 1 reads [2]
  Projection: t.$row, t.a AS $old0, t.b AS $old1, t.v AS $old2, u.a AS $other0, u.c AS $other1
    Filter: t.a = u.a AND u.c = $1
      Cross Join:
        SubqueryAlias: t
          TableScan: $.rows
        TableScan: u
Returning
  a: integer
  int4: integer
  Projection: t.a, $2 AS int4
    SubqueryAlias: t
      TableScan: $.rows
parameter $1: integer
parameter $2: integer

====
INSERT INTO t (a) VALUES ($1) RETURNING a
----
Insert into 1 reads [] not null [0] max length [(2, 3)]
  Projection: column1 AS a, Utf8("none") AS b, CAST(NULL AS Utf8<{"millpond.sql_type": "text"}>) AS v
    Values: ($1)
Returning
  a: integer
  Projection: t.a
    SubqueryAlias: t
      TableScan: $.rows
parameter $1: integer

====
TRUNCATE u, t
----
Truncate [1, 2]

====
UPDATE t SET (a, b) = (SELECT c FROM u)
----
error Syntax: number of columns does not match number of values
  at 15: a,

====
UPDATE t SET (a, b) = (SELECT DISTINCT a, c FROM u)
----
error Unsupported: this form of a subquery for several columns in SET is not supported
  at 15: a,
  hint: Write a SELECT that lists its columns, without DISTINCT and UNION.

====
UPDATE t SET a = 'x'
----
error InvalidTextRepresentation: invalid input syntax for type integer: "x"
  at 18: 'x'

====
UPDATE t SET b = 5, a = 1.5
----
Update 1 reads [] not null [0] max length [(2, 3)]
  Projection: t.$row, $old0, $old1, $old2, $new1 AS $will0, text($new0) AS $will1, $old2 AS $will2
    Projection: t.$row, t.a AS $old0, t.b AS $old1, t.v AS $old2, Int32(5) AS $new0, CAST(round(Decimal128(1.5,2,1)) AS Int32) AS $new1
      SubqueryAlias: t
        TableScan: $.rows
