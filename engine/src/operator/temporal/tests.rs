//! When rows appear and go, with weights, late retractions and restarts.

use std::sync::Arc;

use arrow::array::{AsArray, Int64Array, RecordBatch, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef, TimeUnit};
use millpond_storage::ChangeBatch;

use super::TemporalFilter;
use crate::bound::Watermark;
use crate::epoch::{Epoch, OperatorContext};
use crate::operator::spec::{Rounding, TemporalBound, TemporalSpec, Turn};
use crate::operator::{Operator, Output};

const DAY: i64 = 86_400_000_000;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("ts", DataType::Timestamp(TimeUnit::Microsecond, None), true),
    ]))
}

/// Rows of number, time and weight.
fn changes(rows: &[(i64, Option<i64>, i64)]) -> ChangeBatch {
    let ids = Int64Array::from_iter_values(rows.iter().map(|row| row.0));
    let times: TimestampMicrosecondArray = rows.iter().map(|row| row.1).collect();
    let batch = RecordBatch::try_new(schema(), vec![Arc::new(ids), Arc::new(times)]).unwrap();
    ChangeBatch::new(batch, Int64Array::from_iter_values(rows.iter().map(|row| row.2)))
}

fn bound(turn: Turn, rounding: Rounding, offset_us: i64) -> TemporalBound {
    TemporalBound {
        column: 1,
        rounding,
        offset_us,
        turn,
    }
}

fn operator(bounds: &[TemporalBound]) -> TemporalFilter {
    TemporalFilter::new(TemporalSpec {
        input: schema(),
        bounds: bounds.to_vec(),
    })
    .unwrap()
}

fn at(now_us: i64) -> OperatorContext {
    OperatorContext {
        epoch: Epoch(0),
        processing_time_us: now_us,
        watermarks: [Watermark::default(); 2],
        worker: 0,
        workers: 1,
    }
}

/// One epoch; the changes that come out, by number.
fn epoch(operator: &mut TemporalFilter, now_us: i64, rows: &[(i64, Option<i64>, i64)]) -> Vec<(i64, i64)> {
    let mut output = Output::default();
    operator.begin(&at(now_us)).unwrap();
    if !rows.is_empty() {
        operator.push(0, changes(rows), &mut output).unwrap();
    }
    operator.seal(&at(now_us), &mut output).unwrap();
    let mut found = Vec::new();
    for batch in &output.changes {
        let ids = batch.rows().column(0).as_primitive::<Int64Type>();
        found.extend((0..batch.num_rows()).map(|row| (ids.value(row), batch.weight(row))));
    }
    found.sort_unstable();
    found
}

/// `ts > now() - 10`, as an operator.
fn for_ten() -> TemporalFilter {
    operator(&[bound(Turn::Goes, Rounding::None, 10)])
}

#[test]
fn rows_go_when_their_time_is_over() {
    let mut filter = for_ten();
    assert_eq!(
        epoch(
            &mut filter,
            100,
            &[(1, Some(95), 2), (2, Some(90), 1), (3, None, 1)]
        ),
        [(1, 2)]
    );
    assert_eq!(filter.metrics().due_us, Some(105));
    assert_eq!(epoch(&mut filter, 104, &[]), []);
    assert_eq!(epoch(&mut filter, 105, &[]), [(1, -2)]);
    let metrics = filter.metrics();
    assert_eq!((metrics.due_us, metrics.rows_total), (None, 0));
    // It is not shown any more, so there is nothing to take back.
    assert_eq!(epoch(&mut filter, 106, &[(1, Some(95), -2)]), []);
}

#[test]
fn a_row_is_taken_back_once() {
    let mut filter = for_ten();
    assert_eq!(epoch(&mut filter, 100, &[(1, Some(95), 2)]), [(1, 2)]);
    assert_eq!(epoch(&mut filter, 101, &[(1, Some(95), -1)]), [(1, -1)]);
    // Its end and its deletion in the same epoch.
    assert_eq!(epoch(&mut filter, 200, &[(1, Some(95), -1)]), [(1, -1)]);
    assert_eq!(epoch(&mut filter, 300, &[]), []);
}

#[test]
fn rows_appear_when_their_time_comes() {
    // ts <= now() AND ts > now() - 10
    let mut filter = operator(&[
        bound(Turn::Appears, Rounding::None, 0),
        bound(Turn::Goes, Rounding::None, 10),
    ]);
    assert_eq!(
        epoch(&mut filter, 100, &[(1, Some(120), 1), (2, Some(130), 1)]),
        []
    );
    assert_eq!(filter.metrics().due_us, Some(120));
    assert_eq!(epoch(&mut filter, 101, &[(2, Some(130), -1)]), []);
    assert_eq!(epoch(&mut filter, 120, &[]), [(1, 1)]);
    assert_eq!(epoch(&mut filter, 131, &[]), [(1, -1)]);
    // An epoch that comes too late for both shows nothing.
    assert_eq!(epoch(&mut filter, 140, &[(4, Some(150), 1)]), []);
    assert_eq!(epoch(&mut filter, 170, &[]), []);
}

#[test]
fn days_begin_at_midnight() {
    // ts >= current_date
    let mut filter = operator(&[bound(Turn::Goes, Rounding::Down, DAY)]);
    let noon = DAY / 2;
    assert_eq!(
        epoch(
            &mut filter,
            DAY + noon,
            &[(1, Some(DAY), 1), (2, Some(DAY - 1), 1), (3, Some(2 * DAY), 1)]
        ),
        [(1, 1), (3, 1)]
    );
    assert_eq!(epoch(&mut filter, 2 * DAY, &[]), [(1, -1)]);
    assert_eq!(epoch(&mut filter, 3 * DAY, &[]), [(3, -1)]);
}

#[test]
fn infinite_times_stay() {
    let mut filter = for_ten();
    assert_eq!(
        epoch(
            &mut filter,
            100,
            &[(1, Some(i64::MAX), 1), (2, Some(i64::MIN), 1)]
        ),
        [(1, 1)]
    );
    assert_eq!(filter.metrics().due_us, None);
}

#[test]
fn state_comes_back_as_it_was() {
    for full in [false, true] {
        let mut filter = for_ten();
        let mut state = Vec::new();
        for (now, rows) in [
            (100, vec![(1, Some(95), 1), (2, Some(99), 3)]),
            (106, vec![(2, Some(99), -1), (1, Some(95), -1)]),
        ] {
            epoch(&mut filter, now, &rows);
            if full {
                state.clear();
            }
            state.extend(filter.checkpoint(full).unwrap());
        }
        let mut again = for_ten();
        for batch in state {
            again.restore(&at(106), batch).unwrap();
        }
        again.restored(&at(106)).unwrap();
        assert_eq!(again.metrics().due_us, Some(109));
        assert_eq!(epoch(&mut again, 109, &[]), [(2, -2)]);
    }
}
