//! The 22 queries of TPC-H as streaming views, equal to their SELECT while all tables grow and change and the server is
//! killed and comes back with other numbers of workers.
//!
//! `MILLPOND_TPCH_SCALE` (0.001) is the scale factor, `MILLPOND_TPCH_STEPS` (6) in how many parts the rows come, and
//! `MILLPOND_SEED` (1) decides everything else.

use anyhow::{Context, Result};
use millpond_sqllogictest::query_set::QuerySet;
use millpond_sqllogictest::{Session, Target, setting, tpch};
use millpond_tests::{Server, ServerOptions};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[tokio::test]
async fn tpch_views_equal_their_select() -> Result<()> {
    let seed = setting("MILLPOND_SEED", 1);
    println!("MILLPOND_SEED={seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let tables = tpch::tables(setting("MILLPOND_TPCH_SCALE", 0.001));
    let steps = tpch::inserts(tables, setting("MILLPOND_TPCH_STEPS", 6), &mut random);
    let set = QuerySet::read("tpch")?;
    let server = Server::start(ServerOptions::workers(2))?;
    let mut session = Session::new(Target::Own(Box::new(server)));
    session.expect(&set.schema).await?;

    for (step, inserts) in steps.iter().enumerate() {
        for (number, insert) in inserts.iter().enumerate() {
            session.expect(insert).await?;
            if number % 8 == 7 {
                session.expect(&tpch::change(&mut random)).await?;
            }
        }
        if step == 1 {
            // Over a history, with more to come.
            set.create_views(&mut session).await?;
        }
        if step >= 1 {
            session.expect(&tpch::change(&mut random)).await?;
            set.check(&mut session)
                .await
                .with_context(|| format!("step {step}\n{}", session.log_tail()))?;
        }
        if random.random_bool(0.5) {
            session.restart([1, 2, 4][random.random_range(0..3)])?;
        }
    }
    set.check(&mut session).await?;
    set.check_not_empty(&mut session).await
}
