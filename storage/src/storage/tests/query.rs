//! Objects, query logs, operator state and notes.

use super::*;

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
fn the_query_log_says_where_a_query_stands() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    storage
        .put_batch(3, 0, b"range 0".to_vec(), Durable::Now)
        .unwrap();
    let storage = crash(&disk).open().unwrap();
    let log = storage.query_log(3).unwrap();
    assert_eq!(
        log,
        QueryLog {
            last_commit: None,
            open_batch: Some((0, b"range 0".to_vec()))
        }
    );
    storage
        .put_batch(3, 0, b"range 0".to_vec(), Durable::Now)
        .unwrap();
    assert!(
        storage
            .put_batch(3, 0, b"another".to_vec(), Durable::Now)
            .is_err(),
        "an epoch has one range for ever"
    );

    for epoch in 0..4 {
        storage
            .put_batch(
                3,
                epoch,
                if epoch == 0 { b"range 0".to_vec() } else { vec![] },
                Durable::Now,
            )
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
fn a_batch_record_is_durable_with_the_next_commit() {
    let disk = FaultyDisk::default();
    let storage = disk.open().unwrap();
    let put = |query, record: &[u8]| storage.put_batch(query, 0, record.to_vec(), Durable::WithNextCommit);
    put(3, b"range").unwrap();
    assert!(put(3, b"another").is_err(), "an epoch has one range for ever");
    let mut of_another = storage.transaction();
    of_another.put_commit(4, 0, vec![]);
    of_another.commit().unwrap();
    let reopened = crash(&disk).open().unwrap();
    assert_eq!(
        reopened.query_log(3).unwrap().open_batch,
        Some((0, b"range".to_vec()))
    );
}

#[test]
fn a_batch_record_far_ahead_is_damage() {
    let storage = FaultyDisk::default().open().unwrap();
    storage.put_batch(3, 5, vec![], Durable::Now).unwrap();
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
    storage.put_batch(4, 0, vec![], Durable::Now).unwrap();
    let reopened = crash(&disk).open().unwrap();
    assert_eq!(reopened.notes(4).scan("").unwrap(), named(&["file/a", "file/b"]));
    assert_eq!(reopened.notes(4).get("file/b").unwrap(), Some(b"file/b".to_vec()));
    assert_eq!(reopened.notes(5).scan("").unwrap(), []);
}
