//! What INSERT, UPDATE, DELETE and TRUNCATE share: the table they may change, and the query that they are planned as.
//!
//! A statement becomes a query whose columns are what the change is made of: the number of each row of the table that it
//! meets, the row as it stands, the row as it will be. `RETURNING` is a second query, over the rows that were written.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::logical_expr::TableSource;
use millpond_catalog::{Key, Object, ObjectKind, SqlType};
use sqlparser::ast::{self, Expr, Ident, SelectItem, SetExpr, TableFactor, TableWithJoins};
use sqlparser::parser::Parser;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::RowChecks;
use crate::statement::WriteTarget;
use crate::text::SourceText;

use super::create_relation::position_of;
use super::{PlanContext, names};

mod condition;
mod conflict;
mod copy;
mod delete;
mod insert;
mod returning;
mod truncate;
mod update;

pub use condition::check as check_conditions;
pub use copy::plan as plan_copy;
pub use delete::plan as plan_delete;
pub use insert::plan as plan_insert;
pub use truncate::plan as plan_truncate;
pub use update::plan as plan_update;

/// The name by which a query refers to the rows of the table that its statement changes. No user can write it.
const ROWS_SCHEMA: &str = "\u{1}";
const ROWS_NAME: &str = "rows";

/// Stands before the names of columns that are not the user's.
const HIDDEN: char = '\u{1}';

/// The name of the last column of a table whose rows are numbered.
pub const ROW_NUMBER: &str = "\u{1}row";

/// The relation that a query reads under [`ROWS_NAME`].
pub struct TargetRows(pub Arc<dyn TableSource>);

impl TargetRows {
    /// The source, if `schema.name` refers to it.
    pub fn find(&self, schema: Option<&str>, name: &str) -> Option<Arc<dyn TableSource>> {
        (schema == Some(ROWS_SCHEMA) && name == ROWS_NAME).then(|| Arc::clone(&self.0))
    }
}

/// What a statement does to the rows of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Insert,
    Update,
    Delete,
    Truncate,
}

impl Verb {
    /// As in `cannot .. table "t"`.
    fn words(self) -> &'static str {
        match self {
            Verb::Insert => "insert into",
            Verb::Update => "update",
            Verb::Delete => "delete from",
            Verb::Truncate => "truncate",
        }
    }
}

/// The table that a statement changes.
struct Table<'a> {
    object: &'a Arc<Object>,
    /// What the statement calls it.
    alias: Ident,
}

impl<'a> Table<'a> {
    fn find(target: &WriteTarget, verb: Verb, text: &SourceText, context: &PlanContext<'a>) -> Result<Self> {
        let object = find(&target.table, verb, text, context)?;
        let alias = match &target.alias {
            Some(alias) => alias.clone(),
            None => Ident::with_quote('"', object.name.name.clone()),
        };
        Ok(Self { object, alias })
    }

    /// `alias.column`.
    fn column(&self, name: &str) -> Expr {
        Expr::CompoundIdentifier(vec![self.alias.clone(), Ident::with_quote('"', name)])
    }

    /// The row number and the columns as they stand, under hidden names.
    fn numbered_row(&self) -> Vec<SelectItem> {
        let number = hidden(self.column(ROW_NUMBER), ROW_NUMBER);
        std::iter::once(number).chain(self.standing_row()).collect()
    }

    /// The columns as they stand, under hidden names.
    fn standing_row(&self) -> Vec<SelectItem> {
        let columns = self.object.columns.iter().enumerate();
        columns
            .map(|(i, column)| hidden(self.column(&column.name), &format!("{HIDDEN}old{i}")))
            .collect()
    }

    /// The rows as they stand, each with its number.
    fn numbered(&self, context: &PlanContext<'_>) -> TargetRows {
        TargetRows(context.relations.numbered_source(self.object))
    }

    fn written(&self, schema: SchemaRef, context: &PlanContext<'_>) -> TargetRows {
        TargetRows(context.relations.written_source(self.object, schema))
    }

    /// The keys that are enforced.
    fn keys(&self) -> Vec<Key> {
        match &self.object.kind {
            ObjectKind::Table(table) => table.keys.iter().filter(|key| key.enforced).cloned().collect(),
            ObjectKind::Source(_) | ObjectKind::View(_) | ObjectKind::PlainView(_) | ObjectKind::Sink(_) => {
                Vec::new()
            }
        }
    }

