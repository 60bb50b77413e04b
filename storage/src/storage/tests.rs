//! What a single scenario shows better than a random run ([`super::model`]).

use arrow::array::{AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use std::fs;

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

#[test]
fn a_real_directory_is_locked_and_keeps_what_was_committed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    {
        let storage = Storage::open(&path).unwrap();
        match Storage::open(&path) {
            Err(Error::Locked { pid, .. }) => assert_eq!(pid, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
        let relation = storage.relation(rows_of(1), schema(), SIGNED).unwrap();
        append(&storage, &relation, 1, insert(&[(1, "a"), (2, "b")])).unwrap();
        append(&storage, &relation, 2, large(3)).unwrap();
        append(&storage, &relation, 3, change(&[(1, "a")], &[-1])).unwrap();
    }
    let storage = Storage::open(&path).unwrap();
    let relation = storage.relation(rows_of(1), schema(), SIGNED).unwrap();
    assert_eq!(sorted_numbers(&relation), [2, 3]);
    assert_eq!(relation.last_cut(), Cut(3));
    drop(storage);
    assert!(
        matches!(Storage::open(&path), Err(Error::Locked { .. })),
        "the relation still holds it open"
    );
    drop(relation);
    Storage::open(&path).unwrap();
}

#[test]
fn a_directory_that_lost_its_meta_store_is_not_taken_for_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    drop(Storage::open(dir.path()).unwrap());
    fs::remove_dir_all(dir.path().join(layout::META_FOLDER)).unwrap();
    assert!(matches!(Storage::open(dir.path()), Err(Error::Corrupt { .. })));

    // The same without the file that says so, told by the data files.
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), SIGNED).unwrap();
    append(&storage, &relation, 1, large(1)).unwrap();
    disk.lose_meta_store();
    assert!(matches!(disk.open(), Err(Error::Corrupt { .. })));
}

#[test]
fn a_newer_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(Storage::open(dir.path()).unwrap());
    fs::write(dir.path().join(layout::FORMAT_FILE), "millpond 2\n").unwrap();
    let error = Storage::open(dir.path()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::NewerFormat {
                found: 2,
                supported: 1
            }
        ),
        "{error}"
    );

    let disk = FaultyDisk::default();
    drop(disk.open().unwrap());
    let key = layout::format_key();
    disk.damage_value(&key, |value| *value = record::seal(&key, &7u32.to_le_bytes()));
    assert!(matches!(disk.open(), Err(Error::NewerFormat { found: 7, .. })));
}

#[test]
fn a_small_transaction_costs_one_sync_and_no_file() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), SIGNED).unwrap();
    let before = disk.syncs();
    let mut tx = storage.transaction();
    tx.append(&relation, Cut(1), vec![insert(&[(1, "a")])]).unwrap();
    tx.add_state(1, "sum", 0, vec![(0, insert(&[(1, "a")]))]).unwrap();
    tx.put_commit(1, 0, b"done".to_vec());
    tx.commit().unwrap();
    assert_eq!(disk.syncs() - before, 1);
    assert_eq!(disk.file_names(), Vec::<String>::new());
}

#[test]
fn a_full_disk_fails_the_transaction_and_no_more() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), SIGNED).unwrap();
    append(&storage, &relation, 1, insert(&[(1, "a")])).unwrap();
    disk.fill_up_after(Some(1));
    match append(&storage, &relation, 2, large(2)) {
        Err(Error::Io {
            path,
            action: "write",
            ..
        }) => assert!(path.starts_with("relations/1-rows")),
        other => panic!("{other:?}"),
    }
    assert_eq!(numbers(&relation), [1]);
    assert_eq!(
        disk.file_names(),
        Vec::<String>::new(),
        "nothing is left of the attempt"
    );
    disk.fill_up_after(None);
    append(&storage, &relation, 2, large(3)).unwrap();
    assert_eq!(sorted_numbers(&relation), [1, 3]);
}

