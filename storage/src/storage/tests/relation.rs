//! Relations: what they accept, weights, old versions, summing.

use super::*;

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
