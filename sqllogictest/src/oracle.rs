//! The oracle: a streaming view equals its own SELECT run once over the same input.
//!
//! It needs no expected rows, so it also judges queries that nobody has thought of. What it cannot judge are views that
//! rightly differ from their SELECT: those that dropped late rows, and those that read the time.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use crate::Session;
use crate::runner::print_rows;

/// The cells of a row as text.
pub type Row = Vec<Option<String>>;

/// How a view relates to its SELECT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    Equal,
    /// In append mode the rows of open windows are still missing.
    Subset,
}

/// A streaming view as the catalog shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// With its schema, unless that is `public`.
    pub name: String,
    /// The name as it stands in a statement.
    pub sql: String,
    pub query: String,
}

/// All streaming views of the server.
pub async fn views(session: &mut Session) -> Result<Vec<View>> {
    const SQL: &str =
        "SELECT schemaname, matviewname, definition FROM pg_catalog.pg_matviews ORDER BY matviewname";
    let mut views = Vec::new();
    for row in session.expect(SQL).await?.rows {
        let [Some(schema), Some(name), Some(query)] = row.as_slice() else {
            bail!("pg_matviews has a row with NULL: {row:?}");
        };
        let (plain, sql) = if schema == "public" {
            (name.clone(), quote(name))
        } else {
            (
                format!("{schema}.{name}"),
                format!("{}.{}", quote(schema), quote(name)),
            )
        };
        views.push(View {
            name: plain,
            sql,
            query: query.trim().trim_end_matches(';').to_owned(),
        });
    }
    Ok(views)
}

/// Compares the rows of a view with those of its SELECT as multisets; call it when everything is flushed.
pub async fn check(session: &mut Session, view: &View, relation: Relation) -> Result<()> {
    let kept = session.expect(&format!("SELECT * FROM {}", view.sql)).await?.rows;
    let once = session.expect(&view.query).await?.rows;
    let (kept, once) = (zeroes_alike(kept), zeroes_alike(once));
    let (surplus, missing) = difference(&kept, &once);
    if surplus.is_empty() && (missing.is_empty() || relation == Relation::Subset) {
        return Ok(());
    }
    bail!(
        "view {} differs from its SELECT ({} rows kept, {} rows when run once)\nonly in the view:\n{}\n\
         only in the SELECT:\n{}\nSELECT: {}",
        view.name,
        kept.len(),
        once.len(),
        print_rows(&surplus),
        print_rows(&missing),
        view.query
    );
}

/// Distinct rows that stand more often in `left`, and those that stand more often in `right`.
pub fn difference(left: &[Row], right: &[Row]) -> (Vec<Row>, Vec<Row>) {
    let mut counts: BTreeMap<&Row, i64> = BTreeMap::new();
    for row in left {
        *counts.entry(row).or_default() += 1;
    }
    for row in right {
        *counts.entry(row).or_default() -= 1;
    }
    let rows = |more: fn(i64) -> bool| {
        let found = counts.iter().filter(|(_, n)| more(**n));
        found.map(|(row, _)| (*row).clone()).collect()
    };
    (rows(|n| n > 0), rows(|n| n < 0))
}

/// The two zeroes of floats are equal, and of equal rows a relation keeps one.
fn zeroes_alike(mut rows: Vec<Vec<Option<String>>>) -> Vec<Vec<Option<String>>> {
    for cell in rows.iter_mut().flatten().flatten() {
        if cell == "-0" {
            cell.remove(0);
        }
    }
    rows
}

fn quote(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}
