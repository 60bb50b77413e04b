-- Persons, auctions and bids of the benchmark; ${EVENTS} of all kinds together, all there at once.
CREATE SOURCE person WITH (connector = 'nexmark', table = 'person', events = ${EVENTS}, real_time = false);
CREATE SOURCE auction WITH (connector = 'nexmark', table = 'auction', events = ${EVENTS}, real_time = false);
CREATE SOURCE bid WITH (connector = 'nexmark', table = 'bid', events = ${EVENTS}, real_time = false);
CREATE TABLE side_input (key bigint PRIMARY KEY, value text);
INSERT INTO side_input SELECT k, 'value ' || k FROM generate_series(0, 4999) AS g (k);
