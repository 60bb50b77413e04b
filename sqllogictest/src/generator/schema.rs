//! Random tables and rows.
//!
//! Values come from small sets, so that duplicates, equal keys and touched groups are common, with the values that
//! break things among them: NULL, empty text, negative zero, NaN, times before 1970 and at the borders of windows.

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

/// A type that a generated expression can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Text,
    Int,
    BigInt,
    Numeric,
    Double,
    Bool,
    Timestamp,
    Date,
}

impl Type {
    pub const ALL: [Type; 8] = [
        Type::Text,
        Type::Int,
        Type::BigInt,
        Type::Numeric,
        Type::Double,
        Type::Bool,
        Type::Timestamp,
        Type::Date,
    ];

    pub fn sql(self) -> &'static str {
        match self {
            Type::Text => "text",
            Type::Int => "int",
            Type::BigInt => "bigint",
            Type::Numeric => "numeric(12,2)",
            Type::Double => "double precision",
            Type::Bool => "boolean",
            Type::Timestamp => "timestamp",
            Type::Date => "date",
        }
    }

    /// A literal of this type that is not NULL.
    pub fn literal(self, random: &mut ChaCha8Rng) -> String {
        let pick = |random: &mut ChaCha8Rng, of: &[&str]| {
            (*of.choose(random).expect("the list is not empty")).to_owned()
        };
        match self {
            Type::Text => pick(random, &["'a'", "'b'", "'B'", "''", "'ä'", "'a b'", "'it''s'"]),
            Type::Int => random.random_range(-9..=20).to_string(),
            Type::BigInt => format!(
                "{}::bigint",
                random.random_range(-3_000_000_000_i64..=3_000_000_000)
            ),
            Type::Numeric => format!("{:.2}", f64::from(random.random_range(-9999..=9999)) / 100.0),
            Type::Double => {
                let special = ["'NaN'", "'-0'", "1e16", "-1e16", "0.1", "'Infinity'"];
                let text = if random.random_bool(0.3) {
                    pick(random, &special)
                } else {
                    (f64::from(random.random_range(-80..=80)) / 8.0).to_string()
                };
                format!("({text})::double precision")
            }
            Type::Bool => pick(random, &["true", "false"]),
            Type::Timestamp => format!("timestamp '{}'", time(random)),
            Type::Date => pick(
                random,
                &["date '1969-12-31'", "date '1970-01-01'", "date '2024-02-29'"],
            ),
        }
    }
}

/// Times near 1970-01-01 00:00 and near 2024-01-01 00:00, often at a border.
fn time(random: &mut ChaCha8Rng) -> String {
    let minute = random.random_range(0..60);
    let second = *["00", "00.000001", "30", "59.999999", "59"]
        .choose(random)
        .expect("the list is not empty");
    let hour = *["1969-12-31 23", "1970-01-01 00", "2024-01-01 00", "2024-01-01 01"]
        .choose(random)
        .expect("the list is not empty");
    format!("{hour}:{minute:02}:{second}")
}

/// A name with columns: a table or a view.
#[derive(Debug, Clone)]
pub struct Relation {
    pub name: String,
    pub columns: Vec<(String, Type)>,
    /// The column that has a watermark.
    pub watermark: Option<String>,
    /// It has few enough rows to be joined.
    pub small: bool,
}

/// A table of the case.
#[derive(Debug)]
pub struct Table {
    pub relation: Relation,
}

impl Table {
    /// A table that has at least a text, an int and a time, so that every kind of query is possible.
    pub fn random(random: &mut ChaCha8Rng, number: usize) -> Table {
        let mut types = vec![Type::Text, Type::Int, Type::Timestamp];
        for _ in 0..random.random_range(0..=4) {
            types.push(*Type::ALL.choose(random).expect("there are types"));
        }
        let columns: Vec<_> = types
            .iter()
            .enumerate()
            .map(|(i, t)| (format!("c{i}"), *t))
            .collect();
        let watermark = random.random_bool(0.3).then(|| "c2".to_owned());
        Table {
            relation: Relation {
                name: format!("t{number}"),
                columns,
                watermark,
                small: true,
            },
        }
    }

    pub fn create(&self) -> String {
        let mut parts: Vec<_> = self
            .relation
            .columns
            .iter()
            .map(|(name, t)| format!("{name} {}", t.sql()))
            .collect();
        if let Some(column) = &self.relation.watermark {
            // Longer than all times of a case are apart: nothing is ever late, which the oracle could not judge.
            parts.push(format!(
                "WATERMARK FOR {column} AS {column} - INTERVAL '30000 days'"
            ));
        }
        let kind = if self.relation.watermark.is_some() {
            "STREAM"
        } else {
            "TABLE"
        };
        format!("CREATE {kind} {} ({})", self.relation.name, parts.join(", "))
    }

    pub fn insert(&self, random: &mut ChaCha8Rng) -> String {
        let mut rows: Vec<String> = Vec::new();
        for _ in 0..random.random_range(1..=12) {
            if let Some(row) = rows.choose(random).filter(|_| random.random_bool(0.2)) {
                rows.push(row.clone());
                continue;
            }
            let values: Vec<_> = self
                .relation
                .columns
                .iter()
                .map(|(_, t)| {
                    if random.random_bool(0.12) {
                        "NULL".to_owned()
                    } else {
                        t.literal(random)
                    }
                })
                .collect();
            rows.push(format!("({})", values.join(", ")));
        }
        format!("INSERT INTO {} VALUES {}", self.relation.name, rows.join(", "))
    }
}