#[test]
fn after_a_failed_sync_nothing_is_written_any_more() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), SIGNED).unwrap();
    append(&storage, &relation, 1, insert(&[(1, "a")])).unwrap();
    // The batch is applied, its sync fails.
    disk.fill_up_after(Some(1));
    let first = append(&storage, &relation, 2, insert(&[(2, "b")])).unwrap_err();
    assert!(matches!(first, Error::Io { action: "sync", .. }), "{first}");
    disk.fill_up_after(None);
    for error in [
        append(&storage, &relation, 3, insert(&[(3, "c")])).unwrap_err(),
        storage.put_batch(1, 0, vec![]).unwrap_err(),
        storage.notes(1).put(vec![("a".to_string(), vec![])]).unwrap_err(),
        storage.failure().unwrap(),
    ] {
        match error {
            Error::Poisoned { reason } => assert_eq!(reason, first.to_string()),
            other => panic!("{other}"),
        }
    }
    assert_eq!(numbers(&relation), [1], "what was committed can still be read");
}

#[test]
fn damaged_files_are_named() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), SIGNED).unwrap();
    append(&storage, &relation, 1, large(1)).unwrap();
    drop((storage, relation));
    let name = disk.file_names().pop().unwrap();
    type Damage = fn(&mut Vec<u8>) -> Option<()>;
    let damages: [Damage; 3] = [
        |content| {
            content[5000] ^= 1;
            Some(())
        },
        |content| {
            content.pop();
            Some(())
        },
        |_| None,
    ];
    for damage in damages {
        let damaged = crash(&disk);
        damaged.damage_file(&name, damage);
        let storage = damaged.open().unwrap();
        let error = storage.relation(rows_of(1), schema(), SIGNED).unwrap_err();
        assert_eq!(place_of(error), format!("file {name}"));
        let other = storage.relation(rows_of(2), schema(), SIGNED).unwrap();
        append(&storage, &other, 1, insert(&[(1, "a")])).unwrap();
    }
}

#[test]
fn a_damaged_lazy_file_is_found_when_it_is_scanned() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), APPEND_ONLY).unwrap();
    append(&storage, &relation, 1, large(1)).unwrap();
    let name = disk.file_names().pop().unwrap();
    disk.damage_file(&name, |content| {
        content[9000] ^= 1;
        Some(())
    });
    let mut scan = relation.snapshot().scan();
    assert_eq!(
        place_of(scan.next().unwrap().unwrap_err()),
        format!("file {name}")
    );
    assert!(scan.next().is_none());
}

#[test]
fn damaged_records_are_named_and_files_kept() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), SIGNED).unwrap();
    append(&storage, &relation, 1, large(1)).unwrap();
    drop((storage, relation));
    let key = disk.keys(b'l').pop().unwrap();
    disk.damage_value(&key, |value| *value.last_mut().unwrap() ^= 1);
    let storage = disk.open().unwrap();
    let error = storage.relation(rows_of(1), schema(), SIGNED).unwrap_err();
    assert!(place_of(error).contains("in the log of relation 1-rows"));
    assert_eq!(disk.file_names().len(), 1, "the record may name it");

    // Dropping the object gets rid of the damage.
    let mut tx = storage.transaction();
    tx.delete_object(1);
    tx.commit().unwrap();
    drop(storage);
    disk.open().unwrap();
    assert_eq!(disk.file_names(), Vec::<String>::new());
}

#[test]
fn files_of_transactions_that_never_committed_are_removed() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), SIGNED).unwrap();
    append(&storage, &relation, 1, large(1)).unwrap();
    let mut tx = storage.transaction();
    tx.append(&relation, Cut(2), vec![large(2)]).unwrap();
    assert_eq!(disk.file_names().len(), 2);
    let crashed = crash(&disk);
    let reopened = crashed.open().unwrap();
    assert_eq!(crashed.file_names().len(), 1);
    assert_eq!(
        numbers(&reopened.relation(rows_of(1), schema(), SIGNED).unwrap()),
        [1]
    );
    drop(tx);
    assert_eq!(
        disk.file_names().len(),
        1,
        "a transaction that is dropped cleans up itself"
    );
}

