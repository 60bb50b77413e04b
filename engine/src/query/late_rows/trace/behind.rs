//! Late rows behind a join or another operator with a state.
//!
//! Of the columns that the operator saw, some come from the source as they are. Old rows of the epoch that agree in them
//! may be the ones: one that does is, and so are several of which all came through. Else only these columns are told.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array, new_null_array};
use arrow::compute::take;
use arrow::datatypes::{Schema, UInt32Type};
use hashbrown::HashMap;

use super::looks::Looks;
use super::path::{Behind, Path};
use super::{Alike, Dropped, Search, Told, Traced};
use crate::error::Result;
use crate::runtime::{OldBatch, nullable};

/// An old row: its batch, and its position there.
type At = (usize, u32);

impl<'a> Dropped<'a> {
    pub(super) fn find_behind(
        &mut self,
        search: &Search<'a>,
        index: usize,
        old: &[OldBatch],
        traced: &mut Traced,
    ) -> Result<()> {
        let behind = self.paths.iter().filter(|path| path.behind.is_some());
        let alone = behind.count() == 1;
        for path in self.paths.iter().filter(|path| path.input == index) {
            let Some(behind) = &path.behind else { continue };
            let mut missing: Vec<&mut Alike> = { self.alike.values_mut().flatten() }
                .filter(|alike| alike.missing > 0)
                .collect();
            if missing.is_empty() {
                return Ok(());
            }
            if behind.passes && !behind.columns.is_empty() {
                let old_rows = Candidates::among(search, path, behind, old)?;
                old_rows.match_with(search, index, behind, &mut missing, traced)?;
            }
            if alone {
                tell_columns(search, path, behind, &mut missing, traced)?;
            }
        }
        Ok(())
    }
}

/// Old rows by what the operator sees of them.
struct Candidates<'o> {
    old: &'o [OldBatch],
    looks: Looks,
    by_look: HashMap<Vec<u8>, Vec<At>>,
}

impl<'o> Candidates<'o> {
    fn among(search: &Search<'_>, path: &Path<'_>, behind: &Behind, old: &'o [OldBatch]) -> Result<Self> {
        let columns: Vec<usize> = behind.columns.iter().map(|(_, column)| *column).collect();
        let (mut looks, mut by_look) = (None, HashMap::<Vec<u8>, Vec<At>>::new());
        for (number, batch) in old.iter().enumerate() {
            let Some(seen) = path.follow(search, batch.changes.rows())? else {
                continue;
            };
            let told = seen.project(&columns)?;
            let looks = match &mut looks {
                Some(looks) => looks,
                None => looks.insert(Looks::new(&told.schema())?),
            };
            let positions = seen
                .column(seen.num_columns() - 1)
                .as_primitive::<UInt32Type>()
                .values();
            for (position, look) in positions.iter().zip(looks.of_all(&told)?) {
                by_look.entry(look).or_default().push((number, *position));
            }
        }
        let looks = match looks {
            Some(looks) => looks,
            None => Looks::new(&Schema::empty())?,
        };
        Ok(Self { old, looks, by_look })
    }

    fn match_with(
        &self,
        search: &Search<'_>,
        index: usize,
        behind: &Behind,
        missing: &mut [&mut Alike],
        traced: &mut Traced,
    ) -> Result<()> {
        if self.by_look.is_empty() {
            return Ok(());
        }
        let columns: Vec<usize> = behind.columns.iter().map(|(seen, _)| *seen).collect();
        let mut dropped: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (number, alike) in missing.iter().enumerate() {
            let row = alike.sample.rows.slice(alike.sample.row, 1).project(&columns)?;
            let look = self.looks.of_all(&row)?.swap_remove(0);
            dropped.entry(look).or_default().push(number);
        }
        for (look, numbers) in dropped {
            let Some(rows) = self.by_look.get(&look) else {
                continue;
            };
            let wanted: i64 = numbers.iter().map(|number| missing[*number].missing).sum();
            let weight = |(batch, row): &At| self.old[*batch].changes.weight(*row as usize).saturating_abs();
            let all: i64 = rows.iter().map(weight).sum();
            if self.are_equal(rows) {
                for number in numbers {
                    let alike = &mut missing[number];
                    let told = alike.take(alike.missing);
                    let (batch, row) = rows[0];
                    search.tell(
                        index,
                        &self.old[batch],
                        &[row],
                        told.into_iter().collect(),
                        traced,
                    )?;
                }
            } else if behind.once && all == wanted {
                let mut rows = rows.iter().map(|at| (*at, weight(at))).collect::<Vec<_>>();
                for number in numbers {
                    let alike = &mut missing[number];
                    while let Some((_, left)) = rows.last_mut()
                        && let Some((operator, told)) = alike.take(*left)
                    {
                        *left -= told.count;
                        let ((batch, row), left) = (rows[rows.len() - 1].0, rows[rows.len() - 1].1);
                        search.tell(index, &self.old[batch], &[row], vec![(operator, told)], traced)?;
                        if left == 0 {
                            rows.pop();
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// One row, or several with the same in all columns.
    fn are_equal(&self, rows: &[At]) -> bool {
        let row = |(batch, row): &At| self.old[*batch].changes.rows().slice(*row as usize, 1);
        match rows {
            [] => false,
            [first, others @ ..] => others.iter().all(|other| row(other) == row(first)),
        }
    }
}

/// What is left is told with the columns that come from the source.
fn tell_columns(
    search: &Search<'_>,
    path: &Path<'_>,
    behind: &Behind,
    missing: &mut [&mut Alike],
    traced: &mut Traced,
) -> Result<()> {
    let schema = nullable(&search.inputs[path.input].schema());
    let origins: Vec<(usize, usize)> = { behind.columns.iter() }
        .filter_map(|(seen, column)| Some((path.origin(search, *column)?, *seen)))
        .collect();
    for alike in missing.iter_mut() {
        let Some(told) = alike.take(alike.missing) else {
            continue;
        };
        let sample = &alike.sample;
        let row = UInt32Array::from(vec![sample.row as u32]);
        let columns = schema.fields().iter().enumerate().map(|(column, field)| {
            let seen = origins.iter().find(|(origin, _)| *origin == column);
            let seen = seen.map(|(_, seen)| sample.rows.column(*seen));
            Ok(match seen.filter(|seen| seen.data_type() == field.data_type()) {
                Some(seen) => take(seen, &row, None)?,
                None => new_null_array(field.data_type(), 1),
            })
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        traced.by_input[path.input] += told.1.count.unsigned_abs();
        traced.told.push(Told {
            source: search.source_of(path.input),
            rows: Some(RecordBatch::try_new(schema.clone(), columns)?),
            places: None,
            late: vec![told],
        });
    }
    Ok(())
}
