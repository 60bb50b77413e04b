//! When each value of a rate source is due.
//!
//! The rate r grows evenly from 0 over the ramp T, so r*T/2 values fall into the ramp: value v is due when
//! r*t^2 / (2*T) = v, and after the ramp at T/2 + v/r. Integers only: the same instants on every machine.

#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    pub start_us: i64,
    pub rows_per_second: u64,
    pub ramp_up_us: u64,
}

impl Schedule {
    /// Microseconds since 1970 at which `value` is due. Never falls as `value` grows.
    pub fn time_of(&self, value: u64) -> i64 {
        let (value, rate, ramp) = (
            u128::from(value),
            u128::from(self.rows_per_second),
            u128::from(self.ramp_up_us),
        );
        let elapsed = if 2 * value * 1_000_000 < rate * ramp {
            (2 * value * 1_000_000 * ramp / rate).isqrt()
        } else {
            ramp / 2 + value * 1_000_000 / rate
        };
        self.start_us
            .saturating_add(i64::try_from(elapsed).unwrap_or(i64::MAX))
    }

    /// How many values are due at `now_us`.
    pub fn due(&self, now_us: i64) -> u64 {
        let Ok(elapsed) = u64::try_from(i128::from(now_us) - i128::from(self.start_us)) else {
            return 0;
        };
        // At full rate from the start there would be this many, and there are never more.
        let most = u128::from(elapsed) * u128::from(self.rows_per_second) / 1_000_000 + 1;
        let (mut low, mut high) = (0, u64::try_from(most).unwrap_or(u64::MAX));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.time_of(middle) <= now_us {
                low = middle + 1
            } else {
                high = middle
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_window_holds_rate_times_length() {
        for rate in [1, 3, 5, 7, 1000, 3_000_000] {
            let schedule = Schedule {
                start_us: 1_234_567,
                rows_per_second: rate,
                ramp_up_us: 0,
            };
            assert_eq!(schedule.due(1_234_566), 0);
            let at = |second: i64| schedule.due(second * 1_000_000 - 1);
            assert_eq!(at(30) - at(20), 10 * rate, "rate {rate}");
        }
    }

    #[test]
    fn due_counts_exactly_the_values_whose_time_has_come() {
        for ramp_up_us in [0, 1, 10_000_000] {
            let schedule = Schedule {
                start_us: 17,
                rows_per_second: 7,
                ramp_up_us,
            };
            for now in (0..40_000_000).step_by(333_331) {
                let due = schedule.due(now);
                assert!(due == 0 || schedule.time_of(due - 1) <= now);
                assert!(schedule.time_of(due) > now, "now {now}, ramp {ramp_up_us}");
            }
        }
    }

    #[test]
    fn the_ramp_holds_half_the_rows() {
        let schedule = Schedule {
            start_us: 0,
            rows_per_second: 100,
            ramp_up_us: 10_000_000,
        };
        assert_eq!(schedule.due(10_000_000 - 1), 500);
        assert_eq!(schedule.due(20_000_000 - 1), 1500);
        let first_second = schedule.due(999_999);
        assert!((4..=6).contains(&first_second), "{first_second}");
        let times: Vec<_> = (0..2000).map(|value| schedule.time_of(value)).collect();
        assert!(times.is_sorted());
    }
}
