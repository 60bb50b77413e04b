//! Evaluation of expressions over batches, with rows that fail told apart from rows that do not.
//!
//! Evaluation is vectorised. Only when a batch fails is it halved until the failing rows stand alone, so that a division
//! by zero in one row costs that row and no other. An expression is a function of its row and the epoch's times, so a retraction fails exactly when the insertion did, and both stay out of the result.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, Schema, TimeUnit};
use arrow::error::ArrowError;
use arrow::json::LineDelimitedWriter;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{ColumnarValue, Expr, Volatility, create_udf};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use millpond_storage::ChangeBatch;

use crate::epoch::OperatorContext;
use crate::error::{Error, Result};
use crate::operator::Output;
use crate::source::BadRow;

/// Name of the function that stands for the epoch's processing time in a streaming query.
pub const PROCESSING_TIME: &str = "processing_time";

/// Name of the function that stands for a watermark of the epoch in a streaming query.
pub const CURRENT_WATERMARK: &str = "current_watermark";
/// What lowering puts in its place where it has found which watermark it is.
const EPOCH_WATERMARK: &str = "epoch_watermark";

/// A call that the [`EpochTimes`] of a `Map` answer.
pub(crate) fn epoch_watermark(zone: Option<Arc<str>>) -> Expr {
    let data_type = DataType::Timestamp(TimeUnit::Microsecond, zone);
    let body = Arc::new(|_: &[ColumnarValue]| exec_err!("a watermark outside of an epoch"));
    create_udf(EPOCH_WATERMARK, Vec::new(), data_type, Volatility::Stable, body).call(Vec::new())
}

/// The times that are constant in the running epoch, shared by the expressions of one operator instance.
#[derive(Debug, Clone, Default)]
pub(crate) struct EpochTimes {
    processing_time: Arc<AtomicI64>,
    /// `NONE` before there is one.
    watermark: Arc<AtomicI64>,
}

/// A time that is not there.
const NONE: i64 = i64::MIN;

impl EpochTimes {
    pub fn set(&self, context: &OperatorContext) {
        self.processing_time
            .store(context.processing_time_us, Ordering::Relaxed);
        self.watermark
            .store(context.late().unwrap_or(NONE), Ordering::Relaxed);
    }

    /// `expr` with every call that stands for such a time reading its cell.
    pub fn bind(&self, expr: &Arc<dyn PhysicalExpr>) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
        let bound = Arc::clone(expr).transform_up(|expr| {
            let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() else {
                return Ok(Transformed::no(expr));
            };
            let (name, cell) = match call.name() {
                PROCESSING_TIME => (PROCESSING_TIME, &self.processing_time),
                EPOCH_WATERMARK => (CURRENT_WATERMARK, &self.watermark),
                _ => return Ok(Transformed::no(expr)),
            };
            let DataType::Timestamp(TimeUnit::Microsecond, zone) = call.return_type() else {
                return Err(DataFusionError::Plan(format!("{name}() must be a timestamp")));
            };
            Ok(Transformed::yes(Arc::new(EpochTimeExpr {
                name,
                cell: Arc::clone(cell),
                zone: zone.clone(),
            }) as _))
        })?;
        Ok(bound.data)
    }
}

#[derive(Debug)]
struct EpochTimeExpr {
    name: &'static str,
    cell: Arc<AtomicI64>,
    zone: Option<Arc<str>>,
}

impl PartialEq for EpochTimeExpr {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.cell, &other.cell) && self.zone == other.zone
    }
}

impl Eq for EpochTimeExpr {}

impl Hash for EpochTimeExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.cell).hash(state);
    }
}

impl fmt::Display for EpochTimeExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}()", self.name)
    }
}

impl PhysicalExpr for EpochTimeExpr {
    fn data_type(&self, _input_schema: &Schema) -> DataFusionResult<DataType> {
        Ok(DataType::Timestamp(TimeUnit::Microsecond, self.zone.clone()))
    }

    fn nullable(&self, _input_schema: &Schema) -> DataFusionResult<bool> {
        Ok(self.name == CURRENT_WATERMARK)
    }

    fn evaluate(&self, _batch: &RecordBatch) -> DataFusionResult<ColumnarValue> {
        let time = self.cell.load(Ordering::Relaxed);
        Ok(ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(
            (time != NONE).then_some(time),
            self.zone.clone(),
        )))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        Vec::new()
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
        Ok(self)
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What to do with rows on which an expression fails.
#[derive(Debug, Clone)]
pub(crate) struct FailurePolicy {
    /// The operator, as the position of bad rows.
    pub position: String,
    /// Stop the query with an error instead.
    pub fail: bool,
}

impl FailurePolicy {
    /// Applies `evaluate` to `changes` and sends what comes out; rows on which it fails become bad rows.
    pub fn apply(
        &self,
        changes: ChangeBatch,
        output: &mut Output,
        evaluate: &mut dyn FnMut(&ChangeBatch) -> DataFusionResult<ChangeBatch>,
    ) -> Result<()> {
        match evaluate(&changes) {
            Ok(result) => output.send(result),
            Err(error) if self.fail || !is_about_a_row(&error) => return Err(user_error(&error)),
            Err(error) if changes.num_rows() == 1 => {
                // Only an insertion is news; its retraction finds nothing to take away.
                if changes.weight(0) > 0 {
                    self.report(changes.rows(), &error, output);
                }
            }
            Err(_) => {
                let half = changes.num_rows() / 2;
                self.apply(changes.slice(0, half), output, evaluate)?;
                self.apply(changes.slice(half, changes.num_rows() - half), output, evaluate)?;
            }
        }
        Ok(())
    }

