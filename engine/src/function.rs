//! Aggregate functions with the types and the exactness of Postgres, under the names that shadow DataFusion's own.
//!
//! | function | argument | result |
//! |---|---|---|
//! | sum | smallint, integer | bigint |
//! | sum | bigint, numeric | numeric |
//! | sum | real, double precision | the same, exact before the one rounding |
//! | avg | integers, numeric | numeric with at least 16 digits after the point |
//! | avg | real, double precision | double precision |
//! | sum, avg | interval | interval |
//! | variance, var_pop, stddev, stddev_pop | integers, numeric | numeric with at least 16 digits after the point |
//! | variance, var_pop, stddev, stddev_pop | real, double precision | double precision, exact before the one rounding |
//! | min, max | real, double precision | the same, with NaN greater than any number |
//! | mode, percentile_disc | anything with an order | the same |
//! | window_revision, is_final | none | bigint, boolean |
//!
//! Streaming and one-off queries share the accumulators, so their results are equal to the last bit. `count`, and `min`
//! and `max` of other types, are DataFusion's.

mod adapter;
mod ordered_set;
mod revision;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, IntervalUnit};
use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator as DataFusionAccumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature,
    Volatility,
};

pub(crate) use revision::Told;

use crate::function::adapter::{ForGroups, ForOneGroup};
use crate::operator::accumulator::{Need, build, result_type, state_types};
use crate::operator::spec::{AccumulatorKind, AccumulatorSpec, Reading};

/// All aggregate functions that replace DataFusion's.
pub fn aggregates() -> Vec<Arc<AggregateUDF>> {
    let summing = SUMMING.iter().map(|(name, aliases, reading)| {
        let function = Summing {
            name,
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            reading: *reading,
            signature: Signature::user_defined(Volatility::Immutable),
        };
        Arc::new(AggregateUDF::from(function))
    });
    let extremes: [Arc<AggregateUDF>; 2] = [
        Arc::new(
            Extreme {
                name: "min",
                kind: AccumulatorKind::Min,
                other_types: min_udaf(),
            }
            .into(),
        ),
        Arc::new(
            Extreme {
                name: "max",
                kind: AccumulatorKind::Max,
                other_types: max_udaf(),
            }
            .into(),
        ),
    ];
    summing
        .chain(extremes)
        .chain(ordered_set::functions())
        .chain(revision::functions())
        .collect()
}

/// Functions that read sums: name, other names, and what is read.
const SUMMING: &[(&str, &[&str], Reading)] = &[
    ("sum", &[], Reading::Sum),
    ("avg", &[], Reading::Average),
    (
        "variance",
        &["var_samp", "var", "var_sample"],
        Reading::SampleVariance,
    ),
    ("var_pop", &["var_population"], Reading::PopulationVariance),
    ("stddev", &["stddev_samp"], Reading::SampleDeviation),
    ("stddev_pop", &[], Reading::PopulationDeviation),
];

/// What a function of the variance's family reads, by its first name.
pub(crate) fn spread_reading(name: &str) -> Option<Reading> {
    let (_, _, reading) = SUMMING.iter().find(|(known, _, _)| *known == name)?;
    (!matches!(reading, Reading::Sum | Reading::Average)).then_some(*reading)
}

/// Functions of the sum, or of the sum of squares.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Summing {
    name: &'static str,
    aliases: Vec<String>,
    reading: Reading,
    signature: Signature,
}

impl Summing {
    fn spec(&self, argument: &DataType, distinct: bool) -> AccumulatorSpec {
        let kind = match (spread_reading(self.name).is_some(), distinct) {
            (false, false) => AccumulatorKind::Sum,
            (false, true) => AccumulatorKind::DistinctSum,
            (true, false) => AccumulatorKind::Variance,
            (true, true) => AccumulatorKind::DistinctVariance,
        };
        AccumulatorSpec {
            kind,
            argument: Some(0),
            data_type: argument.clone(),
            filter: None,
        }
    }
}

