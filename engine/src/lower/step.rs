//! Steps on a stream: projection, filter and window assignment, and when they become nodes.

use std::sync::Arc;

use arrow::datatypes::{Field, Fields, Schema};
use datafusion::common::{Column, DFSchemaRef};
use datafusion::logical_expr::{Expr, UserDefinedLogicalNodeCore};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column as PhysicalColumn;

use crate::bound::{Bound, TimeKind};
use crate::dataflow::{NodeKind, Properties};
use crate::error::{Error, Result};
use crate::logical::WindowAssign;
use crate::lower::Lowering;
use crate::lower::clock;
use crate::lower::join_times;
use crate::lower::stream::{Origin, PendingWindow, Stream, Time, local, physical, shifted, window_schema};
use crate::lower::temporal;
use crate::operator::spec::{MapSpec, MapStep, OperatorSpec, WindowAssignSpec};

impl Lowering<'_> {
    pub(super) fn project(&mut self, input: Stream, exprs: &[Expr], schema: &DFSchemaRef) -> Result<Stream> {
        let mut stream = input;
        let reads = exprs
            .iter()
            .map(|expr| stream.reads(expr))
            .collect::<Result<Vec<_>>>()?;
        if reads.contains(&(true, true)) {
            stream = self.expand_windows(stream)?;
        }
        let times = exprs
            .iter()
            .map(|expr| self.time_of(&stream, expr))
            .collect::<Result<Vec<_>>>()?;
        let key = stream.key_after(exprs)?;
        let exprs = { exprs.iter() }
            .map(|expr| self.with_watermark(&mut stream, expr))
            .collect::<Result<Vec<_>>>()?;
        let mut projected: Vec<(Arc<dyn PhysicalExpr>, Field)> = Vec::new();
        let mut columns = Vec::with_capacity(exprs.len());
        for (expr, field) in exprs.iter().zip(schema.fields()) {
            if stream.reads(expr)?.1 {
                columns.push(Origin::Window(stream.over_window(expr)?));
            } else {
                columns.push(Origin::Real(projected.len()));
                projected.push((stream.physical(expr)?, field.as_ref().clone()));
            }
        }
        if let Some(window) = &mut stream.window {
            // The time stays, whether the query still reads it or not.
            let column = window.time;
            let position = projected.iter().position(|(expr, _)| {
                expr.downcast_ref::<PhysicalColumn>()
                    .is_some_and(|projected| projected.index() == column)
            });
            window.time = position.unwrap_or(projected.len());
            if position.is_none() {
                let field = stream.real.field(column).clone();
                projected.push((Arc::new(PhysicalColumn::new(field.name(), column)), field));
            }
        }
        let (exprs, fields): (Vec<_>, Vec<_>) = projected.into_iter().unzip();
        let real = Arc::new(Schema::new(Fields::from(fields)));
        if !is_identity(&exprs, &stream.real, &real) {
            stream.push_projection(exprs, real)?;
        }
        Ok(Stream {
            columns,
            times,
            key,
            schema: Arc::clone(schema),
            ..stream
        })
    }

    /// The time that an expression carries on: that of a plain column, or of one that a duration is added to.
    fn time_of(&mut self, stream: &Stream, expr: &Expr) -> Result<Option<Time>> {
        if let Some(time) = stream.time_of(expr)? {
            return Ok(Some(time));
        }
        let Some((column, least)) = join_times::shifted_time(expr, &stream.schema) else {
            return Ok(None);
        };
        Ok(stream.times[column].map(|time| {
            let event = self.bounds.as_event(time);
            let shifted = self.bounds.get(event).lagging(-least);
            Time {
                kind: TimeKind::Event,
                bound: self.bounds.id(shifted),
            }
        }))
    }

    pub(super) fn filter(&mut self, input: Stream, predicate: &Expr) -> Result<Stream> {
        let mut stream = input;
        let mut in_time = Vec::new();
        for predicate in datafusion::logical_expr::utils::split_conjunction(predicate) {
            let conditions = temporal::conditions(predicate);
            if !conditions.is_empty() {
                in_time.extend(conditions);
                continue;
            }
            match stream.reads(predicate)? {
                (true, true) => stream = self.expand_windows(stream)?,
                (false, true) => {
                    let predicate = stream.over_window(predicate)?;
                    stream
                        .window
                        .as_mut()
                        .expect("a window column has a window")
                        .filters
                        .push(predicate);
                    continue;
                }
                (_, false) => {}
            }
            let predicate = self.with_watermark(&mut stream, predicate)?;
            let predicate = stream.physical(&predicate)?;
            stream.steps.push(MapStep::Filter(predicate));
        }
        // Last, so that it keeps only what the others pass.
        if in_time.is_empty() {
            return Ok(stream);
        }
        self.show_in_time(stream, in_time)
    }

    /// `first`: the first of the inputs that are read below.
    pub(super) fn assign_windows(
        &mut self,
        input: Stream,
        assign: &WindowAssign,
        first: usize,
    ) -> Result<Stream> {
        // Windows over windows: the inner ones must be there as rows first.
        let mut stream = if input.window.is_some() {
            self.expand_windows(input)?
        } else {
            input
        };
        let column = assign.time_column()?;
        let Origin::Real(time) = stream.columns[column] else {
            return Err(Error::Bug("a window column without a pending window".to_owned()));
        };
        let bound = match clock::is_clock(&assign.input, column) {
            true => {
                self.remark_on_clock(first);
                Some(self.bounds.id(Bound::of_clock()))
            }
            false => stream.times[column].map(|time| self.bounds.as_event(time)),
        };
        let column = |name: &str| Expr::Column(Column::new_unqualified(name));
        stream
            .columns
            .extend([column(WindowAssign::START), column(WindowAssign::END)].map(Origin::Window));
        let kinds = [
            TimeKind::WindowStart {
                size: assign.rule.longest(),
            },
            TimeKind::WindowEnd {
                size: assign.rule.size(),
            },
        ];
        let times = kinds.map(|kind| bound.map(|bound| Time { kind, bound }));
        stream.times.extend(times);
        stream.window = Some(PendingWindow {
            time,
            rule: assign.rule,
            bound,
            filters: Vec::new(),
        });
        stream.schema = Arc::clone(UserDefinedLogicalNodeCore::schema(assign));
        stream.key = None;
        Ok(stream)
    }

    /// Makes a pending window assignment a node; without one nothing changes.
    pub(super) fn expand_windows(&mut self, stream: Stream) -> Result<Stream> {
        let mut stream = self.with_steps_as_node(stream)?;
        let Some(window) = stream.window.take() else {
            return Ok(stream);
        };
        let bounds = window_schema(stream.real.field(window.time))?;
        let fields = stream
            .real
            .fields()
            .iter()
            .cloned()
            .chain(bounds.fields().iter().cloned());
        let expanded = Arc::new(Schema::new(fields.collect::<Fields>()));
        let spec = WindowAssignSpec {
            time: window.time,
            rule: window.rule,
            output: Arc::clone(&expanded),
            drop_late: false,
        };
        let properties = Properties {
            append_only: stream.append_only,
            ..Properties::default()
        };
        let kind = NodeKind::Operator(OperatorSpec::WindowAssign(spec));
        let first_bound = stream.real.fields().len();
        stream.node = self.add(kind, vec![local(stream.node)], Arc::clone(&expanded), properties);
        stream.real = expanded;
        let over_bounds = |expr: &Expr| shifted(physical(expr, &bounds)?, first_bound);
        for predicate in &window.filters {
            stream.steps.push(MapStep::Filter(over_bounds(predicate)?));
        }
        let mut exprs = Vec::with_capacity(stream.columns.len());
        for (position, origin) in stream.columns.iter().enumerate() {
            exprs.push(match origin {
                Origin::Real(column) => {
                    let name = stream.schema.field(position).name();
                    Arc::new(PhysicalColumn::new(name, *column)) as Arc<dyn PhysicalExpr>
                }
                Origin::Window(expr) => over_bounds(expr)?,
            });
        }
        let logical = Arc::clone(stream.schema.inner());
        if !is_identity(&exprs, &stream.real, &logical) {
            stream.push_projection(exprs, logical)?;
        }
        stream.columns = (0..stream.columns.len()).map(Origin::Real).collect();
        Ok(stream)
    }

    /// Makes the steps a `Map` node.
    pub(super) fn with_steps_as_node(&mut self, mut stream: Stream) -> Result<Stream> {
        if stream.steps.is_empty() {
            return Ok(stream);
        }
        let spec = MapSpec {
            input: Arc::clone(&self.nodes[stream.node.0].schema),
            steps: std::mem::take(&mut stream.steps),
            output: Arc::clone(&stream.real),
            fail_on_error: self.options.fail_on_error,
        };
        let mut properties = stream.properties();
        let read = { stream.watermark.take() }.map(|bound| self.bounds.get(bound).clone());
        properties.bounds.extend(read);
        let kind = NodeKind::Operator(OperatorSpec::Map(spec));
        stream.node = self.add(
            kind,
            vec![local(stream.node)],
            Arc::clone(&stream.real),
            properties,
        );
        Ok(stream)
    }

    /// Makes everything pending nodes, so that the node's columns are those of the logical node.
    pub(super) fn as_node(&mut self, stream: Stream) -> Result<Stream> {
        let mut stream = self.expand_windows(stream)?;
        let identity = stream
            .columns
            .iter()
            .enumerate()
            .all(|(i, origin)| *origin == Origin::Real(i));
        if !identity || stream.real != *stream.schema.inner() {
            let columns =
                stream
                    .columns
                    .iter()
                    .zip(stream.schema.fields())
                    .map(|(origin, field)| match origin {
                        Origin::Real(column) => {
                            Ok(Arc::new(PhysicalColumn::new(field.name(), *column)) as Arc<dyn PhysicalExpr>)
                        }
                        Origin::Window(_) => {
                            Err(Error::Bug("a window column without a pending window".to_owned()))
                        }
                    });
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let logical = Arc::clone(stream.schema.inner());
            stream.columns = (0..logical.fields().len()).map(Origin::Real).collect();
            stream.push_projection(columns, logical)?;
        }
        self.with_steps_as_node(stream)
    }
}

/// Every column stays where it is, under its name and type.
fn is_identity(exprs: &[Arc<dyn PhysicalExpr>], from: &Schema, to: &Schema) -> bool {
    from == to
        && exprs.iter().enumerate().all(|(i, expr)| {
            expr.downcast_ref::<PhysicalColumn>()
                .is_some_and(|column| column.index() == i)
        })
}
