//! IN and EXISTS in the three values of SQL, in forms that the library's rules for subqueries get right.
//!
//! `x IN (S)` is NULL, not false, where it finds no equal value but there is a NULL to compare with. The library knows
//! this for a NOT IN that is a condition of WHERE of its own and does not depend on the row around it. Elsewhere it is
//! written out here with EXISTS, which has two values:
//!
//! ```text
//! x NOT IN (S) in WHERE   NOT EXISTS (S where c = x) AND NOT EXISTS (S where c IS NULL) AND (x IS NOT NULL OR NOT EXISTS (S))
//! x IN (S) as a value     CASE WHEN EXISTS (S where c = x) THEN true
//!                         WHEN x IS NULL AND EXISTS (S) OR EXISTS (S where c IS NULL) THEN NULL ELSE false END
//! ```
//!
//! An aggregate without GROUP BY has one row even of nothing. Where it depends on the row around it, the library's join
//! would lose that row, so it is read as a value: `x = (S)`, and HAVING says whether it is there.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::utils::{conjunction, merge_schema, split_conjunction_owned};
use datafusion::logical_expr::{
    Expr, ExprSchemable, Filter, LogicalPlan, LogicalPlanBuilder, lit, not, when,
};

use crate::planner::Purpose;

/// Writes out what the library would get wrong; for a view, every NOT IN.
pub fn write_out(plan: LogicalPlan, purpose: Purpose) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| {
        if !super::has_expression(&node, |expr| {
            matches!(
                expr,
                Expr::InSubquery(_) | Expr::Exists(_) | Expr::ScalarSubquery(_)
            )
        })? {
            return Ok(Transformed::no(node));
        }
        let schema = merge_schema(&node.inputs());
        if let LogicalPlan::Filter(Filter { predicate, input, .. }) = node {
            let mut conditions = Vec::new();
            for condition in split_conjunction_owned(predicate) {
                conditions.extend(as_condition(condition, &schema, purpose)?);
            }
            let predicate = conjunction(conditions).unwrap_or_else(|| lit(true));
            return Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(
                predicate, input,
            )?)));
        }
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_up(|expr| as_value(expr, &schema))?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })
    })
    .map(|transformed| transformed.data)
}

/// A condition of WHERE, HAVING or the like, as conditions that hold together.
fn as_condition(condition: Expr, schema: &DFSchema, purpose: Purpose) -> Result<Vec<Expr>> {
    let condition = match condition {
        Expr::Not(inner) => match *inner {
            Expr::InSubquery(InSubquery {
                expr,
                subquery,
                negated,
            }) => Expr::InSubquery(InSubquery::new(expr, subquery, !negated)),
            Expr::Exists(Exists { subquery, negated }) => Expr::Exists(Exists {
                subquery,
                negated: !negated,
            }),
            inner => not(inner),
        },
        condition => condition,
    };
    match condition {
        Expr::InSubquery(member) if has_one_row_of_nothing(&member.subquery) => {
            Ok(vec![as_value(Expr::InSubquery(member), schema)?.data])
        }
        Expr::InSubquery(member) if member.negated => {
            // The library forgets the NULLs of the subquery where no column is looked for.
            let is_constant = member.expr.column_refs().is_empty();
            if purpose == Purpose::View || is_constant || is_correlated(&member.subquery) {
                not_in(&member, schema)
            } else {
                Ok(vec![Expr::InSubquery(member)])
            }
        }
        Expr::InSubquery(member) => Ok(vec![Expr::InSubquery(member)]),
        other => {
            let written = other.transform_up(|expr| as_value(expr, schema))?;
            Ok(vec![written.data])
        }
    }
}

fn not_in(member: &InSubquery, schema: &DFSchema) -> Result<Vec<Expr>> {
    let parts = Membership::new(member, schema)?;
    let mut conditions = vec![not(parts.equal_exists()?)];
    if parts.value_may_be_null {
        conditions.push(not(parts.null_exists()?));
    }
    if parts.may_be_null {
        let nothing = not(exists(
            &member.subquery,
            member.subquery.subquery.as_ref().clone(),
        ));
        conditions.push(Expr::IsNotNull(member.expr.clone()).or(nothing));
    }
    Ok(conditions)
}

