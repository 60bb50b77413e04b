//! Random queries from the grammar that a streaming view supports; those over two relations are in `join`.
//!
//! An expression is generated for a wanted type, so every query plans. Expressions cannot fail on any row: a row set
//! aside in the view would be an error when the SELECT is run once.

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use super::schema::{Relation, Type};
use super::{join, ordered};

/// A generated SELECT.
pub struct Query {
    pub sql: String,
    pub columns: Vec<(String, Type)>,
    /// To be created in append mode.
    pub append: bool,
    /// It has few rows whatever it reads.
    pub small: bool,
}

/// A query over one or more of `inputs`.
pub fn random(random: &mut ChaCha8Rng, inputs: &[&Relation]) -> Query {
    let input = inputs.choose(random).expect("there is a relation to read");
    match random.random_range(0..100) {
        0..15 => map(random, input),
        15..32 => aggregate(random, input),
        32..48 => windowed(random, input),
        48..54 => union(random, inputs),
        54..58 => distinct(random, input),
        58..76 => ordered::random(random, input).unwrap_or_else(|| map(random, input)),
        76..95 => join::random(random, inputs),
        _ => nested(random, input),
    }
}

pub(super) fn map(random: &mut ChaCha8Rng, input: &Relation) -> Query {
    let types: Vec<_> = (0..random.random_range(1..=4))
        .map(|_| any_type(random, input))
        .collect();
    map_of(random, input, &types)
}

fn map_of(random: &mut ChaCha8Rng, input: &Relation, types: &[Type]) -> Query {
    let (list, columns) = select_list(random, input, types);
    let sql = format!("SELECT {list} FROM {}{}", input.name, filter(random, input));
    Query {
        sql,
        columns,
        append: false,
        small: false,
    }
}

pub(super) fn select_list(
    random: &mut ChaCha8Rng,
    input: &Relation,
    types: &[Type],
) -> (String, Vec<(String, Type)>) {
    let mut list = Vec::new();
    let mut columns = Vec::new();
    for (i, t) in types.iter().enumerate() {
        list.push(format!("{} AS x{i}", expression(random, input, *t, 2)));
        columns.push((format!("x{i}"), *t));
    }
    (list.join(", "), columns)
}

pub(super) fn aggregate(random: &mut ChaCha8Rng, input: &Relation) -> Query {
    let keys: Vec<_> = (0..random.random_range(0..=2))
        .map(|_| key_type(random, input))
        .collect();
    let keys: Vec<_> = keys
        .into_iter()
        .map(|t| (expression(random, input, t, 1), t))
        .collect();
    grouped(random, input, &input.name, keys, Vec::new())
}

/// `GROUP BY` the keys and the named columns in `also`, over `from`.
fn grouped(
    random: &mut ChaCha8Rng,
    input: &Relation,
    from: &str,
    keys: Vec<(String, Type)>,
    also: Vec<(String, Type)>,
) -> Query {
    let mut list: Vec<_> = also.iter().map(|(name, _)| name.clone()).collect();
    let mut groups = list.clone();
    let mut columns = also;
    for (i, (key, t)) in keys.into_iter().enumerate() {
        // A literal in GROUP BY is a position, a literal key says nothing: such a key is left out.
        if input.columns.iter().any(|(name, _)| key.contains(name.as_str())) {
            list.push(format!("{key} AS k{i}"));
            groups.push(key);
            columns.push((format!("k{i}"), t));
        }
    }
    for i in 0..random.random_range(1..=4) {
        let (call, t) = aggregate_call(random, input);
        list.push(format!("{call} AS a{i}"));
        columns.push((format!("a{i}"), t));
    }
    let mut sql = format!("SELECT {} FROM {from}{}", list.join(", "), filter(random, input));
    if !groups.is_empty() {
        sql += &format!(" GROUP BY {}", groups.join(", "));
        if random.random_bool(0.2) {
            sql += &format!(
                " HAVING count(*) {} {}",
                comparison(random),
                random.random_range(1..=4)
            );
        }
    }
    Query {
        sql,
        columns,
        append: false,
        small: true,
    }
}

