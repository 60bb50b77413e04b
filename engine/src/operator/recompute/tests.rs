//! The operator by itself: which rows it keeps, in which order, and what comes out.

use std::sync::Arc;

use arrow::array::{Array, AsArray, Float64Array, Int64Array, RecordBatch};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema, SchemaRef, UInt64Type};
use millpond_storage::ChangeBatch;

use crate::bound::Watermark;
use crate::epoch::{Epoch, OperatorContext};
use crate::operator::recompute::Recompute;
use crate::operator::recompute::keyed_rows::KeyedRows;
use crate::operator::recompute::spec::{Computation, FirstRows, OrderColumn, Ranking, RecomputeSpec};
use crate::operator::{Operator, Output};

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("g", DataType::Int64, true),
        Field::new("v", DataType::Float64, true),
    ]))
}

fn rows(rows: &[(i64, f64)]) -> RecordBatch {
    let groups = Int64Array::from_iter_values(rows.iter().map(|row| row.0));
    let values = Float64Array::from_iter_values(rows.iter().map(|row| row.1));
    RecordBatch::try_new(schema(), vec![Arc::new(groups), Arc::new(values)]).unwrap()
}

/// The rows numbered up to `to` by descending `v`, per `g`.
fn spec(ranking: Ranking, to: u64, append_only: bool) -> Arc<RecomputeSpec> {
    let mut fields: Vec<Field> = schema()
        .fields()
        .iter()
        .map(|field| field.as_ref().clone())
        .collect();
    fields.push(Field::new("n", DataType::UInt64, true));
    Arc::new(RecomputeSpec {
        input: schema(),
        keys: vec![0],
        order: vec![OrderColumn {
            column: 1,
            options: SortOptions::new(true, false),
        }],
        closing: None,
        by_clock: false,
        computation: Computation::First(FirstRows {
            ranking,
            from: 1,
            to: Some(to),
            columns: vec![0, 1],
            numbered: true,
        }),
        append_only,
        final_only: false,
        output: Arc::new(Schema::new(fields)),
        fail_on_error: false,
        description: String::new(),
    })
}

fn context() -> OperatorContext {
    OperatorContext {
        epoch: Epoch(1),
        processing_time_us: 0,
        watermarks: [Watermark::default(); 2],
        worker: 0,
        workers: 1,
    }
}

/// One epoch; what comes out as (group, value, number, weight), sorted.
fn run(operator: &mut Recompute, changes: ChangeBatch) -> Vec<(i64, f64, u64, i64)> {
    let mut output = Output::default();
    operator.begin(&context()).unwrap();
    operator.push(0, changes, &mut output).unwrap();
    operator.seal(&context(), &mut output).unwrap();
    let mut out = Vec::new();
    for changes in &output.changes {
        let columns = changes.rows();
        for row in 0..changes.num_rows() {
            out.push((
                columns.column(0).as_primitive::<Int64Type>().value(row),
                columns.column(1).as_primitive::<Float64Type>().value(row),
                columns.column(2).as_primitive::<UInt64Type>().value(row),
                changes.weight(row),
            ));
        }
    }
    out.sort_by(|a, b| a.partial_cmp(b).unwrap());
    out
}

#[test]
fn only_what_changes_comes_out() {
    let mut operator = Recompute::new(spec(Ranking::Rank, 2, false), "first0").unwrap();
    let first = run(
        &mut operator,
        ChangeBatch::insertions(rows(&[(1, 5.0), (1, 5.0), (1, 4.0), (2, 9.0)])),
    );
    assert_eq!(first, [(1, 5.0, 1, 2), (2, 9.0, 1, 1)]);
    // One of the two leaders goes, and the next row takes its place; group 2 is not touched.
    let second = run(&mut operator, ChangeBatch::retractions(rows(&[(1, 5.0)])));
    assert_eq!(second, [(1, 4.0, 2, 1), (1, 5.0, 1, -1)]);
    let third = run(&mut operator, ChangeBatch::insertions(rows(&[(1, 3.0)])));
    assert!(third.is_empty());
}

#[test]
fn rows_that_can_never_come_first_are_forgotten() {
    let values = [(1, 1.0), (1, 2.0), (1, 3.0), (1, 3.0), (1, 9.0), (2, 0.5)];
    for (append_only, kept) in [(true, 3), (false, 5)] {
        let mut operator = Recompute::new(spec(Ranking::RowNumber, 2, append_only), "first0").unwrap();
        let first = run(&mut operator, ChangeBatch::insertions(rows(&values)));
        assert_eq!(first, [(1, 3.0, 2, 1), (1, 9.0, 1, 1), (2, 0.5, 1, 1)]);
        assert_eq!(operator.metrics().rows_total, kept);
        // State has the shape of input, and is forgotten alike when it is taken back.
        let state = operator.checkpoint(false).unwrap();
        let mut restored = Recompute::new(spec(Ranking::RowNumber, 2, append_only), "first0").unwrap();
        for batch in state {
            restored.restore(&context(), batch).unwrap();
        }
        restored.restored(&context()).unwrap();
        assert_eq!(restored.metrics().rows_total, kept);
        let next = run(&mut restored, ChangeBatch::insertions(rows(&[(1, 4.0)])));
        assert_eq!(next, [(1, 3.0, 2, -1), (1, 4.0, 2, 1)]);
        let full = restored.checkpoint(true).unwrap();
        assert_eq!(full.len(), 1);
    }
}

#[test]
fn both_zeros_are_one_row_and_so_are_all_nans() {
    let mut state = KeyedRows::new(&spec(Ranking::Rank, 1, false)).unwrap();
    let negative_nan = f64::from_bits(f64::NAN.to_bits() | 1 << 63);
    let batch = rows(&[(1, -0.0), (1, 0.0), (1, negative_nan), (1, f64::NAN)]);
    state.apply(&ChangeBatch::insertions(batch)).unwrap();
    assert_eq!(state.len(), 2);
    // As the first of them came; NaN is the greatest.
    let all = state.all().unwrap();
    let values = all.rows().column(1).as_primitive::<Float64Type>();
    assert!(values.value(0).is_nan() && values.value(1).is_sign_negative());
    state
        .apply(&ChangeBatch::retractions(rows(&[
            (1, 0.0),
            (1, 0.0),
            (1, f64::NAN),
            (1, f64::NAN),
        ])))
        .unwrap();
    assert_eq!((state.len(), state.memory()), (0, 0));
}

#[test]
fn a_group_ends_where_the_next_begins() {
    let mut state = KeyedRows::new(&spec(Ranking::Rank, 1, false)).unwrap();
    let batch = rows(&[
        (-1, 1.0),
        (0, 1.0),
        (255, 2.0),
        (255, 3.0),
        (256, 1.0),
        (i64::MAX, 4.0),
    ]);
    state.apply(&ChangeBatch::insertions(batch.clone())).unwrap();
    let groups = state.groups(&batch).unwrap();
    assert_eq!(groups, state.all_groups());
    let lengths: Vec<usize> = groups.iter().map(|group| state.group(group).count()).collect();
    assert_eq!(lengths, [1, 1, 2, 1, 1]);
    let decoded = state.decode(state.group(&groups[2])).unwrap();
    assert_eq!(decoded, rows(&[(255, 3.0), (255, 2.0)]));
    assert_eq!(decoded.column(0).null_count(), 0);
}
