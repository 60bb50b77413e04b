-- update
SELECT k, count(*), sum(x), avg(x), count(x) FROM t GROUP BY k
----
map0: Map [k@0, count(Int64(1))@1 as count(*), sum(t.x)@2, avg(t.x)@3, count(t.x)@4]
  columns: k integer, count(*) bigint, sum(t.x) numeric(38,0), avg(t.x) numeric(38,16), count(t.x) bigint
  key: k
  changes: any
  aggregate0: FinalAggregate by [k] accumulates [rows, sum(x)], emits changes
    columns: k integer, count(Int64(1)) bigint, sum(t.x) numeric(38,0), avg(t.x) numeric(38,16), count(t.x) bigint
    key: k
    changes: any
    state: one group per (k), kept for ever
    <- to workers by hash of k
    partial0: PartialAggregate by [k] accumulates [rows, sum(x)]
      columns: k integer, state0.0 numeric(38,0), state0.1 bigint, rows bigint
      changes: insertions only
      input0: Read t
        columns: k integer, x bigint
        changes: any

-- update
SELECT count(*) AS n, max(s) FROM e
----
map0: Map [count(Int64(1))@0 as n, max(e.s)@1]
  columns: n bigint, max(e.s) text
  changes: any
  aggregate0: FinalAggregate by [] accumulates [rows, max(s)], emits changes
    columns: count(Int64(1)) bigint, max(e.s) text
    changes: any
    state: one group
    <- all rows to one worker
    partial0: PartialAggregate by [] accumulates [rows, max(s)]
      columns: state0.0 text, rows bigint
      changes: insertions only
      input0: Read e, watermark ts - 10 s
        columns: s text, ts timestamp without time zone
        event time: ts
        changes: insertions only

-- update
SELECT k, count(DISTINCT s) FILTER (WHERE x > 0) AS n FROM t GROUP BY k HAVING count(*) > 1
----
map1: Map where count(Int64(1))@2 > 1, then [k@0, count(DISTINCT t.s) FILTER (WHERE t.x > Int64(0))@1 as n]
  columns: k integer, n bigint
  key: k
  changes: any
  aggregate0: FinalAggregate by [k] accumulates [rows, distinctcount(s) where t.x > Int64(0)], emits changes
    columns: k integer, count(DISTINCT t.s) FILTER (WHERE t.x > Int64(0)) bigint, count(Int64(1)) bigint
    key: k
    changes: any
    state: one group per (k), kept for ever
    <- to workers by hash of k
    partial0: PartialAggregate by [k] accumulates [rows, distinctcount(s) where t.x > Int64(0)]
      columns: k integer, state0.0 record[], rows bigint
      changes: insertions only
      map0: Map [k@0, s@1, x@2 > 0 as t.x > Int64(0)]
        columns: k integer, s text, t.x > Int64(0) boolean
        changes: any
        input0: Read t
          columns: k integer, s text, x bigint
          changes: any

-- update
SELECT DISTINCT k, s FROM e
----
aggregate0: FinalAggregate by [k, s] accumulates [rows], emits changes
  columns: k integer, s text
  key: k, s
  changes: insertions only
  state: one group per (k, s), kept for ever
  <- to workers by hash of k, s
  partial0: PartialAggregate by [k, s] accumulates [rows]
    columns: k integer, s text, rows bigint
    changes: insertions only
    input0: Read e, watermark ts - 10 s
      columns: k integer, s text, ts timestamp without time zone
      event time: ts
      changes: insertions only

-- append
SELECT DISTINCT k FROM e
----
aggregate0: FinalAggregate by [k] accumulates [rows], emits changes
  columns: k integer
  key: k
  changes: insertions only
  state: one group per (k), kept for ever
  <- to workers by hash of k
  partial0: PartialAggregate by [k] accumulates [rows]
    columns: k integer, rows bigint
    changes: insertions only
    input0: Read e, watermark ts - 10 s
      columns: k integer, ts timestamp without time zone
      event time: ts
      changes: insertions only

-- append
SELECT DISTINCT k FROM t
----
error: output_mode 'append' needs groups that become final, but a group by t.k never does: group by a window over a column with a watermark
hint: Use output_mode 'update' (EMIT CHANGES) to see results as they change.

-- append
SELECT k, count(*) FROM e GROUP BY k
----
error: output_mode 'append' needs groups that become final, but a group by e.k never does: group by a window over a column with a watermark
hint: Use output_mode 'update' (EMIT CHANGES) to see results as they change.

-- append
SELECT count(*) FROM e
----
error: output_mode 'append' needs groups that become final, but an aggregate without GROUP BY never does: group by a window over a column with a watermark
hint: Use output_mode 'update' (EMIT CHANGES) to see results as they change.

-- update
SELECT c, count(*) FROM (SELECT k, count(*) AS c FROM t GROUP BY k) GROUP BY c
----
map1: Map [c@0, count(Int64(1))@1 as count(*)]
  columns: c bigint, count(*) bigint
  key: c
  changes: any
  aggregate1: FinalAggregate by [c] accumulates [rows], emits changes
    columns: c bigint, count(Int64(1)) bigint
    key: c
    changes: any
    state: one group per (c), kept for ever
    <- to workers by hash of c
    partial1: PartialAggregate by [c] accumulates [rows]
      columns: c bigint, rows bigint
      changes: insertions only
      map0: Map [count(Int64(1))@1 as c]
        columns: c bigint
        changes: any
        aggregate0: FinalAggregate by [k] accumulates [rows], emits changes
          columns: k integer, count(Int64(1)) bigint
          key: k
          changes: any
          state: one group per (k), kept for ever
          <- to workers by hash of k
          partial0: PartialAggregate by [k] accumulates [rows]
            columns: k integer, rows bigint
            changes: insertions only
            input0: Read t
              columns: k integer
              changes: any

-- update
SELECT k, array_agg(x) FROM t GROUP BY k
----
recompute0: Recompute by [k]: array_agg(t.x), emits changes
  columns: k integer, array_agg(t.x) bigint[]
  key: k
  changes: any
  state: all input rows per (k), kept for ever
  <- to workers by hash of k
  input0: Read t
    columns: k integer, x bigint
    changes: any

-- update
SELECT k, count(*) FROM t GROUP BY ROLLUP (k)
----
map2: Map [k@0, count(Int64(1))@2 as count(*)]
  columns: k integer, count(*) bigint
  changes: any
  union0: Union
    columns: k integer, __grouping_id smallint, count(Int64(1)) bigint
    changes: any
    map0: Map [NULL as k, 1 as __grouping_id, count(Int64(1))@0]
      columns: k integer, __grouping_id smallint, count(Int64(1)) bigint
      changes: any
      aggregate0: FinalAggregate by [] accumulates [rows], emits changes
        columns: count(Int64(1)) bigint
        changes: any
        state: one group
        <- all rows to one worker
        partial0: PartialAggregate by [] accumulates [rows]
          columns: rows bigint
          changes: insertions only
          input0: Read t
            columns: k integer
            changes: any
    map1: Map [k@0, 0 as __grouping_id, count(Int64(1))@1]
      columns: k integer, __grouping_id smallint, count(Int64(1)) bigint
      key: k
      changes: any
      aggregate1: FinalAggregate by [k] accumulates [rows], emits changes
        columns: k integer, count(Int64(1)) bigint
        key: k
        changes: any
        state: one group per (k), kept for ever
        <- to workers by hash of k
        partial1: PartialAggregate by [k] accumulates [rows]
          columns: k integer, rows bigint
          changes: insertions only
          input0: Read t
            columns: k integer
            changes: any

