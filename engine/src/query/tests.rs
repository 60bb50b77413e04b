//! Queries step by step on a clock that the test turns, over real storage, with restarts at every point.

mod bounded;
mod clock_windows;
mod gather;
mod late_rows;
mod subscription;
mod threads;
mod world;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow::array::AsArray;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, col, lit};
use millpond_catalog::{Object, ObjectId, ViewOptions, Watermark};
use millpond_storage::{ChangeBatch, Cut};

use super::record::{BatchRecord, CommitRecord};
use super::status::QueryState;
use super::*;
use crate::engine::EngineOptions;
use crate::flush::{FlushReport, FlushTarget};
use crate::lower::{LowerOptions, lower};
use crate::read::ReadView;
use crate::replay::{ROW_BYTES, ReplaySource, Row};
use crate::runtime::{Abandon, PlanKind};
use crate::source::SourceError;
use world::{
    MINUTE, NOON_US, Rows, World, count, from, max, once, rows, sum, windowed_count, windowed_count_of,
};

fn watermark(delay_us: i64) -> Option<Watermark> {
    Some(Watermark {
        column: 2,
        delay_us,
        max_future_us: Some(Watermark::DEFAULT_MAX_FUTURE_US),
        idle_timeout_us: None,
    })
}

fn by_key(object: &Object) -> datafusion::logical_expr::LogicalPlan {
    from(object)
        .aggregate(vec![col("k")], vec![count(), max("v")])
        .unwrap()
        .build()
        .unwrap()
}

fn plain(object: &Object) -> datafusion::logical_expr::LogicalPlan {
    from(object)
        .project(vec![col("k"), col("v"), col("ts")])
        .unwrap()
        .build()
        .unwrap()
}

fn total(object: &Object) -> datafusion::logical_expr::LogicalPlan {
    from(object)
        .aggregate(Vec::<Expr>::new(), vec![count()])
        .unwrap()
        .build()
        .unwrap()
}

/// All that a view with one column shows.
fn plain_of(view: &Object) -> datafusion::logical_expr::LogicalPlan {
    let columns = view.columns.iter().map(|column| col(column.name.as_str()));
    from(view).project(columns).unwrap().build().unwrap()
}

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

fn some_rows(n: i64) -> Vec<Row> {
    (0..n)
        .map(|i| (KEYS[(i % 4) as usize], i, NOON_US + i * MINUTE))
        .collect()
}

/// What `by_key` gives over `rows`.
fn expected_by_key(all: &[Row]) -> Rows {
    let mut expected = Rows::new();
    for key in KEYS {
        let values: Vec<i64> = all.iter().filter(|row| row.0 == key).map(|row| row.1).collect();
        if let Some(max) = values.iter().max() {
            expected.insert(format!("{key}|{}|{max}", values.len()), 1);
        }
    }
    expected
}

#[test]
fn a_restart_between_any_two_epochs_changes_nothing() {
    let all = some_rows(60);
    let source = ReplaySource::with(&all);
    source.cap.store(10, Ordering::SeqCst);
    let mut world = World::new(1);
    let s = world.source(1, "s", &source);
    let v = world.view(2, "v", &by_key(&s));
    for (step, workers) in [2, 4, 1, 2, 1, 4].into_iter().enumerate() {
        assert_eq!(world.turn(&v), Next::Again);
        assert_eq!(
            world.newest(&v),
            expected_by_key(&all[..(step + 1) * 10]),
            "epoch {step}"
        );
        world.restart(workers);
        assert_eq!(
            world.newest(&v),
            expected_by_key(&all[..(step + 1) * 10]),
            "after epoch {step}"
        );
    }
    assert!(matches!(world.turn(&v), Next::At(_)));
    assert_eq!(world.epochs(&v), (0..6).collect::<Vec<_>>());
}

