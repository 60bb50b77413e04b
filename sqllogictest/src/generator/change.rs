//! Random UPDATE, DELETE and TRUNCATE.

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use super::schema::{Relation, Table};

impl Table {
    /// A statement that changes rows that are there; an INSERT where the relation only takes those.
    pub fn change(&self, random: &mut ChaCha8Rng) -> String {
        if self.relation.watermark.is_some() {
            return self.insert(random);
        }
        let name = &self.relation.name;
        match random.random_range(0..100) {
            0..55 => {
                let condition = condition(&self.relation, random);
                format!(
                    "UPDATE {name} SET {}{condition}",
                    assignments(&self.relation, random)
                )
            }
            55..97 => format!("DELETE FROM {name}{}", condition(&self.relation, random)),
            _ => format!("TRUNCATE {name}"),
        }
    }
}

/// Up to three columns, each to a literal, to NULL, or to a column of the same type.
fn assignments(relation: &Relation, random: &mut ChaCha8Rng) -> String {
    let count = random.random_range(1..=3.min(relation.columns.len()));
    let columns = relation
        .columns
        .choose_multiple(random, count)
        .collect::<Vec<_>>();
    let assigned = columns.iter().map(|(column, t)| {
        let value = match random.random_range(0..10) {
            0 => "NULL".to_owned(),
            1..5 => {
                let same = relation.columns.iter().filter(|(_, other)| other == t);
                let same = same.map(|(name, _)| name.clone()).collect::<Vec<_>>();
                same.choose(random).cloned().unwrap_or_else(|| column.clone())
            }
            _ => t.literal(random),
        };
        format!("{column} = {value}")
    });
    assigned.collect::<Vec<_>>().join(", ")
}

fn condition(relation: &Relation, random: &mut ChaCha8Rng) -> String {
    let (column, t) = relation.columns.choose(random).expect("a table has columns");
    match random.random_range(0..20) {
        0 => String::new(),
        1..3 => format!(" WHERE {column} IS NULL"),
        3..9 => format!(" WHERE {column} = {}", t.literal(random)),
        9..13 => {
            let literal = t.literal(random);
            format!(
                " WHERE {column} IN (SELECT {column} FROM {} WHERE {column} < {literal})",
                relation.name
            )
        }
        _ => {
            let (rest, of) = (random.random_range(0..3), random.random_range(2..5));
            format!(" WHERE coalesce(length({column}::text), 0) % {of} = {rest}")
        }
    }
}
