//! Each Nexmark query as a streaming view of the real server: from its creation until it has everything, beside the same
//! SELECT run once by the same server over the same source, rows sent to the client and dropped.

use anyhow::Result;
use millpond_sqllogictest::query_set::QuerySet;

use crate::wire::Wire;

const EVENTS: u64 = 1_000_000;

/// Queries that the set does not have, by the names of the other suites. J2's persons do not change.
const MORE: [(&str, &str); 2] = [
    (
        "J1",
        "SELECT b.auction, b.bidder, b.price, a.seller FROM timed_bid AS b JOIN timed_auction AS a
         ON b.auction = a.id AND b.date_time BETWEEN a.date_time AND a.date_time + INTERVAL '1 minute'",
    ),
    (
        "J2",
        "SELECT b.auction, b.price, p.name, p.state FROM bid AS b JOIN people AS p ON b.bidder = p.id",
    ),
];

const MORE_SCHEMA: &str = "
    CREATE SOURCE timed_bid (auction bigint, bidder bigint, price bigint, date_time timestamp,
      WATERMARK FOR date_time AS date_time - INTERVAL '4 seconds')
      WITH (connector = 'nexmark', table = 'bid', events = ${EVENTS}, real_time = false);
    CREATE SOURCE timed_auction (id bigint, seller bigint, date_time timestamp,
      WATERMARK FOR date_time AS date_time - INTERVAL '4 seconds')
      WITH (connector = 'nexmark', table = 'auction', events = ${EVENTS}, real_time = false);
    CREATE TABLE people (id bigint PRIMARY KEY, name text, state text);
    INSERT INTO people SELECT id, name, state FROM person;";

pub fn run() -> Result<()> {
    let set = QuerySet::read("nexmark")?;
    println!("{EVENTS} events of all kinds; the events of a query's sources over the time it took\n");
    println!("| query | workers | view M events/s | once M events/s | ratio |");
    println!("|---|---|---|---|---|");
    for workers in [1, 2] {
        let wire = Wire::start(workers)?;
        for schema in [&set.schema, MORE_SCHEMA] {
            wire.run(&schema.replace("${EVENTS}", &EVENTS.to_string()))?;
        }
        let more = MORE.iter().map(|(name, query)| (*name, *query));
        let all = set
            .queries
            .iter()
            .map(|(name, query)| (name.as_str(), query.as_str()))
            .chain(more);
        for (name, query) in all {
            let mut view = wire.run(&format!("CREATE STREAMING VIEW v AS {query}"))?;
            view += wire.run("FLUSH")?;
            wire.run("DROP STREAMING VIEW v")?;
            let once = wire.run(query)?;
            let rate = |seconds: f64| EVENTS as f64 / seconds / 1e6;
            println!(
                "| {name} | {workers} | {:.2} | {:.2} | {:.2} |",
                rate(view),
                rate(once),
                once / view
            );
        }
    }
    Ok(())
}
