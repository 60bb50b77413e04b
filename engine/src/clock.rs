//! Time, read in one place.
//!
//! A query reads the clock when it plans an epoch and writes what it read into the batch record; everything else gets
//! the time from there. Tests turn a [`ManualClock`], so that triggers, watermarks and whole runs repeat exactly.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

/// What time it is, and how long a thread that waits for a time may sleep.
pub trait Clock: Send + Sync {
    /// Microseconds since 1970-01-01 UTC.
    fn now_us(&self) -> i64;

    /// Microseconds since some fixed moment, never going back: for measuring durations.
    fn elapsed_us(&self) -> u64;

    /// How long to wait for `time_us`; `None` when only [`Clock::on_turn`] can tell.
    fn until(&self, time_us: i64) -> Option<Duration>;

    /// Calls `wake` whenever time moved by anything but itself.
    fn on_turn(&self, _wake: Arc<dyn Fn() + Send + Sync>) {}
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    fn now_us(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
        }
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn until(&self, time_us: i64) -> Option<Duration> {
        Some(Duration::from_micros(
            u64::try_from(time_us.saturating_sub(self.now_us())).unwrap_or(0),
        ))
    }
}

/// A clock that stands still until it is turned.
pub struct ManualClock {
    start_us: i64,
    now_us: Mutex<i64>,
    wakers: Mutex<Vec<Arc<dyn Fn() + Send + Sync>>>,
}

impl ManualClock {
    pub fn new(now_us: i64) -> Self {
        Self {
            start_us: now_us,
            now_us: Mutex::new(now_us),
            wakers: Mutex::default(),
        }
    }

    pub fn advance(&self, by: Duration) {
        *self.now_us.lock() += i64::try_from(by.as_micros()).expect("tests move by less than 292,000 years");
        for wake in self.wakers.lock().iter() {
            wake();
        }
    }
}

impl Clock for ManualClock {
    fn now_us(&self) -> i64 {
        *self.now_us.lock()
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.now_us() - self.start_us).expect("time only moves forward")
    }

    fn until(&self, time_us: i64) -> Option<Duration> {
        (time_us <= self.now_us()).then_some(Duration::ZERO)
    }

    fn on_turn(&self, wake: Arc<dyn Fn() + Send + Sync>) {
        self.wakers.lock().push(wake);
    }
}
