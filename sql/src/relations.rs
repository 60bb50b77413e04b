//! The port through which planning sees relations and functions that live elsewhere.
//!
//! The server implements it, so that this crate needs neither the engine nor the connectors.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::Column;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{AggregateUDF, Expr, LogicalPlan, ScalarUDF, TableSource, WindowUDF};
use millpond_catalog::{Object, Options};

use crate::error::Result;

/// Windows of a fixed size; microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    pub size_us: i64,
    /// As the size, if they tumble.
    pub slide_us: i64,
    pub offset_us: i64,
    /// Those of one start are one slide long, two, and so on up to the size.
    pub cumulate: bool,
}

pub trait Relations {
    /// What a scan of a catalog object refers to.
    fn table_source(&self, object: &Arc<Object>) -> Arc<dyn TableSource>;

    /// A table of the catalog as [`Relations::table_source`], with a last column [`crate::ROW_NUMBER`] of type `bigint` that
    /// tells the rows of one scan apart.
    fn numbered_source(&self, object: &Arc<Object>) -> Arc<dyn TableSource>;

    /// The rows of `schema` that a statement has written into a table, or taken out of it.
    fn written_source(&self, object: &Arc<Object>, schema: SchemaRef) -> Arc<dyn TableSource>;

    /// A relation of `sys`, `pg_catalog` or `information_schema`.
    fn system_table(&self, schema: &str, name: &str) -> Option<Arc<dyn TableSource>>;

    /// Names of the relations of `schema`, for "did you mean".
    fn system_table_names(&self, _schema: &str) -> Vec<String> {
        Vec::new()
    }

    /// Rewrites a query that runs once, when its names are resolved and before its types are settled: for what only the
    /// implementor knows how to run.
    fn prepare_query(&self, plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
        Ok(plan)
    }

    /// Assigns each row of `input` to its windows: the input's fields, then `window_start` and `window_end`, both of the
    /// type of `time`.
    fn window_assign(
        &self,
        input: LogicalPlan,
        time: Column,
        windows: Windows,
    ) -> DataFusionResult<LogicalPlan>;

    /// Assigns each row of `input` to its session among the rows of equal `keys`: the input's fields, then `window_start`
    /// and `window_end`. `gap` is a literal in microseconds or a column of type interval.
    fn session_assign(
        &self,
        input: LogicalPlan,
        time: Column,
        gap: Expr,
        keys: Vec<Column>,
    ) -> DataFusionResult<LogicalPlan>;

    /// The source of a scan with another event time: the column at `column`, with a watermark `delay_us` behind it.
    fn with_watermark(
        &self,
        source: &Arc<dyn TableSource>,
        _column: usize,
        _delay_us: i64,
    ) -> Arc<dyn TableSource> {
        Arc::clone(source)
    }

    /// The source of a scan that each row of the other side of a join looks up when it comes.
    fn looked_up(&self, source: &Arc<dyn TableSource>) -> Arc<dyn TableSource> {
        Arc::clone(source)
    }

    /// The column with the event time of a relation, if it has a watermark.
    fn event_time(&self, _source: &Arc<dyn TableSource>) -> Option<usize> {
        None
    }

    /// Functions beyond DataFusion's defaults; an equal name replaces a default one. A name with a schema is written
    /// with its point: `sys.process_all`. `pg_catalog` is left out. A cast to a `reg*` type is a call of the function
    /// of that name: `regclass(x)`.
    fn scalar_functions(&self) -> Vec<Arc<ScalarUDF>> {
        Vec::new()
    }

    fn aggregate_functions(&self) -> Vec<Arc<AggregateUDF>> {
        Vec::new()
    }

    fn window_functions(&self) -> Vec<Arc<WindowUDF>> {
        Vec::new()
    }

    /// A function in FROM other than the windows: `generate_series(1, 3)`. `None` when there is none of that name.
    fn table_function(
        &self,
        _name: &str,
        _arguments: Vec<Expr>,
    ) -> Option<DataFusionResult<Arc<dyn TableSource>>> {
        None
    }

    /// The table that a recursive WITH query reads its own last rows from.
    fn recursive_table(&self, name: &str, schema: SchemaRef) -> DataFusionResult<Arc<dyn TableSource>>;

    /// What a source of this connector has shown can be read again after a crash, and it shows everything that was sent.
    fn is_fault_tolerant(&self, _connector: &str) -> bool {
        true
    }

    /// Columns of a source that was declared without any, where the connector fixes them.
    fn source_columns(
        &self,
        _connector: &str,
        _options: &Options,
    ) -> Result<Option<Vec<millpond_catalog::Column>>> {
        Ok(None)
    }
}
