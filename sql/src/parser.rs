//! Text to statements.

use crate::error::{Error, Result};
use crate::statement::ParsedStatement;

/// Parses every statement of `text`; empty ones are left out.
///
/// # Errors
/// The first error in the text; then nothing of it was accepted.
pub fn parse(_text: &str) -> Result<Vec<ParsedStatement>> {
    Err(Error::unsupported("SQL is not supported yet"))
}
