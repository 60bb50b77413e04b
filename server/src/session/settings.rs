//! The settings of one session, with what a transaction block does to them.

use millpond_sql::{Error, ErrorKind, Result, SETTINGS, Setting, Settings};

/// Current values, and those to go back to while a block is open.
#[derive(Debug, Clone, Default)]
pub struct SessionSettings {
    current: Settings,
    block: Option<Block>,
    /// Counts changes, so that an unchanged session is recognised at once.
    version: u64,
}

#[derive(Debug, Clone)]
struct Block {
    /// As the block began: what ROLLBACK goes back to.
    before: Settings,
    /// Without what SET LOCAL changed: what COMMIT goes on with.
    lasting: Settings,
}

impl SessionSettings {
    pub fn new(settings: Settings) -> Self {
        Self {
            current: settings,
            block: None,
            version: 0,
        }
    }

    pub fn current(&self) -> &Settings {
        &self.current
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    /// Sets a value, or goes back to the default without one. A `local` value lasts until the end of the block; outside
    /// of one it has no effect, which the answer tells.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn set(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<Applied> {
        if !local {
            self.current.set(name, value)?;
            if let Some(block) = &mut self.block {
                block.lasting.set(name, value)?;
            }
        } else if self.block.is_some() {
            self.current.set(name, value)?;
        } else {
            // Checked all the same.
            self.current.clone().set(name, value)?;
            return Ok(Applied::NoBlock);
        }
        self.version += 1;
        Ok(Applied::Yes)
    }

    pub fn reset_all(&mut self) {
        self.current.reset_all();
        if let Some(block) = &mut self.block {
            block.lasting.reset_all();
        }
        self.version += 1;
    }

    pub fn begin(&mut self) {
        self.block = Some(Block {
            before: self.current.clone(),
            lasting: self.current.clone(),
        });
    }

    pub fn commit(&mut self) {
        if let Some(block) = self.block.take() {
            self.current = block.lasting;
            self.version += 1;
        }
    }

    pub fn rollback(&mut self) {
        if let Some(block) = self.block.take() {
            self.current = block.before;
            self.version += 1;
        }
    }
}

/// Whether a value now applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    Yes,
    /// `SET LOCAL` outside a block.
    NoBlock,
}

/// The settings that clients are told about, with their values.
pub fn reported(settings: &Settings) -> impl Iterator<Item = (&'static str, &str)> {
    SETTINGS
        .iter()
        .filter(|s: &&Setting| s.reported)
        .map(|s| (s.name, settings.value(s)))
}

/// Applies the parameters of a start-up packet that are settings.
///
/// # Errors
/// As [`Settings::set`]; an unknown name.
pub fn startup_settings(parameters: &[(String, String)]) -> Result<Settings> {
    let mut settings = Settings::default();
    for (name, value) in parameters {
        match name.as_str() {
            "user" | "database" | "replication" => {}
            name if name.starts_with("_pq_.") => {}
            "options" => {
                for (name, value) in parse_options(value)? {
                    settings.set_default(&name, &value)?;
                }
            }
            name => {
                settings.set_default(name, value)?;
            }
        }
    }
    Ok(settings)
}

/// `-c name=value` and `--name=value`, where a backslash keeps the next character: the command line form of settings.
fn parse_options(text: &str) -> Result<Vec<(String, String)>> {
    let mut words = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let word = words.last_mut().expect("there is always a last word");
        match c {
            '\\' => word.extend(chars.next()),
            c if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(String::new());
                }
            }
            c => word.push(c),
        }
    }
    let invalid = |word: &str| {
        Error::new(
            ErrorKind::Syntax,
            format!("invalid command-line argument for server process: {word}"),
        )
        .with_hint("Write -c name=value or --name=value.")
    };
    let mut settings = Vec::new();
    let mut words = words.into_iter().filter(|w| !w.is_empty());
    while let Some(word) = words.next() {
        let assignment = match word.as_str() {
            "-c" => words.next().ok_or_else(|| invalid(&word))?,
            long if long.starts_with("--") => long[2..].to_owned(),
            short if short.starts_with("-c") => short[2..].to_owned(),
            _ => return Err(invalid(&word)),
        };
        let (name, value) = assignment.split_once('=').ok_or_else(|| invalid(&assignment))?;
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(settings: &SessionSettings) -> String {
        settings.current().get("statement_timeout").unwrap().to_owned()
    }

    #[test]
    fn local_values_end_with_the_block_and_others_with_a_rollback() {
        let mut settings = SessionSettings::default();
        settings.set("statement_timeout", Some("1000"), false).unwrap();
        let one = get(&settings);
        settings.begin();
        settings.set("statement_timeout", Some("2000"), true).unwrap();
        let two = get(&settings);
        assert_ne!(one, two);
        settings.commit();
        assert_eq!(get(&settings), one);

        settings.begin();
        settings.set("statement_timeout", Some("3000"), false).unwrap();
        settings.rollback();
        assert_eq!(get(&settings), one);

        settings.begin();
        settings.set("statement_timeout", Some("2000"), false).unwrap();
        settings.commit();
        assert_eq!(get(&settings), two);
        assert_eq!(
            settings.set("statement_timeout", Some("9"), true).unwrap(),
            Applied::NoBlock
        );
        assert_eq!(get(&settings), two);
    }

    #[test]
    fn startup_options() {
        let parse = |text| parse_options(text).unwrap();
        let pair = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        assert_eq!(
            parse("-c statement_timeout=12345  -csearch_path=public"),
            [pair("statement_timeout", "12345"), pair("search_path", "public")]
        );
        assert_eq!(
            parse(r"--application-name=my\ app"),
            [pair("application_name", "my app")]
        );
        assert!(parse_options("-c").is_err());
        assert!(parse_options("-c a").is_err());
        assert!(parse_options("-x a=b").is_err());
        let parameters = [
            pair("user", "u"),
            pair("options", "-c TimeZone=Asia/Tokyo"),
            pair("application_name", "a"),
        ];
        let settings = startup_settings(&parameters).unwrap();
        assert_eq!(settings.time_zone(), "Asia/Tokyo");
        assert_eq!(settings.get("application_name").unwrap(), "a");
        assert!(startup_settings(&[pair("no_such_setting", "1")]).is_err());
    }
}
