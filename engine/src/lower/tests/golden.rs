//! What lowering decides, as text: `engine/testdata/lower/*.sql` hold statements, each followed by its dataflow or error.
//!
//! A file is a series of blocks: `-- update` or `-- append` and a SELECT, a line of dashes, the text, an empty line.
//! With `MILLPOND_REWRITE=1` the text is written instead of compared.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use millpond_catalog::OutputMode;

use crate::error::Error;
use crate::lower::tests::planner::plan;
use crate::lower::{LowerOptions, lower};

fn lowered(mode: &str, sql: &str) -> String {
    let output_mode = match mode {
        "update" => OutputMode::Update,
        "append" => OutputMode::Append,
        "complete" => OutputMode::Complete,
        other => panic!("no output mode {other}"),
    };
    match lower(
        &plan(sql),
        &LowerOptions {
            output_mode,
            fail_on_error: false,
            ..LowerOptions::default()
        },
    ) {
        Ok(dataflow) => dataflow.to_string(),
        Err(Error::Unsupported { message, hint }) => {
            let hint = hint.map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
            format!("error: {message}\n{hint}")
        }
        Err(other) => panic!("{sql}: {other}"),
    }
}

fn check(file: &Path) {
    let text = fs::read_to_string(file).unwrap();
    let mut actual = String::new();
    for block in text.split("\n\n").filter(|block| !block.trim().is_empty()) {
        let (statement, _) = block.split_once("\n----\n").unwrap_or((block, ""));
        let (mode, sql) = statement.trim().split_once('\n').expect("a mode and a statement");
        let mode = mode.strip_prefix("-- ").expect("a mode");
        write!(actual, "-- {mode}\n{sql}\n----\n{}\n", lowered(mode, sql)).unwrap();
    }
    if std::env::var_os("MILLPOND_REWRITE").is_some() {
        fs::write(file, actual).unwrap();
    } else {
        let difference = actual
            .lines()
            .zip(text.lines())
            .enumerate()
            .find(|(_, (actual, text))| actual != text);
        if let Some((line, (actual, text))) = difference {
            panic!(
                "{}:{}: MILLPOND_REWRITE=1 rewrites it\nis now:       {actual}\nwritten down: {text}",
                file.display(),
                line + 1
            );
        }
        assert_eq!(actual.len(), text.len(), "{} is out of date", file.display());
    }
}

#[test]
fn lowering_is_as_written_down() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/lower");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files.iter().for_each(|file| check(file));
}
