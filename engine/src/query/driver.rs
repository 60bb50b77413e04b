//! The thread of a query, and the handle by which others steer it.
//!
//! All logic is in [`Query`], which knows no thread: this loop gives it turns, waits as long as it says, and passes on
//! what the outside wants.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use millpond_storage::{Cut, Relation};
use parking_lot::{Condvar, Mutex};

use super::board::Board;
use super::late_rows::LateSource;
use super::reconfigure::Change;
use super::status::{QueryState, QueryStatus};
use super::{Next, Query};
use crate::bound::ResultTime;
use crate::clock::Clock;
use crate::cut::{Timeline, Wake};
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::runtime::Abandon;

pub(crate) struct QueryHandle {
    object: millpond_catalog::ObjectId,
    relation: Arc<Relation>,
    bad_rows: Arc<Relation>,
    late_rows: Arc<Relation>,
    late_sources: Vec<LateSource>,
    board: Arc<Board>,
    control: Arc<Control>,
    times: Vec<ResultTime>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Control {
    wishes: Mutex<Wishes>,
    changed: Condvar,
    abandon: Abandon,
    /// The query works at intervals and not whenever there is input.
    ticks: AtomicBool,
}

#[derive(Default)]
struct Wishes {
    woken: bool,
    /// The next tick is wanted now.
    hurry: bool,
    pause: bool,
    resume: bool,
    stop: bool,
    /// Other options from the next epoch on.
    change: Option<Change>,
    /// The query stands still by wish, or the thread has ended.
    at_rest: bool,
    ended: bool,
}

/// What the loop does next.
enum Order {
    Turn { resume: bool, hurry: bool },
    Pause,
    Stop,
}

impl QueryHandle {
    /// A handle to a query that has no thread yet.
    pub(crate) fn new(query: &Query, paused: bool) -> Arc<QueryHandle> {
        let wishes = Wishes {
            pause: paused,
            ..Wishes::default()
        };
        let control = Arc::new(Control {
            wishes: Mutex::new(wishes),
            changed: Condvar::new(),
            abandon: Abandon::default(),
            ticks: AtomicBool::new(query.ticks()),
        });
        Arc::new(QueryHandle {
            object: query.object(),
            relation: query.relation().clone(),
            bad_rows: query.bad_rows().clone(),
            late_rows: query.late_rows().clone(),
            late_sources: query.late_sources().to_vec(),
            board: query.board().clone(),
            times: query.times().columns.clone(),
            control,
            thread: Mutex::new(None),
        })
    }

    /// Starts the query's thread.
    pub(crate) fn run(&self, mut query: Query) -> Result<()> {
        if self.control.wishes.lock().pause {
            // Before anyone can ask: a paused query is never seen starting.
            query.pause();
        }
        let clock = query.clock().clone();
        clock.on_turn(self.waker());
        let control = Arc::clone(&self.control);
        let thread = thread::Builder::new()
            .name(format!("query {}", self.object))
            .spawn(move || drive(query, &control, clock.as_ref()))
            .map_err(|error| Error::Bug(format!("the query's thread could not be started: {error}")))?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    pub(crate) fn name(&self) -> String {
        self.board.name()
    }

    pub(crate) fn relation(&self) -> &Arc<Relation> {
        &self.relation
    }

    pub(crate) fn late_rows(&self) -> &Arc<Relation> {
        &self.late_rows
    }

    pub(crate) fn late_sources(&self) -> &[LateSource] {
        &self.late_sources
    }

    /// Columns of the result that a watermark bounds.
    pub(crate) fn times(&self) -> &[ResultTime] {
        &self.times
    }

    pub(crate) fn bad_rows(&self) -> &Arc<Relation> {
        &self.bad_rows
    }

    pub(crate) fn status(&self, timeline: &Timeline) -> QueryStatus {
        self.board.status(timeline.boundary(self.object))
    }

    pub(crate) fn progress(&self) -> Vec<Arc<Progress>> {
        self.board.progress()
    }

    pub(crate) fn prunable_before(&self, kept: u64, versions_from: Cut) -> Option<u64> {
        self.board.prunable_before(kept, versions_from)
    }

    /// Called when something the query reads has changed.
    pub(crate) fn waker(&self) -> Wake {
        let control = Arc::downgrade(&self.control);
        Arc::new(move || {
            if let Some(control) = control.upgrade() {
                control.wish(|wishes| wishes.woken = true);
            }
        })
    }

    /// The query does not wait for its next tick.
    pub(crate) fn hurry(&self) {
        if self.control.ticks.load(Ordering::Relaxed) {
            self.control.wish(|wishes| wishes.hurry = true);
        }
    }

    /// The query works with other options from its next epoch on.
    pub(crate) fn reconfigure(&self, change: Change) {
        if self.board.is_terminated() && !super::has_end(change.options.trigger) {
            self.board.starts_again();
        }
        self.board.set_name(change.name.clone());
        self.control.wish(|wishes| wishes.change = Some(change));
    }

    /// Returns when the query stands still.
    pub(crate) fn pause(&self) {
        self.control.wish(|wishes| {
            wishes.pause = true;
            wishes.resume = false;
            wishes.at_rest = false;
        });
        self.control
            .await_until(|wishes| wishes.at_rest || wishes.ended, None);
    }

    pub(crate) fn resume(&self) {
        self.board.starts_again();
        self.control.wish(|wishes| {
            wishes.pause = false;
            wishes.resume = true;
            wishes.at_rest = false;
        });
    }

    /// Stops after the running epoch.
    pub(crate) fn request_stop(&self) {
        self.control.wish(|wishes| wishes.stop = true);
    }

    /// Gives the running epoch up and ends the thread.
    pub(crate) fn stop(&self) {
        self.stop_within(Duration::ZERO);
    }

    /// Lets the running epoch end if it does so in time.
    pub(crate) fn stop_within(&self, patience: Duration) {
        self.request_stop();
        self.control.await_until(|wishes| wishes.ended, Some(patience));
        self.control.abandon.wish();
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!(query = %self.board.name(), "the query's thread had panicked");
        }
    }
}

impl Control {
    fn wish(&self, change: impl FnOnce(&mut Wishes)) {
        change(&mut self.wishes.lock());
        self.changed.notify_all();
    }

