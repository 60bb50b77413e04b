//! The one wrapper that turns an operator, a value that knows no channel and no clock, into a node of a timely dataflow.
//!
//! Timely's timestamp is the epoch. The wrapper holds a capability for the epoch under way, begins it at the first change
//! or when the frontier passes it, and seals it exactly once. A panic or an error ends the epoch for the driver; the
//! worker lives on and the node swallows what still arrives.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use millpond_storage::ChangeBatch;
use timely::dataflow::channels::pact::{DistributorPact, Pipeline};
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::{Scope, Stream};
use timely::progress::frontier::MutableAntichain;

use super::collect::{Collector, OperatorReport};
use super::exchange::{Batches, Router};
use crate::clock::Clock;
use crate::dataflow::Distribution;
use crate::error::{Error, Result};
use crate::operator::{Operator, Output};

pub(super) type Changes<'scope> = Stream<'scope, u64, Batches>;

/// Runs `work`; a panic becomes an error that names `what`.
pub(super) fn guarded<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Error::Bug(format!(
            "{what} panicked: {}",
            panic_text(panic.as_ref())
        )))
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// An operator instance in its place on one worker.
pub(super) struct Node {
    /// Index in the plan.
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) operator: Box<dyn Operator>,
    pub(super) collector: Rc<RefCell<Collector>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) worker: usize,
    pub(super) workers: usize,
}

/// Takes all changes that have arrived on a port.
type Drain = Box<dyn FnMut(&mut Vec<ChangeBatch>)>;

impl Node {
    /// Adds the node to the dataflow under construction.
    pub(super) fn install<'scope>(
        self,
        scope: Scope<'scope, u64>,
        edges: Vec<(Changes<'scope>, Distribution)>,
        start: u64,
    ) -> Changes<'scope> {
        let mut builder = OperatorBuilder::new(self.name.clone(), scope);
        let mut ports: Vec<Drain> = Vec::with_capacity(edges.len());
        for (stream, distribution) in edges {
            ports.push(connect(
                &mut builder,
                stream,
                distribution,
                &self.collector,
                self.workers,
            ));
        }
        let (mut output, stream) = builder.new_output::<Batches>();
        builder.build(move |mut capabilities| {
            let mut capability = capabilities.pop().expect("one per output");
            capability.downgrade(&start);
            let mut running = Running {
                node: self,
                begun: false,
                report: OperatorReport::default(),
            };
            move |frontiers: &[MutableAntichain<u64>]| {
                let mut send = |capability: &Capability<u64>, changes: Vec<ChangeBatch>| {
                    if !changes.is_empty() {
                        output.activate().give(capability, &mut Batches(changes));
                    }
                };
                let mut arrived = Vec::new();
                for (port, drain) in ports.iter_mut().enumerate() {
                    drain(&mut arrived);
                    for changes in arrived.drain(..) {
                        send(&capability, running.push(port, changes));
                    }
                }
                let epoch = *capability.time();
                if passed(frontiers, epoch) {
                    send(&capability, running.seal());
                    capability.downgrade(&(epoch + 1));
                    running.node.collector.borrow_mut().sealed();
                }
            }
        });
        stream
    }
}

/// No change of `epoch` can arrive any more. A closed dataflow, whose frontiers are empty, seals nothing.
fn passed(frontiers: &[MutableAntichain<u64>], epoch: u64) -> bool {
    frontiers
        .iter()
        .all(|frontier| !frontier.is_empty() && !frontier.less_equal(&epoch))
}

fn connect<'scope>(
    builder: &mut OperatorBuilder<'scope, u64>,
    stream: Changes<'scope>,
    distribution: Distribution,
    collector: &Rc<RefCell<Collector>>,
    workers: usize,
) -> Drain {
    if workers == 1 || distribution == Distribution::Local {
        let mut handle = builder.new_input(stream, Pipeline);
        return Box::new(move |arrived| handle.for_each(|_, batches| arrived.append(&mut batches.0)));
    }
    let collector = Rc::clone(collector);
    let pact = DistributorPact(move |_peers: usize| Router::new(distribution, collector));
    let mut handle = builder.new_input(stream, pact);
    Box::new(move |arrived| handle.for_each(|_, batches| arrived.append(&mut batches.0)))
}

