//! The canonical spelling of every statement.

use std::fmt::{self, Display, Formatter, Result};

use millpond_catalog::ObjectName;

use super::*;

/// Items with commas between them.
pub(super) struct List<'a, T>(pub(super) &'a [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (i, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// A name that was folded, as an identifier.
struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&ObjectName::quote(self.0))
    }
}

/// Text as a string literal.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "'{}'", self.0.replace('\'', "''"))
    }
}

fn when(condition: bool, text: &'static str) -> &'static str {
    if condition { text } else { "" }
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Statement::CreateTable(create) => create.fmt(f),
            Statement::CreateSource(create) => create.fmt(f),
            Statement::CreateView(create) => create.fmt(f),
            Statement::CreatePlainView(create) => create.fmt(f),
            Statement::CreateSink(create) => create.fmt(f),
            Statement::Drop(drop) => drop.fmt(f),
            Statement::Definition(definition) => definition.fmt(f),
            Statement::CreateTableAs(create) => create.fmt(f),
            Statement::Accepted(accepted) => f.write_str(accepted.tag),
            Statement::AlterView(alter) => alter.fmt(f),
            Statement::AlterSource(alter) => alter.fmt(f),
            Statement::Insert(insert) => insert.fmt(f),
            Statement::Update(update) => update.fmt(f),
            Statement::Delete(delete) => delete.fmt(f),
            Statement::Truncate(truncate) => truncate.fmt(f),
            Statement::Copy(copy) => copy.fmt(f),
            Statement::Query(query) => query.fmt(f),
            Statement::Explain(explain) => explain.fmt(f),
            Statement::Show(show) => show.fmt(f),
            Statement::Set(set) => set.fmt(f),
            Statement::Reset(Reset::All) => f.write_str("RESET ALL"),
            Statement::Reset(Reset::Setting(name)) => write!(f, "RESET {}", SettingName(name)),
            Statement::Flush(Flush::All) => f.write_str("FLUSH"),
            Statement::Flush(Flush::View(name)) => write!(f, "FLUSH {name}"),
            Statement::Transaction(transaction) => transaction.fmt(f),
            Statement::Prepare(prepare) => prepare.fmt(f),
            Statement::Execute(execute) => execute.fmt(f),
            Statement::Deallocate(target) => write!(f, "DEALLOCATE {target}"),
            Statement::DeclareCursor(declare) => declare.fmt(f),
            Statement::Subscribe(subscribe) => subscribe.fmt(f),
            Statement::Fetch(fetch) => fetch.fmt(f),
            Statement::CloseCursor(target) => write!(f, "CLOSE {target}"),
            Statement::Discard(target) => target.fmt(f),
            Statement::Listen(listen) => listen.fmt(f),
        }
    }
}

fn create(
    or_replace: bool,
    kind: &str,
    if_not_exists: bool,
    name: &ast::ObjectName,
    f: &mut Formatter<'_>,
) -> Result {
    let (replace, exists) = (
        when(or_replace, "OR REPLACE "),
        when(if_not_exists, "IF NOT EXISTS "),
    );
    write!(f, "CREATE {replace}{kind} {exists}{name}")
}

fn with(options: &[WithOption], f: &mut Formatter<'_>) -> Result {
    if options.is_empty() {
        Ok(())
    } else {
        write!(f, " WITH ({})", List(options))
    }
}

impl Display for WithOption {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} = {}", Name(&self.key), Quoted(&self.value))
    }
}

impl Display for CreateTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let kind = match (self.stream, self.temporary) {
            (true, _) => "STREAM",
            (false, true) => "TEMPORARY TABLE",
            (false, false) => "TABLE",
        };
        create(self.or_replace, kind, self.if_not_exists, &self.name, f)?;
        self.elements.fmt(f)?;
        f.write_str(when(self.append_only && !self.stream, " APPEND ONLY"))?;
        with(&self.options, f)
    }
}

