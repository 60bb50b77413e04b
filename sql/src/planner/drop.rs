//! DROP.

use std::collections::BTreeSet;

use millpond_catalog::Object;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Drop, Notice, Plan, PlanKind};
use crate::statement::{Drop as Statement, DropKind};
use crate::text::SourceText;

use super::show::is_kind;
use super::{PlanContext, names};

pub fn plan(drop: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let tag = match drop.kind {
        DropKind::Table => "DROP TABLE",
        DropKind::Stream => "DROP STREAM",
        DropKind::Source => "DROP SOURCE",
        DropKind::View => "DROP STREAMING VIEW",
        DropKind::AnyView => "DROP VIEW",
        DropKind::Sink => "DROP SINK",
    };
    let mut notices = Vec::new();
    let mut named = BTreeSet::new();
    for name in &drop.names {
        let position = names::span_start(name).and_then(|start| text.position(start));
        match names::lookup(name, context) {
            Ok(object) if is_kind(object, drop.kind) => {
                named.insert(object.id);
            }
            Ok(object) => return Err(wrong_kind("DROP", object, drop.kind).or_position(position)),
            Err(error) if drop.if_exists && error.kind == ErrorKind::UndefinedTable => {
                notices.push(Notice {
                    message: format!("{}, skipping", error.message),
                    hint: None,
                });
            }
            Err(error) => return Err(error.or_position(position)),
        }
    }
    let mut objects = named.clone();
    for id in &named {
        let outside: Vec<_> = context
            .catalog
            .dependents(*id)
            .into_iter()
            .filter(|o| !named.contains(&o.id))
            .collect();
        if !outside.is_empty() && !drop.cascade {
            let object = context
                .catalog
                .get(*id)
                .expect("it was looked up in this catalog");
            return Err(millpond_catalog::Error::HasDependents {
                kind: object.kind_name(),
                name: object.name.clone(),
                dependents: outside.iter().map(|o| o.name.clone()).collect(),
            }
            .into());
        }
        objects.extend(outside.iter().map(|o| o.id));
    }
    let also: Vec<_> = objects
        .difference(&named)
        .filter_map(|id| context.catalog.get(*id))
        .collect();
    if !also.is_empty() {
        let list: Vec<_> = also
            .iter()
            .map(|o| format!("{} {}", o.kind_name(), o.name))
            .collect();
        notices.push(Notice {
            message: format!("drop cascades to {}", list.join(", ")),
            hint: None,
        });
    }
    // Descending ids put readers before what they read.
    let objects: Vec<_> = objects.into_iter().rev().collect();
    let kind = if objects.is_empty() {
        PlanKind::Nothing { tag }
    } else {
        PlanKind::Drop(Drop { objects, tag })
    };
    Ok(Plan {
        notices,
        ..kind.into()
    })
}

/// The error for an object that is not of the kind that was named after `verb`.
pub fn wrong_kind(verb: &str, object: &Object, kind: DropKind) -> Error {
    let right = object.kind_name().to_uppercase();
    let expected = kind.to_string().to_lowercase();
    Error::new(
        ErrorKind::WrongObjectType,
        format!("\"{}\" is not a {expected}", object.name.name),
    )
    .with_hint(format!("It is a {}: use {verb} {right}.", object.kind_name()))
}
