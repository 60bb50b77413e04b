//! The bridge that lets the planner see what lives in the engine and in the server.
//!
//! The sql crate knows neither; it asks through its `Relations` port, and this is the one implementation of it.

mod current_watermark;
mod keywords;
mod late_rows;
mod series;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::Column;
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::provider_as_source;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{AggregateUDF, Expr, LogicalPlan, ScalarUDF, TableSource};
use millpond_catalog::{Catalog, Object, ObjectKind, Options};
use millpond_engine::bound::TimeKind;
use millpond_engine::engine::Engine;
use millpond_engine::logical::{RelationSource, SessionAssign, WindowAssign, WindowRule};
use millpond_sql::{Relations, Windows};

use crate::pg_catalog::{SystemContext, name_casts, replace_subqueries, system_table, system_table_names};

/// What planning may refer to beside the catalog.
pub struct ServerRelations {
    engine: Engine,
    system: Arc<SystemContext>,
}

impl ServerRelations {
    /// For planning on behalf of a session.
    pub fn new(engine: Engine, system: Arc<SystemContext>) -> Self {
        Self { engine, system }
    }

    /// For planning without a client: at start-up, and when a change is carried out.
    pub fn background(engine: Engine, catalog: Arc<Catalog>) -> Self {
        Self::new(engine, Arc::new(SystemContext::background(catalog)))
    }
}

impl Relations for ServerRelations {
    fn table_source(&self, object: &Arc<Object>) -> Arc<dyn TableSource> {
        match &object.kind {
            ObjectKind::View(_) => {
                let relation = self.engine.relation(object.id);
                let append_only = relation.is_ok_and(|relation| relation.append_only());
                let times = self.engine.times(object.id);
                Arc::new(RelationSource::new(object, append_only).with_times(times))
            }
            ObjectKind::Table(_) | ObjectKind::Source(_) | ObjectKind::PlainView(_) | ObjectKind::Sink(_) => {
                Arc::new(RelationSource::new(object, false))
            }
        }
    }

    fn numbered_source(&self, object: &Arc<Object>) -> Arc<dyn TableSource> {
        Arc::new(RelationSource::numbered(object, millpond_sql::ROW_NUMBER))
    }

    fn written_source(&self, object: &Arc<Object>, schema: SchemaRef) -> Arc<dyn TableSource> {
        Arc::new(RelationSource::written(object, schema))
    }

    fn system_table(&self, schema: &str, name: &str) -> Option<Arc<dyn TableSource>> {
        system_table(schema, name, &self.system)
    }

    fn system_table_names(&self, schema: &str) -> Vec<String> {
        system_table_names(schema)
    }

    fn prepare_query(&self, plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
        let plan = current_watermark::fill(plan, &self.engine)?;
        name_casts(replace_subqueries(plan, &self.system)?, &self.system)
    }

    fn window_assign(
        &self,
        input: LogicalPlan,
        time: Column,
        windows: Windows,
    ) -> DataFusionResult<LogicalPlan> {
        let rule = match windows.cumulate {
            false => WindowRule::new(windows.size_us, windows.slide_us, windows.offset_us)?,
            true => WindowRule::cumulate(windows.slide_us, windows.size_us, windows.offset_us)?,
        };
        Ok(WindowAssign::with_rule(input, Expr::Column(time), rule)?.into_plan())
    }

    fn session_assign(
        &self,
        input: LogicalPlan,
        time: Column,
        gap: Expr,
        keys: Vec<Column>,
    ) -> DataFusionResult<LogicalPlan> {
        Ok(SessionAssign::try_new(input, time, gap, keys)?.into_plan())
    }

    fn with_watermark(
        &self,
        source: &Arc<dyn TableSource>,
        column: usize,
        delay_us: i64,
    ) -> Arc<dyn TableSource> {
        match source.downcast_ref::<RelationSource>() {
            Some(relation) => Arc::new(relation.with_watermark(column, delay_us)),
            None => Arc::clone(source),
        }
    }

    fn looked_up(&self, source: &Arc<dyn TableSource>) -> Arc<dyn TableSource> {
        match source.downcast_ref::<RelationSource>() {
            Some(relation) => Arc::new(relation.looked_up()),
            None => Arc::clone(source),
        }
    }

    fn event_time(&self, source: &Arc<dyn TableSource>) -> Option<usize> {
        let relation = source.downcast_ref::<RelationSource>()?;
        let of_view = relation.times.iter().find(|time| time.kind == TimeKind::Event);
        { relation.watermark.as_ref() }
            .map(|watermark| watermark.column)
            .or(of_view.map(|time| time.column))
    }

    fn scalar_functions(&self) -> Vec<Arc<ScalarUDF>> {
        crate::function::scalar_functions(&self.system)
    }

    fn aggregate_functions(&self) -> Vec<Arc<AggregateUDF>> {
        millpond_engine::function::aggregates()
    }

    fn table_function(
        &self,
        name: &str,
        arguments: Vec<Expr>,
    ) -> Option<DataFusionResult<Arc<dyn TableSource>>> {
        match name {
            series::NAME => Some(series::generate_series(&arguments)),
            late_rows::NAME => Some(late_rows::late_rows(&self.engine, &self.system, &arguments)),
            keywords::NAME => Some(keywords::pg_get_keywords(&arguments)),
            _ => None,
        }
    }

    fn recursive_table(&self, name: &str, schema: SchemaRef) -> DataFusionResult<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn is_fault_tolerant(&self, connector: &str) -> bool {
        millpond_connectors::is_fault_tolerant(connector)
    }

    fn source_columns(
        &self,
        connector: &str,
        options: &Options,
    ) -> millpond_sql::Result<Option<Vec<millpond_catalog::Column>>> {
        millpond_connectors::default_columns(connector, options).map_err(|error| {
            millpond_sql::Error::new(millpond_sql::ErrorKind::InvalidParameterValue, error.to_string())
        })
    }
}
