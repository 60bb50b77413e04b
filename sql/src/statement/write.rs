//! Statements that change the rows of a table.

use std::fmt::{Display, Formatter, Result};

use sqlparser::ast;

use super::display::List;

/// The table that a statement changes, and the name it goes by in the statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub table: ast::ObjectName,
    pub alias: Option<ast::Ident>,
}

/// `INSERT INTO t [AS a] [(..)] .. [ON CONFLICT ..] [RETURNING ..]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    pub with: Option<ast::With>,
    pub target: Target,
    /// Empty: all columns in order.
    pub columns: Vec<ast::Ident>,
    pub source: InsertSource,
    pub on_conflict: Option<OnConflict>,
    pub returning: Vec<ast::SelectItem>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    DefaultValues,
    /// `VALUES` or `SELECT`; `DEFAULT` may stand in a `VALUES` row.
    Query(Box<ast::Query>),
}

/// `ON CONFLICT [..] DO NOTHING | DO UPDATE SET ..`: what becomes of a row whose key is there already.
#[derive(Debug, Clone, PartialEq)]
pub struct OnConflict {
    pub target: ConflictTarget,
    pub action: ConflictAction,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ConflictTarget {
    AnyKey,
    Columns(Vec<ast::Ident>),
    Constraint(ast::Ident),
}

#[derive(Debug, Clone, PartialEq)]
pub enum ConflictAction {
    Nothing,
    Update {
        assignments: Vec<Assignment>,
        selection: Option<Box<ast::Expr>>,
    },
}

/// `UPDATE t [AS a] SET .. [FROM ..] [WHERE ..] [RETURNING ..]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    pub with: Option<ast::With>,
    pub target: Target,
    pub assignments: Vec<Assignment>,
    pub from: Vec<ast::TableWithJoins>,
    pub selection: Option<ast::Expr>,
    pub returning: Vec<ast::SelectItem>,
}

/// `column = expr`, `(column, ..) = (expr, ..)` or `(column, ..) = (SELECT ..)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    pub columns: Vec<ast::Ident>,
    pub value: AssignedValue,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AssignedValue {
    /// `DEFAULT` is the identifier of that name.
    One(Box<ast::Expr>),
    Row(Vec<ast::Expr>),
    Query(Box<ast::Query>),
}

/// `DELETE FROM t [AS a] [USING ..] [WHERE ..] [RETURNING ..]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    pub with: Option<ast::With>,
    pub target: Target,
    pub using: Vec<ast::TableWithJoins>,
    pub selection: Option<ast::Expr>,
    pub returning: Vec<ast::SelectItem>,
}

/// `TRUNCATE t, ..`.
#[derive(Debug, Clone, PartialEq)]
pub struct Truncate {
    pub tables: Vec<ast::ObjectName>,
}

struct With<'a>(&'a Option<ast::With>);

impl Display for With<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.0.as_ref().map_or(Ok(()), |with| write!(f, "{with} "))
    }
}

/// A clause with its items, where there are any.
struct Clause<'a, T>(&'static str, &'a [T]);

impl<T: Display> Display for Clause<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.1.is_empty() {
            return Ok(());
        }
        write!(f, " {} {}", self.0, List(self.1))
    }
}

struct Selection<'a>(&'a Option<ast::Expr>);

impl Display for Selection<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.0.as_ref().map_or(Ok(()), |expr| write!(f, " WHERE {expr}"))
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.table.fmt(f)?;
        self.alias
            .as_ref()
            .map_or(Ok(()), |alias| write!(f, " AS {alias}"))
    }
}

impl Display for Insert {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}INSERT INTO {}", With(&self.with), self.target)?;
        if !self.columns.is_empty() {
            write!(f, " ({})", List(&self.columns))?;
        }
        match &self.source {
            InsertSource::DefaultValues => f.write_str(" DEFAULT VALUES")?,
            InsertSource::Query(query) => write!(f, " {query}")?,
        }
        if let Some(on_conflict) = &self.on_conflict {
            write!(f, " {on_conflict}")?;
        }
        Clause("RETURNING", &self.returning).fmt(f)
    }
}

impl Display for OnConflict {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("ON CONFLICT")?;
        match &self.target {
            ConflictTarget::AnyKey => {}
            ConflictTarget::Columns(columns) => write!(f, " ({})", List(columns))?,
            ConflictTarget::Constraint(name) => write!(f, " ON CONSTRAINT {name}")?,
        }
        match &self.action {
            ConflictAction::Nothing => f.write_str(" DO NOTHING"),
            ConflictAction::Update {
                assignments,
                selection,
            } => {
                write!(f, " DO UPDATE SET {}", List(assignments))?;
                selection
                    .as_ref()
                    .map_or(Ok(()), |expr| write!(f, " WHERE {expr}"))
            }
        }
    }
}

impl Display for Update {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "{}UPDATE {} SET {}",
            With(&self.with),
            self.target,
            List(&self.assignments)
        )?;
        Clause("FROM", &self.from).fmt(f)?;
        Selection(&self.selection).fmt(f)?;
        Clause("RETURNING", &self.returning).fmt(f)
    }
}

impl Display for Assignment {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match (&self.columns[..], &self.value) {
            ([column], AssignedValue::One(value)) => write!(f, "{column} = {value}"),
            (columns, AssignedValue::One(value)) => write!(f, "({}) = {value}", List(columns)),
            (columns, AssignedValue::Row(values)) => {
                write!(f, "({}) = ROW({})", List(columns), List(values))
            }
            (columns, AssignedValue::Query(query)) => write!(f, "({}) = ({query})", List(columns)),
        }
    }
}

impl Display for Delete {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}DELETE FROM {}", With(&self.with), self.target)?;
        Clause("USING", &self.using).fmt(f)?;
        Selection(&self.selection).fmt(f)?;
        Clause("RETURNING", &self.returning).fmt(f)
    }
}

impl Display for Truncate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "TRUNCATE {}", List(&self.tables))
    }
}
