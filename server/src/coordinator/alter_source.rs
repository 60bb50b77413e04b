//! ALTER SOURCE: how fast it is read.

use std::sync::Arc;

use millpond_catalog::{Edit, ObjectKind};
use millpond_sql::plan::AlterSource;

use super::{Shared, boot};
use crate::error::{Error, Result};

impl Shared {
    pub(super) fn alter_source(&self, alter: AlterSource) -> Result<String> {
        let object = alter.object.with_id(alter.source);
        let ObjectKind::Source(source) = &object.kind else {
            return Err(Error::Bug("a source was planned as something else".into()));
        };
        millpond_connectors::validate_change(
            &source.connector,
            &alter.changed,
            &source.options,
            &object.columns,
        )?;
        boot::check_record(self, &object, Some(object.id))?;
        self.log(&object)?;
        self.engine.repace_source(object.id, &source.options)?;
        self.apply(Edit::Altered(Arc::new(object)));
        Ok("ALTER SOURCE".into())
    }
}
