//! CREATE TABLE .. AS: a table is made, and filled by an INSERT.

use millpond_sql::plan::CreateTableAs;

use super::Execution;
use crate::error::Result;
use crate::outcome::Outcome;

impl Execution<'_> {
    pub(super) async fn create_table_as(&mut self, create: CreateTableAs) -> Result<Outcome> {
        let created = self.change(&create.create).await;
        created?;
        let Some(insert) = create.insert else {
            return Ok(Outcome::done("CREATE TABLE AS"));
        };
        let inserted = match self.plan(&insert, &[]) {
            Ok(planned) => self.carry_out(&insert, planned).await,
            Err(error) => Err(error),
        };
        match inserted {
            Ok(Outcome::Done { tag }) => {
                let rows = tag.rsplit(' ').next().unwrap_or("0");
                Ok(Outcome::done(format!("SELECT {rows}")))
            }
            Ok(other) => Ok(other),
            Err(error) => {
                // In a block its end takes the table away.
                if let Some(id) = self
                    .created
                    .take()
                    .filter(|_| !self.session.transaction.in_block())
                {
                    self.server.coordinator.undo(vec![id]).await?;
                }
                Err(error)
            }
        }
    }
}
