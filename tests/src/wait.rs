//! Waiting for facts: a condition is asked again until it holds or a generous deadline has passed.

use std::time::Duration;

use anyhow::{Result, bail};

/// Nothing that a test waits for takes this long on a slow machine, unless it is broken.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Asks `condition` until it answers `Some`; fails after [`DEADLINE`] naming `what`.
pub async fn eventually<T>(what: &str, mut condition: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    let begun = tokio::time::Instant::now();
    loop {
        ticks.tick().await;
        if let Some(value) = condition().await? {
            return Ok(value);
        }
        if begun.elapsed() > DEADLINE {
            bail!("{what} did not happen within {DEADLINE:?}");
        }
    }
}
