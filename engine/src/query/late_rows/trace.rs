//! From a late row, as the operator that dropped it saw it, back to the row of the source with all its columns.
//!
//! Whether a row is late follows from what the operator sees of it and from the state at the begin of the epoch, so of
//! equal rows either all or none are dropped. The workers keep what is older than the watermark; in an epoch that dropped
//! some, that takes the same path of filters, projections and lists as it did there, and what then looks like a dropped
//! row is one. A replay, which reads the same rows, finds the same.
//!
//! What operators like joins do with rows is not done again: [`path`] tells which columns come through them, and
//! [`behind`] what these say about the row.

mod behind;
mod looks;
mod path;

use arrow::array::{AsArray, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::UInt32Type;
use hashbrown::HashMap;
use millpond_storage::ChangeBatch;

use super::{LateSource, Told};
use crate::bound::Watermark;
use crate::dataflow::Dataflow;
use crate::error::{Error, Result};
use crate::operator::LateRow;
use crate::query::record::BatchRecord;
use crate::query::step::{self, QueryInput, ReadFrom};
use crate::runtime::{InputReader, OldBatch, OldRows, older_than};
use crate::source::{Place, SourceError};

use looks::Looks;
use path::Path;

/// What is needed to look for the rows of an epoch.
pub(crate) struct Search<'a> {
    pub(crate) dataflow: &'a Dataflow,
    pub(crate) inputs: &'a [QueryInput],
    pub(crate) sources: &'a [LateSource],
    pub(crate) record: &'a BatchRecord,
    /// Of each node.
    pub(crate) watermarks: &'a [[Watermark; 2]],
    /// How many came in by each input.
    pub(crate) rows: &'a [u64],
}

/// Late rows with their sources, and how many came from each input.
#[derive(Debug, Default)]
pub(crate) struct Traced {
    pub(crate) told: Vec<Told>,
    pub(crate) by_input: Vec<u64>,
}

/// Dropped rows of one operator that look alike.
struct Alike {
    operator: String,
    sample: LateRow,
    missing: i64,
}

/// What was dropped of the rows of a node.
struct Dropped<'a> {
    paths: Vec<Path<'a>>,
    looks: Looks,
    alike: HashMap<Vec<u8>, Vec<Alike>>,
}

impl<'a> Search<'a> {
    /// `old`: by input, what the workers kept.
    pub(crate) fn trace(&self, late: &[(String, LateRow)], old: &[OldRows]) -> Result<Traced> {
        let mut traced = Traced {
            told: Vec::new(),
            by_input: vec![0; self.inputs.len()],
        };
        if late.is_empty() {
            return Ok(traced);
        }
        let mut dropped = self.dropped(late)?;
        for (index, old) in old.iter().enumerate() {
            if !dropped.iter().any(|node| node.leads_to(index)) {
                continue;
            }
            let times = self.dataflow.inputs[index].event_time.is_some();
            if times && !old.incomplete {
                self.find(index, &old.batches, &mut dropped, &mut traced)?;
            } else {
                self.read_and_find(index, &mut dropped, &mut traced)?;
            }
        }
        self.tell_rest(dropped, &mut traced);
        Ok(traced)
    }

    fn dropped(&self, late: &[(String, LateRow)]) -> Result<Vec<Dropped<'a>>> {
        let mut dropped: Vec<(usize, Dropped<'a>)> = Vec::new();
        for (operator, row) in late {
            let Some(node) = self.dataflow.nodes.iter().position(|node| node.name == *operator) else {
                continue;
            };
            let ports = &self.dataflow.nodes[node].edges;
            let from = ports.get(row.port).map_or(node, |edge| edge.from.0);
            let index = match dropped.iter().position(|(of, _)| *of == from) {
                Some(index) => index,
                None => {
                    let paths = path::to_operator(self.dataflow, (node, row.port), self.rows);
                    let looks = Looks::new(&self.dataflow.nodes[from].schema)?;
                    let alike = HashMap::new();
                    dropped.push((from, Dropped { paths, looks, alike }));
                    dropped.len() - 1
                }
            };
            let (_, dropped) = &mut dropped[index];
            let key = dropped.looks.of_shared(&row.rows, row.row)?;
            let alike = dropped.alike.entry(key).or_default();
            // Two operators may read one node.
            let known = alike
                .iter_mut()
                .find(|alike| alike.operator == *operator && alike.sample.port == row.port);
            match known {
                Some(known) => known.missing += row.count,
                None => alike.push(Alike {
                    operator: operator.clone(),
                    sample: row.clone(),
                    missing: row.count,
                }),
            }
        }
        Ok(dropped.into_iter().map(|(_, dropped)| dropped).collect())
    }

