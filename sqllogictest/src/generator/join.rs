//! Random joins, subqueries and set operations over two relations.

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use super::query::{Query, aggregate, expression, map, select_list};
use super::schema::{Relation, Type};

/// A query over two of `inputs`, which may be the same one twice. Only small relations are joined, since the pairs of
/// pairs of pairs take the oracle too long.
pub fn random(random: &mut ChaCha8Rng, inputs: &[&Relation]) -> Query {
    let small: Vec<&&Relation> = inputs.iter().filter(|input| input.small).collect();
    let mut choose = |alias: &str| {
        let input = small.choose(random).expect("tables are small");
        (format!("{} AS {alias}", input.name), aliased(input, alias))
    };
    let ((left_from, left), (right_from, right)) = (choose("l"), choose("r"));
    let from = [left_from, right_from];
    match random.random_range(0..100) {
        0..50 => joined(random, &from, &left, &right),
        50..70 => exists(random, &from, &left, &right),
        70..85 => value(random, &from, &left, &right),
        _ => set_operation(random, &from, &left, &right),
    }
}

/// The relation with qualified columns.
fn aliased(relation: &Relation, alias: &str) -> Relation {
    let columns = relation.columns.iter();
    Relation {
        name: format!("{} AS {alias}", relation.name),
        columns: columns.map(|(name, t)| (format!("{alias}.{name}"), *t)).collect(),
        watermark: None,
        small: true,
    }
}

fn both(left: &Relation, right: &Relation) -> Relation {
    Relation {
        name: String::new(),
        columns: left.columns.iter().chain(&right.columns).cloned().collect(),
        watermark: None,
        small: false,
    }
}

/// A type that both sides have and that equality means the same for everywhere: not so for floats.
fn key_type(random: &mut ChaCha8Rng, left: &Relation, right: &Relation) -> Option<Type> {
    let has = |relation: &Relation, t: Type| relation.columns.iter().any(|(_, other)| *other == t);
    let shared = |t: &Type| *t != Type::Double && has(left, *t) && has(right, *t);
    let types: Vec<Type> = Type::ALL.into_iter().filter(shared).collect();
    types.choose(random).copied()
}

/// What makes two rows partners.
fn condition(random: &mut ChaCha8Rng, left: &Relation, right: &Relation) -> String {
    let mut parts = Vec::new();
    for _ in 0..random.random_range(1..=2) {
        if let Some(t) = key_type(random, left, right).filter(|_| random.random_bool(0.9)) {
            let (l, r) = (expression(random, left, t, 1), expression(random, right, t, 1));
            let operator = if random.random_bool(0.85) {
                "="
            } else {
                "IS NOT DISTINCT FROM"
            };
            parts.push(format!("{l} {operator} {r}"));
        }
    }
    if parts.is_empty() || random.random_bool(0.35) {
        parts.push(expression(random, &both(left, right), Type::Bool, 2));
    }
    parts.join(" AND ")
}

fn joined(random: &mut ChaCha8Rng, from: &[String; 2], left: &Relation, right: &Relation) -> Query {
    let kind = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
        .choose(random)
        .expect("the list is not empty");
    let on = condition(random, left, right);
    let pairs = both(left, right);
    let renamed: Vec<_> = (0..pairs.columns.len()).map(|i| format!("j{i}")).collect();
    let list = pairs.columns.iter().zip(&renamed);
    let list: Vec<_> = list
        .map(|((name, _), renamed)| format!("{name} AS {renamed}"))
        .collect();
    let sql = format!(
        "SELECT {} FROM {} {kind} {} ON {on}",
        list.join(", "),
        from[0],
        from[1]
    );
    let types = pairs.columns.iter().map(|(_, t)| *t);
    let relation = Relation {
        name: format!("({sql}) AS j"),
        columns: renamed.into_iter().zip(types).collect(),
        watermark: None,
        small: false,
    };
    if random.random_bool(0.6) {
        map(random, &relation)
    } else {
        aggregate(random, &relation)
    }
}

