//! Immutable files of the data directory, and who still needs them.
//!
//! A file is written once under a name that no other file ever had, synced together with its folder before a commit names
//! it, and removed when no record names it and no reader holds it any more. [`LocalFiles`] is a plain directory; since
//! names are relative and nothing is overwritten or renamed, an object store can stand behind [`Files`] later.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::error::{Error, Result};
use crate::layout::{self, FileNumber};

/// Where files are kept. Names are relative, with `/` between folder and file.
pub(crate) trait Files: Send + Sync + fmt::Debug {
    /// Creates a file that must not exist yet, with its folder.
    fn create(&self, name: &str) -> Result<Box<dyn NewFile>>;
    /// Makes the entries of the file's folder durable.
    fn sync_folder(&self, name: &str) -> Result<()>;
    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>>;
    /// Size in bytes; `None` when there is no such file.
    fn length(&self, name: &str) -> Result<Option<u64>>;
    fn remove(&self, name: &str) -> Result<()>;
    /// All names, in no order.
    fn list(&self) -> Result<Vec<String>>;
    /// Removes folders without files. Only while no file is created.
    fn remove_empty_folders(&self) -> Result<()>;
}

/// A file being written.
pub(crate) trait NewFile: Write + Send {
    /// Makes the content durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// A directory of the local file system.
#[derive(Debug)]
pub(crate) struct LocalFiles {
    root: PathBuf,
}

impl LocalFiles {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
        }
    }

    /// The folders of all relations and queries.
    fn folders(&self) -> Result<Vec<PathBuf>> {
        let mut folders = Vec::new();
        for top in [layout::RELATIONS_FOLDER, layout::STATE_FOLDER] {
            folders.extend(
                entries(&self.root.join(top))?
                    .into_iter()
                    .filter(|path| path.is_dir()),
            );
        }
        Ok(folders)
    }

    /// Creates the folder and makes its own entry durable, level by level below the root.
    fn ensure_folder(&self, folder: &Path) -> Result<()> {
        if folder.is_dir() || folder == self.root {
            return Ok(());
        }
        let parent = folder.parent().unwrap_or(&self.root);
        self.ensure_folder(parent)?;
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Error::io(folder, "create folder", error));
            }
            _ => {}
        }
        sync_directory(parent)
    }
}

impl Files for LocalFiles {
    fn create(&self, name: &str) -> Result<Box<dyn NewFile>> {
        let path = self.root.join(name);
        self.ensure_folder(path.parent().unwrap_or(&self.root))?;
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|error| Error::io(&path, "create", error))?;
        Ok(Box::new(file))
    }

    fn sync_folder(&self, name: &str) -> Result<()> {
        sync_directory(self.root.join(name).parent().unwrap_or(&self.root))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>> {
        let path = self.root.join(name);
        match File::open(&path) {
            Ok(file) => Ok(Box::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing(name)),
            Err(error) => Err(Error::io(path, "open", error)),
        }
    }

    fn length(&self, name: &str) -> Result<Option<u64>> {
        let path = self.root.join(name);
        match fs::metadata(&path) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(path, "examine", error)),
        }
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = self.root.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(path, "remove", error)),
            _ => Ok(()),
        }
    }

    fn list(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for folder in self.folders()? {
            names.extend(
                entries(&folder)?
                    .iter()
                    .filter_map(|path| relative(&self.root, path)),
            );
        }
        Ok(names)
    }

    fn remove_empty_folders(&self) -> Result<()> {
        for folder in self.folders()? {
            if entries(&folder)?.is_empty() {
                fs::remove_dir(&folder).map_err(|error| Error::io(&folder, "remove", error))?;
            }
        }
        Ok(())
    }
}

fn relative(root: &Path, path: &Path) -> Option<String> {
    path.strip_prefix(root).ok()?.to_str().map(str::to_string)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(folder, "list", error)),
    };
    listing
        .map(|entry| {
            entry
                .map(|e| e.path())
                .map_err(|error| Error::io(folder, "list", error))
        })
        .collect()
}

/// Makes the entries of a directory durable.
pub(crate) fn sync_directory(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| Error::sync(path, error))
}

impl NewFile for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

pub(crate) fn missing(name: &str) -> Error {
    Error::corrupt(format!("file {name}"), "it is missing")
}

/// All files that are in use, and the number for the next name.
#[derive(Debug)]
pub(crate) struct FileSet {
    files: Box<dyn Files>,
    opening: u64,
    next_number: AtomicU64,
    in_use: Mutex<HashMap<String, Weak<StoredFile>>>,
}

/// A file on disk. Unless it was kept, the last holder's drop removes it.
pub(crate) struct StoredFile {
    set: Arc<FileSet>,
    name: String,
    kept: AtomicBool,
}

impl FileSet {
    /// `opening` is a number that no other set of these files ever had, so that a name never comes twice: who holds a
    /// file longer than the storage it came from cannot mistake another one for it.
    pub(crate) fn new(files: Box<dyn Files>, opening: u64) -> Arc<Self> {
        Arc::new(Self {
            files,
            opening,
            next_number: AtomicU64::new(0),
            in_use: Mutex::default(),
        })
    }

