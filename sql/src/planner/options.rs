//! `WITH` options: keys in one form, and the options of views and relations, each declared once with type, default and
//! doc. `docs/sql.md` lists the same declarations, which a test compares.

use std::time::Duration;

use millpond_catalog::{OptionEntry, Options, OutputMode, Trigger, ViewOptions, Watermark};

use crate::error::{Error, ErrorKind, Result};
use crate::plan::Notice;
use crate::statement::{EmitClause, EmitKind, WithOption};
use crate::text::SourceText;
use crate::{settings, suggest};

use super::window;

/// A declared option.
#[derive(Debug, Clone, Copy)]
pub struct OptionDeclaration {
    /// Canonical: lower case, words joined by `_`.
    pub name: &'static str,
    /// Other words for it, in canonical form.
    pub aliases: &'static [&'static str],
    pub value: &'static str,
    pub default: &'static str,
    pub doc: &'static str,
}

/// Options of a streaming view.
pub const VIEW_OPTIONS: &[OptionDeclaration] = &[
    OptionDeclaration {
        name: "output_mode",
        aliases: &[],
        value: "'update', 'append' or 'complete'",
        default: "'update'",
        doc: "What the view shows: the current result, only rows that are final, or the whole result for ever.",
    },
    OptionDeclaration {
        name: "trigger",
        aliases: &["processing_time", "trigger_interval"],
        value: "'default' or an interval",
        default: "'default'",
        doc: "When an epoch begins: as soon as there is input, or on multiples of the interval.",
    },
    OptionDeclaration {
        name: "on_error",
        aliases: &[],
        value: "'quarantine' or 'fail'",
        default: "'quarantine'",
        doc: "What a failing expression does: its row goes to sys.bad_rows, or the query stops.",
    },
    OptionDeclaration {
        name: "query_name",
        aliases: &["name"],
        value: "text",
        default: "the view's name",
        doc: "The name shown in sys.queries.",
    },
    OptionDeclaration {
        name: "no_data_batches",
        aliases: &[
            "no_data_epochs",
            "no_data_micro_batches",
            "no_data_micro_batches_enabled",
        ],
        value: "boolean",
        default: "true",
        doc: "Run one more epoch without input when the watermark moved.",
    },
    OptionDeclaration {
        name: "parallelism",
        aliases: &["streaming_parallelism"],
        value: "number",
        default: "all workers",
        doc: "Accepted with a notice; state is always spread over all workers.",
    },
    OptionDeclaration {
        name: "checkpoint_location",
        aliases: &[],
        value: "path",
        default: "the data directory",
        doc: "Accepted with a notice; checkpoints are always in the server's data directory.",
    },
];

/// Options of a table, stream or source that do not belong to its connector.
pub const RELATION_OPTIONS: &[OptionDeclaration] = &[
    OptionDeclaration {
        name: "max_future",
        aliases: &["watermark_max_future"],
        value: "interval or 'none'",
        default: "'1 day'",
        doc: "Rows whose event time is further ahead of the processing time do not move the watermark.",
    },
    OptionDeclaration {
        name: "append_only",
        aliases: &["appendonly"],
        value: "boolean",
        default: "false",
        doc: "The same as APPEND ONLY.",
    },
];

/// A key in one form: lower case, words joined by `_`. Keys of a client library keep their text.
pub fn normalise(key: &str) -> String {
    let lower = key.to_lowercase();
    if lower.starts_with("kafka.") || lower.starts_with("properties.") {
        return key.to_owned();
    }
    let mut normal = String::with_capacity(key.len() + 4);
    let mut previous_lower = false;
    for c in key.chars() {
        if c.is_uppercase() && previous_lower {
            normal.push('_');
        }
        previous_lower = c.is_lowercase() || c.is_ascii_digit();
        match c {
            '.' | '-' | ' ' => normal.push('_'),
            c => normal.extend(c.to_lowercase()),
        }
    }
    normal
}

