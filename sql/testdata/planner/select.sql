CREATE TABLE t (a int, b bigint, c text, d numeric(10,2), e double precision, ts timestamp, tz timestamptz, day date, v varchar(3), u uuid, ok boolean)
----
CreateRelation t reads []
  a integer
  b bigint
  c text
  d numeric(10,2)
  e double precision
  ts timestamp without time zone
  tz timestamp with time zone
  day date
  v character varying(3)
  u uuid
  ok boolean
  CREATE TABLE t (a integer, b bigint, c text, d numeric(10,2), e double precision, ts timestamp without time zone, tz timestamp with time zone, day date, v character varying(3), u uuid, ok boolean)

====
SELECT 1, 2, 3000000000, 1.5, 'x', NULL, true, -1
----
Select reads []
  ?column?: integer
  ?column?: integer
  ?column?: bigint
  ?column?: numeric(2,1)
  ?column?: text
  ?column?: text
  bool: boolean
  ?column?: integer
  Projection: ?column?, ?column?:1, ?column?:2, ?column?:3, ?column?:4, CAST(?column?:5 AS Utf8) AS ?column?:5, bool, ?column?:6
    Projection: Int32(1) AS ?column?, Int32(2) AS ?column?:1, Int64(3000000000) AS ?column?:2, Decimal128(1.5,2,1) AS ?column?:3, Utf8("x") AS ?column?:4, NULL AS ?column?:5, Boolean(true) AS bool, (- Int32(1)) AS ?column?:6
      EmptyRelation: rows=1

====
SELECT a, a, t.a AS x, *, count FROM (SELECT *, a AS count FROM t) t
----
Select reads [1]
  a: integer from 1.0
  a: integer from 1.0
  x: integer from 1.0
  a: integer from 1.0
  b: bigint from 1.1
  c: text from 1.2
  d: numeric(10,2) from 1.3
  e: double precision from 1.4
  ts: timestamp without time zone from 1.5
  tz: timestamp with time zone from 1.6
  day: date from 1.7
  v: character varying(3) from 1.8
  u: uuid from 1.9
  ok: boolean from 1.10
  count: integer from 1.0
  count: integer from 1.0
  Projection: t.a AS a:1, t.a AS a:2, t.a AS x, t.a, t.b, t.c, t.d, t.e, t.ts, t.tz, t.day, t.v, t.u, t.ok, t.count, t.count AS count:3
    SubqueryAlias: t
      Projection: t.a, t.b, t.c, t.d, t.e, t.ts, t.tz, t.day, t.v, t.u, t.ok, t.a AS count
        TableScan: t

====
SELECT a + 1, a * b, a / 2, d * 2, e + 1, a + 1.5, c || 'x', -a FROM t
----
Select reads [1]
  ?column?: integer
  ?column?: bigint
  ?column?: integer
  ?column?: numeric(21,2)
  ?column?: double precision
  ?column?: numeric(12,1)
  ?column?: text
  ?column?: integer
  Projection: t.a + Int32(1) AS ?column?, CAST(t.a AS Int64) * t.b AS ?column?:1, t.a / Int32(2) AS ?column?:2, t.d * Decimal128(2,10,0) AS ?column?:3, float_add(t.e, Float64(1)) AS ?column?:4, CAST(t.a AS Decimal128(10, 0)) + Decimal128(1.5,2,1) AS ?column?:5, t.c || Utf8("x") AS ?column?:6, (- t.a) AS ?column?:7
    TableScan: t

====
SELECT sum(a), sum(b), avg(a), count(*), min(c), max(ts), sum(CASE WHEN ok THEN 1 ELSE 0 END), coalesce(a, 0) FROM t
----
error Grouping: column "t.a" must appear in the GROUP BY clause or be used in an aggregate function
  at 105: a,

====
SELECT a::text, 'x'::varchar, a::bigint, CASE WHEN a > 1 THEN 'x' END, now(), EXISTS (SELECT 1), (SELECT max(a) FROM t), lower(c), '2024-01-01'::date, TIMESTAMP '2024-01-01 10:00:00', INTERVAL '1 day' FROM t
----
Select reads [1]
  a: text
  varchar: character varying
  a: bigint
  case: text
  now: timestamp with time zone
  exists: boolean
  max: integer
  lower: text
  date: date
  timestamp: timestamp without time zone
  interval: interval
  Projection: text(t.a) AS a, Utf8("x") FieldMetadata { inner: {"millpond.sql_type": "character varying"} } AS varchar, CAST(t.a AS Int64) AS a:1, CASE WHEN t.a > Int32(1) THEN Utf8("x") END AS case, CAST(now() AS Timestamp(µs, "UTC")) AS now, EXISTS (<subquery>) AS exists, (<subquery>) AS max, lower(t.c) AS lower, Date32("2024-01-01") AS date, TimestampMicrosecond(1704103200000000, None) AS timestamp, IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 1, nanoseconds: 0 }") AS interval
    Subquery:
      Projection: Int32(1) AS ?column?
        EmptyRelation: rows=1
    Subquery:
      Projection: max(t.a) AS max
        Aggregate: groupBy=[[]], aggr=[[max(t.a)]]
          TableScan: t
    TableScan: t

