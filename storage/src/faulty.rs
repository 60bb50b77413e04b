//! A disk for tests: it forgets what was not synced, tears writes, brings removed files back, and fills up.
//!
//! It stands behind both ports, [`Store`] and [`Files`]. A crash keeps all synced batches and a random number of those
//! applied after them, in order; a file that was not synced is gone, cut, garbled or whole.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, Result};
use crate::files::{Files, NewFile, missing};
use crate::meta::{Batch, Pair, Store};
use crate::storage::Storage;

#[derive(Debug, Clone, Default)]
struct FileOnDisk {
    content: Vec<u8>,
    synced: bool,
    /// Its folder was synced since it was created.
    named: bool,
}

#[derive(Debug, Clone, Default)]
struct State {
    synced: BTreeMap<Vec<u8>, Vec<u8>>,
    unsynced: Vec<Batch>,
    current: BTreeMap<Vec<u8>, Vec<u8>>,
    files: HashMap<String, FileOnDisk>,
    removed: HashMap<String, FileOnDisk>,
    /// Writes that still succeed; then the disk is full.
    writes_left: Option<u64>,
    /// The next write panics, as a defect would.
    broken: bool,
    syncs: u64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct FaultyDisk(Arc<Mutex<State>>);

impl FaultyDisk {
    pub(crate) fn open(&self) -> Result<Storage> {
        Storage::assemble(Box::new(self.clone()), Box::new(self.clone()))
    }

    /// The disk as it is found after a power loss.
    pub(crate) fn crash(&self, random: &mut ChaCha8Rng) -> FaultyDisk {
        let state = self.0.lock();
        let mut current = state.synced.clone();
        let survivors = random.random_range(0..=state.unsynced.len());
        state.unsynced[..survivors]
            .iter()
            .for_each(|batch| apply(&mut current, batch));
        let mut files = HashMap::new();
        for (name, file) in &state.files {
            let mut file = file.clone();
            if !file.named && random.random() {
                continue;
            }
            if !file.synced {
                tear(&mut file.content, random);
            }
            files.insert(
                name.clone(),
                FileOnDisk {
                    synced: true,
                    named: true,
                    ..file
                },
            );
        }
        for (name, file) in state.removed.iter().filter(|(_, file)| file.named && file.synced) {
            if random.random() {
                files.entry(name.clone()).or_insert_with(|| file.clone());
            }
        }
        let state = State {
            synced: current.clone(),
            current,
            files,
            ..State::default()
        };
        FaultyDisk(Arc::new(Mutex::new(state)))
    }

    /// After this many more writes the disk is full; `None` gives it room again.
    pub(crate) fn fill_up_after(&self, writes: Option<u64>) {
        self.0.lock().writes_left = writes;
    }

    pub(crate) fn break_next_write(&self) {
        self.0.lock().broken = true;
    }

    pub(crate) fn syncs(&self) -> u64 {
        self.0.lock().syncs
    }

    pub(crate) fn file_names(&self) -> Vec<String> {
        self.0.lock().files.keys().cloned().collect()
    }

    /// Changes a file behind the back of the storage; `None` removes it.
    pub(crate) fn damage_file(&self, name: &str, change: impl FnOnce(&mut Vec<u8>) -> Option<()>) {
        let mut state = self.0.lock();
        let content = &mut state
            .files
            .get_mut(name)
            .expect("the file to damage is there")
            .content;
        if change(content).is_none() {
            state.files.remove(name);
        }
    }

    pub(crate) fn lose_meta_store(&self) {
        let mut state = self.0.lock();
        state.current.clear();
        state.synced.clear();
    }

    pub(crate) fn keys(&self, prefix: u8) -> Vec<Vec<u8>> {
        self.0
            .lock()
            .current
            .keys()
            .filter(|key| key[0] == prefix)
            .cloned()
            .collect()
    }

    pub(crate) fn damage_value(&self, key: &[u8], change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.0.lock();
        let mut value = state.current[key].clone();
        change(&mut value);
        state.current.insert(key.to_vec(), value.clone());
        state.synced.insert(key.to_vec(), value);
    }

