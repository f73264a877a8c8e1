//! A directory that is only looked at: a data directory that nobody uses, or a backup. Nothing in it is created,
//! changed or synced.

use std::collections::BTreeMap;
use std::fs::{self, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::manifest::Manifest;
use super::progress;
use crate::StoreError;

const LOCK: &str = "lock";
/// Files that are read as a whole are not longer than this: a checkpoint of a store with 2^33 records.
const WHOLE_BYTES_MAX: u64 = 2 << 30;

/// The files of a store, by the paths that FORMAT.md gives them.
#[derive(Debug)]
pub(crate) struct Source {
    root: PathBuf,
    /// In a backup: where the content of a path really is.
    backup: Option<(Manifest, BTreeMap<String, String>)>,
}

/// Keeps others from using the directory while it is looked at.
#[derive(Debug)]
pub(crate) struct Held(
    #[expect(dead_code, reason = "the lock lives as long as the file is open")] Option<fs::File>,
);

/// What is in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) is_directory: bool,
}

impl Source {
    /// The store in `root`, which may be a backup.
    pub(crate) fn new(root: &Path) -> Result<Self, StoreError> {
        let mut source = Self { root: root.to_owned(), backup: None };
        if let Some(manifest) = Manifest::load(root)? {
            let paths = manifest.files.iter().map(|f| (f.path.clone(), f.stored.clone())).collect();
            source.backup = Some((manifest, paths));
        }
        Ok(source)
    }

    /// What the backup says of itself, if this is one.
    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        self.backup.as_ref().map(|backup| &backup.0)
    }

    /// Takes the lock, if there is one to take.
    pub(crate) fn hold(&self) -> Result<Held, StoreError> {
        match fs::File::open(self.root.join(LOCK)) {
            Ok(file) => match file.try_lock() {
                Ok(()) => Ok(Held(Some(file))),
                Err(TryLockError::WouldBlock) => {
                    Err(StoreError::InUse { directory: self.root.display().to_string() })
                }
                Err(TryLockError::Error(error)) => Err(self.failed("lock", LOCK, &error)),
            },
            // Whoever used the directory would have made it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Held(None)),
            Err(error) => Err(self.failed("lock", LOCK, &error)),
        }
    }

    fn real(&self, path: &str) -> Option<PathBuf> {
        match &self.backup {
            Some((_, paths)) => paths.get(path).map(|stored| self.root.join(stored)),
            None if path.is_empty() => Some(self.root.clone()),
            None => Some(self.root.join(path)),
        }
    }

    /// The path as the user knows it.
    pub(crate) fn show(&self, path: &str) -> String {
        self.real(path).unwrap_or_else(|| self.root.join(path)).display().to_string()
    }

    /// Opens a file for reading; none if it is not there.
    pub(crate) fn open(&self, path: &str) -> Result<Option<Input>, StoreError> {
        let Some(real) = self.real(path) else { return Ok(None) };
        let opened = fs::File::open(&real).and_then(|file| Ok((file.metadata()?, file)));
        match opened {
            Ok((about, file)) => {
                let writable = about.permissions().mode() & 0o222 != 0;
                Ok(Some(Input { file, shown: real.display().to_string(), length: about.len(), writable }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed("open", path, &error)),
        }
    }

    /// All bytes of a file; none if it is not there.
    pub(crate) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(input) = self.open(path)? else { return Ok(None) };
        if input.length > WHOLE_BYTES_MAX {
            return Err(input.damaged(0, "it is too long"));
        }
        Ok(Some(input.read(0, input.length as usize)?))
    }

    /// What is in a directory, by name; nothing if it is not there.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<Entry>, StoreError> {
        let mut found = Vec::new();
        if let Some((_, paths)) = &self.backup {
            let within = |p: &String| p.strip_prefix(path)?.strip_prefix('/').map(str::to_owned);
            let names = paths.keys().filter_map(within);
            return Ok(names.map(|name| Entry { name, is_directory: false }).collect());
        }
        let real = if path.is_empty() { self.root.clone() } else { self.root.join(path) };
        let entries = match fs::read_dir(real) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_empty() => return Ok(found),
            Err(error) => return Err(self.failed("list", path, &error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| self.failed("list", path, &error))?;
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            found.push(Entry { name: entry.file_name().to_string_lossy().into_owned(), is_directory });
        }
        found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn failed(&self, action: &'static str, path: &str, error: &io::Error) -> StoreError {
        StoreError::Io { action, path: self.show(path), error: error.to_string() }
    }
}

/// A file that is open for reading.
#[derive(Debug)]
pub(crate) struct Input {
    file: fs::File,
    pub(crate) shown: String,
    pub(crate) length: u64,
    /// Whether its permissions let anybody write it.
    pub(crate) writable: bool,
}

impl Input {
    /// Reads up to `length` bytes at `offset`; fewer only at the end of the file.
    pub(crate) fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; length.min(usize::try_from(self.length.saturating_sub(offset)).unwrap_or(0))];
        let mut done = 0;
        while done < bytes.len() {
            match self.file.read_at(&mut bytes[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let path = self.shown.clone();
                    return Err(StoreError::Io { action: "read", path, error: error.to_string() });
                }
            }
        }
        bytes.truncate(done);
        progress::add_read(done);
        Ok(bytes)
    }

    pub(crate) fn damaged(&self, offset: u64, what: impl Into<String>) -> StoreError {
        StoreError::Damaged { path: self.shown.clone(), offset, what: what.into() }
    }
}
