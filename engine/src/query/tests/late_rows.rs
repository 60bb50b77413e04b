//! Late rows are kept as they stand in their source, through restarts, for as long and as many as the view says.

use std::time::Duration;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use millpond_catalog::{LateRetention, Object, OutputMode, ViewOptions};

use super::watermark;
use super::world::{MINUTE, NOON_US, World, windowed_count};

fn view(world: &mut World, late_rows: LateRetention) -> (Object, Object) {
    let t = world.table(1, "t", watermark(0));
    let options = ViewOptions {
        output_mode: OutputMode::Append,
        no_data_epochs: true,
        late_rows,
        ..ViewOptions::default()
    };
    let v = world.view_with(2, "v", &windowed_count(&t), options);
    world.insert(&t, &[("a", 0, NOON_US + 60 * MINUTE)]);
    world.settle();
    (t, v)
}

/// The values of column v, with the number of rows.
fn kept(world: &World, v: &Object) -> Vec<i64> {
    let relation = world.engine().late_rows(v.id).unwrap();
    let mut values = Vec::new();
    for batch in relation.snapshot().scan() {
        let batch = batch.unwrap();
        let rows = batch.column_by_name("row_of_1").unwrap().as_struct();
        values.extend(rows.column(1).as_primitive::<Int64Type>().values());
    }
    values.sort_unstable();
    values
}

#[test]
fn late_rows_go_by_their_age() {
    let mut world = World::new(2);
    let hour = LateRetention {
        time: Some(Duration::from_secs(3600)),
        bytes: None,
    };
    let (t, v) = view(&mut world, hour);
    for value in 1..=4 {
        world.insert(&t, &[("a", value, NOON_US + value * MINUTE)]);
        world.settle();
        assert_eq!(kept(&world, &v), (1..=value).collect::<Vec<_>>());
        world.clock.advance(Duration::from_secs(20 * 60));
    }
    // Sixty minutes old, and eighty: by an eighth more than an hour, so all that are older than one go.
    world.restart(1);
    world.insert(&t, &[("a", 100, NOON_US + 100 * MINUTE)]);
    world.settle();
    assert_eq!(kept(&world, &v), [2, 3, 4]);
    // What went does not come back.
    world.restart(3);
    assert_eq!(kept(&world, &v), [2, 3, 4]);
    world.insert(&t, &[("b", 5, NOON_US)]);
    world.settle();
    assert_eq!(kept(&world, &v), [2, 3, 4, 5]);
    assert_eq!(world.engine().query(v.id).unwrap().totals.late_rows, 5);
    assert_eq!(world.engine().query(v.id).unwrap().inputs[0].late_rows, 5);
}

#[test]
fn late_rows_go_by_their_size() {
    let mut world = World::new(2);
    let bytes = LateRetention {
        time: None,
        bytes: Some(1_000),
    };
    let (t, v) = view(&mut world, bytes);
    let mut most = 0;
    for value in 1..=50 {
        world.insert(&t, &[("a", value, NOON_US)]);
        world.settle();
        if value % 7 == 0 {
            world.restart(1 + usize::try_from(value).unwrap() % 3);
        }
        world.clock.advance(Duration::from_secs(60));
        let kept = kept(&world, &v);
        // The newest, without a gap.
        assert_eq!(*kept.last().unwrap(), value);
        assert!(kept.windows(2).all(|two| two[0] + 1 == two[1]), "{kept:?}");
        most = most.max(kept.len());
    }
    assert!((4..10).contains(&most), "{most}");
}
