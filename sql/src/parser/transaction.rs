//! Transactions and savepoints.

use crate::error::{Error, Result};
use crate::statement::{Statement, Transaction};

use super::Tokens;

impl Tokens<'_> {
    pub fn transaction(&mut self) -> Result<Statement> {
        let transaction = match self.one_of(&[
            "BEGIN",
            "START",
            "COMMIT",
            "END",
            "ROLLBACK",
            "ABORT",
            "SAVEPOINT",
            "RELEASE",
        ]) {
            Some("BEGIN") => {
                if self.peek_words(&["STATEMENT", "SET"]) {
                    return Err(self.here(Error::unsupported("BEGIN STATEMENT SET is not supported yet")));
                }
                let _ = self.one_of(&["WORK", "TRANSACTION"]);
                let modes = self.transaction_modes()?;
                Transaction::Begin { start: false, modes }
            }
            Some("START") => {
                self.expect_word("TRANSACTION")?;
                let modes = self.transaction_modes()?;
                Transaction::Begin { start: true, modes }
            }
            Some("COMMIT" | "END") => {
                self.refuse_prepared("COMMIT")?;
                self.end_of_transaction()?;
                Transaction::Commit
            }
            Some("SAVEPOINT") => Transaction::Savepoint(self.name()?),
            Some("RELEASE") => {
                let _ = self.word("SAVEPOINT");
                Transaction::Release(self.name()?)
            }
            _ => {
                self.refuse_prepared("ROLLBACK")?;
                let _ = self.one_of(&["WORK", "TRANSACTION"]);
                if self.word("TO") {
                    let _ = self.word("SAVEPOINT");
                    Transaction::RollbackTo(self.name()?)
                } else {
                    self.end_of_transaction()?;
                    Transaction::Rollback
                }
            }
        };
        Ok(Statement::Transaction(transaction))
    }

    fn refuse_prepared(&self, verb: &str) -> Result<()> {
        if self.peek_word().as_deref() == Some("PREPARED") {
            return Err(self.here(Error::unsupported(format!(
                "{verb} PREPARED is not supported yet"
            ))));
        }
        Ok(())
    }

    fn end_of_transaction(&mut self) -> Result<()> {
        let _ = self.one_of(&["WORK", "TRANSACTION"]);
        if self.words(&["AND", "NO", "CHAIN"]) {
            return Ok(());
        }
        if self.peek_words(&["AND", "CHAIN"]) {
            return Err(self.here(Error::unsupported("AND CHAIN is not supported yet")));
        }
        Ok(())
    }
}
