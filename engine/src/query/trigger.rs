//! When an epoch may begin.
//!
//! A ticking trigger fires on multiples of its interval since 1970-01-01 00:00 UTC. A tick takes in all input that is
//! there when it fires, in as many epochs as the size bound needs. Missed ticks are not made up. A FLUSH makes a tick of
//! its own.

use std::time::Duration;

use millpond_catalog::Trigger;
use millpond_storage::Cut;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Whenever there is input, or up to the end of a run: see [`super::bounded`].
    Free,
    Ticking {
        interval_us: i64,
        phase: Phase,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    Waiting { next_us: i64 },
    Firing(Tick),
}

/// A tick that is being worked off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tick {
    /// When it was to fire.
    pub(crate) scheduled_us: i64,
    /// It has stamped a cut, or has seen that there is nothing to stamp.
    pub(crate) asked: bool,
    /// Where it ends. Set once it has asked.
    pub(crate) goal: Option<Cut>,
}

impl Timer {
    /// A query that has never run fires at once, so that its result exists.
    pub(crate) fn new(trigger: Trigger, now_us: i64, first: bool) -> Self {
        match trigger {
            Trigger::Default | Trigger::Once | Trigger::AvailableNow => Timer::Free,
            Trigger::Every(interval) => {
                let interval_us = micros(interval);
                let phase = if first {
                    Phase::Firing(Tick {
                        scheduled_us: now_us,
                        ..Tick::default()
                    })
                } else {
                    Phase::Waiting {
                        next_us: next_multiple(now_us, interval_us),
                    }
                };
                Timer::Ticking { interval_us, phase }
            }
        }
    }

    /// `Err` with the time of the next tick while it is not due.
    pub(crate) fn fire(&mut self, now_us: i64) -> Result<(), i64> {
        if let Timer::Ticking { phase, .. } = self
            && let Phase::Waiting { next_us } = *phase
        {
            if now_us < next_us {
                return Err(next_us);
            }
            *phase = Phase::Firing(Tick {
                scheduled_us: next_us,
                ..Tick::default()
            });
        }
        Ok(())
    }

    /// The next tick is due now.
    pub(crate) fn hurry(&mut self, now_us: i64) {
        if let Timer::Ticking { phase, .. } = self
            && let Phase::Waiting { next_us } = phase
        {
            *next_us = now_us.min(*next_us);
        }
    }

    pub(crate) fn tick(&mut self) -> Option<&mut Tick> {
        match self {
            Timer::Ticking {
                phase: Phase::Firing(tick),
                ..
            } => Some(tick),
            Timer::Ticking {
                phase: Phase::Waiting { .. },
                ..
            }
            | Timer::Free => None,
        }
    }

    /// The tick is worked off; returns when the next one is due.
    pub(crate) fn rest(&mut self, now_us: i64) -> Option<i64> {
        match self {
            Timer::Free => None,
            Timer::Ticking { interval_us, phase } => {
                let next_us = next_multiple(now_us, *interval_us);
                *phase = Phase::Waiting { next_us };
                Some(next_us)
            }
        }
    }
}

fn micros(interval: Duration) -> i64 {
    i64::try_from(interval.as_micros()).unwrap_or(i64::MAX).max(1)
}

/// The first multiple of `interval_us` after `now_us`.
fn next_multiple(now_us: i64, interval_us: i64) -> i64 {
    now_us
        .div_euclid(interval_us)
        .saturating_add(1)
        .saturating_mul(interval_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Trigger = Trigger::Every(Duration::from_micros(10));

    #[test]
    fn ticks_fall_on_multiples_and_missed_ones_are_not_made_up() {
        let mut timer = Timer::new(EVERY, 3, false);
        assert_eq!(timer.fire(9), Err(10));
        assert_eq!(timer.fire(10), Ok(()));
        assert_eq!(timer.tick().unwrap().scheduled_us, 10);
        // Working it off took until 47: the ticks at 20, 30 and 40 are gone.
        assert_eq!(timer.rest(47), Some(50));
        assert_eq!(timer.fire(49), Err(50));
        assert_eq!(timer.fire(53), Ok(()));
        assert_eq!(timer.tick().unwrap().scheduled_us, 50);
        assert_eq!(timer.rest(60), Some(70));
    }

    #[test]
    fn times_before_1970_have_ticks_too() {
        assert_eq!(next_multiple(-25, 10), -20);
        assert_eq!(next_multiple(-20, 10), -10);
    }

    #[test]
    fn a_new_query_fires_at_once() {
        let mut timer = Timer::new(EVERY, 3, true);
        assert_eq!(timer.fire(3), Ok(()));
        assert_eq!(timer.tick().unwrap().scheduled_us, 3);
        assert_eq!(Timer::new(Trigger::Default, 3, true).fire(3), Ok(()));
    }
}