#[test]
fn a_query_that_was_restored_runs_although_nothing_comes() {
    let mut world = World::new(1);
    let t = world.table(1, "t", None);
    let v = world.view(2, "v", &by_key(&t));
    world.insert(&t, &some_rows(4));
    world.settle();
    world.restart(2);
    let status = |world: &World| world.queries[&v.id].board().status(None);
    assert_eq!(status(&world).state, QueryState::Starting);
    assert_eq!(world.turn(&v), Next::OnWake);
    assert_eq!(status(&world).state, QueryState::Running);
    assert_eq!(status(&world).message, "Waiting for data to arrive");
    assert_eq!(world.epochs(&v), [0]);
}

#[test]
fn rows_dropped_before_the_exchange_are_those_of_the_operator_behind_it() {
    let mut world = World::new(2);
    let t = world.table(1, "t", watermark(0));
    let v = world.view(2, "v", &windowed_count(&t));
    world.insert(&t, &[("a", 1, NOON_US + 60 * MINUTE)]);
    world.settle();
    world.insert(
        &t,
        &[
            ("a", 1, NOON_US),
            ("b", 1, NOON_US),
            ("a", 2, NOON_US + 61 * MINUTE),
        ],
    );
    world.settle();
    let late: u64 = world.queries[&v.id]
        .board()
        .progress()
        .iter()
        .flat_map(|progress| &progress.state_operators)
        .map(|operator| operator.num_rows_dropped_by_watermark)
        .sum();
    assert_eq!(late, 2);
}

#[test]
fn a_query_that_reads_nothing_has_its_result_after_one_epoch() {
    let mut world = World::new(2);
    let t = world.table(1, "t", None);
    let nothing = LogicalPlanBuilder::empty(false)
        .aggregate(Vec::<Expr>::new(), vec![count()])
        .unwrap()
        .build()
        .unwrap();
    let v = world.view(2, "v", &nothing);
    world.settle();
    assert_eq!(world.newest(&v), once(["0"]));
    world.insert(&t, &some_rows(4));
    world.restart(1);
    world.settle();
    assert_eq!(world.newest(&v), once(["0"]));
    assert_eq!(world.epochs(&v), [0]);
}

#[test]
fn an_epoch_that_was_begun_runs_again_as_it_was() {
    let source = ReplaySource::with(&some_rows(8));
    let mut world = World::new(2);
    let s = world.source_with(1, "s", &source, watermark(0));
    let v = world.view(2, "v", &windowed_count(&s));
    assert_eq!(world.turn(&v), Next::Again);
    source.add(&some_rows(20)[8..]);
    // Logged, then killed before anything was read.
    let query = world.queries.get_mut(&ObjectId(2)).unwrap();
    let target = query.choose(NOON_US).unwrap().unwrap();
    query.log_batch(target, NOON_US).unwrap();
    let begun = query.open.clone().unwrap();
    // More came meanwhile, and it is later.
    source.add(&[("z", 1, NOON_US + 600 * MINUTE)]);
    world.clock.advance(Duration::from_secs(3600));
    world.restart(1);
    assert_eq!(world.turn(&v), Next::Again);
    let storage = world.engine().shared.storage.clone();
    let (_, commit) = storage.commits(2, 1).unwrap().into_iter().next().unwrap();
    let commit = CommitRecord::decode(&commit).unwrap();
    assert_eq!(commit.context, begun.context);
    assert_eq!(commit.cut, begun.cut);
    assert_eq!(commit.positions[0], begun.ranges[0].to);
    assert_eq!(commit.totals.input_rows, 20);
    world.settle();
    assert_eq!(world.newest(&v).len(), 3);
}

#[test]
fn a_transaction_is_all_or_nothing_when_killed_before_its_commit() {
    // The epoch ran in full and its output was lost: the state of the next run must not have it twice.
    let mut world = World::new(2);
    let t = world.table(1, "t", None);
    let v = world.view(2, "v", &by_key(&t));
    world.insert(&t, &some_rows(10));
    world.settle();
    world.insert(&t, &some_rows(20)[10..]);
    let query = world.queries.get_mut(&ObjectId(2)).unwrap();
    let target = query.choose(NOON_US).unwrap().unwrap();
    query.log_batch(target, NOON_US).unwrap();
    let record = query.open.clone().unwrap();
    assert!(query.run(&record, &Abandon::default()).unwrap().is_some());
    world.restart(4);
    world.settle();
    assert_eq!(world.newest(&v), expected_by_key(&some_rows(20)));
    assert_eq!(world.epochs(&v), [0, 1]);
}

