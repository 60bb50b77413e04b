//! Rows by the values of some columns, each group with the folder that names them.

use std::collections::BTreeMap;

use arrow::array::{Array, RecordBatch, UInt64Array};
use arrow::compute::take_record_batch;
use millpond_catalog::Column;

use crate::error::{Error, Result};
use crate::file::partition::NULL_NAME;
use crate::sink::value::Writer;

pub struct Partitions {
    columns: Vec<Column>,
    /// Positions of the columns that make folders, outermost first.
    by: Vec<usize>,
    /// Positions of the others, which stand in the files.
    written: Vec<usize>,
}

impl Partitions {
    pub fn new(by: Option<&str>, columns: &[Column]) -> Result<Partitions> {
        let mut places = Vec::new();
        for name in by
            .unwrap_or_default()
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let exact = columns.iter().position(|column| column.name == name);
            let place = exact.or_else(|| {
                columns
                    .iter()
                    .position(|column| column.name.eq_ignore_ascii_case(name))
            });
            let known = || {
                columns
                    .iter()
                    .map(|column| column.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let place = place.ok_or_else(|| Error::Columns {
                message: format!("partition_by names \"{name}\", which is not a column of the sink"),
                hint: Some(format!("Its columns are {}.", known())),
            })?;
            if places.contains(&place) {
                return Err(Error::Columns {
                    message: format!("partition_by names \"{name}\" twice"),
                    hint: None,
                });
            }
            places.push(place);
        }
        let written: Vec<usize> = (0..columns.len())
            .filter(|column| !places.contains(column))
            .collect();
        if written.is_empty() {
            return Err(Error::Columns {
                message: "partition_by names every column, so that none is left for the files".to_owned(),
                hint: None,
            });
        }
        Ok(Partitions {
            columns: columns.to_vec(),
            by: places,
            written,
        })
    }

    /// Positions of the columns that stand in the files.
    pub fn written(&self) -> &[usize] {
        &self.written
    }

    /// The rows of each folder, without the columns that name it.
    pub fn split(&self, batches: &[RecordBatch]) -> BTreeMap<String, Vec<RecordBatch>> {
        let mut folders: BTreeMap<String, Vec<RecordBatch>> = BTreeMap::new();
        for batch in batches.iter().filter(|batch| batch.num_rows() > 0) {
            let content = batch.project(&self.written).expect("positions of its columns");
            if self.by.is_empty() {
                folders.entry(String::new()).or_default().push(content);
                continue;
            }
            for (folder, rows) in self.rows_of_folders(batch) {
                let rows = take_record_batch(&content, &UInt64Array::from(rows)).expect("rows of the batch");
                folders.entry(folder).or_default().push(rows);
            }
        }
        folders
    }

    fn rows_of_folders(&self, batch: &RecordBatch) -> BTreeMap<String, Vec<u64>> {
        let mut rows: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let by = self
            .by
            .iter()
            .map(|column| (&self.columns[*column], batch.column(*column)));
        let by: Vec<_> = by
            .map(|(column, array)| (escaped(&column.name), Writer::new(array, &column.sql_type), array))
            .collect();
        for row in 0..batch.num_rows() {
            let folders: Vec<String> = by
                .iter()
                .map(|(name, writer, array)| match array.is_null(row) {
                    true => format!("{name}={NULL_NAME}"),
                    false => format!("{name}={}", escaped(&writer.text(row).unwrap_or_default())),
                })
                .collect();
            rows.entry(folders.join("/")).or_default().push(row as u64);
        }
        rows
    }
}

/// As Hive does it: characters that mean something in paths become `%` and two digits.
fn escaped(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    for character in text.chars() {
        let special = character.is_ascii_control() || "\"#%'*/:=?\\{[]}^".contains(character);
        if special {
            output += &format!("%{:02X}", u32::from(character));
        } else {
            output.push(character);
        }
    }
    output
}
