-- Real-time ETL: raw events are cleaned, looked up in two tables and counted in windows of five minutes, and the result is
-- compared with a batch query over the events that were not late.
--
--     psql -h 127.0.0.1 -p 4566 -f examples/etl.sql

\set ON_ERROR_STOP on
\set QUIET on

DROP STREAM IF EXISTS raw_events CASCADE;
DROP TABLE IF EXISTS users CASCADE;
DROP TABLE IF EXISTS products CASCADE;

CREATE TABLE users (user_id int PRIMARY KEY, segment text);
CREATE TABLE products (product_id int PRIMARY KEY, category text);

-- Events may be up to fifteen minutes late.
CREATE STREAM raw_events (
    event_id   int,
    user_id    int,
    product_id int,
    amount     numeric(10, 2),
    at         timestamp,
    WATERMARK FOR at AS at - INTERVAL '15 minutes'
);

INSERT INTO users SELECT i, (ARRAY['new', 'regular', 'vip'])[1 + i % 3] FROM generate_series(1, 500) AS g(i);
INSERT INTO products SELECT i, (ARRAY['books', 'games', 'music', 'tools'])[1 + i % 4] FROM generate_series(1, 90) AS g(i);
FLUSH;

-- A window comes out once, when it is final. Each event finds the users and products that are known when it comes;
-- events without a user or time and those of unknown products are left out.
CREATE STREAMING VIEW dashboard WITH (output_mode = 'append') AS
SELECT window_start, window_end, category, segment,
       count(*) AS events, sum(amount) AS revenue, count(DISTINCT user_id) AS users
FROM tumble((
    SELECT e.at, e.amount, e.user_id, p.category, u.segment
    FROM raw_events AS e
    JOIN users AS u ON e.user_id = u.user_id
    JOIN products AS p ON e.product_id = p.product_id
    WHERE e.user_id IS NOT NULL AND e.at IS NOT NULL
), at, INTERVAL '5 minutes')
GROUP BY window_start, window_end, category, segment;

-- Ten batches of 10,000 events, half a second of event time apart and up to ten minutes out of order. Every 97th has no
-- user, every 89th no time, products above 90 are unknown, and from the second batch on every 499th comes three hours late.
\set statement 'INSERT INTO raw_events SELECT i, CASE WHEN i % 97 = 0 THEN NULL ELSE 1 + i * 7 % 500 END, 1 + i * 13 % 100, (i % 1000) / 10.0, CASE WHEN i % 89 = 0 THEN NULL WHEN i > 10000 AND i % 499 = 0 THEN to_timestamp(1704067200 + i / 2 - 10800)::timestamp ELSE to_timestamp(1704067200 + i / 2 - i * 37 % 600)::timestamp END FROM generate_series('
:statement     1,  10000) AS g(i); FLUSH;
:statement 10001,  20000) AS g(i); FLUSH;
:statement 20001,  30000) AS g(i); FLUSH;
:statement 30001,  40000) AS g(i); FLUSH;
:statement 40001,  50000) AS g(i); FLUSH;
:statement 50001,  60000) AS g(i); FLUSH;
:statement 60001,  70000) AS g(i); FLUSH;
:statement 70001,  80000) AS g(i); FLUSH;
:statement 80001,  90000) AS g(i); FLUSH;
:statement 90001, 100000) AS g(i); FLUSH;

-- An event a day later ends all windows. It has no user.
INSERT INTO raw_events VALUES (0, NULL, NULL, NULL, '2024-01-03');
FLUSH;

SELECT count(*) AS windows, sum(events) AS events, sum(revenue) AS revenue FROM dashboard;

CREATE VIEW dashboard_once AS
SELECT window_start, window_end, category, segment,
       count(*) AS events, sum(amount) AS revenue, count(DISTINCT e.user_id) AS users
FROM tumble(raw_events, at, INTERVAL '5 minutes') AS e
JOIN users AS u ON e.user_id = u.user_id
JOIN products AS p ON e.product_id = p.product_id
WHERE NOT (event_id > 10000 AND event_id % 499 = 0)
GROUP BY window_start, window_end, category, segment;

SELECT count(*) AS differences FROM (
    (SELECT * FROM dashboard EXCEPT ALL SELECT * FROM dashboard_once)
    UNION ALL
    (SELECT * FROM dashboard_once EXCEPT ALL SELECT * FROM dashboard)
) AS d;
