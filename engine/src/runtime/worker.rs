//! One worker: obeys commands, reads input a batch at a time, steps timely, and parks when there is nothing to do.
//!
//! Several queries' epochs run at once. Each turn reads at most one batch per input, so a large epoch does not shut out
//! a small one, and what is under way between reader and operators stays small.
//!
//! Invariant: all workers obey the same commands in the same order and build the same dataflows, also when something
//! fails, because timely numbers channels by the order in which they are made.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use hashbrown::HashMap;
use millpond_storage::ChangeBatch;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::InputHandle;
use timely::dataflow::operators::Input;
use timely::worker::Worker;

use super::collect::{Collector, EpochRun, Report};
use super::exchange::{Batches, split};
use super::input::InputReader;
use super::old_rows::older_than;
use super::operator::{Changes, Node, guarded, install_result};
use super::plan::{PlanKind, PlanNode};
use super::{Checkpoint, Instance};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::operator::{Operator, Output, StateBatch};

pub(super) enum Command {
    Install(Arc<Instance>),
    /// An epoch of this dataflow was made ready in its [`Instance`].
    Run(u64),
    Uninstall(u64),
    Stop,
}

type Handle = InputHandle<u64, CapacityContainerBuilder<Batches>>;

/// A dataflow on this worker.
struct Local {
    /// Timely's number for it.
    index: usize,
    instance: Arc<Instance>,
    collector: Rc<RefCell<Collector>>,
    inputs: Vec<LocalInput>,
    /// Of nodes that are always empty: they carry no rows, only the epochs.
    empty: Vec<Handle>,
    run: Option<Arc<EpochRun>>,
}

struct LocalInput {
    handle: Handle,
    reader: InputReader,
    finished: bool,
}

/// Runs until told to stop.
pub(super) fn work(worker: &mut Worker, commands: &Receiver<Command>, clock: &Arc<dyn Clock>) {
    let mut locals: HashMap<u64, Local> = HashMap::new();
    loop {
        loop {
            match commands.try_recv() {
                Ok(Command::Install(instance)) => {
                    locals.insert(instance.id, Local::install(worker, instance, clock));
                }
                Ok(Command::Run(id)) => locals.get_mut(&id).expect("installed before it runs").start(),
                Ok(Command::Uninstall(id)) => {
                    if let Some(local) = locals.remove(&id) {
                        worker.drop_dataflow(local.index);
                    }
                }
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => {
                    for (_, local) in locals.drain() {
                        worker.drop_dataflow(local.index);
                    }
                    return;
                }
                Err(TryRecvError::Empty) => break,
            }
        }
        let mut busy = false;
        for local in locals.values_mut() {
            busy |= local.read();
        }
        if busy {
            worker.step();
        } else {
            // A command that comes after the check above has left a token, so the park ends at once.
            worker.step_or_park(None);
        }
    }
}

impl Local {
    /// Builds the dataflow. A node that cannot be built is replaced by one that refuses, and the driver is told.
    fn install(worker: &mut Worker, instance: Arc<Instance>, clock: &Arc<dyn Clock>) -> Local {
        let collector = Rc::new(RefCell::new(Collector::new(Arc::clone(&instance))));
        let (operators, outcome) = build_operators(&instance, worker.index(), worker.peers());
        let index = worker.next_dataflow_index();
        let (handles, empty) = build_dataflow(worker, &instance, operators, &collector, clock);
        let report = match outcome {
            Ok(()) => Report::Installed,
            Err(error) => Report::Failed(error),
        };
        let _ = instance.installed.send(report);
        let inputs = handles
            .into_iter()
            .map(|handle| LocalInput {
                handle,
                reader: InputReader::default(),
                finished: true,
            })
            .collect();
        Local {
            index,
            instance,
            collector,
            inputs,
            empty,
            run: None,
        }
    }

    fn start(&mut self) {
        let run = self.collector.borrow_mut().run();
        for handle in &mut self.empty {
            handle.advance_to(run.context.epoch.0 + 1);
        }
        self.run = Some(run);
        for input in &mut self.inputs {
            input.reader = InputReader::default();
            input.finished = false;
        }
    }

    /// Reads a batch of every input; false when there is nothing to read.
    fn read(&mut self) -> bool {
        let Some(run) = self.run.clone() else {
            return false;
        };
        for number in 0..self.inputs.len() {
            if self.inputs[number].finished {
                continue;
            }
            match self.read_input(number, &run) {
                Ok(true) => {}
                Ok(false) => {
                    let input = &mut self.inputs[number];
                    input.finished = true;
                    input.handle.advance_to(run.context.epoch.0 + 1);
                }
                Err(error) => {
                    self.collector.borrow_mut().fail(error);
                }
            }
            if self.collector.borrow().failed() {
                self.run = None;
                return true;
            }
        }
        if self.inputs.iter().all(|input| input.finished) {
            self.run = None;
        }
        true
    }

