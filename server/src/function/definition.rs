//! What a function is declared with, and how a call finds the definition that fits it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::Volatility;
use millpond_catalog::{SqlType, SystemType};

use crate::pg_catalog::{SystemContext, Value, type_named};

/// One way to call a function.
#[derive(Clone, Copy)]
pub struct Definition {
    pub name: &'static str,
    /// Types of the arguments as `pg_type` names them, separated by commas. `any` takes every type; three points behind
    /// the last one stand for any number of it.
    pub arguments: &'static str,
    /// Type of the result.
    pub result: &'static str,
    pub volatility: Volatility,
    pub body: Body,
}

/// How a call is answered.
#[derive(Clone, Copy)]
pub enum Body {
    /// NULL as soon as an argument is NULL.
    Strict(fn(&SystemContext, &[Value]) -> Result<Value>),
    /// Looks at NULLs itself.
    Nullable(fn(&SystemContext, &[Value]) -> Result<Value>),
    /// Looks only at the types of the arguments.
    Types(fn(&SystemContext, &[FieldRef]) -> Result<Value>),
    /// Waits. Dropping the future gives up. NULL as soon as an argument is NULL.
    Wait(fn(Arc<SystemContext>, Vec<Value>) -> Wait),
}

pub type Wait = Pin<Box<dyn Future<Output = Result<Value>> + Send>>;

type Eager = fn(&SystemContext, &[Value]) -> Result<Value>;

/// A function of catalog and session.
pub const fn strict(
    name: &'static str,
    arguments: &'static str,
    result: &'static str,
    body: Eager,
) -> Definition {
    Definition {
        name,
        arguments,
        result,
        volatility: Volatility::Stable,
        body: Body::Strict(body),
    }
}

/// As [`strict`], called for NULLs too.
pub const fn nullable(
    name: &'static str,
    arguments: &'static str,
    result: &'static str,
    body: Eager,
) -> Definition {
    Definition {
        name,
        arguments,
        result,
        volatility: Volatility::Stable,
        body: Body::Nullable(body),
    }
}

/// A function with an effect.
pub const fn effect(
    name: &'static str,
    arguments: &'static str,
    result: &'static str,
    body: Eager,
) -> Definition {
    Definition {
        name,
        arguments,
        result,
        volatility: Volatility::Volatile,
        body: Body::Strict(body),
    }
}

/// A function that waits.
pub const fn wait(
    name: &'static str,
    arguments: &'static str,
    result: &'static str,
    body: fn(Arc<SystemContext>, Vec<Value>) -> Wait,
) -> Definition {
    Definition {
        name,
        arguments,
        result,
        volatility: Volatility::Volatile,
        body: Body::Wait(body),
    }
}

impl Definition {
    /// Schema and name without it.
    pub fn qualified(&self) -> (&'static str, &'static str) {
        self.name.split_once('.').unwrap_or(("pg_catalog", self.name))
    }

    pub fn result_type(&self) -> SqlType {
        type_named(self.result).expect("results are declared with types that exist")
    }

    /// Names of the argument types, and whether the last one repeats.
    pub fn argument_types(&self) -> (Vec<&'static str>, bool) {
        let (list, variadic) = match self.arguments.strip_suffix("...") {
            Some(list) => (list, true),
            None => (self.arguments, false),
        };
        (
            list.split(',').map(str::trim).filter(|a| !a.is_empty()).collect(),
            variadic,
        )
    }

    /// The types that a call with `given` arguments is converted to; `None` when it does not fit.
    fn accept(&self, given: &[DataType]) -> Option<(Vec<DataType>, usize)> {
        let (declared, variadic) = self.argument_types();
        let last = declared.last().copied();
        let repeated = given.len().checked_sub(declared.len())?;
        if repeated > 0 && !variadic {
            return None;
        }
        let declared = declared
            .into_iter()
            .chain(last.into_iter().cycle().take(repeated));
        let mut exact = 0;
        let mut types = Vec::with_capacity(given.len());
        for (name, given) in declared.zip(given) {
            let (target, fits) = accept_argument(name, given)?;
            exact += usize::from(fits);
            types.push(target);
        }
        Some((types, exact))
    }
}

/// The type that an argument is converted to, and whether it is of the declared kind already.
fn accept_argument(name: &str, given: &DataType) -> Option<(DataType, bool)> {
    if name == "any" {
        return Some((given.clone(), false));
    }
    let declared = type_named(name).expect("arguments are declared with types that exist");
    let target = declared.arrow();
    let is_text = matches!(given, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    match (&declared, given) {
        (_, DataType::Null) => Some((target, true)),
        // Identifiers may be given as text: a name, or digits.
        (SqlType::System(system), _) if system.is_identifier() && is_text => {
            Some((DataType::Utf8, *system != SystemType::Oid))
        }
        _ if target == *given => Some((target, true)),
        _ if target == DataType::Utf8 => Some((target, is_text)),
        (SqlType::Array(_), DataType::List(_)) => Some((target, true)),
        (SqlType::Array(_) | SqlType::Bool | SqlType::Interval, _) => is_text.then_some((target, false)),
        _ => (given.is_numeric() || is_text).then(|| (target, given.is_numeric())),
    }
}

/// The definition that a call with arguments of these types means, and the types they are converted to.
pub fn resolve(
    overloads: &[&'static Definition],
    given: &[DataType],
) -> Result<(&'static Definition, Vec<DataType>)> {
    let candidates = overloads
        .iter()
        .filter_map(|d| d.accept(given).map(|(types, exact)| (*d, types, exact)));
    let best = candidates.fold(None, |best: Option<(_, _, usize)>, next| match best {
        Some(best) if best.2 >= next.2 => Some(best),
        _ => Some(next),
    });
    best.map(|(definition, types, _)| (definition, types))
        .ok_or_else(|| {
            let name = overloads.first().map_or("", |d| d.name);
            let types: Vec<_> = given.iter().map(ToString::to_string).collect();
            DataFusionError::Plan(format!("function {name}({}) does not exist", types.join(", ")))
        })
}
