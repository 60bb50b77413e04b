-- Every bid with the names of the folder it would be filed in.
SELECT auction, bidder, price, date_time, extra, date_time::date AS day, extract(hour FROM date_time) AS hour FROM bid
