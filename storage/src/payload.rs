//! Where the rows of a record stand: within the record when they are few, else in a file of their own.
//!
//! A small epoch so costs one sync, that of the meta store; and the meta store never holds large values.
//!
//! ```text
//! 0x00  rest of the record: an Arrow IPC stream
//! 0x01  u64 size of the file, little-endian; rest of the record: name of the file
//! ```

use std::io::{self, Read, Write};
use std::sync::Arc;

use arrow::datatypes::SchemaRef;

use crate::change::ChangeBatch;
use crate::error::{Error, Result};
use crate::files::{FileSet, NewFile, StoredFile};
use crate::ipc::{self, ChangeReader};
use crate::layout::FileNumber;
use crate::record::{FrameReader, FrameWriter};

/// Encoded rows up to this size stay in the meta store.
const INLINE_BYTES: usize = if cfg!(test) { 2 * 1024 } else { 64 * 1024 };

/// Rows that were written, or found.
#[derive(Debug, Clone)]
pub(crate) enum Payload {
    Inline(Arc<[u8]>),
    File(FilePayload),
}

/// Rows in a file, read when they are asked for.
#[derive(Debug, Clone)]
pub(crate) struct FilePayload {
    pub file: Arc<StoredFile>,
    pub bytes: u64,
}

/// A payload as its record names it.
#[derive(Debug, PartialEq)]
pub(crate) enum Stored<'a> {
    Inline(&'a [u8]),
    File { name: &'a str, bytes: u64 },
}

impl<'a> Stored<'a> {
    /// `None` when the bytes are neither form.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        match bytes.split_first()? {
            (0, stream) => Some(Stored::Inline(stream)),
            (1, rest) => {
                let (size, name) = rest.split_first_chunk::<8>()?;
                Some(Stored::File {
                    name: std::str::from_utf8(name).ok()?,
                    bytes: u64::from_le_bytes(*size),
                })
            }
            _ => None,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Stored::Inline(stream) => stream.len() as u64,
            Stored::File { bytes, .. } => *bytes,
        }
    }

    /// Finds the file, if there is one; its content is verified when it is read.
    pub(crate) fn open(&self, files: &Arc<FileSet>) -> Result<Payload> {
        Ok(match self {
            Stored::Inline(stream) => Payload::Inline((*stream).into()),
            Stored::File { name, bytes } => Payload::File(FilePayload {
                file: files.existing(name, *bytes)?,
                bytes: *bytes,
            }),
        })
    }
}

impl Payload {
    /// Writes the rows and syncs them if they went to a file, which is called by `name`.
    pub(crate) fn write(
        files: &Arc<FileSet>,
        schema: &SchemaRef,
        changes: &[ChangeBatch],
        name: impl FnOnce(FileNumber) -> String,
    ) -> Result<Self> {
        let mut out = SpillWriter {
            inline: Vec::new(),
            file: None,
            create: Some(|| files.create(name)),
            failed: None,
        };
        if let Err(error) = ipc::write(&mut out, schema, changes) {
            return Err(out.error(error));
        }
        out.finish(files)
    }

    pub(crate) fn encode(&self, record: &mut Vec<u8>) {
        match self {
            Payload::Inline(stream) => {
                record.push(0);
                record.extend_from_slice(stream);
            }
            Payload::File(FilePayload { file, bytes }) => {
                record.push(1);
                record.extend_from_slice(&bytes.to_le_bytes());
                record.extend_from_slice(file.name().as_bytes());
            }
        }
    }

    /// `place` names the record, for errors about an inline payload.
    pub(crate) fn read(
        &self,
        schema: Option<&SchemaRef>,
        place: impl FnOnce() -> String,
    ) -> Result<ChangeReader> {
        match self {
            Payload::Inline(stream) => {
                let source: Box<dyn Read + Send> = Box::new(io::Cursor::new(stream.clone()));
                ChangeReader::open(source, schema, place())
            }
            Payload::File(file) => file.read(schema),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Payload::Inline(stream) => stream.len() as u64,
            Payload::File(FilePayload { bytes, .. }) => *bytes,
        }
    }

    pub(crate) fn file(&self) -> Option<&FilePayload> {
        match self {
            Payload::Inline(_) => None,
            Payload::File(file) => Some(file),
        }
    }
}

impl FilePayload {
    pub(crate) fn read(&self, schema: Option<&SchemaRef>) -> Result<ChangeReader> {
        let source: Box<dyn Read + Send> = Box::new(FrameReader::new(self.file.open()?));
        ChangeReader::open(source, schema, format!("file {}", self.file.name()))
    }
}

/// A file that is being written.
type OpenFile = (Arc<StoredFile>, FrameWriter<Box<dyn NewFile>>);

/// Collects bytes in memory and moves on to a file when there are too many.
struct SpillWriter<C> {
    inline: Vec<u8>,
    file: Option<OpenFile>,
    create: Option<C>,
    /// Why the file could not be created.
    failed: Option<Error>,
}

impl<C: FnOnce() -> Result<(Arc<StoredFile>, Box<dyn NewFile>)>> SpillWriter<C> {
    fn error(self, error: arrow::error::ArrowError) -> Error {
        match (self.failed, error) {
            (Some(failed), _) => failed,
            (None, arrow::error::ArrowError::IoError(_, source)) => {
                let name = self
                    .file
                    .map(|(file, _)| file.name().to_string())
                    .unwrap_or_default();
                Error::io(name, "write", source)
            }
            (None, other) => Error::Invalid(format!("rows cannot be stored: {other}")),
        }
    }

    fn finish(self, files: &FileSet) -> Result<Payload> {
        let Some((file, writer)) = self.file else {
            return Ok(Payload::Inline(self.inline.into()));
        };
        let (mut writer, bytes) = writer
            .finish()
            .map_err(|error| Error::io(file.name(), "write", error))?;
        writer.sync().map_err(|error| Error::sync(file.name(), error))?;
        files.sync_folder(file.name())?;
        Ok(Payload::File(FilePayload { file, bytes }))
    }
}

impl<C: FnOnce() -> Result<(Arc<StoredFile>, Box<dyn NewFile>)>> Write for SpillWriter<C> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.is_none() && self.inline.len() + bytes.len() <= INLINE_BYTES {
            self.inline.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        if let Some(create) = self.create.take() {
            match create() {
                Ok((file, writer)) => {
                    let mut writer = FrameWriter::new(writer);
                    writer.write_all(&self.inline)?;
                    self.inline = Vec::new();
                    self.file = Some((file, writer));
                }
                Err(error) => self.failed = Some(error),
            }
        }
        match &mut self.file {
            Some((_, writer)) => writer.write(bytes),
            None => Err(io::Error::other("the file could not be created")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
