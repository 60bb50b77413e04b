//! The Nexmark queries as streaming views over the source of that name, each equal to its SELECT, with a kill in between.
//!
//! `MILLPOND_NEXMARK_EVENTS` (20000) is how many events there are. q12 is not among them: it counts by the time at which
//! a bid is processed, which no second run repeats.

use anyhow::Result;
use millpond_sqllogictest::query_set::QuerySet;
use millpond_sqllogictest::{Session, Target, setting};
use millpond_tests::{Server, ServerOptions};

#[tokio::test]
async fn nexmark_views_equal_their_select() -> Result<()> {
    let events: u64 = setting("MILLPOND_NEXMARK_EVENTS", 20_000);
    let set = QuerySet::read("nexmark")?;
    for workers in [1, 2] {
        let server = Server::start(ServerOptions::workers(workers))?;
        let mut session = Session::new(Target::Own(Box::new(server)));
        session
            .expect(&set.schema.replace("${EVENTS}", &events.to_string()))
            .await?;
        set.create_views(&mut session).await?;
        // Wherever the queries are by now.
        session.restart(3 - workers)?;
        session
            .expect("UPDATE side_input SET value = 'another' WHERE key % 3 = 0")
            .await?;
        set.check(&mut session).await?;
        set.check_not_empty(&mut session).await?;
    }
    Ok(())
}
