//! LIMIT, DISTINCT ON and `WHERE row_number() .. <= n`: the first rows of all, or of each group, kept in order.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::{Sort as SortExpr, WindowFunctionDefinition};
use datafusion::logical_expr::logical_plan::{DistinctOn, FetchType, Filter, Limit, SkipType, Window};
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, Projection};
use itertools::Itertools;

use crate::error::Result;
use crate::lower::relation::plain_column;
use crate::lower::slot::{Recomputed, Slot};
use crate::lower::stream::Stream;
use crate::lower::window::{call, pass_columns, schema_after};
use crate::lower::{Lowering, unsupported};
use crate::operator::recompute::spec::{Computation, FirstRows, Ranking};

impl Lowering<'_> {
    /// LIMIT and OFFSET, with the ORDER BY below them.
    pub(super) fn limit(&mut self, limit: &Limit) -> Result<Stream> {
        let (SkipType::Literal(skip), FetchType::Literal(fetch)) =
            (limit.get_skip_type()?, limit.get_fetch_type()?)
        else {
            return Err(unsupported::node(&LogicalPlan::Limit(limit.clone())));
        };
        self.first_of_all(&limit.input, skip as u64, fetch.map(|fetch| fetch as u64))
    }

    /// ORDER BY: a stored result has no order, so only a LIMIT that is part of it changes anything.
    pub(super) fn sort(&mut self, sort: &datafusion::logical_expr::logical_plan::Sort) -> Result<Stream> {
        match sort.fetch {
            None => self.lower(&sort.input),
            Some(fetch) => self.ordered_first(&sort.input, &sort.expr, 0, Some(fetch as u64)),
        }
    }

    fn first_of_all(&mut self, input: &LogicalPlan, skip: u64, fetch: Option<u64>) -> Result<Stream> {
        match input {
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
                self.ordered_first(&sort.input, &sort.expr, skip, fetch)
            }
            // The order below a projection is that of its result.
            LogicalPlan::Projection(Projection {
                input, expr, schema, ..
            }) if is_ordered(input) => {
                let stream = self.first_of_all(input, skip, fetch)?;
                self.project(stream, expr, schema)
            }
            LogicalPlan::SubqueryAlias(alias) if is_ordered(&alias.input) => Ok(self
                .first_of_all(&alias.input, skip, fetch)?
                .renamed(&alias.schema)),
            input => self.ordered_first(input, &[], skip, fetch),
        }
    }

    fn ordered_first(
        &mut self,
        input: &LogicalPlan,
        sorts: &[SortExpr],
        skip: u64,
        fetch: Option<u64>,
    ) -> Result<Stream> {
        self.check_append_groups("LIMIT", None)?;
        let stream = self.lower_below(input)?;
        let mut slot = Slot::new();
        let columns = pass_columns(&stream, &mut slot)?;
        let order = slot.order(&stream, sorts)?;
        let first = FirstRows {
            ranking: Ranking::RowNumber,
            from: skip.saturating_add(1),
            to: fetch.map(|fetch| skip.saturating_add(fetch)),
            columns,
            numbered: false,
        };
        let mut description = fetch.map_or_else(String::new, |fetch| format!("limit {fetch}"));
        if skip > 0 {
            description += if fetch.is_some() { " " } else { "" };
            description += &format!("offset {skip}");
        }
        let recomputed = Recomputed {
            keys: Vec::new(),
            order,
            computation: Computation::First(first),
            output: Arc::new(Schema::new(stream.schema.fields().clone())),
            description,
            key: stream.key.clone(),
        };
        let (schema, key) = (Arc::clone(&stream.schema), stream.key.clone());
        let node = self.recompute(stream, slot, recomputed, None)?;
        let times = vec![None; schema.fields().len()];
        let mut limited = Stream::of_node(node, &schema, times, false);
        limited.key = key;
        Ok(limited)
    }

    /// DISTINCT ON: the first row of each group.
    pub(super) fn distinct_on(&mut self, distinct: &DistinctOn) -> Result<Stream> {
        if let Some(stream) = self.dedup(distinct)? {
            return Ok(stream);
        }
        let stream = self.lower_below(&distinct.input)?;
        let mut slot = Slot::new();
        let closing = self.closing_key(&stream, &mut slot, &distinct.on_expr)?;
        self.check_append_groups("DISTINCT ON", closing)?;
        let groups = distinct
            .on_expr
            .iter()
            .filter(|expr| !matches!(expr, Expr::Literal(..)));
        let keys = groups
            .map(|expr| slot.column(&stream, expr))
            .collect::<Result<Vec<_>>>()?;
        let columns = distinct.select_expr.iter().map(|expr| slot.column(&stream, expr));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let order = match &distinct.sort_expr {
            Some(sorts) => slot.order(&stream, sorts)?,
            None => Vec::new(),
        };
        let order = order
            .into_iter()
            .filter(|order| !keys.contains(&order.column))
            .collect();
        let key = keys
            .iter()
            .map(|key| columns.iter().position(|column| column == key));
        let key: Option<Vec<usize>> = key.collect();
        let times = distinct.select_expr.iter().map(|expr| {
            let is_group = plain_column(expr).is_some()
                && distinct
                    .on_expr
                    .iter()
                    .any(|on| on.clone().unalias() == expr.clone().unalias());
            let time = stream.time_of(expr)?;
            let time = time.filter(|time| closing.is_some() && is_group && time.is_window());
            Ok(time.map(|time| self.closed(time)))
        });
        let times = times.collect::<Result<Vec<_>>>()?;
        let recomputed = Recomputed {
            keys: keys.into_iter().unique().collect(),
            order,
            computation: Computation::First(FirstRows {
                ranking: Ranking::RowNumber,
                from: 1,
                to: Some(1),
                columns,
                numbered: false,
            }),
            output: Arc::clone(distinct.schema.inner()),
            description: "the first row".to_owned(),
            key: key.clone(),
        };
        let append_only = closing.is_some() && self.is_final_here();
        let node = self.recompute(stream, slot, recomputed, closing)?;
        let mut first = Stream::of_node(node, &distinct.schema, times, append_only);
        first.key = key;
        Ok(first)
    }

    /// A filter that keeps the rows which a window function numbers up to some bound; `None` for any other filter.
    pub(super) fn ranked(&mut self, filter: &Filter) -> Result<Option<Stream>> {
        let LogicalPlan::Window(window) = filter.input.as_ref() else {
            return Ok(None);
        };
        let Some(ranked) = Ranked::of(window, &filter.predicate)? else {
            return Ok(None);
        };
        let stream = self.lower_below(&window.input)?;
        let call = call(&window.window_expr[0])?;
        let partition: Vec<Expr> = call
            .params
            .partition_by
            .iter()
            .filter(|expr| !matches!(expr, Expr::Literal(..)))
            .cloned()
            .collect();
        let mut slot = Slot::new();
        let columns = pass_columns(&stream, &mut slot)?;
        let closing = self.closing_key(&stream, &mut slot, &partition)?;
        self.check_append_groups("a window function (OVER)", closing)?;
        let keys = partition
            .iter()
            .map(|expr| slot.column(&stream, expr))
            .collect::<Result<Vec<_>>>()?;
        let order = slot.order(&stream, &call.params.order_by)?;
        let order = order
            .into_iter()
            .filter(|order| !keys.contains(&order.column))
            .collect();
        let times = self.times_after(&stream, &window.schema, closing, &partition)?;
        let recomputed = Recomputed {
            keys: keys.into_iter().unique().collect(),
            order,
            computation: Computation::First(FirstRows {
                ranking: ranked.ranking,
                from: ranked.from,
                to: Some(ranked.to),
                columns,
                numbered: true,
            }),
            output: schema_after(window),
            description: ranked.to_string(),
            key: None,
        };
        let append_only = closing.is_some() && self.is_final_here();
        let node = self.recompute(stream, slot, recomputed, closing)?;
        let stream = Stream::of_node(node, &window.schema, times, append_only);
        match conjunction(ranked.others) {
            None => Ok(Some(stream)),
            Some(predicate) => Ok(Some(self.filter(stream, &predicate)?)),
        }
    }
}

