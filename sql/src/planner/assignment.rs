//! Values on their way into columns: what Postgres assigns without being told to, defaults, and literals without a type.

use arrow::datatypes::DataType as ArrowType;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan};
use millpond_catalog::{Column, Object, SqlType};
use sqlparser::ast::{self, Value};
use sqlparser::parser::Parser;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::OutputColumn;

use super::{literal, names};

/// Refuses values of types that Postgres would not assign.
pub fn check_types(columns: &[OutputColumn], targets: &[usize], object: &Object) -> Result<()> {
    for (column, target) in columns.iter().zip(targets) {
        let Column { name, sql_type, .. } = &object.columns[*target];
        if !assignable(&column.sql_type, sql_type) {
            let from = &column.sql_type;
            let message = format!("column \"{name}\" is of type {sql_type} but expression is of type {from}");
            return Err(Error::new(ErrorKind::TypeMismatch, message)
                .with_hint("You will need to rewrite or cast the expression."));
        }
    }
    Ok(())
}

/// A literal or parameter without a type of its own.
pub fn is_untyped(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Value(value) => matches!(
            value.value,
            Value::SingleQuotedString(_)
                | Value::EscapedStringLiteral(_)
                | Value::Placeholder(_)
                | Value::Null
        ),
        ast::Expr::Nested(inner) => is_untyped(inner),
        _ => false,
    }
}

/// Gives a literal the type of its column, and `DEFAULT` its meaning.
pub fn cast_cell(cell: &mut ast::Expr, column: &Column) -> Result<()> {
    if matches!(&*cell, ast::Expr::Identifier(ident) if ident.quote_style.is_none() && names::fold(ident) == "default")
    {
        *cell = default_of(column)?;
    }
    if column.sql_type == SqlType::Uuid
        && let ast::Expr::Value(value) = cell
        && let Value::SingleQuotedString(text) = &mut value.value
    {
        *text = literal::uuid(text)?;
    }
    if matches!(column.sql_type, SqlType::Json | SqlType::Jsonb)
        && let ast::Expr::Value(value) = cell
        && let Value::SingleQuotedString(text) = &value.value
    {
        literal::check_json(text, &column.sql_type)?;
    }
    let untyped = is_untyped(cell);
    // A cell that has a type is assigned, not cast: its type is checked when the plan is known.
    if untyped
        || matches!(cell, ast::Expr::Value(value) if matches!(value.value, Value::Number(..)))
            && column.sql_type.is_number()
        || matches!(cell, ast::Expr::UnaryOp { .. }) && column.sql_type.is_number()
    {
        let inner = std::mem::replace(cell, ast::Expr::Value(Value::Null.into()));
        *cell = ast::Expr::Cast {
            kind: ast::CastKind::Cast,
            expr: Box::new(inner),
            data_type: data_type(&column.sql_type)?,
            array: false,
            format: None,
        };
    }
    Ok(())
}

fn data_type(sql_type: &SqlType) -> Result<ast::DataType> {
    // Lengths are checked when the rows are there; a cast would cut.
    let name = match sql_type {
        SqlType::Varchar(_) => "text".to_owned(),
        other => other.to_string(),
    };
    let dialect = sqlparser::dialect::PostgreSqlDialect {};
    let parsed = Parser::new(&dialect)
        .try_with_sql(&name)
        .and_then(|mut p| p.parse_data_type());
    parsed.map_err(|_| Error::unsupported(format!("literals of type {name} are not supported in INSERT")))
}

/// The default as an expression, NULL without one.
pub fn default_of(column: &Column) -> Result<ast::Expr> {
    let text = column.default.as_deref().unwrap_or("NULL");
    let dialect = sqlparser::dialect::PostgreSqlDialect {};
    let parsed = Parser::new(&dialect)
        .try_with_sql(text)
        .and_then(|mut p| p.parse_expr());
    let mut expr = parsed.map_err(|e| {
        Error::new(
            ErrorKind::Internal,
            format!("the default of {}: {e}", column.name),
        )
    })?;
    if is_untyped(&expr) {
        expr = ast::Expr::Cast {
            kind: ast::CastKind::Cast,
            expr: Box::new(expr),
            data_type: data_type(&column.sql_type)?,
            array: false,
            format: None,
        };
    }
    Ok(expr)
}

/// Whether Postgres would assign a value of one type to a column of another without being told to.
fn assignable(from: &SqlType, to: &SqlType) -> bool {
    let is_text = |t: &SqlType| matches!(t, SqlType::Text | SqlType::Varchar(_));
    from == to
        || (from.is_number() && to.is_number())
        || (is_text(to) && !matches!(from, SqlType::Bytea))
        // Literals of these types are planned as text.
        || (is_text(from) && matches!(to, SqlType::Uuid | SqlType::Json | SqlType::Jsonb))
        || match (from, to) {
            (SqlType::Date | SqlType::Timestamp | SqlType::TimestampTz, t) => {
                matches!(t, SqlType::Date | SqlType::Timestamp | SqlType::TimestampTz)
                    || (*t == SqlType::Time && *from != SqlType::Date)
            }
            (SqlType::Json | SqlType::Jsonb, SqlType::Json | SqlType::Jsonb)
            | (SqlType::Time, SqlType::Interval)
            | (SqlType::Interval, SqlType::Time) => true,
            (SqlType::Array(from), SqlType::Array(to)) => assignable(from, to),
            (SqlType::Struct(from), SqlType::Struct(to)) => {
                from.len() == to.len() && from.iter().zip(to).all(|((_, f), (_, t))| assignable(f, t))
            }
            _ => false,
        }
}

/// A value of another type, as an assignment.
pub fn assign(expr: Expr, plan: &LogicalPlan, column: &Column) -> Result<Expr> {
    let target = column.sql_type.arrow();
    let from = expr.get_type(plan.schema()).unwrap_or(ArrowType::Null);
    Ok(if from == target {
        expr
    } else {
        Expr::Cast(Cast::new(Box::new(expr), target))
    })
}
