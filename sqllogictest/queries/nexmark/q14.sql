-- Prices, parts of the day and letters.
SELECT auction, bidder, 0.908 * price AS price,
  CASE WHEN extract(hour FROM date_time) BETWEEN 8 AND 18 THEN 'day'
    WHEN extract(hour FROM date_time) <= 6 OR extract(hour FROM date_time) >= 20 THEN 'night' ELSE 'other' END AS time_of_day,
  date_time, extra, length(extra) - length(replace(extra, 'c', '')) AS c_count
FROM bid WHERE 0.908 * price > 1000 AND 0.908 * price < 50000000
