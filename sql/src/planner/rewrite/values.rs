//! Columns of VALUES whose rows are written with different types.
//!
//! The library asks for one type per column, named alike in every row. Postgres finds a common one: a literal takes the type
//! that another row is cast to, and of numeric types the widest wins.

use sqlparser::ast::{CastKind, DataType, ExactNumberInfo, Expr, SetExpr, UnaryOperator, Value};

/// What is known of a cell without planning it.
#[derive(Debug, Clone, PartialEq)]
enum Known {
    /// A string or NULL, which takes any type.
    Untyped,
    Number,
    Cast(DataType),
    Other,
}

/// Casts cells to the common type of their columns.
pub fn align(body: &mut SetExpr) {
    match body {
        SetExpr::Values(values) if values.rows.len() > 1 => {
            let width = values.rows.iter().map(|row| row.content.len()).min().unwrap_or(0);
            for column in 0..width {
                let cells = values.rows.iter().map(|row| known(&row.content[column]));
                let Some(common) = common(cells.collect()) else {
                    continue;
                };
                for row in &mut values.rows {
                    cast_to(&mut row.content[column], &common);
                }
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            align(left);
            align(right);
        }
        _ => {}
    }
}

fn known(cell: &Expr) -> Known {
    match cell {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(_) | Value::EscapedStringLiteral(_) | Value::Null => Known::Untyped,
            Value::Number(..) => Known::Number,
            _ => Known::Other,
        },
        Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        }
        | Expr::Nested(expr) => match known(expr) {
            Known::Untyped => Known::Other,
            inner => inner,
        },
        Expr::Cast {
            data_type,
            kind: CastKind::Cast | CastKind::DoubleColon,
            ..
        } => Known::Cast(data_type.clone()),
        _ => Known::Other,
    }
}

/// The type to cast to; `None` where the library finds it, or where it cannot be told from the text.
fn common(cells: Vec<Known>) -> Option<DataType> {
    if cells.contains(&Known::Other) {
        return None;
    }
    let mut found: Option<DataType> = None;
    for cell in &cells {
        let Known::Cast(data_type) = cell else { continue };
        found = Some(match found {
            None => data_type.clone(),
            Some(before) if before == *data_type => before,
            Some(before) => wider(before, data_type)?,
        });
    }
    let found = found?;
    if cells.iter().all(|cell| *cell == Known::Cast(found.clone())) {
        return None;
    }
    let with_number = cells.contains(&Known::Number);
    match (rank(&found), with_number) {
        // Whether the number fits an integer is the library's to find out.
        (Some(0..=2), true) | (None, true) => None,
        _ => Some(found),
    }
}

/// The place of a numeric type among those that it is cast to.
fn rank(data_type: &DataType) -> Option<u8> {
    Some(match data_type {
        DataType::SmallInt(_) | DataType::Int2(_) => 0,
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) => 1,
        DataType::BigInt(_) | DataType::Int8(_) => 2,
        DataType::Numeric(_) | DataType::Decimal(_) | DataType::Dec(_) => 3,
        DataType::Real | DataType::Float4 => 4,
        DataType::Float8 | DataType::Double(_) | DataType::DoublePrecision | DataType::Float(_) => 5,
        _ => return None,
    })
}

fn wider(left: DataType, right: &DataType) -> Option<DataType> {
    let (left_rank, right_rank) = (rank(&left)?, rank(right)?);
    Some(match (left_rank, right_rank) {
        // numeric(5,1) and numeric(7,3) are both numeric.
        (3, 3) => DataType::Numeric(ExactNumberInfo::None),
        _ if left_rank >= right_rank => left,
        _ => right.clone(),
    })
}

fn cast_to(cell: &mut Expr, data_type: &DataType) {
    if known(cell) == Known::Cast(data_type.clone()) {
        return;
    }
    let inner = std::mem::replace(cell, Expr::Value(Value::Null.into()));
    *cell = super::postgres::cast(inner, data_type.clone());
}
