//! From the comparisons of a filter to the range of an index that holds every row that passes.

use arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use millpond_storage::{Bound, KeyRange};

/// `column operator value`.
struct Comparison<'a> {
    column: usize,
    operator: Operator,
    value: &'a ScalarValue,
}

/// An index could help with the filter.
pub(super) fn is_comparison(filter: &Expr, schema: &Schema) -> bool {
    comparison(filter, schema).is_some()
}

/// The range of the index that most of the filters' columns lead into; of equally good ones the first.
///
/// `orders` are the columns of each index.
pub(super) fn choose(filters: &[Expr], schema: &Schema, orders: &[Vec<usize>]) -> Result<Option<KeyRange>> {
    let comparisons: Vec<_> = filters
        .iter()
        .filter_map(|filter| comparison(filter, schema))
        .collect();
    let mut best: Option<(usize, KeyRange)> = None;
    for columns in orders {
        let range = range(&comparisons, columns)?;
        // An equality leaves fewer rows than a bound does.
        let worth =
            4 * range.equal.len() + usize::from(range.lower.is_some()) + usize::from(range.upper.is_some());
        if worth > best.as_ref().map_or(0, |(worth, _)| *worth) {
            best = Some((worth, range));
        }
    }
    Ok(best.map(|(_, range)| range))
}

fn range(comparisons: &[Comparison<'_>], columns: &[usize]) -> Result<KeyRange> {
    let find = |column: usize, wanted: &[Operator]| {
        let mut found = comparisons.iter().filter(|c| c.column == column);
        found.find(|c| wanted.contains(&c.operator))
    };
    let mut range = KeyRange {
        columns: columns.to_vec(),
        equal: Vec::new(),
        lower: None,
        upper: None,
    };
    for column in columns {
        if let Some(equal) = find(*column, &[Operator::Eq]) {
            range.equal.push(equal.value.to_array()?);
            continue;
        }
        let bound = |found: Option<&Comparison<'_>>, inclusive: Operator| {
            found
                .map(|comparison| -> Result<Bound> {
                    Ok(Bound {
                        value: comparison.value.to_array()?,
                        inclusive: comparison.operator == inclusive,
                    })
                })
                .transpose()
        };
        range.lower = bound(find(*column, &[Operator::Gt, Operator::GtEq]), Operator::GtEq)?;
        range.upper = bound(find(*column, &[Operator::Lt, Operator::LtEq]), Operator::LtEq)?;
        break;
    }
    Ok(range)
}

fn comparison<'a>(filter: &'a Expr, schema: &Schema) -> Option<Comparison<'a>> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = filter else {
        return None;
    };
    let (column, operator, value) = match (&**left, &**right) {
        (Expr::Column(column), Expr::Literal(value, _)) => (column, *op, value),
        (Expr::Literal(value, _), Expr::Column(column)) => (column, op.swap()?, value),
        _ => return None,
    };
    let is_order = matches!(
        operator,
        Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
    );
    let column = schema.index_of(&column.name).ok()?;
    let data_type = schema.field(column).data_type();
    let usable =
        is_order && has_plain_order(data_type) && value.data_type() == *data_type && !value.is_null();
    usable.then_some(Comparison {
        column,
        operator,
        value,
    })
}

/// Values compare as their sorted form does. Floating point numbers, whose zeros and NaNs are several, do not.
fn has_plain_order(data_type: &DataType) -> bool {
    data_type.is_integer()
        || matches!(
            data_type,
            DataType::Boolean
                | DataType::Utf8
                | DataType::Date32
                | DataType::Timestamp(..)
                | DataType::Decimal128(..)
        )
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Field;
    use datafusion::logical_expr::{col, lit};

    use super::*;

    #[test]
    fn the_index_with_the_longest_beginning_is_chosen() {
        let schema = Schema::new(vec![
            Field::new("a", DataType::Int64, true),
            Field::new("b", DataType::Utf8, true),
            Field::new("c", DataType::Float64, true),
        ]);
        let orders = [vec![1], vec![0, 1], vec![2]];
        let chosen = |filters: &[Expr]| {
            let range = choose(filters, &schema, &orders).unwrap()?;
            let sides = (range.lower.is_some(), range.upper.is_some());
            Some((range.columns, range.equal.len(), sides))
        };
        let (a, b) = (col("a").eq(lit(1_i64)), col("b").eq(lit("x")));
        assert_eq!(
            chosen(std::slice::from_ref(&b)),
            Some((vec![1], 1, (false, false)))
        );
        assert_eq!(
            chosen(&[b.clone(), a.clone()]),
            Some((vec![0, 1], 2, (false, false)))
        );
        let between = [col("b").gt_eq(lit("m")), lit("n").gt(col("b"))];
        assert_eq!(chosen(&between), Some((vec![1], 0, (true, true))));
        let both = [a, between[0].clone()];
        assert_eq!(chosen(&both), Some((vec![0, 1], 1, (true, false))));
        // Another type, no order of its own, no column of an index: the rows are looked through.
        for filter in [
            col("a").eq(lit(1_i32)),
            col("c").eq(lit(1.0)),
            col("a").not_eq(lit(1_i64)),
            col("a").eq(col("a")),
        ] {
            assert_eq!(chosen(&[filter]), None);
        }
    }
}
