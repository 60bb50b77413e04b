//! Time in joins: which bounds a condition sets between the event times of two sides, and what follows from them.
//!
//! Bounds are found in ordinary predicates that compare sums of times and intervals: `b.ts BETWEEN a.ts AND a.ts +
//! INTERVAL '1 hour'`, `b.ts - a.ts < INTERVAL '5 minutes'`, `a.window_start = b.window_start`. They hold for pairs of
//! columns that a watermark bounds; the pair that bounds most is the one that the join goes by.

use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::logical_plan::Join;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator};

use crate::error::Result;
use crate::lower::Lowering;
use crate::lower::stream::{Stream, Time};
use crate::lower::zone_shift;

/// What the planner makes of `time - time`.
pub(super) const TIMESTAMP_DIFFERENCE: &str = "timestamp_difference";
/// What the planner compares in place of intervals: their nanoseconds, as a numeric.
pub(super) const INTERVAL_LENGTH: &str = "interval_length";
/// What the planner makes of `time AT TIME ZONE zone`.
const AT_TIME_ZONE: &str = "timezone";
const DAY_US: i64 = 86_400_000_000;
/// Longer bounds are none.
const BOUND_US_MAX: i64 = i64::MAX / 8;

/// How far apart the times of matching rows are: the right one minus the left one, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Distance {
    pub least: Option<i64>,
    pub most: Option<i64>,
}

/// Two columns, by position in their side, whose distance a condition bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimePair {
    pub columns: [usize; 2],
    pub distance: Distance,
}

impl Distance {
    fn and(self, other: Self) -> Self {
        let tighter = |a: Option<i64>, b: Option<i64>, choose: fn(i64, i64) -> i64| match (a, b) {
            (Some(a), Some(b)) => Some(choose(a, b)),
            (a, b) => a.or(b),
        };
        Self {
            least: tighter(self.least, other.least, i64::max),
            most: tighter(self.most, other.most, i64::min),
        }
    }

    fn bounds(self) -> usize {
        usize::from(self.least.is_some()) + usize::from(self.most.is_some())
    }
}

/// A sum of columns, each added or taken off, and a duration that is known to lie between two.
#[derive(Debug, Clone, Default)]
struct Sum {
    /// Position among the columns of both sides, and sign.
    columns: Vec<(usize, i64)>,
    least: i64,
    most: i64,
}

impl Sum {
    fn of(expr: &Expr, schema: &DFSchema) -> Option<Sum> {
        match expr {
            Expr::Column(column) => Some(Sum {
                columns: vec![(schema.maybe_index_of_column(column)?, 1)],
                ..Sum::default()
            }),
            Expr::Alias(alias) => Sum::of(&alias.expr, schema),
            Expr::Literal(value, _) => {
                let (least, most) = duration(value)?;
                Some(Sum {
                    columns: Vec::new(),
                    least,
                    most,
                })
            }
            Expr::Negative(expr) => Some(Sum::of(expr, schema)?.negated()),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let (left, right) = (Sum::of(left, schema)?, Sum::of(right, schema)?);
                match op {
                    Operator::Plus => left.plus(right),
                    Operator::Minus => left.plus(right.negated()),
                    _ => None,
                }
            }
            Expr::ScalarFunction(call) if call.name() == INTERVAL_LENGTH => {
                Sum::of(call.args.first()?, schema)
            }
            Expr::ScalarFunction(call) if call.name() == TIMESTAMP_DIFFERENCE => {
                let [left, right] = call.args.as_slice() else {
                    return None;
                };
                Sum::of(left, schema)?.plus(Sum::of(right, schema)?.negated())
            }
            Expr::ScalarFunction(call) if call.name() == AT_TIME_ZONE => {
                let [zone @ Expr::Literal(..), time] = call.args.as_slice() else {
                    return None;
                };
                let data_type = time.get_type(schema).ok()?;
                let (least, most) = zone_shift::bounds(&call.func, zone, data_type)?;
                Sum::of(time, schema)?.plus(Sum {
                    columns: Vec::new(),
                    least,
                    most,
                })
            }
            // The difference of two times, as another type of duration.
            Expr::Cast(cast) => {
                let sum = Sum::of(&cast.expr, schema)?;
                (sum.columns.iter().map(|(_, sign)| sign).sum::<i64>() == 0).then_some(sum)
            }
            _ => None,
        }
    }

    fn negated(mut self) -> Sum {
        self.columns.iter_mut().for_each(|(_, sign)| *sign = -*sign);
        (self.least, self.most) = (-self.most, -self.least);
        self
    }

    fn plus(mut self, other: Sum) -> Option<Sum> {
        self.columns.extend(other.columns);
        self.least = self.least.checked_add(other.least)?;
        self.most = self.most.checked_add(other.most)?;
        let bounded = |us: i64| us.abs() <= BOUND_US_MAX;
        (bounded(self.least) && bounded(self.most)).then_some(self)
    }
}

/// The microseconds of an interval, at least and at most: a month has 28 to 31 days.
pub(super) fn duration(value: &ScalarValue) -> Option<(i64, i64)> {
    let (months, days, nanos) = match value {
        ScalarValue::IntervalMonthDayNano(Some(interval)) => {
            (interval.months, interval.days, interval.nanoseconds)
        }
        ScalarValue::IntervalDayTime(Some(interval)) => {
            (0, interval.days, i64::from(interval.milliseconds) * 1_000_000)
        }
        ScalarValue::DurationMicrosecond(Some(us)) => return Some((*us, *us)),
        // The length of a constant interval.
        ScalarValue::Decimal128(Some(ns), _, 0) => {
            let (least, most) = (ns.div_euclid(1000), -(-ns).div_euclid(1000));
            return Some((i64::try_from(least).ok()?, i64::try_from(most).ok()?));
        }
        ScalarValue::DurationNanosecond(Some(ns)) => {
            return Some((ns.div_euclid(1000), -(-ns).div_euclid(1000)));
        }
        _ => return None,
    };
    let fixed = i64::from(days).checked_mul(DAY_US)?;
    let least = fixed.checked_add(nanos.div_euclid(1000))?;
    let most = fixed.checked_add(-nanos.checked_neg()?.div_euclid(1000))?;
    let [short, long] = [28, 31].map(|days| i64::from(months).checked_mul(days * DAY_US));
    let (short, long) = (short?, long?);
    Some((
        least.checked_add(short.min(long))?,
        most.checked_add(short.max(long))?,
    ))
}

