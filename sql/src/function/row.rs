//! Functions that are computed one row at a time: those of Postgres that the library lacks, or has with another meaning.
//!
//! Each is a line in one of the lists below: a name, the types of the arguments and of the result, and a plain function
//! from values to a value. A NULL argument makes NULL. Where the library has a function of the name for other types, as
//! `length` for texts, the call goes on to it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, IntervalMonthDayNano};
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use millpond_catalog::SqlType;

use super::text_cast::array_of;
use crate::error::Error;

mod array;
mod bytes;
mod number;
pub mod period;
pub mod regular;
mod text;
pub mod time;

/// The type of an argument or result.
#[derive(Debug, Clone)]
pub enum Kind {
    Is(SqlType),
    /// Any array. Several of them, and the result, are of one type.
    List,
    /// An element of that array.
    Element,
}

pub type Body = fn(&[ScalarValue]) -> Result<ScalarValue, Error>;

/// One meaning of a function.
#[derive(Debug, Clone)]
pub struct Overload {
    pub arguments: Vec<Kind>,
    pub result: Kind,
    pub body: Body,
    /// The body sees NULLs.
    pub takes_null: bool,
}

impl Overload {
    pub fn new(arguments: &[SqlType], result: SqlType, body: Body) -> Self {
        Self::of(
            arguments.iter().cloned().map(Kind::Is).collect(),
            Kind::Is(result),
            body,
        )
    }

    pub fn of(arguments: Vec<Kind>, result: Kind, body: Body) -> Self {
        Self {
            arguments,
            result,
            body,
            takes_null: false,
        }
    }

    pub fn with_nulls(mut self) -> Self {
        self.takes_null = true;
        self
    }

    /// The types to cast the arguments to, and how many are so already.
    fn fit(&self, given: &[DataType]) -> Option<(usize, Vec<DataType>)> {
        if given.len() != self.arguments.len() {
            return None;
        }
        let list = self.list(given);
        let mut exact = 0;
        let mut types = Vec::with_capacity(given.len());
        for (kind, given) in self.arguments.iter().zip(given) {
            let wanted = match kind {
                Kind::Is(sql_type) => sql_type.arrow(),
                Kind::List => list.clone()?,
                Kind::Element => element(&list.clone()?)?,
            };
            if *given == wanted {
                exact += 1;
            } else if !converts(given, &wanted) {
                return None;
            }
            types.push(wanted);
        }
        Some((exact, types))
    }

    fn begins_with(&self, given: &DataType) -> bool {
        match self.arguments.first() {
            Some(Kind::Is(sql_type)) if self.arguments.len() > 1 && matches!(sql_type, SqlType::Text) => {
                given.is_string() || given.is_null()
            }
            Some(Kind::Is(sql_type)) => sql_type.arrow() == *given,
            Some(Kind::List) => matches!(given, DataType::List(_)),
            Some(Kind::Element) | None => true,
        }
    }

    /// The type of the arrays among the arguments.
    fn list(&self, given: &[DataType]) -> Option<DataType> {
        let lists = self
            .arguments
            .iter()
            .zip(given)
            .filter(|(kind, _)| matches!(kind, Kind::List));
        let mut lists = lists.map(|(_, given)| given);
        lists.find(|t| matches!(t, DataType::List(_))).cloned()
    }
}

fn element(list: &DataType) -> Option<DataType> {
    match list {
        DataType::List(field) => Some(field.data_type().clone()),
        _ => None,
    }
}

/// Whether a value may stand where another type is wanted: as Postgres' implicit casts, and literals.
fn converts(given: &DataType, wanted: &DataType) -> bool {
    match (given, wanted) {
        (DataType::Null, _) => true,
        // A literal; a column of text fails when it is read.
        (
            DataType::Utf8,
            DataType::Binary | DataType::Interval(_) | DataType::Timestamp(..) | DataType::List(_),
        ) => true,
        (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, DataType::Utf8) => true,
        (given, DataType::Int16 | DataType::Int32 | DataType::Int64) => given.is_integer(),
        (given, DataType::Decimal128(..)) => given.is_integer() || matches!(given, DataType::Decimal128(..)),
        (given, DataType::Float64) => given.is_numeric(),
        (DataType::Date32 | DataType::Timestamp(..), DataType::Timestamp(..)) => true,
        (DataType::Time64(_), DataType::Interval(_) | DataType::Time64(_)) => true,
        (DataType::Interval(_) | DataType::Duration(_), DataType::Interval(_)) => true,
        (DataType::List(given), DataType::List(wanted)) => {
            given.data_type() == wanted.data_type() || converts(given.data_type(), wanted.data_type())
        }
        _ => false,
    }
}

