-- Page views per minute from a folder of JSON files, first as a current result (update mode), then as closed minutes only
-- (append mode). Run it from the root of the repository, on the machine of the server:
--
--     psql -h 127.0.0.1 -p 4566 -f examples/page_views.sql

\set ON_ERROR_STOP on
\set QUIET on
-- The server needs to know where the files are, whatever folder it was started in.
\set folder `pwd` '/examples/data/page_views'

DROP SOURCE IF EXISTS page_views CASCADE;

-- One JSON object per line. A view may be up to two minutes late.
CREATE SOURCE page_views (
    at      timestamp,
    user_id int,
    page    text,
    WATERMARK FOR at AS at - INTERVAL '2 minutes'
) WITH (connector = 'file', path = :'folder', format = 'json');

-- The current counts of every minute, corrected as rows come in.
CREATE STREAMING VIEW page_views_1m WITH (output_mode = 'update') AS
SELECT window_start, page, count(*) AS views
FROM tumble(page_views, at, INTERVAL '1 minute')
GROUP BY window_start, page;

-- A minute appears here once, when the watermark says that no row of it is still to come. It never changes.
CREATE STREAMING VIEW page_views_1m_final WITH (output_mode = 'append') AS
SELECT window_start, page, count(*) AS views
FROM tumble(page_views, at, INTERVAL '1 minute')
GROUP BY window_start, page;

-- Wait until all files that are there now are in both views. Files that are added to the folder later follow by themselves.
FLUSH;

SELECT 'update' AS mode, window_start, page, views FROM page_views_1m ORDER BY window_start, page;
SELECT 'append' AS mode, window_start, page, views FROM page_views_1m_final ORDER BY window_start, page;
