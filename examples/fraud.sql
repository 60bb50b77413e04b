-- Fraud detection: transactions per user in windows of ten minutes that slide by one, and alerts for users with more than
-- ten transactions, more than 10000 in all, or more than five locations within a window.
--
--     psql -h 127.0.0.1 -p 4566 -f examples/fraud.sql

\set ON_ERROR_STOP on
\set QUIET on

DROP STREAM IF EXISTS transactions CASCADE;

CREATE STREAM transactions (
    user_id  int,
    amount   numeric(12, 2),
    merchant text,
    location text,
    at       timestamp,
    WATERMARK FOR at AS at - INTERVAL '10 minutes'
);

CREATE STREAMING VIEW activity WITH (output_mode = 'append') AS
SELECT window_start, window_end, user_id,
       count(*) AS transactions, sum(amount) AS total, avg(amount) AS average, stddev(amount) AS deviation,
       count(DISTINCT merchant) AS merchants, count(DISTINCT location) AS locations
FROM hop(transactions, at, INTERVAL '1 minute', INTERVAL '10 minutes')
GROUP BY window_start, window_end, user_id;

-- A view on the view: it hands on what is suspicious.
CREATE STREAMING VIEW alerts WITH (output_mode = 'append') AS
SELECT *,
       CASE WHEN transactions > 10 THEN 'many transactions' WHEN total > 10000 THEN 'much money' ELSE 'many locations' END AS reason
FROM activity
WHERE transactions > 10 OR total > 10000 OR locations > 5;

-- Users 1 to 200 are honest: a purchase every two minutes.
INSERT INTO transactions
SELECT 1 + i % 200, (i * 31 % 5000) / 100.0, 'm' || i % 40, 'home of ' || i % 200, to_timestamp(1704067200 + i / 200 * 120 + i % 200 / 4)::timestamp
FROM generate_series(0, 5999) AS g(i);
FLUSH;

-- One fraudster for each rule, and next to each a user who just does not break it.
INSERT INTO transactions SELECT 1001, 1.00, 'm', 'a', to_timestamp(1704070500 + 30 * i)::timestamp FROM generate_series(0, 10) AS g(i);
INSERT INTO transactions SELECT 2001, 1.00, 'm', 'a', to_timestamp(1704070500 + 30 * i)::timestamp FROM generate_series(0, 9) AS g(i);
INSERT INTO transactions VALUES (1002, 9000, 'm', 'a', '2024-01-01 00:56:00'), (1002, 1000.01, 'm', 'a', '2024-01-01 00:59:00');
INSERT INTO transactions VALUES (2002, 9000, 'm', 'a', '2024-01-01 00:56:00'), (2002, 1000.00, 'm', 'a', '2024-01-01 00:59:00');
INSERT INTO transactions SELECT 1003, 1.00, 'm', 'city ' || i, to_timestamp(1704070620 + i)::timestamp FROM generate_series(1, 6) AS g(i);
INSERT INTO transactions SELECT 2003, 1.00, 'm', 'city ' || i % 5, to_timestamp(1704070620 + i)::timestamp FROM generate_series(1, 6) AS g(i);
FLUSH;

-- Time goes on, and all windows end.
INSERT INTO transactions VALUES (NULL, 0, NULL, NULL, '2024-01-02');
FLUSH;

SELECT user_id, reason, count(*) AS windows, min(window_start) AS first, max(window_start) AS last
FROM alerts GROUP BY user_id, reason ORDER BY user_id;

CREATE VIEW activity_once AS
SELECT window_start, window_end, user_id,
       count(*) AS transactions, sum(amount) AS total, avg(amount) AS average, stddev(amount) AS deviation,
       count(DISTINCT merchant) AS merchants, count(DISTINCT location) AS locations
FROM hop(transactions, at, INTERVAL '1 minute', INTERVAL '10 minutes')
WHERE user_id IS NOT NULL
GROUP BY window_start, window_end, user_id;

SELECT count(*) AS differences FROM (
    (SELECT * FROM activity EXCEPT ALL SELECT * FROM activity_once)
    UNION ALL
    (SELECT * FROM activity_once EXCEPT ALL SELECT * FROM activity)
) AS d;
