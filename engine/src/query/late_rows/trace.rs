//! From a late row, as the operator that dropped it saw it, back to the row of the source with all its columns.
//!
//! Whether a row is late follows from what the operator sees of it and from the state at the begin of the epoch, so of
//! equal rows either all or none are dropped. In an epoch that dropped some, the input is read once more, with all
//! columns; what is older than the watermark takes the same path of filters and projections, and what then looks like a
//! dropped row is one. An epoch without late rows pays nothing, and a replay, which reads the same rows, finds the same.
//!
//! A row that took another path, through a join or from a list, is kept as the operator saw it.

use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, Int64Array, RecordBatch, UInt32Array, new_null_array};
use arrow::compute::{cast, concat_batches, filter_record_batch, take_record_batch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit, TimestampMicrosecondType, UInt32Type};
use datafusion::physical_expr::expressions::Column;
use hashbrown::HashMap;
use millpond_storage::ChangeBatch;

use super::{LateSource, Told, nullable};
use crate::bound::Watermark;
use crate::dataflow::{Dataflow, NodeKind};
use crate::error::{Error, Result};
use crate::expression::row_as_json;
use crate::operator::map::Map;
use crate::operator::spec::{MapSpec, MapStep, OperatorSpec};
use crate::operator::{LateRow, Operator, Output};
use crate::query::record::BatchRecord;
use crate::query::step::{self, QueryInput, ReadFrom};
use crate::runtime::InputReader;
use crate::source::SourceError;

/// What is needed to look for the rows of an epoch.
pub(crate) struct Search<'a> {
    pub(crate) dataflow: &'a Dataflow,
    pub(crate) inputs: &'a [QueryInput],
    pub(crate) sources: &'a [LateSource],
    pub(crate) record: &'a BatchRecord,
    /// Of each node.
    pub(crate) watermarks: &'a [[Watermark; 2]],
}

/// Late rows with their sources, and how many came from each input.
#[derive(Debug, Default)]
pub(crate) struct Traced {
    pub(crate) told: Vec<Told>,
    pub(crate) by_input: Vec<u64>,
}

/// The way of rows from an input to an operator, through nodes that leave a row a row.
struct Path<'a> {
    input: usize,
    /// From the input on, with their nodes.
    maps: Vec<(usize, &'a MapSpec)>,
}

/// Dropped rows that look alike.
struct Alike {
    operator: String,
    sample: LateRow,
    missing: i64,
}

/// Of one port of an operator.
struct Dropped<'a> {
    node: usize,
    paths: Vec<Path<'a>>,
    alike: HashMap<Vec<u8>, Alike>,
}

impl<'a> Search<'a> {
    pub(crate) fn trace(&self, late: &[(String, LateRow)]) -> Result<Traced> {
        let mut traced = Traced {
            told: Vec::new(),
            by_input: vec![0; self.inputs.len()],
        };
        if late.is_empty() {
            return Ok(traced);
        }
        let mut dropped = self.dropped(late);
        for index in 0..self.inputs.len() {
            if !dropped.iter().any(|port| port.leads_to(index)) {
                continue;
            }
            let input = &self.inputs[index];
            let all: Vec<usize> = (0..input.schema().fields().len()).collect();
            let narrower = input.projection.len() < all.len();
            match self.look(index, all, &mut dropped, &mut traced) {
                // A row of which a column that the query does not read cannot be decoded.
                Err(Error::Source(SourceError::Failed { .. })) if narrower => {}
                looked => looked?,
            }
            let decodes = matches!(input.from, ReadFrom::Source(_));
            if decodes && narrower && dropped.iter().any(|port| port.misses(index)) {
                self.look(index, input.projection.clone(), &mut dropped, &mut traced)?;
            }
        }
        self.tell_rest(dropped, &mut traced);
        Ok(traced)
    }

