//! The columns of an aggregation: what it reads, its partial rows, its result.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::DFSchema;
use datafusion::logical_expr::logical_plan::Aggregate;
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::physical_expr::PhysicalExpr;
use itertools::Itertools;

use crate::error::{Error, Result};
use crate::logical::WindowAssign;
use crate::lower::aggregate::{KeyOrigin, Keys};
use crate::lower::stream::{Stream, window_schema};
use crate::operator::accumulator::{result_type, state_fields};
use crate::operator::spec::{AccumulatorSpec, AggregateOutput, AggregateSpec, WindowKey};

/// The columns that the partial phase reads.
pub(super) struct InputColumns {
    pub exprs: Vec<Arc<dyn PhysicalExpr>>,
    pub fields: Vec<Field>,
}

impl InputColumns {
    /// The position of `expr`, which is added unless it is there.
    pub fn add(&mut self, expr: Arc<dyn PhysicalExpr>, field: Field) -> usize {
        match self
            .exprs
            .iter()
            .position(|other| *other.as_ref() == *expr.as_ref())
        {
            Some(position) => position,
            None => {
                self.exprs.push(expr);
                self.fields.push(field);
                self.exprs.len() - 1
            }
        }
    }

    pub fn add_expr(&mut self, stream: &Stream, expr: &Expr) -> Result<usize> {
        let (_, field) = expr.to_field(stream.schema.as_ref())?;
        let physical = stream.physical(expr)?;
        Ok(self.add(physical, field.as_ref().clone()))
    }

    pub fn data_type(&self, column: usize) -> &DataType {
        self.fields[column].data_type()
    }
}

/// The operator's result columns: those of the logical node, without keys that are computed from the window, and the
/// window's bounds at the end where something is still to be computed from them.
pub(super) fn output_columns(
    keys: &Keys,
    readings: &[AggregateOutput],
    accumulators: &[AccumulatorSpec],
    aggregate: &Aggregate,
) -> Result<(Vec<AggregateOutput>, SchemaRef)> {
    let (mut outputs, mut fields) = (Vec::new(), Vec::new());
    let mut computed = keys
        .window
        .as_ref()
        .is_some_and(|window| !window.filters.is_empty());
    let logical: &DFSchema = aggregate.schema.as_ref();
    for (origin, field) in keys.origins.iter().zip(logical.fields()) {
        outputs.push(match origin {
            KeyOrigin::Own(key) => AggregateOutput::Key(*key),
            KeyOrigin::Window(Expr::Column(bound)) if bound.name == WindowAssign::START => {
                AggregateOutput::WindowStart
            }
            KeyOrigin::Window(Expr::Column(_)) => AggregateOutput::WindowEnd,
            KeyOrigin::Window(_) => {
                computed = true;
                continue;
            }
        });
        fields.push(field.as_ref().clone());
    }
    let groups = aggregate.group_expr.len();
    for (reading, field) in readings.iter().zip(logical.fields().iter().skip(groups)) {
        let data_type = match reading {
            AggregateOutput::Aggregate { accumulator, reading } => {
                result_type(&accumulators[*accumulator], *reading)?
            }
            AggregateOutput::IsFinal => DataType::Boolean,
            _ => DataType::Int64,
        };
        if data_type != *field.data_type() {
            // The plan was made with other functions than those of `function::aggregates`.
            return Err(Error::Bug(format!(
                "{} is {data_type}, not {}",
                field.name(),
                field.data_type()
            )));
        }
        outputs.push(reading.clone());
        // A result that cannot be represented is NULL within the operator.
        fields.push(field.as_ref().clone().with_nullable(true));
    }
    if let Some(window) = keys.window.as_ref().filter(|_| computed) {
        outputs.extend([AggregateOutput::WindowStart, AggregateOutput::WindowEnd]);
        fields.extend(
            window_schema(&window.field)?
                .fields()
                .iter()
                .map(|field| field.as_ref().clone()),
        );
    }
    Ok((outputs, Arc::new(Schema::new(fields))))
}

pub(super) fn partial_schema(
    input: &Schema,
    window: Option<&WindowKey>,
    keys: &[usize],
    accumulators: &[AccumulatorSpec],
    append_only: bool,
) -> SchemaRef {
    let mut fields = Vec::new();
    if let Some(window) = window {
        fields.push(Field::new(
            WindowAssign::START,
            input.field(window.time).data_type().clone(),
            false,
        ));
        if window.assign.overlaps() {
            fields.push(Field::new("windows", DataType::Int32, false));
        }
    }
    fields.extend(keys.iter().map(|column| input.field(*column).clone()));
    for (i, accumulator) in accumulators.iter().enumerate() {
        fields.extend(state_fields(&format!("state{i}"), accumulator, append_only));
    }
    fields.push(Field::new("rows", DataType::Int64, false));
    Arc::new(Schema::new(fields))
}

/// What bounds the state, in words.
pub(super) fn state_bound(spec: &AggregateSpec) -> String {
    let keys = spec
        .keys
        .iter()
        .map(|column| spec.input.field(*column).name())
        .join(", ");
    let groups = if keys.is_empty() {
        "one group".to_owned()
    } else {
        format!("one group per ({keys})")
    };
    match &spec.window {
        Some(window) if window.watermark => {
            format!("{groups} and window, until the watermark passes the window's end")
        }
        Some(_) => format!("{groups} and window, kept for ever: no watermark makes the window final"),
        None if keys.is_empty() => groups,
        None => format!("{groups}, kept for ever"),
    }
}
