//! `mode` and `percentile_disc`: one of the values themselves, chosen by where it stands in the order of all.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array, make_comparator, new_empty_array};
use arrow::compute::{SortOptions, concat, filter, is_not_null, sort_to_indices};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Signature, Volatility,
};

/// All of them.
pub(super) fn functions() -> impl Iterator<Item = Arc<AggregateUDF>> {
    [Choice::Mode, Choice::Percentile].into_iter().map(|choice| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(AggregateUDF::from(OrderedSet { choice, signature }))
    })
}

/// Which value is the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Choice {
    /// The most frequent one; of several the first.
    Mode,
    /// The first whose place, divided by the number of values, is at least the given fraction.
    Percentile,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OrderedSet {
    choice: Choice,
    signature: Signature,
}

impl AggregateUDFImpl for OrderedSet {
    fn name(&self) -> &str {
        match self.choice {
            Choice::Mode => "mode",
            Choice::Percentile => "percentile_disc",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        match (self.choice, arguments) {
            (Choice::Mode, [values]) => Ok(vec![values.clone()]),
            (Choice::Percentile, [values, fraction]) if fraction.is_numeric() || fraction.is_null() => {
                Ok(vec![values.clone(), DataType::Float64])
            }
            _ => plan_err!("{} takes other arguments", self.name()),
        }
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let values = Field::new_list_field(args.input_fields[0].data_type().clone(), true);
        let name = format_state_name(args.name, "values");
        Ok(vec![Arc::new(Field::new_list(name, values, true))])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let order = args.order_bys.first();
        Ok(Box::new(Values {
            data_type: args.expr_fields[0].data_type().clone(),
            batches: Vec::new(),
            options: SortOptions {
                descending: order.is_some_and(|order| order.options.descending),
                nulls_first: false,
            },
            fraction: match self.choice {
                Choice::Mode => None,
                Choice::Percentile => Some(fraction(&args)?),
            },
        }))
    }
}

/// The fraction of `percentile_disc`, which is the same for all rows; `None` is NULL.
fn fraction(args: &AccumulatorArgs) -> Result<Option<f64>> {
    let nothing = RecordBatch::new_empty(Arc::new(Schema::empty()));
    let value = match args.exprs[1].evaluate(&nothing) {
        Ok(ColumnarValue::Scalar(ScalarValue::Float64(value))) => value,
        _ => return plan_err!("the fraction of percentile_disc must be a constant"),
    };
    match value {
        Some(value) if !(0.0..=1.0).contains(&value) => {
            exec_err!("percentile value {value} is not between 0 and 1")
        }
        value => Ok(value),
    }
}

/// All values but NULL.
#[derive(Debug)]
struct Values {
    data_type: DataType,
    batches: Vec<ArrayRef>,
    options: SortOptions,
    /// Of `percentile_disc`; without it, the most frequent value is wanted.
    fraction: Option<Option<f64>>,
}

impl Values {
    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        let values = match values.null_count() {
            0 => Arc::clone(values),
            _ => filter(values, &is_not_null(values)?)?,
        };
        if !values.is_empty() {
            self.batches.push(values);
        }
        Ok(())
    }

    fn all(&self) -> Result<ArrayRef> {
        let batches: Vec<&dyn Array> = self.batches.iter().map(|batch| &**batch).collect();
        Ok(match batches.is_empty() {
            true => new_empty_array(&self.data_type),
            false => concat(&batches)?,
        })
    }
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        states[0]
            .as_list::<i32>()
            .iter()
            .flatten()
            .try_for_each(|values| self.add(&values))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let list = SingleRowListArrayBuilder::new(self.all()?).build_list_scalar();
        Ok(vec![list])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let values = self.all()?;
        if values.is_empty() {
            return ScalarValue::try_from(&self.data_type);
        }
        let sorted = sort_to_indices(&values, Some(self.options), None)?;
        let place = match self.fraction {
            Some(None) => return ScalarValue::try_from(&self.data_type),
            Some(Some(fraction)) => {
                let place = (fraction * values.len() as f64).ceil() as usize;
                place.clamp(1, values.len()) - 1
            }
            None => most_frequent(&values, &sorted)?,
        };
        ScalarValue::try_from_array(&values, sorted.value(place) as usize)
    }

    fn size(&self) -> usize {
        let batches = self.batches.iter().map(|batch| batch.get_array_memory_size());
        size_of_val(self) + batches.sum::<usize>()
    }
}

/// Where in `sorted` the longest run of equal values begins; of several the first.
fn most_frequent(values: &ArrayRef, sorted: &UInt32Array) -> Result<usize> {
    let compare = make_comparator(values, values, SortOptions::default())?;
    let sorted = sorted.values();
    let (mut best, mut longest, mut start) = (0, 0, 0);
    for end in 1..=sorted.len() {
        let is_over = end == sorted.len() || compare(sorted[start] as usize, sorted[end] as usize).is_ne();
        if is_over {
            if end - start > longest {
                (best, longest) = (start, end - start);
            }
            start = end;
        }
    }
    Ok(best)
}
