//! ALTER STREAMING VIEW and ALTER SINK.

use millpond_catalog::{Object, ViewOptions};

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{AlterView, AlterViewAction, CreateView, Notice, Plan, PlanKind};
use crate::settings::Settings;
use crate::statement::{AlterAction, AlterView as Alter, EmitClause, EmitKind, Statement, WithOption};
use crate::text::SourceText;

use super::{PlanContext, canonical, create_sink, create_streaming_view, find_view, options};

pub fn plan(alter: &Alter, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let view = match find_view(&alter.name, text, context) {
        Ok(view) => view,
        Err(error) if alter.if_exists && error.kind == ErrorKind::UndefinedTable => {
            let notice = Notice {
                message: format!("{}, skipping", error.message),
                hint: None,
            };
            let tag = "ALTER STREAMING VIEW";
            return Ok(Plan {
                notices: vec![notice],
                ..PlanKind::Nothing { tag }.into()
            });
        }
        Err(error) => return Err(error),
    };
    let mut notices = Vec::new();
    let action = match &alter.action {
        AlterAction::Pause => AlterViewAction::Pause,
        AlterAction::Resume => AlterViewAction::Resume,
        AlterAction::Set(changes) => {
            let object = context
                .catalog
                .get(view)
                .ok_or_else(|| Error::new(ErrorKind::Internal, "a view that was found is in the catalog"))?;
            let (create, remarks) = set(object, changes, text, context)?;
            notices = remarks;
            AlterViewAction::Set(Box::new(create))
        }
    };
    Ok(Plan {
        notices,
        ..PlanKind::AlterView(AlterView { view, action }).into()
    })
}

/// The object as it would be created with the other options.
fn set(
    object: &Object,
    changes: &[WithOption],
    text: &SourceText,
    context: &PlanContext<'_>,
) -> Result<(CreateView, Vec<Notice>)> {
    let broken = || {
        Error::new(
            ErrorKind::Internal,
            format!("the stored text of {} creates no view", object.name),
        )
    };
    let current = &object.query().ok_or_else(broken)?.options;
    let (changed, notices) = options::changed_view_options(current, changes, object.kind_name(), text)?;
    let parsed = crate::parser::parse(&object.create_sql)?
        .pop()
        .ok_or_else(broken)?;
    // As at the next start of the server.
    let settings = Settings::default();
    let context = PlanContext {
        settings: &settings,
        ..*context
    };
    // The others are options, which are written anew.
    let stays = |clause: &EmitClause| matches!(clause.kind, EmitKind::LateDataTo(_));
    let plan = match parsed.statement {
        Statement::CreateView(mut create) => {
            create.options = with_options(Vec::new(), &changed);
            create.emit.retain(stays);
            create_streaming_view::plan_anew(&create, &parsed.text, &context)?
        }
        Statement::CreateSink(mut create) => {
            create.options.retain(|option| !options::is_of_view(&option.key));
            create.options = with_options(create.options, &changed);
            create.emit.retain(stays);
            create_sink::plan_anew(&create, &parsed.text, &context)?
        }
        _ => return Err(broken()),
    };
    match plan.kind {
        PlanKind::CreateView(create) => Ok((create, notices)),
        _ => Err(broken()),
    }
}

fn with_options(mut options: Vec<WithOption>, view: &ViewOptions) -> Vec<WithOption> {
    options.extend(
        canonical::view_pairs(view)
            .into_iter()
            .map(|(key, value)| WithOption {
                key,
                value,
                position: 0,
            }),
    );
    options
}