/// IN and EXISTS as an expression of three or two values.
fn as_value(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::Exists(found) if has_one_row_of_nothing(&found.subquery) => {
            let there = is_there(&found.subquery)?;
            Ok(Transformed::yes(if found.negated { not(there) } else { there }))
        }
        Expr::InSubquery(member) => {
            let value = if has_one_row_of_nothing(&member.subquery) {
                let equal = member.expr.as_ref().clone().eq(value_of(&member.subquery)?);
                when(is_there(&member.subquery)?, equal).otherwise(lit(false))?
            } else {
                membership(&member, schema)?
            };
            Ok(Transformed::yes(if member.negated { not(value) } else { value }))
        }
        // A condition of HAVING that is NULL takes the row away as one that is false does.
        Expr::ScalarSubquery(subquery) if is_correlated(&subquery) => {
            let plan = subquery.subquery.as_ref().clone();
            let plan = plan.transform_down(|node| match node {
                LogicalPlan::Filter(filter)
                    if matches!(filter.input.as_ref(), LogicalPlan::Aggregate(_))
                        && !matches!(filter.predicate, Expr::IsTrue(_)) =>
                {
                    let predicate = Expr::IsTrue(Box::new(filter.predicate));
                    let filter = Filter::try_new(predicate, filter.input)?;
                    Ok(Transformed::yes(LogicalPlan::Filter(filter)))
                }
                node => Ok(Transformed::no(node)),
            })?;
            let changed = plan.transformed;
            let subquery = with_plan(&subquery, plan.data);
            Ok(Transformed::new_transformed(
                Expr::ScalarSubquery(subquery),
                changed,
            ))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn membership(member: &InSubquery, schema: &DFSchema) -> Result<Expr> {
    let parts = Membership::new(member, schema)?;
    let null = lit(ScalarValue::Boolean(None));
    let mut value = when(parts.equal_exists()?, lit(true));
    if parts.may_be_null {
        let any = exists(&member.subquery, member.subquery.subquery.as_ref().clone());
        value = value.when(Expr::IsNull(member.expr.clone()).and(any), null.clone());
    }
    if parts.value_may_be_null {
        value = value.when(parts.null_exists()?, null);
    }
    value.otherwise(lit(false))
}

/// `x IN (S)` with c, the column of S.
struct Membership<'a> {
    subquery: &'a Subquery,
    /// x as S sees it.
    outer: Expr,
    column: Expr,
    /// x may be.
    may_be_null: bool,
    /// c may be.
    value_may_be_null: bool,
}

impl<'a> Membership<'a> {
    fn new(member: &'a InSubquery, schema: &DFSchema) -> Result<Self> {
        let outer = member.expr.as_ref().clone().transform_up(|expr| match expr {
            Expr::Column(column) => {
                let field = Arc::clone(schema.field_from_column(&column)?);
                Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
            }
            other => Ok(Transformed::no(other)),
        })?;
        let (qualifier, field) = member.subquery.subquery.schema().qualified_field(0);
        Ok(Self {
            subquery: &member.subquery,
            outer: outer.data,
            column: Expr::Column(Column::from((qualifier, field))),
            may_be_null: member.expr.nullable(schema)?,
            value_may_be_null: field.is_nullable(),
        })
    }

    fn equal_exists(&self) -> Result<Expr> {
        self.exists_where(self.column.clone().eq(self.outer.clone()))
    }

    fn null_exists(&self) -> Result<Expr> {
        self.exists_where(Expr::IsNull(Box::new(self.column.clone())))
    }

    fn exists_where(&self, condition: Expr) -> Result<Expr> {
        let plan = LogicalPlanBuilder::from(self.subquery.subquery.as_ref().clone());
        Ok(exists(self.subquery, plan.filter(condition)?.build()?))
    }
}

/// `EXISTS (plan)`, in the place of `subquery`.
fn exists(subquery: &Subquery, plan: LogicalPlan) -> Expr {
    Expr::Exists(Exists {
        subquery: with_plan(subquery, plan),
        negated: false,
    })
}

fn with_plan(subquery: &Subquery, plan: LogicalPlan) -> Subquery {
    Subquery {
        outer_ref_columns: plan.all_out_ref_exprs(),
        subquery: Arc::new(plan),
        spans: subquery.spans.clone(),
    }
}

fn is_correlated(subquery: &Subquery) -> bool {
    !subquery.outer_ref_columns.is_empty()
}

/// An aggregate without GROUP BY that depends on the row around it.
fn has_one_row_of_nothing(subquery: &Subquery) -> bool {
    fn is_aggregate(plan: &LogicalPlan) -> bool {
        match plan {
            LogicalPlan::Projection(projection) => is_aggregate(&projection.input),
            LogicalPlan::SubqueryAlias(alias) => is_aggregate(&alias.input),
            LogicalPlan::Filter(filter) => is_aggregate(&filter.input),
            LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
            _ => false,
        }
    }
    is_correlated(subquery) && is_aggregate(&subquery.subquery)
}

/// Whether the row of such an aggregate meets its HAVING.
fn is_there(subquery: &Subquery) -> Result<Expr> {
    fn conditions(plan: &LogicalPlan, subquery: &Subquery, found: &mut Vec<Expr>) -> Result<()> {
        match plan {
            LogicalPlan::Projection(projection) => conditions(&projection.input, subquery, found),
            LogicalPlan::SubqueryAlias(alias) => conditions(&alias.input, subquery, found),
            LogicalPlan::Filter(filter) => {
                let met = LogicalPlanBuilder::from(unconditional(&filter.input)?)
                    .project([filter.predicate.clone()])?
                    .build()?;
                let met = Expr::ScalarSubquery(with_plan(subquery, met));
                found.push(Expr::IsTrue(Box::new(met)));
                conditions(&filter.input, subquery, found)
            }
            _ => Ok(()),
        }
    }
    let mut found = Vec::new();
    conditions(&subquery.subquery, subquery, &mut found)?;
    Ok(conjunction(found).unwrap_or_else(|| lit(true)))
}

/// The value of such an aggregate, whether it is there or not.
fn value_of(subquery: &Subquery) -> Result<Expr> {
    let plan = unconditional(&subquery.subquery)?;
    Ok(Expr::ScalarSubquery(with_plan(subquery, plan)))
}

/// The plan down to its aggregate without the conditions on the way.
fn unconditional(plan: &LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Filter(filter) => unconditional(&filter.input),
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => {
            let inputs = plan.inputs().into_iter().map(unconditional);
            plan.with_new_exprs(plan.expressions(), inputs.collect::<Result<_>>()?)
        }
        other => Ok(other.clone()),
    }
}
