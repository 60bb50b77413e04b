-- Bids for auctions of a category.
SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.date_time, a.item_name, a.initial_bid, a.seller, a.category
FROM bid AS b JOIN auction AS a ON b.auction = a.id WHERE a.category = 10
