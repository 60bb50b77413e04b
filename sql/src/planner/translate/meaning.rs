//! What a message of the library means.

use crate::error::{Error, ErrorKind};
use crate::parser::lower_first;
use crate::suggest;

/// What messages contain, and their class. The first that fits counts.
const MEANINGS: &[(&str, ErrorKind)] = &[
    ("Aggregate functions are not allowed in", ErrorKind::Grouping),
    ("cannot be nested", ErrorKind::Grouping),
    ("must appear in the GROUP BY clause", ErrorKind::Grouping),
    (
        "must be in GROUP BY or an aggregate function",
        ErrorKind::Grouping,
    ),
    (
        "could not be resolved from available columns",
        ErrorKind::Grouping,
    ),
    ("QUALIFY clause requires window functions", ErrorKind::Windowing),
    ("The window ", ErrorKind::UndefinedObject),
    ("There is no window function named", ErrorKind::UndefinedFunction),
    (
        "Projections require unique expression names",
        ErrorKind::DuplicateColumn,
    ),
    ("specified more than once", ErrorKind::DuplicateAlias),
    (
        "Cannot find column with position",
        ErrorKind::InvalidColumnReference,
    ),
    ("SELECT * with no tables specified", ErrorKind::Syntax),
    ("SELECT expression list must not be empty", ErrorKind::Syntax),
    ("names given as column alias", ErrorKind::InvalidColumnReference),
    ("have different number of columns", ErrorKind::Syntax),
    ("have the same number of columns", ErrorKind::Syntax),
    ("Inconsistent data length across values list", ErrorKind::Syntax),
    ("should only return one column", ErrorKind::Syntax),
    ("cannot access field", ErrorKind::UndefinedColumn),
    ("Cannot access field", ErrorKind::UndefinedColumn),
    ("Failed to coerce arguments", ErrorKind::UndefinedFunction),
    ("does not support zero arguments", ErrorKind::UndefinedFunction),
    ("function requires", ErrorKind::UndefinedFunction),
    ("Invalid placeholder", ErrorKind::UndefinedParameter),
    ("type could not be resolved", ErrorKind::IndeterminateParameter),
    ("Conflicting types for", ErrorKind::IndeterminateParameter),
    ("ivide by zero", ErrorKind::DivisionByZero),
    ("Overflow happened", ErrorKind::NumericOutOfRange),
    ("rithmetic overflow", ErrorKind::NumericOutOfRange),
    ("Error parsing timestamp", ErrorKind::InvalidDatetimeFormat),
    ("Invalid timezone", ErrorKind::InvalidParameterValue),
    ("Cannot cast string", ErrorKind::InvalidTextRepresentation),
    ("Can't cast value", ErrorKind::NumericOutOfRange),
    (
        "Invalid input syntax for type interval",
        ErrorKind::InvalidDatetimeFormat,
    ),
    ("LIMIT must be", ErrorKind::InvalidParameterValue),
    ("OFFSET must be", ErrorKind::InvalidParameterValue),
    (
        "Physical plan does not support logical expression",
        ErrorKind::Unsupported,
    ),
    ("This feature is not implemented", ErrorKind::Unsupported),
    ("Unsupported CAST", ErrorKind::TypeMismatch),
    ("Unsupported", ErrorKind::Unsupported),
    ("not supported", ErrorKind::Unsupported),
    ("is not implemented", ErrorKind::Unsupported),
];

/// Beginnings that say who is speaking.
const SPEAKERS: &[&str] = &[
    "Error during planning: ",
    "Execution error: ",
    "Arrow error: ",
    "This feature is not implemented: ",
    "Internal error: ",
    "Schema error: ",
    "SQL error: ",
    "type_coercion\ncaused by\n",
];

/// Functions that need OVER.
const WINDOW_FUNCTIONS: [&str; 10] = [
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "nth_value",
];

pub fn of_message(message: &str) -> Error {
    let mut rest = message;
    while let Some(shorter) = SPEAKERS.iter().find_map(|speaker| rest.strip_prefix(speaker)) {
        rest = shorter;
    }
    if let Some(error) = in_postgres_words(rest) {
        return error;
    }
    let kind = MEANINGS
        .iter()
        .find(|(text, _)| message.contains(text))
        .map(|(_, kind)| *kind);
    let kind = kind.unwrap_or(if message.contains("Error during planning") {
        ErrorKind::TypeMismatch
    } else {
        ErrorKind::Internal
    });
    Error::new(kind, lower_first(&first_line(rest)))
}

fn first_line(message: &str) -> String {
    message
        .lines()
        .next()
        .unwrap_or(message)
        .chars()
        .take(300)
        .collect()
}

/// The messages that users meet most.
fn in_postgres_words(message: &str) -> Option<Error> {
    if let Some(name) = between(message, "Invalid function '", "'") {
        if WINDOW_FUNCTIONS.contains(&name) {
            let message = format!("window function {name} requires an OVER clause");
            return Some(Error::new(ErrorKind::Windowing, message));
        }
        let suggested = between(message, "Did you mean '", "'");
        return Some(
            Error::new(
                ErrorKind::UndefinedFunction,
                format!("function {name} does not exist"),
            )
            .with_hint_if(suggested.and_then(|s| suggest::did_you_mean(name, [s]))),
        );
    }
    if let Some(call) = between(
        message,
        "No function matches the given name and argument types '",
        "'.",
    ) {
        return Some(no_function(call));
    }
    if let Some(column) = between(message, "While expanding wildcard, column \"", "\" must appear") {
        let message = format!(
            "column \"{column}\" must appear in the GROUP BY clause or be used in an aggregate function"
        );
        return Some(Error::new(ErrorKind::Grouping, message));
    }
    about_types(message)
}

