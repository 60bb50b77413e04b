//! The simple protocol: a text of any number of statements.
//!
//! The whole text is parsed before anything of it runs. Statements run one after the other and each is answered as it
//! ends; the first error ends the text. Outside a block the statements of a text are one transaction.

use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::response::EmptyQueryResponse;

use super::connection::Connection;
use crate::error::Result;
use crate::execute::parse;
use crate::outcome::Outcome;
use crate::session::Work;

impl Connection {
    pub(super) async fn simple_query(&mut self, text: &str) -> Result<()> {
        self.session.portals.remove("");
        self.session.info.statements.remove("");
        if let Err(error) = self.run_text(text).await {
            self.session.fail();
            self.report(&error).await?;
        }
        self.end_group().await?;
        self.ready().await
    }

    async fn run_text(&mut self, text: &str) -> Result<()> {
        let statements = parse(text)?;
        if statements.is_empty() {
            return self
                .outbox
                .put(Message::EmptyQueryResponse(EmptyQueryResponse::new()));
        }
        self.session.grouped = statements.len() > 1;
        for statement in statements {
            let work = self.begin_work(statement.text());
            let executed = self.execution(&work).execute(&statement).await;
            let result = match executed {
                Ok(outcome) => self.answer(&work, outcome).await,
                Err(error) => Err(error),
            };
            self.end_work(work);
            result?;
        }
        Ok(())
    }

    async fn answer(&mut self, work: &Work, outcome: Outcome) -> Result<()> {
        self.put_notices()?;
        match outcome {
            Outcome::Rows { columns, rows, tag } => {
                let sent = self.send_rows(work, &columns, &[], rows, true).await?;
                self.session.apply_setting_changes()?;
                self.put_complete(tag.text(sent))
            }
            Outcome::Done { tag } => self.put_complete(tag),
            Outcome::CopyIn(copy) => {
                let tag = self.copy_in(work, *copy).await?;
                self.put_complete(tag)
            }
            Outcome::CopyOut {
                columns,
                writer,
                rows,
            } => {
                let tag = self.copy_out(work, columns, &writer, rows).await?;
                self.put_complete(tag)
            }
            Outcome::Empty => self
                .outbox
                .put(Message::EmptyQueryResponse(EmptyQueryResponse::new())),
        }
    }
}
