CREATE TABLE t (a int NOT NULL, b text DEFAULT 'none', n numeric(10,2), ts timestamptz, v varchar(3)); CREATE STREAM e (k text); CREATE SOURCE r WITH (connector = 'rate'); CREATE STREAMING VIEW w AS SELECT a FROM t
----
CreateRelation t reads []
  a integer not null
  b text default 'none'
  n numeric(10,2)
  ts timestamp with time zone
  v character varying(3)
  CREATE TABLE t (a integer NOT NULL, b text DEFAULT 'none', n numeric(10,2), ts timestamp with time zone, v character varying(3))
CreateRelation e reads []
  k text
  append only
  CREATE STREAM e (k text)
CreateRelation r reads []
  timestamp timestamp without time zone not null
  value bigint not null
  connector rate
  CREATE SOURCE r (timestamp timestamp without time zone NOT NULL, value bigint NOT NULL) WITH (connector = 'rate')
CreateView w reads [1]
  a integer not null
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW w AS SELECT a FROM t
  TableScan: t projection=[a]

====
INSERT INTO t VALUES (1, 'x', 1.5, '2024-01-01 00:00:00+01', 'abc')
----
Insert into 1 reads [] not null [0] max length [(4, 3)]
  Projection: column1 AS a, column2 AS b, column3 AS n, column4 AS ts, column5 AS v
    Values: (Int32(1), Utf8("x"), Decimal128(1.50,10,2), TimestampMicrosecond(1704063600000000, Some("UTC")), Utf8("abc"))

====
INSERT INTO t (b, a) VALUES (DEFAULT, '7'), ('y', 8)
----
Insert into 1 reads [] not null [0] max length [(4, 3)]
  Projection: column2 AS a, column1 AS b, CAST(NULL AS Decimal128(10, 2)) AS n, CAST(NULL AS Timestamp(µs, "UTC")) AS ts, CAST(NULL AS Utf8<{"millpond.sql_type": "text"}>) AS v
    Values: (Utf8("none"), Int32(7)), (Utf8("y"), Int32(8))

====
INSERT INTO t (a) SELECT 5
----
Insert into 1 reads [] not null [0] max length [(4, 3)]
  Projection: ?column? AS a, Utf8("none") AS b, CAST(NULL AS Decimal128(10, 2)) AS n, CAST(NULL AS Timestamp(µs, "UTC")) AS ts, CAST(NULL AS Utf8<{"millpond.sql_type": "text"}>) AS v
    Projection: Int32(5) AS ?column?
      EmptyRelation: rows=1

====
INSERT INTO t (a, ts) SELECT 5, '2024-01-01'
----
Insert into 1 reads [] not null [0] max length [(4, 3)]
  Projection: ?column? AS a, Utf8("none") AS b, CAST(NULL AS Decimal128(10, 2)) AS n, timestamptz AS ts, CAST(NULL AS Utf8<{"millpond.sql_type": "text"}>) AS v
    Projection: Int32(5) AS ?column?, TimestampMicrosecond(1704067200000000, Some("UTC")) AS timestamptz
      EmptyRelation: rows=1

====
INSERT INTO t (a, b) SELECT a, b FROM t WHERE a > 1
----
Insert into 1 reads [1] not null [0] max length [(4, 3)]
  Projection: t.a AS a, t.b AS b, CAST(NULL AS Decimal128(10, 2)) AS n, CAST(NULL AS Timestamp(µs, "UTC")) AS ts, CAST(NULL AS Utf8<{"millpond.sql_type": "text"}>) AS v
    Projection: t.a, t.b
      Filter: t.a > Int32(1)
        TableScan: t

====
INSERT INTO t DEFAULT VALUES
----
Insert into 1 reads [] not null [0] max length [(4, 3)]
  Projection: column1 AS a, column2 AS b, column3 AS n, column4 AS ts, column5 AS v
    Values: (CAST(NULL AS Int32), Utf8("none"), CAST(NULL AS Decimal128(10, 2)), CAST(NULL AS Timestamp(µs, "UTC")), CAST(NULL AS Utf8))