/// What `left op right` says about the distance of a pair of columns, one of each side.
fn comparison(left: &Expr, op: Operator, right: &Expr, both: &DFSchema, width: usize) -> Option<TimePair> {
    let sum = Sum::of(left, both)?.plus(Sum::of(right, both)?.negated())?;
    let [(a, a_sign), (b, b_sign)] = sum.columns.as_slice() else {
        return None;
    };
    let (l, l_sign, r) = if a < b {
        (*a, *a_sign, *b)
    } else {
        (*b, *b_sign, *a)
    };
    if l >= width || r < width || a_sign + b_sign != 0 {
        return None;
    }
    // The sum is the distance, or its negative, plus a duration.
    let positive = l_sign < 0;
    let at_most = |strict: i64| {
        // distance + c <= 0, or c - distance <= 0
        match positive {
            true => Distance {
                least: None,
                most: Some(-sum.least - strict),
            },
            false => Distance {
                least: Some(sum.least + strict),
                most: None,
            },
        }
    };
    let at_least = |strict: i64| match positive {
        true => Distance {
            least: Some(-sum.most + strict),
            most: None,
        },
        false => Distance {
            least: None,
            most: Some(sum.most - strict),
        },
    };
    let distance = match op {
        Operator::Lt => at_most(1),
        Operator::LtEq => at_most(0),
        Operator::Gt => at_least(1),
        Operator::GtEq => at_least(0),
        Operator::Eq => at_most(0).and(at_least(0)),
        _ => return None,
    };
    Some(TimePair {
        columns: [l, r - width],
        distance,
    })
}

/// The distances between event times of the two sides that the join's condition bounds.
pub(super) fn pairs(join: &Join, left: &Stream, right: &Stream) -> Result<Vec<TimePair>> {
    let (l, r) = (join.left.schema(), join.right.schema());
    let fields = l.iter().chain(r.iter()).map(|(q, f)| (q.cloned(), f.clone()));
    let both = DFSchema::new_with_metadata(fields.collect(), l.metadata().clone())?;
    let width = l.fields().len();
    let mut found: Vec<TimePair> = Vec::new();
    let mut note = |left_expr: &Expr, op: Operator, right_expr: &Expr| {
        let Some(pair) = comparison(left_expr, op, right_expr, &both, width) else {
            return;
        };
        let [l, r] = pair.columns;
        if left.times[l].is_none() || right.times[r].is_none() {
            return;
        }
        match found.iter_mut().find(|known| known.columns == pair.columns) {
            Some(known) => known.distance = known.distance.and(pair.distance),
            None => found.push(pair),
        }
    };
    if join.null_equality == datafusion::common::NullEquality::NullEqualsNothing {
        for (l, r) in &join.on {
            note(l, Operator::Eq, r);
        }
    }
    for predicate in join.filter.iter().flat_map(split_conjunction) {
        match predicate {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => note(left, *op, right),
            Expr::Between(between) if !between.negated => {
                note(&between.expr, Operator::GtEq, &between.low);
                note(&between.expr, Operator::LtEq, &between.high);
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The pair that a join goes by: one that bounds the distance in both directions, if there is any.
pub(super) fn best(pairs: &[TimePair]) -> Option<TimePair> {
    let bounds = |pair: &&TimePair| pair.distance.bounds();
    pairs.iter().rev().max_by_key(bounds).copied()
}

/// A column that a duration is added to, by position, and the least that the duration may be.
pub(super) fn shifted_time(expr: &Expr, schema: &DFSchema) -> Option<(usize, i64)> {
    let sum = Sum::of(expr, schema)?;
    match sum.columns.as_slice() {
        [(column, 1)] => Some((*column, sum.least)),
        _ => None,
    }
}

impl Lowering<'_> {
    /// The times of one side's columns after a join. A row waits for its partner, so its time comes out as late as the
    /// other side's watermark and the distance allow.
    pub(super) fn times_after_join(
        &mut self,
        side: usize,
        streams: [&Stream; 2],
        pairs: &[TimePair],
        released: Option<usize>,
    ) -> Vec<Option<Time>> {
        let own = streams[side].times.clone();
        let times = own.into_iter().enumerate().map(|(column, time)| {
            let time = time?;
            if released.is_some_and(|released| released != column) {
                return None;
            }
            let pair = pairs.iter().find_map(|pair| {
                let reach = match side {
                    0 => pair.distance.most,
                    _ => pair.distance.least.map(|least| -least),
                };
                Some((pair.columns[1 - side], reach?)).filter(|_| pair.columns[side] == column)
            });
            let (partner, reach) = pair?;
            let other = self.bounds.as_event(streams[1 - side].times[partner]?);
            let waiting = self.bounds.get(other).lagging(reach - time.kind.lag());
            let bound = self.bounds.get(time.bound).and(&waiting);
            let bound = match released {
                Some(_) => bound.released(),
                None => bound,
            };
            Some(Time {
                kind: time.kind,
                bound: self.bounds.id(bound),
            })
        });
        times.collect()
    }
}