impl Display for CreateSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        create(self.or_replace, "SOURCE", self.if_not_exists, &self.name, f)?;
        self.elements.fmt(f)?;
        with(&self.options, f)
    }
}

impl Display for RelationElements {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut elements: Vec<String> = self.columns.iter().map(ToString::to_string).collect();
        let named = |name: &Option<ast::Ident>| match name {
            Some(name) => format!("CONSTRAINT {name} "),
            None => String::new(),
        };
        elements.extend(self.primary_key.iter().map(|key| {
            let enforced = when(!key.enforced, " NOT ENFORCED");
            format!(
                "{}PRIMARY KEY ({}){enforced}",
                named(&key.name),
                List(&key.columns)
            )
        }));
        let unique = self.unique.iter();
        elements.extend(unique.map(|key| format!("{}UNIQUE ({})", named(&key.name), List(&key.columns))));
        let checks = self.checks.iter();
        elements.extend(checks.map(|check| format!("{}CHECK ({})", named(&check.name), check.expr)));
        elements.extend(self.watermark.iter().map(ToString::to_string));
        if elements.is_empty() {
            Ok(())
        } else {
            write!(f, " ({})", List(&elements))
        }
    }
}

impl Display for ColumnDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "{} {}{}",
            self.name,
            self.data_type,
            when(self.not_null, " NOT NULL")
        )?;
        match &self.default {
            Some(default) => write!(f, " DEFAULT {default}"),
            None => Ok(()),
        }
    }
}

impl Display for WatermarkDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "WATERMARK FOR {}", self.column)?;
        match &self.expr {
            Some(expr) => write!(f, " AS {expr}"),
            None => Ok(()),
        }
    }
}

impl Display for CreateView {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        create(
            self.or_replace,
            "STREAMING VIEW",
            self.if_not_exists,
            &self.name,
            f,
        )?;
        if !self.columns.is_empty() {
            write!(f, " ({})", List(&self.columns))?;
        }
        with(&self.options, f)?;
        write!(f, " AS {}", self.query)?;
        self.emit
            .iter()
            .try_for_each(|clause| write!(f, " {}", clause.kind))
    }
}

impl Display for CreatePlainView {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        create(self.or_replace, "VIEW", self.if_not_exists, &self.name, f)?;
        if !self.columns.is_empty() {
            write!(f, " ({})", List(&self.columns))?;
        }
        write!(f, " AS {}", self.query)
    }
}

impl Display for CreateSink {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        create(self.or_replace, "SINK", self.if_not_exists, &self.name, f)?;
        with(&self.options, f)?;
        match &self.source {
            SinkSource::From(relation, _) => write!(f, " FROM {relation}")?,
            SinkSource::Query(query, _) => write!(f, " AS {query}")?,
        }
        self.emit
            .iter()
            .try_for_each(|clause| write!(f, " {}", clause.kind))
    }
}

impl Display for EmitKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            EmitKind::OnWindowClose => f.write_str("EMIT ON WINDOW CLOSE"),
            EmitKind::Changes => f.write_str("EMIT CHANGES"),
            EmitKind::Complete => f.write_str("EMIT COMPLETE"),
            EmitKind::AllowLateness(interval) => write!(f, "ALLOW LATENESS INTERVAL {}", Quoted(interval)),
            EmitKind::LateDataTo(name) => write!(f, "LATE DATA TO {name}"),
            EmitKind::Every(interval) => write!(f, "EMIT EVERY INTERVAL {}", Quoted(interval)),
        }
    }
}

impl Display for Drop {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (exists, cascade) = (when(self.if_exists, "IF EXISTS "), when(self.cascade, " CASCADE"));
        write!(f, "DROP {} {exists}{}{cascade}", self.kind, List(&self.names))
    }
}

impl Display for AlterView {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let exists = when(self.if_exists, "IF EXISTS ");
        write!(f, "ALTER STREAMING VIEW {exists}{} ", self.name)?;
        match &self.action {
            AlterAction::Pause => f.write_str("PAUSE"),
            AlterAction::Resume => f.write_str("RESUME"),
            AlterAction::Set(options) => write!(f, "SET ({})", List(options)),
        }
    }
}

