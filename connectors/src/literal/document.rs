//! JSON documents given as text.

use serde::de::IgnoredAny;

use super::shortened;

/// `text` itself, if it is one JSON value.
pub fn json(text: &str) -> Result<&str, String> {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => Ok(text),
        Err(_) => Err(format!(
            "invalid input syntax for type json: \"{}\"",
            shortened(text)
        )),
    }
}
