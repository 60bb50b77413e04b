//! FLUSH: waits until everything accepted so far is in the views.

use millpond_catalog::ObjectId;
use millpond_engine::engine::FlushTarget;

use super::Execution;
use crate::error::{Error, Result};
use crate::outcome::{Notice, NoticeKind, Outcome};

impl Execution<'_> {
    pub(super) async fn flush(&mut self, view: Option<ObjectId>) -> Result<Outcome> {
        self.commit_group().await?;
        if !self.session.writes.is_empty() {
            let text = "what this transaction has changed is not flushed before it commits";
            self.session
                .notices
                .push(Notice::warning(NoticeKind::Limited, text));
        }
        let engine = self.server.coordinator.engine().clone();
        let target = view.map_or(FlushTarget::All, FlushTarget::View);
        let token = self.work.token().clone();
        let waiting = tokio::task::spawn_blocking(move || engine.flush(target, &|| token.is_cancelled()));
        let report = self
            .work
            .race(async {
                waiting
                    .await
                    .map_err(|e| Error::Bug(format!("the flush stopped without an answer: {e}")))
            })
            .await??;
        if report.cancelled {
            return Err(self.work.cancelled());
        }
        for skipped in report.skipped.into_iter().filter(|skipped| !skipped.terminated) {
            let text = format!(
                "streaming view {} was not waited for: {}",
                skipped.name, skipped.reason
            );
            self.session
                .notices
                .push(Notice::warning(NoticeKind::Limited, text));
        }
        Ok(Outcome::done("FLUSH"))
    }
}
