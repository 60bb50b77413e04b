//! What can be a sink of what.

use millpond_catalog::SqlType;

use super::*;
use crate::memory_notes::{column, options};

fn told(connector: &str, entries: &[(&str, &str)], columns: &[Column], append_only: bool) -> String {
    let error = validate(connector, &options(entries), columns, append_only).unwrap_err();
    format!("{error} / {}", error.hint().unwrap_or_default())
}

#[test]
fn what_cannot_work_is_refused() {
    let columns = [column("a", SqlType::Int8), column("b", SqlType::Text)];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let file = |more: &[(&str, &str)]| {
        let entries = [&[("path", path)], more].concat();
        told("file", &entries, &columns, true)
    };
    assert!(
        told("kafka", &[], &columns, true).ends_with("Known connectors for sinks: file, console, blackhole.")
    );
    assert!(told("file", &[], &columns, false).contains("takes only rows that stay"));
    assert!(file(&[]).starts_with("option \"format\" is required"));
    assert!(file(&[("format", "orc")]).contains("is not parquet, json, csv or text"));
    assert!(file(&[("format", "text")]).contains("one column of type text"));
    assert!(file(&[("format", "csv"), ("compression", "snappy")]).contains("not a compression of csv files"));
    assert!(file(&[("format", "csv"), ("partition_by", "c")]).ends_with("Its columns are a, b."));
    assert!(file(&[("format", "csv"), ("partition_by", "a, B")]).contains("names every column"));
    assert!(file(&[("format", "csv"), ("partitionby", "a")]).ends_with("Did you mean \"partition_by\"?"));
    let interval = [column("i", SqlType::Interval)];
    let entries = [("path", path), ("format", "parquet")];
    assert!(told("file", &entries, &interval, true).contains("cannot be written to parquet files"));
    let missing = [("path", "/no/such/folder"), ("format", "json")];
    assert!(told("file", &missing, &columns, true).starts_with("folder \"/no/such\" does not exist"));
    assert!(validate("console", &options(&[]), &columns, false).is_ok());
    assert!(validate("blackhole", &options(&[]), &columns, false).is_ok());
    assert_eq!(
        (delivery("file"), delivery("console")),
        ("exactly once", "at least once")
    );
}
