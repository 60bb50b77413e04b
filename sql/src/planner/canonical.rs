//! The canonical text of an object, from what was resolved. SHOW CREATE prints it, and the server plans it again at start,
//! so everything that makes the object stands in it.

use std::fmt::Write;
use std::time::Duration;

use millpond_catalog::{
    Check, Column, Gather, JoinMode, Key, LateRetention, ObjectName, Options, OutputMode, Trigger,
    ViewOptions, Watermark, WatermarkPolicy,
};

use super::{options, window};

/// `CREATE TABLE`, `CREATE STREAM` or `CREATE SOURCE`.
pub struct Relation<'a> {
    pub kind: &'static str,
    pub name: &'a ObjectName,
    pub columns: &'a [Column],
    pub keys: &'a [Key],
    pub checks: &'a [Check],
    pub watermark: Option<&'a Watermark>,
    pub append_only: bool,
    pub options: Vec<(String, String)>,
}

pub fn relation(relation: &Relation<'_>) -> String {
    let mut elements: Vec<String> = relation.columns.iter().map(column).collect();
    let name_of = |position: usize| ObjectName::quote(&relation.columns[position].name);
    for key in relation.keys {
        let names: Vec<_> = key.columns.iter().map(|p| name_of(*p)).collect();
        let kind = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
        let enforced = if key.enforced { "" } else { " NOT ENFORCED" };
        let usual = key.name == super::keys::usual_name(relation.name, relation.columns, key);
        let constraint = constraint(&key.name, usual);
        elements.push(format!("{constraint}{kind} ({}){enforced}", names.join(", ")));
    }
    for check in relation.checks {
        elements.push(format!(
            "{}CHECK ({})",
            constraint(&check.name, false),
            check.expression
        ));
    }
    let mut options = relation.options.clone();
    if let Some(watermark) = relation.watermark {
        elements.push(watermark_clause(watermark, &name_of(watermark.column)));
        if watermark.max_future_us != Some(Watermark::DEFAULT_MAX_FUTURE_US) {
            let max_future = watermark
                .max_future_us
                .map_or_else(|| "none".to_owned(), window::show);
            options.push(("max_future".to_owned(), max_future));
        }
        if let Some(idle_timeout) = watermark.idle_timeout_us {
            options.push(("idle_timeout".to_owned(), window::show(idle_timeout)));
        }
    }
    let mut sql = format!("CREATE {} {}", relation.kind, relation.name);
    if !elements.is_empty() {
        let _ = write!(sql, " ({})", elements.join(", "));
    }
    if relation.append_only {
        sql.push_str(" APPEND ONLY");
    }
    sql.push_str(&with(&options));
    sql
}

/// The name of a constraint, where it is not the usual one.
fn constraint(name: &str, usual: bool) -> String {
    if usual {
        String::new()
    } else {
        format!("CONSTRAINT {} ", ObjectName::quote(name))
    }
}

fn column(column: &Column) -> String {
    let mut text = format!("{} {}", ObjectName::quote(&column.name), column.sql_type);
    if !column.nullable {
        text.push_str(" NOT NULL");
    }
    if let Some(default) = &column.default {
        let _ = write!(text, " DEFAULT {default}");
    }
    text
}

fn watermark_clause(watermark: &Watermark, column: &str) -> String {
    match watermark.delay_us {
        0 => format!("WATERMARK FOR {column}"),
        delay => format!(
            "WATERMARK FOR {column} AS {column} - INTERVAL {}",
            quote(&window::show(delay))
        ),
    }
}

/// The options of a source as pairs.
pub fn pairs(connector: &str, options: &Options) -> Vec<(String, String)> {
    let connector = [("connector".to_owned(), connector.to_owned())];
    connector
        .into_iter()
        .chain(options.iter().map(|o| (o.key.clone(), o.value.clone())))
        .collect()
}