    /// Creates the file that `name` calls by the number it is given. It is removed again unless [`StoredFile::keep`] is
    /// called.
    pub(crate) fn create(
        self: &Arc<Self>,
        name: impl FnOnce(FileNumber) -> String,
    ) -> Result<(Arc<StoredFile>, Box<dyn NewFile>)> {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let name = name(FileNumber {
            opening: self.opening,
            number,
        });
        let writer = self.files.create(&name)?;
        Ok((self.register(name, false), writer))
    }

    /// A file that a record names; it must be there with this many bytes.
    pub(crate) fn existing(self: &Arc<Self>, name: &str, bytes: u64) -> Result<Arc<StoredFile>> {
        match self.files.length(name)? {
            None => Err(missing(name)),
            Some(found) if found != bytes => Err(Error::corrupt(
                format!("file {name}"),
                format!("it has {found} bytes instead of {bytes}"),
            )),
            Some(_) => Ok(self.register(name.to_string(), true)),
        }
    }

    fn register(self: &Arc<Self>, name: String, kept: bool) -> Arc<StoredFile> {
        let mut in_use = self.in_use.lock();
        if let Some(file) = in_use.get(&name).and_then(Weak::upgrade) {
            return file;
        }
        let file = Arc::new(StoredFile {
            set: self.clone(),
            name: name.clone(),
            kept: kept.into(),
        });
        in_use.insert(name, Arc::downgrade(&file));
        file
    }

    /// No record names this file any more: it is removed now, or when its last reader lets go of it.
    pub(crate) fn release(&self, name: &str) {
        let in_use = self.in_use.lock();
        match in_use.get(name).and_then(Weak::upgrade) {
            Some(file) => {
                file.kept.store(false, Ordering::Release);
                // The drop takes the lock itself.
                drop(in_use);
                drop(file);
            }
            None => {
                drop(in_use);
                self.remove(name);
            }
        }
    }

    pub(crate) fn sync_folder(&self, name: &str) -> Result<()> {
        self.files.sync_folder(name)
    }

    /// A file that stays behind costs space, not correctness, and the next start removes it.
    fn remove(&self, name: &str) {
        if let Err(error) = self.files.remove(name) {
            tracing::warn!(file = name, %error, "could not remove a file that is no longer needed");
        }
    }
}

impl StoredFile {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn open(&self) -> Result<Box<dyn Read + Send>> {
        self.set.files.open(&self.name)
    }

    /// A record names this file now: it outlives its holders.
    pub(crate) fn keep(&self) {
        self.kept.store(true, Ordering::Release);
    }
}

impl Drop for StoredFile {
    fn drop(&mut self) {
        let mut in_use = self.set.in_use.lock();
        if in_use
            .get(&self.name)
            .is_some_and(|file| file.strong_count() == 0)
        {
            in_use.remove(&self.name);
        }
        drop(in_use);
        if !*self.kept.get_mut() {
            self.set.remove(&self.name);
        }
    }
}

impl fmt::Debug for StoredFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(root: &Path) -> Arc<FileSet> {
        FileSet::new(Box::new(LocalFiles::new(root)), 7)
    }

    fn write(set: &Arc<FileSet>) -> Arc<StoredFile> {
        let (file, mut writer) = set.create(|number| layout::state_file(1, 2, number)).unwrap();
        writer.write_all(b"content").unwrap();
        writer.sync().unwrap();
        set.sync_folder(file.name()).unwrap();
        file
    }

    #[test]
    fn a_file_lives_as_long_as_a_record_or_a_holder_needs_it() {
        let dir = tempfile::tempdir().unwrap();
        let (set, disk) = (set(dir.path()), LocalFiles::new(dir.path()));
        let (kept, abandoned) = (write(&set), write(&set));
        kept.keep();
        assert_eq!(abandoned.name(), "state/1/2.7-1.state");
        drop(abandoned);
        drop(kept);
        assert_eq!(disk.list().unwrap(), ["state/1/2.7-0.state"]);

        let held = set.existing("state/1/2.7-0.state", 7).unwrap();
        set.release("state/1/2.7-0.state");
        let mut content = String::new();
        held.open().unwrap().read_to_string(&mut content).unwrap();
        assert_eq!(content, "content", "a holder can still read it");
        drop(held);
        assert_eq!(disk.list().unwrap(), Vec::<String>::new());
        assert!(matches!(
            set.existing("state/1/2.7-0.state", 7),
            Err(Error::Corrupt { .. })
        ));
        disk.remove_empty_folders().unwrap();
        assert!(!dir.path().join("state/1").exists());
    }

    #[test]
    fn nothing_is_overwritten_and_sizes_are_checked() {
        let dir = tempfile::tempdir().unwrap();
        write(&set(dir.path())).keep();
        let again = set(dir.path());
        assert!(matches!(
            again.create(|number| layout::state_file(1, 2, number)),
            Err(Error::Io { .. })
        ));
        let error = again.existing("state/1/2.7-0.state", 8).unwrap_err();
        assert!(
            error.to_string().contains("it has 7 bytes instead of 8"),
            "{error}"
        );
    }
}
