-- Mean selling price of a seller's last ten auctions.
SELECT seller, avg(price) OVER (PARTITION BY seller ORDER BY date_time, id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS mean
FROM (
  SELECT a.id, a.seller, b.price, b.date_time,
    row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time, b.bidder) AS place
  FROM auction AS a, bid AS b WHERE a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires) AS q
WHERE place = 1
