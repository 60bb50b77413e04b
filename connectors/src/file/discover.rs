//! Which files there are: listing what is new, forgetting what is gone.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;

use millpond_engine::source::SourceError;

use super::{FileSource, State};

impl FileSource {
    /// Lists the folder and numbers what is new.
    pub(super) fn discover(&self, state: &mut State, now_us: i64) -> Result<(), SourceError> {
        let State { log, ignored, .. } = state;
        if log.is_empty() && !self.listing.is_there() {
            // A folder that nobody has made yet is an empty one; one that had files before is missing.
            state.listed_at_us = Some(now_us);
            return Ok(());
        }
        let mut found = self
            .listing
            .new_files(|path| log.contains(path) || ignored.contains(path))?;
        state.listed_at_us = Some(now_us);
        let capped = {
            let pace = self.pace.read();
            pace.files_max.is_some() || pace.bytes_max.is_some()
        };
        let every_age = log.is_empty() || self.options.latest_first && capped;
        if !every_age {
            let age_us = i64::try_from(self.options.max_file_age.as_micros()).unwrap_or(i64::MAX);
            let oldest_us = log.newest_mtime_us().saturating_sub(age_us);
            found.retain(|entry| {
                let fresh = entry.mtime_us >= oldest_us;
                if !fresh {
                    tracing::info!(path = &*entry.path, "a file older than max_file_age is ignored");
                    ignored.insert(entry.path.to_string());
                }
                fresh
            });
        }
        found.sort_by(|a, b| (a.mtime_us, &a.path).cmp(&(b.mtime_us, &b.path)));
        if self.options.latest_first {
            found.reverse();
        }
        let mut seen = HashSet::new();
        found.retain(|entry| seen.insert(log.identity(&entry.path).to_owned()));
        if found.is_empty() {
            Ok(())
        } else {
            log.append(found)
        }
    }

    /// The poll interval has passed since the last listing, or the clock was set back.
    pub(super) fn is_listing_due(&self, state: &State, now_us: i64) -> bool {
        let interval_us = self.pace.read().poll_interval.as_micros() as i64;
        state
            .listed_at_us
            .is_none_or(|listed| now_us < listed || now_us - listed >= interval_us)
    }

    /// Forgets files before number `before` that have vanished and are older than `max_file_age`; a few per call.
    pub(super) fn prune(&self, state: &mut State, before: u64) -> Result<(), SourceError> {
        const FILES_PER_CALL: usize = 64;
        let age_us = i64::try_from(self.options.max_file_age.as_micros()).unwrap_or(i64::MAX);
        let oldest_us = state.log.newest_mtime_us().saturating_sub(age_us);
        let candidates: Vec<_> = state
            .log
            .range(state.prune_from..before.max(state.prune_from))
            .take(FILES_PER_CALL)
            .collect();
        let next = if candidates.len() < FILES_PER_CALL {
            0
        } else {
            candidates[FILES_PER_CALL - 1].0 + 1
        };
        let vanished =
            |path: &str| fs::metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound);
        let old = candidates
            .iter()
            .filter(|(_, entry)| entry.mtime_us < oldest_us && vanished(&entry.path));
        let numbers: Vec<u64> = old.map(|(number, _)| *number).collect();
        state.prune_from = next;
        if numbers.is_empty() {
            Ok(())
        } else {
            state.log.prune(&numbers)
        }
    }
}
