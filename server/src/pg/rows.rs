//! Result sets on their way to the client.

use futures::{FutureExt, StreamExt};
use millpond_sql::plan::OutputColumn;
use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::data::{FieldDescription, RowDescription};
use pgwire::messages::response::CommandComplete;

use super::connection::Connection;
use super::encode::RowEncoder;
use super::format::Format;
use super::outbox::BUFFER_BYTES;
use crate::error::Result;
use crate::outcome::RowStream;
use crate::session::Work;

impl Connection {
    /// Sends all rows of the stream; gives their number. What was gathered is sent whenever the query needs time.
    ///
    /// With `describe`, RowDescription goes ahead, but not before the query has brought its first rows or ended: a query
    /// that fails at once is answered by the error alone, as Postgres does for what it finds while planning.
    pub(super) async fn send_rows(
        &mut self,
        work: &Work,
        columns: &[OutputColumn],
        formats: &[Format],
        mut rows: RowStream,
        describe: bool,
    ) -> Result<u64> {
        let types = columns.iter().map(|c| c.sql_type.clone());
        let encoder = RowEncoder::new(types, formats, self.session.style());
        let (mut described, mut sent) = (!describe, 0);
        loop {
            let next = match work.race(rows.next().map(Ok)).now_or_never() {
                Some(next) => next?,
                None => {
                    self.flush_or_stop(work).await?;
                    work.race(rows.next().map(Ok)).await?
                }
            };
            let batch = next.transpose()?;
            if !described {
                self.outbox.put(row_description(columns, formats))?;
                described = true;
            }
            let Some(batch) = batch else { return Ok(sent) };
            let mut from = 0;
            while from < batch.num_rows() {
                let rows = from..batch.num_rows();
                from += encoder.encode(&batch, rows, BUFFER_BYTES, &mut self.outbox.buffer)?;
                if self.outbox.is_full() {
                    self.flush_or_stop(work).await?;
                }
            }
            sent += batch.num_rows() as u64;
        }
    }

    /// Sends what was gathered, then stops if the statement was cancelled meanwhile. A cancel does not cut a message off.
    pub(super) async fn flush_or_stop(&mut self, work: &Work) -> Result<()> {
        self.flush().await?;
        if work.token().is_cancelled() {
            Err(work.cancelled())
        } else {
            Ok(())
        }
    }

    pub(super) fn put_complete(&mut self, tag: String) -> Result<()> {
        self.put_notices()?;
        self.outbox
            .put(Message::CommandComplete(CommandComplete::new(tag)))
    }
}

pub(super) fn row_description(columns: &[OutputColumn], formats: &[Format]) -> Message {
    let field = |(i, column): (usize, &OutputColumn)| {
        let (table, number) = match column.origin {
            Some((object, position)) => (crate::pg_catalog::relation_oid(object), position + 1),
            None => (0, 0),
        };
        FieldDescription::new(
            column.name.clone(),
            table.cast_signed(),
            i16::try_from(number).unwrap_or(0),
            column.sql_type.oid(),
            column.sql_type.size(),
            column.sql_type.type_modifier(),
            Format::of_column(formats, i).code(),
        )
    };
    Message::RowDescription(RowDescription::new(
        columns.iter().enumerate().map(field).collect(),
    ))
}
