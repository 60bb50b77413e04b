//! Functions and their parameters.

use millpond_catalog::SqlType;

use super::columns::data_type;
use super::yes_or_no;
use crate::pg_catalog::{FunctionRow, Rows, SystemContext, functions, type_short_name};

/// Tells functions of one name apart.
fn specific_name(function: &FunctionRow) -> String {
    format!("{}_{}", function.name, function.oid)
}

/// The standard's name of a type, and the one in `pg_type`.
fn type_names(oid: u32) -> (Option<String>, Option<String>) {
    let sql_type = SqlType::from_oid(oid);
    (
        sql_type.as_ref().map(data_type),
        sql_type.as_ref().map(type_short_name),
    )
}

pub fn routines(context: &SystemContext, rows: &mut Rows) {
    for function in functions().iter().filter(|f| f.kind == 'f') {
        let (data_type, short_name) = type_names(function.result);
        rows.add([
            ("specific_catalog", (&context.session.database).into()),
            ("specific_schema", function.schema.into()),
            ("specific_name", specific_name(function).into()),
            ("routine_catalog", (&context.session.database).into()),
            ("routine_schema", function.schema.into()),
            ("routine_name", function.name.into()),
            ("routine_type", "FUNCTION".into()),
            ("data_type", data_type.into()),
            ("type_udt_catalog", (&context.session.database).into()),
            ("type_udt_schema", "pg_catalog".into()),
            ("type_udt_name", short_name.into()),
            ("routine_body", "EXTERNAL".into()),
            ("external_name", function.name.into()),
            ("external_language", "INTERNAL".into()),
            ("is_deterministic", yes_or_no(function.volatility == 'i').into()),
            ("sql_data_access", "MODIFIES".into()),
            ("security_type", "INVOKER".into()),
        ]);
    }
}

pub fn parameters(context: &SystemContext, rows: &mut Rows) {
    for function in functions().iter().filter(|f| f.kind == 'f') {
        for (position, argument) in function.arguments.iter().enumerate() {
            let (data_type, short_name) = type_names(*argument);
            rows.add([
                ("specific_catalog", (&context.session.database).into()),
                ("specific_schema", function.schema.into()),
                ("specific_name", specific_name(function).into()),
                ("ordinal_position", (position + 1).into()),
                ("parameter_mode", "IN".into()),
                ("is_result", "NO".into()),
                ("as_locator", "NO".into()),
                ("data_type", data_type.into()),
                ("udt_catalog", (&context.session.database).into()),
                ("udt_schema", "pg_catalog".into()),
                ("udt_name", short_name.into()),
                ("dtd_identifier", (position + 1).to_string().into()),
            ]);
        }
    }
}
