//! Subqueries that stand for a value and may have several rows.
//!
//! Postgres stops the query with an error as soon as there are two. The library does so for a subquery that runs once,
//! and refuses one that depends on the row around it. Here such a subquery becomes the number of its rows and one of the
//! values, and whoever reads it gets the error: a SELECT as a whole, a streaming view for the rows that would use the
//! value, until the subquery has one row again.

use std::sync::{Arc, LazyLock};

use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{AggregateUDF, Expr, LogicalPlan, LogicalPlanBuilder, ScalarUDF, lit};

use crate::function::SingleValue;
use crate::planner::Purpose;
use crate::planner::provider::Provider;
use crate::planner::rewrite::ARRAY_OF_SUBQUERY;

static SINGLE_VALUE: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(SingleValue::default())));

/// Guards the subqueries of `plan` that may have several rows.
pub fn guard(plan: LogicalPlan, purpose: Purpose, provider: &Provider<'_>) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| {
        let needs = |expr: &Expr| matches!(expr, Expr::ScalarSubquery(s) if needs_guard(s, purpose));
        if !super::has_expression(&node, needs)? {
            return Ok(Transformed::no(node));
        }
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_down(|expr| match expr {
                Expr::ScalarSubquery(subquery) if needs_guard(&subquery, purpose) => {
                    let counted = Expr::ScalarSubquery(counted(subquery, provider)?);
                    let guarded = SINGLE_VALUE.call(vec![counted]);
                    Ok(Transformed::new(guarded, true, TreeNodeRecursion::Jump))
                }
                // All rows are wanted.
                Expr::ScalarFunction(call) if call.name() == ARRAY_OF_SUBQUERY => Ok(Transformed::new(
                    Expr::ScalarFunction(call),
                    false,
                    TreeNodeRecursion::Jump,
                )),
                other => Ok(Transformed::no(other)),
            })?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })
    })
    .map(|transformed| transformed.data)
}

fn needs_guard(subquery: &Subquery, purpose: Purpose) -> bool {
    let runs_once = purpose != Purpose::View && subquery.outer_ref_columns.is_empty();
    !runs_once
        && subquery.subquery.schema().fields().len() == 1
        && subquery.subquery.max_rows().is_none_or(|rows| rows > 1)
}

/// The number of rows and the least value, as one row.
fn counted(subquery: Subquery, provider: &Provider<'_>) -> Result<Subquery> {
    let column =
        |plan: &LogicalPlan, position| Expr::Column(Column::from(plan.schema().qualified_field(position)));
    let call = |function: &Arc<AggregateUDF>, argument| {
        let function = Arc::clone(function);
        Expr::AggregateFunction(AggregateFunction::new_udf(
            function,
            vec![argument],
            false,
            None,
            Vec::new(),
            None,
        ))
    };
    let input = unsorted(subquery.subquery.as_ref().clone());
    let name = input.schema().field(0).name().clone();
    let calls = [
        call(&provider.aggregate("count")?, lit(1_i64)),
        call(&provider.aggregate("min")?, column(&input, 0)),
    ];
    let counted = LogicalPlanBuilder::from(input)
        .aggregate(Vec::<Expr>::new(), calls)?
        .build()?;
    let both = datafusion::functions::core::named_struct().call(vec![
        lit("rows"),
        column(&counted, 0),
        lit("value"),
        column(&counted, 1),
    ]);
    let plan = LogicalPlanBuilder::from(counted)
        .project([both.alias(name)])?
        .build()?;
    Ok(Subquery {
        subquery: Arc::new(plan),
        ..subquery
    })
}

/// Without an order that nobody sees.
fn unsorted(plan: LogicalPlan) -> LogicalPlan {
    match plan {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => sort.input.as_ref().clone(),
        other => other,
    }
}
