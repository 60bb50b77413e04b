//! `window_revision()` and `is_final()`: what is known of the result of a window by the time it is shown.
//!
//! Beside the other aggregates of a group by a window, the first is how often the result has changed since its window was
//! closed, the second whether it can change no more. In a one-off query all input is there: never, and yes.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, TypeSignature, Volatility,
};

/// Both.
pub(super) fn functions() -> impl Iterator<Item = Arc<AggregateUDF>> {
    [Told::Revision, Told::IsFinal].into_iter().map(|told| {
        let signature = Signature::one_of(
            vec![
                TypeSignature::Nullary,
                TypeSignature::Exact(vec![DataType::Boolean]),
            ],
            Volatility::Volatile,
        );
        Arc::new(AggregateUDF::from(OfWindow { told, signature }))
    })
}

/// What is told of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Told {
    Revision,
    IsFinal,
}

impl Told {
    /// What the function of this name tells.
    pub(crate) fn by(name: &str) -> Option<Told> {
        let all = [Told::Revision, Told::IsFinal];
        all.into_iter().find(|told| told.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Told::Revision => "window_revision",
            Told::IsFinal => "is_final",
        }
    }

    fn of_all_input(self) -> ScalarValue {
        match self {
            Told::Revision => ScalarValue::Int64(Some(0)),
            Told::IsFinal => ScalarValue::Boolean(Some(true)),
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfWindow {
    told: Told,
    signature: Signature,
}

impl AggregateUDFImpl for OfWindow {
    fn name(&self) -> &str {
        self.told.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(self.told.of_all_input().data_type())
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OfAllInput(self.told)))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        // The library takes no state without a column.
        let name = format_state_name(args.name, "nothing");
        Ok(vec![Arc::new(Field::new(name, DataType::Boolean, true))])
    }
}

#[derive(Debug)]
struct OfAllInput(Told);

impl Accumulator for OfAllInput {
    fn update_batch(&mut self, _values: &[ArrayRef]) -> Result<()> {
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.0.of_all_input())
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Boolean(None)])
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        Ok(())
    }
}
