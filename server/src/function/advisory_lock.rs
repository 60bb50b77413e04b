//! Advisory locks: numbers that sessions of one server agree to take turns with.
//!
//! A lock belongs to a session until it unlocks or ends. Invariant: a session that has ended holds nothing; whoever asks
//! for a lock looks whether its holders still live, so no session has to clean up after itself.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::error::Result;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::definition::{Definition, Wait, effect, wait};
use crate::pg_catalog::{SystemContext, Value};

pub const DEFINITIONS: &[Definition] = &[
    wait("pg_advisory_lock", "int8", "void", |c, a| lock(c, a, false)),
    wait("pg_advisory_lock", "int4, int4", "void", |c, a| lock(c, a, false)),
    wait("pg_advisory_lock_shared", "int8", "void", |c, a| lock(c, a, true)),
    wait("pg_advisory_lock_shared", "int4, int4", "void", |c, a| {
        lock(c, a, true)
    }),
    effect("pg_try_advisory_lock", "int8", "bool", |c, a| {
        Ok(try_lock(c, a, false).into())
    }),
    effect("pg_try_advisory_lock", "int4, int4", "bool", |c, a| {
        Ok(try_lock(c, a, false).into())
    }),
    effect("pg_try_advisory_lock_shared", "int8", "bool", |c, a| {
        Ok(try_lock(c, a, true).into())
    }),
    effect("pg_try_advisory_lock_shared", "int4, int4", "bool", |c, a| {
        Ok(try_lock(c, a, true).into())
    }),
    effect("pg_advisory_unlock", "int8", "bool", |c, a| unlock(c, a, false)),
    effect("pg_advisory_unlock", "int4, int4", "bool", |c, a| {
        unlock(c, a, false)
    }),
    effect("pg_advisory_unlock_shared", "int8", "bool", |c, a| {
        unlock(c, a, true)
    }),
    effect("pg_advisory_unlock_shared", "int4, int4", "bool", |c, a| {
        unlock(c, a, true)
    }),
    effect("pg_advisory_unlock_all", "", "void", |c, _| {
        c.server.advisory_locks.unlock_all(c.session.pid);
        Ok("".into())
    }),
];

/// One number, or two that are a space of their own.
type Key = (i64, Option<i64>);

#[derive(Debug, Default)]
struct Lock {
    /// Times that each session holds it, exclusive and shared.
    holders: HashMap<i32, (u32, u32)>,
}

/// The locks of a server.
#[derive(Debug, Default)]
pub struct AdvisoryLocks {
    locks: Mutex<HashMap<Key, Lock>>,
    released: Notify,
}

impl AdvisoryLocks {
    /// Takes the lock for session `pid` unless a living session holds it in a way that excludes this.
    fn try_lock(&self, key: Key, shared: bool, pid: i32, lives: &dyn Fn(i32) -> bool) -> bool {
        let mut locks = self.locks.lock();
        let lock = locks.entry(key).or_default();
        lock.holders.retain(|holder, _| *holder == pid || lives(*holder));
        let excluded = lock
            .holders
            .iter()
            .any(|(holder, (exclusive, _))| *holder != pid && (!shared || *exclusive > 0));
        if !excluded {
            let (exclusive, both) = lock.holders.entry(pid).or_default();
            *(if shared { both } else { exclusive }) += 1;
        }
        !excluded
    }

    fn unlock(&self, key: Key, shared: bool, pid: i32) -> bool {
        let mut locks = self.locks.lock();
        let Some(lock) = locks.get_mut(&key) else {
            return false;
        };
        let Some((exclusive, both)) = lock.holders.get_mut(&pid) else {
            return false;
        };
        let count = if shared { &mut *both } else { &mut *exclusive };
        let held = *count > 0;
        *count = count.saturating_sub(1);
        if (*exclusive, *both) == (0, 0) {
            lock.holders.remove(&pid);
        }
        if lock.holders.is_empty() {
            locks.remove(&key);
        }
        self.released.notify_waiters();
        held
    }

    fn unlock_all(&self, pid: i32) {
        self.locks.lock().retain(|_, lock| {
            lock.holders.remove(&pid);
            !lock.holders.is_empty()
        });
        self.released.notify_waiters();
    }
}

fn key(arguments: &[Value]) -> Key {
    let number = |i: usize| arguments.get(i).and_then(Value::int);
    (number(0).unwrap_or(0), number(1))
}

fn try_lock(context: &SystemContext, arguments: &[Value], shared: bool) -> bool {
    let sessions = &context.server.sessions;
    let lives = |pid: i32| sessions.get(pid).is_some();
    context
        .server
        .advisory_locks
        .try_lock(key(arguments), shared, context.session.pid, &lives)
}

fn lock(context: Arc<SystemContext>, arguments: Vec<Value>, shared: bool) -> Wait {
    Box::pin(async move {
        let locks = context.server.advisory_locks.clone();
        loop {
            // Listen before looking, so that a release in between is not missed.
            let released = locks.released.notified();
            if try_lock(&context, &arguments, shared) {
                return Ok("".into());
            }
            // A session that ends notifies nobody, so look again from time to time.
            tokio::select! {
                () = released => {}
                () = tokio::time::sleep(std::time::Duration::from_millis(200)) => {}
            }
        }
    })
}

fn unlock(context: &SystemContext, arguments: &[Value], shared: bool) -> Result<Value> {
    Ok(context
        .server
        .advisory_locks
        .unlock(key(arguments), shared, context.session.pid)
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_exclude_other_living_sessions_only() {
        let locks = AdvisoryLocks::default();
        let lives = |_| true;
        let key = (7, None);
        assert!(locks.try_lock(key, false, 1, &lives));
        assert!(
            locks.try_lock(key, false, 1, &lives),
            "a session may take its own lock again"
        );
        assert!(!locks.try_lock(key, true, 2, &lives));
        assert!(
            locks.try_lock((7, Some(0)), false, 2, &lives),
            "two numbers are another lock"
        );
        assert!(locks.unlock(key, false, 1));
        assert!(
            !locks.try_lock(key, false, 2, &lives),
            "taken twice, released once"
        );
        assert!(locks.unlock(key, false, 1));
        assert!(!locks.unlock(key, false, 1));
        assert!(locks.try_lock(key, true, 2, &lives));
        assert!(locks.try_lock(key, true, 3, &lives));
        assert!(!locks.try_lock(key, false, 3, &lives));
        assert!(
            locks.try_lock(key, false, 3, &|pid| pid != 2),
            "session 2 has ended"
        );
        locks.unlock_all(3);
        assert!(locks.try_lock(key, false, 4, &lives));
    }
}
