//! Floats fail as Postgres' do: [`FloatChecked`] in place of the library's operators and functions.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};

use crate::function::{FloatChecked, FloatOperation};

/// `plan` has settled types.
pub fn check(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| {
        let names = NamePreserver::new(&node);
        let schema = merge_schema(&node.inputs());
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let checked = expr.transform_up(|expr| {
                Ok(match replaced(&expr, &schema) {
                    Some(checked) => Transformed::yes(checked),
                    None => Transformed::no(expr),
                })
            })?;
            Ok(checked.update_data(|expr| name.restore(expr)))
        })
    })
    .map(|transformed| transformed.data)
}

fn replaced(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (operation, operands) = match expr {
        Expr::BinaryExpr(binary) => (
            FloatOperation::of_operator(binary.op)?,
            vec![binary.left.as_ref().clone(), binary.right.as_ref().clone()],
        ),
        Expr::ScalarFunction(function) => (
            FloatOperation::of_function(function.func.name(), function.args.len())?,
            function.args.clone(),
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
