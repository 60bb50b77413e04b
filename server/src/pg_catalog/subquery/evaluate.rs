//! Runs a subquery for the values of one outer row, and remembers the answer.
//!
//! The inner query is planned once, over cells that hold the outer values ([`OuterValues`]), and run again for each new
//! combination of them. It reads memory only, so it never waits for long and is run to its end on the spot.

use std::collections::HashMap;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use arrow::array::{Array, ArrayRef, RecordBatch, StructArray, new_empty_array};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::scalar::ScalarValue;
use parking_lot::Mutex;

/// What a subquery gives for an outer row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The only value, NULL without a row; more than one row is an error.
    Scalar,
    /// The values of all rows as an array.
    Array,
    /// Whether there is a row.
    Exists,
    /// Whether a row is true; unknown when none is and one is NULL.
    Any,
    /// Whether all rows are true; unknown when none is false and one is NULL.
    All,
    /// All rows, as a list of structs.
    Rows,
}

/// The outer values of the row that is being evaluated.
#[derive(Debug, Default)]
pub struct OuterValues {
    values: Mutex<Vec<ScalarValue>>,
}

/// A value of the outer row, as a function without arguments within the inner query. It is volatile, or it would be taken
/// for a constant.
#[derive(Debug)]
pub struct OuterValue {
    values: Arc<OuterValues>,
    position: usize,
    field: FieldRef,
    signature: Signature,
}

impl OuterValue {
    pub fn new(values: Arc<OuterValues>, position: usize, field: FieldRef) -> Self {
        let field = Arc::new(field.as_ref().clone().with_nullable(true));
        Self {
            values,
            position,
            field,
            signature: Signature::nullary(Volatility::Volatile),
        }
    }
}

impl PartialEq for OuterValue {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.values, &other.values) && self.position == other.position
    }
}

impl Eq for OuterValue {}

impl Hash for OuterValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.position.hash(state);
    }
}

impl ScalarUDFImpl for OuterValue {
    fn name(&self) -> &str {
        "outer_value"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.field.data_type().clone())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(self.field.clone())
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let value = self.values.values.lock().get(self.position).cloned();
        let value = value
            .ok_or_else(|| DataFusionError::Internal("an outer value was read outside of a row".into()))?;
        // The outer expression may have been given another type since the inner query was planned.
        Ok(ColumnarValue::Scalar(value.cast_to(self.field.data_type())?))
    }
}

/// A subquery as a function of the outer values it names.
#[derive(Debug)]
pub struct SubqueryFunction {
    inner: Arc<LogicalPlan>,
    answer: Answer,
    field: FieldRef,
    values: Arc<OuterValues>,
    signature: Signature,
    /// Held while a row is evaluated: the cells belong to one row at a time.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    physical: Option<Arc<dyn ExecutionPlan>>,
    answers: HashMap<Vec<ScalarValue>, ScalarValue>,
}

/// Names the fields of a row by position, because names in a query may repeat.
pub fn field_name(position: usize) -> String {
    format!("c{position}")
}

impl SubqueryFunction {
    /// Over an analyzed inner query.
    pub fn new(inner: LogicalPlan, answer: Answer, values: Arc<OuterValues>) -> Self {
        let first = || inner.schema().field(0);
        let field = match answer {
            Answer::Scalar => {
                Field::new("", first().data_type().clone(), true).with_metadata(first().metadata().clone())
            }
            Answer::Array => Field::new("", DataType::new_list(first().data_type().clone(), true), true),
            Answer::Exists | Answer::Any | Answer::All => Field::new("", DataType::Boolean, true),
            Answer::Rows => Field::new(
                "",
                DataType::new_list(DataType::Struct(row_fields(&inner)), true),
                true,
            ),
        };
        Self {
            inner: Arc::new(inner),
            answer,
            field: Arc::new(field),
            values,
            signature: Signature::user_defined(Volatility::Stable),
            state: Mutex::default(),
        }
    }

    fn answer_for(&self, outer: Vec<ScalarValue>) -> Result<ScalarValue> {
        let mut state = self.state.lock();
        if let Some(known) = state.answers.get(&outer) {
            return Ok(known.clone());
        }
        self.values.values.lock().clone_from(&outer);
        let physical = match state.physical.take() {
            // What a run left behind, such as the built side of a join, belongs to other values.
            Some(physical) => reset_plan_states(physical)?,
            None => run(SESSION.state().create_physical_plan(&self.inner))?,
        };
        let batches = run(collect(physical.clone(), SESSION.task_ctx()))?;
        let answer = self.read(&batches)?;
        state.physical = Some(physical);
        state.answers.insert(outer, answer.clone());
        Ok(answer)
    }

