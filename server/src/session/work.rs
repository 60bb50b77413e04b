//! A statement being worked on: what can stop it, from outside or by its time limit.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{ActivityState, SessionInfo};
use crate::error::{CancelReason, Error, Result};

/// From the beginning of a statement to the end of its answer.
#[derive(Debug)]
pub struct Work {
    info: Arc<SessionInfo>,
    token: CancellationToken,
    timer: Option<JoinHandle<()>>,
}

impl Work {
    /// Begins work on a statement, with the session's `statement_timeout`.
    pub fn begin(info: &Arc<SessionInfo>, query: &str, now_us: i64) -> Self {
        let timeout_ms = info.settings.read().current().statement_timeout_ms();
        let token = info.begin(query, now_us);
        let timer = (timeout_ms > 0).then(|| {
            let info = info.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(timeout_ms)).await;
                info.cancel(CancelReason::StatementTimeout);
            })
        });
        Self {
            info: info.clone(),
            token,
            timer,
        }
    }

    /// Does a part of the work unless, or until, it is stopped.
    pub async fn race<T>(&self, part: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            biased;
            () = self.token.cancelled() => Err(self.cancelled()),
            result = part => result,
        }
    }

    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// The error that says why the work was stopped.
    pub fn cancelled(&self) -> Error {
        Error::Cancelled(self.info.cancel_reason())
    }

    pub fn end(self, state: ActivityState, now_us: i64) {
        self.info.end(state, now_us);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(timer) = self.timer.take() {
            timer.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Client, Sessions};

    #[tokio::test]
    async fn a_timeout_stops_the_work_and_says_so() {
        let sessions = Sessions::default();
        let mut settings = millpond_sql::Settings::default();
        settings.set("statement_timeout", Some("1")).unwrap();
        let client = Client {
            user: "u".into(),
            database: "d".into(),
            address: None,
            settings,
        };
        let info = sessions.open(client, 0, &CancellationToken::new());
        let work = Work::begin(&info, "SELECT 1", 0);
        let result: Result<()> = work.race(std::future::pending()).await;
        assert!(matches!(
            result,
            Err(Error::Cancelled(CancelReason::StatementTimeout))
        ));
        work.end(ActivityState::Idle, 1);
        info.settings
            .write()
            .set("statement_timeout", Some("0"), false)
            .unwrap();
        let work = Work::begin(&info, "SELECT 2", 2);
        assert_eq!(work.race(async { Ok(7) }).await.unwrap(), 7);
    }
}
