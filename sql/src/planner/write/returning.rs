//! RETURNING: a query over the rows that a statement wrote or took away.
//!
//! It may also name columns of the relations in FROM or USING. Those travel beside the written rows under hidden names,
//! and what refers to them is rewritten.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::datatypes::{Fields, Schema, SchemaRef};
use millpond_catalog::SqlType;
use sqlparser::ast::{
    self, Expr, Ident, SelectItem, SelectItemQualifiedWildcardKind, TableFactor, TableWithJoins, VisitMut,
    VisitorMut,
};

use crate::error::{Error, ErrorKind, Result};
use crate::plan::Returning;
use crate::planner::{PlanContext, Purpose, names, query};
use crate::statement::AssignedValue;
use crate::text::SourceText;

use super::{HIDDEN, Table, hidden};

/// The columns of the relations beside the table, where RETURNING may name them.
pub struct Others(Vec<Other>);

struct Other {
    relation: Ident,
    name: String,
    sql_type: SqlType,
}

impl Others {
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// The row that was to be inserted, under the name `excluded`.
    pub fn excluded(table: &Table<'_>) -> Self {
        let columns = table.object.columns.iter();
        Self(
            columns
                .map(|column| Other {
                    relation: Ident::new("excluded"),
                    name: column.name.clone(),
                    sql_type: column.sql_type.clone(),
                })
                .collect(),
        )
    }

    /// The schema of the table's rows with these columns beside.
    pub fn schema(&self, table: &Table<'_>) -> SchemaRef {
        let own = table.object.schema();
        let others = self.0.iter().enumerate();
        let others = others.map(|(i, other)| Arc::new(other.sql_type.field(&hidden_name(i), true)));
        let fields: Fields = own.fields().iter().cloned().chain(others).collect();
        Arc::new(Schema::new(fields))
    }

    pub fn find(
        returning: &[SelectItem],
        with: Option<&ast::With>,
        tables: &[TableWithJoins],
        text: &SourceText,
        context: &PlanContext<'_>,
    ) -> Result<Self> {
        let mut others = Vec::new();
        if returning.is_empty() || tables.is_empty() {
            return Ok(Self(others));
        }
        let mut relations = Vec::new();
        for table in tables {
            relations_of(table, &mut relations);
        }
        for relation in relations {
            let query = all_of(&relation, with, tables)?;
            for column in query::plan(&query, Purpose::Select, text, context)?.columns {
                others.push(Other {
                    relation: relation.clone(),
                    name: column.name,
                    sql_type: column.sql_type,
                });
            }
        }
        Ok(Self(others))
    }

    /// The columns as items of the statement's query.
    pub fn items(&self) -> impl Iterator<Item = SelectItem> {
        self.0.iter().enumerate().map(|(i, other)| {
            let column = Ident::with_quote('"', other.name.clone());
            hidden(
                Expr::CompoundIdentifier(vec![other.relation.clone(), column]),
                &hidden_name(i),
            )
        })
    }

    /// Plans RETURNING, with the types of all parameters of the statement. `None` where there is none.
    pub fn returning(
        &self,
        table: &Table<'_>,
        items: &[SelectItem],
        with: Option<&ast::With>,
        parameters: &[SqlType],
        text: &SourceText,
        context: &PlanContext<'_>,
    ) -> Result<Option<(Returning, Vec<SqlType>)>> {
        if items.is_empty() {
            return Ok(None);
        }
        let items = self.resolve(items, table)?;
        let query = table.query(with, items, &[], None)?;
        let declared: Vec<_> = parameters.iter().cloned().map(Some).collect();
        let context = PlanContext {
            parameter_types: if parameters.is_empty() {
                context.parameter_types
            } else {
                &declared
            },
            ..*context
        };
        let rows = table.written(self.schema(table), &context);
        let planned = query::plan_over(&query, Purpose::Select, Some(rows), text, &context)?;
        let returning = Returning {
            query: planned.plan,
            reads: planned.reads,
            columns: planned.columns,
        };
        Ok(Some((returning, planned.parameters)))
    }

    /// Spells out wildcards and puts hidden names in the place of columns of other relations.
    fn resolve(&self, items: &[SelectItem], table: &Table<'_>) -> Result<Vec<SelectItem>> {
        let mut resolved = Vec::new();
        let own = || {
            let columns = table.object.columns.iter();
            columns.map(|column| SelectItem::UnnamedExpr(table.column(&column.name)))
        };
        for item in items {
            match item {
                SelectItem::Wildcard(_) => {
                    resolved.extend(own());
                    resolved.extend((0..self.0.len()).map(|i| self.item(i, table)));
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    let (_, relation) = names::split(name)?;
                    if relation == names::fold(&table.alias) {
                        resolved.extend(own());
                        continue;
                    }
                    let found = (0..self.0.len()).filter(|i| names::fold(&self.0[*i].relation) == relation);
                    let before = resolved.len();
                    resolved.extend(found.map(|i| self.item(i, table)));
                    if resolved.len() == before {
                        return Err(Error::new(
                            ErrorKind::UndefinedTable,
                            format!("missing FROM-clause entry for table \"{relation}\""),
                        ));
                    }
                }
                other => resolved.push(self.rename_item(other.clone(), table)?),
            }
        }
        Ok(resolved)
    }

