//! Sizes of relations, and numbers of bytes as people read them.

use datafusion::error::Result;
use millpond_sql::ErrorKind;

use super::definition::{Definition, strict};
use super::describe::relation_of;
use super::identifier::undefined;
use crate::pg_catalog::{SystemContext, Value};

pub const DEFINITIONS: &[Definition] = &[
    strict("pg_relation_size", "regclass", "int8", relation_size),
    strict("pg_relation_size", "regclass, text", "int8", relation_size),
    strict("pg_table_size", "regclass", "int8", relation_size),
    strict("pg_total_relation_size", "regclass", "int8", relation_size),
    strict("pg_indexes_size", "regclass", "int8", |_, _| Ok(0.into())),
    strict("pg_database_size", "any", "int8", all_relations),
    strict("pg_tablespace_size", "any", "int8", all_relations),
    strict("pg_tablespace_location", "oid", "text", |_, _| Ok("".into())),
    strict("pg_relation_filenode", "regclass", "oid", |_, _| Ok(Value::Null)),
    strict("pg_relation_filepath", "regclass", "text", |_, _| Ok(Value::Null)),
    strict("pg_size_pretty", "int8", "text", pretty),
    strict("pg_size_pretty", "float8", "text", pretty),
    strict("pg_size_bytes", "text", "int8", bytes),
];

/// Bytes of the log of a table or view; a source keeps nothing here.
fn relation_size(context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let object = relation_of(context, &arguments[0]);
    Ok(object
        .map_or(0, |object| crate::pg_catalog::relation_bytes(context, object.id))
        .into())
}

fn all_relations(context: &SystemContext, _arguments: &[Value]) -> Result<Value> {
    let sizes = context
        .catalog
        .relations()
        .map(|object| crate::pg_catalog::relation_bytes(context, object.id));
    Ok(sizes.sum::<u64>().into())
}

/// Units of which each is 1024 of the one before.
const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];

/// A unit is used up to 10239 of it, and the next one's count is rounded half away from zero, as Postgres does.
fn pretty(_context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let Some(size) = arguments[0].float().filter(|size| size.is_finite()) else {
        return Ok(Value::Null);
    };
    let (mut count, mut unit) = (size, 0);
    while count.abs().round() >= 10240.0 && unit + 1 < UNITS.len() {
        count /= 1024.0;
        unit += 1;
    }
    Ok(format!("{} {}", count.round(), UNITS[unit]).into())
}

fn bytes(_context: &SystemContext, arguments: &[Value]) -> Result<Value> {
    let text = arguments[0].text().unwrap_or_default();
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(trimmed.len());
    let (number, unit) = (trimmed[..split].trim(), trimmed[split..].trim());
    let power = match unit {
        "" => Some(0),
        _ => UNITS
            .iter()
            .position(|u| u.eq_ignore_ascii_case(unit))
            .and_then(|p| i32::try_from(p).ok()),
    };
    match (number.parse::<f64>(), power) {
        (Ok(number), Some(power)) if number.is_finite() => {
            Ok(Value::Int((number * 1024_f64.powi(power)).round() as i64))
        }
        _ => Err(undefined(
            ErrorKind::InvalidParameterValue,
            format!("invalid size: \"{text}\""),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_printed_as_postgres_does() {
        let context = crate::pg_catalog::tests::context();
        for (bytes, text) in [
            (0, "0 bytes"),
            (10239, "10239 bytes"),
            (10240, "10 kB"),
            (10_485_247, "10239 kB"),
            (10_485_248, "10 MB"),
            (-123_456_789, "-118 MB"),
            (i64::MAX, "8192 PB"),
        ] {
            assert_eq!(
                pretty(&context, &[bytes.into()]).unwrap(),
                Value::from(text),
                "{bytes}"
            );
        }
        assert_eq!(super::bytes(&context, &["1.5 kB".into()]).unwrap(), 1536.into());
        assert!(super::bytes(&context, &["many".into()]).is_err());
    }
}
