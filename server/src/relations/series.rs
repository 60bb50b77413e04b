//! `generate_series(start, stop [, step])` in FROM, over integers: rows are made as they are read.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::datasource::provider_as_source;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableSource};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::scalar::ScalarValue;
use futures::stream;
use millpond_catalog::SqlType;
use millpond_sql::{Error, ErrorKind};

use crate::execute::evaluate;

const BATCH_ROWS: usize = 8192;

/// The function's name and that of its column.
pub const NAME: &str = "generate_series";

/// A series of integers, both ends included.
#[derive(Clone)]
struct Series {
    next: i64,
    stop: i64,
    step: i64,
    /// What Postgres gives for integers that fit; `bigint` otherwise.
    is_int4: bool,
    schema: SchemaRef,
}

/// The rows of a call.
pub fn generate_series(arguments: &[Expr]) -> Result<Arc<dyn TableSource>> {
    let bounds = arguments.iter().map(integer).collect::<Result<Vec<_>>>()?;
    let (next, stop, step) = match bounds[..] {
        [next, stop] => (next, stop, Some(1)),
        [next, stop, step] => (next, stop, step),
        _ => return Err(refused("generate_series takes two or three arguments")),
    };
    let int4 = |value: &Option<i64>| value.is_none_or(|v| i32::try_from(v).is_ok());
    let is_int4 = bounds.iter().all(int4);
    let sql_type = if is_int4 { SqlType::Int4 } else { SqlType::Int8 };
    let schema = Arc::new(Schema::new(vec![sql_type.field(NAME, true)]));
    // A NULL anywhere gives no rows.
    let (next, stop, step) = match (next, stop, step) {
        (Some(next), Some(stop), Some(step)) => (next, stop, step),
        _ => (1, 0, 1),
    };
    if step == 0 {
        return Err(refused("step size cannot equal zero"));
    }
    let series = Series {
        next,
        stop,
        step,
        is_int4,
        schema: Arc::clone(&schema),
    };
    let table = StreamingTable::try_new(schema, vec![Arc::new(series)])?;
    Ok(provider_as_source(Arc::new(table)))
}

fn refused(message: &str) -> DataFusionError {
    DataFusionError::External(Box::new(Error::new(ErrorKind::InvalidParameterValue, message)))
}

fn integer(argument: &Expr) -> Result<Option<i64>> {
    let unsupported = || {
        let error = Error::unsupported("generate_series in FROM takes constant integers");
        DataFusionError::External(Box::new(error.with_hint("Cast the arguments to bigint.")))
    };
    let value = evaluate(argument).map_err(|_| unsupported())?;
    match value {
        ScalarValue::Int16(v) => Ok(v.map(i64::from)),
        ScalarValue::Int32(v) => Ok(v.map(i64::from)),
        ScalarValue::Int64(v) => Ok(v),
        ScalarValue::Null => Ok(None),
        _ => Err(unsupported()),
    }
}

impl Series {
    fn is_over(&self) -> bool {
        if self.step > 0 {
            self.next > self.stop
        } else {
            self.next < self.stop
        }
    }

    fn batch(&mut self) -> Option<Result<RecordBatch>> {
        let mut values = Vec::new();
        while values.len() < BATCH_ROWS && !self.is_over() {
            values.push(self.next);
            match self.next.checked_add(self.step) {
                Some(next) => self.next = next,
                // The end of all integers is the end of the series.
                None => (self.next, self.stop, self.step) = (1, 0, 1),
            }
        }
        if values.is_empty() {
            return None;
        }
        let array: ArrayRef = if self.is_int4 {
            // Between bounds that fit.
            Arc::new(
                values
                    .into_iter()
                    .map(|v| i32::try_from(v).ok())
                    .collect::<Int32Array>(),
            )
        } else {
            Arc::new(Int64Array::from(values))
        };
        Some(RecordBatch::try_new(self.schema.clone(), vec![array]).map_err(DataFusionError::from))
    }
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Series({}, {}, {})", self.next, self.stop, self.step)
    }
}

impl PartitionStream for Series {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut rest = self.clone();
        let batches = stream::iter(std::iter::from_fn(move || rest.batch()));
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), batches))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;
    use arrow::datatypes::Int64Type;

    use super::*;

    fn values(next: i64, stop: i64, step: i64) -> Vec<i64> {
        let schema = Arc::new(Schema::new(vec![SqlType::Int8.field(NAME, true)]));
        let mut series = Series {
            next,
            stop,
            step,
            is_int4: false,
            schema,
        };
        std::iter::from_fn(|| series.batch())
            .flat_map(|batch| {
                batch
                    .unwrap()
                    .column(0)
                    .as_primitive::<Int64Type>()
                    .values()
                    .to_vec()
            })
            .collect()
    }

    #[test]
    fn both_ends_count_and_nothing_runs_over() {
        assert_eq!(values(1, 3, 1), [1, 2, 3]);
        assert_eq!(values(1, 6, 2), [1, 3, 5]);
        assert_eq!(values(3, 1, -1), [3, 2, 1]);
        assert_eq!(values(3, 3, 1), [3]);
        assert_eq!(values(3, 3, -1), [3]);
        assert_eq!(values(3, 1, 1), [0; 0]);
        assert_eq!(values(1, 3, -1), [0; 0]);
        assert_eq!(values(i64::MAX - 1, i64::MAX, 1), [i64::MAX - 1, i64::MAX]);
        assert_eq!(values(1, 20_000, 1).len(), 20_000);
    }
}
