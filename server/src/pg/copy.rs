//! COPY on the wire: the client's data comes between CopyInResponse and CopyDone, ours goes between CopyOutResponse and
//! CopyDone.

use futures::{FutureExt, StreamExt};
use millpond_sql::plan::CopyFrom;
use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::copy::{CopyData, CopyDone, CopyInResponse, CopyOutResponse};

use super::connection::{Connection, Incoming};
use super::format::Format;
use super::message::Frontend;
use crate::copy::Writer;
use crate::error::{CancelReason, Error, Result, SessionError};
use crate::outcome::RowStream;
use crate::session::Work;

impl Connection {
    /// Takes in the client's rows and inserts them; gives the command tag.
    pub(super) async fn copy_in(&mut self, work: &Work, copy: CopyFrom) -> Result<String> {
        let mut reader = self.execution(work).copy_reader(&copy);
        let columns = count(copy.columns.len())?;
        let format = i16::from(copy.options.binary);
        self.put_notices()?;
        self.outbox.put(Message::CopyInResponse(CopyInResponse::new(
            i8::from(copy.options.binary),
            columns,
            vec![format; copy.columns.len()],
        )))?;
        self.flush().await?;
        loop {
            let message = match work.race(self.next_message()).await? {
                Some(Incoming::Message { message, .. }) => message?,
                Some(Incoming::Broken(text)) => return Err(SessionError::Protocol(text).into()),
                None => return Err(Error::Cancelled(CancelReason::ClientGone)),
            };
            match message {
                Frontend::CopyData(data) => reader.push(&data)?,
                Frontend::CopyDone => break,
                Frontend::CopyFail(reason) => return Err(SessionError::CopyFailed(reason).into()),
                // Clients send them without waiting for the answer.
                Frontend::Flush | Frontend::Sync => {}
                Frontend::Terminate => return Err(Error::Cancelled(CancelReason::ClientGone)),
                other => {
                    let text = format!("unexpected message during COPY from stdin: {other:?}");
                    return Err(SessionError::Protocol(text).into());
                }
            }
        }
        let rows = reader.finish()?;
        self.execution(work).copy_rows(copy, rows).await
    }

    /// Sends rows as lines; gives the command tag.
    pub(super) async fn copy_out(
        &mut self,
        work: &Work,
        columns: usize,
        writer: &Writer,
        mut rows: RowStream,
    ) -> Result<String> {
        // A query that fails at once is answered by the error alone.
        let mut next = work.race(rows.next().map(Ok)).await?.transpose()?;
        self.put_notices()?;
        self.outbox.put(Message::CopyOutResponse(CopyOutResponse::new(
            i8::from(writer.format() == Format::Binary),
            count(columns)?,
            vec![writer.format().code(); columns],
        )))?;
        // The binary format's header comes in one message with what follows it, as clients expect.
        let mut head = writer.header().unwrap_or_default();
        if writer.format() == Format::Text && !head.is_empty() {
            self.put_line(std::mem::take(&mut head))?;
        }
        let mut sent = 0;
        while let Some(batch) = next {
            for line in writer.lines(&batch)? {
                let line = match head.is_empty() {
                    true => line,
                    false => [std::mem::take(&mut head), line].concat(),
                };
                self.put_line(line)?;
                if self.outbox.is_full() {
                    self.flush().await?;
                }
            }
            sent += batch.num_rows();
            // What was gathered goes out before a wait.
            next = match work.race(rows.next().map(Ok)).now_or_never() {
                Some(next) => next?,
                None => {
                    self.flush_or_stop(work).await?;
                    work.race(rows.next().map(Ok)).await?
                }
            }
            .transpose()?;
        }
        if let Some(trailer) = writer.trailer() {
            self.put_line([head, trailer].concat())?;
        }
        self.outbox.put(Message::CopyDone(CopyDone::new()))?;
        Ok(format!("COPY {sent}"))
    }

    fn put_line(&mut self, line: Vec<u8>) -> Result<()> {
        self.outbox.put(Message::CopyData(CopyData::new(line.into())))
    }
}

fn count(columns: usize) -> Result<i16> {
    i16::try_from(columns)
        .map_err(|_| Error::Bug("a COPY has more columns than the protocol can count".into()))
}
