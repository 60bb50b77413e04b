//! Correlated subqueries over system tables: `(SELECT .. WHERE x = outer.y)`, `ARRAY(SELECT ..)`, `EXISTS`, `IN`, LATERAL.
//!
//! Clients nest them in ways that no rule turns into joins: without aggregates, with LIMIT and ORDER BY, under OR, two
//! levels deep. System tables are small, so each becomes a function of the outer columns it names, which runs the inner
//! query once per distinct combination of their values ([`evaluate`]).
//!
//! Invariant: only plans that read nothing but system tables are touched. What reads tables of users is left to the
//! optimizer.

mod evaluate;

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType, UnnestOptions};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::expr::{
    Exists, InSubquery, Placeholder, ScalarFunction, SetComparison, SetQuantifier,
};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder, Operator, ScalarUDF, Subquery,
};
use datafusion::optimizer::analyzer::Analyzer;

use evaluate::{Answer, OuterValue, OuterValues, SubqueryFunction};

use super::SystemContext;
use super::expressions::map_expressions;
use super::named::name_casts;

/// The function that marks `ARRAY(SELECT ..)`: its argument is the subquery.
pub const ARRAY_OF_SUBQUERY: &str = "array_of_subquery";
/// Names the column that holds the rows of a lateral subquery until they are unfolded.
const LATERAL_ROWS: &str = "lateral rows";

/// Replaces the subqueries of `plan` that read only system tables.
///
/// # Errors
/// A subquery that cannot be typed.
pub fn replace_subqueries(plan: LogicalPlan, context: &Arc<SystemContext>) -> Result<LogicalPlan> {
    plan.transform_up(|node| {
        let node = match &node {
            LogicalPlan::Join(join) => match lateral(join, context)? {
                Some(unfolded) => return Ok(Transformed::yes(unfolded)),
                None => node,
            },
            _ => node,
        };
        let schema = merge_schema(&node.inputs());
        map_expressions(node, |expr| {
            expr.transform_down(|expr| replace(expr, &schema, context))
        })
    })
    .map(|transformed| transformed.data)
}

fn replace(expr: Expr, schema: &DFSchema, context: &Arc<SystemContext>) -> Result<Transformed<Expr>> {
    match expr {
        Expr::ScalarFunction(call) if call.name() == ARRAY_OF_SUBQUERY => match &call.args[..] {
            [Expr::ScalarSubquery(subquery)] if is_system_only(&subquery.subquery)? => {
                let replaced = function(&subquery.subquery, Answer::Array, None, schema, context)?;
                Ok(Transformed::new(replaced, true, TreeNodeRecursion::Jump))
            }
            _ => Ok(Transformed::no(Expr::ScalarFunction(call))),
        },
        Expr::ScalarSubquery(subquery) if is_correlated(&subquery) && is_system_only(&subquery.subquery)? => {
            Ok(Transformed::yes(function(
                &subquery.subquery,
                Answer::Scalar,
                None,
                schema,
                context,
            )?))
        }
        Expr::Exists(Exists { subquery, negated }) if is_system_only(&subquery.subquery)? => {
            let exists = function(&subquery.subquery, Answer::Exists, None, schema, context)?;
            Ok(Transformed::yes(if negated {
                Expr::Not(Box::new(exists))
            } else {
                exists
            }))
        }
        Expr::InSubquery(InSubquery {
            expr,
            subquery,
            negated,
        }) if is_system_only(&subquery.subquery)? => {
            let is_in = function(
                &subquery.subquery,
                Answer::Any,
                Some((*expr, Operator::Eq)),
                schema,
                context,
            )?;
            Ok(Transformed::yes(if negated {
                Expr::Not(Box::new(is_in))
            } else {
                is_in
            }))
        }
        Expr::SetComparison(SetComparison {
            expr,
            subquery,
            op,
            quantifier,
        }) if is_system_only(&subquery.subquery)? => {
            let answer = match quantifier {
                SetQuantifier::Any => Answer::Any,
                SetQuantifier::All => Answer::All,
            };
            Ok(Transformed::yes(function(
                &subquery.subquery,
                answer,
                Some((*expr, op)),
                schema,
                context,
            )?))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// A subquery without outer columns is evaluated once by the library itself.
fn is_correlated(subquery: &Subquery) -> bool {
    !subquery.outer_ref_columns.is_empty()
}

fn is_system_only(plan: &LogicalPlan) -> Result<bool> {
    let mut only = true;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            // Relations of users have a source of their own; the rows of a recursive query exist only in its own plan.
            let provider = source_as_provider(&scan.source);
            only &= provider.is_ok_and(|p| p.downcast_ref::<CteWorkTable>().is_none());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(only)
}

/// The call that stands for a subquery: its arguments are the outer values that the inner query names. With a
/// comparison, the inner query gives the result of comparing the outer expression with each of its rows.
fn function(
    subquery: &LogicalPlan,
    answer: Answer,
    comparison: Option<(Expr, Operator)>,
    schema: &DFSchema,
    context: &Arc<SystemContext>,
) -> Result<Expr> {
    let mut inner = replace_subqueries(subquery.clone(), context)?;
    let mut outer = Outer {
        schema,
        values: Arc::default(),
        arguments: Vec::new(),
    };
    if let Some((expr, op)) = comparison {
        let field = expr.to_field(schema)?.1;
        let compared = outer.value(expr, field);
        let column = Expr::Column(Column::from(inner.schema().qualified_field(0)));
        let comparison = Expr::BinaryExpr(BinaryExpr::new(Box::new(compared), op, Box::new(column)));
        inner = LogicalPlanBuilder::from(inner)
            .project([comparison.alias("holds")])?
            .build()?;
    }
    let inner = outer.bind(inner)?;
    let options = datafusion::config::ConfigOptions::default();
    let inner = Analyzer::new().execute_and_check(inner, &options, |_, _| {})?;
    let inner = name_casts(inner, context)?;
    let Outer {
        values, arguments, ..
    } = outer;
    let function = SubqueryFunction::new(inner, answer, values);
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(
        Arc::new(ScalarUDF::new_from_impl(function)),
        arguments,
    )))
}

/// The outer values that an inner query names, while they are being collected.
struct Outer<'a> {
    schema: &'a DFSchema,
    values: Arc<OuterValues>,
    /// What to evaluate outside, for each value.
    arguments: Vec<Expr>,
}