#[test]
fn a_view_over_nothing_has_its_row() {
    let mut world = World::new(2);
    let t = world.table(1, "t", None);
    let v = world.view(2, "v", &total(&t));
    let w = world.view(3, "w", &total(&v));
    world.settle();
    assert_eq!(world.newest(&v), once(["0"]));
    assert_eq!(world.newest(&w), once(["1"]));
    // Nothing more happens without input.
    world.settle();
    assert_eq!((world.epochs(&v), world.epochs(&w)), (vec![0], vec![0]));
}

/// Two views of a table and a view of both: `w` has one row per view.
fn diamond(world: &mut World) -> (Object, [Object; 3]) {
    let t = world.table(1, "t", None);
    let v1 = world.view(2, "v1", &total(&t));
    let v2 = world.view(
        3,
        "v2",
        &from(&t)
            .aggregate(Vec::<Expr>::new(), vec![sum("v")])
            .unwrap()
            .build()
            .unwrap(),
    );
    let left = from(&v1)
        .project(vec![col("n").alias("x")])
        .unwrap()
        .build()
        .unwrap();
    let right = datafusion::logical_expr::cast(col("sum_v"), arrow::datatypes::DataType::Int64).alias("x");
    let right = from(&v2).project(vec![right]).unwrap().build().unwrap();
    let both = LogicalPlanBuilder::from(left)
        .union(right)
        .unwrap()
        .build()
        .unwrap();
    let w = world.view(4, "w", &both);
    (t, [v1, v2, w])
}

/// A small deterministic generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// All views at the common cut show the same number of rows; every row inserted has the value 1.
fn check_agreement(world: &World, views: &[Object; 3]) -> Option<u64> {
    let ids: Vec<ObjectId> = views.iter().map(|view| view.id).collect();
    let read = world.engine().read(&ids).unwrap();
    if !read.apart.is_empty() {
        return None;
    }
    Some(shown_rows(&read, &ids))
}

/// How many rows the views of a diamond show, after checking that they agree.
fn shown_rows(read: &ReadView, ids: &[ObjectId]) -> u64 {
    let shown: Vec<Rows> = ids.iter().map(|id| rows(&read.relations[id])).collect();
    let n: u64 = shown[0].keys().next().unwrap().parse().unwrap();
    let sum = shown[1].keys().next().unwrap().split('.').next().unwrap();
    let sum = if sum == "NULL" { "0" } else { sum };
    assert_eq!(n.to_string(), sum, "at cut {:?}", read.cut);
    let both: Vec<String> = shown[2]
        .iter()
        .flat_map(|(x, n)| vec![x.clone(); *n as usize])
        .collect();
    let expected = if n == 0 {
        vec!["0".to_owned(), "NULL".to_owned()]
    } else {
        vec![n.to_string(); 2]
    };
    assert_eq!(both, expected, "at cut {:?}", read.cut);
    n
}

