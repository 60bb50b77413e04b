//! Opening a data directory: lock, format version, what the records say, garbage.
//!
//! Every doubt is an error that names what is wrong. In particular a meta store that is missing, empty or set back is told
//! from a new one, and nothing is removed before that is settled.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use crate::commit::{Core, Directory, Recovered, file_named_by};
use crate::error::{Error, Result};
use crate::files::{self, FileSet, Files, LocalFiles};
use crate::layout::{self, FORMAT_VERSION};
use crate::lock::DirectoryLock;
use crate::meta::mark::CommitMark;
use crate::meta::sled::SledStore;
use crate::meta::{Batch, Store};
use crate::record;
use crate::state::{StateRecord, StateSize};

pub(super) fn open_directory(dir: &Path) -> Result<Core> {
    if !dir.is_dir() {
        fs::create_dir_all(dir).map_err(|error| Error::io(dir, "create folder", error))?;
        if let Some(parent) = dir.canonicalize().ok().as_deref().and_then(Path::parent) {
            files::sync_directory(parent)?;
        }
    }
    let lock = DirectoryLock::acquire(dir)?;
    let known = check_format_file(dir)?;
    let meta = dir.join(layout::META_FOLDER);
    if known && !meta.join("db").exists() {
        return Err(Error::corrupt(
            format!("meta store {}", meta.display()),
            "it is missing",
        ));
    }
    let store = Box::new(SledStore::open(&meta)?);
    let core = recover(store, Box::new(LocalFiles::new(dir)), known, |commits| {
        let mark = CommitMark::open(dir, commits)?;
        Ok(Some(Directory { lock, mark }))
    })?;
    if !known {
        write_format_file(dir)?;
    }
    Ok(core)
}

/// `known`: the meta store was set up before, so an empty one has lost its content. `directory` checks the number of the
/// newest commit.
pub(super) fn recover(
    store: Box<dyn Store>,
    files: Box<dyn Files>,
    known: bool,
    directory: impl FnOnce(u64) -> Result<Option<Directory>>,
) -> Result<Core> {
    let names = files.list()?;
    check_format_record(&*store, known || !names.is_empty())?;
    let opening = number(&*store, layout::openings_key())?.map_or(1, |openings| openings + 1);
    let (key, mut batch) = (layout::openings_key(), Batch::default());
    batch.put(key.clone(), record::seal(&key, &opening.to_le_bytes()));
    store.apply(batch)?;
    // What is removed below must not come back into use by a meta store that a power loss sets back.
    store.sync()?;
    let commits = number(&*store, layout::commit_number_key())?.unwrap_or(0);
    let directory = directory(commits)?;
    let next_object = number(&*store, layout::next_object_key())?.unwrap_or(1);
    let inventory = Inventory::take(&*store)?;
    inventory.collect_garbage(&*files, &names);
    let (next_sequence, state_sizes) = (inventory.next_sequence, inventory.state_sizes);
    let recovered = Recovered {
        next_sequence,
        next_object,
        commits,
        state_sizes,
    };
    Ok(Core::new(
        store,
        FileSet::new(files, opening),
        directory,
        recovered,
    ))
}

/// True when the directory was set up before.
fn check_format_file(dir: &Path) -> Result<bool> {
    let path = dir.join(layout::FORMAT_FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::io(&path, "read", error)),
    };
    // A crash while it was written leaves it empty; the meta store has the version, too.
    if text.trim().is_empty() {
        return Ok(false);
    }
    let found = text
        .strip_prefix("millpond ")
        .and_then(|version| version.trim().parse().ok())
        .ok_or_else(|| {
            Error::corrupt(
                format!("file {}", path.display()),
                "it does not hold a format version",
            )
        })?;
    check_version(found).map(|()| true)
}

