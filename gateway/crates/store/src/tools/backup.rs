//! `store backup` of a store that nobody uses: everything that the next start would read, as it is.

use std::path::Path;
use std::sync::Arc;

use super::snapshot::{Length, SegmentPart, Snapshot};
use super::source::Source;
use super::stat::known_format;
use super::survey::{CHECKPOINT, FaultKind, Found, Options, Survey, survey};
use crate::StoreError;
use crate::files::real::RealFiles;
use crate::files::{Files, failed};
use crate::format::checkpoint::Checkpoint;

/// What a backup has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackupReport {
    /// Where it is.
    pub to: String,
    /// The point of time, in milliseconds since 1970.
    pub time_ms: u64,
    /// The start of the store.
    pub start: u32,
    /// The checkpoint's position, for people.
    pub position: String,
    /// Files that were copied, and their bytes.
    pub files_copied: u64,
    /// Bytes that were copied.
    pub bytes_copied: u64,
    /// Files of the earlier backup that still hold, and their bytes.
    pub files_kept: u64,
    /// Bytes that were not copied again.
    pub bytes_kept: u64,
    /// Files of the earlier backup that nothing needs any more.
    pub removed: u64,
}

/// Backs up a store that nobody uses. `time_ms` is now, in milliseconds since 1970.
pub fn backup(
    directory: &Path,
    to: &Path,
    incremental: bool,
    time_ms: u64,
) -> Result<BackupReport, StoreError> {
    let source = Source::new(directory)?;
    let _held = source.hold()?;
    known_format(&source, directory)?;
    if source.manifest().is_some() {
        return Err(StoreError::Io {
            action: "back up",
            path: directory.display().to_string(),
            error: "it is a backup itself: copy the directory".to_owned(),
        });
    }
    let survey = survey(&source, Options::default())?;
    let checkpoint = whole(&source, &survey)?;
    let files: Arc<dyn Files> = Arc::new(RealFiles::new(directory));
    let mut segments = Vec::new();
    for (number, part) in survey.parts.iter().filter(|(_, part)| !part.leftover) {
        let path = super::segment::path_of(*number);
        let file = files.open(&path).map_err(failed(files.as_ref(), "open", &path))?;
        let Some(file) = file else { continue };
        let end = u64::from(part.end);
        if *number >= checkpoint.position.segment {
            // What lies behind the groups that count belongs to the question whether they do.
            segments.push(SegmentPart { number: *number, file, end: 0, length: Length::Bytes(part.used) });
        } else {
            segments.push(SegmentPart::listed(*number, end, file));
        }
    }
    let mut bodies: Vec<_> = survey.contents.messages.values().filter_map(|message| message.file).collect();
    bodies.sort_unstable_by_key(|name| name.number);
    bodies.dedup();
    let bytes = source.read(CHECKPOINT)?.unwrap_or_default();
    let start = survey.newest_start;
    let position = checkpoint.position;
    let snapshot =
        Snapshot { files, time_ms, start, position, checkpoint: bytes, segments, bodies, held: None };
    snapshot.copy_to(to, incremental)
}

/// The checkpoint of a store in which nothing that counts is damaged.
fn whole<'a>(source: &Source, survey: &'a Survey) -> Result<&'a Checkpoint, StoreError> {
    let damaged =
        |path: &str, offset: u64, what: String| StoreError::Damaged { path: source.show(path), offset, what };
    let fault =
        survey.faults.iter().find(|fault| !matches!(fault.kind, FaultKind::Footer | FaultKind::Unread));
    if let Some(fault) = fault {
        let path = super::segment::path_of(fault.segment);
        return Err(damaged(&path, fault.offset, fault.what.clone()));
    }
    match &survey.checkpoint {
        Found::Good(checkpoint, _) => Ok(checkpoint),
        Found::Missing => Err(damaged(CHECKPOINT, 0, "it is missing".to_owned())),
        Found::Broken => Err(damaged(CHECKPOINT, 0, "it does not verify".to_owned())),
    }
}
