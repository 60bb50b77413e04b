//! Start-up: the DDL log is planned again, object by object, in the order of creation.
//!
//! An object is created after everything it reads, so the order of ids is a start-up order.

use std::sync::Arc;

use millpond_catalog::{Edit, Object, ObjectId, ObjectKind};
use millpond_sql::{PlanContext, Settings, plan_object};
use millpond_storage::ObjectRecord;

use super::Shared;
use crate::error::{Error, Result};
use crate::relations::ServerRelations;

/// Attribute of a view's record: stopped by the user.
const PAUSED: &str = "paused";

/// What the DDL log holds of an object.
pub(super) fn record(object: &Object) -> ObjectRecord {
    let paused = object.query().is_some_and(|view| view.paused);
    ObjectRecord {
        sql: object.create_sql.clone(),
        attributes: serde_json::json!({ PAUSED: paused }),
    }
}

/// Plans and starts everything in the log.
pub(super) fn boot(shared: &Shared) -> Result<()> {
    for (id, record) in shared.storage.objects()? {
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
        settings: &Settings::default(),
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
    Ok(())
}