/// A function of several meanings.
#[derive(Debug)]
pub struct RowFunction {
    name: &'static str,
    overloads: Vec<Overload>,
    /// What the library does for other types.
    library: Option<Arc<ScalarUDF>>,
    signature: Signature,
}

/// Functions are told apart by their names.
impl PartialEq for RowFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for RowFunction {}

impl Hash for RowFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl RowFunction {
    fn new(name: &'static str, overloads: Vec<Overload>) -> Self {
        Self {
            name,
            overloads,
            library: None,
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }

    fn over(mut self, library: Arc<ScalarUDF>) -> Self {
        self.library = Some(library);
        self
    }

    /// All functions of the lists.
    pub fn all() -> Vec<Arc<ScalarUDF>> {
        let lists = [
            array::list(),
            bytes::list(),
            number::list(),
            period::list(),
            regular::list(),
            text::list(),
            time::list(),
        ];
        let udf = |function| Arc::new(ScalarUDF::new_from_impl(function));
        lists.into_iter().flatten().map(udf).collect()
    }

    /// A call of the function of that name.
    pub fn call(name: &str, arguments: Vec<Expr>) -> Expr {
        Expr::ScalarFunction(ScalarFunction::new_udf(Self::named(name), arguments))
    }

    /// The function of that name.
    pub fn named(name: &str) -> Arc<ScalarUDF> {
        static ALL: std::sync::LazyLock<Vec<Arc<ScalarUDF>>> = std::sync::LazyLock::new(RowFunction::all);
        let found = ALL.iter().find(|udf| udf.name() == name);
        Arc::clone(found.expect("only names of the lists are asked for"))
    }

    fn choose(&self, given: &[DataType]) -> Option<(&Overload, Vec<DataType>)> {
        let mut best: Option<(usize, &Overload, Vec<DataType>)> = None;
        for overload in &self.overloads {
            // What the library takes is not read as something else.
            let mine =
                self.library.is_none() || given.first().is_none_or(|first| overload.begins_with(first));
            if mine
                && let Some((exact, types)) = overload.fit(given)
                && best.as_ref().is_none_or(|(most, ..)| exact > *most)
            {
                best = Some((exact, overload, types));
            }
        }
        best.map(|(_, overload, types)| (overload, types))
    }

    fn no_function(&self, given: &[DataType]) -> DataFusionError {
        let types: Vec<_> = given.iter().map(ToString::to_string).collect();
        DataFusionError::Plan(format!(
            "No function matches the given name and argument types '{}({})'.",
            self.name,
            types.join(", ")
        ))
    }

    /// The types that the library casts the arguments to. It takes wide integers only.
    fn library_types(&self, library: &ScalarUDF, given: &[DataType]) -> Result<Vec<DataType>> {
        let fields = |widen: bool| -> Vec<FieldRef> {
            let wide = |t: &DataType| {
                if widen && t.is_integer() {
                    DataType::Int64
                } else {
                    t.clone()
                }
            };
            given
                .iter()
                .map(|t| Arc::new(Field::new("", wide(t), true)))
                .collect()
        };
        let coerced =
            fields_with_udf(&fields(false), library).or_else(|_| fields_with_udf(&fields(true), library));
        let coerced = coerced.map_err(|_| self.no_function(given))?;
        Ok(coerced.iter().map(|field| field.data_type().clone()).collect())
    }
}

impl ScalarUDFImpl for RowFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        self.library.as_ref().map_or(&[], |library| library.aliases())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match (self.choose(arguments), &self.library) {
            (Some((overload, types)), _) => Ok(match &overload.result {
                Kind::Is(sql_type) => sql_type.arrow(),
                Kind::List => overload.list(&types).ok_or_else(|| self.no_function(arguments))?,
                Kind::Element => overload
                    .list(&types)
                    .and_then(|list| element(&list))
                    .ok_or_else(|| self.no_function(arguments))?,
            }),
            (None, Some(library)) => library.return_type(arguments),
            (None, None) => Err(self.no_function(arguments)),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<_> = args.arg_fields.iter().map(|f| f.data_type().clone()).collect();
        match (self.choose(&types), &self.library) {
            (
                Some((
                    Overload {
                        result: Kind::Is(sql_type),
                        ..
                    },
                    _,
                )),
                _,
            ) => Ok(Arc::new(sql_type.field(self.name, true))),
            (None, Some(library)) => library.return_field_from_args(args),
            _ => Ok(Arc::new(Field::new(self.name, self.return_type(&types)?, true))),
        }
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        match (self.choose(given), &self.library) {
            (Some((_, types)), _) => Ok(types),
            (None, Some(library)) => self.library_types(library, given),
            (None, None) => Err(self.no_function(given)),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<_> = args.args.iter().map(ColumnarValue::data_type).collect();
        let Some((overload, _)) = self.choose(&types) else {
            return match &self.library {
                Some(library) => library.invoke_with_args(args),
                None => exec_err!("{} is called with types it does not take", self.name),
            };
        };
        let constant = args
            .args
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let null = ScalarValue::try_from(args.return_type())?;
        let mut results = Vec::with_capacity(rows);
        let mut values = Vec::with_capacity(args.args.len());
        for row in 0..rows {
            values.clear();
            for argument in &args.args {
                values.push(match argument {
                    ColumnarValue::Scalar(value) => value.clone(),
                    ColumnarValue::Array(array) => ScalarValue::try_from_array(array, row)?,
                });
            }
            results.push(
                if !overload.takes_null && values.iter().any(ScalarValue::is_null) {
                    null.clone()
                } else {
                    let value =
                        (overload.body)(&values).map_err(|e| DataFusionError::External(Box::new(e)))?;
                    if value.is_null() { null.clone() } else { value }
                },
            );
        }
        if constant && let Some(value) = results.pop() {
            return Ok(ColumnarValue::Scalar(value.cast_to(args.return_type())?));
        }
        Ok(ColumnarValue::Array(array_of(results, args.return_type())?))
    }
}

// What the arguments are, after they were cast to the types of the overload.

fn as_text(value: &ScalarValue) -> &str {
    match value {
        ScalarValue::Utf8(Some(text)) => text,
        other => unreachable!("a text, not {other:?}"),
    }
}

fn as_bytes(value: &ScalarValue) -> &[u8] {
    match value {
        ScalarValue::Binary(Some(bytes)) => bytes,
        other => unreachable!("bytes, not {other:?}"),
    }
}

fn as_int(value: &ScalarValue) -> i64 {
    match value {
        ScalarValue::Int16(Some(value)) => i64::from(*value),
        ScalarValue::Int32(Some(value)) => i64::from(*value),
        ScalarValue::Int64(Some(value)) => *value,
        other => unreachable!("an integer, not {other:?}"),
    }
}

fn as_float(value: &ScalarValue) -> f64 {
    match value {
        ScalarValue::Float64(Some(value)) => *value,
        other => unreachable!("a float, not {other:?}"),
    }
}

fn as_interval(value: &ScalarValue) -> IntervalMonthDayNano {
    match value {
        ScalarValue::IntervalMonthDayNano(Some(value)) => *value,
        other => unreachable!("an interval, not {other:?}"),
    }
}

/// Microseconds of a time or timestamp.
fn as_micros(value: &ScalarValue) -> i64 {
    match value {
        ScalarValue::TimestampMicrosecond(Some(value), _) | ScalarValue::Time64Microsecond(Some(value)) => {
            *value
        }
        other => unreachable!("a time, not {other:?}"),
    }
}

fn int4(value: impl TryInto<i32>) -> Result<ScalarValue, Error> {
    let value = value
        .try_into()
        .map_err(|_| Error::new(crate::error::ErrorKind::NumericOutOfRange, "integer out of range"))?;
    Ok(ScalarValue::Int32(Some(value)))
}

fn text(value: impl Into<String>) -> Result<ScalarValue, Error> {
    Ok(ScalarValue::Utf8(Some(value.into())))
}

fn bytes_of(value: Vec<u8>) -> Result<ScalarValue, Error> {
    Ok(ScalarValue::Binary(Some(value)))
}
