CREATE STREAMING VIEW v AS SELECT 1
----
CREATE STREAMING VIEW v AS SELECT 1

====
CREATE OR REPLACE MATERIALIZED VIEW v WITH (output_mode = 'append', trigger = '10 seconds') AS SELECT k, count(*) FROM t GROUP BY k EMIT ON WINDOW CLOSE
----
CREATE OR REPLACE STREAMING VIEW v WITH (output_mode = 'append', trigger = '10 seconds') AS SELECT k, count(*) FROM t GROUP BY k EMIT ON WINDOW CLOSE

====
CREATE STREAMING TABLE IF NOT EXISTS v AS SELECT * FROM t EMIT CHANGES EMIT EVERY INTERVAL '5' SECOND
----
CREATE STREAMING VIEW IF NOT EXISTS v AS SELECT * FROM t EMIT CHANGES EMIT EVERY INTERVAL '5 second'

====
CREATE STREAMING VIEW v (a, b) TRIGGER EVERY 10 SECONDS AS SELECT a, b FROM t
----
CREATE STREAMING VIEW v (a, b) AS SELECT a, b FROM t EMIT EVERY INTERVAL '10 seconds'

====
CREATE STREAMING VIEW v AS SELECT a FROM t TRIGGER EVERY 10 SECONDS
----
CREATE STREAMING VIEW v AS SELECT a FROM t EMIT EVERY INTERVAL '10 seconds'

====
CREATE STREAMING VIEW v AS SELECT a FROM t x EMIT FINAL
----
CREATE STREAMING VIEW v AS SELECT a FROM t x EMIT ON WINDOW CLOSE

====
CREATE STREAMING VIEW v AS SELECT a FROM t WHERE a > 1 EMIT AFTER WATERMARK
----
CREATE STREAMING VIEW v AS SELECT a FROM t WHERE a > 1 EMIT ON WINDOW CLOSE

====
CREATE STREAMING VIEW v AS SELECT a AS emit FROM t ORDER BY a EMIT COMPLETE
----
CREATE STREAMING VIEW v AS SELECT a AS emit FROM t ORDER BY a EMIT COMPLETE

====
CREATE STREAMING VIEW v AS SELECT a emit FROM t emit
----
CREATE STREAMING VIEW v AS SELECT a AS emit FROM t emit

====
CREATE STREAMING VIEW v AS SELECT a FROM t EMIT SOMETIMES
----
error Syntax: syntax error at or near "SOMETIMES"
  at 49: SOMETIMES
  detail: Expected EMIT, TRIGGER EVERY or the end of the statement.

====
CREATE STREAMING VIEW v AS SELECT a FROM t EMIT CHANGES GRACE PERIOD INTERVAL '1 minute'
----
error Unsupported: GRACE PERIOD is not supported yet
  at 57: GRACE

====
CREATE VIEW v AS SELECT 1
----
CREATE VIEW v AS SELECT 1

====
CREATE STREAMING VIEW v SELECT 1
----
error Syntax: syntax error at or near "SELECT"
  at 25: SELECT
  detail: Expected AS.

====
CREATE STREAMING VIEW v AS
----
error Syntax: syntax error at end of input
  at 27: 
  detail: Expected SELECT, VALUES, or a subquery in the query body.

====
CREATE STREAMING VIEW v AS SELECT window_start, count(*) FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' MINUTES)) GROUP BY window_start, window_end
----
CREATE STREAMING VIEW v AS SELECT window_start, count(*) FROM TABLE(TUMBLE(bid, DESCRIPTOR(ts), INTERVAL '10' MINUTES)) GROUP BY window_start, window_end

====
CREATE STREAMING VIEW v AS SELECT * FROM hop(t, ts, slide => INTERVAL '1 minute', size => INTERVAL '5 minutes', "offset" => INTERVAL '1 second') AS w
----
CREATE STREAMING VIEW v AS SELECT * FROM hop(t, ts, slide => INTERVAL '1 minute', size => INTERVAL '5 minutes', "offset" => INTERVAL '1 second') AS w

====
CREATE STREAMING VIEW v AS SELECT window.start, window.end, count(*) FROM ev GROUP BY window(ts, '5 minutes')
----
CREATE STREAMING VIEW v AS SELECT window.start, window.end, count(*) FROM ev GROUP BY window(ts, '5 minutes')

====
CREATE STREAMING VIEW v AS SELECT * FROM t WATERMARK ts DELAY OF INTERVAL '1 minute' AS a
----
error Unsupported: WATERMARK in a query is not supported yet
  at 44: WATERMARK
  hint: Declare it with the stream or source: WATERMARK FOR ts AS ts - INTERVAL '10 minutes'.
