//! What has been built of a plan so far, and the steps that need no node of their own yet.

use std::sync::Arc;

use arrow::datatypes::{Field, Fields, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DFSchemaRef};
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Operator, Volatility};
use datafusion::physical_expr::expressions::{BinaryExpr, Column as PhysicalColumn};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use crate::dataflow::{Distribution, Edge, NodeId, NodeKind, Properties};
use crate::error::{Error, Result};
use crate::expression::PROCESSING_TIME;
use crate::logical::WindowAssign;
use crate::lower::{Lowering, unsupported};
use crate::operator::spec::{MapSpec, MapStep, OperatorSpec, WindowAssignSpec};
use crate::window::WindowRule;

/// The output of a logical node: a dataflow node, steps on top of it, and perhaps a window assignment on top of those.
pub(super) struct Stream {
    pub node: NodeId,
    /// To be applied to the node's output, as one `Map`.
    pub steps: Vec<MapStep>,
    /// Columns after the steps.
    pub real: SchemaRef,
    /// Columns of the logical node.
    pub schema: DFSchemaRef,
    /// Where each column of `schema` comes from.
    pub columns: Vec<Origin>,
    /// The windows that [`Origin::Window`] columns talk about.
    pub window: Option<PendingWindow>,
    /// Of each column of `schema`.
    pub times: Vec<Option<Time>>,
    pub append_only: bool,
    pub key: Option<Vec<usize>>,
}

/// Where a column comes from while a window assignment is pending.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Origin {
    /// A position in [`Stream::real`].
    Real(usize),
    /// An expression over the unqualified columns `window_start` and `window_end`.
    Window(Expr),
}

/// A window assignment that is not a node yet, in the hope that an aggregation can do it without expanding rows.
#[derive(Debug, Clone)]
pub(super) struct PendingWindow {
    /// Position in [`Stream::real`].
    pub time: usize,
    pub rule: WindowRule,
    /// The time is an event time with a watermark.
    pub watermark: bool,
    /// Predicates over `window_start` and `window_end`, which every window must meet.
    pub filters: Vec<Expr>,
}

/// What a column has to do with event time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// No row is below the watermark, but for late ones.
    Event,
    /// The start or end of a window of this size over an event time with a watermark.
    WindowStart {
        size: i64,
    },
    WindowEnd {
        size: i64,
    },
}

impl Stream {
    /// A stream without steps: the node's columns are those of `schema`.
    pub fn of_node(node: NodeId, schema: &DFSchemaRef, times: Vec<Option<Time>>, append_only: bool) -> Self {
        let real = Arc::clone(schema.inner());
        Self {
            node,
            steps: Vec::new(),
            columns: (0..real.fields().len()).map(Origin::Real).collect(),
            real,
            schema: Arc::clone(schema),
            window: None,
            times,
            append_only,
            key: None,
        }
    }

    /// The same columns under other names.
    pub fn renamed(mut self, schema: &DFSchemaRef) -> Self {
        self.schema = Arc::clone(schema);
        self
    }

    /// Whether `expr` reads columns of the rows, and whether it reads columns of their windows.
    pub fn reads(&self, expr: &Expr) -> Result<(bool, bool)> {
        let (mut real, mut window) = (false, false);
        for column in expr.column_refs() {
            match &self.columns[self.schema.index_of_column(column)?] {
                Origin::Real(_) => real = true,
                Origin::Window(_) => window = true,
            }
        }
        Ok((real, window))
    }

    /// An expression that reads only window columns, over `window_start` and `window_end`.
    pub fn over_window(&self, expr: &Expr) -> Result<Expr> {
        let replaced = expr.clone().transform_up(|expr| match &expr {
            Expr::Column(column) => match &self.columns[self.schema.index_of_column(column)?] {
                Origin::Window(origin) => Ok(Transformed::yes(origin.clone())),
                Origin::Real(_) => Ok(Transformed::no(expr)),
            },
            _ => Ok(Transformed::no(expr)),
        })?;
        Ok(replaced.data.unalias_nested().data)
    }