#[test]
fn dropping_an_object_takes_everything_along() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let id = storage.next_object_id();
    let relation = storage.relation(rows_of(id), schema(), SIGNED).unwrap();
    let mut tx = storage.transaction();
    tx.put_object(
        id,
        ObjectRecord {
            sql: "CREATE".to_string(),
            attributes: serde_json::json!({"paused": true}),
        },
    );
    tx.append(&relation, Cut(1), vec![large(1)]).unwrap();
    tx.add_state(id, "sum", 0, vec![(0, large(2))]).unwrap();
    tx.put_commit(id, 0, vec![1]);
    tx.put_note(id, "seen", vec![2]);
    tx.commit().unwrap();
    assert_eq!(storage.objects().unwrap()[0].1.attributes["paused"], true);

    let held = relation.snapshot();
    let mut tx = storage.transaction();
    tx.delete_object(id);
    tx.commit().unwrap();
    assert!(matches!(
        append(&storage, &relation, 2, insert(&[(1, "a")])),
        Err(Error::Dropped { .. })
    ));
    assert_eq!(relation.snapshot().num_rows(), 0);
    assert_eq!(held.num_rows(), 1, "who holds a snapshot keeps it");
    assert_eq!(storage.objects().unwrap(), []);
    assert_eq!(storage.query_log(id).unwrap(), QueryLog::default());
    assert_eq!(storage.state(id).unwrap().count(), 0);
    assert_eq!(storage.state_size(id, "sum"), StateSize::default());
    assert_eq!(storage.notes(id).scan("").unwrap(), []);
    drop(relation);
    assert_eq!(disk.file_names(), Vec::<String>::new());

    let reopened = crash(&disk).open().unwrap();
    assert!(reopened.next_object_id() > id, "an id is never used again");
}

#[test]
fn cuts_never_decrease_and_rows_must_fit() {
    let storage = FaultyDisk::default().open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), APPEND_ONLY).unwrap();
    append(&storage, &relation, 5, insert(&[(1, "a")])).unwrap();
    append(&storage, &relation, 5, insert(&[(2, "b")])).unwrap();
    for (cut, changes) in [(4, insert(&[(3, "c")])), (6, change(&[(1, "a")], &[-1]))] {
        assert!(matches!(
            append(&storage, &relation, cut, changes),
            Err(Error::Invalid(_))
        ));
    }
    let other = RecordBatch::try_from_iter([("n", Arc::new(StringArray::from(vec!["a"])) as _)]).unwrap();
    assert!(append(&storage, &relation, 7, ChangeBatch::insertions(other)).is_err());
    assert!(storage.relation(rows_of(1), schema(), SIGNED).is_err());
    assert_eq!(numbers(&relation), [1, 2]);
    assert_eq!(relation.snapshot_at(Cut(4)).unwrap().num_rows(), 0);
    assert_eq!(relation.snapshot_at(Cut(5)).unwrap().num_rows(), 2);
}

#[test]
fn a_retraction_may_come_before_its_row() {
    let storage = FaultyDisk::default().open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), SIGNED).unwrap();
    append(&storage, &relation, 1, change(&[(1, "a"), (2, "b")], &[-2, 3])).unwrap();
    assert_eq!(sorted_numbers(&relation), [2, 2, 2]);
    append(&storage, &relation, 2, insert(&[(1, "a"), (1, "a"), (1, "a")])).unwrap();
    assert_eq!(sorted_numbers(&relation), [1, 2, 2, 2]);
    append(&storage, &relation, 3, change(&[(2, "b")], &[-1])).unwrap();
    assert_eq!(sorted_numbers(&relation), [1, 2, 2]);
    assert_eq!(relation.snapshot_at(Cut(1)).unwrap().num_rows(), 3);
}

#[test]
fn the_query_log_says_where_a_query_stands() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    storage.put_batch(3, 0, b"range 0".to_vec()).unwrap();
    let storage = crash(&disk).open().unwrap();
    let log = storage.query_log(3).unwrap();
    assert_eq!(
        log,
        QueryLog {
            last_commit: None,
            open_batch: Some((0, b"range 0".to_vec()))
        }
    );
    storage.put_batch(3, 0, b"range 0".to_vec()).unwrap();
    assert!(
        storage.put_batch(3, 0, b"another".to_vec()).is_err(),
        "an epoch has one range for ever"
    );

    for epoch in 0..4 {
        storage
            .put_batch(3, epoch, if epoch == 0 { b"range 0".to_vec() } else { vec![] })
            .unwrap();
        let mut tx = storage.transaction();
        tx.put_commit(3, epoch, vec![epoch as u8]);
        tx.commit().unwrap();
    }
    assert_eq!(
        storage.query_log(3).unwrap(),
        QueryLog {
            last_commit: Some((3, vec![3])),
            open_batch: None
        }
    );
    storage.prune_query_log(3, 2).unwrap();
    let epochs = |records: Records| records.into_iter().map(|(epoch, _)| epoch).collect::<Vec<_>>();
    assert_eq!(epochs(storage.commits(3, 0).unwrap()), [2, 3]);
    assert_eq!(epochs(storage.batches(3, 3).unwrap()), [3]);
    storage.prune_query_log(3, 100).unwrap();
    assert_eq!(storage.query_log(3).unwrap().last_commit, Some((3, vec![3])));
}