fn aggregate_call(random: &mut ChaCha8Rng, input: &Relation) -> (String, Type) {
    let t = any_type(random, input);
    let argument = expression(random, input, t, 1);
    let (call, result) = match random.random_range(0..8) {
        0 => ("count(*)".to_owned(), Type::BigInt),
        1 => (format!("count({argument})"), Type::BigInt),
        2 if t != Type::Double => (format!("count(DISTINCT {argument})"), Type::BigInt),
        3 if t != Type::Bool => (format!("min({argument})"), t),
        4 if t != Type::Bool => (format!("max({argument})"), t),
        5 | 6 => match t {
            Type::Int => (format!("sum({argument})"), Type::BigInt),
            Type::BigInt | Type::Numeric => (format!("sum({argument})"), Type::Numeric),
            Type::Double => (format!("sum({argument})"), Type::Double),
            _ => ("count(*)".to_owned(), Type::BigInt),
        },
        _ => match t {
            Type::Int | Type::Numeric => (format!("avg({argument})"), Type::Numeric),
            Type::Double => (format!("avg({argument})"), Type::Double),
            _ => (format!("count({argument})"), Type::BigInt),
        },
    };
    if random.random_bool(0.15) {
        return (
            format!(
                "{call} FILTER (WHERE {})",
                expression(random, input, Type::Bool, 1)
            ),
            result,
        );
    }
    (call, result)
}

fn windowed(random: &mut ChaCha8Rng, input: &Relation) -> Query {
    let times: Vec<_> = input
        .columns
        .iter()
        .filter(|(_, t)| *t == Type::Timestamp)
        .collect();
    let Some((time, _)) = times.choose(random) else {
        return aggregate(random, input);
    };
    // Windows add these two columns: over a relation that has one of them already they are refused as ambiguous.
    if input
        .columns
        .iter()
        .any(|(name, _)| name == "window_start" || name == "window_end")
    {
        return aggregate(random, input);
    }
    let mut session = false;
    let window = match random.random_range(0..5) {
        0 => format!(
            "hop({}, {time}, INTERVAL '1 minute', INTERVAL '3 minutes')",
            input.name
        ),
        1 => format!(
            "hop({}, {time}, INTERVAL '2 minutes', INTERVAL '5 minutes')",
            input.name
        ),
        2 => format!(
            "tumble({}, {time}, INTERVAL '1 hour', INTERVAL '15 minutes')",
            input.name
        ),
        3 => {
            session = true;
            let (key, _) = input.columns.choose(random).expect("a relation has columns");
            let key = match random.random_bool(0.5) {
                true => format!(", key => ({key})"),
                false => String::new(),
            };
            format!("session({}, {time}, INTERVAL '70 seconds'{key})", input.name)
        }
        _ => format!("tumble({}, {time}, INTERVAL '90 seconds')", input.name),
    };
    let mut also = vec![("window_start".to_owned(), Type::Timestamp)];
    // Sessions become final by their end.
    if session || random.random_bool(0.5) {
        also.push(("window_end".to_owned(), Type::Timestamp));
    }
    let keys: Vec<_> = (0..random.random_range(0..=1))
        .map(|_| key_type(random, input))
        .collect();
    let keys: Vec<_> = keys
        .into_iter()
        .map(|t| (expression(random, input, t, 1), t))
        .collect();
    let mut query = grouped(random, input, &window, keys, also);
    query.append = input.watermark.as_ref() == Some(time) && random.random_bool(0.3);
    query
}

fn union(random: &mut ChaCha8Rng, inputs: &[&Relation]) -> Query {
    let types: Vec<_> = (0..random.random_range(1..=3))
        .map(|_| *Type::ALL.choose(random).expect("there are types"))
        .collect();
    let mut parts = Vec::new();
    let mut columns = Vec::new();
    for _ in 0..random.random_range(2..=3) {
        let input = inputs.choose(random).expect("there is a relation to read");
        let (list, named) = select_list(random, input, &types);
        parts.push(format!(
            "SELECT {list} FROM {}{}",
            input.name,
            filter(random, input)
        ));
        columns = named;
    }
    let union = parts.join(" UNION ALL ");
    if random.random_bool(0.5) {
        return Query {
            sql: union,
            columns,
            append: false,
            small: false,
        };
    }
    let relation = Relation {
        name: format!("({union}) AS u"),
        columns,
        watermark: None,
        small: false,
    };
    aggregate(random, &relation)
}

fn distinct(random: &mut ChaCha8Rng, input: &Relation) -> Query {
    let types: Vec<_> = (0..random.random_range(1..=4))
        .map(|_| key_type(random, input))
        .collect();
    let mut query = map_of(random, input, &types);
    query.sql = query.sql.replacen("SELECT ", "SELECT DISTINCT ", 1);
    query
}

