//! Identifiers and the names of what they identify: `'t'::regclass`, `oid::regtype::text`, `to_regclass('t')`.
//!
//! A cast to a `reg*` type is a call of the function of that name, which takes a name or a number and gives an
//! identifier. What a client sees of an identifier is its name, which [`output_of`] the type's output function gives.

use datafusion::error::{DataFusionError, Result};
use millpond_catalog::{ObjectName, SqlType, SystemType};
use millpond_sql::{Error, ErrorKind};

use super::definition::{Definition, strict};
use crate::pg::encode::IdentifierNames;
use crate::pg_catalog::{SystemContext, TYPES, Value, functions, namespaces, oid_of_row_type};

pub const DEFINITIONS: &[Definition] = &[
    strict("regclass", "regclass", "regclass", |c, a| cast(c, a, &CLASS)),
    strict("regtype", "regtype", "regtype", |c, a| cast(c, a, &TYPE)),
    strict("regproc", "regproc", "regproc", |c, a| cast(c, a, &FUNCTION)),
    strict("regprocedure", "regprocedure", "regprocedure", |c, a| {
        cast(c, a, &FUNCTION)
    }),
    strict("regnamespace", "regnamespace", "regnamespace", |c, a| {
        cast(c, a, &SCHEMA)
    }),
    strict("regrole", "regrole", "regrole", |c, a| cast(c, a, &ROLE)),
    strict("regoper", "regoper", "regoper", |c, a| cast(c, a, &UNNAMED)),
    strict("regoperator", "regoperator", "regoperator", |c, a| {
        cast(c, a, &UNNAMED)
    }),
    strict("regconfig", "regconfig", "regconfig", |c, a| cast(c, a, &UNNAMED)),
    strict("regdictionary", "regdictionary", "regdictionary", |c, a| {
        cast(c, a, &UNNAMED)
    }),
    strict("regcollation", "regcollation", "regcollation", |c, a| {
        cast(c, a, &UNNAMED)
    }),
    strict("to_regclass", "text", "regclass", |c, a| {
        to_identifier(c, a, &CLASS)
    }),
    strict("to_regtype", "text", "regtype", |c, a| to_identifier(c, a, &TYPE)),
    strict("to_regproc", "text", "regproc", |c, a| {
        to_identifier(c, a, &FUNCTION)
    }),
    strict("to_regprocedure", "text", "regprocedure", |c, a| {
        to_identifier(c, a, &FUNCTION)
    }),
    strict("to_regnamespace", "text", "regnamespace", |c, a| {
        to_identifier(c, a, &SCHEMA)
    }),
    strict("to_regrole", "text", "regrole", |c, a| to_identifier(c, a, &ROLE)),
    strict("regclassout", "oid", "text", |c, a| name(c, a, &CLASS)),
    strict("regtypeout", "oid", "text", |c, a| name(c, a, &TYPE)),
    strict("regprocout", "oid", "text", |c, a| name(c, a, &FUNCTION)),
    strict("regprocedureout", "oid", "text", |c, a| name(c, a, &PROCEDURE)),
    strict("regnamespaceout", "oid", "text", |c, a| name(c, a, &SCHEMA)),
    strict("regroleout", "oid", "text", |c, a| name(c, a, &ROLE)),
    strict("regoperout", "oid", "text", |c, a| name(c, a, &UNNAMED)),
    strict("regoperatorout", "oid", "text", |c, a| name(c, a, &UNNAMED)),
    strict("regconfigout", "oid", "text", |c, a| name(c, a, &UNNAMED)),
    strict("regdictionaryout", "oid", "text", |c, a| name(c, a, &UNNAMED)),
    strict("regcollationout", "oid", "text", |c, a| name(c, a, &UNNAMED)),
    strict("format_type", "oid", "text", format_type_of),
    super::definition::nullable("format_type", "oid, int4", "text", format_type_of),
];

/// The function that turns identifiers of the type into what clients see; `None` for types that are shown as they are.
pub fn output_of(system: SystemType) -> Option<String> {
    system
        .is_named_identifier()
        .then(|| format!("{}out", system.name()))
}

