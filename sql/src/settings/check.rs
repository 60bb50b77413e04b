//! Checks a value against the type of its setting and brings it to the form that SHOW prints.

use crate::error::{Error, ErrorKind, Result};

use super::{Setting, SettingType};

/// `value` as the setting keeps it.
pub fn canonical(setting: &Setting, value: &str) -> Result<String> {
    let refuse = || {
        Error::invalid(format!(
            "invalid value for parameter \"{}\": \"{value}\"",
            setting.name
        ))
    };
    let trimmed = value.trim();
    match setting.setting_type {
        SettingType::Bool => boolean(trimmed)
            .map(|on| if on { "on" } else { "off" }.to_owned())
            .ok_or_else(|| {
                Error::invalid(format!("parameter \"{}\" requires a Boolean value", setting.name))
            }),
        SettingType::Integer { min, max } => {
            let number: i64 = trimmed.parse().map_err(|_| refuse())?;
            if number < min || number > max {
                return Err(Error::invalid(format!(
                    "{number} is outside the valid range for parameter \"{}\" ({min} .. {max})",
                    setting.name
                )));
            }
            Ok(number.to_string())
        }
        SettingType::Milliseconds => milliseconds(trimmed).map(show_milliseconds).ok_or_else(|| {
            refuse().with_hint(
                "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".",
            )
        }),
        SettingType::Word(words) => {
            let on_off = boolean(trimmed).map(|on| if on { "on" } else { "off" });
            let found = words
                .iter()
                .find(|w| w.eq_ignore_ascii_case(trimmed) || on_off == Some(**w));
            found
                .map(|w| (*w).to_owned())
                .ok_or_else(|| refuse().with_hint(format!("Available values: {}.", words.join(", "))))
        }
        SettingType::Text => Ok(value.to_owned()),
        SettingType::TimeZone => time_zone(trimmed).ok_or_else(refuse),
        SettingType::DateStyle => date_style(trimmed).unwrap_or_else(|| Err(refuse())),
        SettingType::Encoding => {
            let plain: String = trimmed
                .to_ascii_lowercase()
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .collect();
            match plain.as_str() {
                "utf8" | "unicode" => Ok("UTF8".to_owned()),
                _ => Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("client_encoding \"{value}\" is not supported"),
                )
                .with_hint("Use UTF8.")),
            }
        }
        SettingType::Fixed => Err(Error::new(
            ErrorKind::CannotChangeNow,
            format!("parameter \"{}\" cannot be changed", setting.name),
        )),
    }
}

/// Postgres' words for true and false, and their beginnings.
pub fn boolean(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    if text == "1" || begins("true", 1) || begins("yes", 1) || text == "on" {
        Some(true)
    } else if text == "0" || begins("false", 1) || begins("no", 1) || begins("off", 2) {
        Some(false)
    } else {
        None
    }
}

/// A number with an optional unit.
pub fn milliseconds(text: &str) -> Option<u64> {
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().ok()?;
    let factor = match unit.trim() {
        "us" => 0.001,
        "" | "ms" => 1.0,
        "s" => 1e3,
        "min" => 6e4,
        "h" => 3.6e6,
        "d" => 8.64e7,
        _ => return None,
    };
    let ms = (number * factor).round();
    (ms <= f64::from(i32::MAX)).then_some(ms as u64)
}

/// The largest unit that divides the value, as Postgres shows it.
fn show_milliseconds(ms: u64) -> String {
    for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)] {
        if ms != 0 && ms.is_multiple_of(size) {
            return format!("{}{unit}", ms / size);
        }
    }
    if ms == 0 {
        "0".to_owned()
    } else {
        format!("{ms}ms")
    }
}

/// A zone of the IANA list in its own spelling, or an offset in hours as `+05:30`.
fn time_zone(text: &str) -> Option<String> {
    let text = text.trim_matches('\'');
    if text.eq_ignore_ascii_case("local") || text.eq_ignore_ascii_case("default") {
        return Some("UTC".to_owned());
    }
    if let Some(zone) = chrono_tz::TZ_VARIANTS
        .iter()
        .find(|z| z.name().eq_ignore_ascii_case(text))
    {
        return Some(zone.name().to_owned());
    }
    if text.eq_ignore_ascii_case("z") {
        return Some("UTC".to_owned());
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", rest) => ('+', rest),
        ("-", rest) => ('-', rest),
        _ => ('+', text),
    };
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours <= 15 && minutes < 60).then(|| format!("{sign}{hours:02}:{minutes:02}"))
}

/// `ISO` and an order of day, month and year, each optional; `None` for a word that means nothing.
fn date_style(text: &str) -> Option<Result<String>> {
    let mut order = "MDY";
    for word in text
        .split(',')
        .map(|w| w.trim().to_ascii_lowercase())
        .filter(|w| !w.is_empty())
    {
        match word.as_str() {
            "iso" | "default" => {}
            "mdy" | "us" | "noneuro" | "noneuropean" => order = "MDY",
            "dmy" | "euro" | "european" => order = "DMY",
            "ymd" => order = "YMD",
            "sql" | "postgres" | "german" => {
                return Some(Err(Error::unsupported(format!(
                    "DateStyle \"{word}\" is not supported"
                ))
                .with_hint("Dates are always shown in the ISO style.")));
            }
            _ => return None,
        }
    }
    Some(Ok(format!("ISO, {order}")))
}

/// A comma-separated list of identifiers, folded to lower case unless quoted; `None` if it is not one.
pub fn split_identifiers(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let mut name = String::new();
        if let Some(mut quoted) = rest.strip_prefix('"') {
            loop {
                let end = quoted.find('"')?;
                name.push_str(&quoted[..end]);
                quoted = &quoted[end + 1..];
                match quoted.strip_prefix('"') {
                    Some(more) => {
                        name.push('"');
                        quoted = more;
                    }
                    None => break,
                }
            }
            rest = quoted.trim_start();
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            name = rest[..end].trim().to_lowercase();
            rest = &rest[end..];
        }
        names.push(name);
        rest = match rest.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    Some(names)
}
