//! `pg_proc`, `pg_aggregate`, `pg_operator` and `pg_cast`: what can be called, and the support functions of types.
//!
//! Functions that Postgres has too stand in `functions.txt` with its oids and signatures; those that only we have follow
//! with oids of our own. A test holds the file against the functions that a query can really call.

use std::collections::HashMap;
use std::sync::LazyLock;

use datafusion::logical_expr::Volatility;

use super::rows::Rows;
use super::types::TYPES;
use super::{SystemContext, oid};
use crate::function::DEFINITIONS;

/// A row of `pg_proc`.
#[derive(Debug, Clone)]
pub struct FunctionRow {
    pub oid: u32,
    pub schema: &'static str,
    pub name: &'static str,
    /// `f`unction, `a`ggregate or `w`indow function.
    pub kind: char,
    pub result: u32,
    pub arguments: Vec<u32>,
    /// The last argument repeats.
    pub variadic: bool,
    pub returns_set: bool,
    pub volatility: char,
}

/// Where oids of functions begin that Postgres does not have.
const FIRST_OWN_OID: u32 = 15000;

static FUNCTIONS: LazyLock<Vec<FunctionRow>> = LazyLock::new(|| {
    let lines = |text: &'static str| text.lines().filter(|line| !line.starts_with('#'));
    let mut all: Vec<_> = lines(include_str!("functions.txt")).map(function).collect();
    all.extend(lines(include_str!("support_functions.txt")).map(support_function));
    all.extend(own_functions());
    all
});

static OIDS: LazyLock<HashMap<&str, u32>> =
    LazyLock::new(|| FUNCTIONS.iter().rev().map(|f| (f.name, f.oid)).collect());

/// All functions.
pub fn functions() -> &'static [FunctionRow] {
    &FUNCTIONS
}

/// The oid of the first function of a name.
pub fn oid_of_builtin(name: &str) -> Option<u32> {
    OIDS.get(name).copied()
}

/// The oid of a type by the name in `pg_type`, arrays as `_name` or `name[]`.
fn type_oid(name: &str) -> u32 {
    let array = name.strip_suffix("[]").or_else(|| name.strip_prefix('_'));
    match array {
        Some(element) => TYPES.iter().find(|t| t.name == element).map_or(0, |t| t.array),
        None => TYPES.iter().find(|t| t.name == name).map_or(0, |t| t.oid),
    }
}

fn type_list(text: &str) -> Vec<u32> {
    text.split(',')
        .filter(|name| !matches!(*name, "-" | ""))
        .map(type_oid)
        .collect()
}

/// `2803 count a i int8 - [variadic] [set]`
fn function(line: &'static str) -> FunctionRow {
    let words: Vec<_> = line.split(' ').collect();
    let [oid, name, kind, volatility, result, arguments, flags @ ..] = &words[..] else {
        panic!("not a function: {line}")
    };
    FunctionRow {
        oid: oid.parse().expect("the oid of a function is a number"),
        schema: "pg_catalog",
        name,
        kind: kind.chars().next().unwrap_or('f'),
        result: type_oid(result),
        arguments: type_list(arguments),
        variadic: flags.contains(&"variadic"),
        returns_set: flags.contains(&"set"),
        volatility: volatility.chars().next().unwrap_or('v'),
    }
}

/// `750 array_in anyarray cstring,oid,int4`
fn support_function(line: &'static str) -> FunctionRow {
    let words: Vec<_> = line.split(' ').collect();
    let [oid, name, result, arguments] = words[..] else {
        panic!("not a support function: {line}")
    };
    FunctionRow {
        oid: oid.parse().expect("the oid of a function is a number"),
        schema: "pg_catalog",
        name,
        kind: 'f',
        result: type_oid(result),
        arguments: type_list(arguments),
        variadic: false,
        returns_set: false,
        volatility: 'i',
    }
}

