//! Session settings: one list with type, default and meaning, and the values of one session.
//!
//! [`Settings`] is a value: a transaction keeps a clone to go back to. What the server computes at start (its version)
//! stands in the list with a fixed default and cannot be set.

use std::collections::BTreeMap;

use crate::error::{Error, ErrorKind, Result};
use crate::suggest;

mod check;
mod list;

pub(crate) use check::{boolean, milliseconds as timeout_ms};
pub use list::SETTINGS;

/// What a setting accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingType {
    Bool,
    /// Bounds, and the unit a plain number has, if any.
    Integer {
        min: i64,
        max: i64,
    },
    /// A number of milliseconds; text may carry a unit: `'10s'`.
    Milliseconds,
    /// One of these words.
    Word(&'static [&'static str]),
    Text,
    TimeZone,
    DateStyle,
    Encoding,
    /// Shown, never set.
    Fixed,
}

/// A declared setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// As SHOW ALL prints it.
    pub name: &'static str,
    /// Other names it is known by.
    pub aliases: &'static [&'static str],
    pub setting_type: SettingType,
    pub default: &'static str,
    pub doc: &'static str,
    /// Changes are reported to the client by ParameterStatus.
    pub reported: bool,
}

/// The values of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Only what differs from the default.
    values: BTreeMap<&'static str, String>,
    /// What RESET goes back to where it is not the default: values from the start-up packet or the configuration.
    defaults: BTreeMap<&'static str, String>,
    /// Settings of the client's own, whose names have a point in them: `myapp.user_id`.
    own: BTreeMap<String, String>,
    /// The schema of the session's temporary objects.
    temporary_schema: Option<String>,
}

impl Settings {
    /// The declaration of a setting.
    ///
    /// # Errors
    /// [`ErrorKind::UndefinedObject`], with the nearest name as a hint.
    pub fn find(name: &str) -> Result<&'static Setting> {
        let matches = |s: &&Setting| {
            s.name.eq_ignore_ascii_case(name) || s.aliases.iter().any(|a| a.eq_ignore_ascii_case(name))
        };
        SETTINGS.iter().find(matches).ok_or_else(|| {
            let names = SETTINGS.iter().map(|s| s.name);
            Error::new(
                ErrorKind::UndefinedObject,
                format!("unrecognized configuration parameter \"{name}\""),
            )
            .with_hint_if(suggest::did_you_mean(name, names))
        })
    }

    /// The current value, as SHOW prints it.
    ///
    /// # Errors
    /// As [`Settings::find`].
    pub fn get(&self, name: &str) -> Result<&str> {
        self.shown(name).map(|(_, value)| value)
    }

    /// A setting's name as it is spelled, and its value.
    ///
    /// # Errors
    /// As [`Settings::find`].
    pub fn shown(&self, name: &str) -> Result<(&str, &str)> {
        match Self::find(name) {
            Ok(setting) => Ok((setting.name, self.value(setting))),
            Err(error) => match self.own.get_key_value(&name.to_lowercase()) {
                Some((name, value)) => Ok((name, value)),
                None => Err(error),
            },
        }
    }

    pub fn value(&self, setting: &'static Setting) -> &str {
        let set = |name: &str| self.values.get(name).or_else(|| self.defaults.get(name));
        // A transaction that is not told otherwise has the modes of the session.
        let of_session = || match setting.name {
            "transaction_isolation" => set("default_transaction_isolation"),
            "transaction_read_only" => set("default_transaction_read_only"),
            "transaction_deferrable" => set("default_transaction_deferrable"),
            _ => None,
        };
        set(setting.name)
            .or_else(of_session)
            .map_or(setting.default, String::as_str)
    }

    /// Checks a change without making it: the setting's name as it is spelled, and the value as it will be shown.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn check(name: &str, value: Option<&str>) -> Result<(String, Option<String>)> {
        let mut settings = Self::default();
        settings.set(name, value)?;
        let value = match value {
            Some(_) => Some(settings.get(name)?.to_owned()),
            None => None,
        };
        Ok(match Self::find(name) {
            Ok(setting) => (setting.name.to_owned(), value),
            Err(_) => (name.to_lowercase(), value),
        })
    }

    /// Sets a value, or goes back to the default without one.
    ///
    /// # Errors
    /// [`ErrorKind::UndefinedObject`], [`ErrorKind::InvalidParameterValue`], [`ErrorKind::CannotChangeNow`].
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let setting = match Self::find(name) {
            Ok(setting) => setting,
            Err(_) if is_own(name) => {
                // RESET leaves an empty text, as in Postgres.
                self.own
                    .insert(name.to_lowercase(), value.unwrap_or_default().to_owned());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        match value {
            Some(value) => {
                let value = check::canonical(setting, value)?;
                self.values.insert(setting.name, value);
            }
            None => {
                self.values.remove(setting.name);
            }
        }
        Ok(())
    }

    /// Sets the value that RESET goes back to: a start-up parameter, a configured default.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn set_default(&mut self, name: &str, value: &str) -> Result<()> {
        let setting = match Self::find(name) {
            Ok(setting) => setting,
            Err(_) if is_own(name) => return self.set(name, Some(value)),
            Err(error) => return Err(error),
        };
        let value = check::canonical(setting, value)?;
        self.defaults.insert(setting.name, value);
        Ok(())
    }

    pub fn reset_all(&mut self) {
        self.values.clear();
    }

    /// Every setting with its value, by name.
    pub fn all(&self) -> Vec<(&'static Setting, &str)> {
        let mut all: Vec<_> = SETTINGS.iter().map(|s| (s, self.value(s))).collect();
        all.sort_by_key(|(s, _)| s.name.to_ascii_lowercase());
        all
    }

    /// Schemas to look an unqualified name up in, in order, without the ones that are always there.
    pub fn search_path(&self) -> Vec<String> {
        let value = self.get("search_path").unwrap_or_default();
        let written = check::split_identifiers(value).unwrap_or_default();
        let temporary = self.temporary_schema.iter().cloned();
        temporary
            .chain(written.into_iter().filter(|s| s != "$user"))
            .collect()
    }

    /// The schema of the session's temporary objects, which is searched first; none outside of sessions.
    pub fn temporary_schema(&self) -> Option<&str> {
        self.temporary_schema.as_deref()
    }

    pub fn set_temporary_schema(&mut self, schema: String) {
        self.temporary_schema = Some(schema);
    }

    /// Zero means none.
    pub fn statement_timeout_ms(&self) -> u64 {
        self.get("statement_timeout")
            .ok()
            .and_then(check::milliseconds)
            .unwrap_or(0)
    }

    /// How long a transaction may stay open without a statement; zero means for ever.
    pub fn idle_in_transaction_timeout_ms(&self) -> u64 {
        self.get("idle_in_transaction_session_timeout")
            .ok()
            .and_then(check::milliseconds)
            .unwrap_or(0)
    }

    /// The name of the session's time zone, as chrono-tz or `+05:30`.
    pub fn time_zone(&self) -> &str {
        self.get("TimeZone").unwrap_or("UTC")
    }
}

