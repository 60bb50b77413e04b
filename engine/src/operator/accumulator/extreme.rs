//! Least and greatest values.
//!
//! Where rows are only ever added one value per group is enough. Where they can be taken away, all values are kept in
//! order, each with how often it stands there.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, downcast_primitive, new_null_array,
};
use arrow::datatypes::{ArrowNativeTypeOp, DataType};

use arrow::row::{RowConverter, SortField};

use crate::error::{Error, Result};
use crate::hash::canonical;
use crate::operator::accumulator::distinct::{state_column, state_entries};
use crate::operator::accumulator::{Accumulator, Failure, for_each_valid, no_reading};
use crate::operator::spec::Reading;

pub(crate) fn build(data_type: &DataType, greatest: bool, append_only: bool) -> Result<Box<dyn Accumulator>> {
    let wanted = if greatest {
        Ordering::Greater
    } else {
        Ordering::Less
    };
    if !append_only {
        return Ok(Box::new(OrderedValues {
            encoding: Encoding::new(data_type)?,
            wanted,
            groups: Vec::new(),
        }));
    }
    macro_rules! primitive {
        ($t:ty, $data_type:expr) => {
            Box::new(PrimitiveExtreme::<$t> {
                data_type: $data_type.clone(),
                wanted,
                values: Vec::new(),
                filled: Vec::new(),
            })
        };
    }
    Ok(downcast_primitive! {
        data_type => (primitive, data_type),
        _ => Box::new(EncodedExtreme { encoding: Encoding::new(data_type)?, wanted, values: Vec::new() })
    })
}

/// One value per group, compared natively. NaN is greater than any other number.
struct PrimitiveExtreme<T: ArrowPrimitiveType> {
    data_type: DataType,
    wanted: Ordering,
    values: Vec<T::Native>,
    filled: Vec<bool>,
}

impl<T: ArrowPrimitiveType> PrimitiveExtreme<T> {
    fn offer(&mut self, groups: &[usize], values: &ArrayRef, weights: Option<&[i64]>) {
        let array = canonical(values);
        let array = array.as_primitive::<T>();
        let values = array.values();
        for_each_valid(groups, array.nulls(), weights, |row, group, _| {
            let value = values[row];
            if !self.filled[group] || value.compare(self.values[group]) == self.wanted {
                self.values[group] = value;
                self.filled[group] = true;
            }
        });
    }
}

impl<T: ArrowPrimitiveType> Accumulator for PrimitiveExtreme<T> {
    fn reserve(&mut self, groups: usize) {
        self.values.resize(groups, T::default_value());
        self.filled.resize(groups, false);
    }

    fn update(&mut self, groups: &[usize], values: Option<&ArrayRef>, weights: Option<&[i64]>) -> Result<()> {
        self.offer(groups, values.expect("min and max have an argument"), weights);
        Ok(())
    }

    fn merge(&mut self, groups: &[usize], state: &[ArrayRef]) -> Result<()> {
        self.offer(groups, &state[0], None);
        Ok(())
    }

    fn state(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        let values = groups
            .iter()
            .map(|group| self.filled[*group].then(|| self.values[*group]));
        let array = values.collect::<PrimitiveArray<T>>();
        Ok(vec![Arc::new(array.with_data_type(self.data_type.clone()))])
    }

    fn evaluate(&self, reading: Reading, groups: &[usize], _failures: &mut Vec<Failure>) -> Result<ArrayRef> {
        match reading {
            Reading::Extreme => Ok(self.state(groups)?.remove(0)),
            other => Err(no_reading(other)),
        }
    }

    fn retain(&mut self, keep: &[usize]) -> Result<()> {
        self.values = keep.iter().map(|group| self.values[*group]).collect();
        self.filled = keep.iter().map(|group| self.filled[*group]).collect();
        Ok(())
    }

    fn memory(&self) -> usize {
        self.values.capacity() * size_of::<T::Native>() + self.filled.capacity()
    }
}

/// Values as byte strings that compare like them.
struct Encoding {
    data_type: DataType,
    converter: RowConverter,
}

impl Encoding {
    fn new(data_type: &DataType) -> Result<Self> {
        let converter =
            RowConverter::new(vec![SortField::new(data_type.clone())]).map_err(|_| Error::Unsupported {
                message: format!(
                    "values of type {data_type} have no order, so they have no least or greatest"
                ),
                hint: Some("Cast the argument to a type with an order.".to_owned()),
            })?;
        Ok(Self {
            data_type: data_type.clone(),
            converter,
        })
    }

    /// Calls `f` with group, encoded value and weight of every value that is not NULL.
    fn encode(
        &self,
        groups: &[usize],
        values: &ArrayRef,
        weights: Option<&[i64]>,
        mut f: impl FnMut(usize, &[u8], i64),
    ) -> Result<()> {
        let rows = self.converter.convert_columns(&[canonical(values)])?;
        let nulls = values.logical_nulls();
        for_each_valid(groups, nulls.as_ref(), weights, |row, group, weight| {
            f(group, rows.row(row).as_ref(), weight)
        });
        Ok(())
    }

