-- Statistics of an auction on a day.
SELECT auction, date_time::date AS day, count(*) AS total, count(*) FILTER (WHERE price < 10000) AS rank1,
  count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2, min(price) AS min_price, max(price) AS max_price,
  avg(price) AS avg_price, sum(price) AS sum_price
FROM bid GROUP BY auction, date_time::date
