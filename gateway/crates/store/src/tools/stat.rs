//! `store stat`: the figures of a store that nobody uses, or of a backup.

use std::path::Path;

use super::bodies;
use super::segment::DIRECTORY;
use super::source::Source;
use super::survey::{Found, Options, survey};
use crate::format::VERSION;
use crate::{SegmentStat, StoreError};

/// The figures of a store that is not running. Bytes by kind are those of the records that were read, dead ones
/// included: message, keyed, commit, back-out, prepare, moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoppedStat {
    /// The directory.
    pub directory: String,
    /// Whether it is a backup, and when it was made (milliseconds since 1970).
    pub backup_ms: Option<u64>,
    /// The checkpoint's position, for people.
    pub checkpoint: String,
    /// Where the journal ends, for people.
    pub end: String,
    /// The starts whose segments are there.
    pub starts: Vec<u32>,
    /// Live messages, those of prepared units included.
    pub messages: u64,
    /// Keys.
    pub keys: u64,
    /// Prepared units.
    pub prepared: u64,
    /// Units that the next start backs out.
    pub cut_off: u64,
    /// Files of bodies.
    pub body_files: u64,
    /// Their bytes.
    pub body_bytes: u64,
    /// Bytes of the records of live messages.
    pub live_bytes: u64,
    /// Bytes of records by kind.
    pub bytes_by_kind: [u64; 6],
    /// Bytes of segments, files kept for reuse or reserve, and bodies.
    pub disk_bytes: u64,
    /// Each segment.
    pub by_segment: Vec<SegmentStat>,
    /// Places that `store check` has more to say about.
    pub faults: u64,
}

/// Reads a store that nobody uses, or a backup.
pub fn stat(directory: &Path) -> Result<StoppedStat, StoreError> {
    let source = Source::new(directory)?;
    let _held = source.hold()?;
    known_format(&source, directory)?;
    let survey = survey(&source, Options::default())?;
    let files = bodies::list(&source)?.files;
    let body_bytes = files.iter().map(|(_, bytes)| bytes).sum();
    let mut other_bytes = 0;
    for name in &survey.others {
        other_bytes += source.open(&format!("{DIRECTORY}/{name}"))?.map_or(0, |input| input.length);
    }
    let places = survey.contents.places();
    let segments = survey.parts.iter().map(|(number, part)| SegmentStat {
        number: *number,
        bytes: u64::from(part.end),
        records: part.records,
        live: places.get(number).map_or(0, |records| records.len() as u32),
    });
    let checkpoint = match &survey.checkpoint {
        Found::Good(checkpoint, _) => checkpoint.position.to_string(),
        Found::Missing => "missing".to_owned(),
        Found::Broken => "damaged".to_owned(),
    };
    let messages = survey.contents.messages.values();
    let segment_bytes: u64 = survey.parts.values().map(|part| part.file_bytes).sum();
    Ok(StoppedStat {
        directory: directory.display().to_string(),
        backup_ms: source.manifest().map(|manifest| manifest.time_ms),
        checkpoint,
        end: survey.end.to_string(),
        starts: survey.starts.clone(),
        messages: survey.contents.messages.len() as u64,
        keys: survey.contents.keyed.len() as u64,
        prepared: survey.contents.units.values().filter(|unit| unit.prepared.is_some()).count() as u64,
        cut_off: survey.cut_off.len() as u64,
        body_files: files.len() as u64,
        body_bytes,
        live_bytes: messages.map(|message| u64::from(message.length)).sum(),
        bytes_by_kind: survey.bytes_by_kind,
        disk_bytes: segment_bytes + other_bytes + body_bytes,
        by_segment: segments.collect(),
        faults: survey.faults.len() as u64,
    })
}

/// Refuses what this program cannot read, and what is no store.
pub(crate) fn known_format(source: &Source, directory: &Path) -> Result<u32, StoreError> {
    let found = match source.manifest() {
        Some(manifest) => Some(manifest.format),
        None => {
            let bytes = source.read("format")?;
            let text = bytes.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
            text.and_then(|text| text.trim().parse().ok())
        }
    };
    match found {
        Some(found) if found > VERSION => {
            Err(StoreError::Format { directory: directory.display().to_string(), found, known: VERSION })
        }
        Some(found) => Ok(found),
        None => Err(StoreError::Damaged {
            path: source.show("format"),
            offset: 0,
            what: "there is no version number, so this is no store, or a damaged one".to_owned(),
        }),
    }
}