    /// An expression that reads no window column, over [`Stream::real`].
    pub fn physical(&self, expr: &Expr) -> Result<Arc<dyn PhysicalExpr>> {
        check_functions(expr, self.append_only)?;
        let physical = physical(expr, &self.schema)?;
        let moved = physical.transform_up(|expr| match expr.downcast_ref::<PhysicalColumn>() {
            Some(column) => match self.columns[column.index()] {
                Origin::Real(position) => Ok(Transformed::yes(Arc::new(PhysicalColumn::new(
                    column.name(),
                    position,
                )) as _)),
                Origin::Window(_) => Ok(Transformed::no(expr)),
            },
            None => Ok(Transformed::no(expr)),
        })?;
        Ok(moved.data)
    }

    /// Adds a projection of [`Stream::real`], as part of the projection before it where that repeats no work.
    pub fn push_projection(&mut self, exprs: Vec<Arc<dyn PhysicalExpr>>, schema: SchemaRef) -> Result<()> {
        let plain = |exprs: &[Arc<dyn PhysicalExpr>]| exprs.iter().all(|expr| expr.is::<PhysicalColumn>());
        let exprs = match self.steps.pop() {
            Some(MapStep::Project(before, _)) if plain(&before) || plain(&exprs) => {
                let composed = exprs.into_iter().map(|expr| replace_columns(expr, &before));
                composed.collect::<Result<Vec<_>>>()?
            }
            Some(other) => {
                self.steps.push(other);
                exprs
            }
            None => exprs,
        };
        self.steps.push(MapStep::Project(exprs, Arc::clone(&schema)));
        self.real = schema;
        Ok(())
    }

    /// Positions of the key's columns after a projection, if all are still there.
    fn key_after(&self, exprs: &[Expr]) -> Result<Option<Vec<usize>>> {
        let Some(key) = &self.key else { return Ok(None) };
        let mut moved = Vec::with_capacity(key.len());
        for column in key {
            let wanted = Expr::Column(self.schema.columns()[*column].clone());
            match exprs.iter().position(|expr| expr.clone().unalias() == wanted) {
                Some(position) => moved.push(position),
                None => return Ok(None),
            }
        }
        Ok(Some(moved))
    }

    /// The time that an expression carries on: that of a plain column.
    fn time_of(&self, expr: &Expr) -> Result<Option<Time>> {
        match expr.clone().unalias() {
            Expr::Column(column) => Ok(self.times[self.schema.index_of_column(&column)?]),
            _ => Ok(None),
        }
    }
}

/// A physical expression over the columns of `schema`.
pub(super) fn physical(expr: &Expr, schema: &DFSchema) -> Result<Arc<dyn PhysicalExpr>> {
    let context = PhysicalPlanningContext::default();
    let expr = create_physical_expr(expr, schema, &ExecutionProps::new(), &context)?;
    // Integers fail instead of wrapping around.
    let checked = expr.transform_up(|expr| match expr.downcast_ref::<BinaryExpr>() {
        Some(binary) if matches!(binary.op(), Operator::Plus | Operator::Minus | Operator::Multiply) => {
            let (left, right) = (Arc::clone(binary.left()), Arc::clone(binary.right()));
            let checked = BinaryExpr::new(left, *binary.op(), right).with_fail_on_overflow(true);
            Ok(Transformed::yes(Arc::new(checked) as _))
        }
        _ => Ok(Transformed::no(expr)),
    })?;
    Ok(checked.data)
}

/// The expression with `columns[i]` in place of column i.
fn replace_columns(
    expr: Arc<dyn PhysicalExpr>,
    columns: &[Arc<dyn PhysicalExpr>],
) -> Result<Arc<dyn PhysicalExpr>> {
    let replaced = expr.transform_down(|expr| match expr.downcast_ref::<PhysicalColumn>() {
        // What is put in place is not looked into again.
        Some(column) => Ok(Transformed::new(
            Arc::clone(&columns[column.index()]),
            true,
            TreeNodeRecursion::Jump,
        )),
        None => Ok(Transformed::no(expr)),
    })?;
    Ok(replaced.data)
}

