//! A consistent point of a store, and how it is copied: into a new directory, or onto an earlier backup.
//!
//! Nothing that an earlier list names is written again or removed before the new list is durable. So whenever a copy
//! is cut off, the directory holds the earlier backup, or the new one, or (the first time) none.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::backup::BackupReport;
use super::manifest::{self, Manifest, Stored};
use super::progress;
use super::segment::{self, Footer, footer_of_file};
use crate::bodies::{self, BodyName};
use crate::files::real::RealFiles;
use crate::files::{File, Files, failed};
use crate::format::VERSION;
use crate::format::group::{GroupHeader, HEADER};
use crate::layout::Spot;
use crate::{SnapshotTicket, StoreError};

/// Bytes copied at once, and with a running store also made durable at once: its own syncs wait for no more than that.
const PIECE_BYTES: usize = 512 << 10;
/// With a running store the copy rests after each piece as long as that took to become durable, but not longer.
const REST_MAX: Duration = Duration::from_millis(100);

/// The parts of a store at one point. Whoever makes it sees to it that body files and checkpoint belong together, and
/// that the files of the bodies stay until the copy is done; the segments are held open here.
#[derive(Debug)]
pub struct Snapshot {
    /// Where the files of bodies are read.
    pub(crate) files: Arc<dyn Files>,
    /// When this is, in milliseconds since 1970.
    pub(crate) time_ms: u64,
    /// The start that is running, or was the last one.
    pub(crate) start: u32,
    /// The checkpoint's position, and its file's bytes.
    pub(crate) position: Spot,
    pub(crate) checkpoint: Vec<u8>,
    pub(crate) segments: Vec<SegmentPart>,
    /// The files that live messages name.
    pub(crate) bodies: Vec<BodyName>,
    /// While this is there, a running store removes and reuses none of the files.
    pub(crate) held: Option<Box<dyn Debug + Send>>,
}

/// What of a segment is needed.
#[derive(Debug)]
pub(crate) struct SegmentPart {
    pub(crate) number: u32,
    pub(crate) file: Arc<dyn File>,
    /// Groups before this must verify.
    pub(crate) end: u64,
    /// This much is copied.
    pub(crate) length: Length,
}

/// How much of a segment is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// Up to where the groups end that are needed: for the segment of the checkpoint's position.
    ToEnd,
    /// All of it if it has its footer, else as [`Length::ToEnd`].
    Sealed,
    /// So many bytes, whatever they are.
    Bytes(u64),
}

impl SegmentPart {
    /// The segment in which the checkpoint's position lies.
    pub(crate) fn cut(number: u32, end: u64, file: Arc<dyn File>) -> Self {
        Self { number, file, end, length: Length::ToEnd }
    }

    /// A segment before that one.
    pub(crate) fn listed(number: u32, end: u64, file: Arc<dyn File>) -> Self {
        Self { number, file, end, length: Length::Sealed }
    }
}

impl Snapshot {
    /// The point of a running store for which it gave the ticket; `directory` is its data directory, `time_ms` is now
    /// in milliseconds since 1970. Waits until the point is durable.
    pub fn of(ticket: SnapshotTicket, directory: &Path, time_ms: u64) -> Result<Self, StoreError> {
        let parts = ticket.parts()?;
        let checkpoint = &parts.checkpoint;
        let ends: BTreeMap<u32, u32> = checkpoint.segments.iter().map(|s| (s.number, s.end)).collect();
        let of_segment = |number: u32, file: &Arc<dyn File>| {
            let end = u64::from(*ends.get(&number)?);
            let cut = number == checkpoint.position.segment;
            let make = if cut { SegmentPart::cut } else { SegmentPart::listed };
            Some(make(number, end, Arc::clone(file)))
        };
        let segments =
            parts.segments.iter().filter_map(|s| of_segment(s.number, &s.file)).collect::<Vec<_>>();
        if segments.len() != ends.len() {
            return Err(refused(
                directory.display().to_string(),
                "a segment of the checkpoint is not open (our fault)",
            ));
        }
        let mut bodies: Vec<_> = parts.bodies.iter().map(|body| body.name).collect();
        bodies.sort_unstable_by_key(|name| name.number);
        bodies.dedup();
        Ok(Self {
            files: Arc::new(RealFiles::new(directory)),
            time_ms,
            start: checkpoint.start,
            position: checkpoint.position,
            checkpoint: checkpoint.encode(),
            segments,
            bodies,
            held: Some(Box::new(parts)),
        })
    }