/// Our definitions in schemas that Postgres does not have. The others that it has no function for are its keywords, such
/// as `current_role`.
fn own_functions() -> Vec<FunctionRow> {
    let definitions = DEFINITIONS.iter().flat_map(|topic| topic.iter());
    let own = definitions.filter(|d| d.name.contains('.'));
    (FIRST_OWN_OID..)
        .zip(own)
        .map(|(oid, definition)| {
            let (schema, name) = definition.qualified();
            let (arguments, variadic) = definition.argument_types();
            FunctionRow {
                oid,
                schema,
                name,
                kind: 'f',
                result: type_oid(definition.result),
                arguments: arguments.into_iter().map(type_oid).collect(),
                variadic,
                returns_set: false,
                volatility: match definition.volatility {
                    Volatility::Immutable => 'i',
                    Volatility::Stable => 's',
                    Volatility::Volatile => 'v',
                },
            }
        })
        .collect()
}

pub fn pg_proc(context: &SystemContext, rows: &mut Rows) {
    for function in functions() {
        let count = function.arguments.len();
        rows.add([
            ("oid", function.oid.into()),
            ("proname", function.name.into()),
            (
                "pronamespace",
                oid::namespace(&context.catalog, function.schema).into(),
            ),
            ("proowner", oid::OWNER.into()),
            ("prolang", oid::INTERNAL_LANGUAGE.into()),
            ("procost", 1.into()),
            ("prorows", (if function.returns_set { 1000 } else { 0 }).into()),
            (
                "provariadic",
                (if function.variadic {
                    function.arguments[count - 1]
                } else {
                    0
                })
                .into(),
            ),
            ("prokind", function.kind.into()),
            ("proisstrict", (function.kind == 'f').into()),
            ("proretset", function.returns_set.into()),
            ("provolatile", function.volatility.into()),
            ("proparallel", 's'.into()),
            ("pronargs", count.into()),
            ("prorettype", function.result.into()),
            ("proargtypes", function.arguments.clone().into()),
            ("prosrc", function.name.into()),
        ]);
    }
}

pub fn pg_aggregate(_context: &SystemContext, rows: &mut Rows) {
    for function in functions().iter().filter(|f| f.kind == 'a') {
        rows.add([
            ("aggfnoid", function.oid.into()),
            ("aggkind", 'n'.into()),
            ("aggtranstype", function.result.into()),
        ]);
    }
}

/// `551 + b 23 23 23 177`: oid, name, kind, types of both sides and the result, function.
pub fn pg_operator(_context: &SystemContext, rows: &mut Rows) {
    for line in include_str!("operators.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let words: Vec<_> = line.split(' ').collect();
        let [oid, name, kind, left, right, result, code] = words[..] else {
            panic!("not an operator: {line}")
        };
        let number = |text: &str| text.parse::<u32>().expect("operators are described by oids");
        rows.add([
            ("oid", number(oid).into()),
            ("oprname", name.into()),
            ("oprnamespace", oid::PG_CATALOG.into()),
            ("oprowner", oid::OWNER.into()),
            ("oprkind", kind.into()),
            ("oprleft", number(left).into()),
            ("oprright", number(right).into()),
            ("oprresult", number(result).into()),
            ("oprcode", number(code).into()),
        ]);
    }
}

/// `10029 20 21 a f`: oid, source, target, context, method.
pub fn pg_cast(_context: &SystemContext, rows: &mut Rows) {
    for line in include_str!("casts.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let words: Vec<_> = line.split(' ').collect();
        let [oid, source, target, function, context, method] = words[..] else {
            panic!("not a cast: {line}")
        };
        let number = |text: &str| text.parse::<u32>().expect("casts are described by oids");
        rows.add([
            ("oid", number(oid).into()),
            ("castsource", number(source).into()),
            ("casttarget", number(target).into()),
            ("castfunc", number(function).into()),
            ("castcontext", context.into()),
            ("castmethod", method.into()),
        ]);
    }
}
