//! Queries: from the syntax tree to a typed logical plan, with what its columns are called and what it reads.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, TableReference};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::{Cast, Distinct, Expr, LogicalPlan, Projection};
use datafusion::scalar::ScalarValue;
use datafusion::sql::planner::{PlannerContext, SqlToRel};
use millpond_catalog::{ObjectId, SqlType};
use sqlparser::ast;

use crate::error::Result;
use crate::plan::{Notice, OutputColumn};
use crate::text::SourceText;

use super::provider::{Provider, config_options};
use super::rewrite::{OutputNames, rewrite, rewrite_expr};
use super::translate::translate;
use super::write::TargetRows;
use super::{
    PlanContext, Purpose, alternatives, castable, comparable, floats, interval_order, literal, names,
    parameters, range_frames, rules, set_operation, subquery, types, window,
};

/// A planned query.
#[derive(Debug)]
pub struct Query {
    /// Analyzed, not optimized.
    pub plan: LogicalPlan,
    pub columns: Vec<OutputColumn>,
    /// In ascending order.
    pub reads: Vec<ObjectId>,
    /// Plain views that it names, directly and through one another.
    pub views: Vec<ObjectId>,
    pub parameters: Vec<SqlType>,
    pub notices: Vec<Notice>,
}

impl Query {
    /// Everything that must be there for the query to mean what it does, in ascending order.
    pub fn depends_on(&self) -> Vec<ObjectId> {
        let all: BTreeSet<ObjectId> = self.reads.iter().chain(&self.views).copied().collect();
        all.into_iter().collect()
    }
}

