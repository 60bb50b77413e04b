//! The public face at the sizes of a real run: unit tests shrink segments and files, these do not.

#![allow(clippy::unwrap_used, reason = "the helpers of a test fail with it")]

use std::path::Path;
use std::sync::Arc;

use arrow::array::{AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use millpond_storage::{ChangeBatch, Cut, Part, Relation, RelationId, RelationOptions, Storage};

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("key", DataType::Int64, false),
        Field::new("name", DataType::Utf8, false),
        Field::new("value", DataType::Int64, false),
    ]))
}

fn rows(keys: impl Iterator<Item = i64> + Clone, value: impl Fn(i64) -> i64) -> RecordBatch {
    let names = StringArray::from_iter_values(keys.clone().map(|key| format!("group number {key}")));
    let values = Int64Array::from_iter_values(keys.clone().map(value));
    let keys = Int64Array::from_iter_values(keys);
    RecordBatch::try_new(schema(), vec![Arc::new(keys), Arc::new(names), Arc::new(values)]).unwrap()
}

fn open(dir: &Path, append_only: bool) -> (Storage, Arc<Relation>) {
    let storage = Storage::open(dir).unwrap();
    let id = RelationId {
        object: 1,
        part: Part::Rows,
    };
    let relation = storage
        .relation(id, schema(), RelationOptions { append_only })
        .unwrap();
    (storage, relation)
}

fn commit(storage: &Storage, relation: &Arc<Relation>, cut: u64, changes: Vec<ChangeBatch>) {
    let mut tx = storage.transaction();
    tx.append(relation, Cut(cut), changes).unwrap();
    tx.commit().unwrap();
}

/// Count, and sum of the values.
fn totals(relation: &Relation) -> (u64, i64) {
    let snapshot = relation.snapshot();
    let sum = snapshot.scan().map(|batch| batch.unwrap()).fold(0, |sum, batch| {
        sum + batch
            .column(2)
            .as_primitive::<Int64Type>()
            .values()
            .iter()
            .sum::<i64>()
    });
    (snapshot.num_rows(), sum)
}

#[test]
fn a_large_append_only_relation_stays_on_disk() {
    const EPOCHS: i64 = 20;
    const ROWS: i64 = 20_000;
    let dir = tempfile::tempdir().unwrap();
    let (storage, relation) = open(dir.path(), true);
    for epoch in 0..EPOCHS {
        let keys = epoch * ROWS..(epoch + 1) * ROWS;
        commit(
            &storage,
            &relation,
            epoch as u64 + 1,
            vec![ChangeBatch::insertions(rows(keys, |key| key))],
        );
    }
    let count = EPOCHS * ROWS;
    let expected = (count as u64, count * (count - 1) / 2);
    assert_eq!(relation.snapshot().memory_size(), 0);
    assert_eq!(totals(&relation), expected);
    relation.compact(Cut(EPOCHS as u64)).unwrap();
    assert!(relation.changes(Cut::ZERO, Cut(EPOCHS as u64)).unwrap().len() < EPOCHS as usize);
    assert_eq!(totals(&relation), expected);
    drop((storage, relation));
    let (_storage, relation) = open(dir.path(), true);
    assert_eq!(relation.snapshot().memory_size(), 0);
    assert_eq!(totals(&relation), expected);
}

#[test]
fn groups_that_are_updated_again_and_again_take_the_room_of_one_version() {
    const GROUPS: i64 = 100_000;
    const TOUCHED: i64 = 4_000;
    const EPOCHS: i64 = 30;
    let dir = tempfile::tempdir().unwrap();
    let (storage, relation) = open(dir.path(), false);
    commit(
        &storage,
        &relation,
        1,
        vec![ChangeBatch::insertions(rows(0..GROUPS, |_| 0))],
    );
    let mut values = vec![0; GROUPS as usize];
    for epoch in 1..=EPOCHS {
        // A stride spreads the touched groups over all segments.
        let keys = (0..TOUCHED).map(|i| (i * 7919 + epoch * 104_729) % GROUPS);
        let old = rows(keys.clone(), |key| values[key as usize]);
        let new = rows(keys.clone(), |key| values[key as usize] + epoch);
        keys.for_each(|key| values[key as usize] += epoch);
        let cut = epoch as u64 + 1;
        commit(
            &storage,
            &relation,
            cut,
            vec![ChangeBatch::insertions(new), ChangeBatch::retractions(old)],
        );
        relation.retain_versions(Cut(cut));
        relation.compact(Cut(cut)).unwrap();
    }
    let expected = (GROUPS as u64, values.iter().sum());
    assert_eq!(totals(&relation), expected);
    let one_version = rows(0..GROUPS, |_| 0).get_array_memory_size();
    assert!(
        relation.snapshot().memory_size() < 3 * one_version,
        "{}",
        relation.snapshot().memory_size()
    );
    drop((storage, relation));
    let (_storage, relation) = open(dir.path(), false);
    assert_eq!(totals(&relation), expected);
}