    fn item(&self, i: usize, table: &Table<'_>) -> SelectItem {
        hidden(table.column(&hidden_name(i)), &self.0[i].name)
    }

    fn rename_item(&self, mut item: SelectItem, table: &Table<'_>) -> Result<SelectItem> {
        if self.0.is_empty() {
            return Ok(item);
        }
        if let SelectItem::UnnamedExpr(expr @ (Expr::Identifier(_) | Expr::CompoundIdentifier(_))) = item {
            let name = match &expr {
                Expr::CompoundIdentifier(parts) => parts.last().cloned(),
                Expr::Identifier(ident) => Some(ident.clone()),
                _ => None,
            };
            item = match name {
                Some(alias) => SelectItem::ExprWithAlias { expr, alias },
                None => SelectItem::UnnamedExpr(expr),
            };
        }
        self.rename(&mut item, table)?;
        Ok(item)
    }

    /// Puts hidden names in the place of columns of other relations.
    pub fn rename(&self, tree: &mut impl VisitMut, table: &Table<'_>) -> Result<()> {
        match tree.visit(&mut Renaming { others: self, table }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }

    pub fn rename_value(&self, value: &mut AssignedValue, table: &Table<'_>) -> Result<()> {
        match value {
            AssignedValue::One(expr) => self.rename(expr.as_mut(), table),
            AssignedValue::Row(exprs) => exprs.iter_mut().try_for_each(|expr| self.rename(expr, table)),
            AssignedValue::Query(query) => self.rename(query.as_mut(), table),
        }
    }
}

fn hidden_name(i: usize) -> String {
    format!("{HIDDEN}other{i}")
}

struct Renaming<'a> {
    others: &'a Others,
    table: &'a Table<'a>,
}

impl VisitorMut for Renaming<'_> {
    type Break = Error;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let (relation, name) = match &*expr {
            Expr::Identifier(ident) => (None, names::fold(ident)),
            Expr::CompoundIdentifier(parts) => match &parts[..] {
                [relation, column] => (Some(names::fold(relation)), names::fold(column)),
                _ => return ControlFlow::Continue(()),
            },
            _ => return ControlFlow::Continue(()),
        };
        let matches = |other: &Other| {
            other.name == name
                && relation
                    .as_ref()
                    .is_none_or(|relation| *relation == names::fold(&other.relation))
        };
        let mut found = (0..self.others.0.len()).filter(|i| matches(&self.others.0[*i]));
        let Some(first) = found.next() else {
            return ControlFlow::Continue(());
        };
        let own = relation.is_none() && self.table.object.columns.iter().any(|c| c.name == name);
        if own || found.next().is_some() {
            return ControlFlow::Break(Error::new(
                ErrorKind::AmbiguousColumn,
                format!("column reference \"{name}\" is ambiguous"),
            ));
        }
        *expr = self.table.column(&hidden_name(first));
        ControlFlow::Continue(())
    }
}

/// The names that the relations of a FROM item go by.
fn relations_of(table: &TableWithJoins, names: &mut Vec<Ident>) {
    let joined = table.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&table.relation).chain(joined) {
        match factor {
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => relations_of(table_with_joins, names),
            TableFactor::NestedJoin {
                alias: Some(alias), ..
            }
            | TableFactor::Derived {
                alias: Some(alias), ..
            }
            | TableFactor::Function {
                alias: Some(alias), ..
            }
            | TableFactor::UNNEST {
                alias: Some(alias), ..
            }
            | TableFactor::Table {
                alias: Some(alias), ..
            } => names.push(alias.name.clone()),
            TableFactor::Table {
                name, alias: None, ..
            } => {
                names.extend(name.0.last().and_then(|part| part.as_ident()).cloned());
            }
            _ => {}
        }
    }
}

/// `SELECT relation.* FROM tables`.
fn all_of(relation: &Ident, with: Option<&ast::With>, tables: &[TableWithJoins]) -> Result<ast::Query> {
    let dialect = sqlparser::dialect::PostgreSqlDialect {};
    let parsed = sqlparser::parser::Parser::new(&dialect)
        .try_with_sql(&format!("SELECT {relation}.* FROM t"))
        .and_then(|mut p| p.parse_query());
    let mut query = parsed.map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))?;
    if let ast::SetExpr::Select(select) = query.body.as_mut() {
        select.from = tables.to_vec();
    }
    query.with = with.cloned();
    Ok(*query)
}