/// An ORDER BY stands below, with nothing between that loses the order.
fn is_ordered(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Sort(sort) => sort.fetch.is_none(),
        LogicalPlan::Projection(projection) => is_ordered(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_ordered(&alias.input),
        _ => false,
    }
}

/// A window function that numbers rows, and the numbers that a predicate keeps.
struct Ranked {
    ranking: Ranking,
    from: u64,
    to: u64,
    /// The rest of the predicate.
    others: Vec<Expr>,
}

impl std::fmt::Display for Ranked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self.ranking {
            Ranking::RowNumber => "row_number",
            Ranking::Rank => "rank",
            Ranking::DenseRank => "dense_rank",
        };
        write!(f, "{name} {} to {}", self.from, self.to)
    }
}

impl Ranked {
    fn of(window: &Window, predicate: &Expr) -> Result<Option<Self>> {
        let [expr] = window.window_expr.as_slice() else {
            return Ok(None);
        };
        let WindowFunctionDefinition::WindowUDF(function) = call(expr)?.fun else {
            return Ok(None);
        };
        let ranking = match function.name() {
            "row_number" => Ranking::RowNumber,
            "rank" => Ranking::Rank,
            "dense_rank" => Ranking::DenseRank,
            _ => return Ok(None),
        };
        let number = window.schema.fields().len() - 1;
        let (mut from, mut to, mut others) = (1, None::<u64>, Vec::new());
        for predicate in split_conjunction(predicate) {
            match bound(predicate, &window.schema, number) {
                Some((Operator::LtEq, value)) => to = Some(to.map_or(value, |to| to.min(value))),
                Some((Operator::GtEq, value)) => from = from.max(value),
                Some((Operator::Eq, value)) => {
                    from = from.max(value);
                    to = Some(to.map_or(value, |to| to.min(value)));
                }
                _ => others.push(predicate.clone()),
            }
        }
        Ok(to.map(|to| Self {
            ranking,
            from,
            to,
            others,
        }))
    }
}

