//! Files of long bodies (STORE.md 5): written and synced by whoever has the bytes, before the record that names them.
//!
//! A file has a number of its own and is counted by the messages that name it; it goes when the death of the last one
//! is in a durable checkpoint. One that no record ever named goes with its handle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::files::{Files, failed};
use crate::planted::{Bug, is_planted};
use crate::{Id, StoreError};

/// Bodies longer than this belong into a file (STORE.md 1).
pub const BODY_FILE_BYTES: usize = 1 << 20;

/// The directory of the bodies.
pub(crate) const DIRECTORY: &str = "bodies";

/// The path of a body's file.
pub(crate) fn path_of(number: u64) -> String {
    format!("{DIRECTORY}/{number}")
}

/// What a record says of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BodyName {
    pub(crate) number: u64,
    pub(crate) length: u64,
    pub(crate) checksum: u32,
}

/// A file with the end of a body. It stays as long as somebody holds this, or a record names it.
#[derive(Debug, Clone)]
pub struct BodyFile {
    pub(crate) name: BodyName,
    pub(crate) guard: Arc<Guard>,
}

impl PartialEq for BodyFile {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for BodyFile {}

impl BodyFile {
    /// How many bytes it holds: these are the last ones of the body.
    pub fn length(&self) -> u64 {
        self.name.length
    }

    /// Whether somebody else holds it.
    pub(crate) fn is_held(&self) -> bool {
        Arc::strong_count(&self.guard) > 1
    }

    /// Removes it: the last record that named it is dead for good.
    pub(crate) fn remove(&self) {
        let (files, path) = (self.guard.files.as_ref(), path_of(self.name.number));
        if let Err(error) = files.remove(&path) {
            tracing::warn!(%error, path = files.show(&path), "the file of a body that nobody needs stays");
        }
    }

    /// Reads and verifies it.
    pub(crate) fn read(&self) -> Result<Vec<u8>, StoreError> {
        let BodyName { number, length, checksum } = self.name;
        let (files, path) = (self.guard.files.as_ref(), path_of(number));
        let damaged =
            |what: &str| StoreError::Damaged { path: files.show(&path), offset: 0, what: what.to_owned() };
        let file = files.open(&path).map_err(failed(files, "open", &path))?;
        let file = file.ok_or_else(|| damaged("the file of a body is missing"))?;
        if file.length().map_err(failed(files, "read", &path))? != length {
            return Err(damaged("the file of a body has another length"));
        }
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| damaged("it is too long"))?];
        let read = file.read_at(&mut bytes, 0).map_err(failed(files, "read", &path))?;
        if read != bytes.len() || crc32fast::hash(&bytes) != checksum {
            return Err(damaged("the file of a body does not verify"));
        }
        Ok(bytes)
    }
}

/// Removes the file when nobody holds it and no record names it.
#[derive(Debug)]
pub(crate) struct Guard {
    files: Arc<dyn Files>,
    number: u64,
    /// A record names it: the journal decides when it goes.
    named: AtomicBool,
}

impl Guard {
    /// A record names the file: from now on the journal decides when it goes.
    pub(crate) fn name(&self) {
        self.named.store(true, Ordering::Release);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.named.load(Ordering::Acquire) {
            let (files, path) = (Arc::clone(&self.files), path_of(self.number));
            let remove = move || {
                if let Err(error) = files.remove(&path) {
                    tracing::warn!(%error, path = files.show(&path), "the file of a body that nobody needs stays");
                }
            };
            // It may be long, and this may be the core's turn. A simulation does it in its order.
            if cfg!(test) {
                remove();
            } else if let Err(error) =
                std::thread::Builder::new().name("store-unlink".to_owned()).spawn(remove)
            {
                tracing::warn!(%error, "the file of a body that nobody needs stays until the next start");
            }
        }
    }
}

/// Writes the files of long bodies. Clones write the same store's.
#[derive(Debug, Clone)]
pub struct BodyFiles {
    files: Arc<dyn Files>,
    start: u32,
    next: Arc<AtomicU64>,
}

impl BodyFiles {
    pub(crate) fn new(files: Arc<dyn Files>, start: u32) -> Self {
        Self { files, start, next: Arc::new(AtomicU64::new(1)) }
    }

    /// Writes and syncs a file with these bytes, and its directory. Blocks; not for the core.
    pub fn write(&self, bytes: &[u8]) -> Result<BodyFile, StoreError> {
        let number = Id::new(self.start, self.next.fetch_add(1, Ordering::Relaxed)).as_u64();
        let (files, path) = (self.files.as_ref(), path_of(number));
        let name = BodyName { number, length: bytes.len() as u64, checksum: crc32fast::hash(bytes) };
        let file = files.create(&path, name.length).map_err(failed(files, "create", &path))?;
        // From here on whatever fails removes the file.
        let body = self.handle(name);
        file.write_at(bytes, 0).map_err(failed(files, "write", &path))?;
        if is_planted(Bug::BodyNotSynced) {
            return Ok(body);
        }
        file.sync().map_err(failed(files, "sync", &path))?;
        files.sync_directory(DIRECTORY).map_err(failed(files, "sync", DIRECTORY))?;
        Ok(body)
    }

    /// A handle on a file that is there.
    pub(crate) fn handle(&self, name: BodyName) -> BodyFile {
        let files = Arc::clone(&self.files);
        BodyFile {
            name,
            guard: Arc::new(Guard { files, number: name.number, named: AtomicBool::new(false) }),
        }
    }
}
