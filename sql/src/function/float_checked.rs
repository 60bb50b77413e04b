//! Arithmetic and functions of floats that fail where Postgres' do: what is divided by zero, is not defined, or is too
//! large or too small for the type. The library gives infinity, NaN or zero.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::compute::kernels::arity::{try_binary, try_unary};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::error::ArrowError;
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::error::{Error, ErrorKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Exp,
    Ln,
    Log10,
    Sqrt,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
}

impl Operation {
    pub fn of_operator(operator: Operator) -> Option<Self> {
        Some(match operator {
            Operator::Plus => Self::Add,
            Operator::Minus => Self::Subtract,
            Operator::Multiply => Self::Multiply,
            Operator::Divide => Self::Divide,
            _ => return None,
        })
    }

    /// That of a function of the library with so many arguments.
    pub fn of_function(name: &str, arguments: usize) -> Option<Self> {
        Some(match (name, arguments) {
            ("power" | "pow", 2) => Self::Power,
            ("exp", 1) => Self::Exp,
            ("ln", 1) => Self::Ln,
            ("log" | "log10", 1) => Self::Log10,
            ("sqrt", 1) => Self::Sqrt,
            ("sin", 1) => Self::Sin,
            ("cos", 1) => Self::Cos,
            ("tan", 1) => Self::Tan,
            ("asin", 1) => Self::Asin,
            ("acos", 1) => Self::Acos,
            _ => return None,
        })
    }

    fn is_arithmetic(self) -> bool {
        matches!(self, Self::Add | Self::Subtract | Self::Multiply | Self::Divide)
    }
}

/// Arithmetic of two floats of one type, or a function of doubles. Put in place by the planner only.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct FloatChecked {
    operation: Operation,
    signature: Signature,
}

impl FloatChecked {
    pub fn of(operation: Operation, operands: Vec<Expr>) -> Expr {
        let function = Self {
            operation,
            signature: Signature::any(operands.len(), Volatility::Immutable),
        };
        let udf = Arc::new(ScalarUDF::new_from_impl(function));
        Expr::ScalarFunction(ScalarFunction::new_udf(udf, operands))
    }

    fn compute(&self, operands: &[ArrayRef]) -> Result<ArrayRef> {
        Ok(match (self.operation, operands) {
            (Operation::Power, [base, exponent]) => {
                let [base, exponent] = [base, exponent].map(|values| values.as_primitive::<Float64Type>());
                Arc::new(try_binary::<_, _, _, Float64Type>(base, exponent, power)?)
            }
            (operation, [left, right]) => match left.data_type() {
                DataType::Float32 => arithmetic::<Float32Type>(operation, left, right)?,
                _ => arithmetic::<Float64Type>(operation, left, right)?,
            },
            (operation, [value]) => {
                let values = value.as_primitive::<Float64Type>();
                let results: PrimitiveArray<Float64Type> =
                    try_unary(values, |value| of_one(operation, value))?;
                Arc::new(results)
            }
            _ => return plan_err!("{} takes one or two floats", self.name()),
        })
    }
}

impl ScalarUDFImpl for FloatChecked {
    fn name(&self) -> &str {
        match self.operation {
            Operation::Add => "float_add",
            Operation::Subtract => "float_subtract",
            Operation::Multiply => "float_multiply",
            Operation::Divide => "float_divide",
            Operation::Power => "float_power",
            Operation::Exp => "float_exp",
            Operation::Ln => "float_ln",
            Operation::Log10 => "float_log10",
            Operation::Sqrt => "float_sqrt",
            Operation::Sin => "float_sin",
            Operation::Cos => "float_cos",
            Operation::Tan => "float_tan",
            Operation::Asin => "float_asin",
            Operation::Acos => "float_acos",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [left @ (DataType::Float32 | DataType::Float64), right]
                if self.operation.is_arithmetic() && left == right =>
            {
                Ok(left.clone())
            }
            [DataType::Float64] | [DataType::Float64, DataType::Float64] => Ok(DataType::Float64),
            other => plan_err!("{} takes floats, not {other:?}", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args
            .args
            .iter()
            .all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let operands = ColumnarValue::values_to_arrays(&args.args)?;
        let result = self.compute(&operands)?;
        if is_constant {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?));
        }
        Ok(ColumnarValue::Array(result))
    }
}

