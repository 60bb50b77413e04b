//! Batches in, batches out: every kind of join against the definition of the join, over random changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion::common::JoinType;
use datafusion::logical_expr::Operator as BinaryOperator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, binary};
use millpond_storage::ChangeBatch;

use super::Join;
use crate::bound::Watermark;
use crate::epoch::{Epoch, OperatorContext};
use crate::operator::spec::{JoinFilter, JoinSpec};
use crate::operator::{Operator, Output, StateBatch};

const KINDS: [JoinType; 10] = [
    JoinType::Inner,
    JoinType::Left,
    JoinType::Right,
    JoinType::Full,
    JoinType::LeftSemi,
    JoinType::RightSemi,
    JoinType::LeftAnti,
    JoinType::RightAnti,
    JoinType::LeftMark,
    JoinType::RightMark,
];

/// A row of one side: key and value.
type Row = (Option<i64>, i64);
/// Rows with how often they are there.
type Bag<T> = BTreeMap<T, i64>;

const CONTEXT: OperatorContext = OperatorContext {
    epoch: Epoch(1),
    processing_time_us: 0,
    watermarks: [Watermark {
        closes: None,
        late: None,
    }; 2],
    worker: 0,
    workers: 1,
};

fn side_schema(prefix: &str) -> SchemaRef {
    let field = |name: &str| Field::new(format!("{prefix}{name}"), DataType::Int64, true);
    Arc::new(Schema::new(vec![field("k"), field("v")]))
}

/// `ON l.k = r.k`, where `keyed`; `AND l.v < r.v`, where `filtered`.
fn spec(kind: JoinType, keyed: bool, filtered: bool, nulls_match: bool) -> Arc<JoinSpec> {
    let inputs = [side_schema("l"), side_schema("r")];
    let mark = Arc::new(Field::new("mark", DataType::Boolean, false));
    let fields = |side: usize| inputs[side].fields().iter().cloned().collect::<Vec<_>>();
    let output = match kind {
        JoinType::LeftSemi | JoinType::LeftAnti => fields(0),
        JoinType::RightSemi | JoinType::RightAnti => fields(1),
        JoinType::LeftMark => [fields(0), vec![mark]].concat(),
        JoinType::RightMark => [fields(1), vec![mark]].concat(),
        _ => [fields(0), fields(1)].concat(),
    };
    let values = Arc::new(Schema::new(vec![
        Field::new("lv", DataType::Int64, true),
        Field::new("rv", DataType::Int64, true),
    ]));
    let column = |name: &str, position| Arc::new(Column::new(name, position)) as Arc<dyn PhysicalExpr>;
    let less = binary(column("lv", 0), BinaryOperator::Lt, column("rv", 1), &values).unwrap();
    let keys = if keyed { vec![0] } else { vec![] };
    Arc::new(JoinSpec {
        kind,
        widths: [2, 2],
        keys: [keys.clone(), keys],
        nulls_match,
        filter: filtered.then_some(JoinFilter {
            columns: vec![(0, 1), (1, 1)],
            schema: values,
            predicate: less,
        }),
        times: None,
        passing: None,
        output: Arc::new(Schema::new(output)),
        inputs,
        fail_on_error: false,
    })
}

fn batch(spec: &JoinSpec, side: usize, changes: &[(Row, i64)]) -> ChangeBatch {
    let keys = Int64Array::from_iter(changes.iter().map(|(row, _)| row.0));
    let values = Int64Array::from_iter_values(changes.iter().map(|(row, _)| row.1));
    let columns: Vec<ArrayRef> = vec![Arc::new(keys), Arc::new(values)];
    let rows = RecordBatch::try_new(Arc::clone(&spec.inputs[side]), columns).unwrap();
    ChangeBatch::new(
        rows,
        changes
            .iter()
            .map(|(_, weight)| *weight)
            .collect::<Vec<_>>()
            .into(),
    )
}

