//! Which windows a moment belongs to: one rule for streaming and one-off queries.
//!
//! A window is `[start, start + size)`, and its start is a multiple of `slide` after 1970-01-01 00:00 UTC plus `offset`,
//! also before 1970. A moment's windows are consecutive, so they are named by the latest start and how many there are
//! from there backwards.
//!
//! Windows that cumulate share a start and grow by a step: each is named by its last step, `size` long, so that one is
//! final when its last step is, and the next longer one is that of the next step. Moments without a window (the infinities, and those whose window cannot be represented) are
//! treated like NULL.

use std::fmt;

use datafusion::common::plan_err;
use datafusion::error::Result;

/// A rule that assigns windows; microseconds throughout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowRule {
    size: i64,
    slide: i64,
    offset: i64,
    /// Windows cumulate up to this size, a multiple of `size`, which is their step.
    cycle: Option<i64>,
}

/// The windows of one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assigned {
    /// Start of the latest window.
    pub latest: i64,
    /// How many windows there are, each starting `slide` before the one after it. Not zero.
    pub count: u32,
    /// Moments in `from..until` have the same windows.
    pub from: i64,
    pub until: i64,
}

impl WindowRule {
    /// How many windows a row may fall into.
    pub const MAX_OVERLAP: i64 = 1_000_000;
    const MAX_SIZE: i64 = i64::MAX / 4;

    pub fn new(size: i64, slide: i64, offset: i64) -> Result<Self> {
        if size <= 0 || slide <= 0 {
            return plan_err!("the size and slide of a window must be greater than zero");
        }
        if slide > size {
            return plan_err!(
                "the slide of a window must not be greater than its size, or some rows would be in no window"
            );
        }
        if size > Self::MAX_SIZE {
            return plan_err!(
                "the size of a window must not be greater than {} days",
                Self::MAX_SIZE / 86_400_000_000
            );
        }
        if size / slide > Self::MAX_OVERLAP {
            return plan_err!(
                "a row would be in {} windows, more than {}",
                size / slide,
                Self::MAX_OVERLAP
            );
        }
        Ok(Self {
            size,
            slide,
            offset: offset.rem_euclid(slide),
            cycle: None,
        })
    }

    /// Windows of one start that are `step`, twice `step` and so on up to `max` long.
    pub fn cumulate(step: i64, max: i64, offset: i64) -> Result<Self> {
        let rule = Self::new(max, step, offset)?;
        if max % step != 0 {
            return plan_err!("the size of cumulating windows must be a multiple of their step");
        }
        Ok(Self {
            size: step,
            offset: offset.rem_euclid(max),
            cycle: Some(max),
            ..rule
        })
    }

    /// The start of the window that is named by `name`.
    pub fn start_of(&self, name: i64) -> i64 {
        match self.cycle {
            None => name,
            Some(max) => name - (name - self.offset).rem_euclid(max),
        }
    }

    /// The size of the longest windows.
    pub fn longest(&self) -> i64 {
        self.cycle.unwrap_or(self.size)
    }

    /// A window's start belongs to no other.
    pub fn start_is_unique(&self) -> bool {
        self.cycle.is_none()
    }

    pub fn size(&self) -> i64 {
        self.size
    }

    pub fn slide(&self) -> i64 {
        self.slide
    }

    /// Where the windows start within a slide; not negative and less than the slide.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Every moment is in exactly one window.
    pub fn is_tumbling(&self) -> bool {
        self.size == self.slide && self.cycle.is_none()
    }

    /// The windows of `time`, unless it has none.
    pub fn assign(&self, time: i64) -> Option<Assigned> {
        if time == i64::MAX || time == i64::MIN {
            return None;
        }
        let latest = time
            .checked_sub(self.offset)?
            .div_euclid(self.slide)
            .checked_mul(self.slide)?;
        let latest = latest.checked_add(self.offset)?;
        latest.checked_add(self.size)?;
        if let Some(max) = self.cycle {
            let begin = latest - (latest - self.offset).rem_euclid(max);
            let last = begin.checked_add(max)? - self.slide;
            return Some(Assigned {
                latest: last,
                count: ((last - latest) / self.slide + 1) as u32,
                from: latest,
                until: latest + self.slide,
            });
        }
        let into = time - latest;
        // The windows that start k slides earlier hold the moment while k * slide < size - into.
        let count = (self.size - into + self.slide - 1) / self.slide;
        latest.checked_sub((count - 1).checked_mul(self.slide)?)?;
        let remainder = self.size - (self.size / self.slide) * self.slide;
        let (from, until) = if remainder == 0 {
            (latest, latest + self.slide)
        } else if into < remainder {
            (latest, latest + remainder)
        } else {
            (latest + remainder, latest + self.slide)
        };
        Some(Assigned {
            latest,
            count: count as u32,
            from,
            until,
        })
    }
}