====
SELECT ts - ts, day - day, day + 1, 1 + day, ts + INTERVAL '1 day', ts - '1 day', ts > '2024-01-01', tz > '2024-01-01 00:00:00+02', day = '2024-01-01', a = '5' FROM t
----
Select reads [1]
  ?column?: interval
  ?column?: integer
  ?column?: date
  ?column?: date
  ?column?: timestamp without time zone
  ?column?: timestamp without time zone
  ?column?: boolean
  ?column?: boolean
  ?column?: boolean
  ?column?: boolean
  Projection: timestamp_difference(t.ts, t.ts) AS ?column?, CAST(t.day AS Int32) - CAST(t.day AS Int32) AS ?column?:1, CAST(CAST(t.day AS Int32) + Int32(1) AS Date32) AS ?column?:2, CAST(CAST(t.day AS Int32) + Int32(1) AS Date32) AS ?column?:3, t.ts + IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 1, nanoseconds: 0 }") AS ?column?:4, t.ts - IntervalMonthDayNano("IntervalMonthDayNano { months: 0, days: 1, nanoseconds: 0 }") AS ?column?:5, t.ts > TimestampMicrosecond(1704067200000000, None) AS ?column?:6, t.tz > TimestampMicrosecond(1704060000000000, Some("UTC")) AS ?column?:7, t.day = Date32("2024-01-01") AS ?column?:8, t.a = Int32(5) AS ?column?:9
    TableScan: t

====
SELECT * FROM t WHERE ts BETWEEN '2024-01-01' AND 'infinity' AND a IN ('1', '2') AND u = '{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}'
----
Select reads [1]
  a: integer from 1.0
  b: bigint from 1.1
  c: text from 1.2
  d: numeric(10,2) from 1.3
  e: double precision from 1.4
  ts: timestamp without time zone from 1.5
  tz: timestamp with time zone from 1.6
  day: date from 1.7
  v: character varying(3) from 1.8
  u: uuid from 1.9
  ok: boolean from 1.10
  Projection: t.a, t.b, t.c, t.d, t.e, t.ts, t.tz, t.day, t.v, t.u, t.ok
    Filter: t.ts BETWEEN TimestampMicrosecond(1704067200000000, None) AND TimestampMicrosecond(9223372036854775807, None) AND t.a IN ([Int32(1), Int32(2)]) AND t.u = Utf8("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11") FieldMetadata { inner: {"millpond.sql_type": "uuid"} }
      TableScan: t

====
SELECT c ILIKE 'a%', c ~ '^a', c !~* 'b', c SIMILAR TO 'x', c LIKE '_' FROM t
----
Select reads [1]
  ?column?: boolean
  ?column?: boolean
  ?column?: boolean
  ?column?: boolean
  ?column?: boolean
  Projection: t.c ILIKE Utf8("a%") AS ?column?, t.c ~ Utf8("^a") AS ?column?:1, t.c !~* Utf8("b") AS ?column?:2, similar_to(t.c, Utf8("x")) AS ?column?:3, t.c LIKE Utf8("_") AS ?column?:4
    TableScan: t

====
SELECT CAST(1.5 AS int), CAST(e AS int), c::varchar(3), 'abcdef'::varchar(3), '12'::int, ' 7 '::bigint, 'yes'::boolean, '1.25'::numeric(3,1) FROM t
----
Select reads [1]
  int4: integer
  e: integer
  c: character varying(3)
  varchar: character varying(3)
  int4: integer
  int8: bigint
  bool: boolean
  numeric: numeric(3,1)
  Projection: CAST(round(Decimal128(1.5,2,1)) AS Int32) AS int4, CAST(round_half_even(t.e) AS Int32) AS e, CAST(left(t.c, Int64(3)) AS Utf8<{"millpond.sql_type": "character varying(3)"}>) AS c, CAST(left(Utf8("abcdef"), Int64(3)) AS Utf8<{"millpond.sql_type": "character varying(3)"}>) AS varchar, Int32(12) AS int4:1, Int64(7) AS int8, Boolean(true) AS bool, Decimal128(1.3,3,1) AS numeric
    TableScan: t

