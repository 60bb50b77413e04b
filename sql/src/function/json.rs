//! Rows and values as JSON, and JSON as rows: `to_json`, `row_to_json`, `from_json`.

mod document;
mod from_json;
mod to_json;

pub use from_json::FromJson;
pub use to_json::ToJson;