/// How the things of one kind are named.
struct Kind {
    /// The word for it in messages.
    word: &'static str,
    error: ErrorKind,
    find: fn(&SystemContext, &str) -> Option<u32>,
    name: fn(&SystemContext, u32) -> Option<String>,
}

const CLASS: Kind = Kind {
    word: "relation",
    error: ErrorKind::UndefinedTable,
    find: find_class,
    name: class_name,
};
const TYPE: Kind = Kind {
    word: "type",
    error: ErrorKind::UndefinedObject,
    find: find_type,
    name: type_name,
};
const FUNCTION: Kind = Kind {
    word: "function",
    error: ErrorKind::UndefinedFunction,
    find: find_function,
    name: function_name,
};
const PROCEDURE: Kind = Kind {
    word: "function",
    error: ErrorKind::UndefinedFunction,
    find: find_function,
    name: procedure_name,
};
const SCHEMA: Kind = Kind {
    word: "schema",
    error: ErrorKind::UndefinedSchema,
    find: find_schema,
    name: schema_name,
};
const ROLE: Kind = Kind {
    word: "role",
    error: ErrorKind::UndefinedObject,
    find: find_role,
    name: role_name,
};
/// What the catalog lists none of.
const UNNAMED: Kind = Kind {
    word: "object",
    error: ErrorKind::UndefinedObject,
    find: |_, _| None,
    name: |_, _| None,
};

/// How values of the `reg` types print: as the name of what they identify.
impl IdentifierNames for SystemContext {
    fn name_of(&self, system: SystemType, oid: u32) -> Option<String> {
        let kind = match system {
            SystemType::RegClass => &CLASS,
            SystemType::RegType => &TYPE,
            SystemType::RegProc => &FUNCTION,
            SystemType::RegProcedure => &PROCEDURE,
            SystemType::RegNamespace => &SCHEMA,
            SystemType::RegRole => &ROLE,
            _ => &UNNAMED,
        };
        (kind.name)(self, oid)
    }
}

/// An identifier, given as a number, as digits or as a name.
fn find(context: &SystemContext, argument: &Value, kind: &Kind) -> Option<u32> {
    match argument {
        Value::Int(n) => u32::try_from(*n).ok(),
        Value::Text(text) if text == "-" => Some(0),
        Value::Text(text) => text.parse().ok().or_else(|| (kind.find)(context, text)),
        _ => None,
    }
}

fn cast(context: &SystemContext, arguments: &[Value], kind: &Kind) -> Result<Value> {
    find(context, &arguments[0], kind)
        .map(Value::from)
        .ok_or_else(|| {
            let name = arguments[0].text().unwrap_or_default();
            undefined(kind.error, format!("{} \"{name}\" does not exist", kind.word))
        })
}

fn to_identifier(context: &SystemContext, arguments: &[Value], kind: &Kind) -> Result<Value> {
    Ok(find(context, &arguments[0], kind).into())
}

fn name(context: &SystemContext, arguments: &[Value], kind: &Kind) -> Result<Value> {
    let Some(oid) = oid_of(&arguments[0]) else {
        return Ok(arguments[0].clone());
    };
    if oid == 0 {
        return Ok("-".into());
    }
    Ok((kind.name)(context, oid)
        .unwrap_or_else(|| oid.to_string())
        .into())
}

/// A user error within a function.
pub fn undefined(kind: ErrorKind, message: impl Into<String>) -> DataFusionError {
    DataFusionError::External(Box::new(Error::new(kind, message)))
}

