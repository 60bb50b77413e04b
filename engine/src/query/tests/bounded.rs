//! Runs that end: what they take in, when they end, and how they go on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use millpond_catalog::{Object, Trigger, ViewOptions};

use super::world::{MINUTE, NOON_US, World, once, windowed_count};
use super::{some_rows, total, watermark};
use crate::flush::FlushTarget;
use crate::query::status::QueryState;
use crate::replay::{ReplaySource, Row};

fn options(trigger: Trigger) -> ViewOptions {
    ViewOptions {
        trigger,
        no_data_epochs: true,
        ..ViewOptions::default()
    }
}

fn state(world: &World, view: &Object) -> QueryState {
    world.queries[&view.id].state().clone()
}

fn resume(world: &mut World, view: &Object) {
    world.queries.get_mut(&view.id).unwrap().resume();
    world.settle();
}

#[test]
fn available_now_takes_what_is_there_by_the_caps_and_ends() {
    let mut world = World::new(2);
    let source = ReplaySource::with(&some_rows(25));
    source.cap.store(10, Ordering::SeqCst);
    let s = world.source(1, "s", &source);
    let v = world.view_with(2, "v", &total(&s), options(Trigger::AvailableNow));
    // What comes while it runs is not taken in.
    assert_eq!(world.turn(&v), crate::query::Next::Again);
    source.add(&some_rows(7));
    world.settle();
    assert_eq!(world.epochs(&v), [0, 1, 2]);
    assert_eq!(state(&world, &v), QueryState::Terminated);
    assert_eq!(world.newest(&v), once(["25"]));
    // A flush does not wait for it, and says so.
    let report = world.engine().flush(FlushTarget::All, &|| false).unwrap();
    assert!(
        report.skipped.len() == 1 && report.skipped[0].terminated,
        "{report:?}"
    );
    // The end lasts.
    world.restart(1);
    world.settle();
    assert_eq!(state(&world, &v), QueryState::Terminated);
    assert_eq!(world.epochs(&v), [0, 1, 2]);
    source.add(&some_rows(5));
    resume(&mut world, &v);
    assert_eq!(world.newest(&v), once(["37"]));
    assert_eq!(world.epochs(&v), [0, 1, 2, 3, 4]);
    // With nothing new there is nothing to do.
    resume(&mut world, &v);
    assert_eq!(state(&world, &v), QueryState::Terminated);
    assert_eq!(world.epochs(&v).len(), 5);
}

#[test]
fn a_run_that_a_restart_cuts_off_goes_on_to_the_same_end() {
    for turns in 0..4 {
        let mut world = World::new(1);
        let source = ReplaySource::with(&some_rows(25));
        source.cap.store(10, Ordering::SeqCst);
        let s = world.source(1, "s", &source);
        let t = world.table(2, "t", None);
        world.insert(&t, &some_rows(3));
        let of_source = world.view_with(3, "v", &total(&s), options(Trigger::AvailableNow));
        let of_table = world.view_with(4, "w", &total(&t), options(Trigger::AvailableNow));
        for _ in 0..turns {
            world.turn(&of_source);
            world.turn(&of_table);
        }
        let begun = turns > 0;
        world.restart(2);
        source.add(&some_rows(7));
        world.insert(&t, &some_rows(1));
        world.settle();
        let expected = if begun { ["25", "3"] } else { ["32", "4"] };
        assert_eq!(world.newest(&of_source), once([expected[0]]), "{turns} turns");
        assert_eq!(world.newest(&of_table), once([expected[1]]), "{turns} turns");
        assert_eq!(state(&world, &of_table), QueryState::Terminated);
    }
}

