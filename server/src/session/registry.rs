//! All sessions of the server: found by process id to show, cancel or end them.
//!
//! A "process id" only names a session, as clients expect one; there are no processes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use millpond_sql::Settings;
use parking_lot::{Mutex, RwLock};
use tokio_util::sync::CancellationToken;

use super::{Notification, Notifications, SessionSettings, Statements};
use crate::error::CancelReason;

/// The part of a session that others may see and act on: SQL functions of its own, `pg_stat_activity`, a
/// CancelRequest on another connection.
#[derive(Debug)]
pub struct SessionInfo {
    pub pid: i32,
    /// What a CancelRequest must show.
    pub secret: i32,
    pub user: String,
    pub database: String,
    pub client_address: Option<SocketAddr>,
    /// Microseconds since 1970-01-01 UTC.
    pub started_us: i64,
    /// Changed by SET and by `set_config`.
    pub settings: RwLock<SessionSettings>,
    pub statements: Statements,
    /// Those of all sessions.
    pub notifications: Arc<Notifications>,
    /// What NOTIFY left for the commit.
    unsent: Mutex<Vec<Notification>>,
    activity: Mutex<Activity>,
    running: Mutex<Option<Running>>,
    /// Cancelled when the connection is to end.
    pub terminate: CancellationToken,
}

/// What `pg_stat_activity` shows of a session.
#[derive(Debug, Clone)]
pub struct Activity {
    pub state: ActivityState,
    /// The last statement's text.
    pub query: String,
    /// When the last statement began.
    pub query_started_us: i64,
    pub state_changed_us: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivityState {
    Active,
    Idle,
    IdleInTransaction,
    IdleInFailedTransaction,
}

impl ActivityState {
    /// As `pg_stat_activity.state` spells it.
    pub fn name(self) -> &'static str {
        match self {
            ActivityState::Active => "active",
            ActivityState::Idle => "idle",
            ActivityState::IdleInTransaction => "idle in transaction",
            ActivityState::IdleInFailedTransaction => "idle in transaction (aborted)",
        }
    }
}

/// The statement being worked on.
#[derive(Debug)]
struct Running {
    token: CancellationToken,
    reason: Option<CancelReason>,
}

impl SessionInfo {
    /// Keeps a message for the end of the transaction. As in Postgres, the same message twice is one.
    pub fn notify(&self, channel: &str, payload: &str) {
        let notification = Notification {
            pid: self.pid,
            channel: channel.to_owned(),
            payload: payload.to_owned(),
        };
        let mut unsent = self.unsent.lock();
        if !unsent.contains(&notification) {
            unsent.push(notification);
        }
    }

    pub fn take_notifications(&self) -> Vec<Notification> {
        std::mem::take(&mut *self.unsent.lock())
    }

    pub fn activity(&self) -> Activity {
        self.activity.lock().clone()
    }

    /// Work begins: whoever does it stops when the token is cancelled.
    pub fn begin(&self, query: &str, now_us: i64) -> CancellationToken {
        let token = self.terminate.child_token();
        *self.running.lock() = Some(Running {
            token: token.clone(),
            reason: None,
        });
        *self.activity.lock() = Activity {
            state: ActivityState::Active,
            query: query.to_owned(),
            query_started_us: now_us,
            state_changed_us: now_us,
        };
        token
    }

    /// Cancelled when the work that runs now is to stop, for code that cannot be dropped: blocking waits.
    pub fn cancellation(&self) -> CancellationToken {
        self.running
            .lock()
            .as_ref()
            .map_or_else(|| self.terminate.clone(), |running| running.token.clone())
    }

    /// Work has ended; a cancel from now on does nothing.
    pub fn end(&self, state: ActivityState, now_us: i64) {
        *self.running.lock() = None;
        let mut activity = self.activity.lock();
        activity.state = state;
        activity.state_changed_us = now_us;
    }

    /// Stops what is running, if anything.
    pub fn cancel(&self, reason: CancelReason) {
        if let Some(running) = self.running.lock().as_mut() {
            running.reason.get_or_insert(reason);
            running.token.cancel();
        }
    }

    /// Why the running work was cancelled.
    pub fn cancel_reason(&self) -> CancelReason {
        if self.terminate.is_cancelled() {
            return CancelReason::Terminated;
        }
        self.running
            .lock()
            .as_ref()
            .and_then(|r| r.reason)
            .unwrap_or(CancelReason::User)
    }
}

