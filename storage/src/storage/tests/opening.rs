//! Opening a data directory: locks, versions, what a lost or damaged meta store looks like, garbage.

use super::*;

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
