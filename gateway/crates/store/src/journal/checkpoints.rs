//! The checkpoint's file: written beside the old one, synced, renamed, and the directory synced.

use super::space::Space;
use crate::StoreError;
use crate::files::{Files, Lock, failed, still_ours};
use crate::format::checkpoint::Checkpoint;
use crate::planted::{Bug, is_planted};

pub(crate) const NAME: &str = "checkpoint";
const NEW: &str = "checkpoint.new";

/// How a checkpoint failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The old one still holds: nothing is lost but the attempt.
    GivenUp(StoreError),
    /// It is not known which one holds.
    Unknown(StoreError),
}

impl Failure {
    pub(crate) fn into_error(self) -> StoreError {
        match self {
            Self::GivenUp(error) | Self::Unknown(error) => error,
        }
    }
}

/// Writes a checkpoint. Each attempt uses a new file: a failed sync is never repeated (STORE.md 4).
pub(crate) fn write(
    files: &dyn Files,
    lock: &dyn Lock,
    space: &mut Space,
    checkpoint: &Checkpoint,
) -> Result<(), Failure> {
    still_ours(files, lock).map_err(Failure::Unknown)?;
    let bytes = checkpoint.encode();
    let mut prepare = || {
        if files.open(NEW).map_err(failed(files, "open", NEW))?.is_some() {
            files.remove(NEW).map_err(failed(files, "remove", NEW))?;
        }
        let create = |files: &dyn Files| files.create(NEW, bytes.len() as u64);
        let file = space.with_room(create).map_err(failed(files, "create", NEW))?;
        file.write_at(&bytes, 0).map_err(failed(files, "write", NEW))?;
        if is_planted(Bug::CheckpointNotSynced) {
            return Ok(());
        }
        file.sync().map_err(failed(files, "sync", NEW))
    };
    let prepared = prepare();
    // Also when it failed: that may be why. In another store's directory our checkpoint would be damage.
    still_ours(files, lock).map_err(Failure::Unknown)?;
    prepared.map_err(Failure::GivenUp)?;
    files.rename(NEW, NAME).map_err(failed(files, "rename", NEW)).map_err(Failure::Unknown)?;
    if is_planted(Bug::CheckpointRenameNotSynced) {
        return Ok(());
    }
    files.sync_directory("").map_err(failed(files, "sync", "")).map_err(Failure::Unknown)
}

/// Reads the checkpoint. It is synced again before anything is dropped on its word: the page cache may show what the
/// disk does not have.
pub(crate) fn read(files: &dyn Files) -> Result<Checkpoint, StoreError> {
    let damaged =
        |what: &str| StoreError::Damaged { path: files.show(NAME), offset: 0, what: what.to_owned() };
    let file = files.open(NAME).map_err(failed(files, "open", NAME))?;
    let file = file.ok_or_else(|| damaged("it is missing"))?;
    let length = file.length().map_err(failed(files, "read", NAME))?;
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| damaged("it is too long"))?];
    let read = file.read_at(&mut bytes, 0).map_err(failed(files, "read", NAME))?;
    let Some((checkpoint, whole)) = Checkpoint::decode(&bytes[..read]) else {
        return Err(damaged("the checkpoint does not verify"));
    };
    if !whole {
        tracing::warn!(path = files.show(NAME), "one of the checkpoint's two copies is damaged");
    }
    if is_planted(Bug::CheckpointNotResynced) {
        return Ok(checkpoint);
    }
    file.sync().map_err(failed(files, "sync", NAME))?;
    files.sync_directory("").map_err(failed(files, "sync", ""))?;
    Ok(checkpoint)
}