impl Display for AlterSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let exists = when(self.if_exists, "IF EXISTS ");
        write!(
            f,
            "ALTER SOURCE {exists}{} SET ({})",
            self.name,
            List(&self.options)
        )
    }
}

impl Display for Explain {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let stage = match self.stage {
            ExplainStage::Statement => "STATEMENT",
            ExplainStage::Plan => "PLAN",
            ExplainStage::Dataflow => "DATAFLOW",
        };
        write!(f, "EXPLAIN ({}{stage}) ", when(self.analyze, "ANALYZE, "))?;
        match &self.target {
            ExplainTarget::Statement(statement) => statement.fmt(f),
            ExplainTarget::View(name) => write!(f, "STREAMING VIEW {name}"),
        }
    }
}

/// A setting, whose name may have points in it.
struct SettingName<'a>(&'a str);

impl Display for SettingName<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (i, part) in self.0.split('.').enumerate() {
            let plain = part.chars().all(|c| c.is_alphanumeric() || c == '_');
            f.write_str(when(i > 0, "."))?;
            if plain {
                f.write_str(part)?
            } else {
                Name(part).fmt(f)?
            }
        }
        Ok(())
    }
}

impl Display for Show {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Show::Setting(name) => write!(f, "SHOW {}", SettingName(name)),
            Show::AllSettings => f.write_str("SHOW ALL"),
            Show::Objects { kind, like } => {
                let kind = match kind {
                    ShowObjects::Tables => "TABLES",
                    ShowObjects::Streams => "STREAMS",
                    ShowObjects::Sources => "SOURCES",
                    ShowObjects::Views => "STREAMING VIEWS",
                    ShowObjects::Sinks => "SINKS",
                    ShowObjects::Schemas => "SCHEMAS",
                };
                write!(f, "SHOW {kind}")?;
                like.as_ref()
                    .map_or(Ok(()), |like| write!(f, " LIKE {}", Quoted(like)))
            }
            Show::Columns(name) => write!(f, "SHOW COLUMNS FROM {name}"),
            Show::Create { kind, name } => {
                write!(f, "SHOW CREATE {} {name}", kind.unwrap_or(DropKind::Table))
            }
            Show::Queries => f.write_str("SHOW QUERIES"),
        }
    }
}

impl Display for Set {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "SET {}{} TO ",
            when(self.local, "LOCAL "),
            SettingName(&self.name)
        )?;
        match &self.value {
            Some(value) => Quoted(value).fmt(f),
            None => f.write_str("DEFAULT"),
        }
    }
}

/// Transaction modes as they are written.
struct Modes<'a>(&'a [(&'static str, String)]);

impl Display for Modes<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (i, (name, value)) in self.0.iter().enumerate() {
            f.write_str(when(i > 0, ", "))?;
            match (*name, value.as_str()) {
                ("isolation", level) => write!(f, "ISOLATION LEVEL {}", level.to_uppercase())?,
                ("read_only", "on") => f.write_str("READ ONLY")?,
                ("read_only", _) => f.write_str("READ WRITE")?,
                (_, "on") => f.write_str("DEFERRABLE")?,
                _ => f.write_str("NOT DEFERRABLE")?,
            }
        }
        Ok(())
    }
}

impl Display for Transaction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Transaction::Begin { start, modes } => {
                f.write_str(if *start { "START TRANSACTION" } else { "BEGIN" })?;
                f.write_str(when(!modes.is_empty(), " "))?;
                Modes(modes).fmt(f)
            }
            Transaction::Modes(modes) => write!(f, "SET TRANSACTION {}", Modes(modes)),
            Transaction::DefaultModes(modes) => {
                write!(f, "SET SESSION CHARACTERISTICS AS TRANSACTION {}", Modes(modes))
            }
            Transaction::Commit => f.write_str("COMMIT"),
            Transaction::Rollback => f.write_str("ROLLBACK"),
            Transaction::Savepoint(name) => write!(f, "SAVEPOINT {}", Name(name)),
            Transaction::Release(name) => write!(f, "RELEASE SAVEPOINT {}", Name(name)),
            Transaction::RollbackTo(name) => write!(f, "ROLLBACK TO SAVEPOINT {}", Name(name)),
        }
    }
}

