//! `COPY`: rows in and out.

use std::fmt::{Display, Formatter, Result};

use sqlparser::ast;

use super::Subscribe;
use super::display::List;

#[derive(Debug, Clone, PartialEq)]
pub struct Copy {
    pub relation: CopyRelation,
    /// `FROM STDIN`; `TO STDOUT` otherwise.
    pub from: bool,
    pub options: CopyOptions,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CopyRelation {
    Table {
        name: ast::ObjectName,
        /// Empty: all columns in order.
        columns: Vec<ast::Ident>,
    },
    Query(Box<ast::Query>),
    Subscribe(Subscribe),
}

/// How rows are written. Characters are of one byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOptions {
    /// Postgres' binary format: nothing else is said then.
    pub binary: bool,
    pub csv: bool,
    pub delimiter: u8,
    /// What stands for NULL.
    pub null: String,
    pub header: CopyHeader,
    pub quote: u8,
    pub escape: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CopyHeader {
    #[default]
    Absent,
    Present,
    /// Present, and its names are those of the columns.
    Match,
}

impl CopyOptions {
    /// What a format has when nothing is said.
    pub fn of_format(csv: bool) -> Self {
        Self {
            binary: false,
            csv,
            delimiter: if csv { b',' } else { b'\t' },
            null: if csv { "" } else { "\\N" }.to_owned(),
            header: CopyHeader::Absent,
            quote: b'"',
            escape: b'"',
        }
    }
}

impl Display for Copy {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("COPY ")?;
        match &self.relation {
            CopyRelation::Table { name, columns } if columns.is_empty() => name.fmt(f)?,
            CopyRelation::Table { name, columns } => write!(f, "{name} ({})", List(columns))?,
            CopyRelation::Query(query) => write!(f, "({query})")?,
            CopyRelation::Subscribe(subscribe) => write!(f, "({subscribe})")?,
        }
        f.write_str(if self.from { " FROM STDIN" } else { " TO STDOUT" })?;
        let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let byte = |byte: u8| text(&char::from(byte).to_string());
        if self.options.binary {
            return f.write_str(" WITH (FORMAT binary)");
        }
        let CopyOptions {
            binary: _,
            csv,
            delimiter,
            null,
            header,
            quote,
            escape,
        } = &self.options;
        let format = if *csv { "csv" } else { "text" };
        write!(
            f,
            " WITH (FORMAT {format}, DELIMITER {}, NULL {}",
            byte(*delimiter),
            text(null)
        )?;
        match header {
            CopyHeader::Absent => {}
            CopyHeader::Present => f.write_str(", HEADER true")?,
            CopyHeader::Match => f.write_str(", HEADER match")?,
        }
        if *csv {
            write!(f, ", QUOTE {}, ESCAPE {}", byte(*quote), byte(*escape))?;
        }
        f.write_str(")")
    }
}
