//! Subscriptions: whole cuts, each once, and nothing kept for those who do not read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;
use millpond_catalog::Object;
use millpond_storage::Cut;

use super::world::{World, once, rows};
use super::{some_rows, total};
use crate::error::Error;
use crate::maintenance;
use crate::subscription::{Subscription, Wake};

fn wake() -> (Wake, Arc<AtomicU64>) {
    let woken = Arc::new(AtomicU64::new(0));
    let count = woken.clone();
    let wake: Wake = Arc::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
    });
    (wake, woken)
}

/// Rows that came and went since, as `(cut, sum of weights)`.
fn next(subscription: &mut Subscription) -> Vec<(Cut, i64)> {
    let Some(step) = subscription.next().unwrap() else {
        return Vec::new();
    };
    let entries = step.entries.iter().map(|entry| {
        let changes = entry.read().unwrap();
        let weights = changes
            .iter()
            .flat_map(|batch| (0..batch.num_rows()).map(|row| batch.weight(row)));
        (entry.cut, weights.sum())
    });
    let entries = entries.collect();
    subscription.passed(step.to);
    entries
}

fn upkeep(world: &World) {
    maintenance::pass(&world.engine().shared, &mut HashMap::new()).unwrap();
}

#[test]
fn a_subscriber_sees_each_change_of_a_view_once_whatever_upkeep_does() {
    let mut world = World::new(2);
    let t = world.table(1, "t", None);
    let v = world.view(2, "v", &total(&t));
    world.insert(&t, &some_rows(3));
    world.settle();
    let (wake, woken) = wake();
    let (mut subscription, snapshot) = world.engine().subscribe(v.id, None, wake).unwrap();
    assert_eq!(rows(&snapshot), once(["3"]));
    assert_eq!(next(&mut subscription), []);
    for _ in 0..5 {
        world.insert(&t, &some_rows(1));
        world.settle();
        upkeep(&world);
    }
    assert!(woken.load(Ordering::SeqCst) >= 5);
    // The old count went and the new one came, five times.
    let changes = next(&mut subscription);
    assert_eq!(changes.len(), 5, "{changes:?}");
    assert!(
        changes.is_sorted() && changes.iter().all(|(_, sum)| *sum == 0),
        "{changes:?}"
    );
    assert_eq!(next(&mut subscription), []);
    // An older cut that is kept can be begun at; one that is not, or is not there, cannot.
    let at = subscription.at();
    world.insert(&t, &some_rows(1));
    world.settle();
    let begin = |world: &World, cut| world.engine().subscribe(v.id, Some(cut), Arc::new(|| ()));
    let (mut from_there, snapshot) = begin(&world, at).unwrap();
    assert_eq!(rows(&snapshot), once(["8"]));
    assert_eq!(next(&mut from_there).len(), 1);
    assert!(matches!(
        begin(&world, Cut(1 << 40)),
        Err(Error::OutOfReach { .. })
    ));
    drop((subscription, from_there));
    for _ in 0..3 {
        world.insert(&t, &some_rows(1));
        world.settle();
        upkeep(&world);
    }
    assert!(matches!(begin(&world, at), Err(Error::OutOfReach { .. })));
}

#[test]
fn rows_of_a_table_that_nobody_reads_are_seen_too() {
    let mut world = World::new(1);
    let t: Object = world.table(1, "t", None);
    world.insert(&t, &some_rows(2));
    let (mut subscription, snapshot) = world.engine().subscribe(t.id, None, wake().0).unwrap();
    assert_eq!(snapshot.num_rows(), 2);
    world.insert(&t, &some_rows(3));
    assert_eq!(
        next(&mut subscription).iter().map(|(_, sum)| *sum).sum::<i64>(),
        3
    );
}

#[test]
fn one_who_does_not_read_is_given_up() {
    let mut world = World::new(1);
    let t = world.table(1, "t", None);
    let v = world.view(2, "v", &total(&t));
    world.settle();
    let (subscription, _) = world.engine().subscribe(v.id, None, wake().0).unwrap();
    let mut epochs = 0;
    let error = loop {
        world.insert(&t, &some_rows(1));
        world.settle();
        upkeep(&world);
        epochs += 1;
        assert!(epochs < 10_000, "the log is kept for ever");
        if let Err(error) = subscription.next() {
            break error;
        }
    };
    assert!(epochs > 10, "given up after {epochs} epochs");
    assert!(matches!(error, Error::OutOfReach { .. }), "{error}");
    assert!(world.newest(&v).len() == 1);
}