fn write_format_file(dir: &Path) -> Result<()> {
    let path = dir.join(layout::FORMAT_FILE);
    fs::write(&path, format!("millpond {FORMAT_VERSION}\n"))
        .map_err(|error| Error::io(&path, "write", error))?;
    let file = fs::File::open(&path).map_err(|error| Error::io(&path, "open", error))?;
    file.sync_all().map_err(|error| Error::sync(&path, error))?;
    files::sync_directory(dir)
}

fn check_version(found: u32) -> Result<()> {
    match found > FORMAT_VERSION {
        true => Err(Error::NewerFormat {
            found,
            supported: FORMAT_VERSION,
        }),
        false => Ok(()),
    }
}

/// Checks the format version, or writes it to a new meta store.
fn check_format_record(store: &dyn Store, expected: bool) -> Result<()> {
    let key = layout::format_key();
    let Some(value) = store.get(&key)? else {
        if expected || store.scan(&[]).next().is_some() {
            let what = "it has lost its content, but the data directory is not new";
            return Err(Error::corrupt("the meta store", what));
        }
        let mut batch = Batch::default();
        batch.put(key.clone(), record::seal(&key, &FORMAT_VERSION.to_le_bytes()));
        return store.apply(batch);
    };
    let version = record::open(&key, &value)?
        .try_into()
        .map_err(|_| Error::corrupt(layout::describe(&key), "it is not a version number"))?;
    check_version(u32::from_le_bytes(version))
}

/// A record that is one number.
fn number(store: &dyn Store, key: Vec<u8>) -> Result<Option<u64>> {
    let Some(value) = store.get(&key)? else {
        return Ok(None);
    };
    let number = record::open(&key, &value)?
        .try_into()
        .map_err(|_| Error::corrupt(layout::describe(&key), "it is not a number"))?;
    Ok(Some(u64::from_le_bytes(number)))
}

/// What the records of logs and states say in total.
#[derive(Debug, Default)]
struct Inventory {
    files: HashSet<String>,
    next_sequence: u64,
    state_sizes: HashMap<(u64, String), StateSize>,
    damaged: bool,
}

impl Inventory {
    /// A damaged record does not keep other objects from working: it is reported when its own relation or query is opened.
    fn take(store: &dyn Store) -> Result<Self> {
        let mut inventory = Self::default();
        for prefix in [layout::logs_prefix(), layout::states_prefix()] {
            for pair in store.scan(&prefix) {
                let (key, value) = pair?;
                match file_named_by(&key, &value) {
                    Ok(name) => inventory.files.extend(name),
                    Err(error) => {
                        tracing::error!(%error, "a record is damaged; unreferenced files are kept");
                        inventory.damaged = true;
                    }
                }
                inventory.note_key(&key, &value);
            }
        }
        Ok(inventory)
    }

    fn note_key(&mut self, key: &[u8], value: &[u8]) {
        if let Some(entry) = layout::parse_log_key(key) {
            self.next_sequence = self.next_sequence.max(entry.sequence + 1);
        }
        let Some((query, operator, sequence)) = layout::parse_state_key(key) else {
            return;
        };
        self.next_sequence = self.next_sequence.max(sequence + 1);
        if let Ok(StateRecord { base, payload, .. }) = StateRecord::parse(key, value) {
            let size = self.state_sizes.entry((query, operator)).or_default();
            *(if base {
                &mut size.base_bytes
            } else {
                &mut size.delta_bytes
            }) += payload.bytes();
        }
    }

    /// Removes files that no record names: of transactions that were not committed, and replaced ones.
    fn collect_garbage(&self, files: &dyn Files, names: &[String]) {
        if self.damaged {
            return;
        }
        for name in names
            .iter()
            .filter(|name| !self.files.contains(*name) && layout::file_number(name).is_some())
        {
            match files.remove(name) {
                Ok(()) => tracing::info!(file = name, "removed a file that no record names"),
                Err(error) => {
                    tracing::warn!(file = name, %error, "could not remove a file that no record names")
                }
            }
        }
        if let Err(error) = files.remove_empty_folders() {
            tracing::warn!(%error, "could not remove an empty folder");
        }
    }
}
