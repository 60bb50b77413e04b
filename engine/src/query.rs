//! A streaming query: epoch by epoch from its inputs to its relation.
//!
//! A [`Query`] is a value that is given turns. In a turn it decides what to do, runs at most one epoch, and says when it
//! wants the next turn. It has no thread and reads no clock but the one it was given, so tests run it step by step.
//!
//! The life of an epoch: the batch record is written; the workers run; one transaction holds changes, bad rows, state and
//! the commit record; the boundary is published. After a crash the batch record, if it was durable, runs again as it was;
//! of a sink it is durable before anything is delivered.

pub mod bad_rows;
mod board;
mod bounded;
mod commit;
pub(crate) mod driver;
mod gather;
pub mod history;
pub mod late_rows;
pub(crate) mod lateness;
pub(crate) mod reconfigure;
mod record;
pub(crate) mod recovery;
mod report;
pub mod status;
pub(crate) mod step;
#[cfg(test)]
mod tests;
mod trigger;
pub(crate) mod watermark;

use std::sync::Arc;

use millpond_catalog::{ObjectId, Trigger, ViewOptions};
use millpond_storage::{Cut, Durable, Relation};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bound::ResultTimes;
use crate::clock::Clock;
use crate::cut::{Choice, Followed, RecoveredView, Timeline};
use crate::dataflow::{Dataflow, Input};
use crate::engine::Shared;
use crate::epoch::EpochContext;
use crate::error::{Error, Result};
use crate::runtime::{Abandon, Deployment, EpochInput, EpochOutput, Plan};
use crate::sink::{Sink, SinkError};
use crate::source::{Position, SourceError};

use board::{Board, Standing};
use bounded::Run;
pub(crate) use bounded::ends as has_end;
use late_rows::LateSource;
use late_rows::retention::Kept;
use late_rows::target::LateTarget;
use late_rows::trace::Search;
use record::{BatchRecord, InputPosition};
use recovery::{Committed, Recovered};
use report::Stopwatch;
use status::{Failure, InputStatus, QueryState};
use step::{EpochLimit, QueryInput, ReadFrom};
use trigger::Timer;
use watermark::Seen;

/// Waiting time after a source could not be reached, doubled up to the greatest.
const RETRY_US: i64 = 100_000;
const RETRY_US_MAX: i64 = 10_000_000;
/// State deltas may grow to this before they are replaced, however small the whole is.
const DELTA_BYTES_MIN: u64 = 1 << 20;

/// What a query is made from.
pub(crate) struct QueryParts {
    pub(crate) object: ObjectId,
    pub(crate) name: String,
    /// Name of the relation that it fills.
    pub(crate) sink: String,
    pub(crate) relation: Arc<Relation>,
    pub(crate) bad_rows: Arc<Relation>,
    pub(crate) late_rows: Arc<Relation>,
    pub(crate) late_sources: Vec<LateSource>,
    pub(crate) late_target: Option<LateTarget>,
    pub(crate) inputs: Vec<QueryInput>,
    pub(crate) dataflow: Arc<Dataflow>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) options: ViewOptions,
    /// Where the changes go, if not into the relation.
    pub(crate) target: Option<Box<dyn Sink>>,
}

/// When the query wants its next turn, unless it is woken before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Again,
    At(i64),
    OnWake,
}

pub(crate) struct Query {
    parts: QueryParts,
    shared: Arc<Shared>,
    board: Arc<Board>,
    state: QueryState,
    ids: (String, String),
    committed: Committed,
    /// Logged and not committed.
    open: Option<BatchRecord>,
    deployment: Option<Deployment>,
    timer: Timer,
    /// Where a run stands that ends by itself.
    run: Run,
    /// Such a run takes in the last that the views it reads bring.
    closing: bool,
    /// A query that has never run has looked for input before it chose its first cut.
    asked: bool,
    retry: Option<Retry>,
    /// When the trigger before fired.
    last_fired_us: Option<i64>,
    stopwatch: Stopwatch,
    /// How many late rows are kept; counted when the first comes.
    late_kept: Option<Kept>,
}