    /// Copies it into `to`, which is not there, empty, or (`incremental`) an earlier backup. All groups that are
    /// copied are verified. Blocks, and rests in between while the store is running.
    pub fn copy_to(&self, to: &Path, incremental: bool) -> Result<BackupReport, StoreError> {
        let inside = |data: &Path, to: &Path| {
            let data = std::fs::canonicalize(data).ok();
            // The last parts of the target may not be there yet.
            let there = to.ancestors().find_map(|part| std::fs::canonicalize(part).ok());
            let there = there.or_else(|| std::env::current_dir().ok());
            data.zip(there).is_some_and(|(data, there)| there.starts_with(data))
        };
        let refuse = |what: &str| refused(to.display().to_string(), what);
        if inside(Path::new(&self.files.show("")), to) {
            return Err(refuse("it is inside the data directory"));
        }
        let earlier = earlier(to, incremental)?;
        let mut report = self.copy_into(&RealFiles::new(to), earlier.as_ref())?;
        report.to = to.display().to_string();
        Ok(report)
    }

    /// The copy itself, on any files.
    pub(crate) fn copy_into(
        &self,
        to: &dyn Files,
        earlier: Option<&Manifest>,
    ) -> Result<BackupReport, StoreError> {
        for directory in ["", segment::DIRECTORY, bodies::DIRECTORY] {
            to.make_directory(directory).map_err(failed(to, "create", directory))?;
        }
        let is_paced = self.held.is_some();
        let mut copy = Copy { to, earlier, is_paced, list: Vec::new(), report: BackupReport::default() };
        for part in &self.segments {
            self.segment(part, &mut copy)?;
        }
        for name in &self.bodies {
            self.body(name, &mut copy)?;
        }
        let path = super::survey::CHECKPOINT;
        let mut file = copy.begin(path)?;
        file.write(&self.checkpoint)?;
        copy.end(path, file)?;
        for directory in [bodies::DIRECTORY, segment::DIRECTORY, ""] {
            to.sync_directory(directory).map_err(failed(to, "sync", directory))?;
        }
        let list = Manifest {
            format: VERSION,
            time_ms: self.time_ms,
            start: self.start,
            position: self.position,
            files: copy.list,
        };
        write_list(to, &list)?;
        let mut report = copy.report;
        report.removed = remove_others(to, &list);
        report.time_ms = self.time_ms;
        report.start = self.start;
        report.position = self.position.to_string();
        Ok(report)
    }

    fn segment(&self, part: &SegmentPart, copy: &mut Copy<'_>) -> Result<(), StoreError> {
        let path = segment::path_of(part.number);
        let shown = self.files.show(&path);
        let io = |error: std::io::Error| StoreError::Io {
            action: "read",
            path: shown.clone(),
            error: error.to_string(),
        };
        let length = match part.length {
            Length::ToEnd => part.end,
            Length::Bytes(bytes) => bytes,
            Length::Sealed => match footer_of_file(part.number, part.file.as_ref(), &io)? {
                Footer::Good(trailer, _) if u64::from(trailer.end) >= part.end => {
                    let length = part.file.length().map_err(io)?;
                    if copy.keep_sealed(part.number, length, &trailer)? {
                        return Ok(());
                    }
                    length
                }
                Footer::Good(..) | Footer::None | Footer::Broken => part.end,
            },
        };
        let mut file = copy.begin(&path)?;
        let mut reader = Reader { part, shown: &shown, at: 0 };
        while reader.at < part.end {
            reader.group(&mut file)?;
        }
        while reader.at < length {
            let wanted = (length - reader.at).min(PIECE_BYTES as u64) as usize;
            let bytes = reader.bytes(wanted)?;
            if bytes.len() < wanted {
                return Err(reader.damaged("the file is shorter than what is needed of it"));
            }
            file.write(&bytes)?;
        }
        copy.end(&path, file)
    }

    fn body(&self, name: &BodyName, copy: &mut Copy<'_>) -> Result<(), StoreError> {
        let path = bodies::path_of(name.number);
        if copy.keep(&path, name.length, Some(name.checksum))? {
            return Ok(());
        }
        let files = self.files.as_ref();
        let damaged =
            |what: &str| StoreError::Damaged { path: files.show(&path), offset: 0, what: what.to_owned() };
        let source = files.open(&path).map_err(failed(files, "open", &path))?;
        let source = source.ok_or_else(|| damaged("the file of a body is missing"))?;
        let mut file = copy.begin(&path)?;
        let mut buffer = vec![0; PIECE_BYTES];
        while file.length < name.length {
            let wanted = buffer.len().min(usize::try_from(name.length - file.length).unwrap_or(usize::MAX));
            let read = source.read_at(&mut buffer[..wanted], file.length);
            let read = read.map_err(failed(files, "read", &path))?;
            if read == 0 {
                return Err(damaged("the file of a body has another length"));
            }
            progress::add_read(read);
            file.write(&buffer[..read])?;
        }
        if file.checksum.clone().finalize() != name.checksum {
            return Err(damaged("the file of a body does not verify"));
        }
        copy.end(&path, file)
    }
}

