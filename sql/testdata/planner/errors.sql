CREATE TABLE t (a int, b bigint, c text, ts timestamp); CREATE TABLE s (a int, total bigint)
----
CreateRelation t reads []
  a integer
  b bigint
  c text
  ts timestamp without time zone
  CREATE TABLE t (a integer, b bigint, c text, ts timestamp without time zone)
CreateRelation s reads []
  a integer
  total bigint
  CREATE TABLE s (a integer, total bigint)

====
SELECT nope FROM t
----
error UndefinedColumn: column "nope" does not exist
  at 8: nope

====
SELECT t.nope, a FROM t
----
error UndefinedColumn: column t.nope does not exist
  at 8: t.nope,

====
SELECT tt.a FROM t
----
error UndefinedTable: missing FROM-clause entry for table "tt"
  at 8: tt.a
  hint: Did you mean "t"?

====
SELECT a FROM t, s
----
error AmbiguousColumn: column reference "a" is ambiguous
  at 8: a

====
SELECT * FROM nope
----
error UndefinedTable: relation "nope" does not exist
  at 15: nope

====
SELECT * FROM publc.t
----
error UndefinedTable: schema "publc" does not exist
  at 15: publc.t
  hint: Did you mean "public"?

====
SELECT * FROM sys.querys
----
error UndefinedTable: relation "sys.querys" does not exist
  at 15: sys.querys
  hint: Did you mean "queries"?

====
SELECT nope(a) FROM t
----
error UndefinedFunction: function nope does not exist
  at 8: nope(a)

====
SELECT lowr(c) FROM t
----
error UndefinedFunction: function lowr does not exist
  at 8: lowr(c)
  hint: Did you mean "lower"?

====
SELECT abs(c) FROM t
----
error UndefinedFunction: function abs(text) does not exist
  at 8: abs(c)
  hint: No function matches the given name and argument types. You might need to add explicit type casts.

====
SELECT sum(c) FROM t
----
error UndefinedFunction: function sum(text) does not exist
  at 8: sum(c)
  hint: No function matches the given name and argument types. You might need to add explicit type casts.

====
SELECT a + c FROM t
----
error UndefinedFunction: operator does not exist: integer + text
  at 8: a
  hint: You might need to add explicit type casts.

====
SELECT a = true FROM t
----
error UndefinedFunction: operator does not exist: integer = boolean
  at 8: a
  hint: You might need to add explicit type casts.

====
SELECT a = ts FROM t
----
error UndefinedFunction: operator does not exist: integer = timestamp without time zone
  at 8: a
  hint: You might need to add explicit type casts.

====
SELECT a, count(*) FROM t
----
error Grouping: column "t.a" must appear in the GROUP BY clause or be used in an aggregate function
  at 8: a,

====
SELECT a FROM t WHERE count(*) > 1
----
error Grouping: aggregate functions are not allowed in the WHERE clause. Consider using HAVING instead
  at 23: count(*)

====
SELECT count(sum(a)) FROM t
----
error Grouping: aggregate function calls cannot be nested: 'sum(t.a)' is nested inside 'count(sum(t.a))'
  at 18: a))

====
SELECT a FROM t GROUP BY 5
----
error InvalidColumnReference: cannot find column with position 5 in SELECT clause. Valid columns: 1 to 1

====
SELECT a FROM t HAVING b > 1
----
error Grouping: HAVING clause references: t.b > Int32(1) must appear in the GROUP BY clause or be used in an aggregate function

====
SELECT a FROM t WHERE a
----
error TypeMismatch: argument of WHERE must be type boolean, not type integer

====
SELECT a FROM t UNION SELECT a, b FROM t
----
error Syntax: each UNION query must have the same number of columns
  at 1: SELECT

====
SELECT a FROM t UNION SELECT ts FROM t
----
error TypeMismatch: UNION types integer and timestamp without time zone cannot be matched
  at 30: ts
  hint: Cast one of them to the type of the other.

====
SELECT 'x'::int
----
error InvalidTextRepresentation: invalid input syntax for type integer: "x"
  at 8: 'x'::int

====
SELECT '2024-13-01'::timestamp
----
error DatetimeOverflow: date/time field value out of range: "2024-13-01"
  at 8: '2024-13-01'::timest

====
SELECT 'hello'::timestamp
----
error InvalidDatetimeFormat: invalid input syntax for type timestamp: "hello"
  at 8: 'hello'::timestamp

====
SELECT '99999999999'::int
----
error NumericOutOfRange: value "99999999999" is out of range for type integer
  at 8: '99999999999'::int

