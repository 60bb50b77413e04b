//! Random queries whose result hangs on an order: window functions, first rows, ordered aggregates.
//!
//! Every order ends with all columns that can be seen, so what it leaves open cannot be seen. Floating point columns are
//! not: rows that differ in the sign of a zero are equal in any order, and shown differently.

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use super::query::Query;
use super::schema::{Relation, Type};

/// A query over `input`, if it has a column to order by.
pub fn random(random: &mut ChaCha8Rng, input: &Relation) -> Option<Query> {
    let seen: Vec<&(String, Type)> = input.columns.iter().filter(|(_, t)| *t != Type::Double).collect();
    if seen.is_empty() {
        return None;
    }
    let ordered = Ordered { input, seen };
    Some(match random.random_range(0..100) {
        0..35 => ordered.window(random),
        35..50 => ordered.first_per_group(random),
        50..65 => ordered.limit(random),
        65..75 => ordered.distinct_on(random),
        75..90 => ordered.aggregate(random),
        _ => ordered.grouping_sets(random),
    })
}

struct Ordered<'a> {
    input: &'a Relation,
    seen: Vec<&'a (String, Type)>,
}

impl Ordered<'_> {
    fn column(&self, random: &mut ChaCha8Rng) -> (String, Type) {
        (*self.seen.choose(random).expect("there is a column")).clone()
    }

    fn column_of(&self, random: &mut ChaCha8Rng, types: &[Type]) -> Option<String> {
        let fitting: Vec<_> = self.seen.iter().filter(|(_, t)| types.contains(t)).collect();
        fitting.choose(random).map(|column| column.0.clone())
    }

    fn list(&self) -> String {
        let names: Vec<_> = self.seen.iter().map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    }

    /// A total order of what can be seen, which begins with a random column.
    fn order(&self, random: &mut ChaCha8Rng) -> String {
        let (first, _) = self.column(random);
        let direction = ["", " DESC", " NULLS FIRST", " DESC NULLS LAST"].choose(random);
        format!(
            "{first}{}, {}",
            direction.expect("the list is not empty"),
            self.list()
        )
    }

    fn partition(&self, random: &mut ChaCha8Rng) -> String {
        match random.random_range(0..5) {
            0 => String::new(),
            1 => format!(
                "PARTITION BY {}, {} ",
                self.column(random).0,
                self.column(random).0
            ),
            _ => format!("PARTITION BY {} ", self.column(random).0),
        }
    }

    fn query(&self, sql: String, columns: Vec<(String, Type)>) -> Query {
        Query {
            sql,
            columns,
            append: false,
            small: false,
        }
    }

    fn window(&self, random: &mut ChaCha8Rng) -> Query {
        let mut list = Vec::new();
        let mut columns = Vec::new();
        for (i, (name, t)) in self.seen.iter().enumerate() {
            list.push(format!("{name} AS x{i}"));
            columns.push((format!("x{i}"), *t));
        }
        // Equal rows get different numbers, and which of two numbers goes with which is left open: so there is one call
        // that tells equal rows apart.
        for i in 0..random.random_range(1..=3) {
            let kind = match i {
                0 => random.random_range(0..11),
                _ => *[1, 2, 3, 7, 9].choose(random).expect("the list is not empty"),
            };
            let (call, t) = self.window_call(random, kind);
            list.push(format!("{call} AS w{i}"));
            columns.push((format!("w{i}"), t));
        }
        self.query(
            format!("SELECT {} FROM {}", list.join(", "), self.input.name),
            columns,
        )
    }

    /// Kinds 1, 2, 3, 7 and 9 give equal rows the same.
    fn window_call(&self, random: &mut ChaCha8Rng, kind: usize) -> (String, Type) {
        let partition = self.partition(random);
        let over = format!("OVER ({partition}ORDER BY {})", self.order(random));
        let (name, t) = self.column(random);
        let number = self
            .column_of(random, &[Type::Int])
            .unwrap_or_else(|| "1".to_owned());
        let frame = *[
            "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
            "ROWS 2 PRECEDING",
            "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
        ]
        .choose(random)
        .expect("the list is not empty");
        match kind {
            0 => (format!("row_number() {over}"), Type::BigInt),
            1 => (format!("rank() OVER ({partition}ORDER BY {name})"), Type::BigInt),
            2 => (
                format!("dense_rank() OVER ({partition}ORDER BY {name} DESC)"),
                Type::BigInt,
            ),
            3 => (
                format!("cume_dist() OVER ({partition}ORDER BY {name})"),
                Type::Double,
            ),
            4 => (format!("lag({name}) {over}"), t),
            5 => (format!("lead({name}, 2) {over}"), t),
            6 => (format!("first_value({name}) {over}"), t),
            7 => (format!("sum({number}) OVER ({partition})"), Type::BigInt),
            8 => (
                format!(
                    "sum({number}) OVER ({partition}ORDER BY {} {frame})",
                    self.order(random)
                ),
                Type::BigInt,
            ),
            9 => (
                format!("count({name}) OVER ({partition}ORDER BY {name})"),
                Type::BigInt,
            ),
            _ => (
                format!(
                    "avg({number}) OVER ({partition}ORDER BY {} {frame})",
                    self.order(random)
                ),
                Type::Numeric,
            ),
        }
    }

    fn first_per_group(&self, random: &mut ChaCha8Rng) -> Query {
        let (partition, order) = (self.partition(random), self.order(random));
        let (key, _) = self.column(random);
        let call = match random.random_range(0..3) {
            0 => format!("rank() OVER ({partition}ORDER BY {key})"),
            1 => format!("dense_rank() OVER ({partition}ORDER BY {key} DESC)"),
            _ => format!("row_number() OVER ({partition}ORDER BY {order})"),
        };
        let mut n = "n".to_owned();
        while self.input.columns.iter().any(|(name, _)| *name == n) {
            n.push('n');
        }
        let conditions = [
            format!("{n} <= 2"),
            format!("{n} = 1"),
            format!("{n} < 4 AND {n} >= 2"),
            format!("{n} = 2"),
            format!("3 >= {n}"),
        ];
        let condition = conditions.choose(random).expect("the list is not empty");
        let mut columns: Vec<_> = self.seen.iter().map(|column| (*column).clone()).collect();
        let mut list = self.list();
        if random.random_bool(0.5) {
            list += &format!(", {n}");
            columns.push((n.clone(), Type::BigInt));
        }
        let sql = format!(
            "SELECT {list} FROM (SELECT {}, {call} AS {n} FROM {}) AS q WHERE {condition}",
            self.list(),
            self.input.name
        );
        self.query(sql, columns)
    }

    fn limit(&self, random: &mut ChaCha8Rng) -> Query {
        let order = self.order(random);
        let limit = [
            "LIMIT 3",
            "LIMIT 1 OFFSET 1",
            "LIMIT 20 OFFSET 4",
            "OFFSET 5",
            "LIMIT 8",
        ]
        .choose(random)
        .expect("the list is not empty");
        let sql = format!(
            "SELECT {} FROM {} ORDER BY {order} {limit}",
            self.list(),
            self.input.name
        );
        self.query(sql, self.seen.iter().map(|column| (*column).clone()).collect())
    }

    fn distinct_on(&self, random: &mut ChaCha8Rng) -> Query {
        let (key, _) = self.column(random);
        let sql = format!(
            "SELECT DISTINCT ON ({key}) {} FROM {} ORDER BY {key}, {}",
            self.list(),
            self.input.name,
            self.order(random)
        );
        self.query(sql, self.seen.iter().map(|column| (*column).clone()).collect())
    }

    fn aggregate(&self, random: &mut ChaCha8Rng) -> Query {
        let mut list = Vec::new();
        let mut columns = Vec::new();
        let key = random.random_bool(0.8).then(|| self.column(random));
        if let Some((name, t)) = &key {
            list.push(format!("{name} AS k"));
            columns.push(("k".to_owned(), *t));
        }
        for i in 0..random.random_range(1..=3) {
            let (call, t) = self.aggregate_call(random);
            list.push(format!("{call} AS a{i}"));
            columns.push((format!("a{i}"), t));
        }
        let group = key.map_or_else(String::new, |(name, _)| format!(" GROUP BY {name}"));
        self.query(
            format!("SELECT {} FROM {}{group}", list.join(", "), self.input.name),
            columns,
        )
    }

    fn aggregate_call(&self, random: &mut ChaCha8Rng) -> (String, Type) {
        let (name, t) = self.column(random);
        let order = self.order(random);
        let int = self.column_of(random, &[Type::Int]);
        let text = self.column_of(random, &[Type::Text]);
        match (random.random_range(0..8), int, text) {
            (0, _, Some(text)) => (format!("string_agg({text}, '+' ORDER BY {order})"), Type::Text),
            (1, _, _) => (format!("first_value({name} ORDER BY {order})"), t),
            (2, _, _) => (format!("last_value({name} ORDER BY {order})"), t),
            (3, Some(int), _) => (format!("bit_and({int})"), Type::Int),
            (4, Some(int), _) => (format!("bit_xor({int})"), Type::Int),
            (5, Some(int), _) => (
                format!("percentile_cont(0.5) WITHIN GROUP (ORDER BY {int})"),
                Type::Double,
            ),
            (6, Some(int), _) => (format!("sum({int})"), Type::BigInt),
            _ => (format!("count(DISTINCT {name})"), Type::BigInt),
        }
    }

    fn grouping_sets(&self, random: &mut ChaCha8Rng) -> Query {
        let (a, b) = (self.column(random), self.column(random));
        if a.0 == b.0 {
            return self.aggregate(random);
        }
        let sets = [
            format!("ROLLUP ({}, {})", a.0, b.0),
            format!("CUBE ({}, {})", a.0, b.0),
            format!("GROUPING SETS (({}, {}), ({}), ())", a.0, b.0, b.0),
            format!("GROUPING SETS (({}), ({}))", a.0, b.0),
        ];
        let sets = sets.choose(random).expect("the list is not empty");
        let sql = format!(
            "SELECT {} AS k0, {} AS k1, count(*) AS n, grouping({}, {}) AS g FROM {} GROUP BY {sets}",
            a.0, b.0, a.0, b.0, self.input.name
        );
        let columns = vec![
            ("k0".to_owned(), a.1),
            ("k1".to_owned(), b.1),
            ("n".to_owned(), Type::BigInt),
            ("g".to_owned(), Type::Int),
        ];
        self.query(sql, columns)
    }
}