/// Messages about types that do not go together.
fn about_types(message: &str) -> Option<Error> {
    let operation = between(
        message,
        "Cannot infer common argument type for comparison operation ",
        "\n",
    )
    .or_else(|| between(message, "Cannot coerce arithmetic expression ", " to valid types"))
    .or_else(|| between(message, "Cannot get result type for arithmetic operation ", ": "))
    .or_else(|| {
        between(
            message,
            "Cannot infer common argument type for logical boolean operation ",
            "\n",
        )
    })
    .or_else(|| {
        between(
            message,
            "Cannot infer common argument type for regex operation ",
            "\n",
        )
    })
    .or_else(|| {
        between(
            message,
            "Cannot infer common string type for string concat operation ",
            "\n",
        )
    });
    for connective in ["AND", "OR"] {
        if let Some((left, right)) = operation.and_then(|o| o.split_once(&format!(" {connective} "))) {
            let other = if left == "Boolean" { right } else { left };
            return Some(not_a_condition(connective, other));
        }
    }
    if let Some(found) = between(
        message,
        "nary operator 'NOT' requires a boolean expression, got ",
        "\n",
    ) {
        return Some(not_a_condition("NOT", found));
    }
    if let Some(operation) = operation {
        return Some(
            Error::new(
                ErrorKind::UndefinedFunction,
                format!("operator does not exist: {}", sql_types(operation)),
            )
            .with_hint("You might need to add explicit type casts."),
        );
    }
    if let Some(data_type) = between(message, "Cannot create filter with non-boolean predicate ", "\n")
        .and_then(|rest| rest.rsplit_once(" returning "))
    {
        let message = format!(
            "argument of WHERE must be type boolean, not type {}",
            sql_types(data_type.1)
        );
        return Some(Error::new(ErrorKind::TypeMismatch, message));
    }
    if let Some(rest) = between(
        message,
        "Incompatible inputs for Union: Previous inputs were of type ",
        " on column",
    ) {
        let (first, second) = rest.split_once(", but got incompatible type ")?;
        let message = format!(
            "UNION types {} and {} cannot be matched",
            sql_types(first),
            sql_types(second)
        );
        return Some(Error::new(ErrorKind::TypeMismatch, message));
    }
    if let Some(set) = message.strip_suffix(" queries have different number of columns") {
        return Some(Error::syntax(format!(
            "each {set} query must have the same number of columns"
        )));
    }
    None
}

fn not_a_condition(operator: &str, found: &str) -> Error {
    let message = format!(
        "argument of {operator} must be type boolean, not type {}",
        sql_types(found)
    );
    Error::new(ErrorKind::TypeMismatch, message)
}

/// `abs(Utf8)` in the words of Postgres.
fn no_function(call: &str) -> Error {
    let call = match call.split_once('(') {
        // These take whatever goes together.
        Some((name @ ("coalesce" | "greatest" | "least"), arguments)) => {
            let arguments = sql_types(arguments.strip_suffix(')').unwrap_or(arguments));
            let types = arguments.split(", ").collect::<Vec<_>>();
            let second = types.iter().find(|t| **t != types[0]).unwrap_or(&types[0]);
            let name = name.to_uppercase();
            let message = format!("{name} types {} and {second} cannot be matched", types[0]);
            return Error::new(ErrorKind::TypeMismatch, message);
        }
        Some((name, arguments)) => format!("{name}({}", sql_types(arguments)),
        None => call.to_owned(),
    };
    Error::new(
        ErrorKind::UndefinedFunction,
        format!("function {call} does not exist"),
    )
    .with_hint(
        "No function matches the given name and argument types. You might need to add explicit type casts.",
    )
}

/// The text after `start` up to `end`, or to the end of the message.
fn between<'a>(message: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let rest = &message[message.find(start)? + start.len()..];
    Some(rest.find(end).map_or(rest, |end| &rest[..end]))
}

/// Arrow's type names within a text as SQL's. A name with arguments comes before the same name without.
fn sql_types(text: &str) -> String {
    const NAMES: &[(&str, &str)] = &[
        ("Timestamp(µs, \"UTC\")", "timestamp with time zone"),
        ("Timestamp(ns, \"UTC\")", "timestamp with time zone"),
        ("Timestamp(µs)", "timestamp without time zone"),
        ("Timestamp(ns)", "timestamp without time zone"),
        ("Interval(MonthDayNano)", "interval"),
        ("Duration(µs)", "interval"),
        ("Time64(µs)", "time without time zone"),
        ("Boolean", "boolean"),
        ("Int16", "smallint"),
        ("Int32", "integer"),
        ("Int64", "bigint"),
        ("UInt32", "oid"),
        ("Float32", "real"),
        ("Float64", "double precision"),
        ("Utf8View", "text"),
        ("LargeUtf8", "text"),
        ("Utf8", "text"),
        ("BinaryView", "bytea"),
        ("Binary", "bytea"),
        ("Date32", "date"),
        ("Null", "unknown"),
    ];
    let mut text = text.to_owned();
    // Unsigned names end like signed ones.
    text = text.replace("UInt32", "oid");
    for (arrow, sql) in NAMES {
        text = text.replace(arrow, sql);
    }
    while let Some(start) = text.find("Decimal128(").or_else(|| text.find("Decimal256(")) {
        let end = text[start..].find(')').map_or(text.len(), |end| start + end + 1);
        text.replace_range(start..end, "numeric");
    }
    text
}
