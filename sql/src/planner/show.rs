//! SHOW: answers from the settings and the catalog.

use millpond_catalog::{Object, ObjectKind, SqlType};

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{OutputColumn, Plan, PlanKind, Rows};
use crate::statement::{DropKind, Show, ShowObjects, Statement};
use crate::text::SourceText;

use super::{PlanContext, names, select};

pub fn plan(show: &Show, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    match show {
        Show::Setting(name) => {
            let (shown, value) = context.settings.shown(name)?;
            Ok(rows(&[shown], vec![vec![Some(value.to_owned())]]))
        }
        Show::AllSettings => {
            let all = context.settings.all().into_iter();
            let all = all.map(|(s, value)| {
                vec![
                    Some(s.name.to_owned()),
                    Some(value.to_owned()),
                    Some(s.doc.to_owned()),
                ]
            });
            Ok(rows(&["name", "setting", "description"], all.collect()))
        }
        Show::Objects { kind, like } => Ok(objects(*kind, like.as_deref(), context)),
        Show::Columns(name) => {
            let object = lookup(name, text, context)?;
            let columns = object.columns.iter().map(|c| {
                let nullable = if c.nullable { "YES" } else { "NO" };
                vec![
                    Some(c.name.clone()),
                    Some(c.sql_type.to_string()),
                    Some(nullable.to_owned()),
                    c.default.clone(),
                ]
            });
            Ok(rows(&["name", "type", "nullable", "default"], columns.collect()))
        }
        Show::Create { kind, name } => {
            let object = lookup(name, text, context)?;
            if let Some(kind) = kind.filter(|kind| !is_kind(object, *kind)) {
                return Err(super::drop::wrong_kind("SHOW CREATE", object, kind));
            }
            let row = vec![Some(object.name.to_string()), Some(object.create_sql.clone())];
            Ok(rows(&["name", "create_sql"], vec![row]))
        }
        Show::Queries => {
            let parsed = crate::parser::parse("SELECT * FROM sys.queries")?;
            match parsed.first().map(|p| (&p.statement, &p.text)) {
                Some((Statement::Query(query), text)) => select::plan(query, text, context),
                _ => Err(Error::new(ErrorKind::Internal, "a constant query parses")),
            }
        }
    }
}

fn lookup<'a>(
    name: &sqlparser::ast::ObjectName,
    text: &SourceText,
    context: &PlanContext<'a>,
) -> Result<&'a std::sync::Arc<Object>> {
    let position = names::span_start(name).and_then(|start| text.position(start));
    names::lookup(name, context).map_err(|error| error.or_position(position))
}

/// True when `object` may be called by `kind`: a stream and a source are tables too.
pub fn is_kind(object: &Object, kind: DropKind) -> bool {
    match (&object.kind, kind) {
        (ObjectKind::Table(table), DropKind::Stream) => table.stream,
        (ObjectKind::Table(_) | ObjectKind::Source(_), DropKind::Table) => true,
        (ObjectKind::Source(_), DropKind::Source | DropKind::Stream) => true,
        (ObjectKind::View(_) | ObjectKind::PlainView(_), DropKind::View | DropKind::AnyView)
        | (ObjectKind::Sink(_), DropKind::Sink) => true,
        _ => false,
    }
}

fn objects(kind: ShowObjects, like: Option<&str>, context: &PlanContext<'_>) -> Plan {
    let matches = |name: &str| like.is_none_or(|pattern| matches_like(name, pattern));
    if kind == ShowObjects::Schemas {
        let schemas = names::SYSTEM_SCHEMAS
            .iter()
            .copied()
            .chain([millpond_catalog::DEFAULT_SCHEMA])
            .chain(context.catalog.schemas().map(|(name, _)| name));
        let mut schemas: Vec<_> = schemas.filter(|s| matches(s)).collect();
        schemas.sort_unstable();
        return rows(
            &["name"],
            schemas.into_iter().map(|s| vec![Some(s.to_owned())]).collect(),
        );
    }
    let found = context.catalog.objects().filter(|o| matches(&o.name.name));
    let name = |o: &Object| Some(o.name.to_string());
    match kind {
        ShowObjects::Sources => rows(
            &["name", "connector", "fault_tolerant"],
            found
                .filter_map(|o| match &o.kind {
                    ObjectKind::Source(source) => Some(vec![
                        name(o),
                        Some(source.connector.clone()),
                        Some(context.relations.is_fault_tolerant(&source.connector).to_string()),
                    ]),
                    _ => None,
                })
                .collect(),
        ),
        ShowObjects::Sinks => rows(
            &["name", "connector", "paused"],
            found
                .filter_map(|o| match &o.kind {
                    ObjectKind::Sink(sink) => Some(vec![
                        name(o),
                        Some(sink.connector.clone()),
                        Some(sink.view.paused.to_string()),
                    ]),
                    _ => None,
                })
                .collect(),
        ),
        ShowObjects::Views => rows(
            &["name", "output_mode", "trigger", "paused"],
            found
                .filter_map(|o| match &o.kind {
                    ObjectKind::View(view) => {
                        let trigger = super::options::show_trigger(view.options.trigger);
                        let mode = super::options::show_mode(view.options.output_mode);
                        Some(vec![
                            name(o),
                            Some(mode.to_owned()),
                            Some(trigger),
                            Some(view.paused.to_string()),
                        ])
                    }
                    _ => None,
                })
                .collect(),
        ),
        ShowObjects::Tables | ShowObjects::Streams => rows(
            &["name"],
            found
                .filter(
                    |o| matches!(&o.kind, ObjectKind::Table(t) if kind == ShowObjects::Tables || t.stream),
                )
                .map(|o| vec![name(o)])
                .collect(),
        ),
        ShowObjects::Schemas => rows(&["name"], Vec::new()),
    }
}

/// SQL's LIKE, with `%` and `_`.
fn matches_like(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
    // reached[i]: the pattern so far matches the first i characters.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for p in pattern {
        let mut next = vec![false; text.len() + 1];
        for i in 0..=text.len() {
            next[i] = match p {
                '%' => reached[i] || (i > 0 && next[i - 1]),
                '_' => i > 0 && reached[i - 1],
                c => i > 0 && reached[i - 1] && text[i - 1] == c,
            };
        }
        reached = next;
    }
    reached[text.len()]
}

fn rows(names: &[&str], rows: Vec<Vec<Option<String>>>) -> Plan {
    let column = |name: &&str| OutputColumn {
        name: (*name).to_owned(),
        sql_type: SqlType::Text,
        origin: None,
    };
    PlanKind::Rows(Rows {
        columns: names.iter().map(column).collect(),
        rows,
    })
    .into()
}

#[cfg(test)]
mod tests {
    use super::matches_like;

    #[test]
    fn like_patterns() {
        assert!(matches_like("views_1m", "v%m"));
        assert!(matches_like("abc", "a_c"));
        assert!(!matches_like("abc", "a_"));
        assert!(matches_like("", "%"));
    }
}
