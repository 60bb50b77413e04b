//! Random cases for a while: `MILLPOND_GENERATOR_SECONDS` (20), from `MILLPOND_SEED` (1, so that a build says the same
//! twice; a search for faults takes others), starting at `MILLPOND_GENERATOR_CASE` (0). The seed stands in the output.

use std::time::Duration;

use millpond_sqllogictest::{generator, setting};

#[tokio::test]
async fn views_equal_their_select_in_random_cases() {
    let seed = setting("MILLPOND_SEED", 1);
    let first = setting("MILLPOND_GENERATOR_CASE", 0);
    let time = Duration::from_secs(setting("MILLPOND_GENERATOR_SECONDS", 20));
    // libtest shows the output of a test only when it fails; the seed belongs in every log.
    println!("MILLPOND_SEED={seed}");
    match generator::run(seed, first, time).await {
        Ok(report) => {
            println!("{report:?}");
            assert!(report.oracle_checks > 0, "a run without a check proves nothing");
        }
        Err(error) => panic!("MILLPOND_SEED={seed}\n{error:#}"),
    }
}
