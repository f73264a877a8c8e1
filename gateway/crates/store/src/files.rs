//! The file layer under the journal: few operations, each of which can fail, and a simulation beside the real one.
//!
//! Names are given relative to the data directory.

pub(crate) mod mem;
pub(crate) mod real;
#[cfg(test)]
pub(crate) mod sim;

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use crate::StoreError;

/// A directory tree.
pub(crate) trait Files: Send + Sync + Debug {
    /// Creates a directory if it is not there, and its parents.
    fn make_directory(&self, path: &str) -> io::Result<()>;
    /// The names in a directory.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;
    /// Creates a file that is not there yet and reserves its space.
    fn create(&self, path: &str, reserve: u64) -> io::Result<Arc<dyn File>>;
    /// Opens a file for reading and syncing; none if it is not there.
    fn open(&self, path: &str) -> io::Result<Option<Arc<dyn File>>>;
    /// Renames a file, over another one if that exists.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &str) -> io::Result<()>;
    /// Makes creations, renames and removals in a directory durable.
    fn sync_directory(&self, path: &str) -> io::Result<()>;
    /// Locks a file for as long as the guard lives; none if another process has it.
    fn lock(&self, path: &str) -> io::Result<Option<Box<dyn Lock>>>;
    /// The path as the user knows it, for messages.
    fn show(&self, path: &str) -> String;
}

/// Holds a lock until dropped.
pub(crate) trait Lock: Send + Sync + Debug {
    /// Whether the locked file is still the one at its path. Where that cannot be seen it is taken to be so.
    fn is_in_place(&self) -> bool;
}

/// Whoever is about to use a path asks first whether the directory is still the one that was locked: a file handle
/// goes on to work in a directory that nobody can find any more, and a path leads into another one.
pub(crate) fn still_ours(files: &dyn Files, lock: &dyn Lock) -> Result<(), StoreError> {
    if lock.is_in_place() { Ok(()) } else { Err(StoreError::Replaced { directory: files.show("") }) }
}

/// An open file, which stays readable after its removal.
pub(crate) trait File: Send + Sync + Debug {
    /// Reads up to the length of the buffer; fewer bytes only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all bytes.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes content and length durable.
    fn sync(&self) -> io::Result<()>;
    fn length(&self) -> io::Result<u64>;
    /// Makes the file longer, up to `length`, and reserves the space for that. After a failure any part of it may be
    /// there; after a crash too, until the next sync.
    fn reserve(&self, length: u64) -> io::Result<()>;
    /// Shortens the file, and gives back the space behind its new end.
    fn set_length(&self, length: u64) -> io::Result<()>;
}

/// What went wrong with which file.
pub(crate) fn failed(
    files: &dyn Files,
    action: &'static str,
    path: &str,
) -> impl FnOnce(io::Error) -> StoreError + use<> {
    let path = files.show(path);
    move |error| StoreError::Io { action, path, error: error.to_string() }
}
