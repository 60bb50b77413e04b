//! `WITH` options: declared once, read once into a typed struct.
//!
//! [`options!`] turns one declaration into a struct with documented fields, the code that reads it and the rows of the
//! reference table in `docs/connectors.md`. Keys arrive normalised (lower case, words joined by `_`), so `maxFileAge`
//! and `max.file.age` are both `max_file_age` here. What no struct has taken is an error that names the nearest key.

mod value;

use millpond_catalog::{OptionEntry, Options};

use crate::error::{Error, Result};
pub use value::{ByteSize, OptionValue};

/// One option as declared.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    /// Canonical, normalised key.
    pub key: &'static str,
    pub synonyms: &'static [&'static str],
    /// What values look like, for messages and the reference.
    pub kind: &'static str,
    pub default: Fallback,
    /// Sentences of the field's doc comment.
    pub doc: &'static [&'static str],
}

/// What happens when an option is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// It must be given.
    Required,
    /// No value.
    None,
    /// This text, read like a given value.
    Text(&'static str),
}

/// Declares an option struct. Each field reads
/// `/// doc` `name [synonym, ..]: Type = required | none | "default",`; with `none` the field is an `Option<Type>`.
macro_rules! options {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident $([$($synonym:literal),+])?: $type:ty = $fallback:tt,
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $crate::options::options!(@type $fallback $type),)*
        }

        impl $name {
            /// The declared options, in order.
            pub const SPECS: &'static [$crate::options::OptionSpec] = &[
                $($crate::options::OptionSpec {
                    key: stringify!($field),
                    synonyms: &[$($($synonym),+)?],
                    kind: <$type as $crate::options::OptionValue>::KIND,
                    default: $crate::options::options!(@fallback $fallback),
                    doc: &[$($doc),+],
                },)*
            ];

            /// Takes this struct's options out of `reader`.
            pub fn read(reader: &mut $crate::options::OptionReader<'_>) -> $crate::error::Result<Self> {
                reader.declare(Self::SPECS);
                let mut specs = Self::SPECS.iter();
                Ok(Self {
                    $($field: {
                        let spec = specs.next().expect("a declaration per field");
                        $crate::options::options!(@read $fallback $type, reader, spec)
                    },)*
                })
            }
        }
    };
    (@type none $type:ty) => { Option<$type> };
    (@type $fallback:tt $type:ty) => { $type };
    (@fallback required) => { $crate::options::Fallback::Required };
    (@fallback none) => { $crate::options::Fallback::None };
    (@fallback $text:literal) => { $crate::options::Fallback::Text($text) };
    (@read none $type:ty, $reader:ident, $spec:ident) => { $reader.optional::<$type>($spec)? };
    (@read $fallback:tt $type:ty, $reader:ident, $spec:ident) => { $reader.value::<$type>($spec)? };
}
pub(crate) use options;

/// Hands out the entries of one option list and remembers which were taken.
pub struct OptionReader<'a> {
    entries: &'a Options,
    taken: Vec<bool>,
    /// `connector "file"`, for messages.
    what: String,
    declared: Vec<OptionSpec>,
}

impl<'a> OptionReader<'a> {
    pub fn new(what: impl Into<String>, entries: &'a Options) -> Self {
        Self {
            entries,
            taken: vec![false; entries.len()],
            what: what.into(),
            declared: Vec::new(),
        }
    }

    /// Makes `specs` known for suggestions.
    pub fn declare(&mut self, specs: &[OptionSpec]) {
        self.declared.extend_from_slice(specs);
    }

    /// The option's value, or its default.
    pub fn value<T: OptionValue>(&mut self, spec: &OptionSpec) -> Result<T> {
        match (self.optional(spec)?, spec.default) {
            (Some(value), _) => Ok(value),
            (None, Fallback::Text(text)) => Ok(T::parse(text).expect("a declared default is valid")),
            (None, Fallback::Required | Fallback::None) => Err(Error::MissingOption {
                key: spec.key,
                what: self.what.clone(),
                hint: format!("Add {} = '..' to the WITH list: {}", spec.key, spec.kind),
            }),
        }
    }

    /// The option's value if it is given.
    pub fn optional<T: OptionValue>(&mut self, spec: &OptionSpec) -> Result<Option<T>> {
        let Some(entry) = self.take(spec)? else {
            return Ok(None);
        };
        let invalid = |message| Error::InvalidOption {
            key: entry.key.clone(),
            message,
            position: entry.position,
        };
        T::parse(&entry.value).map(Some).map_err(invalid)
    }

    /// The entry under the option's key or one of its synonyms.
    fn take(&mut self, spec: &OptionSpec) -> Result<Option<&'a OptionEntry>> {
        let mut found: Option<&OptionEntry> = None;
        for (entry, taken) in self.entries.iter().zip(&mut self.taken) {
            if entry.key != spec.key && !spec.synonyms.contains(&entry.key.as_str()) {
                continue;
            }
            if found.is_some() {
                return Err(Error::DuplicateOption {
                    key: entry.key.clone(),
                    position: entry.position,
                });
            }
            *taken = true;
            found = Some(entry);
        }
        Ok(found)
    }

    /// Every entry must have been taken.
    pub fn finish(self) -> Result<()> {
        let Some(entry) = self
            .entries
            .iter()
            .zip(&self.taken)
            .find(|(_, taken)| !**taken)
            .map(|(e, _)| e)
        else {
            return Ok(());
        };
        Err(Error::UnknownOption {
            key: entry.key.clone(),
            what: self.what,
            position: entry.position,
            hint: nearest(&entry.key, &self.declared),
        })
    }
}

/// `Did you mean ..`, or the whole list when nothing is near.
fn nearest(key: &str, declared: &[OptionSpec]) -> String {
    let names = declared
        .iter()
        .flat_map(|spec| std::iter::once(&spec.key).chain(spec.synonyms));
    let best = names
        .map(|name| (strsim::damerau_levenshtein(key, name), *name))
        .min()
        .filter(|(distance, name)| *distance <= 2 + name.len() / 5);
    match best {
        Some((_, name)) => format!("Did you mean \"{name}\"?"),
        None => {
            let keys: Vec<_> = declared.iter().map(|spec| spec.key).collect();
            format!("Known options: {}.", keys.join(", "))
        }
    }
}

/// A Markdown table of `specs` for the reference page.
pub fn reference_table(specs: &[OptionSpec]) -> String {
    let mut table = "| option | value | default | meaning |\n|---|---|---|---|\n".to_owned();
    for spec in specs {
        let default = match spec.default {
            Fallback::Required => "required".to_owned(),
            Fallback::None => "none".to_owned(),
            Fallback::Text(text) => format!("`{text}`"),
        };
        let doc: Vec<_> = spec.doc.iter().map(|line| line.trim()).collect();
        let mut meaning = doc.join(" ");
        if !spec.synonyms.is_empty() {
            let synonyms: Vec<_> = spec
                .synonyms
                .iter()
                .map(|synonym| format!("`{synonym}`"))
                .collect();
            meaning += &format!(" Also spelled {}.", synonyms.join(", "));
        }
        table += &format!("| `{}` | {} | {default} | {meaning} |\n", spec.key, spec.kind);
    }
    table
}

#[cfg(test)]
mod tests;
