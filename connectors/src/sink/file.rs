//! The file sink: each epoch's rows as new files, exactly once.
//!
//! An epoch's files are written under `_millpond/<query>/` first. Then a record that lists them is made durable: from here
//! on the epoch has happened ([`manifest`]). Then the files take their names, and the record becomes a part of the manifest.
//! A crash before the record leaves nothing but unfinished files; a crash after it is made up for at the next start. So a
//! file under its final name is complete, and no row is in two of them.

mod encode;
mod manifest;
mod options;
mod partition;

use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use millpond_catalog::{Column, Options, SqlType};
use millpond_engine::sink::{ChangeBatch, Delivery, Sink, SinkError};

use super::SinkConnector;
use crate::error::{Error, Result};
use crate::options::OptionReader;
use encode::Encoding;
use manifest::{FileRecord, Manifest};
use options::{FileSinkFormat, FileSinkOptions};
use partition::Partitions;

pub const CONNECTOR: SinkConnector = SinkConnector {
    name: "file",
    doc: "New files in a folder, for each epoch with rows. Rows arrive exactly once; readers that go by the names `*.parquet`, `*.json` or `*.csv` see only complete files.",
    options: FileSinkOptions::SPECS,
    takes_changes: false,
    exactly_once: true,
    validate,
    open,
};

fn read_options(options: &Options, columns: &[Column]) -> Result<(FileSinkOptions, Encoding, Partitions)> {
    let mut reader = OptionReader::new("connector \"file\"", options);
    let file = FileSinkOptions::read(&mut reader)?;
    reader.finish()?;
    if let Some((scheme, _)) = file
        .path
        .split_once("://")
        .filter(|(scheme, _)| *scheme != "file")
    {
        return Err(Error::NotSupported {
            what: format!("path with scheme \"{scheme}\""),
            hint: Some("Give a path of the server's file system.".to_owned()),
        });
    }
    let partitions = Partitions::new(file.partition_by.as_deref(), columns)?;
    let written: Vec<&Column> = partitions
        .written()
        .iter()
        .map(|column| &columns[*column])
        .collect();
    let has_no_form = |column: &&&Column| match &column.sql_type {
        SqlType::System(_) => true,
        sql_type => *sql_type == SqlType::Interval && file.format == FileSinkFormat::Parquet,
    };
    if let Some(column) = written.iter().find(has_no_form) {
        return Err(Error::Columns {
            message: format!(
                "column \"{}\" of type {} cannot be written to {} files",
                column.name, column.sql_type, file.format
            ),
            hint: Some("Cast it to text.".to_owned()),
        });
    }
    let encoding = Encoding::new(&file, columns, partitions.written())?;
    Ok((file, encoding, partitions))
}

fn folder(options: &FileSinkOptions) -> Result<PathBuf> {
    let text = options.path.strip_prefix("file://").unwrap_or(&options.path);
    std::path::absolute(text).map_err(|error| Error::InvalidOption {
        key: "path".to_owned(),
        message: error.to_string(),
        position: None,
    })
}

fn validate(options: &Options, columns: &[Column]) -> Result<()> {
    let (options, _, _) = read_options(options, columns)?;
    let folder = folder(&options)?;
    let parent = folder.parent().unwrap_or(&folder);
    if !parent.is_dir() {
        return Err(Error::Missing {
            message: format!("folder \"{}\" does not exist", parent.display()),
            hint: Some(
                "Check the path, or create the folder first; its last part is made by the sink.".to_owned(),
            ),
        });
    }
    if folder.exists() && !folder.is_dir() {
        return Err(Error::Missing {
            message: format!("\"{}\" is not a folder", folder.display()),
            hint: Some("A sink writes a file per epoch into the folder that path names.".to_owned()),
        });
    }
    Ok(())
}

fn open(options: &Options, columns: &[Column]) -> Result<Box<dyn Sink>> {
    let (options, encoding, partitions) = read_options(options, columns)?;
    Ok(Box::new(FileSink {
        folder: folder(&options)?,
        encoding,
        partitions,
        manifest: None,
    }))
}

struct FileSink {
    folder: PathBuf,
    encoding: Encoding,
    partitions: Partitions,
    /// Opened with the first epoch.
    manifest: Option<Manifest>,
}

impl Sink for FileSink {
    fn description(&self) -> String {
        format!("file[{}]", self.folder.display())
    }

    fn write(&mut self, delivery: &Delivery<'_>) -> Result<(), SinkError> {
        let written = self.write_epoch(delivery);
        if written.is_err() {
            // What is on disk now is found out again.
            self.manifest = None;
        }
        written
    }
}

impl FileSink {
    fn write_epoch(&mut self, delivery: &Delivery<'_>) -> Result<(), SinkError> {
        let manifest = match &mut self.manifest {
            Some(manifest) => manifest,
            None => self
                .manifest
                .insert(Manifest::open(&self.folder, delivery.query_id)?),
        };
        if manifest.has(delivery.epoch) || delivery.changes.iter().all(ChangeBatch::is_empty) {
            return Ok(());
        }
        let mut rows = Vec::with_capacity(delivery.changes.len());
        for changes in delivery.changes {
            rows.push(insertions(changes)?);
        }
        let id = &delivery.query_id[..delivery.query_id.len().min(8)];
        let mut files = Vec::new();
        for (number, (partition, batches)) in self.partitions.split(&rows).into_iter().enumerate() {
            let name = format!(
                "part-{:08}-{number:03}-{id}.{}",
                delivery.epoch,
                self.encoding.ending()
            );
            let bytes = manifest.write(number, |file| self.encoding.write(&batches, file))?;
            files.push(FileRecord {
                path: Path::new(&partition).join(name).to_string_lossy().into_owned(),
                rows: batches.iter().map(|batch| batch.num_rows() as u64).sum(),
                bytes,
            });
        }
        manifest.commit(delivery.epoch, files)
    }
}

/// The rows of changes that only add, each as often as its weight says.
fn insertions(changes: &ChangeBatch) -> Result<RecordBatch, SinkError> {
    let Some(weights) = changes.weights() else {
        return Ok(changes.rows().clone());
    };
    let mut places = Vec::with_capacity(weights.len());
    for (row, weight) in (0..).zip(weights.values()) {
        let times = usize::try_from(*weight).map_err(|_| SinkError::Failed {
            message: "the query takes back a row that was written to a file".to_owned(),
            hint: Some("Use EMIT ON WINDOW CLOSE.".to_owned()),
        })?;
        places.extend(std::iter::repeat_n(row, times));
    }
    let places = arrow::array::UInt64Array::from(places);
    arrow::compute::take_record_batch(changes.rows(), &places).map_err(|error| SinkError::Failed {
        message: error.to_string(),
        hint: None,
    })
}

#[cfg(test)]
mod tests;