#[test]
fn a_batch_record_far_ahead_is_damage() {
    let storage = FaultyDisk::default().open().unwrap();
    storage.put_batch(3, 5, vec![]).unwrap();
    assert!(place_of(storage.query_log(3).unwrap_err()).contains("batch record 5 of query 3"));
}

#[test]
fn full_state_stands_for_all_before_it() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let write = |full: bool, epoch: u64, number: i64| {
        let mut tx = storage.transaction();
        let state = vec![
            (1, large(number)),
            (0, insert(&[(number, "small")])),
            (2, insert(&[])),
        ];
        match full {
            true => tx.replace_state(7, "join", epoch, state).unwrap(),
            false => tx.add_state(7, "join", epoch, state).unwrap(),
        }
        assert!(
            tx.add_state(7, "join", epoch, vec![]).is_err(),
            "once per transaction"
        );
        tx.commit().unwrap();
    };
    write(false, 0, 1);
    write(false, 1, 2);
    let size = storage.state_size(7, "join");
    assert!(size.base_bytes == 0 && size.delta_bytes > 40_000, "{size:?}");
    write(true, 2, 3);
    write(false, 3, 4);
    let ports = |storage: &Storage| {
        let state = storage.state(7).unwrap().collect::<Result<Vec<_>>>().unwrap();
        let number = |s: &StoredState| s.changes.rows().column(0).as_primitive::<Int64Type>().value(0);
        state.iter().map(|s| (s.port, number(s))).collect::<Vec<_>>()
    };
    assert_eq!(ports(&storage), [(1, 3), (0, 3), (1, 4), (0, 4)]);
    assert_eq!(disk.file_names().len(), 2, "files of replaced state are gone");
    let size = storage.state_size(7, "join");
    let reopened = crash(&disk).open().unwrap();
    assert_eq!(ports(&reopened), [(1, 3), (0, 3), (1, 4), (0, 4)]);
    assert_eq!(reopened.state_size(7, "join"), size);
}

#[test]
fn notes_are_durable_with_the_next_commit() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let notes = storage.notes(4);
    let named = |names: &[&str]| {
        names
            .iter()
            .map(|n| (n.to_string(), n.as_bytes().to_vec()))
            .collect::<Vec<_>>()
    };
    notes.put(named(&["file/b", "file/a", "start"])).unwrap();
    assert_eq!(notes.scan("file/").unwrap(), named(&["file/a", "file/b"]));
    notes
        .delete(vec!["start".to_string(), "nothing".to_string()])
        .unwrap();
    storage.put_batch(4, 0, vec![]).unwrap();
    let reopened = crash(&disk).open().unwrap();
    assert_eq!(reopened.notes(4).scan("").unwrap(), named(&["file/a", "file/b"]));
    assert_eq!(reopened.notes(4).get("file/b").unwrap(), Some(b"file/b".to_vec()));
    assert_eq!(reopened.notes(5).scan("").unwrap(), []);
}

#[test]
fn readers_that_freeze_see_whole_transactions() {
    let storage = FaultyDisk::default().open().unwrap();
    let relations = [1, 2].map(|id| storage.relation(rows_of(id), schema(), SIGNED).unwrap());
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for cut in 1..500 {
                let mut tx = storage.transaction();
                for relation in &relations {
                    tx.append(relation, Cut(cut), vec![insert(&[(cut as i64, "a")])])
                        .unwrap();
                }
                tx.commit().unwrap();
            }
        });
        let mut seen = 0;
        while !writer.is_finished() {
            let frozen = storage.freeze();
            let snapshots = relations.each_ref().map(|relation| relation.snapshot());
            drop(frozen);
            assert_eq!(snapshots[0].num_rows(), snapshots[1].num_rows());
            assert!(snapshots[0].num_rows() >= seen);
            seen = snapshots[0].num_rows();
        }
    });
    assert_eq!(relations[1].snapshot().num_rows(), 499);
}

