//! Runs that end by themselves: triggers `once` and `availableNow`.
//!
//! A run begins by closing a cut over everything that is there at that moment, however much its sources would give per
//! epoch: the run's end. `availableNow` goes there in as many epochs as the caps need and lets the watermark have its last
//! epoch without input; `once` goes there in one. Then the query is terminated until it is resumed, which begins another
//! run. Where a run stands is noted, so a restart of the server goes on with it and does not begin a terminated one again.
//!
//! Together with the end an empty cut is closed, for the epoch without input: what comes meanwhile is not in it. A query
//! over views ends at the first cut from the end on at which all of them stand, since views may pass over the end itself.

use millpond_catalog::{ObjectId, Trigger};
use millpond_storage::{Cut, Storage};
use serde::{Deserialize, Serialize};

use super::step::{EpochLimit, ReadFrom};
use super::{Query, QueryParts, due};
use crate::cut::Timeline;
use crate::error::{Error, Result};
use crate::query::status::QueryState;
use crate::source::Position;

const NOTE: &str = "run";
/// How often a query looks whether the views it reads have come to its end.
const LOOK_US: i64 = 20_000;
/// Why a terminated query does not move.
pub(super) const TERMINATED: &str = "it has terminated";

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Run {
    /// Its end is not fixed.
    Begun,
    /// Everything it takes in is closed at `end`; from there to `rest` nothing was added.
    Bound {
        end: Cut,
        rest: Cut,
    },
    Terminated,
}

/// What a query with such a trigger does next.
pub(super) enum Next {
    Go(Cut),
    /// Views that it reads have to come to its end first; looked at again at that time.
    Wait(i64),
    End,
}

/// The trigger has an end.
pub(crate) fn ends(trigger: Trigger) -> bool {
    match trigger {
        Trigger::Once | Trigger::AvailableNow => true,
        Trigger::Default | Trigger::Every(_) => false,
    }
}

pub(super) fn recover(storage: &Storage, parts: &QueryParts) -> Result<Run> {
    if !ends(parts.options.trigger) {
        return Ok(Run::Begun);
    }
    match storage.notes(parts.object.0).get(NOTE)? {
        None => Ok(Run::Begun),
        Some(note) => serde_json::from_slice(&note)
            .map_err(|error| Error::Bug(format!("the note of the query's run cannot be read: {error}"))),
    }
}

fn encode(run: Run) -> Vec<u8> {
    serde_json::to_vec(&run).expect("a run has text keys")
}

impl Query {
    pub(super) fn next_of_run(&mut self, now_us: i64) -> Result<Next> {
        let view = self.parts.object;
        if let Some(target) = self.shared.timeline.target(view) {
            return Ok(Next::Go(target));
        }
        let (mut end, rest) = match self.run {
            Run::Bound { end, rest } => (end, rest),
            Run::Begun | Run::Terminated => self.fix_end(now_us)?,
        };
        let at = self.shared.timeline.boundary(view);
        if let Some(at) = at.filter(|at| *at >= end) {
            let once = self.parts.options.trigger == Trigger::Once;
            if once || !due(&self.parts, &self.committed, &self.shared.timeline, now_us).is_due {
                return Ok(Next::End);
            }
            if at >= rest {
                // Views that it reads passed over the empty cut. What they bring now is the last that is taken in.
                if self.closing {
                    return Ok(Next::End);
                }
                self.closing = true;
                (end, _) = self.fix_end(now_us)?;
            }
            end = end.max(at.next());
        }
        let timeline = &self.shared.timeline;
        if let Some(target) = timeline.go_from(view, end) {
            return Ok(Next::Go(target));
        }
        if !timeline.reads_still(view) {
            return Ok(Next::Wait(now_us.saturating_add(LOOK_US)));
        }
        // What it reads does not come any further.
        Ok(match (timeline.go_last(view), at) {
            (Some(target), _) => Next::Go(target),
            (None, Some(_)) => Next::End,
            (None, None) => Next::Wait(now_us.saturating_add(LOOK_US)),
        })
    }

    /// Closes what is there now.
    fn fix_end(&mut self, now_us: i64) -> Result<(Cut, Cut)> {
        loop {
            let latest = self.shared.timeline.latest();
            let moves = ends_of_sources(&self.parts, &self.shared.timeline, latest, self.limit(now_us))?;
            let Some((end, rest)) = self.shared.timeline.stamp_end(latest, moves)? else {
                continue;
            };
            self.run = Run::Bound { end, rest };
            // Durable no later than the first batch record of the run.
            let note = vec![(NOTE.to_owned(), encode(self.run))];
            self.shared.storage.notes(self.parts.object.0).put(note)?;
            return Ok((end, rest));
        }
    }

    /// The run is at its end.
    pub(super) fn terminate(&mut self) -> Result<()> {
        self.note_run(Run::Terminated)?;
        self.deployment = None;
        self.hold(QueryState::Terminated, "Terminated", Some(TERMINATED.to_owned()));
        Ok(())
    }

    /// Another run begins.
    pub(super) fn begin_run(&mut self) -> Result<()> {
        self.closing = false;
        if ends(self.parts.options.trigger) {
            self.note_run(Run::Begun)
        } else {
            self.run = Run::Begun;
            Ok(())
        }
    }

    /// Durable when it returns.
    fn note_run(&mut self, run: Run) -> Result<()> {
        let mut transaction = self.shared.storage.transaction();
        transaction.put_note(self.parts.object.0, NOTE, encode(run));
        transaction.commit()?;
        self.run = run;
        Ok(())
    }
}

/// How far the sources go that have more than at the cut `latest`.
fn ends_of_sources(
    parts: &QueryParts,
    timeline: &Timeline,
    latest: Cut,
    limit: EpochLimit,
) -> Result<Vec<(ObjectId, Position)>> {
    let mut moves: Vec<(ObjectId, Position)> = Vec::new();
    for input in &parts.inputs {
        let ReadFrom::Source(source) = &input.from else {
            continue;
        };
        if moves.iter().any(|(object, _)| *object == input.object) {
            continue;
        }
        let from = timeline
            .position(input.object, latest)
            .unwrap_or_else(|| source.start());
        let end = source.latest(limit.now_us)?;
        if !source.reached(&from, &end) {
            moves.push((input.object, end));
        } else if let Some(next) = source.advance(&from, None, limit.of(&input.projection))? {
            // A source that makes rows when it is asked shows none before.
            moves.push((input.object, next));
        }
    }
    Ok(moves)
}
