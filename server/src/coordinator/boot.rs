//! Start-up: the DDL log is planned again, object by object, in the order of creation.
//!
//! An object is created after everything it reads, so the order of ids is a start-up order.

use std::sync::Arc;

use millpond_catalog::{Comments, Edit, Index, Object, ObjectId, ObjectKind, ObjectName};
use millpond_sql::plan::CatalogChange;
use millpond_sql::{PlanContext, PlanKind, Settings, plan_object};
use millpond_storage::ObjectRecord;

use super::Shared;
use crate::error::{Error, Result};
use crate::relations::ServerRelations;

/// Attribute of a view's record: stopped by the user.
const PAUSED: &str = "paused";

/// Attribute of everything that has comments: texts by the number of the column.
const COMMENTS: &str = "comments";
/// How the schemas of temporary objects begin.
const TEMPORARY: &str = "pg_temp_";

/// What the DDL log holds of an object.
pub(super) fn record(object: &Object, comments: Option<&Comments>) -> ObjectRecord {
    let paused = object.query().is_some_and(|view| view.paused);
    let mut record = ObjectRecord {
        sql: object.create_sql.clone(),
        attributes: serde_json::json!({ PAUSED: paused }),
    };
    if let Some(comments) = comments.filter(|comments| !comments.is_empty()) {
        record.attributes[COMMENTS] = serde_json::json!(comments);
    }
    record
}

pub(super) fn schema_record(name: &str, comments: Option<&Comments>) -> ObjectRecord {
    ObjectRecord {
        sql: format!("CREATE SCHEMA {}", ObjectName::quote(name)),
        attributes: serde_json::json!({ COMMENTS: comments }),
    }
}

pub(super) fn index_record(index: &Index, comments: Option<&Comments>) -> ObjectRecord {
    ObjectRecord {
        sql: index.create_sql.clone(),
        attributes: serde_json::json!({ COMMENTS: comments }),
    }
}

/// Default settings, as texts of the log are planned; temporary objects are known to their session only.
pub(super) fn settings_for(schema: &str) -> Settings {
    let mut settings = Settings::default();
    if schema.starts_with(TEMPORARY) {
        settings.set_temporary_schema(schema.to_owned());
    }
    settings
}

/// Plans and starts everything in the log.
pub(super) fn boot(shared: &Shared) -> Result<()> {
    for (id, record) in shared.storage.objects()? {
        // The sessions that had temporary tables are gone.
        if record.sql.starts_with(&format!("CREATE TABLE {TEMPORARY}")) {
            let mut transaction = shared.storage.transaction();
            transaction.delete_object(id);
            transaction.commit()?;
            continue;
        }
        start_again(shared, ObjectId(id), &record).map_err(|error| Error::Boot {
            object: id,
            sql: record.sql.clone(),
            cause: Box::new(error),
        })?;
    }
    Ok(())
}

/// Makes sure that the text in the log will make the same object again: what cannot be read back would keep the server
/// from starting.
pub(super) fn check_record(shared: &Shared, object: &Object, replaces: Option<ObjectId>) -> Result<()> {
    let mut catalog = shared.catalog.read().as_ref().clone();
    if let Some(old) = replaces {
        catalog.apply(Edit::Dropped(old));
    }
    let catalog = Arc::new(catalog);
    let relations = ServerRelations::background(shared.engine.clone(), catalog.clone());
    let context = PlanContext {
        catalog: &catalog,
        settings: &settings_for(&object.name.schema),
        relations: &relations,
        parameter_types: &[],
    };
    let sql = &object.create_sql;
    match plan_object(sql, object.id, &context) {
        Ok((again, _)) if again.columns == object.columns && again.name == object.name => Ok(()),
        Ok(_) => Err(Error::Bug(format!(
            "the object would be another one after a restart: {sql}"
        ))),
        Err(error) => Err(Error::Bug(format!(
            "the object could not be started again: {error}: {sql}"
        ))),
    }
}

fn start_again(shared: &Shared, id: ObjectId, record: &ObjectRecord) -> Result<()> {
    let catalog = shared.catalog.read().clone();
    let relations = ServerRelations::background(shared.engine.clone(), catalog.clone());
    let settings = Settings::default();
    let context = PlanContext {
        catalog: &catalog,
        settings: &settings,
        relations: &relations,
        parameter_types: &[],
    };
    let comments = record.attributes[COMMENTS].clone();
    let comments: Comments = serde_json::from_value(comments).unwrap_or_default();
    if let Some(edit) = definition_again(id, record, &context)? {
        shared.apply(edit);
        shared.apply(Edit::Commented(id, comments));
        return Ok(());
    }
    let (mut object, query) = plan_object(&record.sql, id, &context)?;
    if let Some(view) = object.query_mut() {
        view.paused = record.attributes[PAUSED].as_bool().unwrap_or(false);
    }
    match (&object.kind, query) {
        (ObjectKind::PlainView(_), _) => {}
        (ObjectKind::Table(_), _) => shared.engine.add_table(&object)?,
        (ObjectKind::Source(source), _) => shared.open_source(&object, source)?,
        (ObjectKind::View(_) | ObjectKind::Sink(_), Some(query)) => {
            let view = object.query().expect("a view and a sink have one");
            let dataflow = super::create_view::lower(view, &query)?;
            shared.start_query(&object, dataflow)?;
        }
        (ObjectKind::View(_) | ObjectKind::Sink(_), None) => {
            return Err(Error::Bug("a view was planned without its query".into()));
        }
    }
    shared.apply(Edit::Created(Arc::new(object)));
    shared.apply(Edit::Commented(id, comments));
    Ok(())
}

/// The edit of an entry that is a schema or index.
fn definition_again(id: ObjectId, record: &ObjectRecord, context: &PlanContext<'_>) -> Result<Option<Edit>> {
    if !["CREATE SCHEMA ", "CREATE INDEX "]
        .iter()
        .any(|words| record.sql.starts_with(words))
    {
        return Ok(None);
    }
    let parsed = millpond_sql::parse(&record.sql)?.pop();
    let parsed = parsed.ok_or_else(|| Error::Bug("an entry of the log is empty".into()))?;
    Ok(match millpond_sql::plan(&parsed, context)?.kind {
        PlanKind::Change(CatalogChange::CreateSchema(name)) => Some(Edit::SchemaCreated(id, name)),
        PlanKind::Change(CatalogChange::CreateIndex(draft)) => {
            Some(Edit::IndexCreated(Arc::new(draft.with_id(id))))
        }
        _ => None,
    })
}
