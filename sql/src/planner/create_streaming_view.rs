//! CREATE STREAMING VIEW.
//!
//! A view is planned as in a session with default settings: its text must mean the same at every start of the server.

use std::collections::HashSet;

use arrow::datatypes::Schema;
use datafusion::logical_expr::LogicalPlan;
use millpond_catalog::{Column, ObjectId, ObjectKind, ObjectName, StreamingView};
use sqlparser::tokenizer::Location;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{CreateView, Notice, ObjectDraft, Plan, PlanKind};
use crate::statement::CreateView as Statement;
use crate::text::SourceText;

use super::create_relation::{Place, place, position_of};
use super::{PlanContext, Purpose, canonical, late_data, names, options, query, rules, translate};

pub fn plan(create: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let place = place(
        &create.name,
        create.or_replace,
        create.if_not_exists,
        "streaming view",
        text,
        context,
    )?;
    let (name, replaces) = match place {
        Place::Taken(notice) => {
            let kind = PlanKind::Nothing {
                tag: "CREATE STREAMING VIEW",
            };
            return Ok(Plan {
                notices: vec![notice],
                ..kind.into()
            });
        }
        Place::Free { name, replaces } => (name, replaces),
    };
    plan_at(create, name, replaces, text, context)
}

/// The view as it would be if nothing had its name: for looking at a view, also one that exists.
pub fn plan_anew(create: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let name = names::new_name(&create.name, context)
        .map_err(|error| error.or_position(position_of(&create.name, text)))?;
    let existing = context.catalog.find(&name).map(|object| object.id);
    plan_at(create, name, existing, text, context)
}

fn plan_at(
    create: &Statement,
    name: ObjectName,
    replaces: Option<ObjectId>,
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<Plan> {
    let (mut view_options, notices) =
        options::view_options(&create.options, &create.emit, context.settings, text)?;

    let query = QueryToKeep {
        what: "a streaming view",
        name: &create.name,
        schema: &name.schema,
        columns: &create.columns,
        query: &create.query,
        replaces,
    };
    let mut kept = query.plan(text, context)?;
    let late = late_data::target(&create.emit, &mut kept.reads, text, context)?;
    view_options.late_data_to = late.map(|table| table.id);

    let renamed: Vec<String> = create.columns.iter().map(names::fold).collect();
    let written = &text.as_str()[create.query_range.clone()];
    let create_sql = canonical::view(
        &name,
        &renamed,
        &view_options,
        written,
        late.map(|table| &table.name),
    );
    let view = StreamingView {
        query: written.to_owned(),
        options: view_options,
        paused: false,
    };
    Ok(kept.into_plan(name, ObjectKind::View(view), create_sql, replaces, notices))
}

/// The query of a view or sink.
pub struct QueryToKeep<'a> {
    /// With its article, for messages.
    pub what: &'static str,
    /// What it is to be called.
    pub name: &'a sqlparser::ast::ObjectName,
    /// Where it is to be.
    pub schema: &'a str,
    /// Names for the first columns.
    pub columns: &'a [sqlparser::ast::Ident],
    pub query: &'a sqlparser::ast::Query,
    /// The object whose place it takes.
    pub replaces: Option<ObjectId>,
}

pub struct KeptQuery {
    pub columns: Vec<Column>,
    pub query: LogicalPlan,
    pub reads: Vec<ObjectId>,
    pub notices: Vec<Notice>,
}

impl KeptQuery {
    /// Creates the object that keeps the query. The notices come before those of the query.
    pub fn into_plan(
        self,
        name: ObjectName,
        kind: ObjectKind,
        create_sql: String,
        replaces: Option<ObjectId>,
        mut notices: Vec<Notice>,
    ) -> Plan {
        notices.extend(self.notices);
        let object = ObjectDraft {
            name,
            columns: self.columns,
            kind,
            reads: self.reads,
            create_sql,
        };
        let create = CreateView {
            object,
            query: self.query,
            replaces,
        };
        Plan {
            kind: PlanKind::CreateView(create),
            notices,
            parameters: Vec::new(),
        }
    }
}

impl QueryToKeep<'_> {
    pub fn plan(&self, text: &SourceText, context: &PlanContext<'_>) -> Result<KeptQuery> {
        let settings = names::fixed_settings(self.schema);
        let fixed = PlanContext {
            settings: &settings,
            parameter_types: &[],
            ..*context
        };
        let planned = query::plan(self.query, Purpose::View, text, &fixed)?;
        let reads = planned.depends_on();
        if !planned.parameters.is_empty() {
            return Err(Error::new(
                ErrorKind::UndefinedParameter,
                format!("{} cannot have parameters", self.what),
            ));
        }
        if let Some(object) = self
            .replaces
            .filter(|id| reads.contains(id))
            .and_then(|id| context.catalog.get(id))
        {
            return Err(Error::invalid(format!(
                "{} {} cannot read itself",
                object.kind_name(),
                object.name
            ))
            .or_position(position_of(self.name, text)));
        }
        let columns = columns(
            self.columns,
            "CREATE STREAMING VIEW",
            &planned.columns,
            planned.plan.schema().as_arrow(),
            text,
        )?;
        let schema = Schema::new(
            columns
                .iter()
                .map(|c| c.sql_type.field(&c.name, c.nullable))
                .collect::<Vec<_>>(),
        );
        let query = optimized(planned.plan, &schema).map_err(|error| translate::translate(error, text))?;
        Ok(KeptQuery {
            columns,
            query,
            reads,
            notices: planned.notices,
        })
    }
}

/// The names come last, so that no rule takes the projection that gives them away.
fn optimized(plan: LogicalPlan, schema: &Schema) -> datafusion::error::Result<LogicalPlan> {
    let same = plan
        .schema()
        .fields()
        .iter()
        .zip(schema.fields())
        .all(|(field, target)| field.name() == target.name() && field.data_type() == target.data_type());
    let plan = if same {
        plan
    } else {
        query::with_columns(plan, schema)?
    };
    rules::optimize_view(plan)
}

/// The columns of the view; `name (a, b)` renames the first ones.
pub fn columns(
    names_given: &[sqlparser::ast::Ident],
    statement: &str,
    output: &[crate::plan::OutputColumn],
    schema: &Schema,
    text: &SourceText,
) -> Result<Vec<Column>> {
    if names_given.len() > output.len() {
        let extra = &names_given[output.len()];
        return Err(
            Error::syntax(format!("{statement} specifies more column names than columns"))
                .or_position(text.position_of_span(extra.span)),
        );
    }
    let mut seen = HashSet::new();
    let mut columns = Vec::with_capacity(output.len());
    for (i, column) in output.iter().enumerate() {
        let renamed = names_given.get(i);
        let name = renamed.map_or_else(|| column.name.clone(), names::fold);
        if !seen.insert(name.clone()) {
            let start: Option<Location> = renamed.map(|ident| ident.span.start);
            let position = start.and_then(|start| text.position(start));
            let error = Error::new(
                ErrorKind::DuplicateColumn,
                format!("column \"{name}\" specified more than once"),
            );
            return Err(error
                .with_hint("Give one of them another name with AS.")
                .or_position(position));
        }
        let nullable = schema.field(i).is_nullable();
        columns.push(Column {
            name,
            sql_type: column.sql_type.clone(),
            nullable,
            default: None,
        });
    }
    Ok(columns)
}