/// The expression over a schema in which its columns stand `by` places further on.
pub(super) fn shifted(expr: Arc<dyn PhysicalExpr>, by: usize) -> Result<Arc<dyn PhysicalExpr>> {
    let moved = expr.transform_up(|expr| match expr.downcast_ref::<PhysicalColumn>() {
        Some(column) => Ok(Transformed::yes(
            Arc::new(PhysicalColumn::new(column.name(), column.index() + by)) as _,
        )),
        None => Ok(Transformed::no(expr)),
    })?;
    Ok(moved.data)
}

/// Names and types of the bounds that expressions over a window read.
pub(super) fn window_schema(time: &Field) -> Result<DFSchema> {
    let bound = |name| Field::new(name, time.data_type().clone(), false);
    Ok(Schema::new(vec![bound(WindowAssign::START), bound(WindowAssign::END)]).try_into()?)
}

/// Refuses what would not give the same value again when the row is retracted, or the epoch is run again.
fn check_functions(expr: &Expr, append_only: bool) -> Result<()> {
    let mut found = Ok(());
    expr.apply(|expr| {
        found = match expr {
            Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_) => {
                Err(unsupported::subquery())
            }
            Expr::ScalarFunction(call) if call.name() == PROCESSING_TIME && !append_only => {
                Err(unsupported::clause_error(
                    "now()",
                    "its input can change, and a row would not have the same time when it is taken back",
                    "Read from a stream or a source, where rows are only added, or compare with a column.",
                ))
            }
            Expr::ScalarFunction(call)
                if call.name() != PROCESSING_TIME && call.func.signature().volatility == Volatility::Volatile =>
            {
                Err(unsupported::clause_error(
                    &format!("{}()", call.name()),
                    "it gives another value each time, also when a row is taken back or an epoch is run again",
                    "Compute the value where the rows are made and store it in a column.",
                ))
            }
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        Ok(TreeNodeRecursion::Stop)
    })?;
    found
}

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
            .map(|expr| stream.time_of(expr))
            .collect::<Result<Vec<_>>>()?;
        let key = stream.key_after(exprs)?;
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

    pub(super) fn filter(&mut self, input: Stream, predicate: &Expr) -> Result<Stream> {
        let mut stream = input;
        for predicate in datafusion::logical_expr::utils::split_conjunction(predicate) {
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
            let predicate = stream.physical(predicate)?;
            stream.steps.push(MapStep::Filter(predicate));
        }
        Ok(stream)
    }

    pub(super) fn assign_windows(&mut self, input: Stream, assign: &WindowAssign) -> Result<Stream> {
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
        let watermark = stream.times[column] == Some(Time::Event);
        let size = assign.rule.size();
        let bound = |name: &str| Expr::Column(Column::new_unqualified(name));
        stream
            .columns
            .extend([bound(WindowAssign::START), bound(WindowAssign::END)].map(Origin::Window));
        let bounds = [Time::WindowStart { size }, Time::WindowEnd { size }];
        stream
            .times
            .extend(bounds.map(|bound| watermark.then_some(bound)));
        stream.window = Some(PendingWindow {
            time,
            rule: assign.rule,
            watermark,
            filters: Vec::new(),
        });
        stream.schema = Arc::clone(datafusion::logical_expr::UserDefinedLogicalNodeCore::schema(
            assign,
        ));
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
        let properties = stream.properties();
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

impl Stream {
    /// Properties of a node that ends here; positions are those of its schema.
    pub fn properties(&self) -> Properties {
        let real = |column: usize| match &self.columns[column] {
            Origin::Real(position) => Some(*position),
            Origin::Window(_) => None,
        };
        let event_time = self.times.iter().position(|time| *time == Some(Time::Event));
        Properties {
            append_only: self.append_only,
            key: self
                .key
                .as_ref()
                .and_then(|key| key.iter().map(|column| real(*column)).collect()),
            event_time: event_time.and_then(real),
            state_bound: None,
        }
    }
}

pub(super) fn local(from: NodeId) -> Edge {
    Edge {
        from,
        distribution: Distribution::Local,
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
