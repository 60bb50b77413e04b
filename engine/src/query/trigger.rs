//! When an epoch may begin.
//!
//! A ticking trigger fires on multiples of its interval since 1970-01-01 00:00 UTC. A tick takes in all input that is
//! there when it fires, in as many epochs as the size bound needs. Missed ticks are not made up. A FLUSH makes a tick of
//! its own. A query that gathers input ticks when there is enough of it, or at last after its delay.

use std::time::Duration;

use millpond_catalog::{Trigger, ViewOptions};
use millpond_storage::Cut;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Whenever there is input, or up to the end of a run: see [`super::bounded`].
    Free,
    Ticking {
        interval_us: i64,
        phase: Phase,
    },
    Gathering {
        delay_us: i64,
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
    pub(crate) fn new(options: &ViewOptions, now_us: i64, first: bool) -> Self {
        let phase = |next_us: i64| match first {
            true => Phase::Firing(Tick {
                scheduled_us: now_us,
                ..Tick::default()
            }),
            false => Phase::Waiting { next_us },
        };
        match (options.trigger, options.gather) {
            (Trigger::Every(interval), _) => {
                let interval_us = micros(interval);
                Timer::Ticking {
                    interval_us,
                    phase: phase(next_multiple(now_us, interval_us)),
                }
            }
            (Trigger::Default, Some(gather)) => {
                let delay_us = micros(gather.delay);
                Timer::Gathering {
                    delay_us,
                    phase: phase(now_us.saturating_add(delay_us)),
                }
            }
            (Trigger::Default, None) | (Trigger::Once | Trigger::AvailableNow, _) => Timer::Free,
        }
    }

    fn phase(&mut self) -> Option<&mut Phase> {
        match self {
            Timer::Free => None,
            Timer::Ticking { phase, .. } | Timer::Gathering { phase, .. } => Some(phase),
        }
    }

    /// Waits until there is enough input.
    pub(crate) fn gathers(&self) -> bool {
        matches!(
            self,
            Timer::Gathering {
                phase: Phase::Waiting { .. },
                ..
            }
        )
    }

    /// `Err` with the time of the next tick while it is not due.
    pub(crate) fn fire(&mut self, now_us: i64) -> Result<(), i64> {
        if let Some(phase) = self.phase()
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
        if let Some(Phase::Waiting { next_us }) = self.phase() {
            *next_us = now_us.min(*next_us);
        }
    }

    pub(crate) fn tick(&mut self) -> Option<&mut Tick> {
        match self.phase()? {
            Phase::Firing(tick) => Some(tick),
            Phase::Waiting { .. } => None,
        }
    }

    /// The tick is worked off; returns when the next one is due.
    pub(crate) fn rest(&mut self, now_us: i64) -> Option<i64> {
        let next_us = match self {
            Timer::Free => return None,
            Timer::Ticking { interval_us, .. } => next_multiple(now_us, *interval_us),
            Timer::Gathering { delay_us, .. } => now_us.saturating_add(*delay_us),
        };
        *self.phase()? = Phase::Waiting { next_us };
        Some(next_us)
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

    use millpond_catalog::Gather;

    fn every() -> ViewOptions {
        ViewOptions {
            trigger: Trigger::Every(Duration::from_micros(10)),
            ..ViewOptions::default()
        }
    }

    #[test]
    fn gathering_waits_for_its_delay_unless_there_is_enough() {
        let gather = Gather {
            offsets: 5,
            delay: Duration::from_micros(100),
        };
        let options = ViewOptions {
            gather: Some(gather),
            ..ViewOptions::default()
        };
        let mut timer = Timer::new(&options, 3, true);
        assert!(!timer.gathers());
        assert_eq!(timer.fire(3), Ok(()));
        assert_eq!(timer.rest(7), Some(107));
        assert!(timer.gathers());
        assert_eq!(timer.fire(106), Err(107));
        // There is enough.
        timer.hurry(50);
        assert_eq!(timer.fire(50), Ok(()));
        assert_eq!(timer.rest(60), Some(160));
        assert_eq!(timer.fire(160), Ok(()));
    }

    #[test]
    fn ticks_fall_on_multiples_and_missed_ones_are_not_made_up() {
        let mut timer = Timer::new(&every(), 3, false);
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
        let mut timer = Timer::new(&every(), 3, true);
        assert_eq!(timer.fire(3), Ok(()));
        assert_eq!(timer.tick().unwrap().scheduled_us, 3);
        assert_eq!(Timer::new(&ViewOptions::default(), 3, true).fire(3), Ok(()));
    }
}
