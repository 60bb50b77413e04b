//! The engine as the server uses it: threads of queries, callers at the same time, the machine's clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use millpond_catalog::ObjectId;

use super::world::{World, once, rows};
use super::{diamond, shown_rows, total};
use crate::engine::EngineOptions;
use crate::flush::FlushTarget;
use crate::query::status::QueryState;
use crate::replay::Row;

fn running(workers: usize) -> World {
    World::running(EngineOptions {
        workers,
        ..EngineOptions::default()
    })
}

#[test]
fn an_insert_is_in_all_views_after_a_flush() {
    let mut world = running(2);
    let (t, views) = diamond(&mut world);
    for n in 1..=30u64 {
        world.insert(&t, &[("k", 1, 0)]);
        let report = world.engine().flush(FlushTarget::All, &|| false).unwrap();
        assert_eq!((report.skipped.len(), report.cancelled), (0, false));
        assert_eq!(world.newest(&views[2]), [(n.to_string(), 2)].into());
    }
    world.engine().shutdown(Duration::from_secs(10));
}

#[test]
fn readers_never_see_views_differ_while_rows_stream_in() {
    let mut world = running(2);
    let (t, views) = diamond(&mut world);
    world.insert(&t, &[("k", 1, 0)]);
    world.engine().flush(FlushTarget::All, &|| false).unwrap();
    let stop = AtomicBool::new(false);
    let inserted = AtomicU64::new(1);
    let ids: Vec<ObjectId> = views.iter().map(|view| view.id).collect();
    let world = &world;
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    world.insert(&t, &[("k", 1, 0)]);
                    inserted.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut last = 0;
        for _ in 0..3_000 {
            let read = world.engine().read(&ids).unwrap();
            assert_eq!(read.apart, []);
            let n = shown_rows(&read, &ids);
            assert!(n >= last, "a read went back from {last} to {n}");
            last = n;
        }
        stop.store(true, Ordering::Relaxed);
    });
    world.engine().flush(FlushTarget::All, &|| false).unwrap();
    let read = world.engine().read(&ids).unwrap();
    assert_eq!(shown_rows(&read, &ids), inserted.load(Ordering::Relaxed));
    world.engine().shutdown(Duration::from_secs(10));
}

#[test]
fn callers_at_the_same_time_each_have_their_rows() {
    let mut world = running(1);
    let t = world.table(1, "t", None);
    let v = world.view(2, "v", &total(&t));
    let world = &world;
    thread::scope(|scope| {
        for caller in 0..8i64 {
            let t = &t;
            scope.spawn(move || {
                for n in 0..25i64 {
                    let row: Row = ("k", caller * 100 + n, 0);
                    world.insert(t, &[row]);
                    // Read your writes.
                    let read = world.engine().read(&[t.id]).unwrap();
                    let mine = format!("k|{}|1970-01-01T00:00:00", row.1);
                    assert_eq!(rows(&read.relations[&t.id]).get(&mine), Some(&1));
                }
            });
        }
    });
    world.engine().flush(FlushTarget::View(v.id), &|| false).unwrap();
    assert_eq!(world.newest(&v), once(["200"]));
    world.engine().shutdown(Duration::from_secs(10));
}

#[test]
fn pause_resume_and_remove_by_other_threads() {
    let mut world = running(2);
    let (t, views) = diamond(&mut world);
    let state = |world: &World| world.engine().query(views[0].id).unwrap().state;
    world.insert(&t, &[("k", 1, 0)]);
    world.engine().flush(FlushTarget::All, &|| false).unwrap();
    assert_eq!(state(&world), QueryState::Running);
    world.engine().pause(views[0].id).unwrap();
    assert_eq!(state(&world), QueryState::Paused);
    world.insert(&t, &[("k", 1, 0)]);
    let report = world.engine().flush(FlushTarget::All, &|| false).unwrap();
    assert_eq!(report.skipped.len(), 2);
    world.engine().resume(views[0].id).unwrap();
    // The query may not have taken the wish up yet; a flush that skips it says so.
    while !world
        .engine()
        .flush(FlushTarget::All, &|| false)
        .unwrap()
        .skipped
        .is_empty()
    {}
    assert_eq!(world.newest(&views[2]), [("2".to_owned(), 2)].into());
    world.engine().remove(views[2].id).unwrap();
    assert!(world.engine().query(views[2].id).is_err());
    assert_eq!(world.engine().queries().len(), 2);
    world.insert(&t, &[("k", 1, 0)]);
    world.engine().flush(FlushTarget::All, &|| false).unwrap();
    assert_eq!(world.newest(&views[0]), once(["3"]));
    world.engine().shutdown(Duration::from_secs(10));
}

#[test]
fn a_failed_write_is_told_to_all_callers() {
    let mut world = running(1);
    let t = world.table(1, "t", None);
    world.insert(&t, &[("k", 1, 0)]);
    let wrong = arrow::array::RecordBatch::new_empty(Arc::new(arrow::datatypes::Schema::empty()));
    // Nothing to insert is fine in any shape, rows of another shape are not.
    world
        .engine()
        .insert(t.id, vec![millpond_storage::ChangeBatch::insertions(wrong)])
        .unwrap();
    let narrow = crate::replay::batch(&[("k", 1, 0)]).project(&[0]).unwrap();
    assert!(
        world
            .engine()
            .insert(t.id, vec![millpond_storage::ChangeBatch::insertions(narrow)])
            .is_err()
    );
    let retraction = millpond_storage::ChangeBatch::retractions(crate::replay::batch(&[("k", 1, 0)]));
    assert!(world.engine().insert(t.id, vec![retraction]).is_err());
    assert_eq!(world.newest(&t).values().sum::<u64>(), 1);
    world.engine().shutdown(Duration::from_secs(10));
}
