//! Values in a table that changes: streaming views over it say what PostgreSQL says about the same table.

use anyhow::{Result, anyhow, bail, ensure};
use millpond_tests::error_text;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio_postgres::Client;

use super::literal::Type;
use super::rows;

/// Types whose columns have aggregates of numbers.
const NUMBERS: [Type; 5] = [Type::Int2, Type::Int4, Type::Int8, Type::Float8, Type::Numeric];
/// Types that have an order and can be compared.
const ORDERED: [Type; 12] = [
    Type::Bool,
    Type::Int2,
    Type::Int4,
    Type::Int8,
    Type::Float8,
    Type::Numeric,
    Type::Text,
    Type::Date,
    Type::Timestamp,
    Type::Timestamptz,
    Type::Interval,
    Type::Uuid,
];

/// Queries over `t(id, k, ..)`, a column of each type named by its place, which are views here.
fn queries() -> Vec<String> {
    let mut queries = Vec::new();
    for of_type in ORDERED {
        let column = column(of_type);
        // Equal intervals are written in several ways.
        let key = match of_type {
            Type::Interval => format!("justify_interval({column})"),
            _ => column.clone(),
        };
        queries.push(format!("SELECT {key} AS v, count(*) AS n FROM t GROUP BY {key}"));
        queries.push(format!(
            "SELECT k, count({column}) AS a, count(DISTINCT {column}) AS b FROM t GROUP BY k"
        ));
        if !matches!(of_type, Type::Bool | Type::Uuid | Type::Interval) {
            queries.push(format!(
                "SELECT k, min({column}) AS a, max({column}) AS b FROM t GROUP BY k"
            ));
            queries.push(format!(
                "SELECT k, array_agg({column} ORDER BY id) AS a FROM t GROUP BY k"
            ));
        }
    }
    for of_type in NUMBERS {
        let column = column(of_type);
        queries.push(format!("SELECT k, sum({column}) AS a FROM t GROUP BY k"));
        queries.push(format!(
            "SELECT sum({column}) FILTER (WHERE id % 2 = 0) AS a FROM t"
        ));
        // Its quotient has more digits here than PostgreSQL's.
        if !matches!(of_type, Type::Float8 | Type::Int8) {
            queries.push(format!(
                "SELECT avg({column})::numeric(24,4) AS a, sum(DISTINCT {column}) AS b FROM t"
            ));
        }
    }
    queries.push(format!(
        "SELECT k, sum({0}) AS a, avg({0}) AS b FROM t GROUP BY k",
        column(Type::Interval)
    ));
    queries.push(format!(
        "SELECT k, string_agg({}, '|' ORDER BY id) AS a FROM t GROUP BY k",
        column(Type::Text)
    ));
    queries.push(format!(
        "SELECT bool_and({0}) AS a, bool_or({0}) AS b FROM t",
        column(Type::Bool)
    ));
    queries
}

/// Columns keep a scale, so that sums show the same digits.
fn stored(of_type: Type) -> &'static str {
    match of_type {
        Type::Numeric => "numeric(16,6)",
        other => other.name(),
    }
}

fn column(of_type: Type) -> String {
    format!("c_{of_type:?}").to_lowercase()
}

/// What a run did.
#[derive(Debug, Default)]
pub struct Report {
    pub statements: u64,
    pub comparisons: u64,
}

/// Changes the table `steps` times on both servers, and compares all views after each.
///
/// # Errors
/// A view that says something else than PostgreSQL.
pub async fn run(ours: &Client, postgres: &Client, seed: u64, steps: u64) -> Result<Report> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let columns: Vec<String> = Type::ALL
        .iter()
        .map(|of_type| format!("{} {}", column(*of_type), stored(*of_type)))
        .collect();
    let table = format!(
        "CREATE TABLE t (id integer PRIMARY KEY, k integer, {})",
        columns.join(", ")
    );
    let mut report = Report::default();
    both(ours, postgres, &table).await?;
    let views = queries();
    for (number, query) in views.iter().enumerate() {
        let create = format!("CREATE STREAMING VIEW v{number} AS {query}");
        let created = ours.simple_query(&create).await;
        created.map_err(|error| {
            anyhow!(
                "{}
in: {create}",
                error_text(&error)
            )
        })?;
    }
    let mut next_id = 0;
    for _ in 0..steps {
        for _ in 0..random.random_range(1..=6) {
            let statement = change(&mut next_id, &mut random);
            both(ours, postgres, &statement).await?;
            report.statements += 1;
        }
        ours.simple_query("FLUSH").await?;
        for (number, query) in views.iter().enumerate() {
            let mut own = rows(&ours.simple_query(&format!("SELECT * FROM v{number}")).await?);
            let mut theirs = rows(&postgres.simple_query(query).await?);
            own.sort();
            theirs.sort();
            ensure!(
                own == theirs,
                "seed {seed}: {query}\n  millpond: {own:?}\n  postgres: {theirs:?}"
            );
            report.comparisons += 1;
        }
    }
    Ok(report)
}

/// Runs a statement on both; values are such that none fails.
async fn both(ours: &Client, postgres: &Client, statement: &str) -> Result<()> {
    for client in [ours, postgres] {
        if let Err(error) = client.simple_query(statement).await {
            bail!("{}\nin: {statement}", error_text(&error));
        }
    }
    Ok(())
}

fn change(next_id: &mut i32, random: &mut ChaCha8Rng) -> String {
    let key = random.random_range(0..(*next_id).max(1));
    let of_type = *Type::ALL.choose(random).expect("there are types");
    match random.random_range(0..10) {
        0..6 => {
            let rows: Vec<String> = (0..random.random_range(1..=3))
                .map(|_| {
                    let values: Vec<String> =
                        Type::ALL.iter().map(|of_type| of_type.literal(random)).collect();
                    *next_id += 1;
                    format!(
                        "({next_id}, {}, {})",
                        random.random_range(0..3),
                        values.join(", ")
                    )
                })
                .collect();
            format!("INSERT INTO t VALUES {}", rows.join(", "))
        }
        6..8 => format!(
            "UPDATE t SET {} = {} WHERE id >= {key} AND id < {key} + 3",
            column(of_type),
            of_type.literal(random)
        ),
        8 => format!("UPDATE t SET k = {} WHERE id = {key}", random.random_range(0..3)),
        _ => format!("DELETE FROM t WHERE id = {key} OR id = {key} + 2"),
    }
}
