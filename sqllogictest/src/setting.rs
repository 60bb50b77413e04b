//! Numbers that the environment sets for a run.

use std::str::FromStr;

/// The variable `name`, or `default` where it is not set.
///
/// # Panics
/// When it is set to something else than a number.
pub fn setting<T: FromStr>(name: &str, default: T) -> T {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} is a number, not '{text}'")),
        Err(_) => default,
    }
}
