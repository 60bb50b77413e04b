//! Parts of a query that a condition rules out, such as `WHERE false`: they have columns, and never a row.

use std::sync::Arc;

use datafusion::common::DFSchemaRef;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::logical_plan::Distinct;

use crate::dataflow::{NodeKind, Properties};
use crate::logical::WindowAssign;
use crate::lower::stream::Stream;
use crate::lower::{Lowering, join};

/// Whether the plan has no row whatever its relations hold. An aggregation without keys has one row in any case.
pub(super) fn has_no_rows(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::EmptyRelation(empty) => !empty.produce_one_row,
        LogicalPlan::Projection(projection) => has_no_rows(&projection.input),
        LogicalPlan::Filter(filter) => has_no_rows(&filter.input),
        LogicalPlan::SubqueryAlias(alias) => has_no_rows(&alias.input),
        LogicalPlan::Unnest(unnest) => has_no_rows(&unnest.input),
        LogicalPlan::Distinct(Distinct::All(input)) => has_no_rows(input),
        LogicalPlan::Distinct(Distinct::On(distinct)) => has_no_rows(&distinct.input),
        LogicalPlan::Window(window) => has_no_rows(&window.input),
        LogicalPlan::Sort(sort) => has_no_rows(&sort.input),
        LogicalPlan::Limit(limit) => has_no_rows(&limit.input),
        LogicalPlan::Union(union) => union.inputs.iter().all(|input| has_no_rows(input)),
        LogicalPlan::Join(join) => {
            join::has_no_rows(join.join_type, has_no_rows(&join.left), has_no_rows(&join.right))
        }
        LogicalPlan::Aggregate(aggregate) => {
            !aggregate.group_expr.is_empty() && has_no_rows(&aggregate.input)
        }
        LogicalPlan::Extension(_) => WindowAssign::of(plan).is_some_and(|assign| has_no_rows(&assign.input)),
        _ => false,
    }
}

impl Lowering<'_> {
    pub(super) fn empty(&mut self, schema: &DFSchemaRef) -> Stream {
        let properties = Properties {
            append_only: true,
            ..Properties::default()
        };
        let node = self.add(
            NodeKind::Empty,
            Vec::new(),
            Arc::clone(schema.inner()),
            properties,
        );
        Stream::of_node(node, schema, vec![None; schema.fields().len()], true)
    }
}
