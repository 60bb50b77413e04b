-- A person's last bid for an auction.
SELECT auction, bidder, price, channel, url, date_time, extra FROM (
  SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC, price, extra) AS place FROM bid) AS q
WHERE place <= 1
