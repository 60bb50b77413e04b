//! DECLARE, FETCH, MOVE and CLOSE: cursors by SQL, which are portals.

use std::time::Duration;

use futures::StreamExt;
use millpond_sql::plan::{DeclareCursor, RowsOf};
use millpond_sql::statement::{Fetch, Target};

use super::Execution;
use crate::error::{Result, SessionError};
use crate::outcome::{Outcome, RowsTag};
use crate::pg::format::Format;
use crate::session::Session;
use crate::session::portal::{FetchRows, Portal, PortalState, fetch, fetch_live};

impl Session {
    pub fn cursor(&self, name: &str) -> Result<&Portal> {
        self.portals
            .get(name)
            .ok_or_else(|| SessionError::NoCursor(name.to_owned()).into())
    }
}

impl Execution<'_> {
    pub(super) fn declare_cursor(&mut self, declare: DeclareCursor) -> Result<Outcome> {
        if !declare.hold && !self.session.transaction.in_block() {
            return Err(SessionError::NoTransaction("DECLARE CURSOR").into());
        }
        if self.session.portals.contains_key(&declare.name) {
            return Err(SessionError::CursorExists(declare.name).into());
        }
        let columns = declare.rows.columns().to_vec();
        let (rows, live) = match declare.rows {
            RowsOf::Select(select) => (self.run_query(select.query, &select.reads)?, false),
            RowsOf::Subscribe(subscribe) => (self.changes(&subscribe)?, true),
        };
        let portal = Portal {
            columns: Some(columns),
            formats: if declare.binary {
                vec![Format::Binary]
            } else {
                Vec::new()
            },
            hold: declare.hold,
            live,
            state: PortalState::Open {
                rows: FetchRows::shared(rows),
                tag: RowsTag::Fetch,
            },
        };
        self.session.portals.insert(declare.name, portal);
        Ok(Outcome::done("DECLARE CURSOR"))
    }

    pub(super) async fn fetch(&mut self, statement: Fetch) -> Result<Outcome> {
        let portal = self.session.cursor(&statement.cursor)?;
        let (Some(columns), PortalState::Open { rows, .. }) = (&portal.columns, &portal.state) else {
            return Err(SessionError::NoCursor(statement.cursor).into());
        };
        let (columns, rows) = (columns.clone(), rows.clone());
        let mut rows = if portal.live {
            let timeout = statement.timeout_ms.map(Duration::from_millis);
            fetch_live(rows, statement.count, timeout)
        } else {
            fetch(rows, statement.count)
        };
        if !statement.skip {
            return Ok(Outcome::Rows {
                columns,
                rows,
                tag: RowsTag::Fetch,
            });
        }
        let mut skipped = 0;
        self.work
            .race(async {
                while let Some(batch) = rows.next().await {
                    skipped += batch?.num_rows();
                }
                Ok(())
            })
            .await?;
        Ok(Outcome::done(format!("MOVE {skipped}")))
    }

    pub(super) fn close_cursor(&mut self, target: Target) -> Result<Outcome> {
        match target {
            Target::All => {
                self.session.portals.clear();
                Ok(Outcome::done("CLOSE CURSOR ALL"))
            }
            Target::Named(name) => match self.session.portals.remove(&name) {
                Some(_) => Ok(Outcome::done("CLOSE CURSOR")),
                None => Err(SessionError::NoCursor(name).into()),
            },
        }
    }
}