    fn write(&self) -> io::Result<parking_lot::MutexGuard<'_, State>> {
        let mut state = self.0.lock();
        if std::mem::take(&mut state.broken) {
            drop(state);
            panic!("a defect that a test asked for");
        }
        match &mut state.writes_left {
            Some(0) => return Err(io::Error::from(io::ErrorKind::StorageFull)),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(state)
    }
}

fn apply(map: &mut BTreeMap<Vec<u8>, Vec<u8>>, batch: &Batch) {
    for (key, value) in &batch.changes {
        match value {
            Some(value) => map.insert(key.clone(), value.clone()),
            None => map.remove(key),
        };
    }
}

fn tear(content: &mut Vec<u8>, random: &mut ChaCha8Rng) {
    if content.is_empty() {
        return;
    }
    let at = random.random_range(0..content.len());
    match random.random_range(0..3) {
        0 => content.truncate(at),
        1 => content[at..].fill(0),
        _ => {}
    }
}

impl Store for FaultyDisk {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.lock().current.get(key).cloned())
    }

    fn scan(&self, prefix: &[u8]) -> Box<dyn Iterator<Item = Result<Pair>> + '_> {
        let state = self.0.lock();
        let range = state
            .current
            .range(prefix.to_vec()..)
            .take_while(|(key, _)| key.starts_with(prefix));
        let pairs = range
            .map(|(key, value)| Ok((key.clone(), value.clone())))
            .collect::<Vec<_>>();
        Box::new(pairs.into_iter())
    }

    fn apply(&self, batch: Batch) -> Result<()> {
        let mut state = self.write().map_err(|error| Error::io("meta", "write", error))?;
        apply(&mut state.current, &batch);
        state.unsynced.push(batch);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        let mut state = self.write().map_err(|error| Error::sync("meta", error))?;
        let unsynced = std::mem::take(&mut state.unsynced);
        unsynced.iter().for_each(|batch| apply(&mut state.synced, batch));
        state.syncs += 1;
        Ok(())
    }
}

impl Files for FaultyDisk {
    fn create(&self, name: &str) -> Result<Box<dyn NewFile>> {
        let mut state = self.write().map_err(|error| Error::io(name, "create", error))?;
        let old = state.files.insert(name.to_string(), FileOnDisk::default());
        assert!(
            old.is_none() && !state.removed.contains_key(name),
            "{name} was used before"
        );
        Ok(Box::new(FaultyFile {
            disk: self.clone(),
            name: name.to_string(),
        }))
    }

    fn sync_folder(&self, name: &str) -> Result<()> {
        let mut state = self.write().map_err(|error| Error::sync(name, error))?;
        let folder = name
            .rsplit_once('/')
            .map(|(folder, _)| folder.to_string())
            .unwrap_or_default();
        for (name, file) in &mut state.files {
            file.named |= name.starts_with(&folder);
        }
        state.removed.retain(|name, _| !name.starts_with(&folder));
        Ok(())
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>> {
        let state = self.0.lock();
        let file = state.files.get(name).ok_or_else(|| missing(name))?;
        Ok(Box::new(Cursor::new(file.content.clone())))
    }

    fn length(&self, name: &str) -> Result<Option<u64>> {
        Ok(self
            .0
            .lock()
            .files
            .get(name)
            .map(|file| file.content.len() as u64))
    }

    fn remove(&self, name: &str) -> Result<()> {
        let mut state = self.0.lock();
        if let Some(file) = state.files.remove(name) {
            state.removed.insert(name.to_string(), file);
        }
        Ok(())
    }

    fn list(&self) -> Result<Vec<String>> {
        Ok(self.file_names())
    }

    fn remove_empty_folders(&self) -> Result<()> {
        Ok(())
    }
}

struct FaultyFile {
    disk: FaultyDisk,
    name: String,
}

impl Write for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.write()?;
        // A file that was removed meanwhile takes writes like any unlinked file.
        if let Some(file) = state.files.get_mut(&self.name) {
            file.content.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for FaultyFile {
    fn sync(&mut self) -> io::Result<()> {
        if let Some(file) = self.disk.write()?.files.get_mut(&self.name) {
            file.synced = true;
        }
        Ok(())
    }
}