impl Outer<'_> {
    /// Replaces the references to outer columns in `inner`, and its parameters, which are bound from outside too.
    fn bind(&mut self, inner: LogicalPlan) -> Result<LogicalPlan> {
        inner
            .transform_up(|node| {
                // A lateral subquery that stands alone only names columns further out.
                if let LogicalPlan::Subquery(subquery) = node {
                    return Ok(Transformed::yes(Arc::unwrap_or_clone(subquery.subquery)));
                }
                map_expressions(node, |expr| expr.transform_up(|expr| Ok(self.bind_expr(expr))))
            })
            .map(|transformed| transformed.data)
    }

    fn bind_expr(&mut self, expr: Expr) -> Transformed<Expr> {
        match expr {
            Expr::OuterReferenceColumn(field, column) => {
                // A column that this level does not have belongs to a query further out.
                let argument = match self.schema.has_column(&column) {
                    true => Expr::Column(column),
                    false => Expr::OuterReferenceColumn(field.clone(), column),
                };
                Transformed::yes(self.value(argument, field))
            }
            Expr::Placeholder(Placeholder {
                id,
                field: Some(field),
            }) => {
                let argument = Expr::Placeholder(Placeholder {
                    id,
                    field: Some(field.clone()),
                });
                Transformed::yes(self.value(argument, field))
            }
            other => Transformed::no(other),
        }
    }

    /// Stands within the inner query for an expression of the outer one.
    fn value(&mut self, argument: Expr, field: FieldRef) -> Expr {
        let position = self
            .arguments
            .iter()
            .position(|known| *known == argument)
            .unwrap_or_else(|| {
                self.arguments.push(argument);
                self.arguments.len() - 1
            });
        let value = OuterValue::new(self.values.clone(), position, field);
        Expr::ScalarFunction(ScalarFunction::new_udf(
            Arc::new(ScalarUDF::new_from_impl(value)),
            Vec::new(),
        ))
    }
}

/// The lateral subquery on the right of a join, under its alias.
fn lateral_subquery(right: &LogicalPlan) -> Option<&Subquery> {
    match right {
        LogicalPlan::Subquery(subquery) => Some(subquery),
        LogicalPlan::SubqueryAlias(alias) => lateral_subquery(&alias.input),
        _ => None,
    }
}

/// A join with a lateral subquery: the rows of the subquery become a list beside each outer row, and are unfolded.
fn lateral(join: &Join, context: &Arc<SystemContext>) -> Result<Option<LogicalPlan>> {
    let Some(subquery) = lateral_subquery(&join.right) else {
        return Ok(None);
    };
    let unconditional = join.on.is_empty() && join.filter.as_ref().is_none_or(is_true);
    if !unconditional
        || !matches!(join.join_type, JoinType::Inner | JoinType::Left)
        || !is_system_only(&subquery.subquery)?
    {
        return Ok(None);
    }
    let left = (*join.left).clone();
    let rows = function(&subquery.subquery, Answer::Rows, None, left.schema(), context)?;
    let mut columns: Vec<Expr> = left.schema().columns().into_iter().map(Expr::Column).collect();
    let kept = columns.clone();
    columns.push(rows.alias(LATERAL_ROWS));
    let options = UnnestOptions::new().with_preserve_nulls(join.join_type == JoinType::Left);
    let unfolded = LogicalPlanBuilder::from(left)
        .project(columns)?
        .unnest_column_with_options(Column::from_name(LATERAL_ROWS), options)?;
    let row = Expr::Column(Column::from_name(LATERAL_ROWS));
    let fields = join
        .right
        .schema()
        .iter()
        .enumerate()
        .map(|(i, (qualifier, field))| {
            let value = datafusion::functions::core::expr_fn::get_field(row.clone(), evaluate::field_name(i));
            value.alias_qualified(qualifier.cloned(), field.name())
        });
    unfolded
        .project(kept.into_iter().chain(fields))?
        .build()
        .map(Some)
}

fn is_true(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Literal(datafusion::scalar::ScalarValue::Boolean(Some(true)), _)
    )
}
