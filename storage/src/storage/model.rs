//! Random transactions, crashes and compactions against a model that is a list of changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema, SchemaRef};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::change::ChangeBatch;
use crate::cut::Cut;
use crate::faulty::FaultyDisk;
use crate::layout::Part;
use crate::transaction::Transaction;

/// Integer, text, and bits of a canonical float.
type Row = (i64, Option<Arc<str>>, u64);
type Sum = BTreeMap<Row, i64>;

const RELATIONS: usize = 3;
const QUERY: u64 = 9;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("s", DataType::Utf8, true),
        Field::new("f", DataType::Float64, true),
    ]))
}

fn append_only(relation: usize) -> bool {
    relation == 1
}

fn encode(changes: &[(Row, i64)]) -> ChangeBatch {
    let rows = changes.iter().map(|(row, _)| row);
    let numbers = Int64Array::from_iter_values(rows.clone().map(|row| row.0));
    let texts = StringArray::from_iter(rows.clone().map(|row| row.1.as_deref()));
    let floats = Float64Array::from_iter_values(rows.map(|row| f64::from_bits(row.2)));
    let rows = RecordBatch::try_new(
        schema(),
        vec![Arc::new(numbers), Arc::new(texts), Arc::new(floats)],
    )
    .unwrap();
    match changes.iter().all(|(_, weight)| *weight == 1) {
        true => ChangeBatch::insertions(rows),
        false => ChangeBatch::new(
            rows,
            changes
                .iter()
                .map(|(_, weight)| *weight)
                .collect::<Vec<_>>()
                .into(),
        ),
    }
}

fn add(sum: &mut Sum, row: Row, weight: i64) {
    let total = sum.entry(row.clone()).or_default();
    *total += weight;
    if *total == 0 {
        sum.remove(&row);
    }
}

fn decode(rows: &RecordBatch, mut each: impl FnMut(usize, Row)) {
    let (numbers, texts) = (
        rows.column(0).as_primitive::<Int64Type>(),
        rows.column(1).as_string::<i32>(),
    );
    let floats = rows.column(2).as_primitive::<Float64Type>();
    for row in 0..rows.num_rows() {
        let text = texts.is_valid(row).then(|| texts.value(row).into());
        // -0.0 and 0.0 are one value; which of the two is kept is not said.
        each(
            row,
            (numbers.value(row), text, (floats.value(row) + 0.0).to_bits()),
        );
    }
}

fn sum_of(changes: impl IntoIterator<Item = Result<ChangeBatch>>) -> Sum {
    let mut sum = Sum::new();
    for changes in changes {
        let changes = changes.unwrap();
        decode(changes.rows(), |i, row| add(&mut sum, row, changes.weight(i)));
    }
    sum
}

/// What must be found after everything up to some transaction was committed.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    /// Per relation, in order.
    logs: [Vec<(Cut, Row, i64)>; RELATIONS],
    objects: BTreeMap<u64, String>,
    state: BTreeMap<String, Sum>,
    commits: Vec<u64>,
    notes: BTreeMap<String, Vec<u8>>,
}

impl Model {
    fn expected(&self) -> Expected {
        let sum = |relation| self.sum(relation, Cut::ZERO, Cut(u64::MAX));
        let mut state = self.state.clone();
        state.retain(|_, sum| !sum.is_empty());
        Expected {
            sums: [sum(0), sum(1), sum(2)],
            objects: self.objects.clone(),
            state,
            commits: self.commits.clone(),
            notes: self.notes.clone(),
        }
    }

    fn sum(&self, relation: usize, after: Cut, to: Cut) -> Sum {
        let mut sum = Sum::new();
        let changes = self.logs[relation]
            .iter()
            .filter(|(cut, ..)| after < *cut && *cut <= to);
        changes.for_each(|(_, row, weight)| add(&mut sum, row.clone(), *weight));
        sum
    }
}

struct Run {
    random: ChaCha8Rng,
    disk: FaultyDisk,
    storage: Storage,
    relations: Vec<Arc<Relation>>,
    model: Model,
    cut: Cut,
    /// Per relation: no reader before it.
    past: [Cut; RELATIONS],
    /// Per relation: versions from here on are kept until the next restart.
    retained: [Cut; RELATIONS],
}

