//! NOTIFY to LISTEN: messages between sessions, on named channels.
//!
//! A message goes to the queue of each session that listens when the transaction that sent it commits; the session's
//! connection passes it on when it is between statements.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tokio::sync::mpsc;

/// Messages that wait for a client which does not come to rest; what is beyond is lost to it.
const WAITING_MAX: usize = 65_536;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The session that sent it.
    pub pid: i32,
    pub channel: String,
    pub payload: String,
}

/// Who listens to what.
#[derive(Debug, Default)]
pub struct Notifications {
    /// By channel and process id.
    listeners: Mutex<BTreeMap<String, BTreeMap<i32, mpsc::Sender<Notification>>>>,
}

/// The queue of one session.
pub fn queue() -> (mpsc::Sender<Notification>, mpsc::Receiver<Notification>) {
    mpsc::channel(WAITING_MAX)
}

impl Notifications {
    pub fn listen(&self, channel: &str, pid: i32, queue: mpsc::Sender<Notification>) {
        let mut listeners = self.listeners.lock();
        listeners
            .entry(channel.to_owned())
            .or_default()
            .insert(pid, queue);
    }

    pub fn unlisten(&self, channel: &str, pid: i32) {
        let mut listeners = self.listeners.lock();
        if let Some(sessions) = listeners.get_mut(channel) {
            sessions.remove(&pid);
            if sessions.is_empty() {
                listeners.remove(channel);
            }
        }
    }

    pub fn unlisten_all(&self, pid: i32) {
        self.listeners.lock().retain(|_, sessions| {
            sessions.remove(&pid);
            !sessions.is_empty()
        });
    }

    pub fn send(&self, notification: &Notification) {
        let listeners = self.listeners.lock();
        for (pid, queue) in listeners.get(&notification.channel).into_iter().flatten() {
            if let Err(mpsc::error::TrySendError::Full(_)) = queue.try_send(notification.clone()) {
                tracing::warn!(pid, channel = %notification.channel, "a client does not read its notifications");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_reach_those_who_listen() {
        let notifications = Notifications::default();
        let message = |payload: &str| Notification {
            pid: 7,
            channel: "c".to_owned(),
            payload: payload.to_owned(),
        };
        let (sender, mut receiver) = queue();
        notifications.send(&message("nobody listens"));
        notifications.listen("c", 1, sender.clone());
        notifications.listen("c", 1, sender);
        notifications.send(&message("once"));
        assert_eq!(receiver.try_recv().unwrap(), message("once"));
        notifications.unlisten("other", 1);
        notifications.unlisten("c", 1);
        notifications.send(&message("no more"));
        assert!(receiver.try_recv().is_err());
        assert!(notifications.listeners.lock().is_empty());
    }
}
