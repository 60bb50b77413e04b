//! What the watermarks of a query's inputs say about a time further up in its dataflow.
//!
//! A time that comes straight from an input is bounded by the watermark of that input. A row that waits in a join comes
//! out later than it went in, so the time is bounded by the watermark of the other side, minus what the join's condition
//! allows. A [`Bound`] is the least of such terms, and each operator goes by the bounds of the times it reads.

use crate::window::Micros;

/// The least of the watermarks of some inputs, each minus a lag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// Index into [`crate::dataflow::Dataflow::inputs`], and microseconds that may be negative. Ascending, each input once.
    terms: Vec<(usize, i64)>,
    /// Rows wait below for the watermark, and those that it sets free come in with the epoch that it begins: they are
    /// bounded by the watermark of the epoch before.
    released: bool,
    /// The processing time of the epoch, minus so many microseconds, is one of the terms.
    clock: Option<i64>,
}

/// What a bound says in an epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Watermark {
    /// No row with a time below it comes in any more once the epoch is over.
    pub closes: Option<i64>,
    /// No row with a time below it comes in during the epoch, but for late ones.
    pub late: Option<i64>,
}

/// What a column has to do with event time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeKind {
    /// No row is below the watermark, but for late ones.
    Event,
    /// The start or end of a window of this size over an event time with a watermark.
    WindowStart {
        size: i64,
    },
    WindowEnd {
        size: i64,
    },
}

impl TimeKind {
    /// By how much the column's values lie before the watermark when rows with them can still change. A window is final
    /// when its end is at the watermark.
    pub(crate) fn lag(self) -> i64 {
        match self {
            TimeKind::Event => 0,
            TimeKind::WindowStart { size } => size - 1,
            TimeKind::WindowEnd { .. } => -1,
        }
    }
}

/// A column of a query's result that a watermark bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultTime {
    pub column: usize,
    pub kind: TimeKind,
    /// By how much its bound may be behind the watermark of the result, in microseconds.
    pub lag_us: i64,
}

/// Which columns of a query's result a watermark bounds, and the watermark.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultTimes {
    pub columns: Vec<ResultTime>,
    /// The watermark of the result; `None` without such columns.
    pub bound: Option<Bound>,
}

impl ResultTimes {
    /// Of columns with their bounds: the watermark is one that each of them lags behind, by as little as may be.
    pub fn new(columns: &[(usize, TimeKind, Bound)]) -> Self {
        let mut terms: Vec<(usize, i64)> = Vec::new();
        for (input, lag) in columns.iter().flat_map(|(_, _, bound)| &bound.terms) {
            match terms.iter_mut().find(|(of, _)| of == input) {
                Some((_, least)) => *least = (*least).min(*lag),
                None => terms.push((*input, *lag)),
            }
        }
        terms.sort_unstable();
        let least = |input: usize| {
            terms
                .iter()
                .find(|(of, _)| *of == input)
                .map_or(0, |(_, lag)| *lag)
        };
        let times = columns.iter().map(|(column, kind, bound)| {
            let behind = bound.terms.iter().map(|(input, lag)| lag - least(*input));
            ResultTime {
                column: *column,
                kind: *kind,
                lag_us: behind.max().unwrap_or(0),
            }
        });
        Self {
            columns: times.collect(),
            bound: (!terms.is_empty()).then(|| Bound {
                terms: terms.clone(),
                released: false,
                clock: None,
            }),
        }
    }
}

impl Bound {
    pub fn of_input(input: usize) -> Self {
        Self {
            terms: vec![(input, 0)],
            released: false,
            clock: None,
        }
    }

    /// That of the processing time itself: no later epoch has an earlier one.
    pub fn of_clock() -> Self {
        Self {
            terms: Vec::new(),
            released: false,
            clock: Some(0),
        }
    }

    /// It moves when the clock does, and no watermark tells of it.
    pub fn has_clock(&self) -> bool {
        self.clock.is_some()
    }

    /// Both bounds hold for some of the rows each.
    pub fn and(&self, other: &Self) -> Self {
        let mut terms = self.terms.clone();
        for (input, lag) in &other.terms {
            match terms.iter_mut().find(|(of, _)| of == input) {
                Some((_, known)) => *known = (*known).max(*lag),
                None => terms.push((*input, *lag)),
            }
        }
        terms.sort_unstable();
        Self {
            terms,
            released: self.released || other.released,
            clock: self.clock.max(other.clock),
        }
    }

    /// The bound of times that are up to `us` before those of this bound.
    pub fn lagging(&self, us: i64) -> Self {
        let terms = self.terms.iter();
        Self {
            terms: terms
                .map(|(input, lag)| (*input, lag.saturating_add(us)))
                .collect(),
            released: self.released,
            clock: self.clock.map(|lag| lag.saturating_add(us)),
        }
    }

    /// The bound of rows that come out when the watermark sets them free.
    pub fn released(&self) -> Self {
        Self {
            terms: self.terms.clone(),
            released: true,
            clock: self.clock,
        }
    }

