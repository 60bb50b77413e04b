//! The workers: threads that run dataflows over timely, the only place that names it.
//!
//! A [`Deployment`] is a dataflow installed on all workers. Its driver runs it epoch by epoch: the constants and ranges of
//! an epoch go in, the changes, state and counters come out. A failure or a wish to stop ends the deployment, not the
//! workers; a new one starts from the checkpoint.

mod collect;
mod exchange;
mod input;
mod old_rows;
mod operator;
mod output;
mod plan;
#[cfg(test)]
mod tests;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Thread;
use std::time::Duration;

use parking_lot::Mutex;
use timely::communication::WorkerGuards;

use crate::bound::Watermark;
use crate::clock::Clock;
use crate::epoch::{Epoch, EpochContext, OperatorContext};
use crate::error::{Error, Result};
use crate::operator::StateBatch;

use collect::{EpochRun, Part, Report};
use worker::Command;

pub(crate) use collect::OperatorReport;
pub(crate) use input::{InputMetrics, InputQueue, InputReader};
pub(crate) use old_rows::{OldBatch, OldRows, nullable, older_than};
pub(crate) use output::{EpochOutput, join};
pub(crate) use plan::Plan;
#[cfg(test)]
pub(crate) use plan::{PlanInput, PlanKind, PlanNode};

/// How often a waiting driver looks whether the workers are still there.
const ALIVE_CHECK: Duration = Duration::from_secs(1);

/// The worker threads. Clones are the same threads.
#[derive(Clone)]
pub(crate) struct Runtime {
    shared: Arc<Workers>,
}

struct Workers {
    count: usize,
    next_id: AtomicU64,
    /// False once a worker thread has ended.
    alive: Arc<AtomicBool>,
    /// Locked while a command goes out, so that all workers get commands in one order.
    lines: Mutex<Lines>,
}

struct Lines {
    lines: Vec<(Sender<Command>, Thread)>,
    guards: Option<WorkerGuards<()>>,
}

/// A dataflow on all workers, shared by them.
struct Instance {
    id: u64,
    plan: Arc<Plan>,
    /// The first epoch it will run.
    start: Epoch,
    /// Until all workers have taken their share.
    checkpoint: Mutex<Option<Arc<Checkpoint>>>,
    installed: Sender<Report>,
    /// The epoch under way. Set before any worker hears of it, since changes may overtake the command.
    run: Mutex<Option<Arc<EpochRun>>>,
}

/// The state to start from.
pub(crate) struct Checkpoint {
    /// Of the last committed epoch.
    pub(crate) context: EpochContext,
    /// Of each node, in that epoch.
    pub(crate) watermarks: Vec<[Watermark; 2]>,
    /// By node index, oldest first.
    pub(crate) state: Vec<(usize, StateBatch)>,
}

impl Checkpoint {
    fn operator_context(&self, node: usize, worker: usize, workers: usize) -> OperatorContext {
        self.context.of_operator(self.watermarks[node], worker, workers)
    }
}

/// What an epoch runs on.
pub(crate) struct EpochInput {
    pub(crate) context: EpochContext,
    /// Of each node.
    pub(crate) watermarks: Vec<[Watermark; 2]>,
    /// One per dataflow input.
    pub(crate) inputs: Vec<InputQueue>,
    /// The greatest event time of each input in the epochs before.
    pub(crate) newest: Vec<Option<i64>>,
    /// By node: hand over the whole state instead of what changed.
    pub(crate) full: Vec<bool>,
}

/// The wish to give up the epoch under way, from another thread.
#[derive(Default)]
pub(crate) struct Abandon {
    wished: AtomicBool,
    reply: Mutex<Option<Sender<Report>>>,
}

impl Abandon {
    pub(crate) fn wish(&self) {
        self.wished.store(true, Ordering::SeqCst);
        if let Some(reply) = self.reply.lock().as_ref() {
            // The epoch may have ended meanwhile.
            let _ = reply.send(Report::Abandoned);
        }
    }

    pub(crate) fn wished(&self) -> bool {
        self.wished.load(Ordering::SeqCst)
    }
}

