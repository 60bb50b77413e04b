//! Whole rows: `to_json(t)` where `t` is a relation of FROM, `(t).*`, `row(t.*)`, and `data.*` where `data` is a row.
//!
//! The library knows columns only, so the row is written out: `named_struct('a', t.a, 'b', t.b)`. What the columns are is
//! read from the catalog and from the SELECT lists of subqueries; a name that is a column somewhere in FROM stays one.

use millpond_catalog::SqlType;
use sqlparser::ast::{
    AccessExpr, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Select, SelectItem,
    SelectItemQualifiedWildcardKind,
};

use crate::error::{Error, Result};
use crate::planner::PlanContext;
use crate::planner::names::fold;

use super::own_expressions::change_own;
use super::postgres::call;

mod relations;

pub use relations::Named;
use relations::{Column, Relation, text, type_of};

/// Writes out the whole rows in a SELECT, not those in its subqueries.
///
/// # Errors
/// `(row).*` of a row whose columns are not known.
pub fn write_out(select: &mut Select, queries: &Named, context: &PlanContext<'_>) -> Result<()> {
    let relations = queries.relations(&select.from, context);
    let scope = Scope { relations };
    let mut items = Vec::with_capacity(select.projection.len());
    for item in std::mem::take(&mut select.projection) {
        match scope.fields(&item) {
            Some(fields) => items.extend(fields),
            None if starred(&item).is_some() => {
                return Err(
                    Error::unsupported("the columns of the row before .* are not known here")
                        .with_hint("Name each column: (row).a, (row).b."),
                );
            }
            None => items.push(item),
        }
    }
    select.projection = items;
    for item in &mut select.projection {
        let (name, alias) = match item {
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => (&*name, Ident::with_quote('"', fold(name))),
            SelectItem::ExprWithAlias {
                expr: Expr::Identifier(name),
                alias,
            } => (&*name, alias.clone()),
            _ => continue,
        };
        if let Some(expr) = scope.row(name) {
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
    }
    let from = std::mem::take(&mut select.from);
    change_own(select, |expr| scope.write_out(expr));
    select.from = from;
    Ok(())
}

/// What the names of one SELECT mean.
struct Scope {
    relations: Vec<Relation>,
}

impl Scope {
    fn relation(&self, name: &Ident) -> Option<&Relation> {
        let name = fold(name);
        self.relations
            .iter()
            .find(|relation| fold(&relation.name) == name)
    }

    /// The row of the relation of that name, unless a column has it.
    fn row(&self, name: &Ident) -> Option<Expr> {
        let columns = self.relations.iter().map(|relation| relation.columns.as_ref());
        let is_column = |columns: &Vec<Column>| columns.iter().any(|column| column.name == fold(name));
        let mut unsure = columns.map(|columns| columns.is_none_or(is_column));
        if unsure.any(|unsure| unsure) {
            return None;
        }
        Some(self.relation(name)?.row())
    }

    /// The type of the column of that name, in any relation or in one.
    fn column_type(&self, name: &Ident, of: Option<&Relation>) -> Option<SqlType> {
        let relations = self.relations.iter();
        let relations = relations.filter(|relation| of.is_none_or(|of| std::ptr::eq(*relation, of)));
        let mut columns = relations
            .filter_map(|relation| relation.columns.as_ref())
            .flatten();
        columns.find(|column| column.name == fold(name))?.sql_type.clone()
    }

    /// The items that `(row).*` and `row.*` stand for.
    fn fields(&self, item: &SelectItem) -> Option<Vec<SelectItem>> {
        let (expr, is_row) = match item {
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                match name.0.as_slice() {
                    [only] => (Expr::Identifier(only.as_ident()?.clone()), false),
                    _ => return None,
                }
            }
            item => (starred(item)?.clone(), true),
        };
        let sql_type = match &expr {
            Expr::Identifier(name) => match self.relation(name) {
                Some(relation) if is_row => return relation.items(),
                Some(_) => return None,
                None => self.column_type(name, None),
            },
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [relation, name] => self.column_type(name, self.relation(relation)),
                _ => None,
            },
            other => type_of(other),
        };
        let Some(SqlType::Struct(fields)) = sql_type else {
            return None;
        };
        let items = fields.iter().map(|(name, _)| SelectItem::ExprWithAlias {
            expr: call("get_field", vec![expr.clone(), text(name)]),
            alias: Ident::with_quote('"', name),
        });
        Some(items.collect())
    }
}

/// The row of `(row).*`.
fn starred(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(Expr::CompoundFieldAccess { root, access_chain })
        | SelectItem::ExprWithAlias {
            expr: Expr::CompoundFieldAccess { root, access_chain },
            ..
        } => match access_chain.as_slice() {
            [AccessExpr::Dot(Expr::Identifier(star))] if star.value == "*" => Some(unnested(root)),
            _ => None,
        },
        _ => None,
    }
}

fn unnested(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => unnested(inner),
        other => other,
    }
}

impl Scope {
    /// An expression with its whole rows written out.
    fn write_out(&self, expr: &mut Expr) {
        if let Expr::CompoundFieldAccess { root, access_chain } = expr
            && let Expr::Identifier(name) = unnested(root)
            && let [AccessExpr::Dot(Expr::Identifier(column))] = access_chain.as_slice()
            && self.row(name).is_some()
        {
            *expr = Expr::CompoundIdentifier(vec![name.clone(), column.clone()]);
        }
        if let Expr::Function(function) = expr
            && let FunctionArguments::List(list) = &mut function.args
        {
            let is_row = function.name.0.len() == 1
                && function.name.0[0]
                    .as_ident()
                    .is_some_and(|name| fold(name) == "row");
            list.args = list
                .args
                .drain(..)
                .flat_map(|argument| self.argument(argument, is_row))
                .collect();
        }
    }
}

impl Scope {
    /// What an argument stands for: a whole row, or for `row(t.*)` each of its columns.
    fn argument(&self, argument: FunctionArg, is_row: bool) -> Vec<FunctionArg> {
        let plain = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
        let written = match &argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name))) => {
                self.row(name).map(|row| vec![plain(row)])
            }
            FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) => {
                let name = name.0.last().and_then(|part| part.as_ident());
                let relation = name.and_then(|name| self.relation(name));
                relation.and_then(|relation| {
                    let columns = relation.columns.as_ref()?;
                    Some(match is_row {
                        true => columns
                            .iter()
                            .map(|column| plain(relation.column(column)))
                            .collect(),
                        false => vec![plain(relation.row())],
                    })
                })
            }
            _ => None,
        };
        written.unwrap_or_else(|| vec![argument])
    }
}
