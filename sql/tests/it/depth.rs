//! Deep and long statements: an answer or an error, on the stack of a server thread, never an overflow.

use std::thread;

use millpond_sql::{ErrorKind, optimize, parse, plan};

use crate::world::World;

/// Parses, plans, shows and drops on a stack of eight megabytes, as the server's threads have.
fn outcome(sql: String) -> Result<(), ErrorKind> {
    let run = move || -> Result<(), ErrorKind> {
        let world = World::new();
        let statements = parse(&sql).map_err(|e| e.kind)?;
        for statement in &statements {
            let planned = plan(statement, &world.context()).map_err(|e| e.kind)?;
            let _ = planned.to_string();
            let _ = statement.statement.to_string();
            if let millpond_sql::PlanKind::Select(select) = planned.kind {
                optimize(select.query).map_err(|e| e.kind)?;
            }
        }
        Ok(())
    };
    thread::Builder::new()
        .stack_size(8 << 20)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap()
}

fn nested(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("SELECT {}{inner}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn deep_nesting_is_refused() {
    for depth in [200, 20_000] {
        for (open, inner, close) in [
            ("(", "1", ")"),
            ("abs(", "1", ")"),
            ("(SELECT ", "1", ")"),
            ("CASE WHEN true THEN ", "1", " END"),
            ("NOT ", "true", ""),
            ("- ", "1", ""),
            ("ARRAY[", "1", "]"),
            ("1 + (", "1", ")"),
            ("CAST(", "1", " AS int)"),
            ("EXISTS (SELECT ", "1", ")"),
        ] {
            let kind = outcome(nested(open, inner, close, depth));
            assert_eq!(kind, Err(ErrorKind::TooComplex), "{open} x {depth}");
        }
    }
    let from = format!(
        "SELECT * FROM {}(SELECT 1){}",
        "(SELECT * FROM ".repeat(500),
        " x)".repeat(500)
    );
    assert_eq!(outcome(from), Err(ErrorKind::TooComplex));
}

#[test]
fn moderate_nesting_works() {
    for (open, inner, close) in [
        ("(", "1", ")"),
        ("abs(", "1", ")"),
        ("(SELECT ", "1", ")"),
        ("CASE WHEN true THEN ", "1", " END"),
        ("NOT ", "true", ""),
        ("1 + (", "1", ")"),
        ("(1 + ", "1", ") + 1"),
    ] {
        let depth = if open.contains("SELECT") { 8 } else { 30 };
        assert_eq!(outcome(nested(open, inner, close, depth)), Ok(()), "{open}");
    }
    let from = format!(
        "SELECT * FROM {}(SELECT 1){}",
        "(SELECT * FROM ".repeat(20),
        " x)".repeat(20)
    );
    assert_eq!(outcome(from), Ok(()));
    let condition = "(a = 1 AND b = 2 OR NOT (c IN (1, 2) AND d LIKE 'x'))";
    let table = "(SELECT 1 AS a, 2 AS b, 3 AS c, 'x' AS d) t";
    let sql = format!(
        "SELECT * FROM {table} WHERE {}",
        vec![condition; 500].join(" OR ")
    );
    assert_eq!(outcome(sql), Ok(()));
}

#[test]
fn long_chains_are_refused_and_shorter_ones_work() {
    for operator in [" + ", " OR ", " || ", " AND "] {
        let term = if operator.trim().chars().all(char::is_alphabetic) {
            "true"
        } else {
            "'1'"
        };
        let term = if operator == " + " { "1" } else { term };
        let chain = |n: usize| format!("SELECT {}", vec![term; n].join(operator));
        let works = if term == "true" { 2_000 } else { 140 };
        assert_eq!(outcome(chain(works)), Ok(()), "{operator}");
        assert_eq!(outcome(chain(20_000)), Err(ErrorKind::TooComplex), "{operator}");
    }
    let unions = |n: usize| vec!["SELECT 1"; n].join(" UNION ALL ");
    assert_eq!(outcome(unions(100)), Ok(()));
    assert_eq!(outcome(unions(20_000)), Err(ErrorKind::TooComplex));
    assert_eq!(
        outcome(format!("SELECT 1{}", "::int".repeat(20_000))),
        Err(ErrorKind::TooComplex)
    );
    assert_eq!(
        outcome(format!("SELECT x{}", "[1]".repeat(20_000))),
        Err(ErrorKind::TooComplex)
    );
}

#[test]
fn wide_statements_work() {
    let list: Vec<_> = (0..20_000).map(|n| n.to_string()).collect();
    assert_eq!(
        outcome(format!("SELECT 1 WHERE 5 IN ({})", list.join(", "))),
        Ok(())
    );
    let rows: Vec<_> = (0..2_000).map(|n| format!("({n}, 'x')")).collect();
    assert_eq!(outcome(format!("VALUES {}", rows.join(", "))), Ok(()));
    let columns: Vec<_> = (0..500).map(|n| format!("{n} AS c{n}")).collect();
    assert_eq!(outcome(format!("SELECT {}", columns.join(", "))), Ok(()));
}