    fn await_until(&self, done: impl Fn(&Wishes) -> bool, patience: Option<Duration>) {
        let mut wishes = self.wishes.lock();
        match patience {
            None => self.changed.wait_while(&mut wishes, |wishes| !done(wishes)),
            Some(patience) => {
                self.changed
                    .wait_while_for(&mut wishes, |wishes| !done(wishes), patience);
            }
        }
    }

    fn order(&self) -> Order {
        let mut wishes = self.wishes.lock();
        // Whatever woke the query is seen by the turn that begins now.
        wishes.woken = false;
        if wishes.stop {
            Order::Stop
        } else if wishes.pause {
            Order::Pause
        } else {
            Order::Turn {
                resume: std::mem::take(&mut wishes.resume),
                hurry: std::mem::take(&mut wishes.hurry),
            }
        }
    }

    /// Waits for a wake or a wish, for `patience` at most.
    fn rest(&self, patience: Option<Duration>) {
        let mut wishes = self.wishes.lock();
        let idle = |wishes: &mut Wishes| {
            !(wishes.woken
                || wishes.hurry
                || wishes.stop
                || wishes.resume
                || wishes.change.is_some()
                || (wishes.pause && !wishes.at_rest))
        };
        match patience {
            None => self.changed.wait_while(&mut wishes, idle),
            Some(patience) => {
                self.changed.wait_while_for(&mut wishes, idle, patience);
            }
        }
    }
}

/// Tells those who wait when the thread ends, by whatever cause.
struct Ended<'a>(&'a Control);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.wish(|wishes| wishes.ended = true);
    }
}

fn drive(mut query: Query, control: &Control, clock: &dyn Clock) {
    let _ended = Ended(control);
    loop {
        let change = control.wishes.lock().change.take();
        if let Some(change) = change {
            query.reconfigure(change);
            control.ticks.store(query.ticks(), Ordering::Relaxed);
        }
        match control.order() {
            Order::Stop => {
                query.stop();
                return;
            }
            Order::Pause => {
                if !matches!(query.state(), QueryState::Paused) {
                    query.pause();
                }
                control.wish(|wishes| wishes.at_rest = true);
                control.rest(None);
            }
            Order::Turn { resume, hurry } => {
                if resume {
                    query.resume();
                }
                if hurry {
                    query.hurry();
                }
                // What panics here is a defect of the driver; the query keeps its last commit and shows why.
                let next =
                    catch_unwind(AssertUnwindSafe(|| query.turn(&control.abandon))).unwrap_or_else(|_| {
                        query.fail(&Error::Bug(
                            "the query's driver panicked; the log has the details".to_owned(),
                        ));
                        Next::OnWake
                    });
                match next {
                    Next::Again => {}
                    Next::At(time_us) => control.rest(clock.until(time_us)),
                    Next::OnWake => control.rest(None),
                }
            }
        }
    }
}