/// The declaration of a key. Keys that differ only in where words are joined are equal.
fn find(key: &str, declared: &'static [OptionDeclaration]) -> Option<&'static OptionDeclaration> {
    let joined = |key: &str| key.replace('_', "");
    let key = joined(&normalise(key));
    declared
        .iter()
        .find(|d| joined(d.name) == key || d.aliases.iter().any(|a| joined(a) == key))
}

fn unknown(option: &WithOption, declared: &[OptionDeclaration], of: &str) -> Error {
    let key = normalise(&option.key);
    let names = declared.iter().map(|d| d.name);
    Error::invalid(format!("unknown option \"{key}\" for a {of}")).with_hint_if(
        suggest::did_you_mean(&key, names.clone()).or_else(|| {
            Some(format!(
                "Known options: {}.",
                names.collect::<Vec<_>>().join(", ")
            ))
        }),
    )
}

/// A key that was given twice.
fn repeated(options: &[WithOption]) -> Option<&WithOption> {
    options.iter().enumerate().find_map(|(i, option)| {
        options[..i]
            .iter()
            .any(|o| normalise(&o.key) == normalise(&option.key))
            .then_some(option)
    })
}

fn refuse_repeated(options: &[WithOption], text: &SourceText) -> Result<()> {
    match repeated(options) {
        Some(option) => Err(
            Error::syntax(format!("option \"{}\" is given twice", normalise(&option.key)))
                .or_position(Some(text.position_of_byte(option.position))),
        ),
        None => Ok(()),
    }
}

/// The option belongs to the query of a view or sink.
pub fn is_of_view(key: &str) -> bool {
    find(key, VIEW_OPTIONS).is_some()
}

/// What the options of a table or source say, besides those of the connector.
#[derive(Debug, Default)]
pub struct RelationOptions {
    /// `None`: not said.
    pub max_future_us: Option<Option<i64>>,
    pub append_only: bool,
    pub others: Options,
}

/// Takes the options that are not a connector's out of the list.
///
/// # Errors
/// A value that its option does not allow.
pub fn relation_options(options: &[WithOption], text: &SourceText) -> Result<RelationOptions> {
    refuse_repeated(options, text)?;
    let mut parsed = RelationOptions::default();
    for option in options {
        let at = |error: Error| error.or_position(Some(text.position_of_byte(option.position)));
        match find(&option.key, RELATION_OPTIONS).map(|d| d.name) {
            Some("max_future") => {
                let off = ["none", "off"]
                    .iter()
                    .any(|w| option.value.eq_ignore_ascii_case(w));
                let us = if off {
                    None
                } else {
                    Some(window::microseconds(&option.value, "max_future").map_err(at)?)
                };
                if us.is_some_and(|us| us < 0) {
                    return Err(at(Error::invalid("max_future must not be negative")));
                }
                parsed.max_future_us = Some(us);
            }
            Some(_) => parsed.append_only = boolean(option).map_err(at)?,
            None => parsed.others.push(OptionEntry {
                key: normalise(&option.key),
                value: option.value.clone(),
                position: Some(option.position),
            }),
        }
    }
    Ok(parsed)
}

/// Refuses options of a table or stream that nothing knows.
pub fn refuse_unknown_table_options(options: &[WithOption], of: &str, text: &SourceText) -> Result<()> {
    match options.iter().find(|o| find(&o.key, RELATION_OPTIONS).is_none()) {
        Some(option) => {
            Err(unknown(option, RELATION_OPTIONS, of)
                .or_position(Some(text.position_of_byte(option.position))))
        }
        None => Ok(()),
    }
}

/// The default where nothing was said.
pub fn max_future(said: Option<Option<i64>>) -> Option<i64> {
    said.unwrap_or(Some(Watermark::DEFAULT_MAX_FUTURE_US))
}

/// The options and clauses of a view.
///
/// # Errors
/// Unknown options, values that are not allowed, clauses that contradict each other.
pub fn view_options(
    options: &[WithOption],
    emit: &[EmitClause],
    no_data_epochs: bool,
    text: &SourceText,
) -> Result<(ViewOptions, Vec<Notice>)> {
    refuse_repeated(options, text)?;
    let mut parsed = ViewOptions {
        no_data_epochs,
        ..ViewOptions::default()
    };
    let mut notices = Vec::new();
    let (mut mode, mut trigger) = (None, None);
    for option in options {
        let position = text.position_of_byte(option.position);
        let at = |error: Error| error.or_position(Some(position));
        let Some(declared) = find(&option.key, VIEW_OPTIONS) else {
            return Err(at(unknown(option, VIEW_OPTIONS, "streaming view")));
        };
        match declared.name {
            "output_mode" => set_once(
                &mut mode,
                output_mode(&option.value).map_err(at)?,
                "output mode",
                position,
            )?,
            "trigger" => set_once(
                &mut trigger,
                parse_trigger(&option.value).map_err(at)?,
                "trigger",
                position,
            )?,
            "on_error" => parsed.fail_on_error = on_error(&option.value).map_err(at)?,
            "query_name" => parsed.query_name = Some(option.value.clone()),
            "no_data_batches" => parsed.no_data_epochs = boolean(option).map_err(at)?,
            other => notices.push(Notice {
                message: format!("option \"{other}\" has no effect"),
                hint: Some(declared.doc.to_owned()),
            }),
        }
    }
    for clause in emit {
        let position = text.position_of_byte(clause.position);
        let at = |error: Error| error.or_position(Some(position));
        match &clause.kind {
            EmitKind::OnWindowClose => set_once(&mut mode, OutputMode::Append, "output mode", position)?,
            EmitKind::Changes => set_once(&mut mode, OutputMode::Update, "output mode", position)?,
            EmitKind::Complete => set_once(&mut mode, OutputMode::Complete, "output mode", position)?,
            EmitKind::Every(every) => set_once(
                &mut trigger,
                parse_trigger(every).map_err(at)?,
                "trigger",
                position,
            )?,
        }
    }
    parsed.output_mode = mode.unwrap_or_default();
    parsed.trigger = trigger.unwrap_or_default();
    Ok((parsed, notices))
}

fn set_once<T: PartialEq>(place: &mut Option<T>, value: T, what: &str, position: usize) -> Result<()> {
    match place {
        Some(before) if *before != value => {
            Err(Error::syntax(format!("conflicting clauses for the {what}")).or_position(Some(position)))
        }
        _ => {
            *place = Some(value);
            Ok(())
        }
    }
}

fn output_mode(value: &str) -> Result<OutputMode> {
    match value.to_lowercase().as_str() {
        "update" => Ok(OutputMode::Update),
        "append" => Ok(OutputMode::Append),
        "complete" => Ok(OutputMode::Complete),
        other => Err(
            Error::invalid(format!("invalid value for option \"output_mode\": \"{value}\"")).with_hint_if(
                suggest::did_you_mean(other, ["update", "append", "complete"])
                    .or(Some("Use update, append or complete.".to_owned())),
            ),
        ),
    }
}

fn on_error(value: &str) -> Result<bool> {
    match value.to_lowercase().as_str() {
        "fail" => Ok(true),
        "quarantine" | "continue" => Ok(false),
        other => Err(
            Error::invalid(format!("invalid value for option \"on_error\": \"{value}\"")).with_hint_if(
                suggest::did_you_mean(other, ["quarantine", "fail"])
                    .or(Some("Use quarantine or fail.".to_owned())),
            ),
        ),
    }
}

fn boolean(option: &WithOption) -> Result<bool> {
    settings::boolean(&option.value).ok_or_else(|| {
        Error::invalid(format!(
            "option \"{}\" requires a Boolean value",
            normalise(&option.key)
        ))
    })
}

fn parse_trigger(value: &str) -> Result<Trigger> {
    match normalise(value.trim()).as_str() {
        "default" | "0 seconds" | "0_seconds" => return Ok(Trigger::Default),
        "once" | "available_now" | "continuous" => {
            return Err(
                Error::unsupported(format!("trigger '{value}' is not supported yet"))
                    .with_hint("Use 'default' or an interval such as '10 seconds'."),
            );
        }
        _ => {}
    }
    if normalise(value).starts_with("continuous") {
        return Err(Error::unsupported("continuous triggers are not supported yet"));
    }
    let us = window::microseconds(value, "trigger").map_err(|error| {
        let hint = Some("Use 'default' or an interval such as '10 seconds'.".to_owned());
        if error.kind == ErrorKind::InvalidDatetimeFormat {
            Error::invalid(format!("invalid value for option \"trigger\": \"{value}\"")).with_hint_if(hint)
        } else {
            error.with_hint_if(hint)
        }
    })?;
    match u64::try_from(us) {
        Ok(0) => Ok(Trigger::Default),
        Ok(us) => Ok(Trigger::Every(Duration::from_micros(us))),
        Err(_) => Err(Error::invalid("trigger must not be negative")),
    }
}

pub fn show_mode(mode: OutputMode) -> &'static str {
    match mode {
        OutputMode::Update => "update",
        OutputMode::Append => "append",
        OutputMode::Complete => "complete",
    }
}

pub fn show_duration(duration: Duration) -> String {
    window::show(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_equal_after_normalisation() {
        for key in [
            "outputMode",
            "output.mode",
            "OUTPUT-MODE",
            "output_mode",
            "outputmode",
        ] {
            assert_eq!(
                find(key, VIEW_OPTIONS).map(|d| d.name),
                Some("output_mode"),
                "{key}"
            );
        }
        assert_eq!(normalise("rowsPerSecond"), "rows_per_second");
        assert_eq!(normalise("kafka.bootstrap.Servers"), "kafka.bootstrap.Servers");
    }
}