/// Plans a query for `purpose`.
///
/// # Errors
/// What the user has to mend, with positions in `text`.
pub fn plan(
    query: &ast::Query,
    purpose: Purpose,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<Query> {
    plan_over(query, purpose, None, text, context)
}

/// Plans a query that may also read the rows of the table that its statement changes.
///
/// # Errors
/// As [`plan`].
pub fn plan_over(
    query: &ast::Query,
    purpose: Purpose,
    rows: Option<TargetRows>,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<Query> {
    let mut query = query.clone();
    let names = rewrite(&mut query, purpose, context)?;
    let named = purpose != Purpose::Insert;
    let declared = parameters::declared(&query, context.parameter_types)?;
    let windows = window::relations();
    let provider = Provider::new(*context, purpose, Arc::clone(&windows), rows);
    let options = config_options(context.settings.time_zone());
    let fields = declared
        .iter()
        .map(|t| t.as_ref().map(|t| types::field(t, named)))
        .collect();

    let typed = || -> DataFusionResult<(LogicalPlan, Vec<SqlType>)> {
        let mut planner_context = PlannerContext::new().with_prepare_param_data_types(fields);
        let planner = SqlToRel::new(&provider);
        let statement = ast::Statement::Query(Box::new(query));
        let plan = planner.sql_statement_to_plan_with_context(statement, &mut planner_context)?;
        let plan = window::assign(plan, context.relations)?;
        let plan = window::keep_times(plan)?;
        let plan = window::set_lookups(plan, context.relations)?;
        let plan = window::bound_joins(plan, context.relations)?;
        let plan = window::nearest_partners(plan)?;
        let plan = window::set_watermarks(plan, context.relations)?;
        set_operation::check(&plan)?;
        let plan = set_operation::align_floats(plan)?;
        let plan = set_operation::count_rows(plan, &provider.aggregate("count")?)?;
        let plan = subquery::select_values(plan)?;
        let plan = subquery::single_row::guard(plan, purpose, &provider)?;
        let plan = subquery::outer_condition::compare_column(plan)?;
        let (plan, parameters) = parameters::resolve(plan, &declared, named)?;
        castable::check(&plan)?;
        let plan = alternatives::settle(plan)?;
        comparable::check(&plan)?;
        let plan = literal::fold(plan, context.settings.time_zone())?;
        let plan = interval_order::by_length(plan, &provider)?;
        let plan = range_frames::by_groups(plan)?;
        let plan = match purpose {
            Purpose::Select | Purpose::Insert => context.relations.prepare_query(plan)?,
            Purpose::View => plan,
        };
        let plan = rules::analyze(plan, &options)?;
        let plan = literal::fold(plan, context.settings.time_zone())?;
        let plan = subquery::make_nullable(plan)?;
        let plan = floats::check(plan)?;
        let plan = subquery::column_names::tell_apart(plan)?;
        let plan = subquery::membership::write_out(plan, purpose)?;
        let plan = subquery::make_nullable(plan)?;
        Ok((storable(plan)?, parameters))
    };
    let (plan, parameters) = typed().map_err(|error| translate(error, text))?;
    let columns = columns(&plan, &names, context);
    let reads = reads(&plan, context).map_err(|error| translate(error, text))?;
    Ok(Query {
        plan,
        columns,
        reads,
        views: provider.take_views(),
        parameters,
        notices: windows.take_notices(),
    })
}

/// Plans a constant expression.
///
/// # Errors
/// As [`plan`]; a reference to a column.
pub fn plan_constant(expr: &ast::Expr, text: &SourceText, context: &PlanContext<'_>) -> Result<Expr> {
    let mut expr = expr.clone();
    rewrite_expr(&mut expr, Purpose::Select, context)?;
    let provider = Provider::new(*context, Purpose::Select, window::relations(), None);
    let planner = SqlToRel::new(&provider);
    planner
        .sql_to_expr(expr, &DFSchema::empty(), &mut PlannerContext::new())
        .and_then(|expr| literal::fold_constant(expr, context.settings.time_zone()))
        .map_err(|error| translate(error, text))
}

/// Columns of types that no relation stores (other units of time, unsigned numbers, views of text) are cast to the one
/// that stands for their SQL type.
fn storable(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    let target = |field: &Field| match field.data_type() {
        // What the library counts, such as row_number, is `bigint` in Postgres.
        DataType::UInt64 => DataType::Int64,
        _ => SqlType::of(field).arrow(),
    };
    if plan
        .schema()
        .fields()
        .iter()
        .all(|field| *field.data_type() == target(field) || is_nested(field))
    {
        return Ok(plan);
    }
    let exprs = plan
        .schema()
        .iter()
        .map(|(qualifier, field)| {
            let column = Expr::Column((qualifier, field).into());
            let target = target(field);
            if *field.data_type() == target || is_nested(field) {
                return column;
            }
            let cast = Expr::Cast(Cast::new(Box::new(column), target));
            Expr::Alias(Alias::new(cast, qualifier.cloned(), field.name()))
        })
        .collect();
    Ok(LogicalPlan::Projection(Projection::try_new(
        exprs,
        Arc::new(plan),
    )?))
}

/// Lists and structs keep the field names and nullability inside that they have.
fn is_nested(field: &Field) -> bool {
    field.data_type().is_nested()
}

fn columns(plan: &LogicalPlan, names: &OutputNames, context: &PlanContext<'_>) -> Vec<OutputColumn> {
    let fields = plan.schema().fields();
    fields
        .iter()
        .enumerate()
        .map(|(i, field)| OutputColumn {
            name: field_accessed(plan, i).unwrap_or_else(|| names.show(field.name())),
            sql_type: SqlType::of(field),
            origin: origin(plan, i, context),
        })
        .collect()
}

/// The name of an output column that is a field of a struct without a name of its own: `w.window.start` is `start`.
fn field_accessed(plan: &LogicalPlan, column: usize) -> Option<String> {
    match plan {
        LogicalPlan::Sort(sort) => field_accessed(&sort.input, column),
        LogicalPlan::Limit(limit) => field_accessed(&limit.input, column),
        LogicalPlan::Distinct(Distinct::All(input)) => field_accessed(input, column),
        LogicalPlan::Projection(projection) => match projection.expr.get(column)? {
            Expr::ScalarFunction(function) if function.func.name() == "get_field" => {
                match function.args.last()? {
                    Expr::Literal(ScalarValue::Utf8(Some(field)), _) => Some(field.clone()),
                    _ => None,
                }
            }
            Expr::Column(found) => {
                let below = projection.input.schema().index_of_column(found).ok()?;
                field_accessed(&projection.input, below)
            }
            _ => None,
        },
        _ => None,
    }
}

/// The object and position that an output column comes from unchanged.
fn origin(plan: &LogicalPlan, column: usize, context: &PlanContext<'_>) -> Option<(ObjectId, usize)> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let mut expr = projection.expr.get(column)?;
            while let Expr::Alias(alias) = expr {
                expr = &alias.expr;
            }
            let Expr::Column(found) = expr else { return None };
            let below = projection.input.schema().index_of_column(found).ok()?;
            origin(&projection.input, below, context)
        }
        LogicalPlan::Filter(filter) => origin(&filter.input, column, context),
        LogicalPlan::Sort(sort) => origin(&sort.input, column, context),
        LogicalPlan::Limit(limit) => origin(&limit.input, column, context),
        LogicalPlan::SubqueryAlias(alias) => origin(&alias.input, column, context),
        LogicalPlan::Join(join) => {
            let left = join.left.schema().fields().len();
            if column < left {
                origin(&join.left, column, context)
            } else {
                origin(&join.right, column - left, context)
            }
        }
        LogicalPlan::TableScan(scan) => {
            let position = scan
                .projection
                .as_ref()
                .map_or(Some(column), |p| p.get(column).copied())?;
            Some((object_of(&scan.table_name, context)?, position))
        }
        _ => None,
    }
}

/// The object a scan of this name refers to; none for a system relation.
fn object_of(reference: &TableReference, context: &PlanContext<'_>) -> Option<ObjectId> {
    let (schema, name) = (reference.schema(), reference.table());
    if schema.is_none() && context.relations.system_table("pg_catalog", name).is_some() {
        return None;
    }
    names::find(schema, name, context).map(|object| object.id)
}

fn reads(plan: &LogicalPlan, context: &PlanContext<'_>) -> DataFusionResult<Vec<ObjectId>> {
    let mut reads = BTreeSet::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            reads.extend(object_of(&scan.table_name, context));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(reads.into_iter().collect())
}

/// Gives the columns of `plan` new names, and new types where asked.
pub fn with_columns(plan: LogicalPlan, target: &Schema) -> DataFusionResult<LogicalPlan> {
    let exprs = plan
        .schema()
        .iter()
        .zip(target.fields())
        .map(|((qualifier, field), target)| {
            let column = Expr::Column((qualifier, field).into());
            let expr = if field.data_type() == target.data_type() {
                column
            } else {
                Expr::Cast(Cast::new(Box::new(column), target.data_type().clone()))
            };
            match &expr {
                Expr::Column(c) if c.name == *target.name() && c.relation.is_none() => expr,
                _ => expr.alias(target.name()),
            }
        })
        .collect();
    Ok(LogicalPlan::Projection(Projection::try_new(
        exprs,
        Arc::new(plan),
    )?))
}
