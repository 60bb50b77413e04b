//! COPY: rows that the client has sent are inserted, rows of a query are handed to it as text.

use arrow::array::RecordBatch;
use millpond_sql::plan::{CopyFrom, CopyTo, RowsOf};

use super::Execution;
use crate::copy::{Reader, Writer};
use crate::error::Result;
use crate::outcome::Outcome;

impl Execution<'_> {
    /// What turns the client's data into rows.
    pub fn copy_reader(&self, copy: &CopyFrom) -> Reader {
        let settings = self.session.info.settings.read();
        let time_zone = settings.current().time_zone().to_owned();
        Reader::new(
            copy.table.clone(),
            copy.columns.clone(),
            copy.options.clone(),
            time_zone,
        )
    }

    /// Inserts what has come; gives the command tag.
    pub async fn copy_rows(&mut self, copy: CopyFrom, rows: Vec<RecordBatch>) -> Result<String> {
        let count: usize = rows.iter().map(RecordBatch::num_rows).sum();
        self.write_rows(copy.write, rows).await?;
        Ok(format!("COPY {count}"))
    }

    pub(super) async fn copy_to(&mut self, copy: CopyTo) -> Result<Outcome> {
        let (columns, style) = (copy.rows.columns().to_vec(), self.session.style());
        let writer = Writer::new(&columns, copy.options, style);
        let outcome = match copy.rows {
            RowsOf::Select(select) => self.select(select).await?,
            RowsOf::Subscribe(subscribe) => self.subscribe(&subscribe)?,
        };
        match outcome {
            Outcome::Rows { columns, rows, .. } => Ok(Outcome::CopyOut {
                columns: columns.len(),
                writer: Box::new(writer),
                rows,
            }),
            other => Ok(other),
        }
    }
}
