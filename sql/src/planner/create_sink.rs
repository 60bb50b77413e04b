//! CREATE SINK: a query kept up to date, and where its changes go.

use millpond_catalog::{ObjectId, ObjectKind, ObjectName, OptionEntry, Options, Sink, StreamingView};

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Plan, PlanKind};
use crate::statement::{CreateSink as Statement, SinkSource, WithOption};
use crate::text::SourceText;

use super::create_relation::{Place, place, position_of};
use super::create_streaming_view::QueryToKeep;
use super::{PlanContext, canonical, late_data, names, options};

pub fn plan(create: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let place = place(
        &create.name,
        create.or_replace,
        create.if_not_exists,
        "sink",
        text,
        context,
    )?;
    let (name, replaces) = match place {
        Place::Taken(notice) => {
            return Ok(Plan {
                notices: vec![notice],
                ..PlanKind::Nothing { tag: "CREATE SINK" }.into()
            });
        }
        Place::Free { name, replaces } => (name, replaces),
    };
    plan_at(create, name, replaces, text, context)
}

/// The sink as it would be if nothing had its name: for looking at one that exists.
pub fn plan_anew(create: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let name = names::new_name(&create.name, context)?;
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
    let (own, of_connector): (Vec<WithOption>, Vec<WithOption>) = create
        .options
        .iter()
        .cloned()
        .partition(|option| options::is_of_view(&option.key));
    let (mut view_options, notices) = options::view_options(&own, &create.emit, context.settings, text)?;
    let (connector, connector_options) = connector(&of_connector, create, &name, text)?;
    let (query, written) = match &create.source {
        SinkSource::From(relation, query) => {
            // Whatever is wrong with the name is told with its place in the text.
            let position = position_of(relation, text);
            let object = names::lookup(relation, context).map_err(|error| error.or_position(position))?;
            (query, format!("SELECT * FROM {}", object.name))
        }
        SinkSource::Query(query, range) => (query, text.as_str()[range.clone()].to_owned()),
    };
    let mut kept = QueryToKeep {
        what: "a sink",
        schema: &name.schema,
        name: &create.name,
        columns: &[],
        query,
        replaces,
    }
    .plan(text, context)?;
    let from = match &create.source {
        SinkSource::From(..) => kept.reads.first().and_then(|id| context.catalog.get(*id)),
        SinkSource::Query(..) => None,
    };
    let late = late_data::target(&create.emit, &mut kept.reads, text, context)?;
    view_options.late_data_to = late.map(|table| table.id);
    let create_sql = canonical::sink(
        &name,
        from.map(|object| &object.name),
        &view_options,
        &canonical::pairs(&connector, &connector_options),
        &written,
        late.map(|table| &table.name),
    );
    let sink = Sink {
        connector,
        options: connector_options,
        view: StreamingView {
            query: written,
            options: view_options,
            paused: false,
        },
    };
    Ok(kept.into_plan(name, ObjectKind::Sink(sink), create_sql, replaces, notices))
}

/// The connector, and the options that are its own.
fn connector(
    options: &[WithOption],
    create: &Statement,
    name: &ObjectName,
    text: &SourceText,
) -> Result<(String, Options)> {
    let parsed = options::relation_options(options, text)?;
    let mut others = parsed.others;
    let place = others.iter().position(|option| option.key == "connector");
    let Some(place) = place else {
        return Err(Error::new(
            ErrorKind::InvalidTableDefinition,
            format!("sink \"{}\" has no connector", name.name),
        )
        .with_hint("Write WITH (connector = 'file', path = '..', format = 'parquet').")
        .or_position(position_of(&create.name, text)));
    };
    let OptionEntry { value, .. } = others.remove(place);
    Ok((value, others))
}
