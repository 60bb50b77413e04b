//! What has been built of a plan so far, and the steps that need no node of their own yet.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DFSchemaRef};
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Operator, Volatility};
use datafusion::physical_expr::expressions::{BinaryExpr, Column as PhysicalColumn, Literal, NegativeExpr};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use crate::bound::{Bound, TimeKind};
use crate::dataflow::{Distribution, Edge, NodeId, Properties};
use crate::error::Result;
use crate::expression::{CURRENT_WATERMARK, PROCESSING_TIME};
use crate::logical::WindowAssign;
use crate::lower::unsupported;
use crate::operator::spec::MapStep;
use crate::window::WindowRule;

/// The output of a logical node: a dataflow node, steps on top of it, and perhaps a window assignment on top of those.
#[derive(Clone)]
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
    /// The watermark that the steps read, if they do.
    pub watermark: Option<BoundId>,
    /// A relation that a join is to look up.
    pub lookup: bool,
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
    /// Of the time, if it is an event time with a watermark.
    pub bound: Option<BoundId>,
    /// Predicates over `window_start` and `window_end`, which every window must meet.
    pub filters: Vec<Expr>,
}

/// A column that a watermark bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Time {
    pub kind: TimeKind,
    pub bound: BoundId,
}

impl Time {
    pub fn is_window(&self) -> bool {
        self.kind != TimeKind::Event
    }
}

/// One of the [`Bounds`] of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BoundId(usize);

/// The bounds of all times in a query, each once.
#[derive(Debug, Default)]
pub(super) struct Bounds(Vec<Bound>);

impl Bounds {
    pub fn id(&mut self, bound: Bound) -> BoundId {
        BoundId(
            self.0
                .iter()
                .position(|known| *known == bound)
                .unwrap_or_else(|| {
                    self.0.push(bound);
                    self.0.len() - 1
                }),
        )
    }

    pub fn get(&self, id: BoundId) -> &Bound {
        &self.0[id.0]
    }

    /// The bound of a column as if it were an event time: below it no row changes any more.
    pub fn as_event(&mut self, time: Time) -> BoundId {
        let bound = self.get(time.bound).lagging(time.kind.lag());
        self.id(bound)
    }

    /// What is known of a column that holds the times of two.
    pub fn both(&mut self, a: Option<Time>, b: Option<Time>) -> Option<Time> {
        let (a, b) = a.zip(b).filter(|(a, b)| a.kind == b.kind)?;
        let bound = self.get(a.bound).and(self.get(b.bound));
        Some(Time {
            kind: a.kind,
            bound: self.id(bound),
        })
    }

    /// The time of rows that come out when the watermark sets them free.
    pub fn released(&mut self, time: Time) -> Time {
        let bound = self.get(time.bound).released();
        Time {
            bound: self.id(bound),
            ..time
        }
    }
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
            watermark: None,
            lookup: false,
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
    pub fn key_after(&self, exprs: &[Expr]) -> Result<Option<Vec<usize>>> {
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
    pub fn time_of(&self, expr: &Expr) -> Result<Option<Time>> {
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
    let checked = expr.transform_up(|expr| {
        if let Some(negative) = expr.downcast_ref::<NegativeExpr>() {
            let data_type = negative.arg().data_type(schema.as_arrow())?;
            if data_type.is_signed_integer() {
                let zero = Arc::new(Literal::new(ScalarValue::new_zero(&data_type)?));
                let minus = BinaryExpr::new(zero, Operator::Minus, Arc::clone(negative.arg()));
                return Ok(Transformed::yes(Arc::new(minus.with_fail_on_overflow(true)) as _));
            }
        }
        match expr.downcast_ref::<BinaryExpr>() {
            Some(binary) if matches!(binary.op(), Operator::Plus | Operator::Minus | Operator::Multiply) => {
                let (left, right) = (Arc::clone(binary.left()), Arc::clone(binary.right()));
                let checked = BinaryExpr::new(left, *binary.op(), right).with_fail_on_overflow(true);
                Ok(Transformed::yes(Arc::new(checked) as _))
            }
            _ => Ok(Transformed::no(expr)),
        }
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
pub(super) fn check_functions(expr: &Expr, append_only: bool) -> Result<()> {
    let mut found = Ok(());
    expr.apply(|expr| {
        found = match expr {
            Expr::ScalarSubquery(_)
            | Expr::InSubquery(_)
            | Expr::Exists(_)
            | Expr::SetComparison(_)
            | Expr::OuterReferenceColumn(..) => Err(unsupported::subquery()),
            Expr::ScalarFunction(call) if call.name() == PROCESSING_TIME && !append_only => {
                Err(unsupported::clause_error(
                    "now()",
                    "its input can change, and a row would not have the same time when it is taken back",
                    "Compare it with a time or day of the row in WHERE, as in ts > now() - INTERVAL '1 hour' (a month is no \
                     fixed time), or read from a stream or a source, where rows are only added.",
                ))
            }
            Expr::ScalarFunction(call) if call.name() == CURRENT_WATERMARK => {
                Err(unsupported::clause_error(
                    "current_watermark() here",
                    "it is known for a row of a SELECT and in WHERE, not within an aggregate, a join or a window",
                    "Compute it in a subquery: FROM (SELECT *, current_watermark(ts) AS w FROM t).",
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

impl Stream {
    /// Properties of a node that ends here; positions are those of its schema.
    pub fn properties(&self) -> Properties {
        let real = |column: usize| match &self.columns[column] {
            Origin::Real(position) => Some(*position),
            Origin::Window(_) => None,
        };
        let event_time = event_time(&self.times);
        Properties {
            append_only: self.append_only,
            key: self
                .key
                .as_ref()
                .and_then(|key| key.iter().map(|column| real(*column)).collect()),
            event_time: event_time.and_then(real),
            ..Properties::default()
        }
    }
}

/// The first column that is an event time.
pub(super) fn event_time(times: &[Option<Time>]) -> Option<usize> {
    let is_event = |time: &Option<Time>| time.is_some_and(|time| !time.is_window());
    times.iter().position(is_event)
}

pub(super) fn local(from: NodeId) -> Edge {
    Edge {
        from,
        distribution: Distribution::Local,
    }
}