    /// Which rows meet `predicate`. A row on which it fails does not, and becomes a bad row if it is news.
    pub fn met(
        &self,
        predicate: &Arc<dyn PhysicalExpr>,
        rows: &RecordBatch,
        is_news: &dyn Fn(usize) -> bool,
        output: &mut Output,
    ) -> Result<Vec<bool>> {
        let mut met = Vec::with_capacity(rows.num_rows());
        // Ranges to look at, the next one last.
        let mut ranges = vec![(0, rows.num_rows())];
        while let Some((start, length)) = ranges.pop() {
            let part = rows.slice(start, length);
            match predicate.evaluate(&part).and_then(|mask| mask.into_array(length)) {
                Ok(mask) => met.extend(mask.as_boolean().iter().map(|met| met == Some(true))),
                Err(error) if self.fail || !is_about_a_row(&error) => return Err(user_error(&error)),
                Err(error) if length == 1 => {
                    if is_news(start) {
                        self.report(&part, &error, output);
                    }
                    met.push(false);
                }
                Err(_) => {
                    let half = length / 2;
                    ranges.extend([(start + half, length - half), (start, half)]);
                }
            }
        }
        Ok(met)
    }

    /// Sets the one row of `rows` aside.
    fn report(&self, rows: &RecordBatch, error: &DataFusionError, output: &mut Output) {
        output.bad_rows.push(BadRow {
            position: self.position.clone(),
            bytes: row_as_json(rows, 0),
            error: message(error),
        });
    }
}

/// A row as one JSON object, for bad rows.
pub(crate) fn row_as_json(rows: &RecordBatch, row: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = LineDelimitedWriter::new(&mut bytes);
    let written = writer.write(&rows.slice(row, 1)).and_then(|()| writer.finish());
    drop(writer);
    match written {
        Ok(()) => bytes.trim_ascii_end().to_vec(),
        // A column type without a JSON form: better the debug form than nothing.
        Err(_) => format!("{:?}", rows.slice(row, 1).columns()).into_bytes(),
    }
}

/// False for errors that any row would give: defects, missing features, lack of memory.
pub(crate) fn is_about_a_row(error: &DataFusionError) -> bool {
    !matches!(
        error.find_root(),
        DataFusionError::Internal(_)
            | DataFusionError::NotImplemented(_)
            | DataFusionError::ResourcesExhausted(_)
            | DataFusionError::Plan(_)
            | DataFusionError::SchemaError(..)
            | DataFusionError::Configuration(_)
    )
}

/// A failed evaluation as an error of the user's query.
pub fn user_error(error: &DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::ResourcesExhausted(text) => Error::OutOfMemory(text.clone()),
        _ if is_about_a_row(error) => Error::User {
            message: message(error),
            sqlstate: sqlstate(error),
            hint: None,
        },
        _ => Error::Bug(error.to_string()),
    }
}

/// The error's text as Postgres would put it, where it has one.
pub(crate) fn message(error: &DataFusionError) -> String {
    match error.find_root() {
        DataFusionError::ArrowError(error, _) => match error.as_ref() {
            ArrowError::DivideByZero => "division by zero".to_owned(),
            ArrowError::CastError(text)
            | ArrowError::ParseError(text)
            | ArrowError::ArithmeticOverflow(text)
            | ArrowError::ComputeError(text)
            | ArrowError::InvalidArgumentError(text) => text.clone(),
            other => other.to_string(),
        },
        DataFusionError::Execution(text) => text.clone(),
        DataFusionError::External(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// The SQLSTATE of a failed evaluation: a class 22 code, "data exception".
pub fn sqlstate(error: &DataFusionError) -> &'static str {
    match error.find_root() {
        DataFusionError::ArrowError(error, _) => match error.as_ref() {
            ArrowError::DivideByZero => "22012",
            ArrowError::ArithmeticOverflow(_) | ArrowError::DictionaryKeyOverflowError => "22003",
            ArrowError::ParseError(_) => "22007",
            ArrowError::CastError(text) if text.contains("imestamp") || text.contains("Date") => "22007",
            // "Can't cast value 300 to type Int8", "12345 is too large to store in a Decimal128 of precision 4"
            ArrowError::CastError(text)
                if text.starts_with("Can't cast value") || text.contains("too large") =>
            {
                "22003"
            }
            ArrowError::CastError(_) => "22P02",
            ArrowError::InvalidArgumentError(text)
                if text.contains("too large") || text.contains("too small") =>
            {
                "22003"
            }
            _ => "22000",
        },
        DataFusionError::Execution(text)
            if text.contains("verflow")
                || text.contains("out of range")
                || text.contains("is not between 0 and 1") =>
        {
            "22003"
        }
        DataFusionError::Execution(text) if text.contains("more than one row") => "21000",
        DataFusionError::Execution(text)
            if text.contains("ivide by zero") || text.contains("division by zero") =>
        {
            "22012"
        }
        _ => "22000",
    }
}
