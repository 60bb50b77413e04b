//! What a single scenario shows better than a random run ([`super::model`]).

mod commit;
mod damage;
mod opening;
mod query;
mod relation;

use std::fs;

use arrow::array::{AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::change::ChangeBatch;
use crate::cut::Cut;
use crate::faulty::FaultyDisk;
use crate::layout::Part;
use crate::state::StoredState;
use crate::{layout, record};

const SIGNED: RelationOptions = RelationOptions { append_only: false };
const APPEND_ONLY: RelationOptions = RelationOptions { append_only: true };

fn rows_of(object: u64) -> RelationId {
    RelationId {
        object,
        part: Part::Rows,
    }
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("s", DataType::Utf8, true),
    ]))
}

fn batch(rows: &[(i64, &str)]) -> RecordBatch {
    let numbers = Int64Array::from_iter_values(rows.iter().map(|row| row.0));
    let texts = StringArray::from_iter_values(rows.iter().map(|row| row.1));
    RecordBatch::try_new(schema(), vec![Arc::new(numbers), Arc::new(texts)]).unwrap()
}

fn insert(rows: &[(i64, &str)]) -> ChangeBatch {
    ChangeBatch::insertions(batch(rows))
}

fn change(rows: &[(i64, &str)], weights: &[i64]) -> ChangeBatch {
    ChangeBatch::new(batch(rows), weights.to_vec().into())
}

/// Insertions too large to stand in the meta store.
fn large(number: i64) -> ChangeBatch {
    insert(&[(number, &"x".repeat(20_000))])
}

fn append(storage: &Storage, relation: &Arc<Relation>, cut: u64, changes: ChangeBatch) -> Result<()> {
    let mut tx = storage.transaction();
    tx.append(relation, Cut(cut), vec![changes])?;
    tx.commit()
}

fn numbers(relation: &Relation) -> Vec<i64> {
    let mut numbers = Vec::new();
    for batch in relation.snapshot().scan() {
        numbers.extend_from_slice(batch.unwrap().column(0).as_primitive::<Int64Type>().values());
    }
    numbers
}

fn sorted_numbers(relation: &Relation) -> Vec<i64> {
    let mut numbers = numbers(relation);
    numbers.sort_unstable();
    numbers
}

fn crash(disk: &FaultyDisk) -> FaultyDisk {
    disk.crash(&mut ChaCha8Rng::seed_from_u64(1))
}

fn place_of(error: Error) -> String {
    match error {
        Error::Corrupt { place, .. } => place,
        other => panic!("not corruption: {other}"),
    }
}
