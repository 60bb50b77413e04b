//! Scans, UNION ALL and unnest.

use std::sync::Arc;

use datafusion::logical_expr::logical_plan::{TableScan, Union, Unnest};
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::bound::{Bound, TimeKind};
use crate::dataflow::{EventTime, Input, NodeKind, Properties};
use crate::error::Result;
use crate::logical::{RelationSource, Rows};
use crate::lower::stream::{BoundId, Origin, Stream, Time, event_time, local};
use crate::lower::{Lowering, empty, unsupported};
use crate::operator::spec::{OperatorSpec, UnnestSpec};

impl Lowering<'_> {
    pub(super) fn scan(&mut self, scan: &TableScan) -> Result<Stream> {
        let Some(source) = scan.source.downcast_ref::<RelationSource>() else {
            return Err(unsupported::node(&LogicalPlan::TableScan(scan.clone())));
        };
        let wanted: Vec<usize> = match &scan.projection {
            Some(projection) => projection.clone(),
            None => (0..source.schema.fields().len()).collect(),
        };
        let mut projection = wanted.clone();
        projection.extend(source.watermark.as_ref().map(|watermark| watermark.column));
        if projection.is_empty() {
            // Nothing but the number of rows matters, which a column has to carry.
            projection.push(0);
        }
        projection.sort_unstable();
        projection.dedup();
        let position = |column: usize| projection.iter().position(|other| *other == column);
        let schema = Arc::new(source.schema.project(&projection)?);
        let event_time = source.watermark.as_ref().map(|watermark| EventTime {
            column: position(watermark.column).expect("the column was added to the projection"),
            delay_us: watermark.delay_us,
            max_future_us: watermark.max_future_us,
            idle_timeout_us: watermark.idle_timeout_us,
        });
        let properties = Properties {
            append_only: source.append_only,
            event_time: event_time.as_ref().map(|time| time.column),
            ..Properties::default()
        };
        let bound = self.bounds.id(Bound::of_input(self.inputs.len()));
        let kind = NodeKind::Input(self.inputs.len());
        self.inputs.push(Input {
            object: source.object,
            name: source.name.clone(),
            projection: projection.clone(),
            schema: Arc::clone(&schema),
            event_time,
            follows: !source.times.is_empty(),
            append_only: source.append_only,
        });
        let node = self.add(kind, Vec::new(), Arc::clone(&schema), properties);
        let times = wanted
            .iter()
            .map(|column| self.time_of_column(source, *column, bound))
            .collect();
        let mut stream = Stream::of_node(node, &scan.projected_schema, times, source.append_only);
        stream.lookup = source.rows == Rows::LookedUp;
        // The time may be there only for the watermark.
        stream.columns = wanted
            .iter()
            .map(|column| Origin::Real(position(*column).expect("wanted columns are projected")))
            .collect();
        stream.real = schema;
        scan.filters
            .iter()
            .try_fold(stream, |stream, predicate| self.filter(stream, predicate))
    }

    fn time_of_column(&mut self, source: &RelationSource, column: usize, bound: BoundId) -> Option<Time> {
        if let Some(time) = source.times.iter().find(|time| time.column == column) {
            let behind = self.bounds.get(bound).lagging(time.lag_us);
            return Some(Time {
                kind: time.kind,
                bound: self.bounds.id(behind),
            });
        }
        let watermark = source.watermark.as_ref()?;
        (watermark.column == column).then_some(Time {
            kind: TimeKind::Event,
            bound,
        })
    }

    pub(super) fn union(&mut self, union: &Union) -> Result<Stream> {
        let schema = Arc::clone(union.schema.inner());
        let mut edges = Vec::with_capacity(union.inputs.len());
        let mut times: Option<Vec<Option<Time>>> = None;
        let mut append_only = true;
        // A branch without rows says nothing about the others' times.
        for input in union.inputs.iter().filter(|input| !empty::has_no_rows(input)) {
            let stream = self.lower(input)?;
            let stream = self.as_node(stream)?;
            edges.push(local(stream.node));
            append_only &= stream.append_only;
            // A column is an event time when it is one in every input.
            times = Some(match times {
                None => stream.times,
                Some(times) => {
                    let both = times.into_iter().zip(stream.times);
                    both.map(|(a, b)| self.bounds.both(a, b)).collect()
                }
            });
        }
        let times = times.unwrap_or_else(|| vec![None; schema.fields().len()]);
        let event_time = event_time(&times);
        let properties = Properties {
            append_only,
            event_time,
            ..Properties::default()
        };
        let kind = NodeKind::Operator(OperatorSpec::Union(Arc::clone(&schema)));
        let node = self.add(kind, edges, schema, properties);
        Ok(Stream::of_node(node, &union.schema, times, append_only))
    }

    pub(super) fn unnest(&mut self, unnest: &Unnest) -> Result<Stream> {
        if unnest.list_type_columns.iter().any(|(_, list)| list.depth != 1) {
            return Err(unsupported::clause_error(
                "unnest() of lists within lists",
                "only one level is unnested at a time",
                "Unnest in two steps: SELECT unnest(x) FROM (SELECT unnest(lists) AS x FROM ..).",
            ));
        }
        let input = self.lower(&unnest.input)?;
        let input = self.as_node(input)?;
        let output = Arc::clone(unnest.schema.inner());
        let spec = UnnestSpec {
            input: Arc::clone(&input.real),
            output: Arc::clone(&output),
            sources: unnest.dependency_indices.clone(),
            lists: unnest
                .list_type_columns
                .iter()
                .map(|(column, _)| *column)
                .collect(),
            structs: unnest.struct_type_columns.clone(),
            options: unnest.options.clone(),
        };
        let unnested = |column: &usize| spec.lists.contains(column) || spec.structs.contains(column);
        let times = spec
            .sources
            .iter()
            .map(|column| input.times[*column].filter(|_| !unnested(column)));
        let times: Vec<Option<Time>> = times.collect();
        let event_time = event_time(&times);
        let properties = Properties {
            append_only: input.append_only,
            event_time,
            ..Properties::default()
        };
        let kind = NodeKind::Operator(OperatorSpec::Unnest(spec));
        let node = self.add(kind, vec![local(input.node)], output, properties);
        Ok(Stream::of_node(node, &unnest.schema, times, input.append_only))
    }
}

/// The plain column that an expression is, under any alias.
pub(super) fn plain_column(expr: &Expr) -> Option<datafusion::common::Column> {
    match expr.clone().unalias() {
        Expr::Column(column) => Some(column),
        _ => None,
    }
}
