-- The ten highest bids for each auction.
SELECT * FROM (
  SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, date_time, bidder, extra) AS place FROM bid) AS q
WHERE place <= 10
