//! SUBSCRIBE: the changes of a relation, for as long as the client reads them.
//!
//! The work reads the log as fast as the client takes the rows and keeps none of them, so a slow client costs a place in
//! the log and nothing else.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use millpond_engine::subscription::Subscription;
use millpond_sql::plan::Subscribe;
use millpond_storage::{ChangeBatch, Cut, Snapshot};
use tokio::sync::{Notify, mpsc};

use super::Execution;
use super::select::{Item, produced};
use crate::error::Result;
use crate::outcome::{Outcome, RowStream, RowsTag};

impl Execution<'_> {
    pub(super) fn subscribe(&mut self, subscribe: &Subscribe) -> Result<Outcome> {
        Ok(Outcome::Rows {
            columns: subscribe.columns.clone(),
            rows: self.changes(subscribe)?,
            tag: RowsTag::Fixed("SUBSCRIBE"),
        })
    }

    /// The rows of a subscription, which begins here.
    pub(super) fn changes(&mut self, subscribe: &Subscribe) -> Result<RowStream> {
        let moved = Arc::new(Notify::new());
        let wake = {
            let moved = moved.clone();
            Arc::new(move || moved.notify_one())
        };
        let engine = self.server.coordinator.engine();
        let as_of = subscribe.as_of.map(Cut);
        let (subscription, snapshot) = engine.subscribe(subscribe.object, as_of, wake)?;
        let rows = Rows::new(snapshot.schema(), subscribe.progress);
        let feed = Feed {
            subscription,
            snapshot: subscribe.snapshot.then_some(snapshot),
            rows,
            up_to: subscribe.up_to.map(Cut),
            moved,
        };
        Ok(produced(
            self.server,
            |sender| async move { feed.run(&sender).await },
        ))
    }
}

/// A subscription on its way to the client.
struct Feed {
    subscription: Subscription,
    /// What comes first.
    snapshot: Option<Arc<Snapshot>>,
    rows: Rows,
    up_to: Option<Cut>,
    moved: Arc<Notify>,
}

/// The client does not listen any more.
struct Gone;

impl Feed {
    async fn run(mut self, sender: &mpsc::Sender<Item>) -> Result<()> {
        match self.feed(sender).await? {
            // The end, or nobody is left to be told.
            Ok(()) | Err(Gone) => Ok(()),
        }
    }

    async fn feed(&mut self, sender: &mpsc::Sender<Item>) -> Result<Result<(), Gone>> {
        // The client learns the columns before there are rows.
        let mut sent = send(sender, self.rows.none()).await;
        let mut at = self.subscription.at();
        if let Some(snapshot) = self.snapshot.take() {
            for changes in snapshot.scan_changes() {
                if sent.is_err() {
                    return Ok(sent);
                }
                sent = send(sender, self.rows.of(at, &changes?)?).await;
            }
        }
        loop {
            if let (Ok(()), Some(progress)) = (&sent, self.rows.progressed(at)?) {
                sent = send(sender, progress).await;
            }
            if sent.is_err() || self.up_to.is_some_and(|up_to| at >= up_to) {
                return Ok(sent);
            }
            let step = loop {
                // Whatever moves from here on is noticed.
                let moved = self.moved.notified();
                match self.subscription.next()? {
                    Some(step) => break step,
                    None => {
                        tokio::select! {
                            () = moved => {}
                            () = sender.closed() => return Ok(Err(Gone)),
                        }
                    }
                }
            };
            at = self.up_to.map_or(step.to, |up_to| step.to.min(up_to));
            for entry in step.entries.iter().filter(|entry| entry.cut <= at) {
                let batches = entry.batches().map_err(|error| self.subscription.lagged(error))?;
                for changes in batches {
                    let changes = changes.map_err(|error| self.subscription.lagged(error))?;
                    sent = send(sender, self.rows.of(entry.cut, &changes)?).await;
                    if sent.is_err() {
                        return Ok(sent);
                    }
                }
                self.subscription.passed(Cut(entry.cut.0.saturating_sub(1)));
            }
            self.subscription.passed(at);
        }
    }
}

async fn send(sender: &mpsc::Sender<Item>, batch: RecordBatch) -> Result<(), Gone> {
    sender.send(Item::Batch(batch)).await.map_err(|_| Gone)
}

/// Makes rows of changes: `ts`, `progressed` where it is asked for, `diff`, and the columns of the relation.
struct Rows {
    schema: SchemaRef,
    columns: SchemaRef,
    progress: bool,
}

impl Rows {
    fn new(columns: SchemaRef, progress: bool) -> Self {
        let mut fields = vec![Arc::new(Field::new("ts", DataType::Int64, false))];
        if progress {
            fields.push(Arc::new(Field::new("progressed", DataType::Boolean, false)));
        }
        fields.push(Arc::new(Field::new("diff", DataType::Int64, true)));
        let nullable = |field: &Arc<Field>| Arc::new(field.as_ref().clone().with_nullable(true));
        fields.extend(columns.fields().iter().map(nullable));
        Self {
            schema: Arc::new(Schema::new(fields)),
            columns,
            progress,
        }
    }

    fn none(&self) -> RecordBatch {
        RecordBatch::new_empty(self.schema.clone())
    }

    fn of(&self, cut: Cut, changes: &ChangeBatch) -> Result<RecordBatch> {
        let rows = changes.num_rows();
        let diff = match changes.weights() {
            Some(weights) => weights.clone(),
            None => Int64Array::from(vec![1; rows]),
        };
        self.batch(
            cut,
            rows,
            false,
            Arc::new(diff),
            changes.rows().columns().to_vec(),
        )
    }

    /// Says that nothing more comes at `cut` and before.
    fn progressed(&self, cut: Cut) -> Result<Option<RecordBatch>> {
        if !self.progress {
            return Ok(None);
        }
        let null = |data_type: &DataType| new_null_array(data_type, 1);
        let columns = self.columns.fields().iter().map(|field| null(field.data_type()));
        let diff = null(&DataType::Int64);
        self.batch(cut, 1, true, diff, columns.collect()).map(Some)
    }

    fn batch(
        &self,
        cut: Cut,
        rows: usize,
        progressed: bool,
        diff: ArrayRef,
        columns: Vec<ArrayRef>,
    ) -> Result<RecordBatch> {
        let ts = Int64Array::from(vec![i64::try_from(cut.0).unwrap_or(i64::MAX); rows]);
        let mut all: Vec<ArrayRef> = vec![Arc::new(ts)];
        if self.progress {
            all.push(Arc::new(BooleanArray::from(vec![progressed; rows])));
        }
        all.push(diff);
        all.extend(columns);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(
            self.schema.clone(),
            all,
            &options,
        )?)
    }
}
