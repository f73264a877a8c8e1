//! `store restore`: a data directory from a backup, and what that means for once and once only (ONCE.md 1).

use std::path::Path;

use super::manifest::{Manifest, NAME, Stored};
use super::progress;
use super::segment;
use super::source::Source;
use super::unfinished;
use crate::StoreError;
use crate::bodies;
use crate::files::real::RealFiles;
use crate::files::{Files, failed};
use crate::format::VERSION;

/// The empty file that makes the first start take a new identity (FORMAT.md 1).
pub(crate) const RESTORED: &str = "restored";
/// Bytes copied at once.
const PIECE_BYTES: usize = 1 << 20;

/// What a restore has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// Where the store is.
    pub to: String,
    /// When the backup was made, in milliseconds since 1970.
    pub time_ms: u64,
    /// The start of the store at that time.
    pub start: u32,
    /// The checkpoint's position, for people.
    pub position: String,
    /// Files, and their bytes.
    pub files: u64,
    /// Bytes that were written.
    pub bytes: u64,
    /// What it means.
    pub meaning: Vec<String>,
    /// What to do.
    pub to_do: Vec<String>,
}

/// Makes a data directory in `to`, which is not there or empty, of the backup in `from`.
pub fn restore(from: &Path, to: &Path) -> Result<RestoreReport, StoreError> {
    let source = Source::new(from)?;
    let Some(manifest) = source.manifest() else {
        return Err(StoreError::Damaged {
            path: from.join(NAME).display().to_string(),
            offset: 0,
            what: "it is missing: this is no backup, or one that was not finished".to_owned(),
        });
    };
    if manifest.format > VERSION {
        let directory = from.display().to_string();
        return Err(StoreError::Format { directory, found: manifest.format, known: VERSION });
    }
    must_be_empty(to, "restore into")?;
    for file in &manifest.files {
        verify(&source, file, |_, _| Ok(()))?;
    }
    let files = RealFiles::new(to);
    let bytes = write(&source, manifest, &files)?;
    Ok(RestoreReport {
        to: to.display().to_string(),
        time_ms: manifest.time_ms,
        start: manifest.start,
        position: manifest.position.to_string(),
        files: manifest.files.len() as u64,
        bytes,
        meaning: MEANING.iter().map(|text| (*text).to_owned()).collect(),
        to_do: TO_DO.iter().map(|text| (*text).to_owned()).collect(),
    })
}

/// Refuses a directory with something in it.
pub(crate) fn must_be_empty(to: &Path, action: &'static str) -> Result<(), StoreError> {
    let refuse = |error: String| Err(StoreError::Io { action, path: to.display().to_string(), error });
    match std::fs::read_dir(to).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) if std::fs::read(to.join(unfinished::FORMAT)).is_ok_and(|text| unfinished::is(&text)) => {
            refuse("what was begun there was cut off: remove the directory".to_owned())
        }
        Ok(false) => refuse("it is not empty: give a directory that is not there yet".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => refuse(error.to_string()),
    }
}

/// Reads a file of the backup piece by piece, and compares its checksum at the end.
fn verify(
    source: &Source,
    file: &Stored,
    mut take: impl FnMut(&[u8], u64) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let damaged =
        |what: &str| StoreError::Damaged { path: source.show(&file.path), offset: 0, what: what.to_owned() };
    let input = source.open(&file.path)?;
    let input = input.ok_or_else(|| damaged("the list of the backup names it, and it is missing"))?;
    if input.length != file.length {
        return Err(damaged("it has another length than when it was written"));
    }
    let mut checksum = crc32fast::Hasher::new();
    let mut offset = 0;
    while offset < file.length {
        let bytes = input.read(offset, PIECE_BYTES)?;
        if bytes.is_empty() {
            return Err(damaged("it became shorter while it was read"));
        }
        checksum.update(&bytes);
        take(&bytes, offset)?;
        offset += bytes.len() as u64;
    }
    if checksum.finalize() != file.checksum {
        return Err(damaged("it is not as it was written"));
    }
    Ok(())
}

/// Writes everything, the version last: what is cut off before is no store, and a start refuses it.
pub(super) fn write(source: &Source, manifest: &Manifest, to: &dyn Files) -> Result<u64, StoreError> {
    to.make_directory("").map_err(failed(to, "create", ""))?;
    unfinished::begin(to)?;
    for directory in [segment::DIRECTORY, bodies::DIRECTORY] {
        to.make_directory(directory).map_err(failed(to, "create", directory))?;
    }
    let mut bytes = 0;
    for stored in &manifest.files {
        let path = &stored.path;
        let file = to.create(path, 0).map_err(failed(to, "create", path))?;
        verify(source, stored, |piece, offset| {
            progress::add_written(piece.len());
            file.write_at(piece, offset).map_err(failed(to, "write", path))
        })?;
        file.sync().map_err(failed(to, "sync", path))?;
        bytes += stored.length;
    }
    for directory in [segment::DIRECTORY, bodies::DIRECTORY] {
        to.sync_directory(directory).map_err(failed(to, "sync", directory))?;
    }
    mark_restored(to)?;
    unfinished::end(to, manifest.format)?;
    Ok(bytes)
}

/// Makes the next start take a new identity.
pub(crate) fn mark_restored(to: &dyn Files) -> Result<(), StoreError> {
    let file = to.create(RESTORED, 0).map_err(failed(to, "create", RESTORED))?;
    file.sync().map_err(failed(to, "sync", RESTORED))?;
    to.sync_directory("").map_err(failed(to, "sync", ""))
}

/// ONCE.md 1 to 4.
const MEANING: &[&str] = &[
    "This is the store as it was when the backup was made. At its first start it takes a new identity, so that nothing \
     of the time in between is taken for something of the time to come.",
    "Lost here is what was put after the backup was made, also what applications and devices were told is stored: \
     messages for devices, messages on local queues, definitions, and batches that were taken from a transmission queue.",
    "Devices may see again the messages that they confirmed after the backup was made: the store does not know of these \
     confirmations. Messages that were in doubt and are still noted by their device are not given twice.",
    "Applications may get again the messages on local queues that they got after the backup was made.",
    "Messages of devices to MQ that were in the outbox when the backup was made may be in MQ already.",
    "A remote queue manager knows the old identity by its synchronization message: transfers that were open then are in \
     doubt, and the source or the outbox stops and says so instead of guessing.",
];

const TO_DO: &[&str] = &[
    "Keep the old data directory: store salvage may save what was put after the backup.",
    "Never start the old directory again once this one was started: two stores would hold the same messages.",
    "Start the service with --data on the new directory; look at mqe-gateway status for sources that have stopped.",
    "For each that has: compare the synchronization message with what arrived, then say whether the transfer is to be \
     taken as done or to be done again.",
    "Tell those who own the devices that messages confirmed since the backup can arrive a second time.",
];