    fn decode<'a>(&self, values: impl Iterator<Item = &'a [u8]>) -> Result<ArrayRef> {
        let parser = self.converter.parser();
        Ok(self
            .converter
            .convert_rows(values.map(|value| parser.parse(value)))?
            .remove(0))
    }

    /// One value per row, NULL where there is none.
    fn decode_options<'a>(&self, values: impl Iterator<Item = Option<&'a [u8]>>) -> Result<ArrayRef> {
        let null = self
            .converter
            .convert_columns(&[new_null_array(&self.data_type, 1)])?;
        let null = null.row(0);
        self.decode(values.map(|value| value.unwrap_or(null.data())))
    }
}

/// One value per group, of a type without a native order.
struct EncodedExtreme {
    encoding: Encoding,
    wanted: Ordering,
    values: Vec<Option<Box<[u8]>>>,
}

impl EncodedExtreme {
    fn offer(&mut self, groups: &[usize], values: &ArrayRef, weights: Option<&[i64]>) -> Result<()> {
        let (kept, wanted) = (&mut self.values, self.wanted);
        self.encoding.encode(groups, values, weights, |group, value, _| {
            if kept[group]
                .as_deref()
                .is_none_or(|kept| value.cmp(kept) == wanted)
            {
                kept[group] = Some(value.into());
            }
        })
    }
}

impl Accumulator for EncodedExtreme {
    fn reserve(&mut self, groups: usize) {
        self.values.resize(groups, None);
    }

    fn update(&mut self, groups: &[usize], values: Option<&ArrayRef>, weights: Option<&[i64]>) -> Result<()> {
        self.offer(groups, values.expect("min and max have an argument"), weights)
    }

    fn merge(&mut self, groups: &[usize], state: &[ArrayRef]) -> Result<()> {
        self.offer(groups, &state[0], None)
    }

    fn state(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.encoding.decode_options(
            groups.iter().map(|group| self.values[*group].as_deref()),
        )?])
    }

    fn evaluate(&self, reading: Reading, groups: &[usize], _failures: &mut Vec<Failure>) -> Result<ArrayRef> {
        match reading {
            Reading::Extreme => Ok(self.state(groups)?.remove(0)),
            other => Err(no_reading(other)),
        }
    }

    fn retain(&mut self, keep: &[usize]) -> Result<()> {
        self.values = keep.iter().map(|group| self.values[*group].take()).collect();
        Ok(())
    }

    fn memory(&self) -> usize {
        let values: usize = self.values.iter().flatten().map(|value| value.len()).sum();
        self.values.capacity() * size_of::<Option<Box<[u8]>>>() + values
    }
}

/// All values of each group in order, with their weights.
struct OrderedValues {
    encoding: Encoding,
    wanted: Ordering,
    groups: Vec<BTreeMap<Box<[u8]>, i64>>,
}

impl OrderedValues {
    fn apply(&mut self, groups: &[usize], values: &ArrayRef, weights: Option<&[i64]>) -> Result<()> {
        let kept = &mut self.groups;
        self.encoding
            .encode(groups, values, weights, |group, value, weight| {
                let values = &mut kept[group];
                match values.get_mut(value) {
                    Some(sum) if *sum + weight == 0 => {
                        values.remove(value);
                    }
                    Some(sum) => *sum += weight,
                    None => {
                        values.insert(value.into(), weight);
                    }
                }
            })
    }

    fn extreme(&self, group: usize) -> Option<&[u8]> {
        let mut present = self.groups[group]
            .iter()
            .filter(|(_, weight)| **weight > 0)
            .map(|(value, _)| value.as_ref());
        if self.wanted == Ordering::Less {
            present.next()
        } else {
            present.next_back()
        }
    }
}

impl Accumulator for OrderedValues {
    fn reserve(&mut self, groups: usize) {
        self.groups.resize_with(groups, BTreeMap::new);
    }

    fn update(&mut self, groups: &[usize], values: Option<&ArrayRef>, weights: Option<&[i64]>) -> Result<()> {
        self.apply(groups, values.expect("min and max have an argument"), weights)
    }

    fn merge(&mut self, groups: &[usize], state: &[ArrayRef]) -> Result<()> {
        let (groups, values, weights) = state_entries(groups, &state[0]);
        self.apply(&groups, &values, Some(&weights))
    }

    fn state(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        let entries = || groups.iter().flat_map(|group| &self.groups[*group]);
        let values = self.encoding.decode(entries().map(|(value, _)| value.as_ref()))?;
        let weights = entries().map(|(_, weight)| *weight).collect();
        let lengths: Vec<usize> = groups.iter().map(|group| self.groups[*group].len()).collect();
        Ok(vec![state_column(values, weights, &lengths)?])
    }

    fn evaluate(&self, reading: Reading, groups: &[usize], _failures: &mut Vec<Failure>) -> Result<ArrayRef> {
        match reading {
            Reading::Extreme => self
                .encoding
                .decode_options(groups.iter().map(|group| self.extreme(*group))),
            other => Err(no_reading(other)),
        }
    }

    fn retain(&mut self, keep: &[usize]) -> Result<()> {
        self.groups = keep
            .iter()
            .map(|group| std::mem::take(&mut self.groups[*group]))
            .collect();
        Ok(())
    }

    fn memory(&self) -> usize {
        let values: usize = self.groups.iter().map(|values| values.len() * 48).sum();
        self.groups.capacity() * size_of::<BTreeMap<Box<[u8]>, i64>>() + values
    }
}