#[test]
fn a_diamond_of_views_never_shows_a_half() {
    for seed in 0..6u64 {
        let mut dice = Dice(seed);
        let mut world = World::new(1);
        let (t, views) = diamond(&mut world);
        let (mut inserted, mut seen, mut reads) = (0, 0, 0);
        for _ in 0..400 {
            match dice.roll(20) {
                0..8 => {
                    let rows = dice.roll(3) + 1;
                    world.insert(&t, &vec![("k", 1, 0); rows as usize]);
                    inserted += rows;
                }
                // Views move at different speeds, so that they skip different cuts.
                8..11 => drop(world.turn(&views[0])),
                11..12 => drop(world.turn(&views[1])),
                12..15 => drop(world.turn(&views[2])),
                15..16 if dice.roll(10) == 0 => world.restart([1, 2, 4][dice.roll(3) as usize]),
                _ => {
                    if let Some(n) = check_agreement(&world, &views) {
                        assert!(n >= seen, "a read went back from {seen} to {n}, seed {seed}");
                        assert!(n <= inserted);
                        (seen, reads) = (n, reads + 1);
                    }
                }
            }
        }
        assert!(
            reads > 20,
            "too few reads ({reads}) to mean anything, seed {seed}"
        );
        world.settle();
        assert_eq!(check_agreement(&world, &views), Some(inserted), "seed {seed}");
    }
}

#[test]
fn a_ticking_view_takes_all_that_is_there_at_each_tick() {
    let mut world = World::new(1);
    let t = world.table(1, "t", None);
    let fast = world.view(2, "fast", &total(&t));
    let slow = world.every(3, "slow", &total(&t), Duration::from_secs(10));
    world.settle();
    assert_eq!((world.newest(&slow), world.epochs(&slow)), (once(["0"]), vec![0]));
    for n in 1..=7 {
        world.insert(&t, &[("k", n, 0)]);
        world.settle();
        assert_eq!(world.newest(&fast), once([n.to_string().as_str()]));
    }
    assert_eq!(world.turn(&slow), Next::At(NOON_US + 10_000_000));
    world.clock.advance(Duration::from_millis(9_999));
    world.settle();
    assert_eq!(world.newest(&slow), once(["0"]));
    world.clock.advance(Duration::from_millis(1));
    world.settle();
    // One epoch, at a cut where the other view has a boundary too.
    assert_eq!(
        (world.newest(&slow), world.epochs(&slow)),
        (once(["7"]), vec![0, 1])
    );
    let read = world.engine().read(&[fast.id, slow.id]).unwrap();
    assert_eq!(rows(&read.relations[&fast.id]), once(["7"]));
    // Without data a tick makes no epoch; missed ticks are not made up.
    world.clock.advance(Duration::from_secs(35));
    world.settle();
    assert_eq!(world.epochs(&slow), [0, 1]);
    world.insert(&t, &[("k", 8, 0)]);
    assert_eq!(world.turn(&slow), Next::At(NOON_US + 50_000_000));
    world.clock.advance(Duration::from_secs(5));
    world.settle();
    assert_eq!(
        (world.newest(&slow), world.epochs(&slow)),
        (once(["8"]), vec![0, 1, 2])
    );
    let progress = world.queries[&slow.id].board().progress();
    assert_eq!(progress.len(), 3);
    assert_eq!(progress[2].details.scheduling_delay_ms, 0);
}

#[test]
fn windows_close_without_input_once_the_watermark_has_moved() {
    let mut world = World::new(2);
    let t = world.table(1, "t", watermark(5 * MINUTE));
    let v = world.append(2, "v", &windowed_count(&t));
    let w = world.view(3, "w", &total(&v));
    world.insert(&t, &[("a", 1, NOON_US + MINUTE), ("a", 1, NOON_US + 2 * MINUTE)]);
    world.settle();
    assert_eq!(world.newest(&v), Rows::new());
    // W becomes 12:15, so the window [12:00, 12:10) is final.
    world.insert(&t, &[("a", 1, NOON_US + 20 * MINUTE)]);
    world.settle();
    assert_eq!(world.newest(&v).len(), 1);
    assert!(
        world.newest(&v).keys().next().unwrap().ends_with("|2"),
        "{:?}",
        world.newest(&v)
    );
    assert_eq!(world.newest(&w), once(["1"]));
    // Late now, and the watermark does not move.
    let epochs = world.epochs(&v).len();
    world.insert(&t, &[("a", 1, NOON_US + 3 * MINUTE)]);
    world.settle();
    assert_eq!(world.epochs(&v).len(), epochs + 1);
    let status = world.engine().query(v.id).unwrap();
    assert_eq!(status.totals.late_rows, 1);
    assert_eq!(status.inputs[0].watermark_us, Some(NOON_US + 15 * MINUTE));
    // The watermark and what it closed survive a restart.
    world.restart(4);
    world.insert(
        &t,
        &[("a", 1, NOON_US + 4 * MINUTE), ("a", 1, NOON_US + 40 * MINUTE)],
    );
    world.settle();
    assert_eq!(world.engine().query(v.id).unwrap().totals.late_rows, 2);
    assert_eq!((world.newest(&v).len(), world.newest(&w)), (2, once(["2"])));
}

