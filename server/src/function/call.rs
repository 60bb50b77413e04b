//! A call of one of our functions, as DataFusion plans and evaluates it: row by row, over plain values.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef};
use async_trait::async_trait;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};

use super::definition::{Body, Definition, resolve};
use crate::pg_catalog::{SystemContext, Value, array};

/// The function of that name, over the context of a statement.
pub fn function(name: &'static str, context: &Arc<SystemContext>) -> Arc<ScalarUDF> {
    let overloads = super::overloads(name);
    let waits = overloads.iter().any(|d| matches!(d.body, Body::Wait(_)));
    let volatility = overloads
        .iter()
        .map(|d| d.volatility)
        .max()
        .unwrap_or(Volatility::Volatile);
    let function = |signature, waiting| SystemFunction {
        name,
        overloads: overloads.clone(),
        signature,
        context: context.clone(),
        waiting,
    };
    let waiting = waits.then(|| {
        let any_number = vec![TypeSignature::Nullary, TypeSignature::VariadicAny];
        let function = function(Signature::one_of(any_number, volatility), None);
        Arc::new(AsyncScalarUDF::new(Arc::new(function)).into_scalar_udf())
    });
    Arc::new(ScalarUDF::new_from_impl(function(
        Signature::user_defined(volatility),
        waiting,
    )))
}

#[derive(Debug)]
struct SystemFunction {
    name: &'static str,
    overloads: Vec<&'static Definition>,
    signature: Signature,
    context: Arc<SystemContext>,
    /// The form that can wait. It cannot convert its arguments, so a call is planned as this function, which does, and
    /// turned into a call of that one before it runs.
    waiting: Option<Arc<ScalarUDF>>,
}

impl PartialEq for SystemFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.context, &other.context)
    }
}

impl Eq for SystemFunction {}

impl Hash for SystemFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl std::fmt::Debug for Definition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({}) -> {}", self.name, self.arguments, self.result)
    }
}

impl ScalarUDFImpl for SystemFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        resolve(&self.overloads, given).map(|(_, types)| types)
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        Ok(resolve(&self.overloads, given)?.0.result_type().arrow())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let given: Vec<_> = args.arg_fields.iter().map(|f| f.data_type().clone()).collect();
        let (definition, _) = resolve(&self.overloads, &given)?;
        Ok(Arc::new(definition.result_type().field(self.name, true)))
    }

    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match &self.waiting {
            Some(waiting) => {
                let call = ScalarFunction::new_udf(waiting.clone(), args);
                ExprSimplifyResult::Simplified(Expr::ScalarFunction(call))
            }
            None => ExprSimplifyResult::Original(args),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let call = Call::new(self, args)?;
        let mut results = Vec::with_capacity(call.rows);
        for row in 0..call.rows {
            let arguments = call.arguments(row);
            let is_null = arguments.contains(&Value::Null);
            results.push(match call.definition.body {
                Body::Strict(_) if is_null => Value::Null,
                Body::Strict(body) | Body::Nullable(body) => body(&self.context, &arguments)?,
                Body::Types(body) => body(&self.context, &call.fields)?,
                Body::Wait(_) => {
                    return Err(DataFusionError::Internal(format!(
                        "{} was called without waiting",
                        self.name
                    )));
                }
            });
        }
        Ok(call.result(&results))
    }
}

#[async_trait]
impl AsyncScalarUDFImpl for SystemFunction {
    async fn invoke_async_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let call = Call::new(self, args)?;
        let mut results = Vec::with_capacity(call.rows);
        for row in 0..call.rows {
            let arguments = call.arguments(row);
            let is_null = arguments.contains(&Value::Null);
            results.push(match call.definition.body {
                Body::Strict(_) | Body::Wait(_) if is_null => Value::Null,
                Body::Strict(body) | Body::Nullable(body) => body(&self.context, &arguments)?,
                Body::Types(body) => body(&self.context, &call.fields)?,
                Body::Wait(body) => body(self.context.clone(), arguments).await?,
            });
        }
        Ok(call.result(&results))
    }
}

/// The arguments of a call for a batch of rows.
struct Call {
    definition: &'static Definition,
    fields: Vec<FieldRef>,
    arrays: Vec<ArrayRef>,
    /// Rows to compute: one when all arguments are constants and the function has no effects.
    rows: usize,
    is_constant: bool,
}

impl Call {
    fn new(function: &SystemFunction, args: ScalarFunctionArgs) -> Result<Self> {
        let given: Vec<_> = args.arg_fields.iter().map(|f| f.data_type().clone()).collect();
        let (definition, _) = resolve(&function.overloads, &given)?;
        let is_constant = definition.volatility != Volatility::Volatile
            && args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let arrays = args
            .args
            .iter()
            .map(|a| a.to_array(rows))
            .collect::<Result<_>>()?;
        Ok(Self {
            definition,
            fields: args.arg_fields,
            arrays,
            rows,
            is_constant,
        })
    }

    fn arguments(&self, row: usize) -> Vec<Value> {
        self.arrays.iter().map(|a| Value::read(a, row)).collect()
    }

    fn result(&self, values: &[Value]) -> ColumnarValue {
        let field: Field = self.definition.result_type().field("", true);
        let array = array(field.data_type(), true, values);
        if self.is_constant {
            let scalar = datafusion::scalar::ScalarValue::try_from_array(&array, 0);
            if let Ok(scalar) = scalar {
                return ColumnarValue::Scalar(scalar);
            }
        }
        ColumnarValue::Array(array)
    }
}