/// Output rows as optional numbers, a mark as 0 or 1.
fn add(result: &mut Bag<Vec<Option<i64>>>, output: &Output) {
    for changes in &output.changes {
        for row in 0..changes.num_rows() {
            let value = |column: &ArrayRef| match column.data_type() {
                DataType::Boolean => Some(i64::from(column.as_boolean().value(row))),
                _ => column
                    .is_valid(row)
                    .then(|| column.as_primitive::<Int64Type>().value(row)),
            };
            let row_values = changes.rows().columns().iter().map(value).collect();
            *result.entry(row_values).or_default() += changes.weight(row);
        }
    }
    result.retain(|_, weight| *weight != 0);
}

/// The join by its definition.
fn expected(spec: &JoinSpec, sides: &[Bag<Row>; 2]) -> Bag<Vec<Option<i64>>> {
    let matches = |l: &Row, r: &Row| {
        let key = spec.keys[0].is_empty() || l.0 == r.0 && (l.0.is_some() || spec.nulls_match);
        key && (spec.filter.is_none() || l.1 < r.1)
    };
    let values = |row: &Row| vec![row.0, Some(row.1)];
    let mut result = Bag::new();
    let mut put = |row: Vec<Option<i64>>, weight| *result.entry(row).or_default() += weight;
    if spec.has_pairs() {
        for (l, l_weight) in &sides[0] {
            for (r, r_weight) in sides[1].iter().filter(|(r, _)| matches(l, r)) {
                put([values(l), values(r)].concat(), l_weight * r_weight);
            }
        }
    }
    for (side, rows) in sides.iter().enumerate() {
        for (row, weight) in rows {
            let matched = sides[1 - side].keys().any(|other| {
                if side == 0 {
                    matches(row, other)
                } else {
                    matches(other, row)
                }
            });
            let nothing = vec![None, None];
            match (spec.kind, side, matched) {
                (JoinType::Left | JoinType::Full, 0, false) => put([values(row), nothing].concat(), *weight),
                (JoinType::Right | JoinType::Full, 1, false) => put([nothing, values(row)].concat(), *weight),
                (JoinType::LeftSemi, 0, true)
                | (JoinType::RightSemi, 1, true)
                | (JoinType::LeftAnti, 0, false)
                | (JoinType::RightAnti, 1, false) => put(values(row), *weight),
                (JoinType::LeftMark, 0, _) | (JoinType::RightMark, 1, _) => {
                    put([values(row), vec![Some(i64::from(matched))]].concat(), *weight);
                }
                _ => {}
            }
        }
    }
    result
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn row(&mut self) -> Row {
        let key = self.below(5);
        ((key > 0).then_some(key as i64), self.below(4) as i64)
    }
}

/// Changes that leave no row with a negative weight; among them rows that come and go at once.
fn random_changes(bag: &mut Bag<Row>, dice: &mut Dice) -> Vec<(Row, i64)> {
    let mut changes = Vec::new();
    for _ in 0..dice.below(6) {
        let (row, times) = (dice.row(), dice.below(2) as i64 + 1);
        changes.push((row, times));
        *bag.entry(row).or_default() += times;
    }
    for (row, weight) in bag.iter_mut() {
        match dice.below(5) {
            0 => changes.push((*row, -std::mem::take(weight))),
            1 => {
                changes.push((*row, -1));
                *weight -= 1;
            }
            _ => {}
        }
    }
    bag.retain(|_, weight| *weight != 0);
    // A retraction may come before its insertion.
    if dice.below(2) == 0 {
        changes.reverse();
    }
    changes.retain(|(_, weight)| *weight != 0);
    changes
}

