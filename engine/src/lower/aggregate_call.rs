//! Calls of aggregate functions: which accumulator each needs, and what is read from it.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;

use crate::error::{Error, Result};
use crate::function::{Told, spread_reading};
use crate::lower::aggregate_columns::InputColumns;
use crate::lower::stream::Stream;
use crate::operator::spec::{AccumulatorKind, AccumulatorSpec, AggregateOutput, Reading};

/// A call, understood.
pub(super) struct Call {
    what: What,
    argument: Option<Expr>,
    filter: Option<Expr>,
}

enum What {
    /// `count(*)` without a filter.
    Rows,
    Read(AccumulatorKind, Reading),
    /// `window_revision()`, `is_final()`.
    Told(Told),
}

/// Understands an aggregate expression of a plan; `None` for a call without an accumulator.
pub(super) fn call(expr: &Expr) -> Result<Option<Call>> {
    let Expr::AggregateFunction(function) = expr.clone().unalias() else {
        return Err(Error::Bug(format!("{expr} is no aggregate")));
    };
    let name = function.func.name();
    let params = function.params;
    let filter = params.filter.map(|filter| *filter);
    if name == "count" && !params.distinct && params.args.iter().all(is_not_null_constant) {
        let what = match filter {
            None => What::Rows,
            Some(_) => What::Read(AccumulatorKind::Count, Reading::Count),
        };
        return Ok(Some(Call {
            what,
            argument: None,
            filter,
        }));
    }
    if let Some(told) = Told::by(name).filter(|_| params.args.iter().all(is_not_null_constant)) {
        if params.distinct || filter.is_some() {
            return Err(Error::Unsupported {
                message: format!("{name}() has neither DISTINCT nor a filter"),
                hint: Some("It is about the window of the group, not about its rows.".to_owned()),
            });
        }
        return Ok(Some(Call {
            what: What::Told(told),
            argument: None,
            filter: None,
        }));
    }
    let [argument] = params.args.as_slice() else {
        return Ok(None);
    };
    let (kind, reading) = match (name, params.distinct) {
        ("count", false) => (AccumulatorKind::Count, Reading::Count),
        ("count", true) => (AccumulatorKind::DistinctCount, Reading::Count),
        ("sum", false) => (AccumulatorKind::Sum, Reading::Sum),
        ("sum", true) => (AccumulatorKind::DistinctSum, Reading::Sum),
        ("avg" | "mean", false) => (AccumulatorKind::Sum, Reading::Average),
        ("avg" | "mean", true) => (AccumulatorKind::DistinctSum, Reading::Average),
        ("min", _) => (AccumulatorKind::Min, Reading::Extreme),
        ("max", _) => (AccumulatorKind::Max, Reading::Extreme),
        ("bool_and" | "every", _) => (AccumulatorKind::Booleans, Reading::And),
        ("bool_or", _) => (AccumulatorKind::Booleans, Reading::Or),
        (name, distinct) => match spread_reading(name) {
            Some(reading) if distinct => (AccumulatorKind::DistinctVariance, reading),
            Some(reading) => (AccumulatorKind::Variance, reading),
            None => return Ok(None),
        },
    };
    Ok(Some(Call {
        what: What::Read(kind, reading),
        argument: Some(argument.clone()),
        filter,
    }))
}

/// `window_revision()` and `is_final()`.
pub(super) fn tells_of_window(expr: &Expr) -> bool {
    match expr.clone().unalias() {
        Expr::AggregateFunction(function) => Told::by(function.func.name()).is_some(),
        _ => false,
    }
}

fn is_not_null_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if !matches!(value, ScalarValue::Null) && !value.is_null())
}

impl Call {
    pub fn is_count(&self) -> bool {
        matches!(self.what, What::Read(AccumulatorKind::Count, _))
    }

    /// It is about the window of its group.
    pub fn tells_of_window(&self) -> bool {
        matches!(self.what, What::Told(_))
    }

    /// Expressions that the call reads.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.argument.iter().chain(&self.filter)
    }

    /// Adds what the call needs to `columns` and `accumulators`; says what to read.
    pub fn accumulate(
        &self,
        stream: &Stream,
        columns: &mut InputColumns,
        accumulators: &mut Vec<AccumulatorSpec>,
    ) -> Result<AggregateOutput> {
        let (kind, reading) = match self.what {
            What::Rows => return Ok(AggregateOutput::Rows),
            What::Told(Told::IsFinal) => return Ok(AggregateOutput::IsFinal),
            What::Told(Told::Revision) => (AccumulatorKind::Revisions, Reading::Revisions),
            What::Read(kind, reading) => (kind, reading),
        };
        let argument = self
            .argument
            .as_ref()
            .map(|expr| columns.add_expr(stream, expr))
            .transpose()?;
        let filter = self
            .filter
            .as_ref()
            .map(|expr| columns.add_expr(stream, expr))
            .transpose()?;
        let data_type = argument.map_or(arrow::datatypes::DataType::Null, |column| {
            columns.data_type(column).clone()
        });
        let spec = AccumulatorSpec {
            kind,
            argument,
            data_type,
            filter,
        };
        // Fails for types that cannot be summed or compared, now rather than when the view runs.
        crate::operator::accumulator::build(
            &spec,
            &crate::operator::accumulator::Need {
                append_only: stream.append_only,
            },
        )?;
        let accumulator = match accumulators.iter().position(|other| other.serves(&spec)) {
            Some(accumulator) => accumulator,
            None => {
                accumulators.push(spec);
                accumulators.len() - 1
            }
        };
        Ok(AggregateOutput::Aggregate { accumulator, reading })
    }
}
