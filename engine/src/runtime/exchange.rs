//! Change batches on the way between workers: the container timely moves, and the distributor that splits it by key.
//!
//! Invariant: splitting keeps the number of rows, which is what timely's progress tracking counts.

use std::cell::RefCell;
use std::io::{Cursor, Write};
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take_arrays;
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use millpond_storage::ChangeBatch;
use timely::Accountable;
use timely::bytes::arc::Bytes;
use timely::communication::Push;
use timely::dataflow::channels::pushers::exchange::Distributor;
use timely::dataflow::channels::{ContainerBytes, Message, Stamp};

use super::collect::Collector;
use crate::dataflow::Distribution;
use crate::error::Result;
use crate::hash::{hash_rows, worker_of};

/// What one message carries. No batch in it is empty.
#[derive(Debug, Clone, Default)]
pub(super) struct Batches(pub(super) Vec<ChangeBatch>);

impl Accountable for Batches {
    fn record_count(&self) -> i64 {
        let rows: usize = self.0.iter().map(ChangeBatch::num_rows).sum();
        i64::try_from(rows).expect("fewer rows in memory than 2^63")
    }
}

/// Splits batches by row hash, or sends them all to worker 0.
pub(super) struct Router {
    distribution: Distribution,
    collector: Rc<RefCell<Collector>>,
}

impl Router {
    pub(super) fn new(distribution: Distribution, collector: Rc<RefCell<Collector>>) -> Self {
        Self {
            distribution,
            collector,
        }
    }
}

impl Distributor<Batches> for Router {
    fn partition<T: Clone, P: Push<Message<T, Batches>>>(
        &mut self,
        container: &mut Batches,
        stamp: &Stamp<T>,
        pushers: &mut [P],
    ) {
        let mut outgoing: Vec<Batches> = vec![Batches::default(); pushers.len()];
        for batch in container.0.drain(..) {
            match split(batch, &self.distribution, pushers.len()) {
                Ok(parts) => {
                    for (worker, part) in parts {
                        outgoing[worker].0.push(part);
                    }
                }
                Err(error) => self.collector.borrow_mut().fail(error),
            }
        }
        for (batches, pusher) in outgoing.iter_mut().zip(pushers) {
            if !batches.0.is_empty() {
                Message::push_at(batches, stamp.clone(), pusher);
            }
        }
    }

    fn flush<T: Clone, P: Push<Message<T, Batches>>>(&mut self, _stamp: &Stamp<T>, _pushers: &mut [P]) {}
}

/// The parts of `batch` with the worker that each belongs to. Parts are not empty, workers ascend.
pub(super) fn split(
    batch: ChangeBatch,
    distribution: &Distribution,
    workers: usize,
) -> Result<Vec<(usize, ChangeBatch)>> {
    let columns = match distribution {
        Distribution::Hash(columns) if workers > 1 => columns,
        Distribution::Hash(_) | Distribution::Single | Distribution::Local => return Ok(vec![(0, batch)]),
    };
    let keys: Vec<ArrayRef> = columns
        .iter()
        .map(|column| Arc::clone(batch.rows().column(*column)))
        .collect();
    let mut hashes = Vec::new();
    hash_rows(&keys, batch.num_rows(), &mut hashes)?;
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); workers];
    for (row, hash) in hashes.iter().enumerate() {
        rows[worker_of(*hash, workers)]
            .push(u32::try_from(row).expect("batches are bounded far below 2^32 rows"));
    }
    if let Some(worker) = rows.iter().position(|rows| rows.len() == batch.num_rows()) {
        return Ok(vec![(worker, batch)]);
    }
    let mut parts = Vec::with_capacity(workers);
    for (worker, rows) in rows.into_iter().enumerate() {
        if !rows.is_empty() {
            parts.push((worker, take(&batch, &UInt32Array::from(rows))?));
        }
    }
    Ok(parts)
}

fn take(batch: &ChangeBatch, rows: &UInt32Array) -> Result<ChangeBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows.values().len()));
    let columns = take_arrays(batch.rows().columns(), rows, None)?;
    let taken = RecordBatch::try_new_with_options(batch.schema(), columns, &options)?;
    Ok(match batch.weights() {
        None => ChangeBatch::insertions(taken),
        Some(weights) => {
            let weights = arrow::compute::take(weights, rows, None)?;
            ChangeBatch::new(taken, weights.as_primitive::<Int64Type>().clone())
        }
    })
}