impl Run {
    fn new(seed: u64) -> Self {
        let disk = FaultyDisk::default();
        let storage = disk.open().unwrap();
        let mut run = Self {
            random: ChaCha8Rng::seed_from_u64(seed),
            disk,
            storage,
            relations: Vec::new(),
            model: Model::default(),
            cut: Cut::ZERO,
            past: [Cut::ZERO; RELATIONS],
            retained: [Cut::ZERO; RELATIONS],
        };
        run.open_relations();
        run
    }

    fn open_relations(&mut self) {
        self.relations = (0..RELATIONS)
            .map(|i| {
                let part = if i == 2 { Part::BadRows } else { Part::Rows };
                let id = RelationId {
                    object: i as u64 + 1,
                    part,
                };
                let options = RelationOptions {
                    append_only: append_only(i),
                };
                self.storage.relation(id, schema(), options).unwrap()
            })
            .collect();
    }

    fn reopen(&mut self) {
        self.relations.clear();
        self.disk = self.disk.crash(&mut self.random);
        self.storage = self.disk.open().unwrap();
        self.open_relations();
        self.retained = [Cut::ZERO; RELATIONS];
    }

    fn random_row(&mut self) -> Row {
        let length = match self.random.random_range(0..400) {
            0 => 9000,
            1..4 => 1500,
            _ => self.random.random_range(0..3),
        };
        let text = self.random.random_bool(0.8).then(|| "x".repeat(length).into());
        let float = *[0.0, 1.5, f64::INFINITY].choose(&mut self.random).unwrap();
        (self.random.random_range(0..6), text, f64::to_bits(float))
    }

    /// Changes of one entry; retractions mostly of rows that are there.
    fn random_changes(&mut self, relation: usize, model: &Model, cut: Cut) -> Vec<(Row, i64)> {
        let held = model
            .sum(relation, Cut::ZERO, cut)
            .into_keys()
            .collect::<Vec<_>>();
        let many = self.random.random_bool(0.05);
        let count = self.random.random_range(1..if many { 200 } else { 6 });
        (0..count)
            .map(|_| {
                let weight = if self.random.random_bool(0.8) {
                    1
                } else {
                    self.random.random_range(1..4)
                };
                match held.choose(&mut self.random) {
                    Some(row) if !append_only(relation) && self.random.random_bool(0.5) => {
                        (row.clone(), -weight)
                    }
                    _ => {
                        let early = !append_only(relation) && self.random.random_bool(0.05);
                        (self.random_row(), if early { -weight } else { weight })
                    }
                }
            })
            .collect()
    }

    /// A random transaction, and the model as it is once it is committed.
    fn transaction(&mut self) -> Result<(Transaction, Model)> {
        let (mut tx, mut model) = (self.storage.transaction(), self.model.clone());
        for _ in 0..self.random.random_range(1..4) {
            if self.cut == Cut::ZERO || self.random.random_bool(0.8) {
                self.cut = self.cut.next();
            }
            let relation = self.random.random_range(0..RELATIONS);
            let changes = self.random_changes(relation, &model, self.cut);
            model.logs[relation].extend(
                changes
                    .iter()
                    .map(|(row, weight)| (self.cut, row.clone(), *weight)),
            );
            // Some with the other zero, which is the same value.
            let batches = changes.chunks(50).map(|part| {
                let mut part = part.to_vec();
                part.iter_mut()
                    .filter(|(row, _)| row.2 == 0 && row.0 % 2 == 0)
                    .for_each(|(row, _)| row.2 = 1 << 63);
                encode(&part)
            });
            tx.append(&self.relations[relation], self.cut, batches.collect())?;
        }
        if self.random.random_bool(0.5) {
            let operator = ["join", "sum"].choose(&mut self.random).unwrap().to_string();
            let epoch = model.commits.last().map_or(0, |epoch| epoch + 1);
            let changes = self.random_changes(0, &model, self.cut);
            let held = model.state.entry(operator.clone()).or_default();
            if self.random.random_bool(0.2) {
                held.clear();
                tx.replace_state(QUERY, &operator, epoch, vec![(1, encode(&changes))])?;
            } else {
                tx.add_state(QUERY, &operator, epoch, vec![(1, encode(&changes))])?;
            }
            changes
                .into_iter()
                .for_each(|(row, weight)| add(held, row, weight));
            tx.put_commit(QUERY, epoch, epoch.to_string().into_bytes());
            model.commits.push(epoch);
        }
        if self.random.random_bool(0.1) {
            let sql = format!("CREATE {}", self.random.random::<u32>());
            let id = self.storage.next_object_id() + 100;
            tx.put_object(
                id,
                ObjectRecord {
                    sql: sql.clone(),
                    attributes: serde_json::Value::Null,
                },
            );
            model.objects.insert(id, sql);
        }
        if self.random.random_bool(0.1)
            && let Some(id) = model.objects.pop_first().map(|(id, _)| id)
        {
            tx.delete_object(id);
        }
        if self.random.random_bool(0.2) {
            let (name, value) = (
                self.random.random_range(0..5).to_string(),
                self.cut.0.to_le_bytes().to_vec(),
            );
            tx.put_note(1, &name, value.clone());
            model.notes.insert(name, value);
        }
        Ok((tx, model))
    }

    fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..60 => {
                let (tx, model) = self.transaction().unwrap();
                tx.commit().unwrap();
                self.model = model;
            }
            60..65 => {
                let cut = self.cut;
                drop(self.transaction().unwrap());
                self.cut = cut.max(Cut(1));
            }
            65..72 => {
                let before = self.random.random::<bool>().then(|| self.transaction().unwrap());
                self.reopen();
                drop(before);
            }
            72..79 => self.crash_in_commit(),
            79..92 => {
                let relation = self.random.random_range(0..RELATIONS);
                let cut = Cut(self.random.random_range(0..=self.cut.0));
                self.relations[relation].compact(cut).unwrap();
                self.past[relation] = self.past[relation].max(cut);
            }
            92..96 => {
                let relation = self.random.random_range(0..RELATIONS);
                let cut = Cut(self.random.random_range(0..=self.cut.0));
                self.relations[relation].retain_versions(cut);
                self.retained[relation] = self.retained[relation].max(cut);
            }
            _ => self.crash_in_compaction(),
        }
    }

    /// The disk fills up somewhere in the transaction; after the crash it happened as a whole or not at all.
    fn crash_in_commit(&mut self) {
        self.disk.fill_up_after(Some(self.random.random_range(0..12)));
        let Ok((tx, after)) = self.transaction() else {
            self.reopen();
            return;
        };
        let committed = tx.commit();
        if committed.is_err() {
            self.check_visible();
        }
        self.reopen();
        if committed.is_ok() || self.found() == after.expected() {
            self.model = after;
        }
    }

    fn crash_in_compaction(&mut self) {
        let relation = self.random.random_range(0..RELATIONS);
        let cut = Cut(self.random.random_range(0..=self.cut.0));
        self.disk.fill_up_after(Some(self.random.random_range(0..8)));
        let _full = self.relations[relation].compact(cut);
        self.past[relation] = self.past[relation].max(cut);
        self.reopen();
    }

    /// What a reader finds, apart from the history.
    fn found(&self) -> Expected {
        let sum = |i: usize| sum_of(self.relations[i].snapshot().scan_changes());
        let mut state: BTreeMap<String, Sum> = BTreeMap::new();
        for stored in self.storage.state(QUERY).unwrap() {
            let stored = stored.unwrap();
            assert_eq!(stored.port, 1);
            let sum = state.entry(stored.operator).or_default();
            decode(stored.changes.rows(), |i, row| {
                add(sum, row, stored.changes.weight(i))
            });
        }
        state.retain(|_, sum| !sum.is_empty());
        let commits = self.storage.commits(QUERY, 0).unwrap();
        commits
            .iter()
            .for_each(|(epoch, record)| assert_eq!(epoch.to_string().as_bytes(), record));
        Expected {
            sums: [sum(0), sum(1), sum(2)],
            objects: self
                .storage
                .objects()
                .unwrap()
                .into_iter()
                .map(|(id, record)| (id, record.sql))
                .collect(),
            state,
            commits: commits.into_iter().map(|(epoch, _)| epoch).collect(),
            notes: self.storage.notes(1).scan("").unwrap().into_iter().collect(),
        }
    }

    fn check(&mut self) {
        assert_eq!(self.found(), self.model.expected());
        let last = self.model.commits.last().copied();
        assert_eq!(
            self.storage
                .query_log(QUERY)
                .unwrap()
                .last_commit
                .map(|(epoch, _)| epoch),
            last
        );
        if let Some(id) = self.model.objects.keys().last() {
            assert!(self.storage.next_object_id() > *id);
        }
        self.check_visible();
    }

    /// Snapshots, old versions and changes show what was committed and nothing else.
    fn check_visible(&mut self) {
        for relation in 0..RELATIONS {
            self.check_snapshot(relation);
            let cut = Cut(self.random.random_range(0..=self.cut.0 + 1));
            self.check_version(relation, cut);
            let after = Cut(self.random.random_range(0..=self.cut.0));
            let to = Cut(self.random.random_range(after.0..=self.cut.0 + 1));
            self.check_changes(relation, after, to);
        }
    }

    fn check_snapshot(&self, relation: usize) {
        let snapshot = self.relations[relation].snapshot();
        let expected = self.model.sum(relation, Cut::ZERO, Cut(u64::MAX));
        let mut rows = Sum::new();
        for batch in snapshot.scan() {
            decode(&batch.unwrap(), |_, row| add(&mut rows, row, 1));
        }
        let table = expected.iter().filter(|(_, weight)| **weight > 0);
        let count = table
            .clone()
            .map(|(_, weight)| weight.unsigned_abs())
            .sum::<u64>();
        assert_eq!(rows, table.map(|(row, weight)| (row.clone(), *weight)).collect());
        assert_eq!(snapshot.num_rows(), count);
        let last = self.model.logs[relation]
            .last()
            .map_or(Cut::ZERO, |(cut, ..)| *cut);
        assert_eq!(self.relations[relation].last_cut(), last);
    }

    fn check_version(&self, relation: usize, cut: Cut) {
        match self.relations[relation].snapshot_at(cut) {
            Some(snapshot) => {
                let expected = self.model.sum(relation, Cut::ZERO, cut);
                assert_eq!(
                    sum_of(snapshot.scan_changes()),
                    expected,
                    "relation {relation} at cut {cut}"
                );
            }
            None => assert!(
                cut < self.past[relation].max(self.retained[relation]),
                "no version at cut {cut}"
            ),
        }
    }

    fn check_changes(&self, relation: usize, after: Cut, to: Cut) {
        let entries = match self.relations[relation].changes(after, to) {
            Ok(entries) => entries,
            Err(Error::Compacted { .. }) if after < self.past[relation] => return,
            Err(error) => panic!("changes after {after} to {to} of relation {relation}: {error}"),
        };
        assert!(entries.iter().all(|entry| after < entry.cut && entry.cut <= to));
        assert!(entries.is_sorted_by_key(|entry| entry.cut));
        let mut sum = Sum::new();
        for entry in entries {
            let changes = entry.read().unwrap();
            assert_eq!(
                changes.iter().map(|c| c.num_rows() as u64).sum::<u64>(),
                entry.rows
            );
            for (row, weight) in sum_of(changes.into_iter().map(Ok)) {
                add(&mut sum, row, weight);
            }
        }
        assert_eq!(
            sum,
            self.model.sum(relation, after, to),
            "relation {relation} after {after} to {to}"
        );
    }
}

#[derive(Debug, PartialEq)]
struct Expected {
    sums: [Sum; RELATIONS],
    objects: BTreeMap<u64, String>,
    state: BTreeMap<String, Sum>,
    commits: Vec<u64>,
    notes: BTreeMap<String, Vec<u8>>,
}

/// Names the seed of a run that fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with seed {}", self.0);
        }
    }
}

fn run(seeds: std::ops::Range<u64>, steps: usize, check: f64) {
    for seed in seeds {
        let _named = Seed(seed);
        let mut run = Run::new(seed);
        for _ in 0..steps {
            run.step();
            // Checking takes far longer than the steps.
            if run.random.random_bool(check) {
                run.check();
            }
        }
        run.reopen();
        run.check();
    }
}

#[test]
fn random_runs_equal_the_model() {
    run(0..12, 120, 0.3);
}

#[test]
fn a_long_random_run_equals_the_model() {
    run(1000..1001, 700, 0.03);
}