#[test]
fn once_is_one_epoch_whatever_the_caps() {
    let mut world = World::new(2);
    let source = ReplaySource::with(&some_rows(25));
    source.cap.store(10, Ordering::SeqCst);
    let s = world.source(1, "s", &source);
    let v = world.view_with(2, "v", &total(&s), options(Trigger::Once));
    world.settle();
    assert_eq!(world.epochs(&v), [0]);
    assert_eq!(state(&world, &v), QueryState::Terminated);
    assert_eq!(world.newest(&v), once(["25"]));
    source.add(&some_rows(20));
    resume(&mut world, &v);
    assert_eq!(world.epochs(&v), [0, 1]);
    assert_eq!(world.newest(&v), once(["45"]));
}

/// Noon and 25 minutes later: the second closes the window of the first.
const TWO_WINDOWS: [Row; 2] = [("a", 1, NOON_US), ("a", 1, NOON_US + 25 * MINUTE)];

#[test]
fn the_watermark_has_its_last_epoch_and_later_rows_are_not_in_it() {
    for trigger in [Trigger::AvailableNow, Trigger::Once] {
        let mut world = World::new(1);
        let t = world.table(1, "t", watermark(0));
        world.insert(&t, &TWO_WINDOWS);
        let v = world.view_with(
            2,
            "v",
            &windowed_count(&t),
            ViewOptions {
                output_mode: millpond_catalog::OutputMode::Append,
                ..options(trigger)
            },
        );
        world.turn(&v);
        world.insert(&t, &[("b", 1, NOON_US + 26 * MINUTE)]);
        world.settle();
        assert_eq!(state(&world, &v), QueryState::Terminated);
        // One epoch of data; its watermark closes the first window in the one after.
        let (epochs, closed) = match trigger {
            Trigger::AvailableNow => (2, 1),
            _ => (1, 0),
        };
        assert_eq!(world.epochs(&v).len(), epochs, "{trigger:?}");
        assert_eq!(world.newest(&v).len(), closed, "{trigger:?}");
        resume(&mut world, &v);
        assert_eq!(world.newest(&v).len(), 1, "{trigger:?}");
        assert_eq!(
            world.engine().query(v.id).unwrap().totals.input_rows,
            3,
            "{trigger:?}"
        );
    }
}

#[test]
fn a_run_over_views_waits_for_them_and_not_for_ever() {
    let mut world = World::new(1);
    let t = world.table(1, "t", None);
    world.insert(&t, &some_rows(4));
    let below = world.view(2, "below", &total(&t));
    let v = world.view_with(3, "v", &super::plain_of(&below), options(Trigger::AvailableNow));
    // The view below has nothing yet.
    world.turn(&v);
    assert_eq!(state(&world, &v), QueryState::Starting);
    world.settle();
    world.settle();
    assert_eq!(state(&world, &v), QueryState::Terminated);
    assert_eq!(world.newest(&v), once(["4"]));
    // One that is held has no more to give.
    world.queries.get_mut(&below.id).unwrap().pause();
    world.insert(&t, &some_rows(2));
    resume(&mut world, &v);
    assert_eq!(state(&world, &v), QueryState::Terminated);
    assert_eq!(world.newest(&v), once(["4"]));
    resume(&mut world, &below);
    resume(&mut world, &v);
    world.settle();
    assert_eq!(world.newest(&v), once(["6"]));
}

#[test]
fn a_flush_waits_for_a_run_and_for_views_over_it() {
    let mut world = World::running(crate::engine::EngineOptions::default());
    let source: Arc<ReplaySource> = ReplaySource::with(&some_rows(25));
    source.cap.store(10, Ordering::SeqCst);
    let s = world.source(1, "s", &source);
    let v = world.view_with(2, "v", &total(&s), options(Trigger::AvailableNow));
    let above = world.view(3, "above", &super::plain_of(&v));
    let report = world.engine().flush(FlushTarget::All, &|| false).unwrap();
    assert!(
        report.skipped.iter().all(|skipped| skipped.terminated),
        "{report:?}"
    );
    assert_eq!(world.newest(&v), once(["25"]));
    assert_eq!(world.newest(&above), once(["25"]));
    world.engine().shutdown(std::time::Duration::from_secs(10));
}
