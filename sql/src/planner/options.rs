//! `WITH` options: keys in one form, and the options of views and relations, each declared once with type, default and
//! doc. `docs/sql.md` lists the same declarations, which a test compares.

use millpond_catalog::{OptionEntry, Options, Watermark};

use crate::error::{Error, Result};
use crate::statement::WithOption;
use crate::text::SourceText;
use crate::{settings, suggest};

use super::window;

mod view;

pub use view::{VIEW_OPTIONS, changed_view_options, is_of_view, show_mode, show_trigger, view_options};

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
        name: "idle_timeout",
        aliases: &["watermark_idle_timeout", "scan_watermark_idle_timeout"],
        value: "interval or 'none'",
        default: "'none'",
        doc: "An input that gives no row for so long does not hold back the watermarks of a query with several inputs.",
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

/// What the options of a table or source say, besides those of the connector.
#[derive(Debug, Default)]
pub struct RelationOptions {
    /// `None`: not said.
    pub max_future_us: Option<Option<i64>>,
    /// `None`: not said.
    pub idle_timeout_us: Option<Option<i64>>,
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
                let us = interval_or_none(option, "max_future").map_err(at)?;
                if us.is_some_and(|us| us < 0) {
                    return Err(at(Error::invalid("max_future must not be negative")));
                }
                parsed.max_future_us = Some(us);
            }
            Some("idle_timeout") => {
                let us = interval_or_none(option, "idle_timeout").map_err(at)?;
                if us.is_some_and(|us| us <= 0) {
                    return Err(at(Error::invalid("idle_timeout must be greater than zero")
                        .with_hint("'none' turns it off.")));
                }
                parsed.idle_timeout_us = Some(us);
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

/// Microseconds; `None` where it is turned off.
fn interval_or_none(option: &WithOption, name: &str) -> Result<Option<i64>> {
    let off = ["none", "off"]
        .iter()
        .any(|word| option.value.eq_ignore_ascii_case(word));
    match off {
        true => Ok(None),
        false => window::microseconds(&option.value, name).map(Some),
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
