//! Queries that wait for enough input, or long enough.

use std::time::Duration;

use millpond_catalog::{Gather, ViewOptions};

use super::world::{World, once};
use super::{some_rows, total};
use crate::query::Next;
use crate::replay::ReplaySource;

const SECOND: Duration = Duration::from_secs(1);

fn options() -> ViewOptions {
    ViewOptions {
        gather: Some(Gather {
            offsets: 10,
            delay: 60 * SECOND,
        }),
        no_data_epochs: true,
        ..ViewOptions::default()
    }
}

#[test]
fn an_epoch_waits_for_so_many_rows_or_so_long() {
    let mut world = World::new(1);
    let source = ReplaySource::with(&[]);
    let s = world.source(1, "s", &source);
    let t = world.table(2, "t", None);
    let of_source = world.view_with(3, "v", &total(&s), options());
    let of_table = world.view_with(4, "w", &total(&t), options());
    world.settle();
    // The result exists at once.
    assert_eq!(
        (world.epochs(&of_source), world.epochs(&of_table)),
        (vec![0], vec![0])
    );
    for rows in [4, 5] {
        source.add(&some_rows(rows));
        world.insert(&t, &some_rows(rows));
        world.clock.advance(SECOND);
        world.settle();
    }
    assert_eq!(
        (world.epochs(&of_source), world.epochs(&of_table)),
        (vec![0], vec![0])
    );
    // A source is asked again soon, a table wakes its readers.
    assert!(matches!(world.turn(&of_source), Next::At(at) if at <= world.clock_us() + 50_000));
    assert!(matches!(world.turn(&of_table), Next::At(at) if at > world.clock_us() + 50_000));
    source.add(&some_rows(1));
    world.insert(&t, &some_rows(1));
    world.settle();
    assert_eq!(
        (world.newest(&of_source), world.newest(&of_table)),
        (once(["10"]), once(["10"]))
    );
    // Less than enough comes in when the delay is over.
    source.add(&some_rows(1));
    world.clock.advance(59 * SECOND);
    world.settle();
    assert_eq!(world.newest(&of_source), once(["10"]));
    world.clock.advance(SECOND);
    world.settle();
    assert_eq!(world.newest(&of_source), once(["11"]));
    // A flush does not wait for either.
    source.add(&some_rows(1));
    world.queries.get_mut(&of_source.id).unwrap().hurry();
    world.settle();
    assert_eq!(world.newest(&of_source), once(["12"]));
}