====
INSERT INTO t (a, b, ts) VALUES ($1, $2, $3)
----
Insert into 1 reads [] not null [0] max length [(4, 3)]
  Projection: column1 AS a, column2 AS b, CAST(NULL AS Decimal128(10, 2)) AS n, column3 AS ts, CAST(NULL AS Utf8<{"millpond.sql_type": "text"}>) AS v
    Values: ($1, $2, $3)
parameter $1: integer
parameter $2: text
parameter $3: timestamp with time zone

====
INSERT INTO t (a) VALUES ($1 + 1)
----
Insert into 1 reads [] not null [0] max length [(4, 3)]
  Projection: column1 AS a, Utf8("none") AS b, CAST(NULL AS Decimal128(10, 2)) AS n, CAST(NULL AS Timestamp(µs, "UTC")) AS ts, CAST(NULL AS Utf8<{"millpond.sql_type": "text"}>) AS v
    Values: ($1 + Int32(1))
parameter $1: integer

====
INSERT INTO t VALUES (1)
----
Insert into 1 reads [] not null [0] max length [(4, 3)]
  Projection: column1 AS a, Utf8("none") AS b, CAST(NULL AS Decimal128(10, 2)) AS n, CAST(NULL AS Timestamp(µs, "UTC")) AS ts, CAST(NULL AS Utf8<{"millpond.sql_type": "text"}>) AS v
    Values: (Int32(1))

====
INSERT INTO t (a, b) VALUES (1)
----
error Syntax: INSERT has more target columns than expressions
  at 13: t

====
INSERT INTO t (a) VALUES (1, 2)
----
error Syntax: INSERT has more expressions than target columns
  at 13: t

====
INSERT INTO t (a, nope) VALUES (1, 2)
----
error UndefinedColumn: column "nope" of relation "t" does not exist
  at 19: nope)

====
INSERT INTO t (a, a) VALUES (1, 2)
----
error DuplicateColumn: column "a" specified more than once
  at 19: a)

====
INSERT INTO t (a) VALUES ('x')
----
error InvalidTextRepresentation: invalid input syntax for type integer: "x"
  at 27: 'x')

====
INSERT INTO t (a) VALUES (now())
----
error TypeMismatch: column "a" is of type integer but expression is of type timestamp with time zone
  at 13: t
  hint: You will need to rewrite or cast the expression.

====
INSERT INTO t (a) SELECT b FROM t
----
error TypeMismatch: column "a" is of type integer but expression is of type text
  at 13: t
  hint: You will need to rewrite or cast the expression.

====
INSERT INTO t (a) VALUES (99999999999)
----
error NumericOutOfRange: integer out of range

====
INSERT INTO t (a, n) VALUES (1, 123456789012.5)
----
error NumericOutOfRange: numeric field overflow
  detail: A field with precision 10, scale 2 must round to an absolute value less than 10^8.

====
INSERT INTO w VALUES (1)
----
error WrongObjectType: cannot insert into streaming view "w"
  at 13: w
  hint: Only tables and streams take INSERT.

====
INSERT INTO r VALUES (now(), 1)
----
error WrongObjectType: cannot insert into source "r"
  at 13: r
  hint: Only tables and streams take INSERT.

====
INSERT INTO pg_class VALUES (1)
----
error WrongObjectType: cannot insert into system relation "pg_class"
  at 13: pg_class

====
INSERT INTO t (a, ts) VALUES (1, 'infinity'), (2, '-infinity'), (3, '9999-12-31 23:59:59')
----
Insert into 1 reads [] not null [0] max length [(4, 3)]
  Projection: column1 AS a, Utf8("none") AS b, CAST(NULL AS Decimal128(10, 2)) AS n, column2 AS ts, CAST(NULL AS Utf8<{"millpond.sql_type": "text"}>) AS v
    Values: (Int32(1), TimestampMicrosecond(9223372036854775807, Some("UTC"))), (Int32(2), TimestampMicrosecond(-9223372036854775808, Some("UTC"))), (Int32(3), TimestampMicrosecond(253402300799000000, Some("UTC")))
