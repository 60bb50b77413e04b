//! DECLARE, FETCH, MOVE and CLOSE: cursors by SQL, which are portals.

use std::time::Duration;

use futures::StreamExt;
use millpond_sql::plan::{DeclareCursor, RowsOf};
use millpond_sql::statement::{Direction, Fetch, Target};

use super::Execution;
use crate::error::{Result, SessionError};
use crate::outcome::{Outcome, RowStream, RowsTag};
use crate::pg::format::Format;
use crate::session::Session;
use crate::session::portal::{FetchRows, Portal, PortalState, SharedRows, fetch, fetch_live};

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
            number: 0,
            state: PortalState::Open {
                rows: match declare.scroll {
                    true => FetchRows::scrolling(rows),
                    false => FetchRows::shared(rows),
                },
                tag: RowsTag::Fetch,
            },
        };
        self.session.add_portal(declare.name, portal);
        Ok(Outcome::done("DECLARE CURSOR"))
    }

    pub(super) async fn fetch(&mut self, statement: Fetch) -> Result<Outcome> {
        let portal = self.session.cursor(&statement.cursor)?;
        let (Some(columns), PortalState::Open { rows, .. }) = (&portal.columns, &portal.state) else {
            return Err(SessionError::NoCursor(statement.cursor).into());
        };
        let (columns, rows) = (columns.clone(), rows.clone());
        let mut rows = match (portal.live, statement.direction) {
            (true, Direction::Forward(count)) => {
                let timeout = statement.timeout_ms.map(Duration::from_millis);
                fetch_live(rows, count, timeout)
            }
            (true, _) => return Err(SessionError::ForwardOnly.into()),
            (false, direction) => self.passed(rows, direction).await?,
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

    /// The rows that a cursor passes on its way.
    async fn passed(&self, rows: SharedRows, direction: Direction) -> Result<RowStream> {
        let mut cursor = rows.lock().await;
        if cursor.scrolls() {
            let passed = self.work.race(cursor.go(direction)).await?;
            return Ok(futures::stream::iter(passed.into_iter().map(Ok)).boxed());
        }
        drop(cursor);
        match direction {
            Direction::Forward(count) => Ok(fetch(rows, count)),
            Direction::Relative(1) => Ok(fetch(rows, Some(1))),
            Direction::Backward(_) | Direction::Absolute(_) | Direction::Relative(_) => {
                Err(SessionError::ForwardOnly.into())
            }
        }
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
