//! Who may change a table.
//!
//! A statement that reads what it changes (UPDATE, DELETE, TRUNCATE, and INSERT into a table with keys) takes the table for
//! its transaction, so that no two transactions change the rows of one another. Other INSERTs take nothing: rows that are
//! only added depend on no others.
//!
//! Who waits for a table that is held by somebody who waits, through others, for him, is refused at once.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use millpond_catalog::ObjectId;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::error::{Result, SessionError};

/// A session, by its process id.
type Owner = i32;

#[derive(Default)]
pub struct TableLocks {
    state: Mutex<State>,
    released: Notify,
}

#[derive(Default)]
struct State {
    holders: HashMap<ObjectId, Owner>,
    /// Who waits for a table, in the order in which they came: without it, those who are refused and try again could
    /// keep somebody waiting for ever.
    queues: HashMap<ObjectId, VecDeque<Owner>>,
    waiting: HashMap<Owner, ObjectId>,
}

/// The tables that a session holds. They are free again when it is dropped.
pub struct HeldTables {
    locks: Arc<TableLocks>,
    owner: Owner,
    tables: BTreeSet<ObjectId>,
}

impl std::fmt::Debug for HeldTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HeldTables({:?})", self.tables)
    }
}

/// What became of an attempt to take a table.
enum Attempt {
    Taken,
    Held,
    Deadlock,
}

impl State {
    fn attempt(&mut self, table: ObjectId, owner: Owner) -> Attempt {
        let queue = self.queues.entry(table).or_default();
        let Some(holder) = self.holders.get(&table) else {
            if queue.front().is_some_and(|first| *first != owner) {
                self.wait(table, owner);
                return Attempt::Held;
            }
            self.holders.insert(table, owner);
            return Attempt::Taken;
        };
        let mut next = *holder;
        loop {
            if next == owner {
                return Attempt::Deadlock;
            }
            let Some(holder) = self.waiting.get(&next).and_then(|table| self.holders.get(table)) else {
                self.wait(table, owner);
                return Attempt::Held;
            };
            next = *holder;
        }
    }

    fn wait(&mut self, table: ObjectId, owner: Owner) {
        if self.waiting.insert(owner, table).is_none() {
            self.queues.entry(table).or_default().push_back(owner);
        }
    }

    fn end_waiting(&mut self, owner: Owner) {
        let Some(table) = self.waiting.remove(&owner) else {
            return;
        };
        if let Some(queue) = self.queues.get_mut(&table) {
            queue.retain(|waiting| *waiting != owner);
            if queue.is_empty() {
                self.queues.remove(&table);
            }
        }
    }
}

/// Ends the waiting of a session, also when its statement is cancelled.
struct Waiting<'a> {
    locks: &'a TableLocks,
    owner: Owner,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.locks.state.lock().end_waiting(self.owner);
        // Who stood behind may be the first now.
        self.locks.released.notify_waiters();
    }
}

impl HeldTables {
    pub fn new(locks: Arc<TableLocks>, owner: Owner) -> Self {
        Self {
            locks,
            owner,
            tables: BTreeSet::new(),
        }
    }

    /// Waits for the right to change `table`.
    ///
    /// # Errors
    /// [`SessionError::Deadlock`].
    pub async fn take(&mut self, table: ObjectId) -> Result<()> {
        if self.tables.contains(&table) {
            return Ok(());
        }
        let waiting = Waiting {
            locks: &self.locks,
            owner: self.owner,
        };
        loop {
            let released = self.locks.released.notified();
            tokio::pin!(released);
            // From here on no release is missed.
            released.as_mut().enable();
            let attempt = self.locks.state.lock().attempt(table, self.owner);
            match attempt {
                Attempt::Taken => break,
                Attempt::Held => {}
                Attempt::Deadlock => return Err(SessionError::Deadlock.into()),
            }
            released.await;
        }
        drop(waiting);
        self.tables.insert(table);
        Ok(())
    }

    /// Lets others change the tables.
    pub fn release(&mut self) {
        if self.tables.is_empty() {
            return;
        }
        let mut state = self.locks.state.lock();
        for table in std::mem::take(&mut self.tables) {
            state.holders.remove(&table);
        }
        drop(state);
        self.locks.released.notify_waiters();
    }
}

impl Drop for HeldTables {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    const A: ObjectId = ObjectId(1);
    const B: ObjectId = ObjectId(2);

    #[tokio::test]
    async fn a_table_is_held_by_one_until_it_is_released() {
        let locks = Arc::<TableLocks>::default();
        let (mut one, mut two) = (HeldTables::new(locks.clone(), 1), HeldTables::new(locks, 2));
        one.take(A).await.unwrap();
        one.take(A).await.unwrap();
        two.take(B).await.unwrap();
        let waiting = tokio::spawn(async move {
            two.take(A).await.unwrap();
            two
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        one.release();
        drop(waiting.await.unwrap());
        one.take(B).await.unwrap();
    }

    #[tokio::test]
    async fn who_closes_a_circle_is_refused() {
        let locks = Arc::<TableLocks>::default();
        let (mut one, mut two) = (
            HeldTables::new(locks.clone(), 1),
            HeldTables::new(locks.clone(), 2),
        );
        one.take(A).await.unwrap();
        two.take(B).await.unwrap();
        let waiting = tokio::spawn(async move {
            one.take(B).await.unwrap();
        });
        while locks.state.lock().waiting.is_empty() {
            tokio::task::yield_now().await;
        }
        let refused = two.take(A).await;
        assert!(matches!(refused, Err(Error::Session(SessionError::Deadlock))));
        two.release();
        waiting.await.unwrap();
    }
}
