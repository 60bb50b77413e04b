//! Functions that make much of little, with the bounds of Postgres: a text has less than 1 GiB. What all rows of a batch
//! take together is bounded, too, since it is there at once; the function itself is the library's.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::{cast, kernels::length::length};
use arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::exec_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::functions::{string, unicode};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use crate::error::{Error, ErrorKind};

/// The most bytes of one value.
const VALUE_BYTES_MAX: u64 = (1 << 30) - 1;
/// The most bytes of the values of one batch.
const BATCH_BYTES_MAX: u64 = 1 << 30;
/// Of a character.
const CHARACTER_BYTES_MAX: u64 = 4;

/// How many bytes a call makes of its first argument and the number in its second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Growth {
    /// The first argument, so many times.
    Times,
    /// So many characters.
    Characters,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct SizedText {
    inner: ScalarUDF,
    growth: Growth,
}

impl SizedText {
    pub fn all() -> [Arc<ScalarUDF>; 3] {
        let bounded = |inner: Arc<ScalarUDF>, growth| {
            let inner = inner.as_ref().clone();
            Arc::new(ScalarUDF::new_from_impl(SizedText { inner, growth }))
        };
        [
            bounded(string::repeat(), Growth::Times),
            bounded(unicode::lpad(), Growth::Characters),
            bounded(unicode::rpad(), Growth::Characters),
        ]
    }

    fn check(&self, args: &ScalarFunctionArgs) -> Result<()> {
        let [text, count, ..] = args.args.as_slice() else {
            return Ok(());
        };
        let scalars = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if scalars { 1 } else { args.number_rows };
        let counts = numbers(&count.to_array(rows)?)?;
        let texts = match self.growth {
            Growth::Times => Some(numbers(&length(text.to_array(rows)?.as_ref())?)?),
            Growth::Characters => None,
        };
        let counts = counts.as_primitive::<Int64Type>();
        let mut all = 0u64;
        for row in (0..rows).filter(|row| counts.is_valid(*row)) {
            let count = u64::try_from(counts.value(row)).unwrap_or(0);
            let (bytes, most) = match texts.as_ref().map(|texts| texts.as_primitive::<Int64Type>()) {
                Some(texts) if texts.is_null(row) => continue,
                Some(texts) => {
                    let bytes = count.saturating_mul(u64::try_from(texts.value(row)).unwrap_or(0));
                    (bytes, bytes)
                }
                None => (count, count.saturating_mul(CHARACTER_BYTES_MAX)),
            };
            if most > VALUE_BYTES_MAX {
                let error = Error::new(ErrorKind::ProgramLimitExceeded, "requested length too large");
                return Err(DataFusionError::External(Box::new(error)));
            }
            all = all.saturating_add(bytes);
        }
        if all > BATCH_BYTES_MAX {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{} makes {all} bytes of {rows} rows at once, of {BATCH_BYTES_MAX} at most",
                self.inner.name()
            )));
        }
        Ok(())
    }
}

fn numbers(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Int64 => Ok(array.clone()),
        other if other.is_integer() || other.is_null() => Ok(cast(array, &DataType::Int64)?),
        other => exec_err!("a number was expected, not {other}"),
    }
}

impl ScalarUDFImpl for SizedText {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.check(&args)?;
        self.inner.inner().invoke_with_args(args)
    }
}