impl Runtime {
    pub(crate) fn start(workers: usize, clock: Arc<dyn Clock>) -> Result<Runtime> {
        let alive = Arc::new(AtomicBool::new(true));
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..workers).map(|_| channel::<Command>()).unzip();
        let receivers: Mutex<Vec<Option<Receiver<Command>>>> =
            Mutex::new(receivers.into_iter().map(Some).collect());
        let (threads, started) = channel::<(usize, Thread)>();
        let config = timely::Config::process(workers);
        let watched = Arc::clone(&alive);
        let guards = timely::execute(config, move |worker| {
            let _watch = Watch(Arc::clone(&watched));
            let commands = receivers.lock()[worker.index()]
                .take()
                .expect("each worker starts once");
            let _ = threads.send((worker.index(), std::thread::current()));
            worker::work(worker, &commands, &clock);
        })
        .map_err(|reason| Error::Bug(format!("the workers could not be started: {reason}")))?;
        let mut handles: Vec<Option<Thread>> = vec![None; workers];
        for _ in 0..workers {
            let (index, thread) = started
                .recv()
                .map_err(|_| Error::Bug("a worker ended while it was started".to_owned()))?;
            handles[index] = Some(thread);
        }
        let lines = senders
            .into_iter()
            .zip(handles)
            .map(|(sender, thread)| (sender, thread.expect("every worker reported")))
            .collect();
        let lines = Mutex::new(Lines {
            lines,
            guards: Some(guards),
        });
        Ok(Runtime {
            shared: Arc::new(Workers {
                count: workers,
                next_id: AtomicU64::new(0),
                alive,
                lines,
            }),
        })
    }

    /// Installs a dataflow on all workers, each with its share of the state.
    pub(crate) fn install(
        &self,
        plan: Arc<Plan>,
        start: Epoch,
        checkpoint: Option<Checkpoint>,
    ) -> Result<Deployment> {
        let (installed, reports) = channel();
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let checkpoint = Mutex::new(checkpoint.map(Arc::new));
        let run = Mutex::new(None);
        let instance = Arc::new(Instance {
            id,
            plan,
            start,
            checkpoint,
            installed,
            run,
        });
        self.shared.command(|| Command::Install(Arc::clone(&instance)))?;
        let deployment = Deployment {
            workers: Arc::clone(&self.shared),
            instance,
        };
        for _ in 0..self.shared.count {
            match self.shared.wait(&reports)? {
                Report::Installed => {}
                Report::Failed(error) => return Err(error),
                Report::Done(_) | Report::Abandoned => unreachable!("no epoch runs yet"),
            }
        }
        *deployment.instance.checkpoint.lock() = None;
        Ok(deployment)
    }

    pub(crate) fn workers(&self) -> usize {
        self.shared.count
    }

    /// Ends all workers. Epochs under way are lost.
    pub(crate) fn stop(&self) {
        self.shared.stop();
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Workers {
    fn stop(&self) {
        // Without workers the command has nobody to go to, which is what is wanted.
        let _ = self.command(|| Command::Stop);
        let guards = self.lines.lock().guards.take();
        drop(guards);
    }

    fn command(&self, command: impl Fn() -> Command) -> Result<()> {
        let lines = self.lines.lock();
        for (line, thread) in &lines.lines {
            line.send(command()).map_err(|_| stopped())?;
            thread.unpark();
        }
        Ok(())
    }

    fn wait(&self, reports: &Receiver<Report>) -> Result<Report> {
        loop {
            match reports.recv_timeout(ALIVE_CHECK) {
                Ok(report) => return Ok(report),
                Err(RecvTimeoutError::Timeout) if self.alive.load(Ordering::SeqCst) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Err(stopped()),
            }
        }
    }
}

fn stopped() -> Error {
    Error::Bug("the workers have ended".to_owned())
}

/// Tells when a worker thread ends, by whatever cause.
struct Watch(Arc<AtomicBool>);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// A dataflow installed on all workers; dropping it takes it down, also in the middle of an epoch.
pub(crate) struct Deployment {
    workers: Arc<Workers>,
    instance: Arc<Instance>,
}

impl Deployment {
    /// Runs one epoch to its end; `None` when it was given up. After an error or a `None` the deployment is of no more
    /// use.
    pub(crate) fn run(&self, input: EpochInput, abandon: &Abandon) -> Result<Option<EpochOutput>> {
        let (reply, reports) = channel();
        *abandon.reply.lock() = Some(reply.clone());
        if abandon.wished() {
            return Ok(None);
        }
        let EpochInput {
            context,
            watermarks,
            inputs,
            newest,
            full,
        } = input;
        let run = EpochRun {
            context,
            watermarks,
            inputs,
            newest,
            full,
            reply,
        };
        *self.instance.run.lock() = Some(Arc::new(run));
        self.workers.command(|| Command::Run(self.instance.id))?;
        let mut parts: Vec<Part> = Vec::with_capacity(self.workers.count);
        while parts.len() < self.workers.count {
            match self.workers.wait(&reports)? {
                Report::Done(part) => parts.push(*part),
                Report::Failed(error) => return Err(error),
                Report::Abandoned => return Ok(None),
                Report::Installed => unreachable!("it is installed"),
            }
        }
        *self.instance.run.lock() = None;
        *abandon.reply.lock() = None;
        Ok(Some(EpochOutput::assemble(&self.instance.plan, parts)?))
    }
}

impl Drop for Deployment {
    fn drop(&mut self) {
        // Without workers there is nothing to take down.
        let _ = self.workers.command(|| Command::Uninstall(self.instance.id));
    }
}