/// Words joined by points, which Postgres takes for settings of an extension or of the client.
fn is_own(name: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    // Ours are known.
    name.contains('.') && name.split('.').all(is_word) && !name.to_lowercase().starts_with("spark.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_and_reset() {
        let mut settings = Settings::default();
        assert_eq!(settings.get("timezone").unwrap(), "UTC");
        settings.set("time zone", Some("europe/berlin")).unwrap();
        assert_eq!(settings.time_zone(), "Europe/Berlin");
        settings.set("TimeZone", None).unwrap();
        assert_eq!(settings.time_zone(), "UTC");
        settings.set_default("application_name", "psql").unwrap();
        settings.set("application_name", Some("x")).unwrap();
        settings.reset_all();
        assert_eq!(settings.get("application_name").unwrap(), "psql");
        assert_eq!(
            settings.set("server_version", Some("1")).unwrap_err().kind,
            ErrorKind::CannotChangeNow
        );
        assert_eq!(
            settings.set("statement_timeout", Some("soon")).unwrap_err().kind,
            ErrorKind::InvalidParameterValue
        );
        assert_eq!(
            settings.set("datestyle", Some("german")).unwrap_err().kind,
            ErrorKind::Unsupported
        );
        let error = settings.set("statment_timeout", Some("1")).unwrap_err();
        assert_eq!(error.kind, ErrorKind::UndefinedObject);
        assert!(error.hint.unwrap().contains("statement_timeout"));
    }

    #[test]
    fn durations_have_units() {
        let mut settings = Settings::default();
        for (text, ms) in [("1500", 1500), ("2s", 2000), ("3 min", 180_000), ("0", 0)] {
            settings.set("statement_timeout", Some(text)).unwrap();
            assert_eq!(settings.statement_timeout_ms(), ms, "{text}");
        }
    }

    #[test]
    fn the_search_path_is_a_list_of_identifiers() {
        let mut settings = Settings::default();
        assert_eq!(settings.search_path(), ["public"]);
        settings.set("search_path", Some("\"X y\", Public")).unwrap();
        assert_eq!(settings.search_path(), ["X y", "public"]);
        settings.set("search_path", Some("")).unwrap();
        assert!(settings.search_path().is_empty());
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = SETTINGS
            .iter()
            .flat_map(|s| s.aliases.iter().chain([&s.name]))
            .map(|n| n.to_ascii_lowercase())
            .collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
