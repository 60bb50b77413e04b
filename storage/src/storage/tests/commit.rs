//! Commits: their cost, their grouping, and what readers see of them.

use super::*;

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
fn after_a_panic_everybody_gets_an_answer_and_nothing_is_written() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let relations = [1, 2, 3, 4].map(|id| storage.relation(rows_of(id), schema(), SIGNED).unwrap());
    let outcomes = std::thread::scope(|scope| {
        let threads = relations.each_ref().map(|relation| {
            let (storage, disk) = (&storage, &disk);
            scope.spawn(move || {
                (1..).find_map(|cut| {
                    if cut == 20 && relation.id().object == 1 {
                        disk.break_next_write();
                    }
                    append(storage, relation, cut, insert(&[(1, "a")])).err()
                })
            })
        });
        threads.map(|thread| thread.join())
    });
    assert_eq!(
        outcomes.iter().filter(|outcome| outcome.is_err()).count(),
        1,
        "one thread led"
    );
    for error in outcomes.into_iter().flatten().flatten() {
        assert!(
            matches!(&error, Error::Poisoned { reason } if reason == "a commit panicked"),
            "{error}"
        );
    }
    assert!(storage.failure().is_some());
    let rows = relations.map(|relation| relation.snapshot().num_rows());
    let reopened = crash(&disk).open().unwrap();
    for (object, rows) in (1..).zip(rows) {
        let relation = reopened.relation(rows_of(object), schema(), SIGNED).unwrap();
        assert!(
            relation.snapshot().num_rows() >= rows,
            "what was shown is durable"
        );
    }
}
