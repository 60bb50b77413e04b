//! SELECT: a one-off query over snapshots that belong together.
//!
//! Queries run on threads of their own, so that a long computation never delays a protocol message, a cancel least of
//! all. Batches come over a channel; dropping the receiving end stops the query.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};
use futures::StreamExt;
use futures::stream;
use millpond_catalog::ObjectId;
use millpond_engine::oneoff;
use millpond_engine::read::ReadView;
use millpond_sql::plan::Select;
use millpond_storage::Overlay;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::reading::Reading;
use super::{Execution, guarded};
use crate::error::{Error, Result};
use crate::outcome::{Notice, NoticeKind, Outcome, RowStream, RowsTag};
use crate::server::Server;

/// Batches that may wait for the client.
const BATCHES_WAITING_MAX: usize = 2;

impl Execution<'_> {
    pub(super) async fn select(&mut self, select: Select) -> Result<Outcome> {
        if !self.session.writes.is_empty() && waits_for_views(&select.query)? {
            self.commit_group().await?;
        }
        let rows = self.run_query(select.query, &select.reads)?;
        Ok(Outcome::Rows {
            columns: select.columns,
            rows,
            tag: RowsTag::Select,
        })
    }

    /// Starts a query over the objects it reads, all at one cut.
    pub(super) fn run_query(&mut self, query: LogicalPlan, reads: &[ObjectId]) -> Result<RowStream> {
        let view = self.read(reads)?;
        Ok(self.start(query, self.reading(view)?))
    }

    /// What a statement over these objects sees.
    pub(super) fn read(&mut self, reads: &[ObjectId]) -> Result<ReadView> {
        let view = self.server.coordinator.engine().read(reads)?;
        for apart in &view.apart {
            let text = format!(
                "streaming view {} is read at its own last result: {}",
                apart.name, apart.reason
            );
            self.session
                .notices
                .push(Notice::warning(NoticeKind::Limited, text));
        }
        Ok(view)
    }

    /// What was read, with what the transaction has changed.
    pub(super) fn reading(&self, view: ReadView) -> Result<Reading> {
        let mut overlays = HashMap::new();
        for (table, changes) in self.session.writes.by_table() {
            if let Some(snapshot) = view.relations.get(&table) {
                overlays.insert(table, Arc::new(Overlay::new(snapshot.schema(), &changes)?));
            }
        }
        Ok(Reading::new(view, overlays, self.server.coordinator.catalog()))
    }

    /// Starts a query over what was read.
    pub(super) fn start(&self, query: LogicalPlan, reading: Reading) -> RowStream {
        start(self.server, query, reading)
    }
}

/// A query that calls `sys.process_all` looks at what views make of all changes before it.
fn waits_for_views(query: &LogicalPlan) -> Result<bool> {
    let mut waits = false;
    query.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                waits |= matches!(expr, Expr::ScalarFunction(call) if call.func.name() == "sys.process_all");
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(waits)
}

pub(super) enum Item {
    Batch(arrow::array::RecordBatch),
    /// The query ended; a channel that closes without it means that the query's thread panicked.
    End(Result<()>),
}

/// Stops the query when the stream over its rows is dropped.
struct StopOnDrop(JoinHandle<()>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn start(server: &Arc<Server>, query: LogicalPlan, reading: Reading) -> RowStream {
    let options = server.oneoff.clone();
    produced(server, |sender| async move {
        produce(query, reading, &options, &sender).await
    })
}

/// The rows that `work` sends from a thread for queries. Dropping the stream stops it.
pub(super) fn produced<F>(server: &Arc<Server>, work: impl FnOnce(mpsc::Sender<Item>) -> F) -> RowStream
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(BATCHES_WAITING_MAX);
    let work = work(sender.clone());
    let task = server.queries.spawn(async move {
        let result = work.await;
        // Nobody listens any more when this fails.
        let _ = sender.send(Item::End(result)).await;
    });
    stream::unfold(Some((receiver, StopOnDrop(task))), |state| async move {
        let (mut receiver, task) = state?;
        match receiver.recv().await {
            Some(Item::Batch(batch)) => Some((Ok(batch), Some((receiver, task)))),
            Some(Item::End(Ok(()))) => None,
            Some(Item::End(Err(error))) => Some((Err(error), None)),
            None => Some((
                Err(Error::Bug(
                    "the query stopped without an answer; the log says why".into(),
                )),
                None,
            )),
        }
    })
    .boxed()
}

async fn produce(
    query: LogicalPlan,
    reading: Reading,
    options: &oneoff::OneoffOptions,
    sender: &mpsc::Sender<Item>,
) -> Result<()> {
    let query = guarded(|| Ok(millpond_sql::optimize(query)?))?;
    let mut batches = oneoff::execute(query, Arc::new(reading), options).await?;
    while let Some(batch) = batches.next().await {
        if sender.send(Item::Batch(batch?)).await.is_err() {
            break;
        }
    }
    Ok(())
}