struct Retry {
    at_us: i64,
    wait_us: i64,
}

impl Query {
    /// A query as storage knows it. From here on its relation takes part in cuts.
    pub(crate) fn recover(parts: QueryParts, shared: Arc<Shared>) -> Result<Query> {
        let Recovered {
            query_id,
            mut committed,
            open,
            boundaries,
            history,
        } = recovery::recover(&shared.storage, parts.object.0, &parts.inputs)?;
        committed.listen(shared.clock.now_us());
        let under_way = (committed.context.is_some() && !committed.reached).then_some(committed.cut);
        shared.timeline.add_view(
            parts.object,
            RecoveredView {
                inputs: distinct(parts.inputs.iter().map(|input| input.object)),
                changed: recovery::log_cuts(&parts.relation)?,
                boundaries,
                target: open.as_ref().map(|open| open.cut).or(under_way),
                follows: follows(&parts.dataflow),
                watermark: handed_on(&parts, &committed),
                summed_to: parts.relation.summed_to(),
                due: due(&parts, &committed, &shared.timeline, shared.clock.now_us()).is_due,
                consumed: consumed(&parts.inputs, &committed.positions),
            },
        );
        let ids = (query_id, Uuid::new_v4().to_string());
        let standing = standing(&parts, &committed, &shared.timeline, shared.clock.now_us());
        let board = Board::new(parts.object, parts.name.clone(), ids.clone(), standing, history);
        let first = committed.context.is_none();
        let timer = Timer::new(&parts.options, shared.clock.now_us(), first);
        let run = bounded::recover(&shared.storage, &parts)?;
        let mut query = Query {
            parts,
            shared,
            board: Arc::new(board),
            state: QueryState::Starting,
            ids,
            committed,
            open,
            deployment: None,
            timer,
            run,
            closing: false,
            asked: false,
            retry: None,
            last_fired_us: None,
            stopwatch: Stopwatch::default(),
            late_kept: None,
        };
        if run == Run::Terminated {
            query.hold(
                QueryState::Terminated,
                "Terminated",
                Some(bounded::TERMINATED.to_owned()),
            );
        }
        Ok(query)
    }

    pub(crate) fn object(&self) -> ObjectId {
        self.parts.object
    }

    pub(crate) fn relation(&self) -> &Arc<Relation> {
        &self.parts.relation
    }

    pub(crate) fn bad_rows(&self) -> &Arc<Relation> {
        &self.parts.bad_rows
    }

    pub(crate) fn late_rows(&self) -> &Arc<Relation> {
        &self.parts.late_rows
    }

    pub(crate) fn late_sources(&self) -> &[LateSource] {
        &self.parts.late_sources
    }

    pub(crate) fn board(&self) -> &Arc<Board> {
        &self.board
    }

