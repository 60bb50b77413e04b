//! ALTER SOURCE .. SET.

use millpond_catalog::ObjectKind;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{AlterSource, CreateRelation, Notice, Plan, PlanKind};
use crate::statement::{AlterSource as Alter, Statement};
use crate::text::SourceText;

use super::create_relation::{plan_source_at, position_of};
use super::{PlanContext, names, options};

pub fn plan(alter: &Alter, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let position = position_of(&alter.name, text);
    let object = match names::lookup(&alter.name, context) {
        Ok(object) => object,
        Err(error) if alter.if_exists && error.kind == ErrorKind::UndefinedTable => {
            let notice = Notice {
                message: format!("{}, skipping", error.message),
                hint: None,
            };
            return Ok(Plan {
                notices: vec![notice],
                ..PlanKind::Nothing { tag: "ALTER SOURCE" }.into()
            });
        }
        Err(error) => return Err(error.or_position(position)),
    };
    if !matches!(object.kind, ObjectKind::Source(_)) {
        let message = format!("\"{}\" is not a source", object.name.name);
        return Err(Error::new(ErrorKind::WrongObjectType, message)
            .with_detail(format!("It is a {}.", object.kind_name()))
            .or_position(position));
    }
    let broken = || {
        Error::new(
            ErrorKind::Internal,
            format!("the stored text of {} creates no source", object.name),
        )
    };
    let parsed = crate::parser::parse(&object.create_sql)?
        .pop()
        .ok_or_else(broken)?;
    let Statement::CreateSource(mut create) = parsed.statement else {
        return Err(broken());
    };
    let mut changed = Vec::new();
    for option in &alter.options {
        let key = options::normalise(&option.key);
        create
            .options
            .retain(|known| options::normalise(&known.key) != key);
        let mut option = option.clone();
        // Its place is in another text.
        option.position = 0;
        create.options.push(option);
        changed.push(key);
    }
    let name = object.name.clone();
    let planned = plan_source_at(&create, name, Some(object.id), &parsed.text, context)?;
    let PlanKind::CreateRelation(CreateRelation { object: draft, .. }) = planned.kind else {
        return Err(broken());
    };
    let source = object.id;
    Ok(PlanKind::AlterSource(Box::new(AlterSource {
        source,
        object: draft,
        changed,
    }))
    .into())
}