fn refused(path: String, what: &str) -> StoreError {
    StoreError::Io { action: "make a backup in", path, error: what.to_owned() }
}

/// The earlier backup in the target, if it may be there.
fn earlier(to: &Path, incremental: bool) -> Result<Option<Manifest>, StoreError> {
    let refuse = |what: &str| refused(to.display().to_string(), what);
    let earlier = Manifest::load(to)?;
    let empty = match std::fs::read_dir(to) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => return Err(refuse(&error.to_string())),
    };
    match (earlier, incremental) {
        (Some(earlier), true) => Ok(Some(earlier)),
        (Some(_), false) => Err(refuse(
            "there is a backup already: give another directory, or --incremental to bring it up to date",
        )),
        (None, _) if empty => Ok(None),
        (None, true) => Err(refuse(
            "it is not empty, and there is no finished backup in it: remove it, or give another directory",
        )),
        (None, false) => Err(refuse("it is not empty")),
    }
}

fn write_list(to: &dyn Files, list: &Manifest) -> Result<(), StoreError> {
    let new = manifest::NEW;
    if to.open(new).map_err(failed(to, "open", new))?.is_some() {
        to.remove(new).map_err(failed(to, "remove", new))?;
    }
    let file = to.create(new, 0).map_err(failed(to, "create", new))?;
    file.write_at(list.encode().as_bytes(), 0).map_err(failed(to, "write", new))?;
    file.sync().map_err(failed(to, "sync", new))?;
    to.rename(new, manifest::NAME).map_err(failed(to, "rename", new))?;
    to.sync_directory("").map_err(failed(to, "sync", ""))
}

/// Removes what the list does not name. What stays is in nobody's way: the next copy removes it.
fn remove_others(to: &dyn Files, list: &Manifest) -> u64 {
    let named: HashSet<&str> = list.files.iter().map(|file| file.stored.as_str()).collect();
    let mut removed = 0;
    for directory in [segment::DIRECTORY, bodies::DIRECTORY, ""] {
        for name in to.list(directory).unwrap_or_default() {
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            // At the top only what is ours: somebody may keep a note beside a backup.
            let ours = !directory.is_empty() || path.starts_with(super::survey::CHECKPOINT);
            if ours && !named.contains(path.as_str()) && to.remove(&path).is_ok() {
                removed += 1;
            }
        }
    }
    removed
}

/// Reads a segment from its beginning on.
#[derive(Debug)]
struct Reader<'a> {
    part: &'a SegmentPart,
    shown: &'a str,
    at: u64,
}

impl Reader<'_> {
    fn damaged(&self, what: &str) -> StoreError {
        StoreError::Damaged { path: self.shown.to_owned(), offset: self.at, what: what.to_owned() }
    }

    /// The next bytes; fewer at the end of the file.
    fn bytes(&mut self, length: usize) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; length];
        let read = self.part.file.read_at(&mut bytes, self.at).map_err(|error| StoreError::Io {
            action: "read",
            path: self.shown.to_owned(),
            error: error.to_string(),
        })?;
        bytes.truncate(read);
        progress::add_read(read);
        self.at += read as u64;
        Ok(bytes)
    }

    /// Copies the next group, verified.
    fn group(&mut self, to: &mut Target) -> Result<(), StoreError> {
        let begin = self.at;
        let head = self.bytes(HEADER as usize)?;
        self.at = begin;
        let header = GroupHeader::decode(&head).map(|decoded| decoded.0);
        let here = header.filter(|header| {
            header.spot.segment == self.part.number && u64::from(header.spot.offset) == begin
        });
        let header = here.ok_or_else(|| self.damaged("the header of a group does not verify"))?;
        let end = u64::from(header.end().offset);
        let length = self.part.file.length().map_err(|_| self.damaged("the file has no length"))?;
        let payload_end = begin + HEADER + u64::from(header.payload_length);
        if payload_end > length {
            return Err(self.damaged("a group ends behind the end of the file"));
        }
        let mut bytes = self.bytes((end.min(length) - begin) as usize)?;
        self.at = begin;
        let payload = bytes.get(HEADER as usize..(payload_end - begin) as usize);
        if payload.is_none_or(|payload| crc32fast::hash(payload) != header.payload_checksum) {
            return Err(self.damaged("a group does not verify"));
        }
        // A file may end just behind the payload.
        bytes.resize((end - begin) as usize, 0);
        to.write(&bytes)?;
        self.at = end;
        Ok(())
    }
}

