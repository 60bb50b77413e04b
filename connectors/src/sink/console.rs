//! The console sink: each epoch's rows as a table on the server's standard output, for looking at a query.
//!
//! An epoch that a crash interrupts is shown again.

use std::io::Write;
use std::num::NonZeroU64;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::util::pretty::pretty_format_batches;
use millpond_catalog::{Column, Options};
use millpond_engine::sink::{ChangeBatch, Delivery, Sink, SinkError};

use super::SinkConnector;
use super::value::Writer;
use crate::error::Result;
use crate::options::{OptionReader, OptionValue, options};

pub const CONNECTOR: SinkConnector = SinkConnector {
    name: "console",
    doc: "Shows each epoch's rows as a table on the server's standard output. An epoch without rows shows nothing; where rows can be taken back, a column `op` tells `+` from `-`.",
    options: ConsoleOptions::SPECS,
    takes_changes: true,
    exactly_once: false,
    validate,
    open,
};

options! {
    /// How much is shown.
    pub struct ConsoleOptions {
        /// At most so many rows of an epoch.
        num_rows ["numrows"]: NonZeroU64 = "20",
        /// `true` cuts values at 20 characters, a number at that many, `false` shows all of them.
        truncate: Truncate = "true",
    }
}

/// Characters of a value that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncate(Option<usize>);

impl OptionValue for Truncate {
    const KIND: &'static str = "`true`, `false` or a whole number";

    fn parse(text: &str) -> Result<Self, String> {
        if let Ok(cut) = bool::parse(text)
            && text.trim().parse::<usize>().is_err()
        {
            return Ok(Truncate(cut.then_some(20)));
        }
        let number = text.trim().parse::<usize>();
        let number = number.map_err(|_| format!("\"{text}\" is not true, false or a whole number"))?;
        Ok(Truncate((number > 0).then_some(number)))
    }
}

fn read_options(options: &Options) -> Result<ConsoleOptions> {
    let mut reader = OptionReader::new("connector \"console\"", options);
    let console = ConsoleOptions::read(&mut reader)?;
    reader.finish()?;
    Ok(console)
}

fn validate(options: &Options, _: &[Column]) -> Result<()> {
    read_options(options).map(|_| ())
}

fn open(options: &Options, columns: &[Column]) -> Result<Box<dyn Sink>> {
    Ok(Box::new(Console {
        options: read_options(options)?,
        columns: columns.to_vec(),
    }))
}

struct Console {
    options: ConsoleOptions,
    columns: Vec<Column>,
}

impl Sink for Console {
    fn description(&self) -> String {
        "console".to_owned()
    }

    fn write(&mut self, delivery: &Delivery<'_>) -> Result<(), SinkError> {
        if delivery.changes.iter().all(ChangeBatch::is_empty) {
            return Ok(());
        }
        let table = self.table(delivery);
        // Nobody may be listening; that is no reason to stop the query.
        let _ = std::io::stdout().lock().write_all(table.as_bytes());
        Ok(())
    }
}

impl Console {
    fn table(&self, delivery: &Delivery<'_>) -> String {
        let rows_max = usize::try_from(self.options.num_rows.get()).unwrap_or(usize::MAX);
        let shows_op = delivery.changes.iter().any(|batch| batch.weights().is_some());
        let width = self.columns.len() + usize::from(shows_op);
        let mut texts: Vec<Vec<String>> = vec![Vec::new(); width];
        let (mut shown, mut all) = (0, 0);
        for batch in delivery.changes {
            let writers: Vec<Writer<'_>> = self
                .columns
                .iter()
                .zip(batch.rows().columns())
                .map(|(column, array)| Writer::new(array, &column.sql_type))
                .collect();
            for row in 0..batch.num_rows() {
                let weight = batch.weight(row);
                for _ in 0..weight.unsigned_abs() {
                    all += 1;
                    if shown == rows_max {
                        continue;
                    }
                    shown += 1;
                    if shows_op {
                        texts[0].push(if weight > 0 { "+" } else { "-" }.to_owned());
                    }
                    for (column, writer) in writers.iter().enumerate() {
                        texts[column + usize::from(shows_op)].push(self.cell(writer, row));
                    }
                }
            }
        }
        let names = shows_op.then_some("op").into_iter();
        let names = names.chain(self.columns.iter().map(|column| column.name.as_str()));
        let fields: Vec<Field> = names
            .map(|name| Field::new(name, DataType::Utf8, false))
            .collect();
        let arrays = texts
            .into_iter()
            .map(|texts| Arc::new(StringArray::from(texts)) as ArrayRef);
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays.collect())
            .expect("a text per row and column");
        let table =
            pretty_format_batches(&[batch]).map_or_else(|error| error.to_string(), |table| table.to_string());
        let line = "-".repeat(43);
        let rest = if all > shown {
            format!("only showing top {shown} rows\n")
        } else {
            String::new()
        };
        format!("{line}\nBatch: {}\n{line}\n{table}\n{rest}\n", delivery.epoch)
    }

    fn cell(&self, writer: &Writer<'_>, row: usize) -> String {
        let text = writer.text(row).unwrap_or_else(|| "NULL".to_owned());
        match self.options.truncate.0 {
            Some(length) if text.chars().count() > length => {
                let kept = length.saturating_sub(3);
                let dots = ".".repeat(length.min(3));
                text.chars().take(kept).chain(dots.chars()).collect()
            }
            _ => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;
    use millpond_catalog::SqlType;

    use super::*;
    use crate::memory_notes::{column, options};

    #[test]
    fn a_table_per_epoch_cut_in_both_directions() {
        let columns = [column("a", SqlType::Int8), column("b", SqlType::Text)];
        let rows = RecordBatch::try_new(
            millpond_catalog::arrow_schema(&columns),
            vec![
                Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])),
                Arc::new(StringArray::from(vec!["x", "abcdefghijkl", "z"])),
            ],
        );
        let changes = [ChangeBatch::new(rows.unwrap(), Int64Array::from(vec![1, -1, 2]))];
        let delivery = Delivery {
            query_id: "q",
            epoch: 7,
            changes: &changes,
        };
        let entries = options(&[("num_rows", "3"), ("truncate", "8")]);
        let console = Console {
            options: read_options(&entries).unwrap(),
            columns: columns.to_vec(),
        };
        let line = "-".repeat(43);
        let expected = [
            &*line,
            "Batch: 7",
            &line,
            "+----+------+----------+",
            "| op | a    | b        |",
            "+----+------+----------+",
            "| +  | 1    | x        |",
            "| -  | NULL | abcde... |",
            "| +  | 3    | z        |",
            "+----+------+----------+",
            "only showing top 3 rows",
            "",
            "",
        ];
        assert_eq!(console.table(&delivery), expected.join("\n"));
        assert!(validate(&options(&[("truncate", "maybe")]), &columns).is_err());
    }
}