#[test]
fn a_silent_input_holds_the_others_back_until_its_idle_timeout() {
    let mut world = World::new(2);
    let idle_after = |minutes: i64| {
        watermark(0).map(|watermark| Watermark {
            idle_timeout_us: Some(minutes * MINUTE),
            ..watermark
        })
    };
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let (a, b) = (
        world.table(1, "a", idle_after(60)),
        world.table(2, "b", idle_after(5)),
    );
    let both = from(&a)
        .union(from(&b).build().unwrap())
        .unwrap()
        .build()
        .unwrap();
    let v = world.append(3, "v", &windowed_count_of(both));
    world.insert(&b, &[("b", 1, NOON_US)]);
    world.settle();
    world.clock.advance(minutes(3));
    // b is behind, but it spoke three minutes ago.
    world.insert(&a, &[("a", 1, NOON_US + MINUTE), ("a", 1, NOON_US + 25 * MINUTE)]);
    world.settle();
    assert_eq!(world.newest(&v), Rows::new());
    assert_eq!(world.turn(&v), Next::At(world.clock.now_us() + 2 * MINUTE));
    // Silence begins anew with a run, since nobody listened in between.
    world.clock.advance(minutes(1));
    world.restart(4);
    world.settle();
    assert_eq!(world.turn(&v), Next::At(world.clock.now_us() + 5 * MINUTE));
    world.clock.advance(minutes(5));
    world.settle();
    assert_eq!(world.newest(&v).len(), 1, "{:?}", world.newest(&v));
    let watermarks = |world: &World| {
        let inputs = world.engine().query(v.id).unwrap().inputs;
        inputs.iter().map(|input| input.watermark_us).collect::<Vec<_>>()
    };
    assert_eq!(watermarks(&world), [Some(NOON_US + 25 * MINUTE); 2]);
    // It may come back, and what it is late by is decided by the watermark as for any other.
    world.insert(
        &b,
        &[("b", 1, NOON_US + 2 * MINUTE), ("b", 1, NOON_US + 26 * MINUTE)],
    );
    world.settle();
    assert_eq!(world.engine().query(v.id).unwrap().totals.late_rows, 1);
    assert_eq!(
        watermarks(&world),
        [Some(NOON_US + 25 * MINUTE), Some(NOON_US + 26 * MINUTE)]
    );
}

#[test]
fn rows_far_in_the_future_do_not_move_the_watermark() {
    let mut world = World::new(1);
    let t = world.table(1, "t", watermark(0));
    let v = world.view(2, "v", &windowed_count(&t));
    world.insert(&t, &[("a", 1, NOON_US), ("a", 1, NOON_US + 3 * 24 * 60 * MINUTE)]);
    world.settle();
    let status = world.engine().query(v.id).unwrap();
    assert_eq!(
        (status.inputs[0].watermark_us, status.inputs[0].future_rows),
        (Some(NOON_US), 1)
    );
    assert_eq!(world.newest(&v).len(), 2);
}

