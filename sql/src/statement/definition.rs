//! Statements about the catalog that make no relation: schemas, indexes, comments, new names, and what is only accepted.

use std::fmt::{Display, Formatter, Result};
use std::ops::Range;

use sqlparser::ast;

use super::DropKind;
use super::display::{List, Quoted};

#[derive(Debug, Clone, PartialEq)]
pub enum Definition {
    CreateSchema {
        name: ast::Ident,
        if_not_exists: bool,
    },
    DropSchema {
        names: Vec<ast::Ident>,
        if_exists: bool,
        cascade: bool,
    },
    CreateIndex(Box<CreateIndex>),
    DropIndex {
        names: Vec<ast::ObjectName>,
        if_exists: bool,
    },
    Comment {
        target: CommentTarget,
        /// `None` takes it away.
        text: Option<String>,
    },
    Rename {
        kind: DropKind,
        name: ast::ObjectName,
        if_exists: bool,
        new_name: ast::Ident,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    pub unique: bool,
    pub if_not_exists: bool,
    pub name: Option<ast::Ident>,
    pub table: ast::ObjectName,
    /// How it is kept: `btree` where nothing is said.
    pub method: Option<ast::Ident>,
    pub columns: Vec<ast::OrderByExpr>,
    /// The condition of a partial index.
    pub condition: Option<ast::Expr>,
}

/// What a comment is about.
#[derive(Debug, Clone, PartialEq)]
pub enum CommentTarget {
    Object(DropKind, ast::ObjectName),
    /// The last part is the column.
    Column(ast::ObjectName),
    Schema(ast::Ident),
    Index(ast::ObjectName),
    Database(ast::Ident),
}

/// `CREATE TABLE .. AS` and `SELECT .. INTO`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTableAs {
    pub name: ast::ObjectName,
    pub temporary: bool,
    pub if_not_exists: bool,
    /// Names for the columns of the query.
    pub columns: Vec<ast::Ident>,
    pub query: Box<ast::Query>,
    /// Where the query stands in the text; `None` where it is not written in one piece.
    pub query_range: Option<Range<usize>>,
    pub with_data: bool,
}

/// A statement that Postgres' tools send and that has nothing to do here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    pub tag: &'static str,
    /// What the user should know.
    pub notice: Option<&'static str>,
}

fn exists(condition: bool, text: &'static str) -> &'static str {
    if condition { text } else { "" }
}

impl Display for Definition {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Definition::CreateSchema { name, if_not_exists } => {
                write!(
                    f,
                    "CREATE SCHEMA {}{name}",
                    exists(*if_not_exists, "IF NOT EXISTS ")
                )
            }
            Definition::DropSchema {
                names,
                if_exists,
                cascade,
            } => write!(
                f,
                "DROP SCHEMA {}{}{}",
                exists(*if_exists, "IF EXISTS "),
                List(names),
                exists(*cascade, " CASCADE")
            ),
            Definition::CreateIndex(create) => create.fmt(f),
            Definition::DropIndex { names, if_exists } => {
                write!(
                    f,
                    "DROP INDEX {}{}",
                    exists(*if_exists, "IF EXISTS "),
                    List(names)
                )
            }
            Definition::Comment { target, text } => {
                write!(f, "COMMENT ON {target} IS ")?;
                match text {
                    Some(text) => Quoted(text).fmt(f),
                    None => f.write_str("NULL"),
                }
            }
            Definition::Rename {
                kind,
                name,
                if_exists,
                new_name,
            } => write!(
                f,
                "ALTER {kind} {}{name} RENAME TO {new_name}",
                exists(*if_exists, "IF EXISTS ")
            ),
        }
    }
}

impl Display for CreateIndex {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "CREATE {}INDEX {}",
            exists(self.unique, "UNIQUE "),
            exists(self.if_not_exists, "IF NOT EXISTS ")
        )?;
        if let Some(name) = &self.name {
            write!(f, "{name} ")?;
        }
        write!(f, "ON {}", self.table)?;
        if let Some(method) = &self.method {
            write!(f, " USING {method}")?;
        }
        write!(f, " ({})", List(&self.columns))?;
        match &self.condition {
            Some(condition) => write!(f, " WHERE {condition}"),
            None => Ok(()),
        }
    }
}

impl Display for CommentTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            CommentTarget::Object(kind, name) => write!(f, "{kind} {name}"),
            CommentTarget::Column(name) => write!(f, "COLUMN {name}"),
            CommentTarget::Schema(name) => write!(f, "SCHEMA {name}"),
            CommentTarget::Index(name) => write!(f, "INDEX {name}"),
            CommentTarget::Database(name) => write!(f, "DATABASE {name}"),
        }
    }
}

impl Display for CreateTableAs {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "CREATE {}TABLE {}{}",
            exists(self.temporary, "TEMPORARY "),
            exists(self.if_not_exists, "IF NOT EXISTS "),
            self.name
        )?;
        if !self.columns.is_empty() {
            write!(f, " ({})", List(&self.columns))?;
        }
        write!(
            f,
            " AS {}{}",
            self.query,
            exists(!self.with_data, " WITH NO DATA")
        )
    }
}