/// `CREATE STREAMING VIEW`. The query is as the user wrote it.
pub fn view(
    name: &ObjectName,
    columns: &[String],
    view_options: &ViewOptions,
    query: &str,
    late_data_to: Option<&ObjectName>,
) -> String {
    let mut sql = format!("CREATE STREAMING VIEW {name}");
    if !columns.is_empty() {
        let names: Vec<_> = columns.iter().map(|c| ObjectName::quote(c)).collect();
        let _ = write!(sql, " ({})", names.join(", "));
    }
    sql.push_str(&with(&view_pairs(view_options)));
    let _ = write!(sql, " AS {query}{}", late_data(late_data_to));
    sql
}

/// The clause behind the query.
fn late_data(to: Option<&ObjectName>) -> String {
    to.map_or_else(String::new, |name| format!(" LATE DATA TO {name}"))
}

/// `CREATE SINK`: from a relation, if it has one, else with its query as the user wrote it.
pub fn sink(
    name: &ObjectName,
    from: Option<&ObjectName>,
    view_options: &ViewOptions,
    connector: &[(String, String)],
    query: &str,
    late_data_to: Option<&ObjectName>,
) -> String {
    let pairs = [connector, &view_pairs(view_options)].concat();
    let with = with(&pairs);
    let late_data = late_data(late_data_to);
    match from {
        Some(relation) => format!("CREATE SINK {name}{with} FROM {relation}{late_data}"),
        None => format!("CREATE SINK {name}{with} AS {query}{late_data}"),
    }
}

/// The options of a view that differ from the default.
pub fn view_pairs(view_options: &ViewOptions) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    if view_options.output_mode != OutputMode::default() {
        pairs.push((
            "output_mode",
            options::show_mode(view_options.output_mode).to_owned(),
        ));
    }
    if view_options.trigger != Trigger::default() {
        pairs.push(("trigger", options::show_trigger(view_options.trigger)));
    }
    if let Some(gather) = view_options.gather {
        pairs.push(("min_offsets_per_trigger", gather.offsets.to_string()));
        if gather.delay != Gather::DEFAULT_DELAY {
            let delay_us = i64::try_from(gather.delay.as_micros()).unwrap_or(i64::MAX);
            pairs.push(("max_trigger_delay", window::show(delay_us)));
        }
    }
    if view_options.fail_on_error {
        pairs.push(("on_error", "fail".to_owned()));
    }
    if let Some(query_name) = &view_options.query_name {
        pairs.push(("query_name", query_name.clone()));
    }
    if !view_options.no_data_epochs {
        pairs.push(("no_data_batches", "false".to_owned()));
    }
    if view_options.watermark_policy == WatermarkPolicy::Max {
        pairs.push(("watermark_policy", "max".to_owned()));
    }
    if !view_options.allowed_lateness.is_zero() {
        let us = i64::try_from(view_options.allowed_lateness.as_micros()).unwrap_or(i64::MAX);
        pairs.push(("allowed_lateness", window::show(us)));
    }
    let kept = LateRetention::default();
    if view_options.late_rows.time != kept.time {
        let us = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        let shown = { view_options.late_rows.time }.map_or("none".to_owned(), |time| window::show(us(time)));
        pairs.push(("late_rows_retention", shown));
    }
    if view_options.late_rows.bytes != kept.bytes {
        let shown = { view_options.late_rows.bytes }.map_or("none".to_owned(), |bytes| bytes.to_string());
        pairs.push(("late_rows_max_bytes", shown));
    }
    match view_options.join_mode {
        JoinMode::Default => {}
        JoinMode::Lookup => pairs.push(("join_mode", "lookup".to_owned())),
        JoinMode::Retract => pairs.push(("join_mode", "retract".to_owned())),
    }
    pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

/// `CREATE VIEW`.
pub fn plain_view(name: &ObjectName, columns: &[String], query: &str) -> String {
    if columns.is_empty() {
        return format!("CREATE VIEW {name} AS {query}");
    }
    let columns: Vec<_> = columns.iter().map(|c| ObjectName::quote(c)).collect();
    format!("CREATE VIEW {name} ({}) AS {query}", columns.join(", "))
}

fn with(options: &[(String, String)]) -> String {
    if options.is_empty() {
        return String::new();
    }
    let pairs: Vec<_> = options
        .iter()
        .map(|(key, value)| format!("{} = {}", ObjectName::quote(key), quote(value)))
        .collect();
    format!(" WITH ({})", pairs.join(", "))
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
