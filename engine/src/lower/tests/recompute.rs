//! Views with parts that are computed anew: window functions, first rows, aggregates without an accumulator.

use crate::lower::tests::random::check;

/// Every order is total, or what it leaves open cannot be seen.
const QUERIES: &[&str] = &[
    "SELECT k, x, s, row_number() OVER (PARTITION BY k ORDER BY x, s, d, b, ts) AS n FROM t",
    "SELECT k, x, rank() OVER (PARTITION BY k ORDER BY x DESC) AS r, dense_rank() OVER (PARTITION BY k ORDER BY x) AS e FROM t",
    "SELECT s, k, percent_rank() OVER w AS p, cume_dist() OVER w AS c FROM t WINDOW w AS (PARTITION BY s ORDER BY k)",
    "SELECT k, s, lag(x) OVER w AS a, lead(x, 2, 0) OVER w AS b, first_value(x) OVER w AS c, nth_value(x, 2) OVER w AS d \
     FROM t WINDOW w AS (PARTITION BY k, s ORDER BY x)",
    "SELECT k, x, sum(x) OVER (PARTITION BY k) AS a, count(*) OVER (PARTITION BY s) AS b, avg(d) OVER () AS c FROM t",
    "SELECT k, x, sum(x) OVER (PARTITION BY k ORDER BY x ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS a FROM t",
    "SELECT k, ts, count(*) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '5 seconds' PRECEDING AND CURRENT ROW) AS a \
     FROM t WHERE ts IS NOT NULL",
    "SELECT k, x, ntile(3) OVER (ORDER BY x, k) AS a FROM t",
    "SELECT k, x FROM (SELECT k, x, s, d, b, ts, row_number() OVER (PARTITION BY k ORDER BY x, s, d, b, ts) AS n FROM t) WHERE n <= 2",
    "SELECT k, x, s, n FROM (SELECT k, x, s, rank() OVER (PARTITION BY k ORDER BY x DESC) AS n FROM t) WHERE n < 3 AND s <> 'a'",
    "SELECT k, x, n FROM (SELECT k, x, dense_rank() OVER (PARTITION BY k ORDER BY x DESC NULLS LAST) AS n FROM t) \
     WHERE n BETWEEN 2 AND 3",
    "SELECT s, x, n FROM (SELECT s, x, row_number() OVER (PARTITION BY s ORDER BY x) AS n FROM e) WHERE n = 1",
    "SELECT s, x, n FROM (SELECT s, x, rank() OVER (PARTITION BY s ORDER BY x) AS n FROM e) WHERE n <= 2",
    "SELECT k, x, s FROM t ORDER BY x, k, s LIMIT 5",
    "SELECT k, x, s FROM t ORDER BY x DESC, k NULLS FIRST, s LIMIT 4 OFFSET 3",
    "SELECT x + 1 AS y FROM (SELECT * FROM t WHERE x < 100) ORDER BY x, k LIMIT 7",
    "SELECT x FROM e ORDER BY x LIMIT 3",
    "SELECT k, count(*) AS c FROM t GROUP BY k ORDER BY c DESC, k LIMIT 2",
    "SELECT k, s FROM t ORDER BY k",
    "SELECT DISTINCT ON (k) k, x, s FROM t ORDER BY k, x DESC, s",
    "SELECT DISTINCT ON (s, k) x, k + 1 AS kk FROM t ORDER BY s, k DESC, x",
    "SELECT k, stddev(x % 100) AS a, count(*) AS b, median(d) AS c FROM t GROUP BY k",
    "SELECT s, array_agg(k ORDER BY k DESC) AS a, string_agg(s, '-' ORDER BY s) AS b, min(x) AS c FROM t GROUP BY s",
    "SELECT array_agg(x ORDER BY x) AS a, bit_and(k) AS b, bit_or(k) AS c, bit_xor(k) AS d FROM t",
    "SELECT count(*) AS a, var_pop(k) AS b, bit_and(k) AS d, bool_or(b) AS c FROM t WHERE k > 1",
    "SELECT s, array_agg(DISTINCT k ORDER BY k) AS a, sum(x) FILTER (WHERE k > 1) AS b, first_value(x ORDER BY x) AS c FROM t GROUP BY s \
     HAVING count(*) > 1",
    "SELECT window_start, k, array_agg(x ORDER BY x) AS a FROM t_hop GROUP BY window_start, window_end, k",
    "SELECT window_start, median(k) AS a, count(*) AS b FROM e_odd GROUP BY window_start",
    "SELECT window_end, k, c, rank() OVER (PARTITION BY window_end ORDER BY c DESC) AS r \
     FROM (SELECT window_end, k, count(*) AS c FROM e_tumble GROUP BY window_end, k)",
    "SELECT k, s, count(*), sum(x), grouping(k) AS gk, grouping(k, s) AS g FROM t GROUP BY ROLLUP (k, s)",
    "SELECT k, s, b, count(*), array_agg(x ORDER BY x) FROM t GROUP BY GROUPING SETS ((k, s), (s, b), (k))",
    "SELECT k, s, max(x) FROM t WHERE x < 5 GROUP BY CUBE (k, s)",
    "SELECT window_start, k, count(*) FROM t_tumble GROUP BY GROUPING SETS ((window_start, k), (window_start))",
    "SELECT k, stddev(d) AS a, var_pop(d) AS b, variance(DISTINCT k) AS c, stddev_pop(k) AS d FROM t GROUP BY k",
    "SELECT s, stddev(f) FILTER (WHERE f <> 1e300) AS a, var_pop(f) FILTER (WHERE f < 1e10 AND f > -1e10) AS b, count(*) AS c FROM t GROUP BY s",
    "SELECT window_start, stddev(k) AS a, variance(d) AS b FROM e_hop GROUP BY window_start",
    "SELECT k, variance(x % 7) OVER (PARTITION BY k) AS a FROM t",
    "SELECT k, n, sum(n) OVER (PARTITION BY k) AS s FROM (SELECT k, s, count(*) AS n FROM t GROUP BY k, s)",
];

#[test]
fn views_with_recomputed_parts_equal_their_select_run_once() {
    for (i, sql) in QUERIES.iter().enumerate() {
        for seed in 0..3 {
            check(sql, 50_000 + seed * 1000 + i as u64);
        }
    }
}
