-- Statistics of a day.
SELECT date_time::date AS day, count(*) AS total, count(*) FILTER (WHERE price < 10000) AS rank1,
  count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2, count(*) FILTER (WHERE price >= 1000000) AS rank3,
  count(DISTINCT bidder) AS bidders, count(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders,
  count(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS rank3_bidders, count(DISTINCT auction) AS auctions,
  count(DISTINCT auction) FILTER (WHERE price < 10000) AS rank1_auctions
FROM bid GROUP BY date_time::date