impl fmt::Display for WindowRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(max) = self.cycle {
            write!(
                f,
                "cumulate(step = {}, size = {}",
                Micros(self.slide),
                Micros(max)
            )?;
        } else if self.is_tumbling() {
            write!(f, "tumble(size = {}", Micros(self.size))?;
        } else {
            write!(
                f,
                "hop(slide = {}, size = {}",
                Micros(self.slide),
                Micros(self.size)
            )?;
        }
        if self.offset != 0 {
            write!(f, ", offset = {}", Micros(self.offset))?;
        }
        f.write_str(")")
    }
}

/// A duration in the largest unit that divides it.
pub(crate) struct Micros(pub i64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(i64, &str); 5] = [
            (86_400_000_000, "d"),
            (3_600_000_000, "h"),
            (60_000_000, "min"),
            (1_000_000, "s"),
            (1_000, "ms"),
        ];
        match UNITS.iter().find(|(unit, _)| self.0 != 0 && self.0 % unit == 0) {
            Some((unit, name)) => write!(f, "{} {name}", self.0 / unit),
            None => write!(f, "{} us", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All windows by definition, tried one by one around the moment.
    fn brute_force(rule: &WindowRule, time: i64) -> Vec<i64> {
        let around = (time - rule.offset()) / rule.slide();
        let reach = rule.size() / rule.slide() + 2;
        (around - reach..=around + reach)
            .map(|k| k * rule.slide() + rule.offset())
            .filter(|start| *start <= time && time < start + rule.size())
            .collect()
    }

    #[test]
    fn windows_equal_their_definition() {
        for (size, slide, offset) in [
            (5, 5, 0),
            (7, 3, 0),
            (7, 3, 1),
            (6, 2, -1),
            (10, 1, 0),
            (5, 4, 100),
            (1, 1, 0),
        ] {
            let rule = WindowRule::new(size, slide, offset).unwrap();
            for time in -50..50 {
                let assigned = rule.assign(time).unwrap();
                let mut starts: Vec<i64> = (0..i64::from(assigned.count))
                    .map(|k| assigned.latest - k * slide)
                    .collect();
                starts.reverse();
                assert_eq!(starts, brute_force(&rule, time), "{rule} at {time}");
                for same in assigned.from..assigned.until {
                    assert_eq!(rule.assign(same).unwrap(), assigned, "{rule} at {same}");
                }
                assert!((assigned.from..assigned.until).contains(&time));
            }
        }
    }

    #[test]
    fn cumulating_windows_grow_from_one_start() {
        for (step, max, offset) in [(2, 6, 0), (3, 9, 4), (5, 5, 1), (1, 7, -2)] {
            let rule = WindowRule::cumulate(step, max, offset).unwrap();
            for time in -40..40 {
                let assigned = rule.assign(time).unwrap();
                let names = (0..i64::from(assigned.count)).map(|k| assigned.latest - k * step);
                let mut windows: Vec<(i64, i64)> = names
                    .map(|name| (rule.start_of(name), name + rule.size()))
                    .collect();
                windows.reverse();
                let start = time - (time - offset).rem_euclid(max);
                let ends = (1..=max / step).map(|k| start + k * step);
                let expected: Vec<_> = ends.filter(|end| time < *end).map(|end| (start, end)).collect();
                assert_eq!(windows, expected, "{rule} at {time}");
                for same in assigned.from..assigned.until {
                    assert_eq!(rule.assign(same).unwrap(), assigned, "{rule} at {same}");
                }
            }
        }
        assert!(WindowRule::cumulate(2, 5, 0).is_err());
    }

    #[test]
    fn the_ends_of_time_have_no_window() {
        let rule = WindowRule::new(3_600_000_000, 600_000_000, 0).unwrap();
        for time in [i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX] {
            assert_eq!(rule.assign(time), None);
        }
    }

    #[test]
    fn senseless_rules_are_refused() {
        for (size, slide) in [(0, 1), (1, 0), (-5, -5), (5, 6), (i64::MAX, 1)] {
            assert!(WindowRule::new(size, slide, 0).is_err(), "{size} {slide}");
        }
    }
}
