-- Mean of the final prices of a category's auctions.
SELECT category, avg(final) AS mean
FROM (
  SELECT a.id, a.category, max(b.price) AS final FROM auction AS a, bid AS b
  WHERE a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
  GROUP BY a.id, a.category) AS q
GROUP BY category
