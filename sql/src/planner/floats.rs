//! Floats fail as Postgres' do: [`FloatChecked`] in place of the library's operators and functions.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan};

use crate::function::{FloatChecked, FloatOperation};

use super::typed::change_expressions;

/// `plan` has settled types.
pub fn check(plan: LogicalPlan) -> Result<LogicalPlan> {
    change_expressions(plan, |expr, schema| {
        Ok(match replaced(&expr, schema) {
            Some(checked) => Transformed::yes(checked),
            None => Transformed::no(expr),
        })
    })
}

fn replaced(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (operation, operands) = match expr {
        Expr::BinaryExpr(binary) => (
            FloatOperation::of_operator(binary.op)?,
            vec![binary.left.as_ref().clone(), binary.right.as_ref().clone()],
        ),
        Expr::ScalarFunction(function) => (
            FloatOperation::of_function(function.func.name(), function.args.len())?,
            // The library has some of them for numerics, too, with other limits.
            function
                .args
                .iter()
                .map(|value| as_double(value, schema))
                .collect(),
        ),
        _ => return None,
    };
    let types: Option<Vec<DataType>> = operands
        .iter()
        .map(|operand| operand.get_type(schema).ok())
        .collect();
    let fits = match (expr, types?.as_slice()) {
        (Expr::BinaryExpr(_), [left, right]) => left == right && left.is_floating(),
        (_, types) => types.iter().all(|data_type| *data_type == DataType::Float64),
    };
    fits.then(|| FloatChecked::of(operation, operands))
}

fn as_double(value: &Expr, schema: &DFSchema) -> Expr {
    match value.get_type(schema) {
        Ok(data_type) if data_type.is_decimal() => {
            Expr::Cast(Cast::new(Box::new(value.clone()), DataType::Float64))
        }
        _ => value.clone(),
    }
}