struct Running {
    node: Node,
    begun: bool,
    report: OperatorReport,
}

impl Running {
    fn push(&mut self, port: usize, changes: ChangeBatch) -> Vec<ChangeBatch> {
        let begin_us = self.node.clock.elapsed_us();
        let mut output = Output::default();
        let result = self.begin().and_then(|()| {
            if self.node.collector.borrow().failed() {
                return Ok(());
            }
            guarded(&self.node.name, || {
                self.node.operator.push(port, changes, &mut output)
            })
        });
        self.report.push_us += self.node.clock.elapsed_us().saturating_sub(begin_us);
        self.deliver(result, output)
    }

    fn seal(&mut self) -> Vec<ChangeBatch> {
        let begin_us = self.node.clock.elapsed_us();
        let mut output = Output::default();
        let result = self.begin().and_then(|()| self.finish(&mut output, begin_us));
        self.begun = false;
        self.deliver(result, output)
    }

    fn finish(&mut self, output: &mut Output, begin_us: u64) -> Result<()> {
        let node = &mut self.node;
        let run = node.collector.borrow_mut().run();
        if node.collector.borrow().failed() {
            return Ok(());
        }
        let context = run.operator_context(node.index, node.worker, node.workers);
        guarded(&node.name, || node.operator.seal(&context, output))?;
        let sealed_us = node.clock.elapsed_us();
        let state = guarded(&node.name, || node.operator.checkpoint(run.full[node.index]))?;
        let mut report = std::mem::take(&mut self.report);
        report.metrics = node.operator.metrics();
        report.seal_us = sealed_us.saturating_sub(begin_us);
        report.checkpoint_us = node.clock.elapsed_us().saturating_sub(sealed_us);
        let mut collector = node.collector.borrow_mut();
        let part = collector.part();
        part.operators.push((node.index, report));
        if !state.is_empty() {
            part.state.push((node.index, state));
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        let run = self.node.collector.borrow_mut().run();
        let context = run.operator_context(self.node.index, self.node.worker, self.node.workers);
        guarded(&self.node.name, || self.node.operator.begin(&context))
    }

    /// Notes bad rows or the failure; what may go on is returned.
    fn deliver(&mut self, result: Result<()>, output: Output) -> Vec<ChangeBatch> {
        let mut collector = self.node.collector.borrow_mut();
        match result {
            Ok(()) => {
                let bad_rows = output
                    .bad_rows
                    .into_iter()
                    .map(|row| (self.node.name.clone(), row));
                collector.part().bad_rows.extend(bad_rows);
                let late_rows = { output.late_rows.into_iter() }.map(|row| (self.node.name.clone(), row));
                collector.part().late_rows.extend(late_rows);
                output.changes
            }
            Err(error) => {
                collector.fail(error);
                Vec::new()
            }
        }
    }
}

/// Ends the dataflow: keeps the result's changes for the epoch's report.
pub(super) fn install_result<'scope>(
    scope: Scope<'scope, u64>,
    result: Changes<'scope>,
    collector: Rc<RefCell<Collector>>,
    start: u64,
) {
    let mut builder = OperatorBuilder::new("result".to_owned(), scope);
    let mut handle = builder.new_input(result, Pipeline);
    builder.build(move |_| {
        let mut epoch = start;
        move |frontiers: &[MutableAntichain<u64>]| {
            handle.for_each(|_, batches| {
                let mut collector = collector.borrow_mut();
                collector.run();
                collector.part().changes.append(&mut batches.0);
            });
            if passed(frontiers, epoch) {
                epoch += 1;
                let mut collector = collector.borrow_mut();
                collector.run();
                collector.sealed();
            }
        }
    });
}
