//! CREATE STREAMING VIEW.

use datafusion::logical_expr::LogicalPlan;
use millpond_catalog::{ObjectId, ObjectKind, StreamingView};
use millpond_engine::dataflow::Dataflow;
use millpond_engine::lower::LowerOptions;
use millpond_sql::plan::CreateView;

use super::Shared;
use crate::error::{Error, Result};

impl Shared {
    pub(super) fn create_view(&self, create: CreateView) -> Result<String> {
        let object = create.object.with_id(ObjectId(self.storage.next_object_id()));
        let ObjectKind::View(view) = &object.kind else {
            return Err(Error::Bug("a view was planned as something else".into()));
        };
        let dataflow = lower(view, &create.query)?;
        self.replace(create.replaces, object, |object| {
            Ok(self.engine.add_view(object, dataflow)?)
        })?;
        Ok("CREATE MATERIALIZED VIEW".into())
    }
}

/// The dataflow that keeps the view's query up to date.
pub(crate) fn lower(view: &StreamingView, query: &LogicalPlan) -> Result<Dataflow> {
    let options = LowerOptions {
        output_mode: view.options.output_mode,
        fail_on_error: view.options.fail_on_error,
    };
    Ok(millpond_engine::lower::lower(query, &options)?)
}
