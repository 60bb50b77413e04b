//! Schema-qualified names and how they are quoted.

use std::fmt;

/// The schema of a name that does not say one.
pub const DEFAULT_SCHEMA: &str = "public";

/// Plain names that would be read as something else where a column, a relation or an alias is named.
const RESERVED: [&str; 48] = [
    "all",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "case",
    "cast",
    "check",
    "collate",
    "column",
    "constraint",
    "create",
    "cross",
    "default",
    "desc",
    "distinct",
    "else",
    "end",
    "except",
    "exclude",
    "false",
    "foreign",
    "from",
    "group",
    "having",
    "in",
    "intersect",
    "interval",
    "like",
    "limit",
    "not",
    "null",
    "offset",
    "on",
    "or",
    "order",
    "primary",
    "select",
    "table",
    "then",
    "true",
    "union",
    "unique",
    "watermark",
    "when",
    "where",
];

/// A schema and a name within it, both as stored: folded to lower case unless they were quoted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    pub schema: String,
    pub name: String,
}

impl ObjectName {
    pub fn new(schema: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            schema: schema.into(),
            name: name.into(),
        }
    }

    /// A name in the default schema.
    pub fn public(name: impl Into<String>) -> Self {
        Self::new(DEFAULT_SCHEMA, name)
    }

    /// `identifier`, in double quotes where Postgres would need them to read it back unchanged.
    pub fn quote(identifier: &str) -> String {
        let mut chars = identifier.chars();
        let plain = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c == '_')
            && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if plain && RESERVED.binary_search(&identifier).is_err() {
            identifier.to_owned()
        } else {
            format!("\"{}\"", identifier.replace('"', "\"\""))
        }
    }
}

/// Prints the schema only where it is not the default one, as messages to users do.
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.schema != DEFAULT_SCHEMA {
            write!(f, "{}.", Self::quote(&self.schema))?;
        }
        f.write_str(&Self::quote(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_only_where_needed() {
        assert_eq!(ObjectName::public("views_1m").to_string(), "views_1m");
        assert_eq!(ObjectName::public("Views").to_string(), "\"Views\"");
        assert_eq!(ObjectName::quote("like"), "\"like\"");
        assert!(RESERVED.is_sorted());
        assert_eq!(ObjectName::new("sys", "a\"b").to_string(), "sys.\"a\"\"b\"");
    }
}
