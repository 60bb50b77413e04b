//! Full disks, failed syncs, damaged files and records.

use super::*;

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
        storage.put_batch(1, 0, vec![], Durable::Now).unwrap_err(),
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
