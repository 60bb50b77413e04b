//! Where a query's driver writes what others may see of it at any moment.

use std::collections::VecDeque;
use std::sync::Arc;

use millpond_catalog::ObjectId;
use millpond_storage::Cut;
use parking_lot::Mutex;

use super::status::{InputStatus, QueryState, QueryStatus, Totals};
use crate::progress::Progress;

pub(crate) struct Board {
    object: ObjectId,
    query_id: String,
    face: Mutex<Face>,
}

struct Face {
    name: String,
    run_id: String,
    state: QueryState,
    message: String,
    is_data_available: bool,
    is_trigger_active: bool,
    epoch: Option<u64>,
    totals: Totals,
    inputs: Vec<InputStatus>,
    progress: VecDeque<Arc<Progress>>,
    /// Commit records that are kept, with their cuts.
    history: VecDeque<(u64, Cut)>,
}

/// What stands after an epoch.
pub(crate) struct Standing {
    pub(crate) epoch: Option<u64>,
    pub(crate) totals: Totals,
    pub(crate) inputs: Vec<InputStatus>,
}

impl Board {
    pub(crate) fn new(
        object: ObjectId,
        name: String,
        ids: (String, String),
        standing: Standing,
        history: VecDeque<(u64, Cut)>,
    ) -> Board {
        let (query_id, run_id) = ids;
        let face = Face {
            name,
            run_id,
            state: QueryState::Starting,
            message: "Starting".to_owned(),
            is_data_available: false,
            is_trigger_active: false,
            epoch: standing.epoch,
            totals: standing.totals,
            inputs: standing.inputs,
            progress: VecDeque::new(),
            history,
        };
        Board {
            object,
            query_id,
            face: Mutex::new(face),
        }
    }

    pub(crate) fn name(&self) -> String {
        self.face.lock().name.clone()
    }

    pub(crate) fn set_name(&self, name: String) {
        self.face.lock().name = name;
    }

    pub(crate) fn status(&self, cut: Option<Cut>) -> QueryStatus {
        let face = self.face.lock();
        QueryStatus {
            object: self.object,
            name: face.name.clone(),
            id: self.query_id.clone(),
            run_id: face.run_id.clone(),
            state: face.state.clone(),
            message: face.message.clone(),
            is_data_available: face.is_data_available,
            is_trigger_active: face.is_trigger_active,
            epoch: face.epoch,
            cut,
            totals: face.totals,
            inputs: face.inputs.clone(),
        }
    }

    pub(crate) fn progress(&self) -> Vec<Arc<Progress>> {
        self.face.lock().progress.iter().cloned().collect()
    }

    pub(crate) fn set_state(&self, state: QueryState, message: impl Into<String>) {
        let mut face = self.face.lock();
        face.state = state;
        face.message = message.into();
        face.is_trigger_active = false;
        face.is_data_available = false;
    }

    pub(crate) fn is_terminated(&self) -> bool {
        self.face.lock().state == QueryState::Terminated
    }

    /// It will start again: nobody finds it ended from here on.
    pub(crate) fn starts_again(&self) {
        let mut face = self.face.lock();
        if !matches!(face.state, QueryState::Starting | QueryState::Running) {
            face.state = QueryState::Starting;
            "Starting".clone_into(&mut face.message);
        }
    }

    pub(crate) fn set_run(&self, run_id: &str) {
        run_id.clone_into(&mut self.face.lock().run_id);
    }

    /// Between epochs.
    pub(crate) fn idle(&self, message: impl Into<String>) {
        let mut face = self.face.lock();
        face.message = message.into();
        face.is_data_available = false;
        face.is_trigger_active = false;
    }

    pub(crate) fn epoch_begins(&self, message: String) {
        let mut face = self.face.lock();
        face.message = message;
        face.is_data_available = true;
        face.is_trigger_active = true;
    }

    /// An epoch was committed, at `cut`.
    pub(crate) fn epoch_ends(&self, standing: Standing, cut: Cut, progress: Progress, kept: usize) {
        let mut face = self.face.lock();
        if let Some(epoch) = standing.epoch {
            face.history.push_back((epoch, cut));
        }
        face.epoch = standing.epoch;
        face.totals = standing.totals;
        face.inputs = standing.inputs;
        face.is_trigger_active = false;
        face.progress.push_back(Arc::new(progress));
        while face.progress.len() > kept {
            face.progress.pop_front();
        }
    }

    /// The epoch before which records may go, if there are any: the last `kept` stay, and those of versions that are kept.
    pub(crate) fn prunable_before(&self, kept: u64, versions_from: Cut) -> Option<u64> {
        let mut face = self.face.lock();
        let last = face.history.back()?.0;
        let mut keep_from = None;
        while let Some((epoch, cut)) = face.history.front().copied()
            && epoch + kept <= last
            && cut < versions_from
        {
            face.history.pop_front();
            keep_from = Some(epoch + 1);
        }
        keep_from
    }
}
