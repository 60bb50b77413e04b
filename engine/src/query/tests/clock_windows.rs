//! Windows over the processing time close by the clock, without a row and without a watermark, and a replay finds the same.

use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::Column;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, Volatility, col, create_udf};
use millpond_catalog::{Object, OutputMode};

use super::watermark;
use super::world::{MINUTE, World, count, from, once};
use crate::expression::PROCESSING_TIME;
use crate::logical::WindowAssign;
use crate::lower::{LowerOptions, lower};

/// `count(*) GROUP BY window, k` over windows of the processing time.
fn counted(object: &Object, size_us: i64, slide_us: i64) -> LogicalPlan {
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let never = Arc::new(|_: &[_]| unreachable!("the engine puts its own in place"));
    let now = create_udf(PROCESSING_TIME, vec![], time, Volatility::Volatile, never);
    let columns = [col("k"), col("v"), now.call(vec![]).alias("p")];
    let rows = from(object).project(columns).unwrap().build().unwrap();
    let windows = WindowAssign::try_new(rows, Column::from_name("p"), size_us, slide_us, 0).unwrap();
    LogicalPlanBuilder::from(windows.into_plan())
        .aggregate(vec![col("window_end"), col("k")], vec![count()])
        .unwrap()
        .build()
        .unwrap()
}

fn advance(world: &mut World, minutes: u64) {
    world.clock.advance(Duration::from_secs(60 * minutes));
    world.settle();
}

fn state_rows(world: &World, view: &Object) -> u64 {
    let progress = world.queries[&view.id].board().progress();
    let operators = &progress.last().unwrap().state_operators;
    operators.iter().map(|operator| operator.num_rows_total).sum()
}

/// `HH:MM` of noon and some minutes, as it is shown. Noon of these tests is 10:40.
fn end(minutes: i64) -> String {
    let of_day = 10 * 60 + 40 + minutes;
    format!("T{:02}:{:02}:00Z", of_day / 60, of_day % 60)
}

#[test]
fn a_window_closes_when_its_time_has_come() {
    let mut world = World::new(2);
    let t = world.table(1, "t", None);
    let all = world.view(2, "all", &counted(&t, 10 * MINUTE, 10 * MINUTE));
    let closed = world.append(3, "closed", &counted(&t, 10 * MINUTE, 10 * MINUTE));
    // The time of the row is not looked at.
    world.insert(&t, &[("a", 1, 0), ("a", 2, 1_000 * MINUTE), ("b", 3, 0)]);
    world.settle();
    assert_eq!(world.newest(&all).len(), 2);
    assert_eq!(world.newest(&closed).len(), 0);
    assert_eq!((state_rows(&world, &all), state_rows(&world, &closed)), (2, 2));
    advance(&mut world, 9);
    world.insert(&t, &[("a", 4, 0)]);
    world.settle();
    assert_eq!(world.newest(&closed).len(), 0);
    // Across a restart, and with no further row.
    world.restart(3);
    let epochs = world.epochs(&closed).len();
    advance(&mut world, 1);
    assert_eq!(world.epochs(&closed).len(), epochs + 1, "by the clock alone");
    let rows = world.newest(&closed);
    let counts: Vec<_> = rows
        .keys()
        .map(|row| row.split('|').skip(1).collect::<Vec<_>>())
        .collect();
    assert_eq!(counts, [["a", "3"], ["b", "1"]]);
    assert!(rows.keys().all(|row| row.contains(&end(10))), "{rows:?}");
    assert_eq!(world.newest(&all), rows);
    assert_eq!((state_rows(&world, &all), state_rows(&world, &closed)), (0, 0));
    // A row at the end of one is in the next; where nothing is open, the clock wakes nobody.
    world.insert(&t, &[("a", 5, 0)]);
    world.settle();
    advance(&mut world, 10);
    assert_eq!(world.newest(&closed).len(), 3);
    let epochs = world.epochs(&closed).len();
    advance(&mut world, 100);
    assert_eq!(world.epochs(&closed).len(), epochs);
}

#[test]
fn every_slide_equals_the_rows_of_its_window() {
    let mut world = World::new(2);
    let t = world.table(1, "t", None);
    let v = world.append(2, "v", &counted(&t, 6 * MINUTE, MINUTE));
    let arrivals = [1, 0, 2, 0, 0, 3, 1, 0, 0, 0, 0, 0, 0, 0, 1];
    let mut expected = std::collections::BTreeMap::new();
    for (minute, rows) in arrivals.into_iter().enumerate() {
        for _ in 0..rows {
            world.insert(&t, &[("k", 0, 0)]);
        }
        world.settle();
        if minute % 4 == 3 {
            world.restart(1 + minute % 3);
        }
        advance(&mut world, 1);
        for end in minute + 1..=minute + 6 {
            if rows > 0 {
                *expected.entry(end as i64).or_insert(0) += rows;
            }
        }
    }
    advance(&mut world, 20);
    let expected: Vec<String> = { expected.into_iter() }
        .map(|(minutes, count)| format!("{}|k|{count}", end(minutes)))
        .collect();
    let found: Vec<String> = { world.newest(&v).into_keys() }
        .map(|row| row[row.find('T').unwrap()..].to_owned())
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn who_could_use_an_event_time_is_told() {
    let mut world = World::new(1);
    let t = world.table(1, "t", watermark(0));
    let plan = counted(&t, MINUTE, MINUTE);
    let notices = |output_mode| -> Vec<(String, String)> {
        let options = LowerOptions {
            output_mode,
            ..LowerOptions::default()
        };
        let dataflow = lower(&plan, &options).unwrap();
        let notices = dataflow.notices();
        notices
            .map(|notice| (notice.message.clone(), notice.hint.clone()))
            .collect()
    };
    let clock = (
        "windows over processing time count a row when it comes, not when it happened: t has an event time, ts",
        "Use ts as the time of the windows; late and replayed rows are counted where they belong then.",
    );
    let complete = (
        "output_mode 'complete' keeps and shows every group for ever, however many there will be",
        "In output_mode 'update' the watermark frees what is final, and the view shows the same.",
    );
    let owned = |notice: (&str, &str)| (notice.0.to_owned(), notice.1.to_owned());
    assert_eq!(notices(OutputMode::Update), [owned(clock)]);
    assert_eq!(notices(OutputMode::Complete), [owned(complete), owned(clock)]);
    assert_eq!(once([]), world.newest(&t));
}
