//! UNION as Postgres types it: branches of different kinds are an error, where the library would turn numbers into text.
//!
//! INTERSECT ALL and EXCEPT ALL as Postgres counts them: a row that is m times on the left and n times on the right comes
//! out min(m, n) or max(m - n, 0) times. The library keeps or drops all m of them. So both sides are counted together:
//!
//! ```text
//! unnest of 1..times for each row of
//!   SELECT row, count(left), count(right) FROM (left UNION ALL right) GROUP BY row
//! ```
//!
//! Without ALL the library's join of the distinct left rows is right.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, NullEquality, ScalarValue};
use datafusion::error::{DataFusionError, Result};
use datafusion::functions_nested::range::gen_series_udf;
use datafusion::logical_expr::expr::{AggregateFunction, Alias};
use datafusion::logical_expr::logical_plan::{Distinct, Join, Union};
use datafusion::logical_expr::{AggregateUDF, Cast, Expr, LogicalPlan, LogicalPlanBuilder, col, lit, when};
use millpond_catalog::SqlType;

use super::alternatives;
use super::literal::is_string_literal;

/// Counts the rows of INTERSECT ALL and EXCEPT ALL.
pub fn count_rows(plan: LogicalPlan, count: &Arc<AggregateUDF>) -> Result<LogicalPlan> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= matches!(node, LogicalPlan::Join(join) if is_of_all(join));
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !found {
        return Ok(plan);
    }
    plan.transform_up_with_subqueries(|node| {
        Ok(Transformed::yes(match node {
            LogicalPlan::Join(join) if is_of_all(&join) => counted(join, count)?,
            node => node.recompute_schema()?,
        }))
    })
    .map(|transformed| transformed.data)
}

/// The join that the library makes of a set operation with ALL. At this point no other join is like it.
fn is_of_all(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && !matches!(join.left.as_ref(), LogicalPlan::Distinct(_))
}

fn counted(join: Join, count: &Arc<AggregateUDF>) -> Result<LogicalPlan> {
    let name = |position: usize| format!("__column_{position}");
    let (one, none) = (lit(1_i64), lit(ScalarValue::Int64(None)));
    let marked = |plan: &Arc<LogicalPlan>, keys: Vec<Expr>, marks: [Expr; 2]| {
        let keys = keys.into_iter().enumerate().map(|(i, key)| key.alias(name(i)));
        let [left, right] = marks;
        let marks = [left.alias("__left"), right.alias("__right")];
        LogicalPlanBuilder::from(plan.as_ref().clone()).project(keys.chain(marks))
    };
    let (left_keys, right_keys): (Vec<Expr>, Vec<Expr>) = join.on.into_iter().unzip();
    let width = left_keys.len();
    let left = marked(&join.left, left_keys, [one.clone(), none.clone()])?;
    let right = marked(&join.right, right_keys, [none, one])?;
    let counts = ["__left", "__right"].map(|mark| {
        let count = Arc::clone(count);
        let arguments = vec![col(mark)];
        Expr::AggregateFunction(AggregateFunction::new_udf(
            count,
            arguments,
            false,
            None,
            Vec::new(),
            None,
        ))
    });
    let keys = || (0..width).map(|i| col(name(i)));
    let counted = left.union(right.build()?)?.aggregate(keys(), counts)?;
    let number = |position: usize| {
        let field = counted.schema().qualified_field(width + position);
        Expr::Column(Column::from(field))
    };
    let (m, n) = (number(0), number(1));
    let times = match join.join_type {
        JoinType::LeftSemi => when(m.clone().lt(n.clone()), m).otherwise(n)?,
        _ => m - n,
    };
    let series = gen_series_udf().call(vec![lit(1_i64), col("__times")]);
    let output = join.schema.iter().enumerate().map(|(i, (qualifier, field))| {
        Expr::Alias(Alias::new(col(name(i)), qualifier.cloned(), field.name()))
    });
    counted
        .project(keys().chain([times.alias("__times")]))?
        .filter(col("__times").gt(lit(0_i64)))?
        .project(keys().chain([series.alias("__times")]))?
        .unnest_column("__times")?
        .project(output)?
        .build()
}