/// For workers in other processes: each batch as an Arrow stream behind its length, the weights as one more column.
impl ContainerBytes for Batches {
    fn from_bytes(bytes: Bytes) -> Self {
        let mut rest = &bytes[..];
        let mut batches = Vec::new();
        while let Some((length, tail)) = rest.split_first_chunk::<8>() {
            let length = usize::try_from(u64::from_le_bytes(*length))
                .expect("a length that fitted the sender's memory");
            if length == 0 {
                break;
            }
            let (stream, tail) = tail.split_at(length);
            batches.push(decode(stream).expect("a peer of the same build wrote it"));
            rest = tail;
        }
        Batches(batches)
    }

    fn length_in_bytes(&self) -> usize {
        encode(self).len()
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        writer
            .write_all(&encode(self))
            .expect("timely hands out memory of the length it asked for");
    }
}

const WEIGHT: &str = "__weight";

fn encode(batches: &Batches) -> Vec<u8> {
    let mut bytes = Vec::new();
    for batch in &batches.0 {
        let stream = encode_batch(batch).expect("writing to memory");
        bytes.extend_from_slice(&(stream.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&stream);
    }
    bytes.extend_from_slice(&0u64.to_le_bytes());
    // Timely keeps everything on 8-byte boundaries.
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

fn encode_batch(batch: &ChangeBatch) -> Result<Vec<u8>> {
    let mut fields: Vec<_> = batch.schema().fields().iter().cloned().collect();
    let mut columns = batch.rows().columns().to_vec();
    let weights = match batch.weights() {
        Some(weights) => weights.clone(),
        None => Int64Array::from(vec![1; batch.num_rows()]),
    };
    fields.push(Arc::new(Field::new(WEIGHT, DataType::Int64, false)));
    columns.push(Arc::new(weights));
    let schema = Arc::new(Schema::new_with_metadata(
        fields,
        batch.schema().metadata().clone(),
    ));
    let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
    writer.write(&RecordBatch::try_new(schema, columns)?)?;
    Ok(writer.into_inner()?)
}

fn decode(stream: &[u8]) -> Result<ChangeBatch> {
    let mut reader = StreamReader::try_new(Cursor::new(stream), None)?;
    let batch = reader.next().transpose()?.expect("one batch per stream");
    let weights = batch
        .column(batch.num_columns() - 1)
        .as_primitive::<Int64Type>()
        .clone();
    let rows = batch.project(&(0..batch.num_columns() - 1).collect::<Vec<_>>())?;
    Ok(if weights.values().iter().all(|weight| *weight == 1) {
        ChangeBatch::insertions(rows)
    } else {
        ChangeBatch::new(rows, weights)
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::StringArray;
    use timely::bytes::arc::BytesMut;

    use super::*;

    fn batch(keys: std::ops::Range<i64>) -> ChangeBatch {
        let texts: StringArray = keys
            .clone()
            .map(|key| (key % 3 != 0).then(|| format!("key {key}")))
            .collect();
        let weights: Int64Array = keys
            .clone()
            .map(|key| Some(if key % 2 == 0 { 1 } else { -2 }))
            .collect();
        let keys: Int64Array = keys.map(Some).collect();
        let rows = RecordBatch::try_from_iter_with_nullable([
            ("k", Arc::new(keys) as ArrayRef, false),
            ("t", Arc::new(texts) as ArrayRef, true),
        ]);
        ChangeBatch::new(rows.unwrap(), weights)
    }

    #[test]
    fn every_row_goes_to_the_worker_of_its_key() {
        let whole = batch(0..1000);
        let by_key = |batch: ChangeBatch| {
            let mut homes = hashbrown::HashMap::new();
            for (worker, part) in split(batch, &Distribution::Hash(vec![1]), 3).unwrap() {
                for row in 0..part.num_rows() {
                    let key = part.rows().column(0).as_primitive::<Int64Type>().value(row);
                    assert_eq!(homes.insert(key, (worker, part.weight(row))), None);
                }
            }
            homes
        };
        let homes = by_key(whole.clone());
        assert_eq!(homes.len(), 1000);
        assert!(
            homes
                .iter()
                .all(|(key, (_, weight))| *weight == if key % 2 == 0 { 1 } else { -2 })
        );
        // The home of a key does not depend on the batch it comes in.
        assert_eq!(
            by_key(whole.slice(500, 10))
                .into_iter()
                .filter(|(k, home)| homes[k] != *home)
                .count(),
            0
        );
    }

    #[test]
    fn batches_survive_the_way_to_another_process() {
        let sent = Batches(vec![
            batch(0..10),
            ChangeBatch::insertions(batch(3..7).rows().clone()),
        ]);
        let mut written = Vec::new();
        sent.into_bytes(&mut written);
        assert_eq!(written.len(), sent.length_in_bytes());
        let received = Batches::from_bytes(BytesMut::from(written).freeze());
        assert_eq!(received.0, sent.0);
    }
}