    fn read(&self, batches: &[RecordBatch]) -> Result<ScalarValue> {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        match self.answer {
            Answer::Exists => Ok(ScalarValue::Boolean(Some(rows > 0))),
            Answer::Scalar => match rows {
                0 => ScalarValue::try_from(self.field.data_type()),
                1 => {
                    let batch = batches
                        .iter()
                        .find(|b| b.num_rows() > 0)
                        .expect("one batch holds the only row");
                    ScalarValue::try_from_array(batch.column(0), 0)
                }
                _ => Err(DataFusionError::Execution(
                    "more than one row returned by a subquery used as an expression".to_owned(),
                )),
            },
            Answer::Any | Answer::All => {
                let mut seen = Seen::default();
                for batch in batches {
                    let column = batch.column(0);
                    for row in 0..batch.num_rows() {
                        seen.add(&ScalarValue::try_from_array(column, row)?);
                    }
                }
                Ok(ScalarValue::Boolean(if self.answer == Answer::Any {
                    seen.any()
                } else {
                    seen.all()
                }))
            }
            Answer::Array => {
                let element = self.inner.schema().field(0).data_type().clone();
                list(batches.iter().map(|b| b.column(0).clone()), &element)
            }
            Answer::Rows if rows == 0 => ScalarValue::try_from(self.field.data_type()),
            Answer::Rows => {
                let fields = row_fields(&self.inner);
                let structs = batches.iter().map(|batch| -> Result<ArrayRef> {
                    Ok(Arc::new(StructArray::try_new(
                        fields.clone(),
                        batch.columns().to_vec(),
                        None,
                    )?))
                });
                let structs = structs.collect::<Result<Vec<_>>>()?;
                list(structs.into_iter(), &DataType::Struct(fields))
            }
        }
    }
}

fn row_fields(inner: &LogicalPlan) -> Fields {
    let fields = inner.schema().fields().iter().enumerate();
    fields
        .map(|(i, f)| {
            Field::new(field_name(i), f.data_type().clone(), true).with_metadata(f.metadata().clone())
        })
        .collect()
}

/// A list of all values of the arrays.
fn list(arrays: impl Iterator<Item = ArrayRef>, element: &DataType) -> Result<ScalarValue> {
    let mut values = Vec::new();
    for array in arrays {
        for row in 0..array.len() {
            values.push(ScalarValue::try_from_array(&array, row)?);
        }
    }
    Ok(ScalarValue::List(ScalarValue::new_list_nullable(
        &values, element,
    )))
}

/// Which truth values occurred.
#[derive(Debug, Default)]
struct Seen {
    is_true: bool,
    is_false: bool,
    is_null: bool,
}

impl Seen {
    fn add(&mut self, value: &ScalarValue) {
        match value {
            ScalarValue::Boolean(Some(true)) => self.is_true = true,
            ScalarValue::Boolean(Some(false)) => self.is_false = true,
            _ => self.is_null = true,
        }
    }

    fn any(&self) -> Option<bool> {
        if self.is_true {
            Some(true)
        } else {
            (!self.is_null).then_some(false)
        }
    }

    fn all(&self) -> Option<bool> {
        if self.is_false {
            Some(false)
        } else {
            (!self.is_null).then_some(true)
        }
    }
}

impl PartialEq for SubqueryFunction {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for SubqueryFunction {}

impl Hash for SubqueryFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.inner).hash(state);
    }
}

impl ScalarUDFImpl for SubqueryFunction {
    fn name(&self) -> &str {
        "subquery"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        Ok(given.to_vec())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.field.data_type().clone())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(self.field.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let arrays = args
            .args
            .iter()
            .map(|a| a.to_array(rows))
            .collect::<Result<Vec<_>>>()?;
        let mut answers = Vec::with_capacity(rows);
        for row in 0..rows {
            let outer = arrays
                .iter()
                .map(|a| ScalarValue::try_from_array(a, row))
                .collect::<Result<Vec<_>>>()?;
            answers.push(self.answer_for(outer)?);
        }
        if is_constant && let Some(answer) = answers.pop() {
            return Ok(ColumnarValue::Scalar(answer));
        }
        Ok(ColumnarValue::Array(match answers.is_empty() {
            true => new_empty_array(self.field.data_type()),
            false => ScalarValue::iter_to_array(answers)?,
        }))
    }
}

/// Plans and runs inner queries: one partition, since there is one row to wait for.
static SESSION: LazyLock<SessionContext> =
    LazyLock::new(|| SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1)));

/// Runs a future to its end on this thread. A thread of the asynchronous runtime may be waiting inside another such
/// future, so neither the runtime nor an executor that refuses to be entered twice can be asked to.
fn run<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    // The budget of the task around us would make the future yield for ever once it is used up.
    let mut future = pin!(tokio::task::unconstrained(future));
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
