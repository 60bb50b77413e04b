//! The rows of an operator in order: by group, then by the order of its rows, then by the rows themselves.
//!
//! Rows are kept as Arrow's row format encodes them, keys first, so the groups are ranges of one ordered map and equal
//! rows are one entry with a weight. Rows are equal in the sense of GROUP BY, so the encoding has one form of each float;
//! where the row itself had another one, that is kept beside it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::row::{RowConverter, Rows, SortField};
use millpond_storage::ChangeBatch;

use crate::error::Result;
use crate::hash::{canonical, not_a_key};
use crate::operator::aggregate::timestamps;
use crate::operator::map::record_batch;
use crate::operator::recompute::spec::RecomputeSpec;

/// Bytes of an entry beside its rows, estimated.
const ENTRY_BYTES: usize = 64;

pub(super) struct KeyedRows {
    schema: SchemaRef,
    /// Input columns in the order in which they are encoded.
    layout: Vec<usize>,
    keys: usize,
    /// Keys and columns of the order.
    ordered: usize,
    converter: RowConverter,
    /// The first of the columns, to find the ends of groups in encoded rows; `None` without such columns.
    key_converter: Option<RowConverter>,
    order_converter: Option<RowConverter>,
    has_floats: bool,
    rows: BTreeMap<Box<[u8]>, Entry>,
    bytes: usize,
}

struct Entry {
    /// Not zero.
    weight: i64,
    /// How long the encoded keys are.
    key: u32,
    /// How long the encoded keys and columns of the order are.
    order: u32,
    /// The row as it came, if its floats had another form.
    exact: Option<Box<[u8]>>,
}

/// A row of a group.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    encoded: &'a [u8],
    entry: &'a Entry,
}

impl<'a> Row<'a> {
    pub fn weight(&self) -> i64 {
        self.entry.weight
    }

    /// What the order knows of the row.
    pub fn order(&self) -> &'a [u8] {
        &self.encoded[..self.entry.order as usize]
    }

    pub fn encoded(&self) -> &'a [u8] {
        self.encoded
    }

    fn exact(&self) -> &'a [u8] {
        self.entry.exact.as_deref().unwrap_or(self.encoded)
    }
}

/// The rows of a group that was closed.
pub(super) struct Closed(Vec<(Box<[u8]>, Entry)>);

impl Closed {
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.0.iter().map(|(encoded, entry)| Row { encoded, entry })
    }
}

impl KeyedRows {
    pub fn new(spec: &RecomputeSpec) -> Result<Self> {
        let mut layout = spec.keys.clone();
        let mut options = vec![Default::default(); layout.len()];
        for order in &spec.order {
            if !layout.contains(&order.column) {
                layout.push(order.column);
                options.push(order.options);
            }
        }
        let ordered = layout.len();
        for column in 0..spec.input.fields().len() {
            if !layout.contains(&column) {
                layout.push(column);
                options.push(Default::default());
            }
        }
        let fields: Vec<SortField> = layout
            .iter()
            .zip(options)
            .map(|(column, options)| {
                SortField::new_with_options(spec.input.field(*column).data_type().clone(), options)
            })
            .collect();
        let prefix = |columns: usize| match columns {
            0 => Ok(None),
            columns => RowConverter::new(fields[..columns].to_vec()).map(Some),
        };
        for field in &fields {
            if !RowConverter::supports_fields(std::slice::from_ref(field)) {
                let column = fields.iter().position(|other| other == field);
                let column = column.map_or(0, |position| layout[position]);
                return Err(not_a_key(spec.input.field(column).data_type()));
            }
        }
        let has_floats = spec
            .input
            .fields()
            .iter()
            .any(|field| matches!(field.data_type(), DataType::Float32 | DataType::Float64));
        Ok(Self {
            schema: Arc::clone(&spec.input),
            keys: spec.keys.len(),
            ordered,
            key_converter: prefix(spec.keys.len())?,
            order_converter: prefix(ordered)?,
            converter: RowConverter::new(fields)?,
            layout,
            has_floats,
            rows: BTreeMap::new(),
            bytes: 0,
        })
    }

    /// The columns of `rows` as they are encoded.
    fn columns(&self, rows: &RecordBatch) -> Vec<ArrayRef> {
        let columns = self.layout.iter();
        columns.map(|column| Arc::clone(rows.column(*column))).collect()
    }

    /// The groups of `rows`, each once and in order.
    pub fn groups(&self, rows: &RecordBatch) -> Result<Vec<Box<[u8]>>> {
        let Some(converter) = &self.key_converter else {
            return Ok(vec![Box::default()]);
        };
        let columns: Vec<ArrayRef> = self.columns(rows)[..self.keys].iter().map(canonical).collect();
        let encoded = converter.convert_columns(&columns)?;
        let mut groups: Vec<&[u8]> = (0..rows.num_rows()).map(|row| encoded.row(row).data()).collect();
        groups.sort_unstable();
        groups.dedup();
        Ok(groups.into_iter().map(Box::from).collect())
    }

