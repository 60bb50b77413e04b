//! Options that change while a query runs: its state, result and counters stay.

use std::sync::Arc;

use millpond_catalog::ViewOptions;

use super::{Query, bounded};
use crate::dataflow::Dataflow;
use crate::query::status::QueryState;
use crate::query::trigger::Timer;
use crate::runtime::Plan;

/// What a query works with from its next epoch on.
pub(crate) struct Change {
    pub(crate) name: String,
    pub(crate) options: ViewOptions,
    /// The same operators, as far as their state is concerned.
    pub(crate) dataflow: Arc<Dataflow>,
    pub(crate) plan: Arc<Plan>,
}

impl Query {
    pub(crate) fn reconfigure(&mut self, change: Change) {
        let before = std::mem::replace(&mut self.parts.options, change.options);
        self.parts.name = change.name;
        if before.fail_on_error != self.parts.options.fail_on_error {
            // Built again from the last commit.
            self.deployment = None;
            self.parts.dataflow = change.dataflow;
            self.parts.plan = change.plan;
        }
        if (before.trigger, before.gather) == (self.parts.options.trigger, self.parts.options.gather) {
            return;
        }
        let first = self.committed.context.is_none();
        self.timer = Timer::new(&self.parts.options, self.shared.clock.now_us(), first);
        let terminated = self.state == QueryState::Terminated;
        if terminated && bounded::ends(self.parts.options.trigger) {
            return;
        }
        if let Err(error) = self.begin_run() {
            self.fail(&error);
        } else if terminated {
            // Its new trigger has no end.
            self.hold(QueryState::Starting, "Starting", None);
        }
    }
}