impl AggregateUDFImpl for Summing {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let [argument] = arguments else {
            return plan_err!("{} takes one argument, not {}", self.name, arguments.len());
        };
        let spreads = spread_reading(self.name).is_some();
        if matches!(argument, DataType::Interval(_)) && !spreads {
            return Ok(vec![DataType::Interval(IntervalUnit::MonthDayNano)]);
        }
        Ok(vec![summable(argument).ok_or_else(|| {
            DataFusionError::Plan(format!(
                "function {}({argument}) does not exist: it needs a number",
                self.name
            ))
        })?])
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        let Some(argument) = arguments.first() else {
            return plan_err!("{} takes one argument", self.name);
        };
        Ok(result_type(&self.spec(argument, false), self.reading)?)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn DataFusionAccumulator>> {
        let spec = self.spec(args.expr_fields[0].data_type(), args.is_distinct);
        Ok(Box::new(ForOneGroup::new(
            build(&spec, &Need { append_only: false })?,
            self.reading,
        )))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn DataFusionAccumulator>> {
        self.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(state_fields(
            &args,
            &self.spec(args.input_fields[0].data_type(), args.is_distinct),
            false,
        ))
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        let spec = self.spec(args.expr_fields[0].data_type(), args.is_distinct);
        Ok(Box::new(ForGroups::new(
            spec,
            Need { append_only: false },
            self.reading,
        )?))
    }
}

fn state_fields(args: &StateFieldsArgs, spec: &AccumulatorSpec, append_only: bool) -> Vec<FieldRef> {
    let types = state_types(spec, append_only).into_iter().enumerate();
    types
        .map(|(i, data_type)| Arc::new(Field::new(format!("{}[{i}]", args.name), data_type, true)))
        .collect()
}

/// The type that a number is summed in; `None` for what is no number.
fn summable(argument: &DataType) -> Option<DataType> {
    Some(match argument {
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => DataType::Int16,
        DataType::UInt16 | DataType::Int32 => DataType::Int32,
        DataType::UInt32 | DataType::Int64 | DataType::Null => DataType::Int64,
        DataType::UInt64 => DataType::Decimal128(20, 0),
        DataType::Float16 | DataType::Float32 => DataType::Float32,
        DataType::Float64 => DataType::Float64,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Decimal128(_, _) => argument.clone(),
        DataType::Decimal256(_, scale) => DataType::Decimal128(38, *scale),
        DataType::Dictionary(_, value) => summable(value)?,
        _ => return None,
    })
}

/// `min` and `max`: of floating point numbers ours, whose result does not depend on the order of rows when there is a NaN;
/// DataFusion's of other types.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme {
    name: &'static str,
    kind: AccumulatorKind,
    other_types: Arc<AggregateUDF>,
}

impl Extreme {
    fn spec(&self, argument: &DataType) -> Option<AccumulatorSpec> {
        let spec = AccumulatorSpec {
            kind: self.kind,
            argument: Some(0),
            data_type: argument.clone(),
            filter: None,
        };
        matches!(argument, DataType::Float32 | DataType::Float64).then_some(spec)
    }
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        self.other_types.signature()
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.other_types.coerce_types(arguments)
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.other_types.return_type(arguments)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn DataFusionAccumulator>> {
        match self.spec(args.expr_fields[0].data_type()) {
            None => self.other_types.accumulator(args),
            Some(spec) => Ok(Box::new(ForOneGroup::new(
                build(&spec, &Need { append_only: true })?,
                Reading::Extreme,
            ))),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn DataFusionAccumulator>> {
        match self.spec(args.expr_fields[0].data_type()) {
            None => self.other_types.create_sliding_accumulator(args),
            Some(spec) => Ok(Box::new(ForOneGroup::new(
                build(&spec, &Need { append_only: false })?,
                Reading::Extreme,
            ))),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        match self.spec(args.input_fields[0].data_type()) {
            None => self.other_types.state_fields(args),
            Some(spec) => Ok(state_fields(&args, &spec, true)),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.spec(args.expr_fields[0].data_type()).is_some()
            || self.other_types.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        match self.spec(args.expr_fields[0].data_type()) {
            None => self.other_types.create_groups_accumulator(args),
            Some(spec) => Ok(Box::new(ForGroups::new(
                spec,
                Need { append_only: true },
                Reading::Extreme,
            )?)),
        }
    }
}