/// The library's result, and a look at each row only where a result is not an ordinary number.
fn arithmetic<T>(operation: Operation, left: &ArrayRef, right: &ArrayRef) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: Into<f64>,
{
    let result = match operation {
        Operation::Add => numeric::add(left, right)?,
        Operation::Subtract => numeric::sub(left, right)?,
        Operation::Multiply => numeric::mul(left, right)?,
        _ => numeric::div(left, right)?,
    };
    let [left, right, values] = [left, right, &result].map(|array| array.as_primitive::<T>());
    let loses = matches!(operation, Operation::Multiply | Operation::Divide);
    let is_ordinary = |value: f64| value.is_finite() && !(loses && value == 0.0);
    if !values.values().iter().all(|value| is_ordinary((*value).into())) {
        for row in (0..values.len()).filter(|row| values.is_valid(*row)) {
            let [left, right, value] = [left, right, values].map(|array| array.value(row).into());
            check(operation, left, right, value)?;
        }
    }
    Ok(result)
}

/// The rules of Postgres' `float8_mul` and its like.
fn check(operation: Operation, left: f64, right: f64, result: f64) -> Result<(), ArrowError> {
    if operation == Operation::Divide && right == 0.0 && !left.is_nan() {
        return Err(ArrowError::DivideByZero);
    }
    let from_infinity = left.is_infinite() || (right.is_infinite() && operation != Operation::Divide);
    if result.is_infinite() && !from_infinity {
        return Err(too_large());
    }
    let is_lost = match operation {
        Operation::Multiply => left != 0.0 && right != 0.0,
        Operation::Divide => left != 0.0 && !right.is_infinite(),
        _ => false,
    };
    if result == 0.0 && is_lost {
        return Err(too_small());
    }
    Ok(())
}

fn too_large() -> ArrowError {
    ArrowError::ArithmeticOverflow("value out of range: overflow".to_owned())
}

fn too_small() -> ArrowError {
    ArrowError::ArithmeticOverflow("value out of range: underflow".to_owned())
}

fn undefined(kind: ErrorKind, message: &str) -> ArrowError {
    ArrowError::ExternalError(Box::new(Error::new(kind, message)))
}

fn power(base: f64, exponent: f64) -> Result<f64, ArrowError> {
    let refuse = |message| Err(undefined(ErrorKind::InvalidPowerArgument, message));
    if base == 0.0 && exponent < 0.0 {
        return refuse("zero raised to a negative power is undefined");
    }
    if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        return refuse("a negative number raised to a non-integer power yields a complex result");
    }
    let result = base.powf(exponent);
    let finite = base.is_finite() && exponent.is_finite();
    if finite && result.is_infinite() {
        return Err(too_large());
    }
    if finite && result == 0.0 && base != 0.0 {
        return Err(too_small());
    }
    Ok(result)
}

fn of_one(operation: Operation, value: f64) -> Result<f64, ArrowError> {
    let out_of_range = || ArrowError::ArithmeticOverflow("input is out of range".to_owned());
    match operation {
        Operation::Ln | Operation::Log10 if value <= 0.0 => {
            let of = if value == 0.0 { "zero" } else { "a negative number" };
            let message = format!("cannot take logarithm of {of}");
            return Err(undefined(ErrorKind::InvalidLogarithmArgument, &message));
        }
        Operation::Sqrt if value < 0.0 => {
            let message = "cannot take square root of a negative number";
            return Err(undefined(ErrorKind::InvalidPowerArgument, message));
        }
        Operation::Sin | Operation::Cos | Operation::Tan if value.is_infinite() => {
            return Err(out_of_range());
        }
        Operation::Asin | Operation::Acos if value.abs() > 1.0 => return Err(out_of_range()),
        _ => {}
    }
    let result = match operation {
        Operation::Exp => value.exp(),
        Operation::Ln => value.ln(),
        Operation::Log10 => value.log10(),
        Operation::Sqrt => value.sqrt(),
        Operation::Sin => value.sin(),
        Operation::Cos => value.cos(),
        Operation::Tan => value.tan(),
        Operation::Asin => value.asin(),
        Operation::Acos => value.acos(),
        Operation::Add | Operation::Subtract | Operation::Multiply | Operation::Divide | Operation::Power => {
            unreachable!("operations of two floats")
        }
    };
    match operation {
        Operation::Exp if result.is_infinite() && value.is_finite() => Err(too_large()),
        Operation::Exp if result == 0.0 && value.is_finite() => Err(too_small()),
        _ => Ok(result),
    }
}