====
SELECT pg_catalog.lower(c), c OPERATOR(pg_catalog.~) 'x', c COLLATE pg_catalog."default" FROM public.t
----
Select reads [1]
  lower: text
  ?column?: boolean
  c: text from 1.2
  Projection: lower(public.t.c) AS lower, public.t.c ~ Utf8("x") AS ?column?, public.t.c
    TableScan: public.t

====
SELECT relname FROM pg_class; SELECT relname FROM pg_catalog.pg_class; TABLE sys.queries; SHOW QUERIES
----
Select reads []
  relname: text
  Projection: pg_class.relname
    TableScan: pg_class
Select reads []
  relname: text
  Projection: pg_catalog.pg_class.relname
    TableScan: pg_catalog.pg_class
Select reads []
  name: text
  is_active: boolean
  Projection: sys.queries.name, sys.queries.is_active
    TableScan: sys.queries
Select reads []
  name: text
  is_active: boolean
  Projection: sys.queries.name, sys.queries.is_active
    TableScan: sys.queries

====
VALUES (1, 'a'), (2, 'b')
----
Select reads []
  column1: integer
  column2: text
  Values: (Int32(1), Utf8("a")), (Int32(2), Utf8("b"))

====
WITH x AS (SELECT a, count(*) FROM t GROUP BY a) SELECT * FROM x WHERE count > 1 ORDER BY 2 DESC LIMIT 5 OFFSET 1
----
Select reads [1]
  a: integer
  count: bigint
  Limit: skip=1, fetch=5
    Sort: x.count DESC NULLS FIRST
      Projection: x.a, x.count
        Filter: x.count > Int64(1)
          SubqueryAlias: x
            Projection: t.a, count(Int64(1)) AS count(*) AS count
              Aggregate: groupBy=[[t.a]], aggr=[[count(Int64(1))]]
                TableScan: t

====
SELECT a FROM t UNION ALL SELECT b FROM t ORDER BY a
----
Select reads [1]
  a: bigint
  Sort: a ASC NULLS LAST
    Union
      Projection: CAST(t.a AS Int64) AS a
        TableScan: t
      Projection: t.b AS a
        TableScan: t

====
SELECT x.a, y.a FROM t x JOIN t y ON x.a = y.a LEFT JOIN t z USING (a)
----
error AmbiguousColumn: column reference "a" is ambiguous

====
SELECT DISTINCT c FROM t ORDER BY c
----
Select reads [1]
  c: text
  Sort: t.c ASC NULLS LAST
    Distinct:
      Projection: t.c
        TableScan: t

====
SELECT DISTINCT ON (c) c, a FROM t ORDER BY c, a DESC
----
Select reads [1]
  c: text
  a: integer
  DistinctOn: on_expr=[[t.c]], select_expr=[[t.c, t.a]], sort_expr=[[t.c ASC NULLS LAST, t.a DESC NULLS FIRST]]
    TableScan: t