    fn checks(&self) -> RowChecks {
        let columns = || self.object.columns.iter().enumerate();
        RowChecks {
            not_null: columns().filter(|(_, c)| !c.nullable).map(|(i, _)| i).collect(),
            max_length: columns()
                .filter_map(|(i, column)| match column.sql_type {
                    SqlType::Varchar(Some(length)) => Some((i, length)),
                    _ => None,
                })
                .collect(),
        }
    }

    /// Position of a column.
    fn position(&self, ident: &Ident, text: &SourceText) -> Result<usize> {
        let name = names::fold(ident);
        let columns = &self.object.columns;
        columns.iter().position(|c| c.name == name).ok_or_else(|| {
            let relation = &self.object.name.name;
            let message = format!("column \"{name}\" of relation \"{relation}\" does not exist");
            let near = crate::suggest::did_you_mean(&name, columns.iter().map(|c| c.name.as_str()));
            Error::new(ErrorKind::UndefinedColumn, message)
                .with_hint_if(near)
                .or_position(text.position_of_span(ident.span))
        })
    }

    /// A query over the table's rows and other relations.
    fn query(
        &self,
        with: Option<&ast::With>,
        items: Vec<SelectItem>,
        others: &[TableWithJoins],
        selection: Option<&Expr>,
    ) -> Result<ast::Query> {
        let dialect = sqlparser::dialect::PostgreSqlDialect {};
        let template = format!("SELECT 1 FROM \"{ROWS_SCHEMA}\".\"{ROWS_NAME}\" AS t");
        let parsed = Parser::new(&dialect)
            .try_with_sql(&template)
            .and_then(|mut p| p.parse_query());
        let mut query = parsed.map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))?;
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.projection = items;
            select.selection = selection.cloned();
            if let Some(TableFactor::Table {
                alias: Some(alias), ..
            }) = select.from.first_mut().map(|from| &mut from.relation)
            {
                alias.name = self.alias.clone();
            }
            select.from.extend(others.iter().cloned());
        }
        query.with = with.cloned();
        Ok(*query)
    }
}

/// An expression under a name that is not the user's.
fn hidden(expr: Expr, name: &str) -> SelectItem {
    SelectItem::ExprWithAlias {
        expr,
        alias: Ident::with_quote('"', name),
    }
}

/// The table of this name, if the statement may change it.
fn find<'a>(
    name: &ast::ObjectName,
    verb: Verb,
    text: &SourceText,
    context: &PlanContext<'a>,
) -> Result<&'a Arc<Object>> {
    let at = |error: Error| error.or_position(position_of(name, text));
    let object = names::lookup(name, context)
        .map_err(|error| at(system_relation(name, verb, context).unwrap_or(error)))?;
    let hint = match &object.kind {
        ObjectKind::Table(_) if verb == Verb::Insert => return Ok(object),
        ObjectKind::Table(table) if !table.append_only => return Ok(object),
        ObjectKind::Table(table) if table.stream => {
            "A stream takes INSERT only. CREATE TABLE makes a relation whose rows can change."
        }
        ObjectKind::Table(_) => "The table was created APPEND ONLY and takes INSERT only.",
        ObjectKind::Source(_) => {
            "A source shows what stands outside; CREATE TABLE makes a relation whose rows can change."
        }
        ObjectKind::PlainView(_) => "Change the tables that the view reads.",
        ObjectKind::View(_) => "A streaming view changes with the tables and sources that it reads.",
        ObjectKind::Sink(_) => "A sink is written by its query only.",
    };
    let kind = match &object.kind {
        ObjectKind::Table(table) if !table.stream => "append-only table",
        _ => object.kind_name(),
    };
    let hint = match verb {
        Verb::Insert => "Only tables and streams take INSERT.",
        _ => hint,
    };
    let message = format!("cannot {} {kind} \"{}\"", verb.words(), object.name.name);
    Err(at(Error::new(ErrorKind::WrongObjectType, message).with_hint(hint)))
}

/// The error for a relation that the server makes.
fn system_relation(name: &ast::ObjectName, verb: Verb, context: &PlanContext<'_>) -> Option<Error> {
    let (schema, name) = names::split(name).ok()?;
    let schema = schema.as_deref().unwrap_or("pg_catalog");
    context.relations.system_table(schema, &name)?;
    Some(Error::new(
        ErrorKind::WrongObjectType,
        format!("cannot {} system relation \"{name}\"", verb.words()),
    ))
}
