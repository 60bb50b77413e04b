//! Options of streaming views and of the queries of sinks, and the clauses that say the same.

use std::time::Duration;

use millpond_catalog::{Gather, JoinMode, OutputMode, Trigger, ViewOptions, WatermarkPolicy};

use crate::error::{Error, ErrorKind, Result};
use crate::plan::Notice;
use crate::statement::{EmitClause, EmitKind, WithOption};
use crate::text::SourceText;
use crate::{Settings, suggest};

use super::{OptionDeclaration, boolean, find, interval_or_none, normalise, refuse_repeated, unknown};
use crate::planner::window;

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
        value: "'default', an interval, 'availableNow' or 'once'",
        default: "'default'",
        doc: "When an epoch begins: as soon as there is input, or on multiples of the interval; or the query takes in what is there, in epochs as the caps say or in one, and ends.",
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
        name: "min_offsets_per_trigger",
        aliases: &["min_offsets"],
        value: "number",
        default: "none",
        doc: "With the default trigger: an epoch waits until so many rows of tables and views, or offsets of sources (files, lines), are there.",
    },
    OptionDeclaration {
        name: "max_trigger_delay",
        aliases: &[],
        value: "interval",
        default: "'15 minutes'",
        doc: "How long min_offsets_per_trigger waits at most after the epoch before.",
    },
    OptionDeclaration {
        name: "watermark_policy",
        aliases: &["multiple_watermark_policy"],
        value: "'min' or 'max'",
        default: "'min'",
        doc: "How the watermarks of several inputs combine: the slowest holds the others back, or all go by the fastest.",
    },
    OptionDeclaration {
        name: "join_mode",
        aliases: &[],
        value: "'lookup' or 'retract'",
        default: "'lookup' in append mode, else 'retract'",
        doc: "How a stream meets a table: each row finds what the table holds when it comes, or the join follows the table.",
    },
    OptionDeclaration {
        name: "allowed_lateness",
        aliases: &["allow_lateness", "grace_period"],
        value: "interval",
        default: "'0 seconds'",
        doc: "How long windows still take rows after the watermark has closed them; one that has come out is revised then.",
    },
    OptionDeclaration {
        name: "late_rows_retention",
        aliases: &[],
        value: "interval or 'none'",
        default: "'7 days'",
        doc: "How long sys.late_rows keeps the rows that the view dropped as late; 'none' is for ever.",
    },
    OptionDeclaration {
        name: "late_rows_max_bytes",
        aliases: &[],
        value: "number or 'none'",
        default: "67108864",
        doc: "How many bytes of late rows are kept, the newest of them.",
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

/// The option belongs to the query of a view or sink.
pub fn is_of_view(key: &str) -> bool {
    find(key, VIEW_OPTIONS).is_some()
}

/// The options and clauses of a view.
///
/// # Errors
/// Unknown options, values that are not allowed, clauses that contradict each other.
pub fn view_options(
    options: &[WithOption],
    emit: &[EmitClause],
    settings: &Settings,
    text: &SourceText,
) -> Result<(ViewOptions, Vec<Notice>)> {
    refuse_repeated(options, text)?;
    let is_set = |name: &str, to: &str| settings.get(name).is_ok_and(|value| value == to);
    let mut parsed = ViewOptions {
        no_data_epochs: is_set("streaming_no_data_batches", "on"),
        watermark_policy: match is_set("streaming_multiple_watermark_policy", "max") {
            true => WatermarkPolicy::Max,
            false => WatermarkPolicy::Min,
        },
        ..ViewOptions::default()
    };
    let mut notices = Vec::new();
    let (mut mode, mut trigger, mut allowed) = (None, None, None);
    for option in options {
        let position = text.position_of_byte(option.position);
        let at = |error: Error| error.or_position(Some(position));
        match view_option(option, &mut parsed, &mut notices, "streaming view").map_err(at)? {
            Some(Clause::Mode(value)) => set_once(&mut mode, value, "output mode", position)?,
            Some(Clause::Trigger(value)) => set_once(&mut trigger, value, "trigger", position)?,
            None => {}
        }
    }
    for clause in emit {
        let position = text.position_of_byte(clause.position);
        let at = |error: Error| error.or_position(Some(position));
        match &clause.kind {
            EmitKind::OnWindowClose => set_once(&mut mode, OutputMode::Append, "output mode", position)?,
            EmitKind::Changes => set_once(&mut mode, OutputMode::Update, "output mode", position)?,
            EmitKind::Complete => set_once(&mut mode, OutputMode::Complete, "output mode", position)?,
            EmitKind::AllowLateness(interval) => {
                set_once(
                    &mut allowed,
                    lateness(interval).map_err(at)?,
                    "allowed lateness",
                    position,
                )?;
            }
            // It names a relation, which is looked up with those of the query.
            EmitKind::LateDataTo(_) => {}
            EmitKind::Every(every) => set_once(
                &mut trigger,
                parse_trigger(every).map_err(at)?,
                "trigger",
                position,
            )?,
        }
    }
    if let Some(allowed) = allowed {
        parsed.allowed_lateness = allowed;
    }
    parsed.output_mode = mode.unwrap_or_default();
    parsed.trigger = trigger.unwrap_or_default();
    notices.extend(deprecated(parsed.trigger));
    Ok((checked(parsed)?, notices))
}

/// The options of a view with some of them changed.
///
/// # Errors
/// As [`view_options`], and options that a view keeps for life.
pub fn changed_view_options(
    current: &ViewOptions,
    changes: &[WithOption],
    kind: &str,
    text: &SourceText,
) -> Result<(ViewOptions, Vec<Notice>)> {
    refuse_repeated(changes, text)?;
    let (mut changed, mut notices) = (current.clone(), Vec::new());
    for option in changes {
        let at = |error: Error| error.or_position(Some(text.position_of_byte(option.position)));
        match view_option(option, &mut changed, &mut notices, kind).map_err(at)? {
            Some(Clause::Trigger(trigger)) => {
                changed.trigger = trigger;
                notices.extend(deprecated(trigger));
            }
            Some(Clause::Mode(mode)) if mode != current.output_mode => {
                let error = Error::unsupported(format!("the output mode of a {kind} cannot be changed"));
                let create = kind.to_uppercase();
                return Err(at(error
                    .with_detail("What it keeps depends on the mode.")
                    .with_hint(format!(
                        "Use CREATE OR REPLACE {create}, which begins anew."
                    ))));
            }
            Some(Clause::Mode(_)) | None => {}
        }
    }
    let kept = match (
        changed.join_mode != current.join_mode,
        changed.allowed_lateness != current.allowed_lateness,
    ) {
        (true, _) => Some("join mode"),
        (_, true) => Some("allowed lateness"),
        _ => None,
    };
    if let Some(what) = kept {
        let error = Error::unsupported(format!("the {what} of a {kind} cannot be changed"));
        let create = kind.to_uppercase();
        return Err(error
            .with_detail("What it keeps depends on it.")
            .with_hint(format!("Use CREATE OR REPLACE {create}, which begins anew.")));
    }
    Ok((checked(changed)?, notices))
}

/// What the options say together.
fn checked(mut options: ViewOptions) -> Result<ViewOptions> {
    options.gather = options.gather.filter(|gather| gather.offsets > 0);
    if options.gather.is_some() && options.trigger != Trigger::Default {
        let message = "min_offsets_per_trigger and a trigger cannot be used together";
        return Err(Error::invalid(message).with_hint("With an interval, input is gathered for so long."));
    }
    Ok(options)
}

/// What can also be said by a clause behind the query.
enum Clause {
    Mode(OutputMode),
    Trigger(Trigger),
}

/// Reads one option: into `parsed`, unless there is a clause for it.
fn view_option(
    option: &WithOption,
    parsed: &mut ViewOptions,
    notices: &mut Vec<Notice>,
    kind: &str,
) -> Result<Option<Clause>> {
    let Some(declared) = find(&option.key, VIEW_OPTIONS) else {
        return Err(unknown(option, VIEW_OPTIONS, kind));
    };
    match declared.name {
        "output_mode" => return Ok(Some(Clause::Mode(output_mode(&option.value)?))),
        "trigger" => return Ok(Some(Clause::Trigger(parse_trigger(&option.value)?))),
        "on_error" => parsed.fail_on_error = on_error(&option.value)?,
        "query_name" => parsed.query_name = Some(option.value.clone()),
        "watermark_policy" => parsed.watermark_policy = word(option, &POLICIES)?,
        "join_mode" => parsed.join_mode = word(option, &JOIN_MODES)?,
        "allowed_lateness" => parsed.allowed_lateness = lateness(&option.value)?,
        "late_rows_retention" => {
            let us = interval_or_none(option, declared.name)?;
            let negative = |_| Error::invalid("late_rows_retention must not be negative");
            let time = us.map(|us| u64::try_from(us).map_err(negative)).transpose()?;
            parsed.late_rows.time = time.map(Duration::from_micros);
        }
        "late_rows_max_bytes" => {
            parsed.late_rows.bytes = match option.value.eq_ignore_ascii_case("none") {
                true => None,
                false => Some(whole_number(option, "Use a whole number of bytes, or 'none'.")?),
            }
        }
        "no_data_batches" => parsed.no_data_epochs = boolean(option)?,
        "min_offsets_per_trigger" => {
            let offsets = whole_number(option, "Use a whole number; 0 waits for nothing.")?;
            let delay = parsed.gather.map_or(Gather::DEFAULT_DELAY, |gather| gather.delay);
            parsed.gather = Some(Gather { offsets, delay });
        }
        "max_trigger_delay" => {
            let us = window::microseconds(&option.value, declared.name)?;
            let us =
                u64::try_from(us).map_err(|_| Error::invalid("max_trigger_delay must not be negative"))?;
            let offsets = parsed.gather.map_or(0, |gather| gather.offsets);
            let delay = Duration::from_micros(us);
            parsed.gather = Some(Gather { offsets, delay });
        }
        other => {
            if other == "parallelism" && !option.value.parse().is_ok_and(|workers: u32| workers > 0) {
                let message = format!("invalid value for option \"parallelism\": \"{}\"", option.value);
                return Err(Error::invalid(message).with_hint("Use a whole number from 1."));
            }
            notices.push(Notice {
                message: format!("option \"{other}\" has no effect"),
                hint: Some(declared.doc.to_owned()),
            });
        }
    }
    Ok(None)
}

fn lateness(value: &str) -> Result<Duration> {
    let us = window::microseconds(value, "allowed_lateness")?;
    let us = u64::try_from(us).map_err(|_| Error::invalid("allowed_lateness must not be negative"))?;
    Ok(Duration::from_micros(us))
}

fn whole_number(option: &WithOption, hint: &str) -> Result<u64> {
    option.value.parse().map_err(|_| {
        let key = normalise(&option.key);
        let message = format!("invalid value for option \"{key}\": \"{}\"", option.value);
        Error::invalid(message).with_hint(hint)
    })
}

fn deprecated(trigger: Trigger) -> Option<Notice> {
    (trigger == Trigger::Once).then(|| Notice {
        message: "trigger 'once' is deprecated".to_owned(),
        hint: Some(
            "Use 'availableNow', which keeps the caps of the sources and runs the last epoch without input."
                .to_owned(),
        ),
    })
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

const POLICIES: [(&str, WatermarkPolicy); 2] = [("min", WatermarkPolicy::Min), ("max", WatermarkPolicy::Max)];
const JOIN_MODES: [(&str, JoinMode); 2] = [("lookup", JoinMode::Lookup), ("retract", JoinMode::Retract)];

/// The meaning of one of a few words.
fn word<T: Copy>(option: &WithOption, words: &[(&str, T)]) -> Result<T> {
    let value = option.value.to_lowercase();
    let found = words.iter().find(|(word, _)| *word == value);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let names = words.iter().map(|(word, _)| *word);
        let message = format!(
            "invalid value for option \"{}\": \"{}\"",
            option.key, option.value
        );
        Error::invalid(message).with_hint_if(
            suggest::did_you_mean(&value, names.clone())
                .or_else(|| Some(format!("Use {}.", names.collect::<Vec<_>>().join(" or ")))),
        )
    })
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

const TRIGGER_HINT: &str = "Use 'default', an interval such as '10 seconds', 'availableNow' or 'once'.";

fn parse_trigger(value: &str) -> Result<Trigger> {
    match normalise(value.trim()).replace('_', "").as_str() {
        "default" => return Ok(Trigger::Default),
        "once" => return Ok(Trigger::Once),
        "availablenow" => return Ok(Trigger::AvailableNow),
        _ => {}
    }
    if normalise(value).starts_with("continuous") {
        return Err(Error::unsupported("continuous triggers are not supported yet").with_hint(TRIGGER_HINT));
    }
    let us = window::microseconds(value, "trigger").map_err(|error| {
        let hint = Some(TRIGGER_HINT.to_owned());
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

/// As [`parse_trigger`] reads it.
pub fn show_trigger(trigger: Trigger) -> String {
    match trigger {
        Trigger::Default => "default".to_owned(),
        Trigger::Every(every) => window::show(i64::try_from(every.as_micros()).unwrap_or(i64::MAX)),
        Trigger::Once => "once".to_owned(),
        Trigger::AvailableNow => "availableNow".to_owned(),
    }
}
