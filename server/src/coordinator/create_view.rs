//! CREATE STREAMING VIEW and CREATE SINK.

use datafusion::logical_expr::LogicalPlan;
use millpond_catalog::{Object, ObjectId, ObjectKind, StreamingView};
use millpond_connectors::sink;
use millpond_engine::dataflow::Dataflow;
use millpond_engine::lower::LowerOptions;
use millpond_sql::plan::{CreateView, Notice};

use super::Shared;
use crate::error::{Error, Result};

impl Shared {
    pub(super) fn create_view(
        &self,
        create: CreateView,
        notices: &mut Vec<Notice>,
    ) -> Result<(String, ObjectId)> {
        let object = create.object.with_id(ObjectId(self.storage.next_object_id()));
        let Some(view) = object.query() else {
            return Err(Error::Bug("a view was planned as something else".into()));
        };
        self.check_query_name(&object, create.replaces)?;
        let dataflow = lower(view, &create.query)?;
        let id = object.id;
        notices.extend(dataflow.notices().map(|notice| Notice {
            message: notice.message.clone(),
            hint: Some(notice.hint.clone()),
        }));
        let mut tag = "CREATE MATERIALIZED VIEW";
        if let ObjectKind::Sink(sink) = &object.kind {
            let append_only = dataflow.root().properties.append_only;
            sink::validate(&sink.connector, &sink.options, &object.columns, append_only)?;
            tag = "CREATE SINK";
        }
        self.replace(create.replaces, object, |object| {
            self.start_query(object, dataflow)
        })?;
        Ok((tag.into(), id))
    }

    /// No two queries have one name, in `sys.queries` and for those who wait for one.
    pub(super) fn check_query_name(&self, object: &Object, replaces: Option<ObjectId>) -> Result<()> {
        let name = query_name(object);
        let catalog = self.catalog.read().clone();
        let taken = catalog.objects().any(|other| {
            other.query().is_some()
                && other.id != object.id
                && Some(other.id) != replaces
                && query_name(other) == name
        });
        match taken {
            true => Err(millpond_sql::Error::new(
                millpond_sql::ErrorKind::DuplicateObject,
                format!("there is a query named \"{name}\" already"),
            )
            .with_hint("Give it another name with the option query_name.")
            .into()),
            false => Ok(()),
        }
    }

    /// Starts the query of a view or sink.
    pub(super) fn start_query(&self, object: &Object, dataflow: Dataflow) -> Result<()> {
        match &object.kind {
            ObjectKind::Sink(sink) => {
                let target = sink::open(&sink.connector, &sink.options, &object.columns)?;
                Ok(self.engine.add_sink(object, dataflow, target)?)
            }
            ObjectKind::View(_) | ObjectKind::PlainView(_) | ObjectKind::Table(_) | ObjectKind::Source(_) => {
                Ok(self.engine.add_view(object, dataflow)?)
            }
        }
    }
}

fn query_name(object: &Object) -> String {
    let named = object.query().and_then(|view| view.options.query_name.clone());
    named.unwrap_or_else(|| object.name.to_string())
}

/// The dataflow that keeps the view's query up to date.
pub(crate) fn lower(view: &StreamingView, query: &LogicalPlan) -> Result<Dataflow> {
    let options = LowerOptions {
        output_mode: view.options.output_mode,
        fail_on_error: view.options.fail_on_error,
        join_mode: view.options.join_mode,
        allowed_lateness_us: i64::try_from(view.options.allowed_lateness.as_micros()).unwrap_or(i64::MAX),
    };
    Ok(millpond_engine::lower::lower(query, &options)?)
}
