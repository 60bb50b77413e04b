//! Statements to plans: the match from a statement to the file that plans it.
//!
//! Planning is a function of the statement and the [`PlanContext`]: it reads no clock and asks nobody else, so that the
//! text of an object gives the same object at every start of the server.

use datafusion::logical_expr::LogicalPlan;
use millpond_catalog::{Catalog, Object, ObjectId, SqlType};

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Plan, PlanKind};
use crate::relations::Relations;
use crate::settings::Settings;
use crate::statement::{Flush, ParsedStatement, Statement};
use crate::text::SourceText;

mod alter_source;
mod alter_view;
mod alternatives;
mod assignment;
mod canonical;
mod castable;
mod comparable;
mod create_relation;
mod create_sink;
mod create_streaming_view;
mod create_table_as;
mod create_view;
mod cursor;
mod definition;
mod drop;
mod explain;
mod expression;
mod floats;
mod interval_order;
mod keys;
mod late_data;
mod literal;
mod locate;
mod names;
pub(crate) mod options;
mod parameters;
mod prepare;
mod provider;
mod query;
mod range_frames;
mod rewrite;
mod rules;
mod select;
mod set;
mod set_operation;
mod show;
mod subquery;
mod subscribe;
mod translate;
mod typed;
mod types;
mod window;
mod write;

pub use literal::read_text;
pub use rules::optimize;
pub use types::fields_of;
pub use write::ROW_NUMBER;

/// All that planning may look at besides the statement.
#[derive(Clone, Copy)]
pub struct PlanContext<'a> {
    pub catalog: &'a Catalog,
    pub settings: &'a Settings,
    pub relations: &'a dyn Relations,
    /// Types that the client gave for `$1`, `$2`, ...; those missing are inferred.
    pub parameter_types: &'a [Option<SqlType>],
}

/// What a query is planned for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Runs once.
    Select,
    /// Runs once, and its columns take the types of a table.
    Insert,
    /// Is kept up to date.
    View,
}

/// Plans one statement.
///
/// # Errors
/// What the user has to mend.
pub fn plan(parsed: &ParsedStatement, context: &PlanContext<'_>) -> Result<Plan> {
    plan_statement(&parsed.statement, &parsed.text, context).map_err(|error| locate::locate(error, parsed))
}

fn plan_statement(
    statement: &Statement,
    text: &std::sync::Arc<SourceText>,
    context: &PlanContext<'_>,
) -> Result<Plan> {
    match statement {
        Statement::CreateTable(create) => create_relation::plan_table(create, text, context),
        Statement::CreateSource(create) => create_relation::plan_source(create, text, context),
        Statement::CreateView(create) => create_streaming_view::plan(create, text, context),
        Statement::CreatePlainView(create) => create_view::plan(create, text, context),
        Statement::CreateSink(create) => create_sink::plan(create, text, context),
        Statement::Drop(drop) => drop::plan(drop, text, context),
        Statement::Definition(definition) => definition::plan(definition, text, context),
        Statement::CreateTableAs(create) => create_table_as::plan(create, text, context),
        Statement::Accepted(accepted) => Ok(definition::plan_accepted(accepted)),
        Statement::AlterView(alter) => alter_view::plan(alter, text, context),
        Statement::AlterSource(alter) => alter_source::plan(alter, text, context),
        Statement::Insert(insert) => write::plan_insert(insert, text, context),
        Statement::Update(update) => write::plan_update(update, text, context),
        Statement::Delete(delete) => write::plan_delete(delete, text, context),
        Statement::Truncate(truncate) => write::plan_truncate(truncate, text, context),
        Statement::Copy(copy) => write::plan_copy(copy, text, context),
        Statement::Query(query) => select::plan(query, text, context),
        Statement::Explain(explain) => explain::plan(explain, text, context),
        Statement::Show(show) => show::plan(show, text, context),
        Statement::Set(set) => set::plan_set(set, text),
        Statement::Reset(reset) => set::plan_reset(reset),
        Statement::Flush(flush) => plan_flush(flush, text, context),
        Statement::Transaction(transaction) => Ok(PlanKind::Transaction(transaction.clone()).into()),
        Statement::Prepare(prepare) => prepare::plan_prepare(prepare, text, context),
        Statement::Execute(execute) => prepare::plan_execute(execute, text, context),
        Statement::Deallocate(target) => Ok(PlanKind::Deallocate(target.clone()).into()),
        Statement::DeclareCursor(declare) => cursor::plan(declare, text, context),
        Statement::Fetch(fetch) => Ok(PlanKind::Fetch(fetch.clone()).into()),
        Statement::Subscribe(subscribe) => subscribe::plan(subscribe, text, context),
        Statement::CloseCursor(target) => Ok(PlanKind::CloseCursor(target.clone()).into()),
        Statement::Discard(target) => Ok(PlanKind::Discard(*target).into()),
        Statement::Listen(listen) => Ok(PlanKind::Listen(listen.clone()).into()),
    }
}

/// Plans the canonical text of an object again: the object, and the query where it is a view. The catalog of the context
/// holds what the object reads; a view may be there itself, to be looked at.
///
/// # Errors
/// As [`plan`]; a text that this version cannot plan any more.
pub fn plan_object(
    create_sql: &str,
    id: ObjectId,
    context: &PlanContext<'_>,
) -> Result<(Object, Option<LogicalPlan>)> {
    let broken = |what: &str| {
        Error::new(
            ErrorKind::Internal,
            format!("the stored text of object {id} {what}"),
        )
        .with_detail(create_sql)
    };
    let mut statements = crate::parser::parse(create_sql)?;
    let (Some(statement), true) = (statements.pop(), statements.is_empty()) else {
        return Err(broken("is not one statement"));
    };
    let planned = match &statement.statement {
        Statement::CreateView(create) if context.catalog.get(id).is_some() => {
            create_streaming_view::plan_anew(create, &statement.text, context)?
        }
        Statement::CreateSink(create) if context.catalog.get(id).is_some() => {
            create_sink::plan_anew(create, &statement.text, context)?
        }
        _ => plan(&statement, context)?,
    };
    match planned.kind {
        PlanKind::CreateRelation(create) => Ok((create.object.with_id(id), None)),
        PlanKind::CreateView(create) => Ok((create.object.with_id(id), Some(create.query))),
        _ => Err(broken("creates nothing")),
    }
}

fn plan_flush(flush: &Flush, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    Ok(match flush {
        Flush::All => PlanKind::Flush(None),
        Flush::View(name) => PlanKind::Flush(Some(find_view(name, text, context)?)),
    }
    .into())
}

/// The streaming view of this name.
fn find_view(
    name: &sqlparser::ast::ObjectName,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<ObjectId> {
    let position = names::span_start(name).and_then(|start| text.position(start));
    let object = names::lookup(name, context).map_err(|error| error.or_position(position))?;
    match object.kind {
        millpond_catalog::ObjectKind::View(_) | millpond_catalog::ObjectKind::Sink(_) => Ok(object.id),
        _ => Err(Error::new(
            ErrorKind::WrongObjectType,
            format!("\"{}\" is not a streaming view", object.name.name),
        )
        .with_detail(format!("It is a {}.", object.kind_name()))
        .or_position(position)),
    }
}

impl From<PlanKind> for Plan {
    fn from(kind: PlanKind) -> Self {
        Self {
            kind,
            notices: Vec::new(),
            parameters: Vec::new(),
        }
    }
}