impl Display for Prepare {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "PREPARE {}", Name(&self.name))?;
        if !self.types.is_empty() {
            write!(f, " ({})", List(&self.types))?;
        }
        write!(f, " AS {}", self.statement.statement)
    }
}

impl Display for Execute {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "EXECUTE {}", Name(&self.name))?;
        if self.arguments.is_empty() {
            Ok(())
        } else {
            write!(f, " ({})", List(&self.arguments))
        }
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Target::All => f.write_str("ALL"),
            Target::Named(name) => Name(name).fmt(f),
        }
    }
}

impl Display for DeclareCursor {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (binary, hold) = (when(self.binary, "BINARY "), when(self.hold, " WITH HOLD"));
        let scroll = when(self.scroll, "SCROLL ");
        write!(
            f,
            "DECLARE {} {binary}{scroll}CURSOR{hold} FOR {}",
            Name(&self.name),
            self.rows
        )
    }
}

impl Display for CursorRows {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            CursorRows::Query(query) => query.fmt(f),
            CursorRows::Subscribe(subscribe) => subscribe.fmt(f),
        }
    }
}

impl Display for Subscribe {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "SUBSCRIBE TO {} WITH (SNAPSHOT = {}, PROGRESS = {})",
            self.name, self.snapshot, self.progress
        )?;
        if let Some(cut) = self.as_of {
            write!(f, " AS OF {cut}")?;
        }
        match self.up_to {
            Some(cut) => write!(f, " UP TO {cut}"),
            None => Ok(()),
        }
    }
}

impl Display for Fetch {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let verb = if self.skip { "MOVE" } else { "FETCH" };
        f.write_str(verb)?;
        match self.direction {
            Direction::Forward(Some(count)) => write!(f, " FORWARD {count}")?,
            Direction::Forward(None) => f.write_str(" FORWARD ALL")?,
            Direction::Backward(Some(count)) => write!(f, " BACKWARD {count}")?,
            Direction::Backward(None) => f.write_str(" BACKWARD ALL")?,
            Direction::Absolute(row) => write!(f, " ABSOLUTE {row}")?,
            Direction::Relative(rows) => write!(f, " RELATIVE {rows}")?,
        }
        write!(f, " FROM {}", Name(&self.cursor))?;
        match self.timeout_ms {
            Some(ms) => write!(f, " WITH (timeout = '{ms}ms')"),
            None => Ok(()),
        }
    }
}

impl Display for DiscardTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            DiscardTarget::All => "DISCARD ALL",
            DiscardTarget::Plans => "DISCARD PLANS",
            DiscardTarget::Sequences => "DISCARD SEQUENCES",
            DiscardTarget::Temporary => "DISCARD TEMP",
        })
    }
}

impl Display for Listen {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Listen::Listen(channel) => write!(f, "LISTEN {}", Name(channel)),
            Listen::Unlisten(Target::All) => f.write_str("UNLISTEN *"),
            Listen::Unlisten(Target::Named(channel)) => write!(f, "UNLISTEN {}", Name(channel)),
            Listen::Notify { channel, payload } if payload.is_empty() => {
                write!(f, "NOTIFY {}", Name(channel))
            }
            Listen::Notify { channel, payload } => {
                write!(f, "NOTIFY {}, {}", Name(channel), Quoted(payload))
            }
        }
    }
}

impl fmt::Display for DropKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            DropKind::Table => "TABLE",
            DropKind::Stream => "STREAM",
            DropKind::Source => "SOURCE",
            DropKind::View => "STREAMING VIEW",
            DropKind::AnyView => "VIEW",
            DropKind::Sink => "SINK",
        })
    }
}