/// Where the temporary objects of a session are.
pub fn temporary_schema(pid: i32) -> String {
    format!("pg_temp_{pid}")
}

/// Every open session.
#[derive(Debug, Default)]
pub struct Sessions {
    notifications: Arc<Notifications>,
    sessions: RwLock<BTreeMap<i32, Arc<SessionInfo>>>,
}

/// Who a new session is.
#[derive(Debug, Clone)]
pub struct Client {
    pub user: String,
    pub database: String,
    pub address: Option<SocketAddr>,
    pub settings: Settings,
}

impl Sessions {
    /// Registers a session under a free process id. It ends when `shutdown` is cancelled.
    pub fn open(&self, client: Client, now_us: i64, shutdown: &CancellationToken) -> Arc<SessionInfo> {
        let mut sessions = self.sessions.write();
        let pid = loop {
            let pid = rand::random_range(1..i32::MAX);
            if !sessions.contains_key(&pid) {
                break pid;
            }
        };
        let mut settings = client.settings;
        settings.set_temporary_schema(temporary_schema(pid));
        let info = Arc::new(SessionInfo {
            pid,
            secret: rand::random(),
            user: client.user,
            database: client.database,
            client_address: client.address,
            started_us: now_us,
            settings: RwLock::new(SessionSettings::new(settings)),
            statements: Statements::default(),
            notifications: self.notifications.clone(),
            unsent: Mutex::default(),
            activity: Mutex::new(Activity {
                state: ActivityState::Idle,
                query: String::new(),
                query_started_us: now_us,
                state_changed_us: now_us,
            }),
            running: Mutex::new(None),
            terminate: shutdown.child_token(),
        });
        sessions.insert(pid, info.clone());
        info
    }

    pub fn close(&self, pid: i32) {
        self.sessions.write().remove(&pid);
        self.notifications.unlisten_all(pid);
    }

    pub fn get(&self, pid: i32) -> Option<Arc<SessionInfo>> {
        self.sessions.read().get(&pid).cloned()
    }

    /// All sessions by process id.
    pub fn list(&self) -> Vec<Arc<SessionInfo>> {
        self.sessions.read().values().cloned().collect()
    }

    pub fn len(&self) -> usize {
        self.sessions.read().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stops what session `pid` is doing; false when there is no such session.
    pub fn cancel(&self, pid: i32) -> bool {
        self.get(pid)
            .inspect(|session| session.cancel(CancelReason::User))
            .is_some()
    }

    /// Ends session `pid`; false when there is no such session.
    pub fn terminate(&self, pid: i32) -> bool {
        self.get(pid)
            .inspect(|session| session.terminate.cancel())
            .is_some()
    }

    /// A CancelRequest: does nothing unless the secret is right.
    pub fn cancel_request(&self, pid: i32, secret: i32) {
        if let Some(session) = self.get(pid).filter(|session| session.secret == secret) {
            session.cancel(CancelReason::User);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(sessions: &Sessions) -> Arc<SessionInfo> {
        let client = Client {
            user: "u".into(),
            database: "d".into(),
            address: None,
            settings: Settings::default(),
        };
        sessions.open(client, 0, &CancellationToken::new())
    }

    #[test]
    fn a_cancel_request_needs_the_secret_and_something_that_runs() {
        let sessions = Sessions::default();
        let info = session(&sessions);
        sessions.cancel_request(info.pid, info.secret);
        let token = info.begin("SELECT 1", 1);
        assert!(
            !token.is_cancelled(),
            "a cancel while idle must not reach the next statement"
        );
        sessions.cancel_request(info.pid, info.secret ^ 1);
        assert!(!token.is_cancelled());
        sessions.cancel_request(info.pid, info.secret);
        assert!(token.is_cancelled());
        assert_eq!(info.cancel_reason(), CancelReason::User);
        info.end(ActivityState::Idle, 2);
        assert!(!info.begin("SELECT 2", 3).is_cancelled());
    }

    #[test]
    fn terminate_reaches_running_and_idle_sessions() {
        let sessions = Sessions::default();
        let info = session(&sessions);
        let token = info.begin("SELECT 1", 1);
        assert!(sessions.terminate(info.pid));
        assert!(token.is_cancelled() && info.terminate.is_cancelled());
        assert_eq!(info.cancel_reason(), CancelReason::Terminated);
        sessions.close(info.pid);
        assert!(!sessions.terminate(info.pid));
    }
}
