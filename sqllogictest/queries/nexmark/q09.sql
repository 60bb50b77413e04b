-- The winning bid of each auction.
SELECT id, item_name, initial_bid, reserve, seller, category, auction, bidder, price, bid_time FROM (
  SELECT a.id, a.item_name, a.initial_bid, a.reserve, a.seller, a.category, b.auction, b.bidder, b.price,
    b.date_time AS bid_time,
    row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time, b.bidder) AS place
  FROM auction AS a, bid AS b WHERE a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires) AS q
WHERE place <= 1
