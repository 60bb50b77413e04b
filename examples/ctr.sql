-- Click-through rate: impressions and the clicks that follow within an hour, per campaign and five minutes of the
-- impression.
--
--     psql -h 127.0.0.1 -p 4566 -f examples/ctr.sql

\set ON_ERROR_STOP on
\set QUIET on

DROP STREAM IF EXISTS impressions CASCADE;
DROP STREAM IF EXISTS clicks CASCADE;

CREATE STREAM impressions (
    impression_id int,
    campaign      text,
    shown_at      timestamp,
    WATERMARK FOR shown_at AS shown_at - INTERVAL '1 hour'
);
CREATE STREAM clicks (
    click_id      int,
    impression_id int,
    clicked_at    timestamp,
    WATERMARK FOR clicked_at AS clicked_at - INTERVAL '1 hour'
);

-- Each impression with its clicks, or alone: one row per click, so an impression that is clicked twice is there twice.
-- It comes out when the watermark of clicks says that no click can come any more, and the window ends after that.
CREATE STREAMING VIEW ctr WITH (output_mode = 'append') AS
SELECT window_start, campaign,
       count(DISTINCT impression_id) AS impressions,
       count(click_id) AS clicks,
       round(100.0 * count(click_id) / count(DISTINCT impression_id), 2) AS percent
FROM tumble((
    SELECT i.impression_id, i.campaign, i.shown_at, c.click_id
    FROM impressions AS i
    LEFT JOIN clicks AS c
      ON i.impression_id = c.impression_id
     AND c.clicked_at BETWEEN i.shown_at AND i.shown_at + INTERVAL '1 hour'
), shown_at, INTERVAL '5 minutes')
GROUP BY window_start, campaign;

-- Six hours of impressions, one a second. In the first three every fifth is clicked within the hour; in the others every 35th
-- is, and every 11th a second too late.
INSERT INTO impressions
SELECT i, (ARRAY['spring', 'summer', 'autumn'])[1 + i % 3], to_timestamp(1704067200 + i)::timestamp
FROM generate_series(0, 10799) AS g(i);
INSERT INTO clicks
SELECT i, i, to_timestamp(1704067200 + i + 1 + i * 17 % 3600)::timestamp
FROM generate_series(0, 10799) AS g(i) WHERE i % 5 = 0;
FLUSH;
INSERT INTO impressions
SELECT i, (ARRAY['spring', 'summer', 'autumn'])[1 + i % 3], to_timestamp(1704067200 + i)::timestamp
FROM generate_series(10800, 21599) AS g(i);
INSERT INTO clicks
SELECT i + 100000, i, to_timestamp(1704067200 + i + 2)::timestamp
FROM generate_series(10800, 21599) AS g(i) WHERE i % 35 = 0
UNION ALL
SELECT i + 200000, i, to_timestamp(1704067200 + i + 3601)::timestamp
FROM generate_series(10800, 21599) AS g(i) WHERE i % 11 = 0;
FLUSH;

-- Both streams go on the next day.
INSERT INTO impressions VALUES (-1, NULL, '2024-01-03');
INSERT INTO clicks VALUES (-1, -2, '2024-01-03');
FLUSH;

SELECT count(*) AS windows, sum(impressions) AS impressions, sum(clicks) AS clicks FROM ctr;

CREATE VIEW ctr_once AS
SELECT window_start, campaign,
       count(DISTINCT i.impression_id) AS impressions,
       count(click_id) AS clicks,
       round(100.0 * count(click_id) / count(DISTINCT i.impression_id), 2) AS percent
FROM tumble(impressions, shown_at, INTERVAL '5 minutes') AS i
LEFT JOIN clicks AS c
  ON i.impression_id = c.impression_id
 AND c.clicked_at BETWEEN i.shown_at AND i.shown_at + INTERVAL '1 hour'
WHERE i.impression_id >= 0
GROUP BY window_start, campaign;

SELECT count(*) AS differences FROM (
    (SELECT * FROM ctr EXCEPT ALL SELECT * FROM ctr_once)
    UNION ALL
    (SELECT * FROM ctr_once EXCEPT ALL SELECT * FROM ctr)
) AS d;