/// A copy that is being made.
struct Copy<'a> {
    to: &'a dyn Files,
    earlier: Option<&'a Manifest>,
    /// Whether a store is running beside.
    is_paced: bool,
    list: Vec<Stored>,
    report: BackupReport,
}

/// A file of it.
struct Target {
    stored: String,
    shown: String,
    file: Arc<dyn File>,
    length: u64,
    checksum: crc32fast::Hasher,
    is_paced: bool,
    /// Bytes that are not durable yet.
    pending: usize,
}

impl Target {
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.len().min(PIECE_BYTES - self.pending));
            self.file.write_at(piece, self.length).map_err(|error| self.failed("write", &error))?;
            progress::add_written(piece.len());
            self.length += piece.len() as u64;
            self.checksum.update(piece);
            self.pending += piece.len();
            if self.pending == PIECE_BYTES {
                self.end_piece()?;
            }
            rest = more;
        }
        Ok(())
    }

    /// The disk is the store's, which must never wait behind tens of megabytes of a copy.
    fn end_piece(&mut self) -> Result<(), StoreError> {
        self.pending = 0;
        if self.is_paced {
            let began = Instant::now();
            self.file.sync().map_err(|error| self.failed("sync", &error))?;
            std::thread::sleep(began.elapsed().min(REST_MAX));
        }
        Ok(())
    }

    fn failed(&self, action: &'static str, error: &std::io::Error) -> StoreError {
        StoreError::Io { action, path: self.shown.clone(), error: error.to_string() }
    }
}

impl Copy<'_> {
    /// Takes over a file of the earlier backup, if it is there and as it should be. It was verified when it was
    /// written, and a restore verifies it again.
    fn keep(&mut self, path: &str, length: u64, checksum: Option<u32>) -> Result<bool, StoreError> {
        let Some(earlier) = self.earlier.and_then(|earlier| earlier.find(path)) else { return Ok(false) };
        if earlier.length != length || checksum.is_some_and(|checksum| checksum != earlier.checksum) {
            return Ok(false);
        }
        let file = self.to.open(&earlier.stored).map_err(failed(self.to, "open", &earlier.stored))?;
        let Some(file) = file else { return Ok(false) };
        if file.length().map_err(failed(self.to, "read", &earlier.stored))? != length {
            return Ok(false);
        }
        self.report.files_kept += 1;
        self.report.bytes_kept += length;
        self.list.push(earlier.clone());
        Ok(true)
    }

    /// The same for a sealed segment: it is the same one if its footer says the same of each record.
    fn keep_sealed(
        &mut self,
        number: u32,
        length: u64,
        trailer: &crate::format::footer::Trailer,
    ) -> Result<bool, StoreError> {
        let path = segment::path_of(number);
        let Some(earlier) = self.earlier.and_then(|earlier| earlier.find(&path)) else { return Ok(false) };
        let stored = &earlier.stored;
        let file = self.to.open(stored).map_err(failed(self.to, "open", stored))?;
        let Some(file) = file else { return Ok(false) };
        let shown = self.to.show(stored);
        let io = |error: std::io::Error| StoreError::Io {
            action: "read",
            path: shown.clone(),
            error: error.to_string(),
        };
        match footer_of_file(number, file.as_ref(), &io)? {
            Footer::Good(there, _) if there == *trailer => self.keep(&path, length, None),
            Footer::Good(..) | Footer::None | Footer::Broken => Ok(false),
        }
    }

    /// Begins a file under a name that the earlier backup does not use.
    fn begin(&self, path: &str) -> Result<Target, StoreError> {
        let to = self.to;
        let used = |name: &str| self.earlier.is_some_and(|e| e.files.iter().any(|file| file.stored == name));
        let mut stored = path.to_owned();
        let mut number = 1;
        while used(&stored) {
            stored = format!("{path}-{number}");
            number += 1;
        }
        // Left by a copy that was cut off.
        if to.open(&stored).map_err(failed(to, "open", &stored))?.is_some() {
            to.remove(&stored).map_err(failed(to, "remove", &stored))?;
        }
        let file = to.create(&stored, 0).map_err(failed(to, "create", &stored))?;
        Ok(Target {
            shown: to.show(&stored),
            stored,
            file,
            length: 0,
            checksum: crc32fast::Hasher::new(),
            is_paced: self.is_paced,
            pending: 0,
        })
    }

    fn end(&mut self, path: &str, target: Target) -> Result<(), StoreError> {
        let Target { stored, file, length, checksum, .. } = target;
        file.sync().map_err(failed(self.to, "sync", &stored))?;
        self.report.files_copied += 1;
        self.report.bytes_copied += length;
        self.list.push(Stored { path: path.to_owned(), stored, length, checksum: checksum.finalize() });
        Ok(())
    }
}
