//! SUBSCRIBE: the changes of a relation as rows.

use millpond_catalog::{ObjectKind, SqlType};

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{OutputColumn, Plan, PlanKind, Subscribe};
use crate::statement::Subscribe as Statement;
use crate::text::SourceText;

use super::create_relation::position_of;
use super::{PlanContext, names};

pub fn plan(subscribe: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    Ok(PlanKind::Subscribe(resolve(subscribe, text, context)?).into())
}

pub fn resolve(subscribe: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Subscribe> {
    let position = position_of(&subscribe.name, text);
    let object = names::lookup(&subscribe.name, context).map_err(|error| error.or_position(position))?;
    let name = &object.name.name;
    let refused = match &object.kind {
        ObjectKind::Table(_) | ObjectKind::View(_) => None,
        ObjectKind::Source(_) => Some((
            format!("source \"{name}\" has no log of changes"),
            "Create a streaming view that reads the source and subscribe to that.",
        )),
        ObjectKind::PlainView(_) => Some((
            format!("view \"{name}\" has no log of changes"),
            "Create a streaming view with its query and subscribe to that.",
        )),
        ObjectKind::Sink(_) => Some((
            format!("sink \"{name}\" keeps no rows"),
            "Subscribe to what the sink reads.",
        )),
    };
    if let Some((message, hint)) = refused {
        return Err(Error::new(ErrorKind::WrongObjectType, message)
            .with_hint(hint)
            .or_position(position));
    }
    if let (Some(from), Some(to)) = (subscribe.as_of, subscribe.up_to)
        && to < from
    {
        return Err(Error::invalid(format!("UP TO {to} lies before AS OF {from}")));
    }
    let column = |name: &str, sql_type: SqlType| OutputColumn {
        name: name.to_owned(),
        sql_type,
        origin: None,
    };
    let mut columns = vec![column("ts", SqlType::Int8)];
    if subscribe.progress {
        columns.push(column("progressed", SqlType::Bool));
    }
    columns.push(column("diff", SqlType::Int8));
    columns.extend(
        object
            .columns
            .iter()
            .enumerate()
            .map(|(position, c)| OutputColumn {
                name: c.name.clone(),
                sql_type: c.sql_type.clone(),
                origin: Some((object.id, position)),
            }),
    );
    Ok(Subscribe {
        object: object.id,
        columns,
        snapshot: subscribe.snapshot,
        progress: subscribe.progress,
        as_of: subscribe.as_of,
        up_to: subscribe.up_to,
    })
}
