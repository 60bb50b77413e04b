-- Bids with what a side table says of their auction.
SELECT b.auction, b.bidder, b.price, b.date_time, s.value FROM bid AS b JOIN side_input AS s ON b.auction % 5000 = s.key
