//! Golden tests: text in, text out.
//!
//! A file of `testdata` holds cases. A case is SQL up to a line of dashes, then what came of it up to an empty line that
//! is followed by the next case's SQL after a line `====`. `MILLPOND_REWRITE=1 cargo test -p millpond-sql` writes what
//! comes out today; read the diff.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::world::World;
use millpond_sql::{Error, PlanKind, optimize, parse, plan};

const CASE: &str = "\n====\n";
const RESULT: &str = "\n----\n";

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(folder);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no cases in {}", folder.display());
    files
}

/// Runs every case of a folder. `run` gets the SQL and a fresh world per file.
fn check(folder: &str, run: impl Fn(&mut World, &str) -> String) {
    let rewrite = std::env::var_os("MILLPOND_REWRITE").is_some();
    let mut failures = String::new();
    for file in files(folder) {
        let mut world = World::new();
        let text = fs::read_to_string(&file).unwrap();
        let mut rewritten = Vec::new();
        for case in text.trim_end().split(CASE) {
            let (sql, expected) = case.split_once(RESULT).unwrap_or((case, ""));
            let found = run(&mut world, sql);
            if found.trim_end() != expected.trim_end() {
                let _ = writeln!(
                    failures,
                    "{}:\n{sql}\n---- expected\n{expected}\n---- found\n{found}\n",
                    file.display()
                );
            }
            rewritten.push(format!("{}{RESULT}{}\n", sql.trim_end(), found.trim_end()));
        }
        if rewrite {
            fs::write(&file, rewritten.join(CASE)).unwrap();
        }
    }
    assert!(
        rewrite || failures.is_empty(),
        "{failures}(MILLPOND_REWRITE=1 rewrites the files)"
    );
}

fn show_error(sql: &str, error: &Error) -> String {
    let mut text = format!("error {:?}: {}", error.kind, error.message);
    if let Some(position) = error.position {
        let rest: String = sql
            .chars()
            .skip(position - 1)
            .take_while(|c| !c.is_whitespace())
            .take(20)
            .collect();
        let _ = write!(text, "\n  at {position}: {rest}");
    }
    for (name, line) in [("detail", &error.detail), ("hint", &error.hint)] {
        if let Some(line) = line {
            let _ = write!(text, "\n  {name}: {line}");
        }
    }
    text
}

#[test]
fn parser() {
    check("parser", |_, sql| match parse(sql) {
        Ok(statements) => {
            let mut shown = Vec::new();
            for parsed in statements {
                let canonical = parsed.statement.to_string();
                // The canonical spelling is a fixed point.
                let again = parse(&canonical).unwrap_or_else(|e| panic!("{canonical}: {e}"));
                assert_eq!(again.len(), 1, "{canonical}");
                assert_eq!(again[0].statement.to_string(), canonical);
                assert!(sql.contains(parsed.text()));
                shown.push(canonical);
            }
            if shown.is_empty() {
                "nothing".to_owned()
            } else {
                shown.join("\n")
            }
        }
        Err(error) => show_error(sql, &error),
    });
}

#[test]
fn planner() {
    check("planner", |world, sql| {
        let statements = match parse(sql) {
            Ok(statements) => statements,
            Err(error) => return show_error(sql, &error),
        };
        let mut shown = Vec::new();
        for statement in &statements {
            match plan(statement, &world.context()) {
                Ok(plan) => {
                    shown.push(plan.to_string());
                    // What plans can be optimized, unless a value in it is wrong.
                    if let PlanKind::Select(select) = &plan.kind
                        && let Err(error) = optimize(select.query.clone())
                    {
                        shown.push(format!("not optimized: {}", show_error(sql, &error)));
                    }
                    world.apply(plan.kind);
                }
                Err(error) => shown.push(show_error(sql, &error)),
            }
        }
        shown.join("\n")
    });
}
