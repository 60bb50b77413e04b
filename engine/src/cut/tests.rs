//! Cuts, boundaries and floors by hand: two views of a table and a view of both.

use std::collections::BTreeSet;
use std::time::Duration;

use millpond_catalog::ObjectId;
use millpond_storage::{Cut, Storage};
use tempfile::TempDir;

use super::{Choice, Published, RecoveredView, Timeline};
use crate::error::Error;

const T: ObjectId = ObjectId(1);
const A: ObjectId = ObjectId(2);
const B: ObjectId = ObjectId(3);
const BOTH: ObjectId = ObjectId(4);

fn timeline() -> (TempDir, Timeline) {
    let dir = tempfile::tempdir().unwrap();
    let timeline = Timeline::recover(&Storage::open(dir.path()).unwrap()).unwrap();
    timeline.add_table(T, BTreeSet::new());
    for (view, inputs) in [(A, vec![T]), (B, vec![T]), (BOTH, vec![A, B])] {
        timeline.add_view(
            view,
            RecoveredView {
                inputs,
                ..RecoveredView::default()
            },
        );
    }
    (dir, timeline)
}

/// A commit to the table, closed by a cut.
fn change(timeline: &Timeline) -> Cut {
    timeline.commit(&[T], |_| Ok(())).unwrap();
    timeline.close_pending().unwrap()
}

fn publish(timeline: &Timeline, view: ObjectId, cut: Cut, due: bool) {
    timeline.publish(
        view,
        Published {
            cut,
            reached: true,
            changed: true,
            watermark: None,
            due,
            followed: Vec::new(),
            consumed: Vec::new(),
        },
    );
}

/// Goes where the timeline says.
fn go(timeline: &Timeline, view: ObjectId) -> Cut {
    match timeline.choose(view, false) {
        Choice::Go(cut) => {
            publish(timeline, view, cut, false);
            cut
        }
        other => panic!("{view} should go somewhere, not {other:?}"),
    }
}

fn all_at(timeline: &Timeline, cut: Cut) {
    for view in [A, B, BOTH] {
        assert_eq!(go(timeline, view), cut);
    }
}

#[test]
fn a_view_of_views_waits_for_a_boundary_of_both() {
    let (_dir, timeline) = timeline();
    let first = change(&timeline);
    all_at(&timeline, first);
    let second = change(&timeline);
    assert_eq!(go(&timeline, A), second);
    assert_eq!(timeline.choose(BOTH, false), Choice::Behind);
    assert_eq!(timeline.plan_read(&[A, B, BOTH]).cut, Some(first));
    assert_eq!(go(&timeline, B), second);
    assert_eq!(timeline.plan_read(&[A, B]).cut, Some(second));
    assert_eq!(timeline.plan_read(&[A, B, BOTH]).cut, Some(first));
    assert_eq!(go(&timeline, BOTH), second);
    assert_eq!(timeline.plan_read(&[A, B, BOTH]).cut, Some(second));
}

#[test]
fn boundaries_hold_on_where_nothing_changed() {
    let (_dir, timeline) = timeline();
    let first = change(&timeline);
    all_at(&timeline, first);
    timeline.stamp(first, Vec::new(), None).unwrap();
    assert_eq!(timeline.boundary(BOTH), Some(first.next()));
    assert_eq!(
        timeline.choose(BOTH, false),
        Choice::AtLatest {
            cut: first.next(),
            dirty: false
        }
    );
    // A commit is in no cut before one is stamped.
    timeline
        .commit(&[T], |cut| {
            assert_eq!(cut, first.next().next());
            Ok(())
        })
        .unwrap();
    assert_eq!(timeline.boundary(A), Some(first.next()));
    assert_eq!(
        timeline.choose(A, false),
        Choice::AtLatest {
            cut: first.next(),
            dirty: true
        }
    );
    assert_eq!(
        timeline.choose(BOTH, false),
        Choice::AtLatest {
            cut: first.next(),
            dirty: false
        }
    );
}

#[test]
fn a_view_with_an_epoch_due_has_no_boundary_before_it() {
    let (_dir, timeline) = timeline();
    let first = change(&timeline);
    let Choice::Go(cut) = timeline.choose(A, false) else {
        panic!()
    };
    publish(&timeline, A, cut, true);
    assert_eq!(go(&timeline, B), first);
    assert_eq!(
        timeline.choose(A, false),
        Choice::AtLatest {
            cut: first,
            dirty: false
        }
    );
    timeline.stamp(first, Vec::new(), None).unwrap();
    assert_eq!(timeline.boundary(A), Some(first));
    assert_eq!(timeline.boundary(B), Some(first.next()));
    assert_eq!(go(&timeline, A), first.next());
}

#[test]
fn a_failed_commit_changes_nothing() {
    let (_dir, timeline) = timeline();
    let first = change(&timeline);
    all_at(&timeline, first);
    let failed: Result<(), Error> = timeline.commit(&[T], |_| Err(Error::Bug("disk full".to_owned())));
    assert!(failed.is_err());
    assert_eq!(timeline.close_pending().unwrap(), first);
}

#[test]
fn logs_are_kept_for_the_slowest_reader_and_versions_for_the_common_cut() {
    let (_dir, timeline) = timeline();
    let first = change(&timeline);
    all_at(&timeline, first);
    let second = change(&timeline);
    go(&timeline, A);
    let floor = |of: ObjectId| {
        *timeline
            .floors()
            .relations
            .iter()
            .find(|floor| floor.object == of)
            .unwrap()
    };
    assert_eq!((floor(T).readers_past, floor(T).versions_from), (first, first));
    assert_eq!(floor(A).readers_past, first);
    // A view that is held does not hold versions back, but its part of the log stays.
    timeline.set_still(B, Some("it is paused".to_owned()));
    timeline.set_still(BOTH, Some("it is paused".to_owned()));
    assert_eq!((floor(T).readers_past, floor(T).versions_from), (first, second));
    assert_eq!(floor(B).versions_from, first);
    timeline.prune(&timeline.floors()).unwrap();
    let plan = timeline.plan_read(&[A, B]);
    assert_eq!(plan.cut, Some(second));
    assert_eq!(plan.apart, [(B, Some(first), "it is paused".to_owned())]);
    // When it moves again it is behind what is kept, until it has caught up.
    timeline.set_still(B, None);
    let plan = timeline.plan_read(&[A, B]);
    assert_eq!((plan.cut, plan.apart[0].0), (Some(second), B));
    assert_eq!(go(&timeline, B), second);
    assert_eq!(timeline.plan_read(&[A, B]).apart, []);
}

#[test]
fn waiting_ends_with_a_move_or_with_patience() {
    let (_dir, timeline) = timeline();
    let before = timeline.generation();
    timeline.wait(before, Duration::from_millis(1));
    change(&timeline);
    // Something moved since: there is nothing to wait for.
    timeline.wait(before, Duration::from_secs(3600));
    assert_ne!(timeline.generation(), before);
}