#[test]
fn transactions_of_many_threads_share_syncs_and_all_happen() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    std::thread::scope(|scope| {
        for thread in 1..=8u64 {
            let storage = &storage;
            scope.spawn(move || {
                let relation = storage.relation(rows_of(thread), schema(), SIGNED).unwrap();
                for cut in 1..=50 {
                    append(storage, &relation, cut, insert(&[(cut as i64, "a")])).unwrap();
                    assert_eq!(relation.snapshot().num_rows(), cut, "visible when commit returns");
                }
            });
        }
    });
    let reopened = crash(&disk).open().unwrap();
    for thread in 1..=8 {
        let relation = reopened.relation(rows_of(thread), schema(), SIGNED).unwrap();
        assert_eq!(sorted_numbers(&relation), (1..=50).collect::<Vec<_>>());
    }
}

#[test]
fn a_failed_transaction_does_not_fail_its_group() {
    let storage = FaultyDisk::default().open().unwrap();
    std::thread::scope(|scope| {
        for thread in 1..=4u64 {
            let storage = &storage;
            scope.spawn(move || {
                let relation = storage.relation(rows_of(thread), schema(), SIGNED).unwrap();
                for round in 1..=50 {
                    append(storage, &relation, round + 1, insert(&[(1, "a")])).unwrap();
                    assert!(append(storage, &relation, round, insert(&[(2, "b")])).is_err());
                }
                assert_eq!(relation.snapshot().num_rows(), 50);
            });
        }
    });
}

#[test]
fn large_entries_of_append_only_relations_stay_on_disk() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), APPEND_ONLY).unwrap();
    for cut in 1..=3 {
        append(&storage, &relation, cut, large(cut as i64)).unwrap();
    }
    assert_eq!(relation.snapshot().memory_size(), 0);
    for cut in 4..=40 {
        append(
            &storage,
            &relation,
            cut,
            insert(&[(cut as i64, &"y".repeat(1000))]),
        )
        .unwrap();
    }
    let held = relation.snapshot();
    let (in_memory, expected) = (held.memory_size(), (1..=40).collect::<Vec<_>>());
    assert!(in_memory > 30_000);
    assert_eq!(numbers(&relation), expected, "in the order of insertion");

    relation.compact(Cut(40)).unwrap();
    assert!(
        relation.snapshot().memory_size() < in_memory / 4,
        "summed entries moved to files"
    );
    assert_eq!(numbers(&relation), expected);
    assert_eq!(
        held.scan().map(|batch| batch.unwrap().num_rows()).sum::<usize>(),
        40
    );
    append(&storage, &relation, 41, insert(&[(41, "z")])).unwrap();
    let reopened = crash(&disk).open().unwrap();
    let relation = reopened.relation(rows_of(1), schema(), APPEND_ONLY).unwrap();
    assert_eq!(numbers(&relation), (1..=41).collect::<Vec<_>>());
}

#[test]
fn who_reads_an_entry_keeps_its_file() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), SIGNED).unwrap();
    for cut in 1..=16 {
        append(
            &storage,
            &relation,
            cut,
            insert(&[(cut as i64, &"y".repeat(3000))]),
        )
        .unwrap();
    }
    let entries = relation.changes(Cut(0), Cut(1)).unwrap();
    relation.compact(Cut(16)).unwrap();
    assert!(relation.changes(Cut(0), Cut(1)).is_err(), "summed");
    assert_eq!(relation.summed_to(), Cut(16));
    assert_eq!(entries[0].read().unwrap()[0].num_rows(), 1);
    let files = disk.file_names().len();
    drop(entries);
    assert_eq!(disk.file_names().len(), files - 1);
}