#[test]
fn a_large_step_takes_several_epochs_of_which_only_the_last_is_seen_by_others() {
    let all = some_rows(40);
    let source = ReplaySource::with(&all);
    let mut world = World::with(EngineOptions {
        epoch_bytes: 10 * ROW_BYTES,
        workers: 2,
        ..EngineOptions::default()
    });
    let s = world.source(1, "s", &source);
    let first = world.view(2, "first", &by_key(&s));
    world.settle();
    assert_eq!(world.epochs(&first).len(), 4);
    // A new view over the same source has ranges of its own until it meets the other.
    let second = world.view(3, "second", &by_key(&s));
    for step in 1..=4 {
        let read = world.engine().read(&[first.id, second.id]).unwrap();
        assert_eq!(read.apart.len(), 1, "before epoch {step}");
        assert_eq!(rows(&read.relations[&first.id]), expected_by_key(&all));
        assert_eq!(world.turn(&second), Next::Again);
        assert_eq!(world.newest(&second), expected_by_key(&all[..step * 10]));
        if step == 2 {
            world.restart(1);
        }
    }
    let read = world.engine().read(&[first.id, second.id]).unwrap();
    assert_eq!(read.apart, []);
    assert_eq!(rows(&read.relations[&second.id]), expected_by_key(&all));
    // From here on they share ranges.
    source.add(&some_rows(50)[40..]);
    world.settle();
    let cut = |view: &Object| world.engine().query(view.id).unwrap().cut;
    assert_eq!(cut(&first), cut(&second));
    assert_eq!(world.newest(&second), expected_by_key(&some_rows(50)));
}

#[test]
fn a_new_view_over_an_old_table_reads_it_in_bounded_epochs() {
    let mut world = World::with(EngineOptions {
        epoch_bytes: 1,
        ..EngineOptions::default()
    });
    let t = world.table(1, "t", None);
    for row in some_rows(6) {
        world.insert(&t, &[row]);
    }
    let v = world.view(2, "v", &by_key(&t));
    assert_eq!(world.turn(&v), Next::Again);
    assert_eq!(world.newest(&v), expected_by_key(&some_rows(1)));
    world.restart(2);
    world.insert(&t, &some_rows(7)[6..]);
    world.settle();
    assert_eq!(world.newest(&v), expected_by_key(&some_rows(7)));
    // Each entry is larger than the bound, so each was an epoch.
    assert_eq!(world.epochs(&v), (0..7).collect::<Vec<_>>());
}

#[test]
fn a_paused_view_holds_nobody_back_and_catches_up() {
    let mut world = World::new(2);
    let (t, views) = diamond(&mut world);
    world.insert(&t, &[("k", 1, 0)]);
    world.settle();
    world.queries.get_mut(&views[0].id).unwrap().pause();
    for _ in 0..20 {
        world.insert(&t, &[("k", 1, 0)]);
        world.settle();
    }
    assert_eq!(
        world.newest(&views[1]).keys().next().unwrap().split('.').next(),
        Some("21")
    );
    let read = world.engine().read(&[views[0].id, views[1].id, t.id]).unwrap();
    assert_eq!(read.apart.len(), 1);
    assert_eq!(read.apart[0].reason, "it is paused");
    assert_eq!(rows(&read.relations[&views[0].id]), once(["1"]));
    assert_eq!(rows(&read.relations[&t.id]).values().sum::<u64>(), 21);
    let report = world.engine().flush(FlushTarget::All, &|| false).unwrap();
    let skipped: Vec<&str> = report.skipped.iter().map(|view| view.name.as_str()).collect();
    assert_eq!(skipped.len(), 2, "{report:?}");
    assert!(report.skipped[1].reason.contains("paused"), "{report:?}");
    world.queries.get_mut(&views[0].id).unwrap().resume();
    world.settle();
    assert_eq!(check_agreement(&world, &views), Some(21));
}