    pub(crate) fn times(&self) -> &ResultTimes {
        &self.parts.dataflow.times
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    pub(crate) fn state(&self) -> &QueryState {
        &self.state
    }

    pub(crate) fn pause(&mut self) {
        self.deployment = None;
        self.hold(QueryState::Paused, "Paused", Some("it is paused".to_owned()));
    }

    /// From the last commit, as another run.
    pub(crate) fn resume(&mut self) {
        let resumes = matches!(
            self.state,
            QueryState::Paused | QueryState::Failed(_) | QueryState::Terminated
        );
        if !resumes {
            return;
        }
        if let Err(error) = self.begin_run() {
            self.fail(&error);
            return;
        }
        self.committed.listen(self.shared.clock.now_us());
        self.ids.1 = Uuid::new_v4().to_string();
        self.board.set_run(&self.ids.1);
        let first = self.committed.context.is_none();
        self.timer = Timer::new(&self.parts.options, self.shared.clock.now_us(), first);
        self.retry = None;
        self.hold(QueryState::Starting, "Starting", None);
    }

    pub(crate) fn ticks(&self) -> bool {
        self.timer != Timer::Free
    }

    /// Does not wait for the next tick.
    pub(crate) fn hurry(&mut self) {
        self.timer.hurry(self.shared.clock.now_us());
    }

    /// Keeps state and result, and shows why.
    pub(crate) fn fail(&mut self, error: &Error) {
        self.deployment = None;
        let failure = Failure {
            reason: error.to_string(),
            hint: hint(error),
            epoch: Some(self.committed.next_epoch().0),
            offsets: self
                .open
                .as_ref()
                .map_or(Value::Null, |open| offsets(&self.parts.inputs, open)),
        };
        tracing::error!(
            query = self.parts.name,
            epoch = failure.epoch,
            reason = failure.reason,
            "query failed"
        );
        let reason = format!("it has failed: {}", failure.reason);
        self.hold(QueryState::Failed(failure), "Failed", Some(reason));
    }

    pub(crate) fn stop(&mut self) {
        self.deployment = None;
        self.hold(QueryState::Stopped, "Stopped", Some("it is stopped".to_owned()));
    }

    fn hold(&mut self, state: QueryState, message: &str, still: Option<String>) {
        self.state = state.clone();
        self.board.set_state(state, message);
        self.shared.timeline.set_still(self.parts.object, still);
    }

    /// Runs at most one epoch.
    pub(crate) fn turn(&mut self, abandon: &Abandon) -> Next {
        if !matches!(self.state, QueryState::Starting | QueryState::Running) {
            return Next::OnWake;
        }
        let now_us = self.shared.clock.now_us();
        if let Some(retry) = &self.retry
            && now_us < retry.at_us
        {
            return Next::At(retry.at_us);
        }
        match self.advance(now_us, abandon) {
            Ok(next) => {
                self.retry = None;
                next
            }
            Err(Error::Source(SourceError::Unavailable(reason))) => self.back_off(now_us, "Source", &reason),
            Err(Error::Sink(SinkError::Unavailable(reason))) => self.back_off(now_us, "Sink", &reason),
            Err(error) => {
                self.fail(&error);
                Next::OnWake
            }
        }
    }

    /// A source or sink that is not there comes back or does not; the query waits with its state and says so.
    fn back_off(&mut self, now_us: i64, what: &str, reason: &str) -> Next {
        self.deployment = None;
        let wait_us = self
            .retry
            .as_ref()
            .map_or(RETRY_US, |retry| (retry.wait_us * 2).min(RETRY_US_MAX));
        let at_us = now_us.saturating_add(wait_us);
        self.retry = Some(Retry { at_us, wait_us });
        self.board.idle(format!(
            "{what} unavailable, trying again in {} ms: {reason}",
            wait_us / 1000
        ));
        Next::At(at_us)
    }

    fn advance(&mut self, now_us: i64, abandon: &Abandon) -> Result<Next> {
        let begin_us = self.shared.clock.elapsed_us();
        self.stopwatch = Stopwatch::default();
        let mut fired_us = now_us;
        if self.open.is_none() {
            if let Some(gather) = self.parts.options.gather.filter(|_| self.timer.gathers())
                && gather::pending(&self.parts.inputs, &self.committed.positions, now_us)? >= gather.offsets
            {
                self.timer.hurry(now_us);
            }
            if let Err(next_us) = self.timer.fire(now_us) {
                self.recovered();
                if !self.timer.gathers() {
                    self.board.idle("Waiting for next trigger");
                    return Ok(Next::At(next_us));
                }
                self.board.idle("Waiting for more data to arrive");
                let poll_us = self.poll_us(now_us).unwrap_or(next_us);
                return Ok(Next::At(next_us.min(poll_us)));
            }
            let target = if bounded::ends(self.parts.options.trigger) {
                match self.next_of_run(now_us)? {
                    bounded::Next::Go(target) => target,
                    bounded::Next::Wait(until_us) => {
                        self.board.idle("Waiting for the views it reads");
                        return Ok(Next::At(until_us));
                    }
                    bounded::Next::End => {
                        self.terminate()?;
                        return Ok(Next::OnWake);
                    }
                }
            } else {
                match self.choose(now_us)? {
                    Some(target) => target,
                    None => return Ok(self.idle(now_us)),
                }
            };
            self.stopwatch.latest_offset_us = self.since(begin_us);
            self.log_batch(target, now_us)?;
            fired_us = self.timer.tick().map_or(now_us, |tick| tick.scheduled_us);
        }
        let record = self.open.clone().expect("logged above or recovered");
        self.board
            .epoch_begins(format!("Processing epoch {}", record.epoch()));
        let Some(mut output) = self.run(&record, abandon)? else {
            return Ok(Next::OnWake);
        };
        self.trace_late_rows(&record, &mut output)
            .and_then(|()| self.commit(&record, &output))
            .inspect_err(|_| self.deployment = None)?;
        self.stopwatch.total_us = self.since(begin_us);
        self.publish(&record, &output, (now_us, fired_us));
        Ok(Next::Again)
    }

    fn since(&self, begin_us: u64) -> u64 {
        self.shared.clock.elapsed_us().saturating_sub(begin_us)
    }

    fn limit(&self, now_us: i64) -> EpochLimit {
        EpochLimit {
            bytes: self.shared.options.epoch_bytes,
            now_us,
        }
    }

    /// A query that stands at a readable result with nothing begun has started, whether or not it ever gets new input.
    fn recovered(&mut self) {
        if self.state == QueryState::Starting && self.committed.context.is_some() && self.committed.reached {
            self.state = QueryState::Running;
            self.board.set_state(QueryState::Running, "Running");
        }
    }

    /// Nothing to do for now.
    fn idle(&mut self, now_us: i64) -> Next {
        self.recovered();
        if let Some(next_us) = self.timer.rest(now_us) {
            self.board.idle("Waiting for next trigger");
            return Next::At(next_us);
        }
        self.board.idle("Waiting for data to arrive");
        self.poll_us(now_us).map_or(Next::OnWake, Next::At)
    }

    /// When it is worth to ask the sources again, or the clock changes the result.
    fn poll_us(&self, now_us: i64) -> Option<i64> {
        let polls = self.parts.inputs.iter().filter_map(|input| match &input.from {
            ReadFrom::Source(source) => Some(source.poll_interval_ms()),
            ReadFrom::Relation(_) => None,
        });
        let poll_ms = polls
            .min()
            .map(|poll_ms| i64::try_from(poll_ms).unwrap_or(i64::MAX / 1000));
        let poll_us = poll_ms.map(|poll_ms| now_us.saturating_add(poll_ms.saturating_mul(1000)));
        let (inputs, committed) = (&self.parts.dataflow.inputs, &self.committed);
        let followed = followed(&self.parts, committed, &self.shared.timeline);
        let watermarks = next_watermarks(&self.parts, committed, &followed, now_us);
        let idle_us = watermark::next_idle(inputs, &committed.heard_us, &watermarks, now_us);
        [poll_us, self.committed.due_us, idle_us]
            .into_iter()
            .flatten()
            .min()
    }

    /// The cut to go to, stamped if there is reason to; `None` when there is nothing to do.
    fn choose(&mut self, now_us: i64) -> Result<Option<Cut>> {
        let (view, timeline) = (self.parts.object, &self.shared.timeline);
        let due = due(&self.parts, &self.committed, timeline, now_us);
        timeline.set_due(view, due.is_due, &due.followed);
        let ticking = match self.timer.tick() {
            Some(tick) if tick.goal.is_some() && timeline.boundary(view) >= tick.goal => return Ok(None),
            Some(tick) => {
                self.asked = tick.asked;
                true
            }
            None => false,
        };
        loop {
            let first = self.committed.context.is_none();
            let ask_first = !self.asked && (first || ticking);
            match timeline.choose(view, ask_first) {
                Choice::Go(target) => {
                    if let Some(tick) = self.timer.tick() {
                        tick.asked = true;
                        tick.goal.get_or_insert(timeline.latest());
                    }
                    return Ok(Some(target));
                }
                Choice::Behind => return Ok(None),
                // A tick takes in what was there when it fired.
                Choice::AtLatest { .. } if ticking && self.asked => return Ok(None),
                Choice::AtLatest { cut, dirty } => {
                    let moves = step::moves(&self.parts.inputs, cut, timeline, self.limit(now_us))?;
                    self.asked = true;
                    let at = timeline.boundary(view);
                    let news = dirty || !moves.is_empty();
                    // Whoever ticks and stands behind goes to a cut of its own in one epoch, a round one that draws the
                    // others. Below other views that is not possible: they are not there yet.
                    let behind = at.is_some_and(|at| at < cut);
                    let rounded = ticking && behind && !self.reads_views();
                    let empty_due = !behind && (first || due.is_due);
                    if news || rounded || empty_due {
                        let round_from = ticking.then_some(at.unwrap_or(Cut::ZERO));
                        timeline.stamp(cut, moves, round_from)?;
                    } else if !ask_first {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn reads_views(&self) -> bool {
        self.parts
            .inputs
            .iter()
            .any(|input| self.shared.timeline.is_view(input.object))
    }

    /// Decides what the next epoch reads and writes that down.
    fn log_batch(&mut self, target: Cut, now_us: i64) -> Result<()> {
        let begin_us = self.shared.clock.elapsed_us();
        let context = EpochContext {
            epoch: self.committed.next_epoch(),
            // A clock that was set back stands still until it has caught up.
            processing_time_us: { self.committed.context.as_ref() }
                .map_or(now_us, |before| now_us.max(before.processing_time_us)),
            watermarks: next_watermarks(
                &self.parts,
                &self.committed,
                &followed(&self.parts, &self.committed, &self.shared.timeline),
                now_us,
            ),
            watermarks_before: self.committed.watermarks(),
        };
        let step = step::plan(
            &self.parts.inputs,
            &self.committed.positions,
            target,
            &self.shared.timeline,
            self.limit(now_us),
            self.parts.options.trigger == Trigger::Once,
        )?;
        let record = BatchRecord::new(
            (&self.ids.0, &self.ids.1),
            target,
            step.reached,
            step.ranges,
            context,
        );
        self.stopwatch.query_planning_us = self.since(begin_us);
        let begin_us = self.shared.clock.elapsed_us();
        let durable = match self.parts.target {
            Some(_) => Durable::Now,
            None => Durable::WithNextCommit,
        };
        self.shared
            .storage
            .put_batch(self.parts.object.0, record.epoch().0, record.encode(), durable)?;
        self.stopwatch.wal_commit_us = self.since(begin_us);
        self.open = Some(record);
        Ok(())
    }

    /// `None` when the epoch was given up.
    fn run(&mut self, record: &BatchRecord, abandon: &Abandon) -> Result<Option<EpochOutput>> {
        let begin_us = self.shared.clock.elapsed_us();
        let inputs = step::open(&self.parts.inputs, &record.ranges, self.shared.runtime.workers())?;
        self.stopwatch.get_batch_us = self.since(begin_us);
        let begin_us = self.shared.clock.elapsed_us();
        let deployment = match self.deployment.take() {
            Some(deployment) => deployment,
            None => self.deploy()?,
        };
        let input = EpochInput {
            context: record.context.clone(),
            watermarks: self.parts.dataflow.node_watermarks(&record.context),
            inputs,
            newest: self.committed.event_times.clone(),
            full: self.nodes_to_rewrite(),
        };
        // Only a deployment that has finished its epoch is used again.
        let output = deployment.run(input, abandon)?;
        if output.is_some() {
            self.deployment = Some(deployment);
        }
        self.stopwatch.add_batch_us = self.since(begin_us);
        Ok(output)
    }

    /// Finds the source's row of each late one.
    fn trace_late_rows(&self, record: &BatchRecord, output: &mut EpochOutput) -> Result<()> {
        let search = Search {
            dataflow: &self.parts.dataflow,
            inputs: &self.parts.inputs,
            sources: &self.parts.late_sources,
            record,
            watermarks: &self.parts.dataflow.node_watermarks(&record.context),
            rows: &output.inputs.iter().map(|input| input.rows).collect::<Vec<_>>(),
        };
        let traced = search.trace(&output.late_rows, &output.old_rows)?;
        for (input, late_rows) in output.inputs.iter_mut().zip(&traced.by_input) {
            input.late_rows = *late_rows;
        }
        output.told = traced.told;
        Ok(())
    }

    fn deploy(&self) -> Result<Deployment> {
        let parts = &self.parts;
        let checkpoint = recovery::checkpoint(
            &self.shared.storage,
            parts.object.0,
            &self.committed,
            &parts.dataflow,
            &parts.plan,
        )?;
        self.shared
            .runtime
            .install(parts.plan.clone(), self.committed.next_epoch(), checkpoint)
    }

    /// Nodes whose deltas have outgrown the whole: written anew, each byte of state is written a bounded number of times.
    fn nodes_to_rewrite(&self) -> Vec<bool> {
        let outgrown = |name: &str| {
            let size = self.shared.storage.state_size(self.parts.object.0, name);
            size.delta_bytes > size.base_bytes.max(DELTA_BYTES_MIN)
        };
        self.parts
            .plan
            .nodes
            .iter()
            .map(|node| outgrown(&node.name))
            .collect()
    }
}

fn distinct(ids: impl Iterator<Item = ObjectId>) -> Vec<ObjectId> {
    ids.collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect()
}

/// How far sources are behind all inputs that read them: the least position of each.
fn consumed(inputs: &[QueryInput], positions: &[InputPosition]) -> Vec<(ObjectId, Position)> {
    let mut least: Vec<(ObjectId, Position)> = Vec::new();
    for (input, position) in inputs.iter().zip(positions) {
        if let (ReadFrom::Source(source), InputPosition::Source(position)) = (&input.from, position) {
            match least.iter_mut().find(|(object, _)| *object == input.object) {
                Some((_, known)) if source.reached(known, position) => *known = position.clone(),
                Some(_) => {}
                None => least.push((input.object, position.clone())),
            }
        }
    }
    least
}

/// Views whose watermark matters to the query or its readers.
fn follows(dataflow: &Dataflow) -> Vec<ObjectId> {
    distinct(
        { dataflow.inputs.iter() }
            .filter(|input| input.follows)
            .map(|input| input.object),
    )
}

/// The watermarks of the views that the query reads, where it stands in them; by input.
fn followed(parts: &QueryParts, committed: &Committed, timeline: &Timeline) -> Vec<Option<Followed>> {
    let inputs = parts.dataflow.inputs.iter().zip(&committed.positions);
    let of_input = |(input, position): (&Input, &InputPosition)| match position {
        InputPosition::Log(position) if input.follows => Some(Followed {
            view: input.object,
            at: position.cut,
            watermark: timeline.handed_on(input.object, position.cut),
        }),
        InputPosition::Log(_) | InputPosition::Source(_) => None,
    };
    inputs.map(of_input).collect()
}

fn next_watermarks(
    parts: &QueryParts,
    committed: &Committed,
    followed: &[Option<Followed>],
    now_us: i64,
) -> Vec<Option<i64>> {
    let below = followed.iter().map(|followed| followed.as_ref()?.watermark);
    let seen = Seen {
        idle: &watermark::idle(
            &parts.dataflow.inputs,
            &committed.heard_us,
            listened_us(parts, committed, now_us),
        ),
        event_times: &committed.event_times,
        below: &below.collect::<Vec<_>>(),
        last: &committed.watermarks(),
    };
    watermark::next(&parts.dataflow.inputs, parts.options.watermark_policy, &seen)
}

/// Up to when silence has been heard. A query that ticks hears its inputs at its ticks only.
fn listened_us(parts: &QueryParts, committed: &Committed, now_us: i64) -> i64 {
    match (parts.options.trigger, parts.options.gather, &committed.context) {
        (Trigger::Default, None, _) | (_, _, None) => now_us,
        (_, _, Some(context)) => context.processing_time_us.min(now_us),
    }
}

/// The watermark of the result, for the views that read it.
fn handed_on(parts: &QueryParts, committed: &Committed) -> Option<i64> {
    let bound = parts.dataflow.times.bound.as_ref()?;
    bound.value(&committed.watermarks())
}

/// Whether the watermark moved, or time passed, in a way that can change the result or what it hands on.
struct Due {
    is_due: bool,
    followed: Vec<Followed>,
}

fn due(parts: &QueryParts, committed: &Committed, timeline: &Timeline, now_us: i64) -> Due {
    let followed = followed(parts, committed, timeline);
    let (last, next) = (
        committed.watermarks(),
        next_watermarks(parts, committed, &followed, now_us),
    );
    let hands_on =
        parts.dataflow.times.bound.as_ref().is_some_and(|bound| {
            bound.value(&last) != bound.value(&next) && timeline.is_followed(parts.object)
        });
    Due {
        is_due: committed.due_us.is_some_and(|due_us| due_us <= now_us)
            || parts.options.no_data_epochs
                && (hands_on || watermark::moves_result(&parts.dataflow, &last, &next)),
        followed: followed.into_iter().flatten().collect(),
    }
}

fn standing(parts: &QueryParts, committed: &Committed, timeline: &Timeline, now_us: i64) -> Standing {
    let watermarks = next_watermarks(parts, committed, &followed(parts, committed, timeline), now_us);
    let inputs = parts
        .inputs
        .iter()
        .enumerate()
        .map(|(index, input)| InputStatus {
            object: input.object,
            name: input.name.clone(),
            has_event_time: parts.dataflow.inputs[index].is_timed(),
            watermark_us: watermarks[index],
            max_event_time_us: committed.event_times[index],
            rows: committed.inputs[index].rows,
            bad_rows: committed.inputs[index].bad_rows,
            future_rows: committed.inputs[index].future_rows,
            null_event_time: committed.inputs[index].null_event_time,
            late_rows: committed.inputs[index].late_rows,
            lateness_us: [50, 99].map(|percent| committed.inputs[index].lateness.percentile(percent)),
            offset: committed.positions[index].offset(),
        })
        .collect();
    let epoch = committed.context.as_ref().map(|context| context.epoch.0);
    Standing {
        epoch,
        totals: committed.totals,
        inputs,
    }
}

fn offsets(inputs: &[QueryInput], record: &BatchRecord) -> Value {
    inputs
        .iter()
        .zip(&record.ranges)
        .map(|(input, range)| {
            json!({ "input": input.name, "startOffset": range.from.offset(), "endOffset": range.to.offset() })
        })
        .collect()
}

fn hint(error: &Error) -> Option<String> {
    match error {
        Error::Unsupported { hint, .. } | Error::User { hint, .. } | Error::OutOfReach { hint, .. } => {
            hint.clone()
        }
        Error::Source(SourceError::Failed { hint, .. }) | Error::Sink(SinkError::Failed { hint, .. }) => {
            hint.clone()
        }
        Error::Source(SourceError::Unavailable(_))
        | Error::Sink(SinkError::Unavailable(_))
        | Error::Gone(_)
        | Error::OutOfMemory(_)
        | Error::Storage(_)
        | Error::Bug(_) => None,
    }
}
