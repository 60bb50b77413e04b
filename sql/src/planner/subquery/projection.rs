//! Subqueries outside of conditions.
//!
//! The library makes a join of an EXISTS only where it stands in a condition. So the expressions of a SELECT list with an
//! EXISTS are made part of one condition that is no top-level EXISTS itself, the library's rule joins what it needs, and
//! the expressions are taken out again.
//!
//! Subqueries in the arguments of aggregates or in GROUP BY become columns of a SELECT list below.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, Expr, Filter, LogicalPlan, Projection, lit};
use datafusion::optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

#[derive(Debug, Default)]
pub struct ExistsInProjection {
    rule: DecorrelatePredicateSubquery,
}

impl OptimizerRule for ExistsInProjection {
    fn name(&self) -> &str {
        "exists_in_projection"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let has_exists = super::has_expression(&plan, |expr| {
            matches!(expr, Expr::Exists(_) | Expr::InSubquery(_))
        })?;
        let projection = match plan {
            LogicalPlan::Projection(projection) if has_exists => projection,
            plan => return Ok(Transformed::no(plan)),
        };
        let condition = gathered(&projection.expr)?;
        let filter = Filter::try_new(condition, Arc::clone(&projection.input))?;
        let joined = self.rule.rewrite(LogicalPlan::Filter(filter), config)?.data;
        let Some((exprs, input)) = taken_out(joined) else {
            return Ok(Transformed::no(LogicalPlan::Projection(projection)));
        };
        let names = NamePreserver::new_for_projection();
        let before = projection.expr.iter().map(|expr| names.save(expr));
        let exprs = exprs
            .into_iter()
            .zip(before)
            .map(|(expr, name)| name.restore(expr));
        let projection = Projection::try_new(exprs.collect(), input)?;
        Ok(Transformed::yes(LogicalPlan::Projection(projection)))
    }
}

#[derive(Debug, Default)]
pub struct SubqueriesBelowAggregate;

impl OptimizerRule for SubqueriesBelowAggregate {
    fn name(&self) -> &str {
        "subqueries_below_aggregate"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let is_subquery = |expr: &Expr| {
            matches!(
                expr,
                Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_)
            )
        };
        let has_subquery = super::has_expression(&plan, is_subquery)?;
        let names = NamePreserver::new(&plan);
        let aggregate = match plan {
            LogicalPlan::Aggregate(aggregate) if has_subquery => aggregate,
            plan => return Ok(Transformed::no(plan)),
        };
        let columns = aggregate.input.schema().columns();
        let mut below: Vec<Expr> = columns.into_iter().map(Expr::Column).collect();
        let mut replaced = |expr: Expr| {
            let name = names.save(&expr);
            let expr = expr.transform_down(|expr| {
                if !is_subquery(&expr) {
                    return Ok(Transformed::no(expr));
                }
                let name = config.alias_generator().next("__subquery");
                below.push(expr.alias(name.clone()));
                let column = Expr::Column(Column::new_unqualified(name));
                Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
            })?;
            Ok(name.restore(expr.data))
        };
        let groups = aggregate.group_expr.into_iter().map(&mut replaced);
        let groups = groups.collect::<Result<Vec<_>>>()?;
        let calls = aggregate.aggr_expr.into_iter().map(&mut replaced);
        let calls = calls.collect::<Result<Vec<_>>>()?;
        let input = LogicalPlan::Projection(Projection::try_new(below, aggregate.input)?);
        let aggregate = Aggregate::try_new(Arc::new(input), groups, calls)?;
        Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
    }
}

/// `named_struct('0', a, '1', b, ..) IS NOT NULL`
fn gathered(exprs: &[Expr]) -> Result<Expr> {
    let arguments = exprs
        .iter()
        .enumerate()
        .flat_map(|(i, expr)| [lit(i.to_string()), expr.clone().unalias()]);
    let gathered = datafusion::functions::core::named_struct().call(arguments.collect());
    Ok(Expr::IsNotNull(Box::new(gathered)))
}

/// The expressions of [`gathered`] in a plan whose rows have been joined with what they need, and that plan.
fn taken_out(plan: LogicalPlan) -> Option<(Vec<Expr>, Arc<LogicalPlan>)> {
    let LogicalPlan::Projection(projection) = plan else {
        return None;
    };
    let LogicalPlan::Filter(Filter { predicate, input, .. }) = projection.input.as_ref().clone() else {
        return None;
    };
    let Expr::IsNotNull(gathered) = predicate else {
        return None;
    };
    let Expr::ScalarFunction(ScalarFunction { args, .. }) = *gathered else {
        return None;
    };
    Some((args.into_iter().skip(1).step_by(2).collect(), input))
}
