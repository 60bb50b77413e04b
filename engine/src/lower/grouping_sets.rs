//! GROUPING SETS, ROLLUP and CUBE: one aggregation per set over the same rows, and the union of their results.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::logical_plan::Aggregate;
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{Expr, GroupingSet};

use crate::dataflow::{NodeKind, Properties};
use crate::error::{Error, Result};
use crate::lower::Lowering;
use crate::lower::stream::{Stream, Time, local};
use crate::operator::spec::OperatorSpec;

impl Lowering<'_> {
    /// The columns are those of the distinct group expressions, NULL where a set leaves one out, an id of the set, and
    /// the aggregates.
    pub(super) fn grouping_sets(
        &mut self,
        stream: Stream,
        sets: &GroupingSet,
        aggregate: &Aggregate,
    ) -> Result<Stream> {
        let exprs: Vec<Expr> = grouping_set_to_exprlist(&aggregate.group_expr)?
            .into_iter()
            .cloned()
            .collect();
        let sets = subsets(sets);
        let id_type = aggregate.schema.field(exprs.len()).data_type().clone();
        // What waits to become a map is shared by all sets as a node.
        let stream = self.with_steps_as_node(stream)?;
        let mut seen: HashMap<u64, u64> = HashMap::new();
        let mut edges = Vec::with_capacity(sets.len());
        let mut times: Option<Vec<Option<Time>>> = None;
        let mut append_only = true;
        for set in &sets {
            let left_out = exprs
                .iter()
                .fold(0_u64, |bits, expr| (bits << 1) | u64::from(!set.contains(expr)));
            let ordinal = seen.entry(left_out).or_default();
            let id = left_out | (*ordinal << exprs.len());
            *ordinal += 1;
            let group: Vec<Expr> = exprs.iter().filter(|expr| set.contains(expr)).cloned().collect();
            let branch = self.grouping_set(stream.clone(), group, &exprs, (id, &id_type), aggregate)?;
            append_only &= branch.append_only;
            edges.push(local(branch.node));
            times = Some(match times {
                None => branch.times,
                Some(times) => {
                    let both = times.into_iter().zip(branch.times);
                    both.map(|(a, b)| self.bounds.both(a, b)).collect()
                }
            });
        }
        let schema = Arc::clone(aggregate.schema.inner());
        let properties = Properties {
            append_only,
            ..Properties::default()
        };
        let kind = NodeKind::Operator(OperatorSpec::Union(Arc::clone(&schema)));
        let node = self.add(kind, edges, schema, properties);
        let times = times.ok_or_else(|| Error::Bug("GROUPING SETS without a set".to_owned()))?;
        Ok(Stream::of_node(node, &aggregate.schema, times, append_only))
    }

    /// The result of one set, in the columns of all.
    fn grouping_set(
        &mut self,
        stream: Stream,
        group: Vec<Expr>,
        exprs: &[Expr],
        (id, id_type): (u64, &DataType),
        aggregate: &Aggregate,
    ) -> Result<Stream> {
        let groups = group.len();
        let calls = aggregate.aggr_expr.clone();
        let part = match groups == 0 && calls.is_empty() {
            true => return Err(Error::Bug("an aggregation of nothing by nothing".to_owned())),
            false => Aggregate::try_new(Arc::clone(&aggregate.input), group.clone(), calls)?,
        };
        let grouped = self.aggregate_over(stream, &part)?;
        let columns = part.schema.columns();
        let mut projected = Vec::with_capacity(aggregate.schema.fields().len());
        for (expr, field) in exprs.iter().zip(aggregate.schema.fields()) {
            projected.push(match group.iter().position(|other| other == expr) {
                Some(position) => Expr::Column(columns[position].clone()),
                None => Expr::Literal(ScalarValue::try_from(field.data_type())?, None),
            });
        }
        let id = ScalarValue::UInt64(Some(id)).cast_to(id_type)?;
        projected.push(Expr::Literal(id, None));
        projected.extend(columns.into_iter().skip(groups).map(Expr::Column));
        let schema: &Arc<DFSchema> = &aggregate.schema;
        let branch = self.project(grouped, &projected, schema)?;
        self.as_node(branch)
    }
}

fn subsets(sets: &GroupingSet) -> Vec<Vec<Expr>> {
    match sets {
        GroupingSet::GroupingSets(sets) => sets.clone(),
        GroupingSet::Rollup(exprs) => (0..=exprs.len()).map(|length| exprs[..length].to_vec()).collect(),
        GroupingSet::Cube(exprs) => (0..1_usize << exprs.len())
            .map(|set| {
                let is_in = |position: &usize| set & (1 << position) != 0;
                (0..exprs.len())
                    .filter(is_in)
                    .map(|position| exprs[position].clone())
                    .collect()
            })
            .collect(),
    }
}