/// # Errors
/// Columns of one UNION of which one is text and another is not. A literal without a type fits everywhere.
pub fn check(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Union(union) = node {
            check_union(union).map_err(|error| DataFusionError::External(Box::new(error)))?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Numerics beside floats become floats: the library would make numerics of the floats, which have no NaN.
pub fn align_floats(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::Union(union) = node else {
            return Ok(Transformed::no(node));
        };
        let width = union.schema.fields().len();
        let types = |column: usize| {
            union
                .inputs
                .iter()
                .map(move |i| i.schema().field(column).data_type().clone())
        };
        let wanted = |column: usize| -> Option<DataType> {
            let has = |wanted: &DataType| types(column).any(|t| t == *wanted);
            let float = [DataType::Float64, DataType::Float32].into_iter().find(has)?;
            types(column).any(|t| t.is_decimal()).then_some(float)
        };
        let wanted: Vec<Option<DataType>> = (0..width).map(wanted).collect();
        if wanted.iter().all(Option::is_none) {
            return Ok(Transformed::no(LogicalPlan::Union(union)));
        }
        let mut inputs = Vec::with_capacity(union.inputs.len());
        for input in &union.inputs {
            let columns = input
                .schema()
                .iter()
                .zip(&wanted)
                .map(|((qualifier, field), wanted)| {
                    let column = Expr::Column(Column::from((qualifier, field)));
                    match wanted {
                        Some(wanted) if wanted != field.data_type() => Expr::Alias(Alias::new(
                            Expr::Cast(Cast::new(Box::new(column), wanted.clone())),
                            qualifier.cloned(),
                            field.name(),
                        )),
                        _ => column,
                    }
                });
            let columns: Vec<_> = columns.collect();
            inputs.push(Arc::new(
                LogicalPlanBuilder::from(input.as_ref().clone())
                    .project(columns)?
                    .build()?,
            ));
        }
        Ok(Transformed::yes(LogicalPlan::Union(Union::try_new(inputs)?)))
    })
    .map(|transformed| transformed.data)
}

fn check_union(union: &Union) -> crate::error::Result<()> {
    let queries = queries(union);
    let width = queries.first().map_or(0, |query| query.schema().fields().len());
    for column in 0..width {
        let types: Vec<Option<SqlType>> = queries
            .iter()
            .filter(|query| !is_untyped(query, column))
            .map(|query| {
                query
                    .schema()
                    .fields()
                    .get(column)
                    .map(|field| SqlType::of(field))
            })
            .collect();
        alternatives::common(&types, "UNION")?;
    }
    Ok(())
}

/// The queries of a chain. A UNION within it does not know its types yet: it has those of its first query.
fn queries(union: &Union) -> Vec<&LogicalPlan> {
    let mut found = Vec::new();
    for input in &union.inputs {
        match input.as_ref() {
            LogicalPlan::Union(inner) => found.extend(queries(inner)),
            LogicalPlan::Distinct(Distinct::All(distinct)) => match distinct.as_ref() {
                LogicalPlan::Union(inner) => found.extend(queries(inner)),
                _ => found.push(input),
            },
            _ => found.push(input),
        }
    }
    found
}

/// A string literal or NULL.
fn is_untyped(plan: &LogicalPlan, column: usize) -> bool {
    let is_null = |plan: &LogicalPlan| {
        let field = plan.schema().fields().get(column);
        field.is_some_and(|field| field.data_type().is_null())
    };
    match plan {
        LogicalPlan::Projection(projection) => {
            let literal = projection.expr.get(column).map(|expr| expr.clone().unalias());
            is_null(plan) || literal.is_some_and(|expr| is_string_literal(&expr))
        }
        plan => is_null(plan),
    }
}
