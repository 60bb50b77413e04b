-- A first look at a live stream: five rows a second, counted in windows of ten seconds. It takes about a minute.
--
--     psql -h 127.0.0.1 -p 4566 -f examples/rate_lab.sql

\set ON_ERROR_STOP on
\set QUIET on

DROP SOURCE IF EXISTS rate CASCADE;

-- The rate source makes rows by itself: a timestamp and a value that counts from 0. Rows may be ten seconds late.
CREATE SOURCE rate (
    timestamp timestamp,
    value     bigint,
    WATERMARK FOR timestamp AS timestamp - INTERVAL '10 seconds'
) WITH (connector = 'rate', rows_per_second = 5);

-- The current count of every window, handed over every five seconds.
CREATE STREAMING VIEW rate_10s WITH (output_mode = 'update', trigger = '5 seconds') AS
SELECT window_start, window_end, count(*) AS n
FROM tumble(rate, timestamp, INTERVAL '10 seconds')
GROUP BY window_start, window_end;

\echo The query runs in the server from now on. Its status:
SELECT name, is_active, status_message FROM sys.queries WHERE name = 'rate_10s';

\echo Waiting for a minute. Meanwhile another psql can read rate_10s as often as it likes.
SELECT pg_sleep(15) \g /dev/null
\echo After 15 seconds:
SELECT * FROM rate_10s ORDER BY window_start;
SELECT pg_sleep(45) \g /dev/null

\echo After 60 seconds, 50 rows in each full window:
SELECT 'window', window_start, window_end, n FROM rate_10s ORDER BY window_start;

\echo What the last epochs did:
SELECT batch_id, num_input_rows FROM sys.query_progress WHERE name = 'rate_10s' ORDER BY batch_id DESC LIMIT 3;
SELECT name, is_active, status_message FROM sys.queries WHERE name = 'rate_10s';

\echo The view goes on. To remove it: DROP SOURCE rate CASCADE;
