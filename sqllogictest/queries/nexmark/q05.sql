-- Auctions with the most bids of each window.
WITH counts AS (
  SELECT auction, window_start, window_end, count(*) AS num
  FROM hop(bid, date_time, INTERVAL '2 seconds', INTERVAL '10 seconds') GROUP BY auction, window_start, window_end)
SELECT c.auction, c.num, c.window_start FROM counts AS c
JOIN (SELECT max(num) AS maxn, window_start FROM counts GROUP BY window_start) AS m
ON c.window_start = m.window_start AND c.num >= m.maxn
