//! Time and memory, as the operating system counts them.

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};

/// Seconds of one run.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    /// By the clock on the wall.
    pub wall: f64,
    /// On processors, all threads of the process together.
    pub processor: f64,
}

/// Runs `work` and measures it.
pub fn measure<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Spent)> {
    let (begin, processor) = (Instant::now(), processor_seconds()?);
    let value = work()?;
    Ok((
        value,
        Spent {
            wall: begin.elapsed().as_secs_f64(),
            processor: processor_seconds()? - processor,
        },
    ))
}

/// The best of several runs, by each measure.
pub fn best(runs: &[Spent]) -> Spent {
    let least = |of: fn(&Spent) -> f64| runs.iter().map(of).fold(f64::INFINITY, f64::min);
    Spent {
        wall: least(|spent| spent.wall),
        processor: least(|spent| spent.processor),
    }
}

/// User and system time of the process, in the kernel's hundredths of a second.
fn processor_seconds() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field, the command, is in parentheses and may hold spaces.
    let fields = stat.rsplit(')').next().context("a line of /proc/self/stat")?;
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum();
    Ok(ticks as f64 / 100.0)
}

/// Starts a new peak.
pub fn reset_peak_memory() -> Result<()> {
    fs::write("/proc/self/clear_refs", "5").context("the peak of memory cannot be reset")
}

/// Most bytes that the process held since the peak was reset.
pub fn peak_memory() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .context("VmHWM in /proc/self/status")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}
