-- Persons who opened an auction in the window in which they came.
SELECT p.id, p.name, p.window_start FROM (
  SELECT id, name, window_start, window_end FROM tumble(person, date_time, INTERVAL '10 seconds')
  GROUP BY id, name, window_start, window_end) AS p
JOIN (
  SELECT seller, window_start, window_end FROM tumble(auction, date_time, INTERVAL '10 seconds')
  GROUP BY seller, window_start, window_end) AS a
ON p.id = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end