#[test]
fn a_log_of_updates_stays_as_small_as_the_relation() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), SIGNED).unwrap();
    let text = |round: u64| format!("{round:0>800}");
    for round in 1..=400u64 {
        let (new, old) = (text(round), text(round - 1));
        let rows = (0..4)
            .flat_map(|n| [(n, new.as_str()), (n, old.as_str())])
            .collect::<Vec<_>>();
        let weights = [1, -1].repeat(4);
        let changes = if round == 1 {
            insert(&rows.iter().copied().step_by(2).collect::<Vec<_>>())
        } else {
            change(&rows, &weights)
        };
        append(&storage, &relation, round, changes).unwrap();
        relation.retain_versions(Cut(round));
        relation.compact(Cut(round)).unwrap();
    }
    assert_eq!(sorted_numbers(&relation), [0, 1, 2, 3]);
    let entries = relation.changes(Cut(0), Cut(400)).unwrap();
    let bytes = entries.iter().map(|entry| entry.bytes).sum::<u64>();
    assert!(bytes < 200_000, "{bytes} bytes in {} entries", entries.len());
    assert!(disk.file_names().len() < 30);
    let reopened = crash(&disk).open().unwrap();
    let relation = reopened.relation(rows_of(1), schema(), SIGNED).unwrap();
    assert_eq!(sorted_numbers(&relation), [0, 1, 2, 3]);
}

#[test]
fn thousands_of_small_epochs_scan_as_few_segments() {
    let storage = FaultyDisk::default().open().unwrap();
    for (object, options) in [(1, APPEND_ONLY), (2, SIGNED)] {
        let relation = storage.relation(rows_of(object), schema(), options).unwrap();
        for cut in 1..=3000 {
            append(&storage, &relation, cut, insert(&[(cut as i64, "a")])).unwrap();
        }
        // Full segments have 32 rows or more in tests.
        let batches = relation.snapshot().scan().count();
        assert!(batches < 3000 / 32 + 60, "{batches} batches");
        assert_eq!(relation.snapshot().num_rows(), 3000);
    }
}

#[test]
fn heavy_rows_come_in_bounded_batches() {
    let storage = FaultyDisk::default().open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), SIGNED).unwrap();
    append(
        &storage,
        &relation,
        1,
        change(&[(1, "a"), (2, "b"), (3, "c")], &[1, 20_000, -1]),
    )
    .unwrap();
    let snapshot = relation.snapshot();
    assert_eq!(snapshot.num_rows(), 20_001);
    let sizes = snapshot
        .scan()
        .map(|batch| batch.unwrap().num_rows())
        .collect::<Vec<_>>();
    assert_eq!(sizes, [8192, 8192, 3617]);
}

#[test]
fn a_damaged_meta_store_is_an_error_or_whole() {
    let dir = tempfile::tempdir().unwrap();
    {
        let storage = Storage::open(dir.path()).unwrap();
        let relation = storage.relation(rows_of(1), schema(), SIGNED).unwrap();
        for cut in 1..=40 {
            append(&storage, &relation, cut, insert(&[(cut as i64, "some text")])).unwrap();
        }
    }
    let database = dir.path().join(layout::META_FOLDER).join("db");
    let good = fs::read(&database).unwrap();
    let open = || {
        let storage = Storage::open(dir.path())?;
        Ok(storage
            .relation(rows_of(1), schema(), SIGNED)?
            .snapshot()
            .num_rows())
    };
    let mut refused = 0;
    for (at, length) in (0..good.len() - 500)
        .step_by(good.len() / 20)
        .zip([1, 64, 500].repeat(10))
    {
        let mut bad = good.clone();
        bad[at..at + length].iter_mut().for_each(|byte| *byte ^= 0xff);
        fs::write(&database, &bad).unwrap();
        match open() {
            Ok(rows) => assert_eq!(rows, 40, "silent loss after damage at {at}"),
            Err(Error::Corrupt { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(refused > 10, "{refused}");
    // Cut short, as by a copy that did not finish.
    fs::write(&database, &good[..good.len() / 2]).unwrap();
    assert!(matches!(open(), Err(Error::Corrupt { .. })));
    fs::write(&database, &good).unwrap();
    assert_eq!(open().unwrap(), 40);
}

#[test]
fn a_snapshot_held_through_a_restart_harms_nothing() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), APPEND_ONLY).unwrap();
    append(&storage, &relation, 1, large(1)).unwrap();
    let held = relation.snapshot();
    let mut tx = storage.transaction();
    tx.delete_object(1);
    tx.commit().unwrap();
    drop((storage, relation));
    let storage = disk.open().unwrap();
    let relation = storage.relation(rows_of(1), schema(), APPEND_ONLY).unwrap();
    append(&storage, &relation, 1, large(2)).unwrap();
    drop(held);
    assert_eq!(numbers(&relation), [2]);
}