#[test]
fn a_failing_view_keeps_its_result_and_goes_on_when_resumed() {
    let mut world = World::new(2);
    let t = world.table(1, "t", None);
    let inverse = (lit(100i64) / col("v")).alias("q");
    let plan = from(&t)
        .project(vec![col("k"), inverse])
        .unwrap()
        .build()
        .unwrap();
    let options = ViewOptions {
        fail_on_error: true,
        ..ViewOptions::default()
    };
    let strict = world.view_with(2, "strict", &plan, options);
    let lenient = world.view(3, "lenient", &plan);
    world.insert(&t, &[("a", 2, 0)]);
    world.settle();
    world.insert(&t, &[("b", 0, 0), ("c", 5, 0)]);
    world.settle();
    assert_eq!(world.newest(&strict), once(["a|50"]));
    assert_eq!(world.newest(&lenient), once(["a|50", "c|20"]));
    let status = world.engine().query(strict.id).unwrap();
    let QueryState::Failed(failure) = &status.state else {
        panic!("{:?}", status.state)
    };
    assert!(failure.reason.contains("zero"), "{failure:?}");
    assert_eq!(failure.epoch, Some(1));
    assert_eq!(failure.offsets[0]["input"], "t", "{:?}", failure.offsets);
    let bad = world.engine().bad_rows(lenient.id).unwrap().snapshot();
    let bad: Vec<_> = bad.scan().map(Result::unwrap).collect();
    assert_eq!(bad[0].num_rows(), 1);
    assert!(bad[0].column(5).as_string::<i32>().value(0).contains("zero"));
    // The same epoch again, the same failure: nothing is skipped silently.
    let run = status.run_id;
    world.queries.get_mut(&strict.id).unwrap().resume();
    world.settle();
    let status = world.engine().query(strict.id).unwrap();
    assert!(matches!(status.state, QueryState::Failed(_)));
    assert_ne!(status.run_id, run);
    assert_eq!(world.newest(&strict), once(["a|50"]));
}

#[test]
fn a_panic_in_an_operator_fails_its_query_only() {
    let mut world = World::new(2);
    let t = world.table(1, "t", None);
    let dataflow = lower(
        &by_key(&t),
        &LowerOptions {
            output_mode: millpond_catalog::OutputMode::Update,
            fail_on_error: false,
            ..LowerOptions::default()
        },
    )
    .unwrap();
    let mut plan = Plan::new(&dataflow).unwrap();
    let build: Arc<dyn Fn() -> Result<Box<dyn crate::operator::Operator>> + Send + Sync> =
        Arc::new(|| Ok(Box::new(Explosive)));
    plan.nodes.last_mut().unwrap().kind = PlanKind::Operator(build);
    let bomb = world.view_of(2, "bomb", dataflow, ViewOptions::default(), Some(Arc::new(plan)));
    let v = world.view(3, "v", &by_key(&t));
    world.insert(&t, &some_rows(9));
    world.settle();
    let status = world.engine().query(bomb.id).unwrap();
    let QueryState::Failed(failure) = status.state else {
        panic!("{:?}", status.state)
    };
    assert!(failure.reason.contains("boom"), "{failure:?}");
    assert_eq!(world.newest(&v), expected_by_key(&some_rows(9)));
}

struct Explosive;

impl crate::operator::Operator for Explosive {
    fn push(&mut self, _: usize, _: ChangeBatch, _: &mut crate::operator::Output) -> Result<()> {
        panic!("boom")
    }
}

#[test]
fn a_source_that_is_away_is_asked_again_later() {
    let source = ReplaySource::with(&some_rows(4));
    let mut world = World::new(1);
    let s = world.source(1, "s", &source);
    let v = world.view(2, "v", &by_key(&s));
    world.settle();
    *source.trouble.lock() = Some(SourceError::Unavailable("no such folder".to_owned()));
    source.add(&some_rows(8)[4..]);
    assert_eq!(world.turn(&v), Next::At(NOON_US + RETRY_US));
    let status = world.engine().query(v.id).unwrap();
    assert_eq!(status.state, QueryState::Running);
    assert!(status.message.contains("no such folder"), "{}", status.message);
    world.clock.advance(Duration::from_micros(RETRY_US as u64));
    assert_eq!(world.turn(&v), Next::At(NOON_US + 3 * RETRY_US));
    *source.trouble.lock() = None;
    world.clock.advance(Duration::from_secs(1));
    world.settle();
    assert_eq!(world.newest(&v), expected_by_key(&some_rows(8)));
}