/// An oid given as a number or as digits.
pub fn oid_of(value: &Value) -> Option<u32> {
    match value {
        Value::Int(n) => u32::try_from(*n).ok(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

/// A relation given as its oid or its name.
pub fn class_of(context: &SystemContext, value: &Value) -> Option<u32> {
    find(context, value, &CLASS)
}

/// A relation that must exist.
pub fn existing_class(context: &SystemContext, value: &Value) -> Result<u32> {
    match cast(context, std::slice::from_ref(value), &CLASS)? {
        Value::Int(oid) => Ok(u32::try_from(oid).unwrap_or(0)),
        _ => Ok(0),
    }
}

/// The parts of a name, quotes removed and other letters folded; `None` when it is no name.
pub fn parse_name(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_part(quoted)?,
            None => {
                let end = rest
                    .find(|c: char| c == '.' || c.is_whitespace())
                    .unwrap_or(rest.len());
                (rest[..end].to_lowercase(), &rest[end..])
            }
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        match after.trim_start().strip_prefix('.') {
            Some(more) => rest = more.trim_start(),
            None if after.trim().is_empty() => return Some(parts),
            None => return None,
        }
    }
}

/// The part up to the closing quote, and what follows it.
fn quoted_part(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c != '"' {
            part.push(c);
        } else if chars.next_if(|(_, next)| *next == '"').is_some() {
            part.push('"');
        } else {
            return Some((part, &text[at + 1..]));
        }
    }
    None
}

fn find_class(context: &SystemContext, text: &str) -> Option<u32> {
    match &parse_name(text)?[..] {
        [name] => context.relation_oid(None, name),
        [schema, name] => context.relation_oid(Some(schema), name),
        [database, schema, name] if *database == context.session.database => {
            context.relation_oid(Some(schema), name)
        }
        _ => None,
    }
}

fn class_name(context: &SystemContext, oid: u32) -> Option<String> {
    let (schema, name) = context.relation_name(oid)?;
    let quoted = ObjectName::quote(&name);
    Some(match context.is_visible(&schema, &name) {
        true => quoted,
        false => format!("{}.{quoted}", ObjectName::quote(&schema)),
    })
}

/// A type by any of its names: `integer`, `int4`, `pg_catalog.int4`, `numeric(10,2)[]`, the row type of a relation.
fn find_type(context: &SystemContext, text: &str) -> Option<u32> {
    let text = text.trim();
    if let Some(element) = text.strip_suffix("[]") {
        let element = find_type(context, element)?;
        return TYPES
            .iter()
            .find(|t| t.oid == element)
            .map(|t| t.array)
            .filter(|array| *array != 0);
    }
    let text = text.split_once('(').map_or(text, |(name, _)| name.trim_end());
    let spelled = text.to_lowercase();
    if let Some(sql_type) = SqlType::plain().find(|t| t.to_string() == spelled) {
        return Some(sql_type.oid());
    }
    let short = match spelled.as_str() {
        "int" => "int4",
        "decimal" | "dec" => "numeric",
        "float" => "float8",
        "time" => "time",
        "char" | "character" => "bpchar",
        "timestamp" => "timestamp",
        _ => "",
    };
    let parts = parse_name(text)?;
    let (schema, name) = match &parts[..] {
        [name] => (None, if short.is_empty() { name.as_str() } else { short }),
        [schema, name] => (Some(schema.as_str()), name.as_str()),
        _ => return None,
    };
    let declared = TYPES.iter().find_map(|t| match name.strip_prefix('_') {
        Some(element) if element == t.name && t.array != 0 => Some(t.array),
        _ => (t.name == name).then_some(t.oid),
    });
    match schema {
        Some("pg_catalog") => declared,
        None if declared.is_some() => declared,
        _ => oid_of_row_type(context, schema, name),
    }
}

fn type_name(context: &SystemContext, oid: u32) -> Option<String> {
    format_type(context, oid, -1)
}

/// The SQL name of a type with its modifier applied.
pub fn format_type(context: &SystemContext, oid: u32, modifier: i32) -> Option<String> {
    if let Some(sql_type) = SqlType::from_oid(oid) {
        return Some(sql_type.with_modifier(modifier).to_string());
    }
    if let Some(declared) = TYPES.iter().find(|t| t.oid == oid) {
        return Some(long_name(declared.name, modifier));
    }
    if let Some(element) = TYPES.iter().find(|t| t.array == oid && oid != 0) {
        return Some(format!("{}[]", long_name(element.name, modifier)));
    }
    let (object, is_array) = crate::pg_catalog::object_of_row_type(context, oid)?;
    let name = class_name(context, crate::pg_catalog::oid_of_object(object))?;
    Some(if is_array { format!("{name}[]") } else { name })
}

/// Names of types that columns cannot have.
fn long_name(name: &str, modifier: i32) -> String {
    let length = if modifier >= 4 {
        format!("({})", modifier - 4)
    } else {
        String::new()
    };
    match name {
        "bpchar" => format!("character{length}"),
        "bit" => "bit".to_owned(),
        "varbit" => "bit varying".to_owned(),
        "timetz" => "time with time zone".to_owned(),
        "any" => "\"any\"".to_owned(),
        other => other.to_owned(),
    }
}

fn format_type_of(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let Some(oid) = oid_of(&arguments[0]) else {
        return Ok(Value::Null);
    };
    if oid == 0 {
        return Ok("-".into());
    }
    let modifier = arguments
        .get(1)
        .and_then(Value::int)
        .and_then(|n| i32::try_from(n).ok())
        .unwrap_or(-1);
    Ok(format_type(context, oid, modifier)
        .unwrap_or_else(|| "???".to_owned())
        .into())
}

/// A function by its name, with or without the types of its arguments.
fn find_function(context: &SystemContext, text: &str) -> Option<u32> {
    let (name, arguments) = match text.split_once('(') {
        Some((name, rest)) => (name, Some(rest.trim_end().strip_suffix(')')?)),
        None => (text, None),
    };
    let parts = parse_name(name)?;
    let name = parts.last()?;
    let arguments: Option<Vec<u32>> = match arguments {
        Some(list) => {
            let names = list.split(',').map(str::trim).filter(|a| !a.is_empty());
            Some(names.map(|a| find_type(context, a)).collect::<Option<_>>()?)
        }
        None => None,
    };
    let fits = |f: &&crate::pg_catalog::FunctionRow| {
        f.name == *name && arguments.as_ref().is_none_or(|wanted| *wanted == f.arguments)
    };
    functions().iter().find(fits).map(|f| f.oid)
}

fn function_name(_context: &SystemContext, oid: u32) -> Option<String> {
    functions().iter().find(|f| f.oid == oid).map(|f| match f.schema {
        "pg_catalog" => ObjectName::quote(f.name),
        schema => format!("{schema}.{}", ObjectName::quote(f.name)),
    })
}

fn procedure_name(context: &SystemContext, oid: u32) -> Option<String> {
    let function = functions().iter().find(|f| f.oid == oid)?;
    let arguments: Vec<_> = function
        .arguments
        .iter()
        .map(|a| format_type(context, *a, -1).unwrap_or_default())
        .collect();
    Some(format!(
        "{}({})",
        function_name(context, oid)?,
        arguments.join(",")
    ))
}

fn find_schema(context: &SystemContext, text: &str) -> Option<u32> {
    match &parse_name(text)?[..] {
        [name] => namespaces(&context.catalog)
            .find(|(_, n)| n == name)
            .map(|(oid, _)| oid),
        _ => None,
    }
}

fn schema_name(context: &SystemContext, oid: u32) -> Option<String> {
    namespaces(&context.catalog)
        .find(|(o, _)| *o == oid)
        .map(|(_, name)| ObjectName::quote(name))
}

fn find_role(context: &SystemContext, text: &str) -> Option<u32> {
    match &parse_name(text)?[..] {
        [name] if *name == context.session.user => Some(crate::pg_catalog::OWNER),
        _ => None,
    }
}

fn role_name(context: &SystemContext, oid: u32) -> Option<String> {
    (oid == crate::pg_catalog::OWNER).then(|| ObjectName::quote(&context.session.user))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_folded_and_unquoted() {
        assert_eq!(
            parse_name(" Public . \"My \"\"T\"").unwrap(),
            ["public", "My \"T"]
        );
        assert_eq!(parse_name("t").unwrap(), ["t"]);
        for bad in ["", ".", "a.", "\"a", "a b", "\"\""] {
            assert_eq!(parse_name(bad), None, "{bad}");
        }
    }
}
