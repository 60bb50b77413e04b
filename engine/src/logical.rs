//! The nodes of a logical plan that DataFusion does not know: our relations as scans, and window assignment.
//!
//! The planner builds them, `lower` turns them into a dataflow and `oneoff` runs them once; so both mean the same.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::{Column, DFSchema, DFSchemaRef, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::logical_plan::{Extension, InvariantLevel};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, TableSource, UserDefinedLogicalNodeCore};
use millpond_catalog::{Object, ObjectId, ObjectKind, Watermark};

use crate::bound::ResultTime;

pub use crate::window::WindowRule;
pub use session::SessionAssign;

mod session;

/// A catalog object as the target of a scan.
#[derive(Debug, Clone)]
pub struct RelationSource {
    pub object: ObjectId,
    /// Name for display.
    pub name: String,
    /// All columns.
    pub schema: SchemaRef,
    pub watermark: Option<Watermark>,
    /// Columns of a view that its own watermark bounds.
    pub times: Vec<ResultTime>,
    /// No retractions ever come from it.
    pub append_only: bool,
    pub rows: Rows,
}

/// Which rows of a relation a scan gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rows {
    /// Those of its snapshot.
    #[default]
    Snapshot,
    /// The same, for the right side of a join: a row of the left side meets what there is when it comes, and is not corrected
    /// later.
    LookedUp,
    /// Those of its snapshot, each with its number in one more column.
    Numbered,
    /// Those that the running statement has written or taken away. Only one-off queries read them.
    Written,
}

impl RelationSource {
    /// The source for `object`. A view's `append_only` is a property of its dataflow, which the caller knows.
    pub fn new(object: &Object, view_append_only: bool) -> Self {
        let append_only = match &object.kind {
            ObjectKind::Table(table) => table.append_only,
            ObjectKind::Source(_) => true,
            ObjectKind::View(_) | ObjectKind::Sink(_) => view_append_only,
            ObjectKind::PlainView(_) => false,
        };
        Self {
            object: object.id,
            name: object.name.to_string(),
            schema: object.schema(),
            watermark: object.watermark().cloned(),
            times: Vec::new(),
            append_only,
            rows: Rows::Snapshot,
        }
    }

    /// With the times of a view's rows.
    pub fn with_times(self, times: Vec<ResultTime>) -> Self {
        Self { times, ..self }
    }

    /// As the side of a join that is looked up.
    pub fn looked_up(&self) -> Self {
        Self {
            rows: Rows::LookedUp,
            ..self.clone()
        }
    }

    /// With an event time of the reader's own.
    pub fn with_watermark(&self, column: usize, delay_us: i64) -> Self {
        let declared = self.watermark.as_ref();
        let max_future_us = declared.map_or(Some(Watermark::DEFAULT_MAX_FUTURE_US), |w| w.max_future_us);
        Self {
            watermark: Some(Watermark {
                column,
                delay_us,
                max_future_us,
                idle_timeout_us: declared.and_then(|w| w.idle_timeout_us),
            }),
            times: Vec::new(),
            ..self.clone()
        }
    }

    /// The rows of a table with their numbers in a last column of this name.
    pub fn numbered(object: &Object, number: &str) -> Self {
        let source = Self::new(object, false);
        let mut fields = source.schema.fields().to_vec();
        fields.push(Arc::new(Field::new(number, DataType::Int64, false)));
        Self {
            schema: Arc::new(Schema::new(fields)),
            rows: Rows::Numbered,
            ..source
        }
    }

    /// The rows that the running statement has written into a table, or taken out of it.
    pub fn written(object: &Object, schema: SchemaRef) -> Self {
        Self {
            schema,
            rows: Rows::Written,
            ..Self::new(object, false)
        }
    }
}

impl TableSource for RelationSource {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Adds `window_start` and `window_end` to every row: one output row per window that the row's time is in, none where the
/// time is NULL or infinite.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WindowAssign {
    pub input: LogicalPlan,
    /// A column of the input of type `timestamp` or `timestamptz`.
    pub time: Expr,
    pub rule: WindowRule,
    schema: DFSchemaRef,
}

impl WindowAssign {
    pub const START: &'static str = "window_start";
    pub const END: &'static str = "window_end";

    /// Durations in microseconds; sizes that make no sense are a plan error.
    pub fn try_new(
        input: LogicalPlan,
        time: Column,
        size_us: i64,
        slide_us: i64,
        offset_us: i64,
    ) -> Result<Self> {
        let rule = WindowRule::new(size_us, slide_us, offset_us)?;
        Self::with_rule(input, Expr::Column(time), rule)
    }

    /// Windows by a rule over a column, or over an expression that becomes one.
    pub fn with_rule(input: LogicalPlan, time: Expr, rule: WindowRule) -> Result<Self> {
        let data_type = time.get_type(input.schema())?;
        if !matches!(data_type, DataType::Timestamp(TimeUnit::Microsecond, _)) {
            return plan_err!(
                "windows need a column of type timestamp or timestamptz, but {time} is {data_type}"
            );
        }
        // Both bounds stand under the relation name of the time column, so that `alias.window_start` resolves.
        let qualifier = match &time {
            Expr::Column(column) => column.relation.clone(),
            _ => None,
        };
        let fields = input.schema().iter().map(|(q, f)| (q.cloned(), Arc::clone(f)));
        let bound = |name: &str| {
            (
                qualifier.clone(),
                Arc::new(Field::new(name, data_type.clone(), false)),
            )
        };
        let fields = fields.chain([bound(Self::START), bound(Self::END)]).collect();
        let schema = DFSchema::new_with_metadata(fields, input.schema().metadata().clone())?;
        Ok(Self {
            input,
            time,
            rule,
            schema: Arc::new(schema),
        })
    }

    /// As a plan node.
    pub fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }

    /// The node within `plan`, if it is one.
    pub fn of(plan: &LogicalPlan) -> Option<&Self> {
        match plan {
            LogicalPlan::Extension(extension) => extension.node.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// Position of the time column in the input.
    pub fn time_column(&self) -> Result<usize> {
        match &self.time {
            Expr::Column(column) => self.input.schema().index_of_column(column),
            other => plan_err!("windows need a column, not the expression {other}"),
        }
    }
}

/// The schema follows from the rest.
impl PartialOrd for WindowAssign {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let order = self.input.partial_cmp(&other.input)?;
        Some(
            order
                .then(self.time.partial_cmp(&other.time)?)
                .then(self.rule.cmp(&other.rule)),
        )
    }
}

impl UserDefinedLogicalNodeCore for WindowAssign {
    fn name(&self) -> &str {
        "WindowAssign"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn check_invariants(&self, _check: InvariantLevel) -> Result<()> {
        self.time_column().map(|_| ())
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![self.time.clone()]
    }

    /// A predicate over the input's columns alone may go below: it keeps or drops all windows of a row.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        [Self::START, Self::END].map(str::to_owned).into()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "WindowAssign: {} over {}", self.rule, self.time)
    }

    fn with_exprs_and_inputs(&self, mut exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let (Some(time), Some(input)) = (exprs.pop(), inputs.pop()) else {
            return plan_err!("WindowAssign has one expression and one input");
        };
        Self::with_rule(input, time, self.rule)
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let inherited = self.input.schema().fields().len();
        let mut needed: Vec<usize> = output_columns
            .iter()
            .copied()
            .filter(|column| *column < inherited)
            .collect();
        needed.push(self.time_column().ok()?);
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
}