#[test]
fn rows_that_cannot_be_decoded_are_set_aside() {
    let mut all = some_rows(10);
    all[4].1 = i64::MIN;
    let source = ReplaySource::with(&all);
    let mut world = World::new(2);
    let s = world.source(1, "s", &source);
    let v = world.view(2, "v", &plain(&s));
    world.settle();
    assert_eq!(world.newest(&v).len(), 9);
    let bad = world.engine().bad_rows(v.id).unwrap().snapshot();
    assert_eq!(bad.num_rows(), 1);
    let bad = bad.scan().next().unwrap().unwrap();
    assert_eq!(bad.column(2).as_string::<i32>().value(0), "s");
    assert_eq!(bad.column(3).as_string::<i32>().value(0), "row 4");
    let progress = world.queries[&v.id].board().progress();
    assert_eq!((progress[0].num_input_rows, progress[0].details.bad_rows), (9, 1));
    assert_eq!(progress[0].sink.num_output_rows, 9);
    assert_eq!(
        progress[0].sources[0].end_offset,
        serde_json::json!({ "row": 10 })
    );
}

fn upkeep(world: &World) {
    crate::maintenance::pass(&world.engine().shared, &mut hashbrown::HashMap::new()).unwrap();
}

#[test]
fn upkeep_takes_away_nothing_that_is_still_read() {
    let mut world = World::with(EngineOptions {
        epochs_kept: 5,
        ..EngineOptions::default()
    });
    let (t, views) = diamond(&mut world);
    for n in 1..=60u64 {
        world.insert(&t, &[("k", 1, 0)]);
        if n % 3 == 0 {
            world.settle();
        } else {
            world.turn(&views[(n % 2) as usize]);
        }
        upkeep(&world);
        check_agreement(&world, &views);
        if n % 20 == 0 {
            world.restart(2);
            check_agreement(&world, &views);
        }
    }
    world.settle();
    assert_eq!(check_agreement(&world, &views), Some(60));
    upkeep(&world);
    let kept = world.epochs(&views[0]).len();
    assert!((5..=7).contains(&kept), "{kept} records kept");
    // A new view still finds everything.
    let late = world.view(9, "late", &total(&t));
    world.settle();
    assert_eq!(world.newest(&late), once(["60"]));
}

#[test]
fn cuts_never_go_back() {
    let mut world = World::new(1);
    let t = world.table(1, "t", None);
    let v = world.view(2, "v", &total(&t));
    let mut last = Cut::ZERO;
    for _ in 0..3 {
        world.insert(&t, &some_rows(1));
        world.settle();
        let cut = world.engine().query(v.id).unwrap().cut.unwrap();
        assert!(cut > last);
        last = cut;
        world.restart(1);
        assert!(world.engine().query(v.id).unwrap().cut.unwrap() >= last);
    }
    let batches = world.engine().shared.storage.batches(2, 0).unwrap();
    let cuts: Vec<Cut> = batches
        .iter()
        .map(|(_, bytes)| BatchRecord::decode(bytes).unwrap().cut)
        .collect();
    assert!(cuts.is_sorted() && cuts.len() == 3, "{cuts:?}");
}

#[test]
fn flush_without_views_or_news_returns_at_once() {
    let mut world = World::new(1);
    assert_eq!(
        world.engine().flush(FlushTarget::All, &|| false).unwrap(),
        FlushReport::default()
    );
    let t = world.table(1, "t", None);
    let v = world.view(2, "v", &total(&t));
    world.settle();
    assert_eq!(
        world.engine().flush(FlushTarget::View(v.id), &|| false).unwrap(),
        FlushReport::default()
    );
    // Nobody gives turns here, so the flush can only be cancelled.
    world.insert(&t, &some_rows(1));
    let asked = std::cell::Cell::new(0);
    let report = world.engine().flush(FlushTarget::All, &|| {
        asked.set(asked.get() + 1);
        asked.get() > 2
    });
    assert!(report.unwrap().cancelled);
}