====
SELECT a, row_number() OVER (PARTITION BY c ORDER BY a), lag(a, 1) OVER (ORDER BY a) FROM t
----
Select reads [1]
  a: integer
  row_number: bigint
  lag: integer
  Projection: t.a, CAST(row_number AS Int64) AS row_number, lag
    Projection: t.a, row_number() PARTITION BY [t.c] ORDER BY [t.a ASC NULLS LAST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW AS row_number, lag(t.a,Int64(1)) ORDER BY [t.a ASC NULLS LAST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW AS lag
      WindowAggr: windowExpr=[[row_number() PARTITION BY [t.c] ORDER BY [t.a ASC NULLS LAST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW]]
        WindowAggr: windowExpr=[[lag(t.a, Int64(1)) ORDER BY [t.a ASC NULLS LAST] RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW]]
          TableScan: t

====
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r
----
Select reads []
  n: integer
  Projection: r.n
    SubqueryAlias: r
      RecursiveQuery: is_distinct=false
        Projection: Int32(1) AS n
          EmptyRelation: rows=1
        Projection: r.n + Int32(1) AS ?column?
          Filter: r.n < Int32(3)
            TableScan: r

====
SELECT a FROM t WHERE a = $1 AND c = $2 AND ts > $3 LIMIT $4
----
Select reads [1]
  a: integer from 1.0
  Limit: skip=0, fetch=$4
    Projection: t.a
      Filter: t.a = $1 AND t.c = $2 AND t.ts > $3
        TableScan: t
parameter $1: integer
parameter $2: text
parameter $3: timestamp without time zone
parameter $4: bigint

====
SELECT $1, $2::int, $1 || 'x'
----
Select reads []
  ?column?: text
  int4: integer
  ?column?: text
  Projection: $1 AS ?column?, $2 AS int4, $1 || Utf8("x") AS ?column?:1
    EmptyRelation: rows=1
parameter $1: text
parameter $2: integer

====
SELECT (SELECT count(*) FROM t y WHERE y.a = x.a) FROM t x WHERE x.a IN (SELECT a FROM t) AND NOT EXISTS (SELECT 1 FROM t z WHERE z.b = x.b)
----
Select reads [1]
  count: bigint
  Projection: nullable((<subquery>)) AS count
    Subquery:
      Projection: count(Int64(1)) AS count(*) AS count
        Aggregate: groupBy=[[]], aggr=[[count(Int64(1))]]
          Filter: y.a = outer_ref(x.a)
            SubqueryAlias: y
              TableScan: t
    Filter: x.a IN (<subquery>) AND NOT EXISTS (<subquery>)
      Subquery:
        Projection: t.a
          TableScan: t
      Subquery:
        Projection: Int32(1) AS ?column?
          Filter: z.b = outer_ref(x.b)
            SubqueryAlias: z
              TableScan: t
      SubqueryAlias: x
        TableScan: t

====
SELECT * FROM STREAM t
----
Select reads [1]
  a: integer from 1.0
  b: bigint from 1.1
  c: text from 1.2
  d: numeric(10,2) from 1.3
  e: double precision from 1.4
  ts: timestamp without time zone from 1.5
  tz: timestamp with time zone from 1.6
  day: date from 1.7
  v: character varying(3) from 1.8
  u: uuid from 1.9
  ok: boolean from 1.10
  Projection: t.a, t.b, t.c, t.d, t.e, t.ts, t.tz, t.day, t.v, t.u, t.ok
    TableScan: t

====
SELECT t.c = ANY('{x,"y"}'), a = ANY('{1,2}'), a = ANY(ARRAY[1, 2]) FROM t
----
Select reads [1]
  ?column?: boolean
  ?column?: boolean
  ?column?: boolean
  Projection: any_eq(t.c, make_array(Utf8("x"), Utf8("y"))) AS ?column?, any_eq(CAST(t.a AS Int64), make_array(Int64(1), Int64(2))) AS ?column?:1, any_eq(t.a, make_array(Int32(1), Int32(2))) AS ?column?:2
    TableScan: t

====
CREATE STREAM ev (ts timestamp); CREATE STREAMING VIEW wv AS SELECT window, count(*) FROM ev GROUP BY window(ts, '1 minute'); SELECT window.start, wv.window.end FROM wv ORDER BY 1; CREATE STREAMING VIEW s AS SELECT window.start FROM wv
----
CreateRelation ev reads []
  ts timestamp without time zone
  append only
  CREATE STREAM ev (ts timestamp without time zone)
CreateView wv reads [2]
  window record
  count bigint not null
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW wv AS SELECT window, count(*) FROM ev GROUP BY window(ts, '1 minute')
  Projection: CAST(named_struct(Utf8("start"), ev.window_start, Utf8("end"), ev.window_end) AS Struct("start": Timestamp(µs), metadata: {"millpond.sql_type": "timestamp without time zone"}, "end": Timestamp(µs), metadata: {"millpond.sql_type": "timestamp without time zone"})) AS window, count(Int64(1)) AS count
    Aggregate: groupBy=[[ev.window_start, ev.window_end]], aggr=[[count(Int64(1))]]
      Projection: ev.window_start, ev.window_end
        WindowAssign: ev.ts size=60000000 slide=60000000 offset=0
          TableScan: ev projection=[ts]
Select reads [3]
  start: timestamp without time zone
  end: timestamp without time zone
  Sort: wv.window[start] ASC NULLS LAST
    Projection: get_field(wv.window, Utf8("start")), get_field(wv.window, Utf8("end"))
      TableScan: wv
CreateView s reads [3]
  start timestamp without time zone
  ViewOptions { output_mode: Update, trigger: Default, fail_on_error: false, query_name: None, no_data_epochs: true, gather: None, watermark_policy: Min, join_mode: Default, allowed_lateness: 0ns, late_rows: LateRetention { time: Some(604800s), bytes: Some(67108864) }, late_data_to: None }
  CREATE STREAMING VIEW s AS SELECT window.start FROM wv
  Projection: get_field(wv.window, Utf8("start")) AS start
    TableScan: wv projection=[window]
