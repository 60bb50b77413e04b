//! Where a query stands when it starts: after its last commit, perhaps with an epoch begun.

use std::collections::{BTreeSet, VecDeque};

use millpond_storage::{Cut, Relation, Storage};
use uuid::Uuid;

use super::record::{BatchRecord, CommitRecord, InputPosition, InputTotals};
use super::status::Totals;
use super::step::QueryInput;
use crate::dataflow::Dataflow;
use crate::epoch::{Epoch, EpochContext};
use crate::error::{Error, Result};
use crate::operator::StateBatch;
use crate::runtime::{Checkpoint, Plan};

/// What stands after the last committed epoch; the beginning, if there is none.
#[derive(Debug, Clone)]
pub(crate) struct Committed {
    /// Of the last committed epoch.
    pub(crate) context: Option<EpochContext>,
    pub(crate) cut: Cut,
    pub(crate) reached: bool,
    pub(crate) positions: Vec<InputPosition>,
    pub(crate) event_times: Vec<Option<i64>>,
    pub(crate) totals: Totals,
    pub(crate) inputs: Vec<InputTotals>,
    pub(crate) due_us: Option<i64>,
    /// When each input has last given a row. Inputs cannot be heard while the query does not run, so silence begins anew
    /// with a run.
    pub(crate) heard_us: Vec<i64>,
}

impl Committed {
    pub(crate) fn next_epoch(&self) -> Epoch {
        self.context
            .as_ref()
            .map_or(Epoch(0), |context| Epoch(context.epoch.0 + 1))
    }

    /// The watermarks of the last committed epoch.
    pub(crate) fn watermarks(&self) -> Vec<Option<i64>> {
        match &self.context {
            Some(context) => context.watermarks.clone(),
            None => vec![None; self.positions.len()],
        }
    }

    pub(crate) fn of(record: CommitRecord) -> Self {
        Self {
            context: Some(record.context),
            cut: record.cut,
            reached: record.reached,
            positions: record.positions,
            event_times: record.event_times,
            totals: record.totals,
            inputs: record.inputs,
            due_us: record.due_us,
            heard_us: record.heard_us,
        }
    }

    /// The inputs can be heard from now on.
    pub(crate) fn listen(&mut self, now_us: i64) {
        self.heard_us.resize(self.positions.len(), now_us);
        for heard_us in &mut self.heard_us {
            *heard_us = now_us.max(*heard_us);
        }
    }
}

/// All that storage holds of a query's epochs.
pub(crate) struct Recovered {
    pub(crate) query_id: String,
    pub(crate) committed: Committed,
    /// Begun and not committed: it runs again as it was.
    pub(crate) open: Option<BatchRecord>,
    /// Cuts reached, ascending.
    pub(crate) boundaries: Vec<Cut>,
    pub(crate) history: VecDeque<(u64, Cut)>,
}

const QUERY_ID: &str = "query_id";

pub(crate) fn recover(storage: &Storage, query: u64, inputs: &[QueryInput]) -> Result<Recovered> {
    let log = storage.query_log(query)?;
    let committed = match log.last_commit {
        Some((_, bytes)) => Committed::of(CommitRecord::decode(&bytes)?),
        None => Committed {
            context: None,
            cut: Cut::ZERO,
            reached: false,
            positions: inputs.iter().map(QueryInput::start).collect(),
            event_times: vec![None; inputs.len()],
            totals: Totals::default(),
            inputs: vec![InputTotals::default(); inputs.len()],
            due_us: None,
            heard_us: Vec::new(),
        },
    };
    if committed.positions.len() != inputs.len() {
        return Err(Error::Bug(format!(
            "the query was recorded with {} inputs and has {} now",
            committed.positions.len(),
            inputs.len()
        )));
    }
    let open = log
        .open_batch
        .map(|(_, bytes)| BatchRecord::decode(&bytes))
        .transpose()?;
    let mut boundaries = Vec::new();
    let mut history = VecDeque::new();
    for (epoch, bytes) in storage.commits(query, 0)? {
        let record = CommitRecord::decode(&bytes)?;
        history.push_back((epoch, record.cut));
        if record.reached {
            boundaries.push(record.cut);
        }
    }
    Ok(Recovered {
        query_id: query_id(storage, query)?,
        committed,
        open,
        boundaries,
        history,
    })
}

/// Given at the first start, durable with the first batch record.
fn query_id(storage: &Storage, query: u64) -> Result<String> {
    let notes = storage.notes(query);
    if let Some(id) = notes.get(QUERY_ID)? {
        return String::from_utf8(id)
            .map_err(|_| Error::Bug("the noted id of the query is not text".to_owned()));
    }
    let id = Uuid::new_v4().to_string();
    notes.put(vec![(QUERY_ID.to_owned(), id.clone().into_bytes())])?;
    Ok(id)
}

/// The state of the last commit, for the workers to share out; `None` for a query that has never run.
pub(crate) fn checkpoint(
    storage: &Storage,
    query: u64,
    committed: &Committed,
    dataflow: &Dataflow,
    plan: &Plan,
) -> Result<Option<Checkpoint>> {
    let Some(context) = committed.context.clone() else {
        return Ok(None);
    };
    let mut state = Vec::new();
    for stored in storage.state(query)? {
        let stored = stored?;
        let node = plan.node_index(&stored.operator).ok_or_else(|| {
            Error::Bug(format!(
                "there is stored state of an operator {}, which the query does not have",
                stored.operator
            ))
        })?;
        state.push((
            node,
            StateBatch {
                port: usize::from(stored.port),
                changes: stored.changes,
            },
        ));
    }
    let watermarks = dataflow.node_watermarks(&context);
    Ok(Some(Checkpoint {
        context,
        watermarks,
        state,
    }))
}

/// The cuts in a relation's log, as far as they are kept apart.
pub(crate) fn log_cuts(relation: &Relation) -> Result<BTreeSet<Cut>> {
    let (from, to) = (relation.summed_to(), relation.last_cut());
    if from >= to {
        return Ok(BTreeSet::new());
    }
    Ok(relation
        .changes(from, to)?
        .iter()
        .map(|entry| entry.cut)
        .collect())
}
