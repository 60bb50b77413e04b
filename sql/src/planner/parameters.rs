//! Parameters `$1`, `$2`, ...: their types, and values in their places.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use arrow::datatypes::Field;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::scalar::ScalarValue;
use millpond_catalog::SqlType;
use sqlparser::ast::{self, LimitClause, Visit, Visitor};

use crate::error::{Error, ErrorKind, Result};
use crate::function::ArrayCompare;
use crate::plan::{ExplainTarget, Plan, PlanKind, RowsOf};
use crate::text::SourceText;

use super::{literal, translate, types};

/// More than a protocol message can hold.
const PARAMETERS_MAX: usize = 65_535;

/// Types known before planning: those that the client gave, and those of `$1::type` and `LIMIT $1`.
///
/// # Errors
/// A parameter that is not `$` and a number.
pub fn declared(query: &ast::Query, given: &[Option<SqlType>]) -> Result<Vec<Option<SqlType>>> {
    let mut finder = Finder {
        found: given.to_vec(),
    };
    match query.visit(&mut finder) {
        ControlFlow::Continue(()) => Ok(finder.found),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Finder {
    found: Vec<Option<SqlType>>,
}

impl Finder {
    fn note(&mut self, name: &str, sql_type: Option<SqlType>) -> Result<()> {
        let index = index_of(name)?;
        if self.found.len() <= index {
            self.found.resize(index + 1, None);
        }
        if self.found[index].is_none() {
            self.found[index] = sql_type;
        }
        Ok(())
    }

    fn note_in(&mut self, expr: &ast::Expr, sql_type: Option<SqlType>) -> Result<()> {
        match expr {
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Placeholder(name) => self.note(name, sql_type),
                _ => Ok(()),
            },
            ast::Expr::Nested(inner) => self.note_in(inner, sql_type),
            _ => Ok(()),
        }
    }
}

impl Visitor for Finder {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<Error> {
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause {
            for expr in limit.iter().chain(offset.as_ref().map(|o| &o.value)) {
                if let Err(error) = self.note_in(expr, Some(SqlType::Int8)) {
                    return ControlFlow::Break(error);
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<Error> {
        let noted = match expr {
            ast::Expr::Cast { expr, data_type, .. } => {
                types::sql_type(data_type).and_then(|sql_type| self.note_in(expr, Some(sql_type)))
            }
            other => self.note_in(other, None),
        };
        match noted {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// `$1` is 0.
fn index_of(name: &str) -> Result<usize> {
    match name.strip_prefix('$').and_then(|n| n.parse::<usize>().ok()) {
        Some(number @ 1..=PARAMETERS_MAX) => Ok(number - 1),
        _ => Err(Error::new(
            ErrorKind::UndefinedParameter,
            format!("there is no parameter {name}"),
        )),
    }
}

/// Settles the type of every parameter: declared, else inferred from its place, else text.
pub fn resolve(
    plan: LogicalPlan,
    declared: &[Option<SqlType>],
    named: bool,
) -> DataFusionResult<(LogicalPlan, Vec<SqlType>)> {
    let mut inferred = BTreeMap::<usize, Option<SqlType>>::new();
    let external = |error: Error| DataFusionError::External(Box::new(error));
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Some((index, sql_type)) = compared_array(expr, node) {
                    inferred.entry(index).or_default().get_or_insert(sql_type);
                }
                if let Expr::Placeholder(placeholder) = expr {
                    let index = index_of(&placeholder.id).map_err(external)?;
                    let found = placeholder.field.as_ref().map(|field| general(field));
                    let known = inferred.entry(index).or_default();
                    *known = known.take().or(found);
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    let count = declared
        .len()
        .max(inferred.keys().next_back().map_or(0, |last| last + 1));
    let types = (0..count)
        .map(|i| {
            let declared = declared.get(i).cloned().flatten();
            match (declared, inferred.get(&i)) {
                (Some(declared), _) => Ok(declared),
                (None, Some(inferred)) => Ok(inferred.clone().unwrap_or(SqlType::Text)),
                // The statement does not have it, but one of a higher number.
                (None, None) => Err(external(Error::new(
                    ErrorKind::IndeterminateParameter,
                    format!("could not determine data type of parameter ${}", i + 1),
                ))),
            }
        })
        .collect::<DataFusionResult<Vec<SqlType>>>()?;
    if count == 0 {
        return Ok((plan, types));
    }
    let typed = replace(plan, |placeholder| {
        let index = index_of(&placeholder.id).map_err(external)?;
        let field = super::types::field(&types[index], named);
        Ok(Expr::Placeholder(Placeholder::new_with_field(
            placeholder.id.clone(),
            Some(field),
        )))
    })?;
    Ok((typed, types))
}

/// `x = ANY ($1)`: the parameter is an array of what x is.
fn compared_array(expr: &Expr, node: &LogicalPlan) -> Option<(usize, SqlType)> {
    let Expr::ScalarFunction(function) = expr else {
        return None;
    };
    let [value, Expr::Placeholder(placeholder)] = function.args.as_slice() else {
        return None;
    };
    if !ArrayCompare::is(function.func.name()) || placeholder.field.is_some() {
        return None;
    }
    let (_, field) = value.to_field(&merge_schema(&node.inputs())).ok()?;
    let index = index_of(&placeholder.id).ok()?;
    Some((index, SqlType::Array(Box::new(general(&field)))))
}

/// The type for a parameter beside something of this type: a number beside `1.5` may have any scale.
fn general(field: &Field) -> SqlType {
    match SqlType::of(field) {
        SqlType::Numeric(_) => SqlType::Numeric(None),
        SqlType::Varchar(_) => SqlType::Text,
        other => other,
    }
}

fn replace(
    plan: LogicalPlan,
    mut with: impl FnMut(&Placeholder) -> DataFusionResult<Expr>,
) -> DataFusionResult<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| {
        let is_values = matches!(node, LogicalPlan::Values(_));
        let names = NamePreserver::new(&node);
        let replaced = node.map_expressions(|expr| {
            let name = names.save(&expr);
            let replaced = expr.transform_up(|expr| match &expr {
                Expr::Placeholder(placeholder) => Ok(Transformed::yes(with(placeholder)?)),
                _ => Ok(Transformed::no(expr)),
            })?;
            Ok(if replaced.transformed && !is_values {
                replaced.update_data(|expr| name.restore(expr))
            } else {
                replaced
            })
        })?;
        // The schema follows the types also where only an input changed.
        Ok(Transformed::yes(replaced.data.recompute_schema()?))
    })
    .map(|transformed| transformed.data)
}

impl Plan {
    /// Puts values in the place of `$1`, `$2`, ...
    ///
    /// # Errors
    /// Another number of values than parameters, a value that its parameter's type cannot hold.
    pub fn bind(mut self, values: &[ScalarValue]) -> Result<Plan> {
        if values.len() != self.parameters.len() {
            return Err(Error::new(
                ErrorKind::UndefinedParameter,
                format!(
                    "{} parameters were given, but the statement has {}",
                    values.len(),
                    self.parameters.len()
                ),
            ));
        }
        if values.is_empty() {
            return Ok(self);
        }
        let mut typed = Vec::with_capacity(values.len());
        for (value, sql_type) in values.iter().zip(&self.parameters) {
            typed.push(bind_value(value, sql_type)?);
        }
        self.parameters.clear();
        bind_kind(&mut self.kind, &typed)?;
        Ok(self)
    }
}

fn bind_value(value: &ScalarValue, sql_type: &SqlType) -> Result<ScalarValue> {
    let field = sql_type.field("", true);
    if value.is_null() {
        return ScalarValue::try_from(field.data_type())
            .map_err(|e| Error::new(ErrorKind::Internal, e.to_string()));
    }
    if value.data_type() == *field.data_type() {
        return Ok(value.clone());
    }
    literal::cast_scalar(value, &field, "UTC")?.ok_or_else(|| {
        Error::new(
            ErrorKind::TypeMismatch,
            format!("a parameter of type {sql_type} cannot be {}", value.data_type()),
        )
    })
}

fn bind_kind(kind: &mut PlanKind, values: &[ScalarValue]) -> Result<()> {
    match kind {
        PlanKind::Select(select) => bind_query(&mut select.query, values),
        PlanKind::Write(write) => {
            bind_query(&mut write.query, values)?;
            if let Some(update) = write.on_conflict.as_mut().and_then(|c| c.update.as_mut()) {
                bind_query(&mut update.query, values)?;
            }
            match &mut write.returning {
                Some(returning) => bind_query(&mut returning.query, values),
                None => Ok(()),
            }
        }
        PlanKind::DeclareCursor(declare) => match &mut declare.rows {
            RowsOf::Select(select) => bind_query(&mut select.query, values),
            RowsOf::Subscribe(_) => Ok(()),
        },
        PlanKind::Explain(explain) => match &mut explain.target {
            ExplainTarget::Statement { plan, .. } => {
                plan.parameters.clear();
                bind_kind(&mut plan.kind, values)
            }
            ExplainTarget::View(_) => Ok(()),
        },
        _ => Ok(()),
    }
}

fn bind_query(query: &mut LogicalPlan, values: &[ScalarValue]) -> Result<()> {
    let bound = replace(query.clone(), |placeholder| {
        let index = index_of(&placeholder.id).map_err(|error| DataFusionError::External(Box::new(error)))?;
        let value = values.get(index).cloned().unwrap_or(ScalarValue::Null);
        Ok(Expr::Literal(value, None))
    });
    let bound = bound.and_then(|query| literal::check_overflows(&query).map(|()| query));
    *query = bound.map_err(|error| translate::translate(error, &SourceText::new("")))?;
    Ok(())
}
