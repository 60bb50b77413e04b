//! Calls that stand in a plan for what has no node of its own, until planning knows enough to put it in their place:
//!
//! - `asof_join([comparison])` in the condition of a join: of the rows that match, only the nearest by the comparison of two
//!   times is a partner. It is what `ASOF JOIN` becomes.
//! - `join_within(interval)` in the condition of a join: a bound on the time between partners. It is what
//!   `a JOIN b WITHIN INTERVAL '1 hour' ON ..` becomes.
//! - `dedup_within(interval)` among the keys of the DISTINCT ON that `dedup(t, k, within)` is planned as: how long duplicates
//!   may come after the first row; NULL for the delay of the watermark. Run once, it is a constant and tells no rows apart.

use arrow::datatypes::DataType;
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use datafusion::scalar::ScalarValue;

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Marker {
    name: &'static str,
    signature: Signature,
    /// Where alone it is allowed; `None` if it may be run.
    place: Option<&'static str>,
}

impl Marker {
    pub const ASOF_JOIN: &'static str = "asof_join";
    pub const JOIN_WITHIN: &'static str = "join_within";
    pub const DEDUP_WITHIN: &'static str = "dedup_within";

    pub fn asof_join() -> Self {
        let arguments = vec![TypeSignature::Nullary, TypeSignature::Any(1)];
        Self {
            name: Self::ASOF_JOIN,
            // All are volatile, so that none is replaced by its value before it has been seen.
            signature: Signature::one_of(arguments, Volatility::Volatile),
            place: Some("asof_join is allowed in the ON of a join only"),
        }
    }

    pub fn join_within() -> Self {
        Self {
            name: Self::JOIN_WITHIN,
            signature: Signature::any(1, Volatility::Volatile),
            place: Some("WITHIN is allowed before the ON of a join only"),
        }
    }

    pub fn dedup_within() -> Self {
        Self {
            name: Self::DEDUP_WITHIN,
            signature: Signature::any(1, Volatility::Volatile),
            place: None,
        }
    }
}

impl ScalarUDFImpl for Marker {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match self.place {
            Some(place) => exec_err!("{place}"),
            None => Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(true)))),
        }
    }
}
