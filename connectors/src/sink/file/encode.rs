//! Rows as the bytes of a file.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::file::properties::WriterProperties;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use flate2::write::GzEncoder;
use millpond_catalog::{Column, SqlType, arrow_schema};

use super::options::{FileSinkFormat, FileSinkOptions};
use crate::error::{Error, Result};
use crate::sink::value::{Writer, quoted};

/// Text is collected to so many bytes before it is written.
const BUFFER_BYTES: usize = 1 << 18;

pub struct Encoding {
    format: FileSinkFormat,
    packing: Packing,
    parquet: Compression,
    header: bool,
    columns: Vec<Column>,
    schema: SchemaRef,
}

/// How text is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Encoding {
    pub fn new(options: &FileSinkOptions, columns: &[Column], written: &[usize]) -> Result<Encoding> {
        let columns: Vec<Column> = written.iter().map(|column| columns[*column].clone()).collect();
        let name = options.compression.as_deref().map(str::to_ascii_lowercase);
        let unknown = || Error::InvalidOption {
            key: "compression".to_owned(),
            message: format!(
                "\"{}\" is not a compression of {} files",
                name.as_deref().unwrap_or_default(),
                options.format
            ),
            position: None,
        };
        let is_parquet = options.format == FileSinkFormat::Parquet;
        let parquet = match name.as_deref() {
            None | Some("snappy") => Compression::SNAPPY,
            Some("zstd") => Compression::ZSTD(ZstdLevel::default()),
            Some("lz4") => Compression::LZ4_RAW,
            Some("gzip") => Compression::GZIP(Default::default()),
            Some("none" | "uncompressed") => Compression::UNCOMPRESSED,
            Some(_) => return Err(unknown()),
        };
        let packing = match name.as_deref() {
            _ if is_parquet => Packing::None,
            None | Some("none" | "uncompressed") => Packing::None,
            Some("gzip") => Packing::Gzip,
            Some("zstd") => Packing::Zstd,
            Some(_) => return Err(unknown()),
        };
        let is_text = |column: &Column| matches!(column.sql_type, SqlType::Text | SqlType::Varchar(_));
        if options.format == FileSinkFormat::Text && !(columns.len() == 1 && is_text(&columns[0])) {
            return Err(Error::Columns {
                message: "format \"text\" writes one column of type text".to_owned(),
                hint: Some("Make it in the query: SELECT a || ' ' || b AS value FROM ..".to_owned()),
            });
        }
        Ok(Encoding {
            format: options.format,
            packing,
            parquet,
            header: options.header,
            schema: arrow_schema(&columns),
            columns,
        })
    }

    /// The last part of the names of files.
    pub fn ending(&self) -> String {
        let format = match self.format {
            FileSinkFormat::Text => "txt".to_owned(),
            format => format.to_string(),
        };
        match self.packing {
            Packing::None => format,
            Packing::Gzip => format + ".gz",
            Packing::Zstd => format + ".zst",
        }
    }

    pub fn write(&self, batches: &[RecordBatch], file: &mut (impl Write + Send)) -> io::Result<()> {
        match (self.format, self.packing) {
            (FileSinkFormat::Parquet, _) => self.write_parquet(batches, file),
            (_, Packing::None) => self.write_text(batches, file),
            (_, Packing::Gzip) => {
                let mut packed = GzEncoder::new(file, flate2::Compression::default());
                self.write_text(batches, &mut packed)?;
                packed.finish().map(|_| ())
            }
            (_, Packing::Zstd) => {
                let mut packed = zstd::Encoder::new(file, 0)?;
                self.write_text(batches, &mut packed)?;
                packed.finish().map(|_| ())
            }
        }
    }

    fn write_parquet(&self, batches: &[RecordBatch], file: &mut (impl Write + Send)) -> io::Result<()> {
        let properties = WriterProperties::builder().set_compression(self.parquet).build();
        let mut writer = ArrowWriter::try_new(file, self.schema.clone(), Some(properties))?;
        for batch in batches {
            let rows = RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec())
                .map_err(io::Error::other)?;
            writer.write(&rows)?;
        }
        writer.close()?;
        Ok(())
    }

    fn write_text(&self, batches: &[RecordBatch], file: &mut impl Write) -> io::Result<()> {
        let mut text = String::new();
        if self.header && self.format == FileSinkFormat::Csv {
            let names: Vec<String> = self.columns.iter().map(|column| csv(&column.name)).collect();
            text += &names.join(",");
            text.push('\n');
        }
        for batch in batches {
            let writers: Vec<Writer<'_>> = self
                .columns
                .iter()
                .zip(batch.columns())
                .map(|(column, array)| Writer::new(array, &column.sql_type))
                .collect();
            for row in 0..batch.num_rows() {
                match self.format {
                    FileSinkFormat::Json | FileSinkFormat::Parquet => self.json_row(&writers, row, &mut text),
                    FileSinkFormat::Csv => {
                        let values: Vec<String> = writers
                            .iter()
                            .map(|writer| writer.text(row).map(|text| csv(&text)).unwrap_or_default())
                            .collect();
                        text += &values.join(",");
                    }
                    FileSinkFormat::Text => {
                        text.extend(writers.iter().filter_map(|writer| writer.text(row)));
                    }
                }
                text.push('\n');
                if text.len() >= BUFFER_BYTES {
                    file.write_all(text.as_bytes())?;
                    text.clear();
                }
            }
        }
        file.write_all(text.as_bytes())
    }

    fn json_row(&self, writers: &[Writer<'_>], row: usize, text: &mut String) {
        text.push('{');
        for (index, (column, writer)) in self.columns.iter().zip(writers).enumerate() {
            if index > 0 {
                text.push(',');
            }
            quoted(&column.name, text);
            text.push(':');
            writer.json(row, text);
        }
        text.push('}');
    }
}

/// Quoted where COPY would read something else: the empty text is not NULL.
fn csv(text: &str) -> String {
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
