//! Session windows as a node of a logical plan.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};
use datafusion::common::{Column, DFSchema, DFSchemaRef, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::logical_plan::{Extension, InvariantLevel};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, UserDefinedLogicalNodeCore};
use itertools::Itertools;

use super::WindowAssign;
use crate::operator::spec::SessionGap;
use crate::window::Micros;

/// Adds `window_start` and `window_end` of its session to every row; a row without a time or with a gap that is not
/// positive goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionAssign {
    pub input: LogicalPlan,
    /// The time, the gap (microseconds as a literal, or an interval), then the keys; columns all but for the literal.
    exprs: Vec<Expr>,
    schema: DFSchemaRef,
}

impl SessionAssign {
    /// A gap in microseconds is a literal, one of its own for each row a column of type interval.
    pub fn try_new(input: LogicalPlan, time: Column, gap: Expr, keys: Vec<Column>) -> Result<Self> {
        let exprs = [Expr::Column(time), gap].into_iter();
        Self::with_exprs(input, exprs.chain(keys.into_iter().map(Expr::Column)).collect())
    }

    fn with_exprs(input: LogicalPlan, exprs: Vec<Expr>) -> Result<Self> {
        let [time, gap, ..] = exprs.as_slice() else {
            return plan_err!("a session has a time and a gap");
        };
        let data_type = time.get_type(input.schema())?;
        if !matches!(data_type, DataType::Timestamp(TimeUnit::Microsecond, _)) {
            return plan_err!(
                "session windows need a column of type timestamp or timestamptz, but {time} is {data_type}"
            );
        }
        if !matches!(
            gap.get_type(input.schema())?,
            DataType::Int64 | DataType::Interval(IntervalUnit::MonthDayNano)
        ) {
            return plan_err!("the gap of a session is an interval, not {gap}");
        }
        let qualifier = match time {
            Expr::Column(column) => column.relation.clone(),
            _ => None,
        };
        let fields = input.schema().iter().map(|(q, f)| (q.cloned(), Arc::clone(f)));
        let bounds = [WindowAssign::START, WindowAssign::END].map(|name| {
            let field = Field::new(name, data_type.clone(), false);
            (qualifier.clone(), Arc::new(field))
        });
        let fields = fields.chain(bounds).collect();
        let schema = DFSchema::new_with_metadata(fields, input.schema().metadata().clone())?;
        Ok(Self {
            input,
            exprs,
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
        self.position(&self.exprs[0])
    }

    pub fn gap(&self) -> Result<SessionGap> {
        match &self.exprs[1] {
            Expr::Literal(ScalarValue::Int64(Some(us)), _) => Ok(SessionGap::Constant(*us)),
            other => self.position(other).map(SessionGap::Column),
        }
    }

    /// Positions of the key columns in the input.
    pub fn key_columns(&self) -> Result<Vec<usize>> {
        self.exprs[2..].iter().map(|key| self.position(key)).collect()
    }

    fn position(&self, expr: &Expr) -> Result<usize> {
        match expr {
            Expr::Column(column) => self.input.schema().index_of_column(column),
            other => plan_err!("sessions need columns, not the expression {other}"),
        }
    }
}

/// The schema follows from the rest.
impl PartialOrd for SessionAssign {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let order = self.input.partial_cmp(&other.input)?;
        Some(order.then(self.exprs.partial_cmp(&other.exprs)?))
    }
}

impl UserDefinedLogicalNodeCore for SessionAssign {
    fn name(&self) -> &str {
        "SessionAssign"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn check_invariants(&self, _check: InvariantLevel) -> Result<()> {
        self.time_column()?;
        self.gap()?;
        self.key_columns().map(|_| ())
    }

    fn expressions(&self) -> Vec<Expr> {
        self.exprs.clone()
    }

    /// Which rows there are decides what the sessions are; only a predicate over the keys keeps or drops whole lines.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        let keys = &self.exprs[2..];
        let is_key = |column: &Column| keys.contains(&Expr::Column(column.clone()));
        self.schema
            .columns()
            .iter()
            .filter(|column| !is_key(column))
            .map(|column| column.name.clone())
            .collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let keys = self.exprs[2..].iter().join(", ");
        match &self.exprs[1] {
            Expr::Literal(ScalarValue::Int64(Some(us)), _) => {
                write!(
                    f,
                    "SessionAssign: {} with gap {} by [{keys}]",
                    self.exprs[0],
                    Micros(*us)
                )
            }
            gap => write!(f, "SessionAssign: {} with gap {gap} by [{keys}]", self.exprs[0]),
        }
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match (inputs.pop(), inputs.is_empty()) {
            (Some(input), true) => Self::with_exprs(input, exprs),
            _ => plan_err!("SessionAssign has one input"),
        }
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let inherited = self.input.schema().fields().len();
        let mut needed: Vec<usize> = output_columns
            .iter()
            .copied()
            .filter(|column| *column < inherited)
            .collect();
        needed.push(self.time_column().ok()?);
        if let SessionGap::Column(gap) = self.gap().ok()? {
            needed.push(gap);
        }
        needed.extend(self.key_columns().ok()?);
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
}