/// Runs random epochs, with restarts in between; the result must follow the definition.
fn check(spec: &Arc<JoinSpec>, seed: u64) {
    let mut dice = Dice(seed);
    let mut join = Join::new(Arc::clone(spec), "join0").unwrap();
    let mut sides = [Bag::new(), Bag::new()];
    let mut result = Bag::new();
    let mut state: Vec<StateBatch> = Vec::new();
    for epoch in 0..25 {
        let mut output = Output::default();
        join.begin(&CONTEXT).unwrap();
        let first = dice.below(2) as usize;
        for side in [first, 1 - first] {
            let changes = random_changes(&mut sides[side], &mut dice);
            for part in changes.chunks(3) {
                join.push(side, batch(spec, side, part), &mut output).unwrap();
            }
        }
        join.seal(&CONTEXT, &mut output).unwrap();
        let full = dice.below(5) == 0;
        if full {
            state.clear();
        }
        state.extend(join.checkpoint(full).unwrap());
        add(&mut result, &output);
        assert_eq!(
            result,
            expected(spec, &sides),
            "{spec}, seed {seed}, epoch {epoch}"
        );
        if dice.below(4) == 0 {
            join = Join::new(Arc::clone(spec), "join0").unwrap();
            for batch in &state {
                join.restore(&CONTEXT, batch.clone()).unwrap();
            }
            join.restored(&CONTEXT).unwrap();
        }
    }
}

#[test]
fn every_kind_follows_its_definition() {
    for kind in KINDS {
        for (keyed, filtered, nulls_match) in [
            (true, false, false),
            (true, true, false),
            (true, false, true),
            (true, true, true),
            (false, false, false),
            (false, true, false),
        ] {
            for seed in 0..12 {
                check(&spec(kind, keyed, filtered, nulls_match), seed);
            }
        }
    }
}

/// One epoch with these changes; what comes out.
fn epoch(join: &mut Join, spec: &JoinSpec, changes: [&[(Row, i64)]; 2]) -> Bag<Vec<Option<i64>>> {
    let mut output = Output::default();
    join.begin(&CONTEXT).unwrap();
    for (side, changes) in changes.into_iter().enumerate() {
        join.push(side, batch(spec, side, changes), &mut output).unwrap();
    }
    join.seal(&CONTEXT, &mut output).unwrap();
    let mut result = Bag::new();
    add(&mut result, &output);
    result
}

#[test]
fn a_partner_that_is_replaced_leaves_the_kept_row_alone() {
    let spec = spec(JoinType::Left, true, false, false);
    let mut join = Join::new(Arc::clone(&spec), "join0").unwrap();
    epoch(&mut join, &spec, [&[((Some(1), 7), 1)], &[((Some(1), 8), 1)]]);
    // The NULL-extended row is not part of an update of the partner.
    let changes = epoch(&mut join, &spec, [&[], &[((Some(1), 8), -1), ((Some(1), 9), 1)]]);
    let pair = |value| vec![Some(1), Some(7), Some(1), Some(value)];
    assert_eq!(changes, Bag::from([(pair(8), -1), (pair(9), 1)]));
    let changes = epoch(&mut join, &spec, [&[], &[((Some(1), 9), -1)]]);
    assert_eq!(
        changes,
        Bag::from([(pair(9), -1), (vec![Some(1), Some(7), None, None], 1)])
    );
}

#[test]
fn the_dead_are_buried_and_found_again() {
    let spec = spec(JoinType::Full, true, true, false);
    let mut join = Join::new(Arc::clone(&spec), "join0").unwrap();
    let many = |weight: i64| (0..10_000).map(|i| ((Some(i), i), weight)).collect::<Vec<_>>();
    let (inserted, retracted) = (many(1), many(-1));
    let right = [((Some(3), 100), 1)];
    let mut result = Bag::new();
    for changes in [&inserted, &retracted, &inserted] {
        let right: &[(Row, i64)] = if result.is_empty() { &right } else { &[] };
        for (row, weight) in epoch(&mut join, &spec, [changes, right]) {
            *result.entry(row).or_default() += weight;
        }
        if std::ptr::eq(changes, &retracted) {
            assert_eq!((join.sides[0].weights.len(), join.keys.len()), (0, 1));
        }
    }
    result.retain(|_, weight| *weight != 0);
    assert_eq!(result.len(), 10_000);
    assert_eq!(result[&vec![Some(3), Some(3), Some(3), Some(100)]], 1);
    assert_eq!(join.metrics().rows_total, 10_001);
}
