//! CREATE TABLE .. AS and SELECT .. INTO: a CREATE TABLE with the columns of the query, and an INSERT of its rows.

use millpond_catalog::ObjectName;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{CreateTableAs, Notice, Plan, PlanKind};
use crate::statement::{CreateTableAs as Statement, ParsedStatement};
use crate::text::SourceText;

use super::create_relation::{Place, place_of, position_of};
use super::{PlanContext, Purpose, create_streaming_view, query};

/// The tag of a table that is left empty.
const TAG: &str = "CREATE TABLE AS";

pub fn plan(create: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let place = place_of(
        &create.name,
        create.temporary,
        false,
        create.if_not_exists,
        "table",
        text,
        context,
    )?;
    let name = match place {
        Place::Taken(notice) => {
            return Ok(Plan {
                notices: vec![notice],
                ..PlanKind::Nothing { tag: TAG }.into()
            });
        }
        Place::Free { name, .. } => name,
    };
    let planned = query::plan(&create.query, Purpose::Select, text, context)?;
    if !planned.parameters.is_empty() {
        return Err(
            Error::unsupported("CREATE TABLE AS with parameters is not supported yet")
                .with_hint("CREATE TABLE, then INSERT INTO .. SELECT.")
                .or_position(position_of(&create.name, text)),
        );
    }
    let columns = create_streaming_view::columns(
        &create.columns,
        TAG,
        &planned.columns,
        planned.plan.schema().as_arrow(),
        text,
    )?;
    if columns.is_empty() {
        return Err(Error::new(
            ErrorKind::InvalidTableDefinition,
            "a table needs at least one column",
        ));
    }
    let elements: Vec<_> = columns
        .iter()
        .map(|c| format!("{} {}", ObjectName::quote(&c.name), c.sql_type))
        .collect();
    let full_name = format!(
        "{}.{}",
        ObjectName::quote(&name.schema),
        ObjectName::quote(&name.name)
    );
    let query = match &create.query_range {
        Some(range) => text.as_str()[range.clone()].to_owned(),
        None => create.query.to_string(),
    };
    let insert = match create.with_data {
        true => Some(parsed(&format!("INSERT INTO {full_name} {query}"))?),
        false => None,
    };
    Ok(Plan {
        notices: planned.notices.into_iter().collect::<Vec<Notice>>(),
        ..PlanKind::CreateTableAs(Box::new(CreateTableAs {
            create: parsed(&format!("CREATE TABLE {full_name} ({})", elements.join(", ")))?,
            insert,
        }))
        .into()
    })
}

fn parsed(text: &str) -> Result<ParsedStatement> {
    let statement = crate::parser::parse(text)?.pop();
    statement.ok_or_else(|| Error::new(ErrorKind::Internal, format!("no statement: {text}")))
}
