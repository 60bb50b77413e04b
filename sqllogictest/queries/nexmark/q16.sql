-- Statistics of a channel on a day.
SELECT channel, date_time::date AS day, max(date_trunc('minute', date_time)) AS minute, count(*) AS total,
  count(*) FILTER (WHERE price < 10000) AS rank1, count(*) FILTER (WHERE price >= 1000000) AS rank3,
  count(DISTINCT bidder) AS bidders, count(DISTINCT auction) FILTER (WHERE price >= 10000) AS auctions
FROM bid GROUP BY channel, date_time::date
