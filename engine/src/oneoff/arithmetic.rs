//! Integer arithmetic that fails instead of wrapping around, as Postgres' does.
//!
//! Streaming views ask DataFusion's expressions for that when they are built. The planner of one-off queries has no such
//! switch, so there the operators become functions once the plan is optimised.

use std::sync::Arc;

use arrow::array::Datum;
use arrow::compute::kernels::numeric::{add, mul, sub};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

/// The plan with checked integer arithmetic.
pub(super) fn checked(plan: LogicalPlan) -> Result<LogicalPlan> {
    let checked = plan.transform_up_with_subqueries(|plan| {
        let mut schema = merge_schema(&plan.inputs());
        if plan.inputs().is_empty() {
            schema.merge(plan.schema());
        }
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let checked = expr.transform_up(|expr| checked_expr(expr, &schema))?;
            Ok(checked.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(checked.data)
}

fn checked_expr(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let expr = match expr {
        // -x is 0 - x, which overflows at the same value.
        Expr::Negative(inner) => match inner.get_type(schema).map(|t| ScalarValue::new_zero(&t)) {
            Ok(Ok(zero)) if name_of(&zero.data_type()).is_some() => Expr::BinaryExpr(BinaryExpr {
                left: Box::new(Expr::Literal(zero, None)),
                op: Operator::Minus,
                right: inner,
            }),
            _ => return Ok(Transformed::no(Expr::Negative(inner))),
        },
        other => other,
    };
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: op @ (Operator::Plus | Operator::Minus | Operator::Multiply),
        right,
    }) = expr
    else {
        return Ok(Transformed::no(expr));
    };
    // A column of an outer query has no type here; its arithmetic is left as it is.
    let types = (left.get_type(schema), right.get_type(schema));
    match types {
        (Ok(left_type), Ok(right_type)) if left_type == right_type && name_of(&left_type).is_some() => {
            let function = ScalarUDF::new_from_impl(Checked {
                op,
                signature: Signature::any(2, Volatility::Immutable),
            });
            Ok(Transformed::yes(Arc::new(function).call(vec![*left, *right])))
        }
        _ => Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))),
    }
}

/// Postgres' name of an integer type.
fn name_of(data_type: &DataType) -> Option<&'static str> {
    match data_type {
        DataType::Int16 => Some("smallint"),
        DataType::Int32 => Some("integer"),
        DataType::Int64 => Some("bigint"),
        _ => None,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    op: Operator,
    signature: Signature,
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.op {
            Operator::Plus => "checked_add",
            Operator::Minus => "checked_subtract",
            _ => "checked_multiply",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = args.args.as_slice() else {
            return internal_err!("{} has two arguments", self.name());
        };
        let calculate = match self.op {
            Operator::Plus => add,
            Operator::Minus => sub,
            _ => mul,
        };
        let result =
            calculate(datum(left)?.as_ref(), datum(right)?.as_ref()).map_err(|error| match error {
                ArrowError::ArithmeticOverflow(_) => {
                    let name = name_of(args.return_field.data_type()).unwrap_or("value");
                    DataFusionError::from(ArrowError::ArithmeticOverflow(format!("{name} out of range")))
                }
                other => other.into(),
            })?;
        match (left, right) {
            (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)) => {
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?))
            }
            _ => Ok(ColumnarValue::Array(result)),
        }
    }
}

fn datum(value: &ColumnarValue) -> Result<Box<dyn Datum>> {
    Ok(match value {
        ColumnarValue::Array(array) => Box::new(Arc::clone(array)),
        ColumnarValue::Scalar(scalar) => Box::new(scalar.to_scalar()?),
    })
}