    /// Adds changes; how many entries were touched and how many of them are gone.
    pub fn apply(&mut self, changes: &ChangeBatch) -> Result<(usize, usize)> {
        let plain = self.columns(changes.rows());
        let columns: Vec<ArrayRef> = plain.iter().map(canonical).collect();
        let encoded = self.converter.convert_columns(&columns)?;
        let exact = match self.has_floats {
            true => Some(self.converter.convert_columns(&plain)?),
            false => None,
        };
        let keys = prefixes(self.key_converter.as_ref(), &columns[..self.keys])?;
        let orders = prefixes(self.order_converter.as_ref(), &columns[..self.ordered])?;
        let length = |rows: &Option<Rows>, row: usize| {
            rows.as_ref().map_or(0, |rows| rows.row(row).data().len() as u32)
        };
        let mut removed = 0;
        for row in 0..changes.num_rows() {
            let (bytes, weight) = (encoded.row(row), changes.weight(row));
            if let Some(entry) = self.rows.get_mut(bytes.data()) {
                entry.weight += weight;
                if entry.weight == 0 {
                    removed += 1;
                    self.remove(bytes.data());
                }
                continue;
            }
            let exact = exact.as_ref().map(|rows| rows.row(row));
            let entry = Entry {
                weight,
                key: length(&keys, row),
                order: length(&orders, row),
                exact: exact
                    .filter(|exact| exact.data() != bytes.data())
                    .map(|exact| exact.data().into()),
            };
            self.bytes += bytes_of(bytes.data(), &entry);
            self.rows.insert(bytes.data().into(), entry);
        }
        Ok((changes.num_rows(), removed))
    }

    pub fn remove(&mut self, encoded: &[u8]) {
        if let Some(entry) = self.rows.remove(encoded) {
            self.bytes -= bytes_of(encoded, &entry);
        }
    }

    /// The rows of a group, in order.
    pub fn group<'a>(&'a self, key: &[u8]) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let end = match successor(key) {
            Some(end) => Bound::Excluded(end),
            None => Bound::Unbounded,
        };
        let end = end.as_ref().map(|end| end.as_slice());
        self.rows
            .range::<[u8], _>((Bound::Included(key), end))
            .map(|(encoded, entry)| Row { encoded, entry })
    }

    /// Takes out the groups whose first key, a time, is below `bound`; in order.
    pub fn take_below(&mut self, bound: i64) -> Result<Vec<Closed>> {
        let Some(first) = self.layout.first() else {
            return Ok(Vec::new());
        };
        let data_type = self.schema.field(*first).data_type();
        let bound = RowConverter::new(vec![SortField::new(data_type.clone())])?
            .convert_columns(&[timestamps(vec![bound], data_type)])?;
        let bound = bound.row(0);
        let mut groups: Vec<Closed> = Vec::new();
        while let Some(first) = self.rows.first_entry() {
            if first.key().as_ref() >= bound.data() {
                break;
            }
            let (encoded, entry) = first.remove_entry();
            self.bytes -= bytes_of(&encoded, &entry);
            match groups.last_mut() {
                Some(Closed(rows))
                    if rows[0].0[..rows[0].1.key as usize] == encoded[..entry.key as usize] =>
                {
                    rows.push((encoded, entry));
                }
                _ => groups.push(Closed(vec![(encoded, entry)])),
            }
        }
        Ok(groups)
    }

    /// Rows as they came, in the input's schema. The length must be that of the iterator.
    pub fn decode<'a>(&self, rows: impl Iterator<Item = Row<'a>>) -> Result<RecordBatch> {
        let parser = self.converter.parser();
        let mut count = 0;
        let rows = rows.inspect(|_| count += 1);
        let decoded = self
            .converter
            .convert_rows(rows.map(|row| parser.parse(row.exact())))?;
        let mut columns: Vec<Option<ArrayRef>> = vec![None; self.layout.len()];
        for (column, array) in self.layout.iter().zip(decoded) {
            columns[*column] = Some(array);
        }
        Ok(record_batch(
            &self.schema,
            columns.into_iter().flatten().collect(),
            count,
        )?)
    }

    /// Everything, as changes to nothing.
    pub fn all(&self) -> Result<ChangeBatch> {
        let rows = || self.rows.iter().map(|(encoded, entry)| Row { encoded, entry });
        let weights = Int64Array::from_iter_values(rows().map(|row| row.weight()));
        Ok(ChangeBatch::new(self.decode(rows())?, weights))
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn memory(&self) -> usize {
        self.bytes
    }

    /// All groups, each once and in order.
    pub fn all_groups(&self) -> Vec<Box<[u8]>> {
        let mut groups: Vec<Box<[u8]>> = Vec::new();
        for (encoded, entry) in &self.rows {
            let key = &encoded[..entry.key as usize];
            if groups.last().is_none_or(|last| last.as_ref() != key) {
                groups.push(key.into());
            }
        }
        groups
    }
}

fn bytes_of(encoded: &[u8], entry: &Entry) -> usize {
    ENTRY_BYTES + encoded.len() + entry.exact.as_ref().map_or(0, |exact| exact.len())
}

fn prefixes(converter: Option<&RowConverter>, columns: &[ArrayRef]) -> Result<Option<Rows>> {
    Ok(converter
        .map(|converter| converter.convert_columns(columns))
        .transpose()?)
}

/// The least byte string above all that begin with `prefix`.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}
