//! What EXPLAIN (PLAN) shows, and what the golden tests hold.

use std::fmt::{Display, Formatter, Result};

use datafusion::logical_expr::LogicalPlan;
use millpond_catalog::{ObjectId, ObjectKind, Watermark};

use super::*;

impl Display for Notice {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&self.message)
    }
}

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.kind.fmt(f)?;
        for (i, parameter) in self.parameters.iter().enumerate() {
            write!(f, "\nparameter ${}: {parameter}", i + 1)?;
        }
        self.notices
            .iter()
            .try_for_each(|notice| write!(f, "\nnotice: {notice}"))
    }
}

impl Display for RowsOf {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            RowsOf::Select(select) => select.fmt(f),
            RowsOf::Subscribe(subscribe) => subscribe.fmt(f),
        }
    }
}

impl Display for Subscribe {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "Subscribe {}", self.object)?;
        for (word, on) in [("snapshot", self.snapshot), ("progress", self.progress)] {
            if on {
                write!(f, " {word}")?;
            }
        }
        if let Some(cut) = self.as_of {
            write!(f, " as of {cut}")?;
        }
        match self.up_to {
            Some(cut) => write!(f, " up to {cut}"),
            None => Ok(()),
        }
    }
}

struct Ids<'a>(&'a [ObjectId]);

impl Display for Ids<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let ids: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        write!(f, "[{}]", ids.join(", "))
    }
}

/// The tree of a query, two blanks in.
struct Tree<'a>(&'a LogicalPlan);

impl Display for Tree<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.0
            .display_indent()
            .to_string()
            // Stands before names that are not the user's.
            .replace('\u{1}', "$")
            .lines()
            .try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl Display for PlanKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            PlanKind::CreateRelation(create) => create.fmt(f),
            PlanKind::CreateView(create) => create.fmt(f),
            PlanKind::Drop(drop) => write!(f, "Drop {}", Ids(&drop.objects)),
            PlanKind::Change(change) => write!(f, "{change:?}"),
            PlanKind::CreateTableAs(create) => {
                write!(f, "{}", create.create.text())?;
                match &create.insert {
                    Some(insert) => write!(f, "\n{}", insert.text()),
                    None => Ok(()),
                }
            }
            PlanKind::AlterView(alter) => match &alter.action {
                AlterViewAction::Pause => write!(f, "AlterView {} Pause", alter.view),
                AlterViewAction::Resume => write!(f, "AlterView {} Resume", alter.view),
                AlterViewAction::Set(create) => {
                    write!(f, "AlterView {} Set {}", alter.view, create.object.create_sql)
                }
            },
            PlanKind::AlterSource(alter) => {
                write!(f, "AlterSource {} {}", alter.source, alter.object.create_sql)
            }
            PlanKind::Write(write) => write.fmt(f),
            PlanKind::Truncate(tables) => write!(f, "Truncate {}", Ids(tables)),
            PlanKind::CopyFrom(copy) => write!(f, "Copy from: {}", copy.write),
            PlanKind::CopyTo(copy) => write!(f, "Copy to: {}", copy.rows),
            PlanKind::Select(select) => select.fmt(f),
            PlanKind::Explain(explain) => match &explain.target {
                ExplainTarget::Statement { plan, .. } => {
                    write!(f, "Explain {:?}: {}", explain.stage, plan.kind)
                }
                ExplainTarget::View(view) => write!(f, "Explain {:?}: view {view}", explain.stage),
            },
            PlanKind::Rows(rows) => rows.fmt(f),
            PlanKind::Set(set) => {
                let value = set
                    .value
                    .as_deref()
                    .map_or("default".to_owned(), |value| format!("{value:?}"));
                write!(
                    f,
                    "Set{} {} = {value}",
                    if set.local { " local" } else { "" },
                    set.name
                )
            }
            PlanKind::ResetAll => f.write_str("ResetAll"),
            PlanKind::Flush(None) => f.write_str("Flush all"),
            PlanKind::Flush(Some(view)) => write!(f, "Flush {view}"),
            PlanKind::Transaction(transaction) => write!(f, "Transaction {transaction}"),
            PlanKind::Prepare(prepare) => {
                write!(f, "Prepare {}: {}", prepare.name, prepare.statement.statement)
            }
            PlanKind::Execute(execute) => {
                let arguments: Vec<_> = execute.arguments.iter().map(ToString::to_string).collect();
                write!(f, "Execute {} ({})", execute.name, arguments.join(", "))
            }
            PlanKind::Deallocate(target) => write!(f, "Deallocate {target}"),
            PlanKind::DeclareCursor(declare) => {
                write!(
                    f,
                    "DeclareCursor {}{}: ",
                    declare.name,
                    if declare.hold { " with hold" } else { "" }
                )?;
                declare.rows.fmt(f)
            }
            PlanKind::Fetch(fetch) => write!(f, "Fetch: {fetch}"),
            PlanKind::Subscribe(subscribe) => subscribe.fmt(f),
            PlanKind::CloseCursor(target) => write!(f, "CloseCursor {target}"),
            PlanKind::Discard(target) => write!(f, "Discard: {target}"),
            PlanKind::Listen(listen) => write!(f, "Listen: {listen}"),
            PlanKind::Nothing { tag } => write!(f, "Nothing ({tag})"),
        }
    }
}

