//! `x = ANY (array)`, `x < ALL (array)` and their like, in the three values of SQL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, BooleanBuilder, UInt32Array, new_null_array};
use arrow::compute::kernels::{cmp, comparison};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field};
use datafusion::common::{ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility, in_list, lit,
};
use sqlparser::ast::BinaryOperator;

/// How a value and an element are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Comparison {
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
    Like,
    NotLike,
}

const COMPARISONS: [(Comparison, &str, &str); 8] = [
    (Comparison::Eq, "any_eq", "all_eq"),
    (Comparison::NotEq, "any_ne", "all_ne"),
    (Comparison::Lt, "any_lt", "all_lt"),
    (Comparison::LtEq, "any_le", "all_le"),
    (Comparison::Gt, "any_gt", "all_gt"),
    (Comparison::GtEq, "any_ge", "all_ge"),
    (Comparison::Like, "any_like", "all_like"),
    (Comparison::NotLike, "any_not_like", "all_not_like"),
];

/// A value and an array to a boolean. The planner calls it; its names are not for users.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ArrayCompare {
    comparison: Comparison,
    /// ALL rather than ANY.
    all: bool,
    signature: Signature,
}

impl ArrayCompare {
    /// One for each operator and quantifier.
    pub fn functions() -> impl Iterator<Item = Self> {
        COMPARISONS
            .into_iter()
            .flat_map(|(comparison, ..)| [false, true].map(|all| (comparison, all)))
            .map(|(comparison, all)| Self {
                comparison,
                all,
                signature: Signature::user_defined(Volatility::Immutable),
            })
    }

    /// The function for an operator, if it has one.
    pub fn name_for(op: &BinaryOperator, all: bool) -> Option<&'static str> {
        let wanted = match op {
            BinaryOperator::Eq => Comparison::Eq,
            BinaryOperator::NotEq => Comparison::NotEq,
            BinaryOperator::Lt => Comparison::Lt,
            BinaryOperator::LtEq => Comparison::LtEq,
            BinaryOperator::Gt => Comparison::Gt,
            BinaryOperator::GtEq => Comparison::GtEq,
            BinaryOperator::PGLikeMatch => Comparison::Like,
            BinaryOperator::PGNotLikeMatch => Comparison::NotLike,
            _ => return None,
        };
        let found = COMPARISONS.iter().find(|(comparison, ..)| *comparison == wanted);
        found.map(|(_, any, every)| if all { *every } else { *any })
    }

    /// Whether a function is one of these.
    pub fn is(name: &str) -> bool {
        COMPARISONS
            .iter()
            .any(|(_, any, all)| *any == name || *all == name)
    }
}

impl ScalarUDFImpl for ArrayCompare {
    fn name(&self) -> &str {
        let found = COMPARISONS.iter().find(|(c, ..)| *c == self.comparison);
        found.map_or("", |(_, any, all)| if self.all { all } else { any })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let [value, array] = arguments else {
            return plan_err!("ANY and ALL compare a value with an array");
        };
        let element = match array {
            DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
                field.data_type().clone()
            }
            DataType::Null => value.clone(),
            _ => return plan_err!("op ANY/ALL (array) requires array on right side"),
        };
        let common = match (value, &element) {
            (DataType::Null, DataType::Null) => Some(DataType::Utf8),
            (DataType::Null, other) | (other, DataType::Null) => Some(other.clone()),
            (left, right) if left == right => Some(left.clone()),
            (left, right) => comparison_coercion(left, right),
        };
        let Some(common) = common else {
            return plan_err!("operator does not exist: {value} = {element}");
        };
        let list = DataType::List(Arc::new(Field::new_list_field(common.clone(), true)));
        Ok(vec![common, list])
    }

    /// A constant array is a list of values, for which there are faster ways.
    fn simplify(&self, mut args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let negated = match (self.comparison, self.all) {
            (Comparison::Eq, false) => false,
            (Comparison::NotEq, true) => true,
            _ => return Ok(ExprSimplifyResult::Original(args)),
        };
        let elements = match args.get(1) {
            Some(Expr::Literal(ScalarValue::List(list), _)) if list.len() == 1 && list.is_valid(0) => {
                let values = list.value(0);
                (0..values.len())
                    .map(|i| ScalarValue::try_from_array(&values, i).map(lit))
                    .collect::<Result<Vec<_>>>()?
            }
            _ => return Ok(ExprSimplifyResult::Original(args)),
        };
        let value = args.swap_remove(0);
        Ok(ExprSimplifyResult::Simplified(match elements.is_empty() {
            true => lit(negated),
            false => in_list(value, elements, negated),
        }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [value, lists] = arrays.as_slice() else {
            return exec_err!("ANY and ALL compare a value with an array");
        };
        let Some(lists) = lists.as_list_opt::<i32>() else {
            return Ok(ColumnarValue::Array(new_null_array(
                &DataType::Boolean,
                value.len(),
            )));
        };
        let (mut rows, mut elements) = (Vec::new(), Vec::new());
        for row in 0..lists.len() {
            if lists.is_valid(row) {
                let (start, end) = (lists.value_offsets()[row], lists.value_offsets()[row + 1]);
                for element in start..end {
                    rows.push(row as u32);
                    elements.push(element as u32);
                }
            }
        }
        let left = take(value, &UInt32Array::from(rows), None)?;
        let right = take(lists.values(), &UInt32Array::from(elements), None)?;
        let compared = self.compare(&left, &right)?;
        let mut results = BooleanBuilder::with_capacity(lists.len());
        let mut next = 0;
        for row in 0..lists.len() {
            if lists.is_null(row) {
                results.append_null();
                continue;
            }
            let length = lists.value_length(row) as usize;
            results.append_option(self.quantify(&compared.slice(next, length)));
            next += length;
        }
        Ok(ColumnarValue::Array(Arc::new(results.finish())))
    }
}

impl ArrayCompare {
    fn compare(&self, left: &ArrayRef, right: &ArrayRef) -> Result<BooleanArray> {
        Ok(match self.comparison {
            Comparison::Eq => cmp::eq(left, right)?,
            Comparison::NotEq => cmp::neq(left, right)?,
            Comparison::Lt => cmp::lt(left, right)?,
            Comparison::LtEq => cmp::lt_eq(left, right)?,
            Comparison::Gt => cmp::gt(left, right)?,
            Comparison::GtEq => cmp::gt_eq(left, right)?,
            Comparison::Like => comparison::like(left, right)?,
            Comparison::NotLike => comparison::nlike(left, right)?,
        })
    }

    /// The result for one array: what decides, else unknown where something is, else the other.
    fn quantify(&self, compared: &BooleanArray) -> Option<bool> {
        let decides = !self.all;
        if compared.iter().any(|result| result == Some(decides)) {
            Some(decides)
        } else if compared.null_count() > 0 {
            None
        } else {
            Some(!decides)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_elements_leave_the_result_open() {
        let quantify = |all: bool, compared: &[Option<bool>]| {
            let function = ArrayCompare::functions().find(|f| f.all == all).unwrap();
            function.quantify(&BooleanArray::from(compared.to_vec()))
        };
        assert_eq!(quantify(false, &[]), Some(false));
        assert_eq!(quantify(true, &[]), Some(true));
        assert_eq!(quantify(false, &[Some(false), None]), None);
        assert_eq!(quantify(false, &[Some(true), None]), Some(true));
        assert_eq!(quantify(true, &[Some(true), None]), None);
        assert_eq!(quantify(true, &[Some(false), None]), Some(false));
    }
}
