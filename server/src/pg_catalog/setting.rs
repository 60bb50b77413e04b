//! Settings of the session, and the time zones that one of them can name.

use millpond_sql::{Setting, SettingType};

use super::SystemContext;
use super::rows::{Rows, Value};

/// Type, unit, least and greatest value, words.
type Description = (
    &'static str,
    Option<&'static str>,
    Option<i64>,
    Option<i64>,
    Option<Vec<&'static str>>,
);

/// Names of the type, unit, bounds and words of a setting, as `pg_settings` has them.
fn describe(setting: &Setting) -> [(&'static str, Value); 5] {
    let (kind, unit, min, max, words): Description = match setting.setting_type {
        SettingType::Bool => ("bool", None, None, None, None),
        SettingType::Integer { min, max } => ("integer", None, Some(min), Some(max), None),
        SettingType::Milliseconds => ("integer", Some("ms"), Some(0), Some(i64::from(i32::MAX)), None),
        SettingType::Word(words) => ("enum", None, None, None, Some(words.to_vec())),
        SettingType::Text
        | SettingType::TimeZone
        | SettingType::DateStyle
        | SettingType::Encoding
        | SettingType::Fixed => ("string", None, None, None, None),
    };
    [
        ("vartype", kind.into()),
        ("unit", unit.into()),
        ("min_val", min.map(|n| n.to_string()).into()),
        ("max_val", max.map(|n| n.to_string()).into()),
        ("enumvals", words.into()),
    ]
}

pub fn pg_settings(context: &SystemContext, rows: &mut Rows) {
    let settings = context.settings();
    for (setting, value) in settings.all() {
        let is_fixed = matches!(setting.setting_type, SettingType::Fixed);
        let source = if value == setting.default {
            "default"
        } else {
            "session"
        };
        let [kind, unit, min, max, words] = describe(setting);
        rows.add([
            ("name", setting.name.into()),
            ("setting", value.into()),
            ("category", "Millpond".into()),
            ("short_desc", setting.doc.into()),
            ("context", (if is_fixed { "internal" } else { "user" }).into()),
            ("source", source.into()),
            ("boot_val", setting.default.into()),
            ("reset_val", setting.default.into()),
            ("pending_restart", false.into()),
            kind,
            unit,
            min,
            max,
            words,
        ]);
    }
}

pub fn pg_timezone_names(_context: &SystemContext, rows: &mut Rows) {
    for zone in chrono_tz::TZ_VARIANTS {
        rows.add([("name", zone.name().into())]);
    }
}
