//! What a one-off query reads: snapshots and ranges of sources, fixed when the statement began.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use millpond_catalog::{Catalog, ObjectId, ObjectKind};
use millpond_engine::error::{Error, Result};
use millpond_engine::oneoff::Readable;
use millpond_engine::read::{ReadView, SourceRead};
use millpond_engine::source::{Slice, SliceReader};
use millpond_storage::{KeyRange, Overlay};

/// All relations of one statement at their common cut.
pub(super) struct Reading {
    view: ReadView,
    /// What the transaction has changed, by table.
    overlays: HashMap<ObjectId, Arc<Overlay>>,
    /// Tells the indexes.
    catalog: Arc<Catalog>,
    /// The rows that the statement has written or taken away, for its RETURNING.
    written: Vec<RecordBatch>,
}

impl Reading {
    pub fn new(view: ReadView, overlays: HashMap<ObjectId, Arc<Overlay>>, catalog: Arc<Catalog>) -> Self {
        Self {
            view,
            overlays,
            catalog,
            written: Vec::new(),
        }
    }

    /// Adds the rows that RETURNING reads.
    pub fn with_written(self, written: Vec<RecordBatch>) -> Self {
        Self { written, ..self }
    }
}

impl Reading {
    /// The rows of `object` that are in the range, if there is one, and perhaps others.
    fn rows(
        &self,
        object: ObjectId,
        projection: Option<&[usize]>,
        range: Option<&KeyRange>,
    ) -> Result<SendableRecordBatchStream> {
        if let Some(snapshot) = self.view.relations.get(&object) {
            let projection = projection.map(<[usize]>::to_vec);
            let schema = projected(&snapshot.schema(), projection.as_deref())?;
            let rows: Box<dyn Iterator<Item = _> + Send> = match (self.overlays.get(&object), range) {
                (Some(overlay), _) => Box::new(overlay.scan(snapshot)),
                (None, Some(range)) => Box::new(snapshot.scan_range(range.clone())),
                (None, None) => Box::new(snapshot.scan()),
            };
            let batches = rows.map(move |batch: millpond_storage::Result<RecordBatch>| {
                let batch = batch.map_err(|error| DataFusionError::from(Error::from(error)))?;
                match &projection {
                    Some(columns) => Ok(batch.project(columns)?),
                    None => Ok(batch),
                }
            });
            return Ok(Box::pin(RecordBatchStreamAdapter::new(
                schema,
                stream::iter(batches),
            )));
        }
        match self.view.sources.get(&object) {
            Some(source) => scan_source(source, projection),
            None => Err(Error::Bug(format!(
                "object {object} is read without having been planned for"
            ))),
        }
    }
}

impl Readable for Reading {
    fn scan(&self, object: ObjectId, projection: Option<&[usize]>) -> Result<SendableRecordBatchStream> {
        self.rows(object, projection, None)
    }

    fn orders(&self, object: ObjectId) -> Vec<Vec<usize>> {
        if !self.view.relations.contains_key(&object) {
            return Vec::new();
        }
        let keys = match self.catalog.get(object).map(|object| &object.kind) {
            Some(ObjectKind::Table(table)) => table.keys.as_slice(),
            _ => &[],
        };
        let keys = keys.iter().map(|key| key.columns.clone());
        let declared = self
            .catalog
            .indexes_of(object)
            .filter_map(|index| index.positions());
        keys.chain(declared).collect()
    }

    fn scan_range(
        &self,
        object: ObjectId,
        projection: Option<&[usize]>,
        range: &KeyRange,
    ) -> Result<SendableRecordBatchStream> {
        self.rows(object, projection, Some(range))
    }

    fn written(&self, projection: Option<&[usize]>) -> Result<SendableRecordBatchStream> {
        let Some(first) = self.written.first() else {
            return Err(Error::Bug("RETURNING is read without rows".to_owned()));
        };
        let schema = projected(&first.schema(), projection)?;
        let batches = self.written.iter().map(|batch| match projection {
            Some(columns) => batch.project(columns).map_err(DataFusionError::from),
            None => Ok(batch.clone()),
        });
        let batches: Vec<_> = batches.collect();
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            schema,
            stream::iter(batches),
        )))
    }
}

fn projected(schema: &SchemaRef, projection: Option<&[usize]>) -> Result<SchemaRef> {
    Ok(match projection {
        Some(columns) => Arc::new(schema.project(columns)?),
        None => schema.clone(),
    })
}

fn scan_source(read: &SourceRead, projection: Option<&[usize]>) -> Result<SendableRecordBatchStream> {
    let schema = read.source.schema();
    let wanted: Vec<usize> =
        projection.map_or_else(|| (0..schema.fields().len()).collect(), <[usize]>::to_vec);
    // A source decodes columns in the order of its schema.
    let mut decoded = wanted.clone();
    decoded.sort_unstable();
    decoded.dedup();
    let order: Vec<usize> = wanted
        .iter()
        .map(|column| decoded.partition_point(|d| d < column))
        .collect();
    let out = Arc::new(schema.project(&wanted)?);
    let slices = read.source.slices(&read.from, &read.to, 1)?;
    let rows = SourceRows {
        read: read.clone(),
        decoded,
        order,
        slices: slices.into_iter(),
        reader: None,
    };
    Ok(Box::pin(RecordBatchStreamAdapter::new(out, stream::iter(rows))))
}

/// The rows of a source's range, slice after slice. Rows that cannot be decoded are left out; views set them aside.
struct SourceRows {
    read: SourceRead,
    decoded: Vec<usize>,
    order: Vec<usize>,
    slices: std::vec::IntoIter<Slice>,
    reader: Option<Box<dyn SliceReader>>,
}

impl SourceRows {
    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(reader) = &mut self.reader {
                if let Some(batch) = reader.next()? {
                    return Ok(Some(batch.rows.project(&self.order)?));
                }
                self.reader = None;
            }
            match self.slices.next() {
                Some(slice) => self.reader = Some(self.read.source.open(&slice, &self.decoded)?),
                None => return Ok(None),
            }
        }
    }
}

impl Iterator for SourceRows {
    type Item = datafusion::error::Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().map_err(DataFusionError::from).transpose()
    }
}