    fn read_input(&mut self, number: usize, run: &EpochRun) -> Result<bool> {
        let input = &mut self.inputs[number];
        let plan = &self.instance.plan.inputs[number];
        let Some(mut batch) = guarded(&plan.name, || input.reader.next(&run.inputs[number]))? else {
            return Ok(false);
        };
        let mut collector = self.collector.borrow_mut();
        let part = collector.part();
        part.inputs[number].measure(
            &batch,
            plan.event_time.as_ref(),
            run.context.processing_time_us,
            run.newest.get(number).copied().flatten(),
        )?;
        if let (true, Some(event_time)) = (plan.may_be_late, &plan.event_time)
            && let Some(watermark) = run.context.watermarks[number]
        {
            let rows = older_than(&batch.changes, event_time.column, watermark)?;
            let old_rows = &mut part.old_rows[number];
            if !rows.is_empty() && !old_rows.incomplete {
                match input
                    .reader
                    .old_batch(&run.inputs[number], &batch, &rows, false)?
                {
                    Some(old) => old_rows.batches.push(old),
                    None => old_rows.incomplete = true,
                }
            }
        }
        part.bad_rows
            .extend(batch.bad_rows.drain(..).map(|row| (plan.name.clone(), row)));
        drop(collector);
        if !batch.changes.is_empty() {
            input.handle.send_batch(&mut Batches(vec![batch.changes]));
        }
        Ok(true)
    }
}

/// An instance per operator node with this worker's share of the state, and what went wrong if anything did.
fn build_operators(
    instance: &Instance,
    worker: usize,
    workers: usize,
) -> (Vec<Option<Box<dyn Operator>>>, Result<()>) {
    let checkpoint = instance.checkpoint.lock().clone();
    let mut outcome = Ok(());
    let mut operators = Vec::with_capacity(instance.plan.nodes.len());
    for (index, node) in instance.plan.nodes.iter().enumerate() {
        let PlanKind::Operator(build) = &node.kind else {
            operators.push(None);
            continue;
        };
        let built = guarded(&node.name, || {
            let mut operator = build()?;
            if let Some(checkpoint) = &checkpoint {
                restore(node, index, checkpoint, operator.as_mut(), worker, workers)?;
            }
            Ok(operator)
        });
        operators.push(Some(built.unwrap_or_else(|error| {
            outcome = Err(error.clone());
            Box::new(Broken(error))
        })));
    }
    (operators, outcome)
}

fn restore(
    node: &PlanNode,
    index: usize,
    checkpoint: &Checkpoint,
    operator: &mut dyn Operator,
    worker: usize,
    workers: usize,
) -> Result<()> {
    let context = checkpoint.operator_context(index, worker, workers);
    for (_, state) in checkpoint.state.iter().filter(|(of, _)| *of == index) {
        let edge = node.edges.get(state.port).ok_or_else(|| {
            Error::Bug(format!(
                "stored state of {} is for its input {}, which it does not have",
                node.name, state.port
            ))
        })?;
        for (home, changes) in split(state.changes.clone(), &edge.distribution, workers)? {
            if home == worker {
                operator.restore(
                    &context,
                    StateBatch {
                        port: state.port,
                        changes,
                    },
                )?;
            }
        }
    }
    operator.restored(&context)
}

/// The handles of the inputs, and those of the nodes that are always empty.
fn build_dataflow(
    worker: &mut Worker,
    instance: &Arc<Instance>,
    operators: Vec<Option<Box<dyn Operator>>>,
    collector: &Rc<RefCell<Collector>>,
    clock: &Arc<dyn Clock>,
) -> (Vec<Handle>, Vec<Handle>) {
    let start = instance.start.0;
    let (index, workers) = (worker.index(), worker.peers());
    worker.dataflow::<u64, _, _>(|scope| {
        let mut handles: Vec<Handle> = Vec::new();
        let mut empty: Vec<Handle> = Vec::new();
        let mut inputs: Vec<Changes<'_>> = Vec::new();
        for _ in &instance.plan.inputs {
            let (mut handle, stream) = scope.new_input::<Batches>();
            handle.advance_to(start);
            handles.push(handle);
            inputs.push(stream);
        }
        let mut streams: Vec<Changes<'_>> = Vec::new();
        for (number, (plan, operator)) in instance.plan.nodes.iter().zip(operators).enumerate() {
            let stream = match (&plan.kind, operator) {
                (PlanKind::Input(input), _) => inputs[*input].clone(),
                (PlanKind::Empty, _) => {
                    let (mut handle, stream) = scope.new_input::<Batches>();
                    handle.advance_to(start);
                    empty.push(handle);
                    stream
                }
                (PlanKind::Operator(_), operator) => {
                    let edges = plan
                        .edges
                        .iter()
                        .map(|edge| (streams[edge.from.0].clone(), edge.distribution.clone()))
                        .collect();
                    let node = Node {
                        index: number,
                        name: plan.name.clone(),
                        operator: operator.expect("one per operator node"),
                        collector: Rc::clone(collector),
                        clock: Arc::clone(clock),
                        worker: index,
                        workers,
                    };
                    node.install(scope, edges, start)
                }
            };
            streams.push(stream);
        }
        let result = streams.pop().expect("a dataflow has at least one node");
        install_result(scope, result, Rc::clone(collector), start);
        (handles, empty)
    })
}

/// Stands for an operator that could not be built or restored.
struct Broken(Error);

impl Operator for Broken {
    fn push(&mut self, _port: usize, _changes: ChangeBatch, _output: &mut Output) -> Result<()> {
        Err(self.0.clone())
    }
}