/// What a predicate says of the column at `number`: at most, at least, or equal to a value.
fn bound(predicate: &Expr, schema: &DFSchema, number: usize) -> Option<(Operator, u64)> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = predicate else {
        return None;
    };
    let is_number = |expr: &Expr| {
        let expr = match expr {
            Expr::Cast(cast) => cast.expr.as_ref(),
            expr => expr,
        };
        matches!(expr, Expr::Column(column) if schema.index_of_column(column).is_ok_and(|i| i == number))
    };
    let (op, value) = match (is_number(left), is_number(right)) {
        (true, false) => (*op, whole(right)?),
        (false, true) => (op.swap()?, whole(left)?),
        _ => return None,
    };
    // A bound below all numbers keeps none or all of them; the filter can do that.
    match op {
        Operator::Lt => Some((Operator::LtEq, value.checked_sub(1)?)),
        Operator::Gt => Some((Operator::GtEq, value.checked_add(1)?)),
        Operator::LtEq | Operator::GtEq | Operator::Eq => Some((op, value)),
        _ => None,
    }
}

/// A literal that is a whole number from 0.
fn whole(expr: &Expr) -> Option<u64> {
    let Expr::Literal(value, _) = expr else {
        return None;
    };
    match value {
        ScalarValue::UInt64(value) => *value,
        value => match value.cast_to(&arrow::datatypes::DataType::Int64).ok()? {
            ScalarValue::Int64(Some(number)) if value.data_type().is_integer() => u64::try_from(number).ok(),
            _ => None,
        },
    }
}
