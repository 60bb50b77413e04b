-- Bids of a person in one session.
SELECT bidder, count(*) AS bids, SESSION_START(date_time, INTERVAL '1' SECOND) AS start,
  SESSION_END(date_time, INTERVAL '1' SECOND) AS "end"
FROM bid GROUP BY bidder, SESSION(date_time, INTERVAL '1' SECOND)