fn replaces(replaces: Option<ObjectId>, f: &mut Formatter<'_>) -> Result {
    replaces.map_or(Ok(()), |id| write!(f, " replacing {id}"))
}

impl Display for ObjectDraft {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} reads {}", self.name, Ids(&self.reads))?;
        for column in &self.columns {
            write!(
                f,
                "\n  {} {}{}",
                column.name,
                column.sql_type,
                if column.nullable { "" } else { " not null" }
            )?;
            if let Some(default) = &column.default {
                write!(f, " default {default}")?;
            }
        }
        let watermark = match &self.kind {
            ObjectKind::Table(table) => {
                if table.append_only {
                    f.write_str("\n  append only")?;
                }
                for key in &table.keys {
                    let kind = if key.primary { "primary key" } else { "unique" };
                    let enforced = if key.enforced { "" } else { " not enforced" };
                    write!(f, "\n  {kind} {:?}{enforced}", key.columns)?;
                }
                for check in &table.checks {
                    write!(f, "\n  check {}: {}", check.name, check.expression)?;
                }
                table.watermark.as_ref()
            }
            ObjectKind::Source(source) => {
                write!(f, "\n  connector {}", source.connector)?;
                source
                    .options
                    .iter()
                    .try_for_each(|o| write!(f, "\n  option {} = {}", o.key, o.value))?;
                source.watermark.as_ref()
            }
            ObjectKind::PlainView(view) => {
                write!(f, "\n  plain view of {}", view.query)?;
                None
            }
            ObjectKind::View(view) => {
                write!(f, "\n  {:?}", view.options)?;
                None
            }
            ObjectKind::Sink(sink) => {
                write!(f, "\n  connector {}", sink.connector)?;
                sink.options
                    .iter()
                    .try_for_each(|o| write!(f, "\n  option {} = {}", o.key, o.value))?;
                write!(f, "\n  {:?}", sink.view.options)?;
                None
            }
        };
        if let Some(Watermark {
            column,
            delay_us,
            max_future_us,
            idle_timeout_us,
        }) = watermark
        {
            write!(
                f,
                "\n  watermark on column {column}, delay {delay_us} us, max future {max_future_us:?} us"
            )?;
            if let Some(idle_timeout_us) = idle_timeout_us {
                write!(f, ", idle after {idle_timeout_us} us")?;
            }
        }
        write!(f, "\n  {}", self.create_sql)
    }
}

impl Display for CreateRelation {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "CreateRelation {}", self.object)?;
        replaces(self.replaces, f)
    }
}

impl Display for CreateView {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "CreateView {}", self.object)?;
        replaces(self.replaces, f)?;
        Tree(&self.query).fmt(f)
    }
}

impl Display for Write {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let action = match self.action {
            WriteAction::Insert => "Insert into",
            WriteAction::Update => "Update",
            WriteAction::Delete => "Delete from",
        };
        write!(f, "{action} {} reads {}", self.table, Ids(&self.reads))?;
        if self.action != WriteAction::Delete {
            write!(f, " not null {:?}", self.checks.not_null)?;
            if !self.checks.max_length.is_empty() {
                write!(f, " max length {:?}", self.checks.max_length)?;
            }
        }
        for key in &self.keys {
            write!(f, " key {:?}", key.columns)?;
        }
        Tree(&self.query).fmt(f)?;
        if let Some(conditions) = &self.conditions {
            write!(f, "\nConditions {}", conditions.names.join(", "))?;
            Tree(&conditions.query).fmt(f)?;
        }
        if let Some(on_conflict) = &self.on_conflict {
            write!(f, "\nOn conflict")?;
            if let Some(key) = on_conflict.key {
                write!(f, " of {}", self.keys[key].name)?;
            }
            match &on_conflict.update {
                None => f.write_str(" nothing")?,
                Some(update) => {
                    write!(f, " update reads {}", Ids(&update.reads))?;
                    Tree(&update.query).fmt(f)?;
                }
            }
        }
        if let Some(returning) = &self.returning {
            write!(f, "\nReturning")?;
            columns(&returning.columns, f)?;
            Tree(&returning.query).fmt(f)?;
        }
        Ok(())
    }
}

fn columns(columns: &[OutputColumn], f: &mut Formatter<'_>) -> Result {
    for column in columns {
        write!(f, "\n  {}: {}", column.name, column.sql_type)?;
        if let Some((object, position)) = column.origin {
            write!(f, " from {object}.{position}")?;
        }
    }
    Ok(())
}

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "Select reads {}", Ids(&self.reads))?;
        columns(&self.columns, f)?;
        Tree(&self.query).fmt(f)
    }
}

impl Display for Rows {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let names: Vec<_> = self.columns.iter().map(|c| c.name.as_str()).collect();
        write!(f, "Rows {}", names.join(" | "))?;
        for row in &self.rows {
            let cells: Vec<_> = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect();
            write!(f, "\n  {}", cells.join(" | "))?;
        }
        Ok(())
    }
}