    /// Rows come in later than the epoch whose watermark they are bounded by.
    pub fn is_released(&self) -> bool {
        self.released
    }

    /// The inputs whose watermarks matter.
    pub fn inputs(&self) -> impl Iterator<Item = usize> + '_ {
        self.terms.iter().map(|(input, _)| *input)
    }

    /// The value, given the watermark of each input; `None` while one of them has not seen a time. The clock is left out.
    pub fn value(&self, inputs: &[Option<i64>]) -> Option<i64> {
        self.terms
            .iter()
            .map(|(input, lag)| inputs[*input].map(|watermark| watermark.saturating_sub(*lag)))
            .reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b)))
            .flatten()
    }

    /// What the bound says in an epoch, given the watermarks of the epoch and of the one before, and its processing time.
    pub fn watermark(&self, inputs: &[Option<i64>], before: &[Option<i64>], now_us: i64) -> Watermark {
        if let Some(lag) = self.clock {
            let now = Some(now_us.saturating_sub(lag));
            let closes = match self.terms.is_empty() {
                true => now,
                false => self.value(inputs).zip(now).map(|(value, now)| value.min(now)),
            };
            // When the epoch before was is not known here; nothing that the clock releases comes in late.
            let late = closes.filter(|_| !self.released);
            return Watermark { closes, late };
        }
        let closes = self.value(inputs);
        Watermark {
            closes,
            late: if self.released { self.value(before) } else { closes },
        }
    }

    /// In words, with the name of each input.
    pub fn describe(&self, name: &dyn Fn(usize) -> String) -> String {
        let term = |(input, lag): &(usize, i64)| match lag {
            0 => format!("watermark of {}", name(*input)),
            lag if *lag > 0 => format!("watermark of {} - {}", name(*input), Micros(*lag)),
            lag => format!("watermark of {} + {}", name(*input), Micros(lag.saturating_neg())),
        };
        let clock = self.clock.map(|lag| match lag {
            0 => "processing time".to_owned(),
            lag => format!("processing time - {}", Micros(lag)),
        });
        let mut terms: Vec<String> = self.terms.iter().map(term).chain(clock).collect();
        match terms.len() {
            1 => terms.remove(0),
            _ => format!("least of ({})", terms.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_a_result_lag_behind_its_watermark() {
        let (early, late) = (
            Bound::of_input(0).and(&Bound::of_input(1).lagging(60)),
            Bound::of_input(0).lagging(5).and(&Bound::of_input(1)),
        );
        let times = ResultTimes::new(&[(3, TimeKind::Event, early), (4, TimeKind::Event, late)]);
        assert_eq!(times.bound.unwrap().value(&[Some(7), Some(9)]), Some(7));
        assert_eq!(
            times.columns.iter().map(|time| time.lag_us).collect::<Vec<_>>(),
            [60, 5]
        );
        assert_eq!(ResultTimes::new(&[]), ResultTimes::default());
    }

    #[test]
    fn the_slowest_input_decides_and_a_lag_is_taken_off() {
        let bound = Bound::of_input(0).and(&Bound::of_input(2).lagging(5));
        assert_eq!(bound.value(&[Some(10), None, Some(12)]), Some(7));
        assert_eq!(bound.value(&[Some(3), None, Some(12)]), Some(3));
        assert_eq!(bound.value(&[Some(3), Some(1), None]), None);
        assert_eq!(bound.value(&[Some(3), None, Some(i64::MIN)]), Some(i64::MIN));
    }

    #[test]
    fn an_input_that_counts_twice_counts_with_its_greater_lag() {
        let bound = Bound::of_input(0).lagging(2).and(&Bound::of_input(0).lagging(-1));
        assert_eq!(bound, Bound::of_input(0).lagging(2));
    }

    #[test]
    fn rows_that_are_released_are_late_by_the_epoch_before() {
        let bound = Bound::of_input(0);
        let (now, before) = ([Some(10)], [Some(4)]);
        let watermark = |closes, late| Watermark { closes, late };
        assert_eq!(bound.watermark(&now, &before, 0), watermark(Some(10), Some(10)));
        assert_eq!(
            bound.released().watermark(&now, &before, 0),
            watermark(Some(10), Some(4))
        );
        assert_eq!(
            bound.released().watermark(&now, &[None], 0),
            watermark(Some(10), None)
        );
    }

    #[test]
    fn the_clock_counts_as_a_watermark_that_only_the_epoch_knows() {
        let bound = Bound::of_clock().lagging(3);
        let both = |us| Watermark {
            closes: Some(us),
            late: Some(us),
        };
        assert_eq!(bound.watermark(&[], &[], 10), both(7));
        assert_eq!(bound.value(&[]), None);
        let and = bound.and(&Bound::of_input(0));
        assert_eq!(and.watermark(&[Some(5)], &[None], 10), both(5));
        assert_eq!(and.watermark(&[Some(9)], &[None], 10), both(7));
        assert_eq!(and.watermark(&[None], &[None], 10), Watermark::default());
        assert!(and.has_clock() && !Bound::of_input(0).has_clock());
    }
}
