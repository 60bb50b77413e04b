//! Transaction status of a session as a value: events in, the next status and what to do out.
//!
//! A transaction block changes the status that clients see, the end of cursors, settings, which go back at ROLLBACK, and
//! when changes of tables are committed. Changes of the catalog take effect at once and are never undone.

use crate::error::{Result, SessionError};
use crate::outcome::{Notice, NoticeKind};

/// Where a session stands between statements.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Transaction {
    #[default]
    Idle,
    /// In a block, with the names of its savepoints, oldest first.
    Block { savepoints: Vec<String> },
    /// In a block in which a statement failed: only its end is allowed.
    Failed { savepoints: Vec<String> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Begin,
    Commit,
    Rollback,
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    /// A statement failed.
    Error,
}

/// What an event leads to besides the new status.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    pub effect: Effect,
    pub notice: Option<Notice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effect {
    #[default]
    Nothing,
    /// A block begins.
    Begin,
    /// A block ends well.
    Commit,
    /// A block ends and its settings go back.
    Rollback,
}

impl Transaction {
    pub fn in_block(&self) -> bool {
        *self != Transaction::Idle
    }

    /// How many savepoints there are.
    pub fn savepoints(&self) -> usize {
        match self {
            Transaction::Idle => 0,
            Transaction::Block { savepoints } | Transaction::Failed { savepoints } => savepoints.len(),
        }
    }

    pub fn is_failed(&self) -> bool {
        matches!(self, Transaction::Failed { .. })
    }

    /// # Errors
    /// An event that the status does not allow; the status stays as it is.
    pub fn next(self, event: Event) -> Result<(Transaction, Step)> {
        match event {
            Event::Begin => self.begin(),
            Event::Commit => Ok(self.end(Effect::Commit)),
            Event::Rollback => Ok(self.end(Effect::Rollback)),
            Event::Savepoint(_) | Event::Release(_) | Event::RollbackTo(_) => self.savepoint(event),
            Event::Error => Ok((self.fail(), Step::default())),
        }
    }

    fn begin(self) -> Result<(Transaction, Step)> {
        match self {
            Transaction::Idle => Ok((
                Transaction::Block {
                    savepoints: Vec::new(),
                },
                Step {
                    effect: Effect::Begin,
                    notice: None,
                },
            )),
            Transaction::Block { .. } => {
                let text = "there is already a transaction in progress";
                let notice = Some(Notice::warning(NoticeKind::InTransaction, text));
                Ok((
                    self,
                    Step {
                        effect: Effect::Nothing,
                        notice,
                    },
                ))
            }
            Transaction::Failed { .. } => Err(SessionError::TransactionFailed.into()),
        }
    }

    fn end(self, effect: Effect) -> (Transaction, Step) {
        match self {
            Transaction::Idle => {
                let notice =
                    Notice::warning(NoticeKind::NoTransaction, "there is no transaction in progress");
                (
                    Transaction::Idle,
                    Step {
                        effect: Effect::Nothing,
                        notice: Some(notice),
                    },
                )
            }
            Transaction::Block { .. } => (Transaction::Idle, Step { effect, notice: None }),
            Transaction::Failed { .. } => (
                Transaction::Idle,
                Step {
                    effect: Effect::Rollback,
                    notice: None,
                },
            ),
        }
    }

    fn savepoint(self, event: Event) -> Result<(Transaction, Step)> {
        let (mut savepoints, failed) = match self {
            Transaction::Idle => {
                let command = match event {
                    Event::Savepoint(_) => "SAVEPOINT",
                    Event::Release(_) => "RELEASE SAVEPOINT",
                    _ => "ROLLBACK TO SAVEPOINT",
                };
                return Err(SessionError::NoTransaction(command).into());
            }
            Transaction::Block { savepoints } => (savepoints, false),
            Transaction::Failed { savepoints } => (savepoints, true),
        };
        match event {
            Event::RollbackTo(name) => {
                let at = find(&savepoints, &name)?;
                savepoints.truncate(at + 1);
            }
            _ if failed => return Err(SessionError::TransactionFailed.into()),
            Event::Savepoint(name) => savepoints.push(name),
            Event::Release(name) => {
                let at = find(&savepoints, &name)?;
                savepoints.truncate(at);
            }
            Event::Begin | Event::Commit | Event::Rollback | Event::Error => {}
        }
        Ok((Transaction::Block { savepoints }, Step::default()))
    }

    fn fail(self) -> Transaction {
        match self {
            Transaction::Idle => Transaction::Idle,
            Transaction::Block { savepoints } | Transaction::Failed { savepoints } => {
                Transaction::Failed { savepoints }
            }
        }
    }
}

/// The newest savepoint of that name.
fn find(savepoints: &[String], name: &str) -> Result<usize> {
    let at = savepoints.iter().rposition(|s| s == name);
    at.ok_or_else(|| SessionError::NoSavepoint(name.to_owned()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs events; gives the final status and the effect and notice of the last.
    fn run(events: &[Event]) -> (Transaction, Step) {
        let mut state = (Transaction::Idle, Step::default());
        for event in events {
            state = state.0.next(event.clone()).unwrap();
        }
        state
    }

    fn name(text: &str) -> String {
        text.to_owned()
    }

    #[test]
    fn a_block_begins_and_ends() {
        let (state, step) = run(&[Event::Begin]);
        assert!(state.in_block() && !state.is_failed());
        assert_eq!(step.effect, Effect::Begin);
        let (state, step) = run(&[Event::Begin, Event::Commit]);
        assert_eq!((state, step.effect), (Transaction::Idle, Effect::Commit));
    }

    #[test]
    fn commit_of_a_failed_block_is_a_rollback() {
        let (state, step) = run(&[Event::Begin, Event::Error, Event::Commit]);
        assert_eq!((state, step.effect), (Transaction::Idle, Effect::Rollback));
    }

    #[test]
    fn an_error_outside_a_block_changes_nothing() {
        assert_eq!(run(&[Event::Error]).0, Transaction::Idle);
    }

    #[test]
    fn begin_and_commit_at_the_wrong_time_are_warnings() {
        let kind = |events: &[Event]| run(events).1.notice.unwrap().kind;
        assert_eq!(kind(&[Event::Begin, Event::Begin]), NoticeKind::InTransaction);
        assert_eq!(kind(&[Event::Commit]), NoticeKind::NoTransaction);
        assert_eq!(kind(&[Event::Rollback]), NoticeKind::NoTransaction);
    }

    #[test]
    fn a_savepoint_mends_a_failed_block() {
        let events = [
            Event::Begin,
            Event::Savepoint(name("a")),
            Event::Savepoint(name("b")),
            Event::Error,
            Event::RollbackTo(name("a")),
        ];
        assert_eq!(
            run(&events).0,
            Transaction::Block {
                savepoints: vec![name("a")]
            }
        );
        let failed = run(&events[..4]).0;
        assert!(failed.clone().next(Event::RollbackTo(name("c"))).is_err());
        assert!(failed.clone().next(Event::Savepoint(name("c"))).is_err());
        assert!(failed.next(Event::Begin).is_err());
    }

    #[test]
    fn savepoints_need_a_block_and_a_name() {
        assert!(Transaction::Idle.next(Event::Savepoint(name("a"))).is_err());
        let (state, _) = run(&[
            Event::Begin,
            Event::Savepoint(name("a")),
            Event::Release(name("a")),
        ]);
        assert!(state.next(Event::Release(name("a"))).is_err());
    }
}
