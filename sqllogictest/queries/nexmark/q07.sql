-- The highest bid of each window.
SELECT b.auction, b.price, b.bidder, b.date_time, m.window_start FROM bid AS b
JOIN (
  SELECT max(price) AS maxprice, window_start, window_end FROM tumble(bid, date_time, INTERVAL '10 seconds')
  GROUP BY window_start, window_end) AS m
ON b.price = m.maxprice AND b.date_time >= m.window_start AND b.date_time < m.window_end