/// An aggregate over an aggregate, or a filter over one.
fn nested(random: &mut ChaCha8Rng, input: &Relation) -> Query {
    let inner = aggregate(random, input);
    let relation = Relation {
        name: format!("({}) AS n", inner.sql),
        columns: inner.columns,
        watermark: None,
        small: false,
    };
    if random.random_bool(0.5) {
        aggregate(random, &relation)
    } else {
        map(random, &relation)
    }
}

/// A type to group by. Not floats: a query that runs once tells NaNs of different bits apart.
fn key_type(random: &mut ChaCha8Rng, input: &Relation) -> Type {
    match any_type(random, input) {
        Type::Double => Type::Int,
        other => other,
    }
}

fn any_type(random: &mut ChaCha8Rng, input: &Relation) -> Type {
    input.columns.choose(random).expect("a relation has columns").1
}

/// A condition that looks at a column; one that does not is folded away before anything runs.
fn filter(random: &mut ChaCha8Rng, input: &Relation) -> String {
    let condition = expression(random, input, Type::Bool, 2);
    if random.random_bool(0.6) || !mentions_column(&condition, input) {
        return String::new();
    }
    format!(" WHERE {condition}")
}

fn mentions_column(expression: &str, input: &Relation) -> bool {
    input
        .columns
        .iter()
        .any(|(name, _)| expression.contains(name.as_str()))
}

fn comparison(random: &mut ChaCha8Rng) -> &'static str {
    ["=", "<>", "<", "<=", ">", ">="]
        .choose(random)
        .expect("the list is not empty")
}

/// An expression of the wanted type, at most `depth` operators deep.
pub(super) fn expression(random: &mut ChaCha8Rng, input: &Relation, wanted: Type, depth: usize) -> String {
    let columns: Vec<_> = input
        .columns
        .iter()
        .filter(|(_, t)| *t == wanted)
        .map(|(name, _)| name)
        .collect();
    if depth == 0 || random.random_bool(0.4) {
        return match columns.choose(random) {
            Some(column) if random.random_bool(0.85) => (*column).clone(),
            _ => wanted.literal(random),
        };
    }
    let mut inner = |t: Type| expression(random, input, t, depth - 1);
    let (a, b, condition) = (inner(wanted), inner(wanted), inner(Type::Bool));
    let general = [
        format!("CASE WHEN {condition} THEN {a} ELSE {b} END"),
        format!("coalesce({a}, {b})"),
        format!("nullif({a}, {b})"),
    ];
    let special = match wanted {
        Type::Text => vec![
            format!("upper({a})"),
            format!("({a} || {b})"),
            format!("substr({a}, 1, 1)"),
        ],
        Type::Int => vec![
            format!("({a} + {b})"),
            format!("({a} - {b})"),
            format!("({a} % 7)"),
            format!("(- {a})"),
        ],
        Type::BigInt => vec![format!("({a} - {b})"), format!("abs({a})"), format!("({a} / 3)")],
        Type::Numeric => vec![format!("({a} + {b})"), format!("(- {a})")],
        Type::Double => vec![format!("({a} * 2)"), format!("({a} - {b})")],
        Type::Bool => return boolean(random, input, &a, &b, depth),
        Type::Timestamp => vec![
            format!("date_trunc('minute', {a})"),
            format!("({a} + INTERVAL '90 seconds')"),
        ],
        Type::Date => vec![format!("({a} + 1)")],
    };
    let all: Vec<_> = general.into_iter().chain(special).collect();
    all.choose(random).expect("the list is not empty").clone()
}

fn boolean(random: &mut ChaCha8Rng, input: &Relation, a: &str, b: &str, depth: usize) -> String {
    let t = any_type(random, input);
    let left = expression(random, input, t, depth - 1);
    let right = expression(random, input, t, depth - 1);
    match random.random_range(0..8) {
        0 => format!("({a} AND {b})"),
        1 => format!("({a} OR {b})"),
        2 => format!("(NOT {a})"),
        3 => format!("({left} IS NULL)"),
        4 => format!("({left} IS DISTINCT FROM {right})"),
        5 => format!("({left} IN ({right}, {}))", t.literal(random)),
        _ => format!("({left} {} {right})", comparison(random)),
    }
}