====
SELECT 99999999999::int
----
error NumericOutOfRange: integer out of range

====
SELECT 'x'::nope
----
error UndefinedObject: type "nope" does not exist
  at 13: nope

====
SELECT a::nope FROM t
----
error UndefinedObject: type "nope" does not exist
  at 11: nope

====
SELECT * FROM t JOIN t ON true
----
error DuplicateAlias: table name "t" specified more than once

====
SELECT * FROM t x JOIN s x ON true
----
error DuplicateAlias: table name "x" specified more than once

====
WITH x AS (SELECT 1), x AS (SELECT 2) SELECT * FROM x
----
error DuplicateAlias: WITH query name "x" specified more than once

====
SELECT *
----
error Syntax: SELECT * with no tables specified is not valid

====
SELECT a FROM t WHERE c LIKE 5
----
error UndefinedFunction: operator does not exist: text ~~ integer
  hint: You might need to add explicit type casts.

====
SELECT $x
----
error UndefinedParameter: there is no parameter $x

====
SELECT $0
----
error UndefinedParameter: there is no parameter $0

====
SELECT a FROM t FOR UPDATE
----
error Unsupported: FOR UPDATE and FOR SHARE are not supported

====
SELECT * INTO x FROM t
----
CREATE TABLE public.x (a integer, b bigint, c text, ts timestamp without time zone)
INSERT INTO public.x SELECT * FROM t

====
SELECT * FROM t TABLESAMPLE BERNOULLI (10)
----
error Unsupported: TABLESAMPLE is not supported

====
SELECT a FROM t WHERE a = ANY(SELECT c FROM t)
----
error TypeMismatch: expr type Int32 can't cast to Utf8 in SetComparison

====
SELECT (SELECT a, b FROM t)
----
error Syntax: too many columns! The subquery should only return one column: t.a, t.b

====
SELECT row_number() FROM t
----
error Windowing: window function row_number requires an OVER clause
  at 8: row_number()

====
SELECT c.x FROM t
----
error UndefinedColumn: cannot access field at argument 1: type Utf8 is not Struct, Map, or Null

====
SELECT date_bin('1 day', ts), nullif(a, 0), greatest(a, b, 3) FROM t
----
Select reads [1]
  date_bin: timestamp without time zone
  nullif: integer
  greatest: bigint
  Projection: CAST(date_bin AS Timestamp(µs)) AS date_bin, nullif, greatest
    Projection: date_bin(IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 1, nanoseconds: 0 }"), CAST(t.ts AS Timestamp(ns))) AS date_bin, nullif(t.a, Int32(0)) AS nullif, greatest(CAST(t.a AS Int64), t.b, Int64(3)) AS greatest
      TableScan: t

====
INSERT INTO nope VALUES (1)
----
error UndefinedTable: relation "nope" does not exist
  at 13: nope

====
SELECT interval 'x'
----
error InvalidDatetimeFormat: invalid input syntax for type interval: "x"
  at 17: 'x'

====
VALUES (1), (2, 3)
----
error Syntax: inconsistent data length across values list: got 2 values in row 1 but expected 1

====
VALUES (1), ('x')
----
error InvalidTextRepresentation: invalid input syntax for type integer: "x"
  at 14: 'x')

====
SELECT a FROM t ORDER BY nope
----
error UndefinedColumn: column "nope" does not exist

====
SELECT a FROM t LIMIT 'x'
----
error TypeMismatch: expected LIMIT to be an integer or null, but got Utf8

====
SELECT a FROM t LIMIT -1
----
Select reads [1]
  a: integer from 1.0
  Limit: skip=0, fetch=Int64(-1)
    Projection: t.a
      TableScan: t
not optimized: error InvalidParameterValue: LIMIT must be >= 0, '-1' was provided

====
VALUES (1), (2.5), (NULL); VALUES ('a'), (NULL); SELECT * FROM (VALUES (1, 'x'), (3000000000, NULL)) v (a, b)
----
Select reads []
  column1: numeric(11,1)
  Values: (Decimal128(1.0,11,1)), (Decimal128(2.5,11,1)), (Decimal128(NULL,11,1))
Select reads []
  column1: text
  Values: (Utf8("a")), (Utf8(NULL))
Select reads []
  a: bigint
  b: text
  Projection: v.a, v.b
    SubqueryAlias: v
      Projection: column1 AS a, column2 AS b
        Values: (Int64(1), Utf8("x")), (Int64(3000000000), Utf8(NULL))
