//! Which epochs are there: a record per epoch beside the files, and the way a new one comes to be.
//!
//! `_millpond/<query>/` in the sink's folder holds `<epoch>.json`, the record of an epoch that is there; `pending`, the
//! record of one that has happened but whose files may not all have their names yet; and files under numbers, which nobody
//! has decided about. Whoever opens it carries out what is pending and removes what is undecided.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use millpond_engine::sink::SinkError;
use serde::{Deserialize, Serialize};

/// Folders that begin with `_` are no data to anyone who reads folders of files.
const FOLDER: &str = "_millpond";
const PENDING: &str = "pending";

pub struct Manifest {
    /// The folder of the sink.
    target: PathBuf,
    /// The folder of the query's own files.
    own: PathBuf,
    /// The last epoch that is there.
    last: Option<u64>,
}

/// An epoch and its files, in the order of their numbers.
#[derive(Debug, Serialize, Deserialize)]
struct EpochRecord {
    epoch: u64,
    files: Vec<FileRecord>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct FileRecord {
    /// Below the sink's folder.
    pub path: String,
    pub rows: u64,
    pub bytes: u64,
}

impl Manifest {
    pub fn open(target: &Path, query_id: &str) -> Result<Manifest, SinkError> {
        let own = target.join(FOLDER).join(query_id);
        let unavailable = |error: io::Error| unavailable(&own, &error);
        fs::create_dir_all(&own).map_err(unavailable)?;
        let mut manifest = Manifest {
            target: target.to_owned(),
            last: None,
            own: own.clone(),
        };
        match fs::read(own.join(PENDING)) {
            Ok(bytes) => {
                let record = serde_json::from_slice(&bytes).map_err(|_| damaged(&own.join(PENDING)))?;
                manifest.carry_out(&record)?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(unavailable(error)),
        }
        for entry in fs::read_dir(&own).map_err(unavailable)? {
            let path = entry.map_err(unavailable)?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            match name
                .strip_suffix(".json")
                .and_then(|epoch| epoch.parse::<u64>().ok())
            {
                Some(epoch) => manifest.last = manifest.last.max(Some(epoch)),
                None => fs::remove_file(&path).map_err(unavailable)?,
            }
        }
        Ok(manifest)
    }

    /// The epoch is there.
    pub fn has(&self, epoch: u64) -> bool {
        self.last.is_some_and(|last| epoch <= last)
    }

    /// Writes the file of this number of an epoch that is to come. Returns its bytes.
    pub fn write(
        &self,
        number: usize,
        content: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<u64, SinkError> {
        let path = self.own.join(number.to_string());
        let written = File::create(&path).and_then(|mut file| {
            content(&mut file)?;
            file.sync_all()?;
            file.metadata().map(|metadata| metadata.len())
        });
        written.map_err(|error| unavailable(&path, &error))
    }

    /// Makes an epoch happen, whose files were written.
    pub fn commit(&mut self, epoch: u64, files: Vec<FileRecord>) -> Result<(), SinkError> {
        let record = EpochRecord { epoch, files };
        let bytes = serde_json::to_vec(&record).expect("a record becomes JSON");
        let (draft, pending) = (self.own.join("draft"), self.own.join(PENDING));
        let decided = File::create(&draft)
            .and_then(|mut file| {
                file.write_all(&bytes)?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&draft, &pending))
            .and_then(|()| sync_folder(&self.own));
        decided.map_err(|error| unavailable(&pending, &error))?;
        self.carry_out(&record)
    }

    /// Gives the files of a pending epoch their names, as far as they do not have them.
    fn carry_out(&mut self, record: &EpochRecord) -> Result<(), SinkError> {
        let mut folders = Vec::new();
        for (number, file) in record.files.iter().enumerate() {
            let (from, to) = (self.own.join(number.to_string()), self.target.join(&file.path));
            let folder = to.parent().unwrap_or(&self.target).to_owned();
            let named = fs::create_dir_all(&folder).and_then(|()| fs::rename(&from, &to));
            match named {
                Ok(()) => {}
                // It has its name already.
                Err(error) if error.kind() == ErrorKind::NotFound && to.exists() => {}
                Err(error) => return Err(unavailable(&to, &error)),
            }
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        for folder in &folders {
            // New folders stand in their parents.
            let below = folder
                .ancestors()
                .take_while(|path| path.starts_with(&self.target));
            for folder in below {
                sync_folder(folder).map_err(|error| unavailable(folder, &error))?;
            }
        }
        let there = self.own.join(format!("{:020}.json", record.epoch));
        fs::rename(self.own.join(PENDING), &there)
            .and_then(|()| sync_folder(&self.own))
            .map_err(|error| unavailable(&there, &error))?;
        self.last = self.last.max(Some(record.epoch));
        Ok(())
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn unavailable(path: &Path, error: &io::Error) -> SinkError {
    SinkError::Unavailable(format!("cannot write \"{}\": {error}", path.display()))
}

fn damaged(path: &Path) -> SinkError {
    SinkError::Failed {
        message: format!("\"{}\" is damaged", path.display()),
        hint: Some("It lists files that were written last; restore it, or drop the sink and create it for another path.".to_owned()),
    }
}