    fn dropped(&self, late: &[(String, LateRow)]) -> Vec<Dropped<'a>> {
        let mut dropped: Vec<Dropped<'a>> = Vec::new();
        for (operator, row) in late {
            let Some(node) = self.dataflow.nodes.iter().position(|node| node.name == *operator) else {
                continue;
            };
            let ports = &self.dataflow.nodes[node].edges;
            let from = ports.get(row.port).map(|edge| edge.from.0);
            let known = dropped.iter().position(|port| port.node == from.unwrap_or(node));
            let index = known.unwrap_or_else(|| {
                let mut paths = Vec::new();
                if let Some(from) = from {
                    self.add_paths(from, Vec::new(), &mut paths);
                }
                dropped.push(Dropped {
                    node: from.unwrap_or(node),
                    paths,
                    alike: HashMap::new(),
                });
                dropped.len() - 1
            });
            // Two operators may read one node: their rows are told apart by the name before the row.
            let key = key(operator, row.port, &row.row);
            let alike = dropped[index].alike.entry(key).or_insert_with(|| Alike {
                operator: operator.clone(),
                sample: row.clone(),
                missing: 0,
            });
            alike.missing += row.count;
        }
        dropped
    }

    fn add_paths(&self, node: usize, above: Vec<(usize, &'a MapSpec)>, paths: &mut Vec<Path<'a>>) {
        let this = &self.dataflow.nodes[node];
        let below = || this.edges.iter().map(|edge| edge.from.0);
        match &this.kind {
            NodeKind::Input(input) => {
                let maps = above.into_iter().rev().collect();
                paths.push(Path { input: *input, maps });
            }
            NodeKind::Operator(OperatorSpec::Map(spec)) => {
                for from in below() {
                    let mut above = above.clone();
                    above.push((node, spec));
                    self.add_paths(from, above, paths);
                }
            }
            NodeKind::Operator(OperatorSpec::Union(_)) => {
                for from in below() {
                    self.add_paths(from, above.clone(), paths);
                }
            }
            NodeKind::Operator(_) | NodeKind::Empty => {}
        }
    }

    /// Reads the columns in `projection` of an input, and finds what was dropped.
    fn look(
        &self,
        index: usize,
        projection: Vec<usize>,
        dropped: &mut [Dropped<'a>],
        traced: &mut Traced,
    ) -> Result<()> {
        let input = QueryInput {
            projection,
            ..self.inputs[index].clone()
        };
        let range = std::slice::from_ref(&self.record.ranges[index]);
        let queues = step::open(std::slice::from_ref(&input), range, 1)?;
        let queue = queues.first().expect("one per input");
        let mut reader = InputReader::default();
        while let Some(batch) = reader.next(queue)? {
            let candidates = self.candidates(index, &input, batch.changes)?;
            if candidates.is_empty() {
                continue;
            }
            for port in dropped.iter_mut() {
                port.find(self, index, &input, &candidates, traced)?;
            }
        }
        Ok(())
    }

    /// Rows that can be late at all.
    fn candidates(&self, index: usize, input: &QueryInput, changes: ChangeBatch) -> Result<ChangeBatch> {
        let Some(event_time) = &self.dataflow.inputs[index].event_time else {
            return Ok(changes);
        };
        let Some(watermark) = self.record.context.watermarks[index] else {
            return Ok(changes.slice(0, 0));
        };
        let column = self.inputs[index].projection[event_time.column];
        let position = input.projection.iter().position(|read| *read == column);
        let position = position.expect("the event time is read");
        let times = cast(
            changes.rows().column(position),
            &DataType::Timestamp(TimeUnit::Microsecond, None),
        )?;
        let times = times.as_primitive::<TimestampMicrosecondType>();
        let old: BooleanArray = { times.iter() }
            .map(|time| Some(time.is_some_and(|time| time < watermark)))
            .collect();
        let rows = filter_record_batch(changes.rows(), &old)?;
        let kept = (0..old.len()).filter(|row| old.value(*row));
        let weights: Int64Array = kept.map(|row| changes.weight(row)).collect();
        Ok(ChangeBatch::new(rows, weights))
    }

    /// Of the path's rows, as the operator sees them, the number of each among the candidates and its looks.
    fn seen(&self, path: &Path<'_>, input: &QueryInput, rows: &RecordBatch) -> Result<Option<RecordBatch>> {
        let read = &self.inputs[path.input].projection;
        let wanted = read
            .iter()
            .map(|column| input.projection.iter().position(|have| have == column));
        let wanted: Vec<usize> = wanted.map(|position| position.expect("it is read")).collect();
        let length = u32::try_from(rows.num_rows()).unwrap_or(u32::MAX);
        let rows = rows.project(&wanted)?;
        let mut columns = rows.columns().to_vec();
        columns.push(Arc::new(UInt32Array::from_iter_values(0..length)));
        let mut seen = RecordBatch::try_new(with_number(&rows.schema()), columns)?;
        for (node, spec) in &path.maps {
            let mut map = Map::new(&numbered(spec), "late rows")?;
            let context = &self.record.context;
            map.begin(&context.of_operator(self.watermarks[*node], 0, 1))?;
            let mut output = Output::default();
            map.push(0, ChangeBatch::insertions(seen), &mut output)?;
            let batches: Vec<RecordBatch> = { output.changes.into_iter() }
                .map(|changes| changes.into_parts().0)
                .collect();
            let Some(first) = batches.first() else {
                return Ok(None);
            };
            seen = concat_batches(&first.schema(), &batches)?;
        }
        Ok(Some(seen))
    }

    /// What was not found is kept as the operator saw it.
    fn tell_rest(&self, dropped: Vec<Dropped<'a>>, traced: &mut Traced) {
        let only = (self.sources.len() == 1).then_some(0);
        for port in dropped {
            let rest: Vec<(String, LateRow)> = { port.alike.into_values() }
                .filter(|alike| alike.missing > 0)
                .map(|alike| {
                    let row = LateRow {
                        count: alike.missing,
                        ..alike.sample
                    };
                    (alike.operator, row)
                })
                .collect();
            if rest.is_empty() {
                continue;
            }
            let timed = |index: &usize| self.dataflow.inputs[*index].is_timed();
            let mut inputs = (0..self.inputs.len()).filter(timed);
            if let (Some(input), None) = (inputs.next(), inputs.next()) {
                let count = rest.iter().map(|(_, row)| row.count.unsigned_abs()).sum::<u64>();
                traced.by_input[input] += count;
            }
            traced.told.push(Told {
                source: only,
                rows: None,
                late: rest,
            });
        }
    }
}

impl<'a> Dropped<'a> {
    fn leads_to(&self, input: usize) -> bool {
        self.paths.iter().any(|path| path.input == input)
    }

    fn misses(&self, input: usize) -> bool {
        self.leads_to(input) && self.alike.values().any(|alike| alike.missing > 0)
    }

    /// Finds rows that were dropped here among `candidates`.
    fn find(
        &mut self,
        search: &Search<'a>,
        index: usize,
        input: &QueryInput,
        candidates: &ChangeBatch,
        traced: &mut Traced,
    ) -> Result<()> {
        let source = search
            .sources
            .iter()
            .position(|source| source.object == input.object);
        let names: Vec<(String, usize)> = self.operators();
        for path in self.paths.iter().filter(|path| path.input == index) {
            let Some(seen) = search.seen(path, input, candidates.rows())? else {
                continue;
            };
            let last = seen.num_columns() - 1;
            let numbers = seen.column(last).as_primitive::<UInt32Type>().values();
            let looks = seen.project(&(0..last).collect::<Vec<_>>())?;
            let (mut positions, mut late) = (Vec::new(), Vec::new());
            for (row, number) in numbers.iter().enumerate() {
                let json = row_as_json(&looks, row);
                for (operator, port) in &names {
                    let Some(alike) = self.alike.get_mut(&key(operator, *port, &json)) else {
                        continue;
                    };
                    let weight = candidates.weight(*number as usize).unsigned_abs();
                    let count = alike.missing.min(i64::try_from(weight).unwrap_or(i64::MAX));
                    if count > 0 {
                        alike.missing -= count;
                        positions.push(*number);
                        let row = LateRow {
                            count,
                            ..alike.sample.clone()
                        };
                        late.push((alike.operator.clone(), row));
                    }
                }
            }
            if late.is_empty() {
                continue;
            }
            traced.by_input[index] += late.iter().map(|(_, row)| row.count.unsigned_abs()).sum::<u64>();
            let rows = take_record_batch(candidates.rows(), &UInt32Array::from(positions))?;
            traced.told.push(Told {
                source,
                rows: Some(widened(&rows, input)?),
                late,
            });
        }
        Ok(())
    }

    /// The operators, with the port, that dropped rows of this node.
    fn operators(&self) -> Vec<(String, usize)> {
        let mut names: Vec<(String, usize)> = { self.alike.values() }
            .map(|alike| (alike.operator.clone(), alike.sample.port))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn key(operator: &str, port: usize, row: &[u8]) -> Vec<u8> {
    [operator.as_bytes(), &[u8::try_from(port).unwrap_or(u8::MAX)], row].concat()
}

/// All columns of the input, NULL where they were not read.
fn widened(rows: &RecordBatch, input: &QueryInput) -> Result<RecordBatch> {
    let wide = Arc::new(Schema::new(nullable(&input.schema())));
    let columns = wide.fields().iter().enumerate().map(|(column, field)| {
        let position = input.projection.iter().position(|read| *read == column);
        match position {
            Some(position) => Arc::clone(rows.column(position)),
            None => new_null_array(field.data_type(), rows.num_rows()),
        }
    });
    Ok(RecordBatch::try_new(Arc::clone(&wide), columns.collect())?)
}

fn number() -> Field {
    Field::new("#", DataType::UInt32, false)
}

fn with_number(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone());
    Arc::new(Schema::new(fields.chain([number()]).collect::<Vec<Field>>()))
}

/// The same steps over rows with a number in a last column, which goes through.
fn numbered(spec: &MapSpec) -> MapSpec {
    let mut width = spec.input.fields().len();
    let steps = spec.steps.iter().map(|step| match step {
        MapStep::Filter(predicate) => MapStep::Filter(Arc::clone(predicate)),
        MapStep::Project(exprs, schema) => {
            let mut exprs = exprs.clone();
            exprs.push(Arc::new(Column::new("#", width)));
            width = schema.fields().len();
            MapStep::Project(exprs, with_number(schema))
        }
    });
    MapSpec {
        steps: steps.collect(),
        input: with_number(&spec.input),
        output: with_number(&spec.output),
        fail_on_error: false,
    }
}