    fn find(
        &self,
        index: usize,
        old: &[OldBatch],
        dropped: &mut [Dropped<'a>],
        traced: &mut Traced,
    ) -> Result<()> {
        for node in dropped.iter_mut() {
            for batch in old {
                node.find(self, index, batch, traced)?;
            }
            node.find_behind(self, index, old, traced)?;
        }
        Ok(())
    }

    /// Reads the range of an input once more.
    fn read_and_find(&self, index: usize, dropped: &mut [Dropped<'a>], traced: &mut Traced) -> Result<()> {
        let input = &self.inputs[index];
        let all: Vec<usize> = (0..input.schema().fields().len()).collect();
        let narrower = input.projection.len() < all.len();
        match self.read(index, all) {
            // A row of which a column that the query does not read cannot be decoded.
            Err(Error::Source(SourceError::Failed { .. })) if narrower => {}
            old => self.find(index, &old?, dropped, traced)?,
        }
        let decodes = matches!(input.from, ReadFrom::Source(_));
        if decodes && narrower && dropped.iter().any(|node| node.misses(index)) {
            let old = self.read(index, input.projection.clone())?;
            self.find(index, &old, dropped, traced)?;
        }
        Ok(())
    }

    /// The columns in `projection` of rows of an input that can be late at all.
    fn read(&self, index: usize, projection: Vec<usize>) -> Result<Vec<OldBatch>> {
        let input = QueryInput {
            projection,
            ..self.inputs[index].clone()
        };
        let range = std::slice::from_ref(&self.record.ranges[index]);
        let queues = step::open(std::slice::from_ref(&input), range, 1)?;
        let queue = queues.first().expect("one per input");
        let (mut reader, mut old) = (InputReader::default(), Vec::new());
        while let Some(batch) = reader.next(queue)? {
            let rows = self.candidates(index, &input, &batch.changes)?;
            if !rows.is_empty() {
                old.extend(reader.old_batch(queue, &batch, &rows, true)?);
            }
        }
        Ok(old)
    }

    fn candidates(&self, index: usize, input: &QueryInput, changes: &ChangeBatch) -> Result<Vec<usize>> {
        let Some(event_time) = &self.dataflow.inputs[index].event_time else {
            return Ok((0..changes.num_rows()).collect());
        };
        let Some(watermark) = self.record.context.watermarks[index] else {
            return Ok(Vec::new());
        };
        let column = self.inputs[index].projection[event_time.column];
        let position = input.projection.iter().position(|read| *read == column);
        older_than(changes, position.expect("the event time is read"), watermark)
    }

    /// What was not found is kept as the operator saw it.
    fn tell_rest(&self, dropped: Vec<Dropped<'a>>, traced: &mut Traced) {
        let only = (self.sources.len() == 1).then_some(0);
        for node in dropped {
            let rest: Vec<(String, LateRow)> = { node.alike.into_values().flatten() }
                .filter(|alike| alike.missing > 0)
                .map(|alike| alike.told(alike.missing))
                .collect();
            if rest.is_empty() {
                continue;
            }
            let timed = |index: &usize| self.dataflow.inputs[*index].is_timed();
            let mut inputs = (0..self.inputs.len()).filter(timed);
            if let (Some(input), None) = (inputs.next(), inputs.next()) {
                traced.by_input[input] += rows_of(&rest);
            }
            traced.told.push(Told {
                source: only,
                rows: None,
                places: None,
                late: rest,
            });
        }
    }

    /// Rows of `input` were dropped: those at `positions` of what is old.
    fn tell(
        &self,
        index: usize,
        old: &OldBatch,
        positions: &[u32],
        late: Vec<(String, LateRow)>,
        traced: &mut Traced,
    ) -> Result<()> {
        traced.by_input[index] += rows_of(&late);
        let taken = UInt32Array::from_iter_values(positions.iter().copied());
        let places = old.places.as_ref().map(|places| {
            let places = positions.iter().map(|row| places[*row as usize].clone());
            places.collect::<Vec<Place>>()
        });
        traced.told.push(Told {
            source: self.source_of(index),
            rows: Some(take_record_batch(old.changes.rows(), &taken)?),
            places,
            late,
        });
        Ok(())
    }

    fn source_of(&self, index: usize) -> Option<usize> {
        let object = self.inputs[index].object;
        self.sources.iter().position(|source| source.object == object)
    }
}

impl Alike {
    fn told(&self, count: i64) -> (String, LateRow) {
        let row = LateRow {
            count,
            ..self.sample.clone()
        };
        (self.operator.clone(), row)
    }

    /// Takes up to `weight` of what is missing.
    fn take(&mut self, weight: i64) -> Option<(String, LateRow)> {
        let count = self.missing.min(weight.saturating_abs());
        self.missing -= count;
        (count > 0).then(|| self.told(count))
    }
}

fn rows_of(late: &[(String, LateRow)]) -> u64 {
    late.iter().map(|(_, row)| row.count.unsigned_abs()).sum()
}

impl<'a> Dropped<'a> {
    fn leads_to(&self, input: usize) -> bool {
        self.paths.iter().any(|path| path.input == input)
    }

    fn misses(&self, input: usize) -> bool {
        self.leads_to(input) && self.alike.values().flatten().any(|alike| alike.missing > 0)
    }

    /// Finds rows that were dropped here among old ones, along paths on which they can be followed.
    fn find(&mut self, search: &Search<'a>, index: usize, old: &OldBatch, traced: &mut Traced) -> Result<()> {
        let paths = self.paths.iter().filter(|path| path.input == index);
        for path in paths.filter(|path| path.behind.is_none()) {
            let Some(seen) = path.follow(search, old.changes.rows())? else {
                continue;
            };
            let last = seen.num_columns() - 1;
            let numbers = seen.column(last).as_primitive::<UInt32Type>().values();
            let looks = self.looks.of_all(&without_last(&seen)?)?;
            let (mut positions, mut late) = (Vec::new(), Vec::new());
            for (number, look) in numbers.iter().zip(looks) {
                for alike in self.alike.get_mut(&look).into_iter().flatten() {
                    if let Some(told) = alike.take(old.changes.weight(*number as usize)) {
                        positions.push(*number);
                        late.push(told);
                    }
                }
            }
            if !late.is_empty() {
                search.tell(index, old, &positions, late, traced)?;
            }
        }
        Ok(())
    }
}

fn without_last(rows: &RecordBatch) -> Result<RecordBatch> {
    let columns: Vec<usize> = (0..rows.num_columns() - 1).collect();
    Ok(rows.project(&columns)?)
}