/// A subquery whose rows are looked for: `[NOT] EXISTS` or `[NOT] IN`.
fn membership(random: &mut ChaCha8Rng, from: &str, left: &Relation, right: &Relation) -> String {
    let not = if random.random_bool(0.5) { "NOT " } else { "" };
    if random.random_bool(0.5) {
        let condition = condition(random, left, right);
        return format!("{not}EXISTS (SELECT 1 FROM {from} WHERE {condition})");
    }
    let Some(t) = key_type(random, left, right) else {
        return format!("{not}EXISTS (SELECT 1 FROM {from})");
    };
    let (l, r) = (expression(random, left, t, 1), expression(random, right, t, 1));
    let filter = match random.random_range(0..3) {
        0 => format!(" WHERE {}", expression(random, right, Type::Bool, 1)),
        1 => format!(" WHERE {}", condition(random, left, right)),
        _ => String::new(),
    };
    format!("{l} {not}IN (SELECT {r} FROM {from}{filter})")
}

fn exists(random: &mut ChaCha8Rng, from: &[String; 2], left: &Relation, right: &Relation) -> Query {
    let types = some_types(random, left);
    let (mut list, mut columns) = select_list(random, left, &types);
    let found = membership(random, &from[1], left, right);
    let filter = match random.random_range(0..4) {
        0 => {
            list += &format!(", {found} AS found");
            columns.push(("found".to_owned(), Type::Bool));
            String::new()
        }
        1 => format!(" WHERE {found} OR {}", expression(random, left, Type::Bool, 1)),
        _ => format!(" WHERE {found}"),
    };
    Query {
        sql: format!("SELECT {list} FROM {}{filter}", from[0]),
        columns,
        append: false,
        small: false,
    }
}

/// A subquery that stands for a value: an aggregate, perhaps over the rows that belong to the outer one.
fn value(random: &mut ChaCha8Rng, from: &[String; 2], left: &Relation, right: &Relation) -> Query {
    let types = some_types(random, left);
    let (list, mut columns) = select_list(random, left, &types);
    let (call, t) = match random.random_range(0..3) {
        0 => ("count(*)".to_owned(), Type::BigInt),
        1 => (
            format!("max({})", expression(random, right, Type::Text, 1)),
            Type::Text,
        ),
        _ => (
            format!("sum({})", expression(random, right, Type::Int, 0)),
            Type::BigInt,
        ),
    };
    let filter = match key_type(random, left, right).filter(|_| random.random_bool(0.7)) {
        Some(t) => {
            let (l, r) = (expression(random, left, t, 0), expression(random, right, t, 0));
            format!(" WHERE {r} = {l}")
        }
        None => String::new(),
    };
    let value = format!("(SELECT {call} FROM {}{filter})", from[1]);
    let sql = if random.random_bool(0.5) {
        columns.push(("value".to_owned(), t));
        format!("SELECT {list}, {value} AS value FROM {}", from[0])
    } else {
        let compared = expression(random, left, t, 1);
        format!("SELECT {list} FROM {} WHERE {compared} <= {value}", from[0])
    };
    Query {
        sql,
        columns,
        append: false,
        small: false,
    }
}

fn set_operation(random: &mut ChaCha8Rng, from: &[String; 2], left: &Relation, right: &Relation) -> Query {
    let types: Vec<Type> = some_types(random, left)
        .into_iter()
        .filter(|t| *t != Type::Double)
        .collect();
    let types = if types.is_empty() { vec![Type::Int] } else { types };
    let (l, columns) = select_list(random, left, &types);
    let (r, _) = select_list(random, right, &types);
    let operation = ["INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]
        .choose(random)
        .expect("the list is not empty");
    Query {
        sql: format!(
            "SELECT {l} FROM {} {operation} SELECT {r} FROM {}",
            from[0], from[1]
        ),
        columns,
        append: false,
        small: true,
    }
}

fn some_types(random: &mut ChaCha8Rng, relation: &Relation) -> Vec<Type> {
    (0..random.random_range(1..=3))
        .map(|_| relation.columns.choose(random).expect("a relation has columns").1)
        .collect()
}
