//! Reading messages outside of the core: from a batch while the journal has it in memory, then from a segment's file.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use bytes::Bytes;

use crate::batch::Batch;
use crate::files::{File, Files};
use crate::format::record;
use crate::{BodyFile, Id, Place, ReadRecord, Record, StoreError};

/// Enough for most records, so that one read does.
const FIRST_READ_BYTES: usize = 8192;

/// A segment's open file. Whoever holds it can read, also after the file was removed.
#[derive(Debug)]
pub(crate) struct SegmentFile {
    pub(crate) number: u32,
    pub(crate) path: String,
    shown: String,
    pub(crate) file: Arc<dyn File>,
}

impl SegmentFile {
    pub(crate) fn new(files: &dyn Files, number: u32, file: Arc<dyn File>) -> Self {
        let path = path_of(number);
        Self { number, shown: files.show(&path), path, file }
    }

    /// Reads up to `length` bytes at `offset`.
    pub(crate) fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; length];
        let read = self.file.read_at(&mut bytes, offset).map_err(|error| self.io("read", &error))?;
        bytes.truncate(read);
        Ok(bytes)
    }

    pub(crate) fn length(&self) -> Result<u64, StoreError> {
        self.file.length().map_err(|error| self.io("read", &error))
    }

    /// The record at `offset`, verified.
    pub(crate) fn record(&self, offset: u32) -> Result<Vec<u8>, StoreError> {
        let mut bytes = self.read(u64::from(offset), FIRST_READ_BYTES)?;
        let length = bytes.get(..4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
        if length as usize > bytes.len() {
            let room = self.length()?.saturating_sub(u64::from(offset));
            if u64::from(length) > room {
                return Err(self.damaged(offset, "a record ends behind the end of the file"));
            }
            bytes = self.read(u64::from(offset), length as usize)?;
        }
        match record::split(&bytes).map(<[u8]>::len) {
            Some(length) => {
                bytes.truncate(length);
                // Whoever keeps a small record shall not keep the room of the read.
                bytes.shrink_to_fit();
                Ok(bytes)
            }
            None => Err(self.damaged(offset, "the record does not verify")),
        }
    }

    /// The message `id` at `place`, verified; `file` holds the end of its body, if the record says that one does.
    pub(crate) fn read_message(
        &self,
        id: Id,
        place: Place,
        file: Option<&BodyFile>,
    ) -> Result<Record, StoreError> {
        let bytes = Bytes::from(self.record(place.offset)?);
        let head = record::head(&bytes);
        let entry = head.and_then(|head| head.recovered(place)).filter(|entry| entry.id == id);
        let (Some(head), Some(entry)) = (head, entry) else {
            return Err(StoreError::NotThere { id, place, what: "another record" });
        };
        let begin = record::MESSAGE_HEAD as usize + entry.envelope_length as usize;
        let inline = bytes.slice(begin..begin + entry.body_length as usize);
        let envelope = bytes.slice(record::MESSAGE_HEAD as usize..begin);
        if !head.has_file() {
            return Ok(Record { owner: entry.owner, envelope, body: inline, file: None });
        }
        let file = file.filter(|file| record::body_name(&bytes) == Some(file.name));
        let file = file.ok_or_else(|| self.damaged(place.offset, "the file of its body is not known"))?;
        let body = Bytes::from([&inline, file.read()?.as_slice()].concat());
        Ok(Record { owner: entry.owner, envelope, body, file: Some(file.clone()) })
    }

    pub(crate) fn damaged(&self, offset: u32, what: impl Into<String>) -> StoreError {
        StoreError::Damaged { path: self.shown.clone(), offset: u64::from(offset), what: what.into() }
    }

    fn io(&self, action: &'static str, error: &std::io::Error) -> StoreError {
        StoreError::Io { action, path: self.shown.clone(), error: error.to_string() }
    }
}

/// What one read of a [`Window`] brings.
const WINDOW_BYTES: usize = 64 << 10;

/// What was read of a segment last: neighbours come with one read.
#[derive(Debug, Default)]
pub(crate) struct Window {
    at: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// A copy of the record, verified, just as long as it is.
    pub(crate) fn record(
        &mut self,
        segment: &SegmentFile,
        offset: u32,
        length: u32,
    ) -> Result<Bytes, StoreError> {
        let (offset64, end) = (u64::from(offset), u64::from(offset) + u64::from(length));
        if offset64 < self.at || end > self.at + self.bytes.len() as u64 {
            if end > segment.length()? {
                return Err(segment.damaged(offset, "a record ends behind the end of the file"));
            }
            self.bytes = segment.read(offset64, WINDOW_BYTES.max(length as usize))?;
            self.at = offset64;
        }
        let begin = (offset64 - self.at) as usize;
        let record = self.bytes.get(begin..begin + length as usize).and_then(record::split);
        match record.filter(|record| record.len() == length as usize) {
            Some(record) => Ok(Bytes::copy_from_slice(record)),
            None => Err(segment.damaged(offset, "the record does not verify, or is not the one of its line")),
        }
    }
}

/// A message in a segment, and the file with the end of its body, if there is one: both stay while this is held.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) segment: Arc<Slot>,
    pub(crate) file: Option<BodyFile>,
}

impl ReadRecord for Stored {
    fn read(&self, id: Id, place: Place) -> Result<Record, StoreError> {
        match self.segment.get() {
            Some(segment) => segment.read_message(id, place, self.file.as_ref()),
            None => Missing.read(id, place),
        }
    }

    fn is_cached(&self, _place: Place) -> bool {
        false
    }
}

/// A batch in memory: not written yet, or among the newest.
impl ReadRecord for Batch {
    fn read(&self, id: Id, place: Place) -> Result<Record, StoreError> {
        let Some((_, message)) = self.find(id).filter(|(stored, _)| stored.place == place) else {
            return Err(StoreError::NotThere { id, place, what: "another record" });
        };
        Ok(Record {
            owner: message.owner,
            envelope: message.envelope.clone(),
            body: message.body.clone(),
            file: message.file.clone(),
        })
    }

    fn is_cached(&self, _place: Place) -> bool {
        true
    }
}

/// A message of a batch that the journal still has in memory, as one that is not on disk always is. A handle keeps no
/// batch there: once the journal has let it go, the segment is read.
#[derive(Debug)]
pub(crate) struct Recent {
    batch: Weak<Batch>,
    segment: Arc<Slot>,
    file: Option<BodyFile>,
}

impl Recent {
    pub(crate) fn new(batch: &Arc<Batch>, segment: Arc<Slot>, file: Option<BodyFile>) -> Self {
        Self { batch: Arc::downgrade(batch), segment, file }
    }
}

impl ReadRecord for Recent {
    fn read(&self, id: Id, place: Place) -> Result<Record, StoreError> {
        if let Some(batch) = self.batch.upgrade() {
            return batch.read(id, place);
        }
        match self.segment.get() {
            Some(segment) => segment.read_message(id, place, self.file.as_ref()),
            // The store ended before it was written.
            None => Missing.read(id, place),
        }
    }

    fn is_cached(&self, _place: Place) -> bool {
        self.batch.strong_count() > 0
    }
}

/// What is given out for a place that the store does not have.
#[derive(Debug)]
pub(crate) struct Missing;

impl ReadRecord for Missing {
    fn read(&self, id: Id, place: Place) -> Result<Record, StoreError> {
        Err(StoreError::NotThere { id, place, what: "no such segment" })
    }

    fn is_cached(&self, _place: Place) -> bool {
        true
    }
}

/// The file of a segment, or where it will be: the core lays out batches in segments that the committer has yet to
/// create. Whoever holds it can read, also after the segment was forgotten.
pub(crate) type Slot = OnceLock<Arc<SegmentFile>>;

/// The segments that can be read, shared by the core and the committer.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    slots: HashMap<u32, Arc<Slot>>,
    /// The highest number that was ever here. None is used twice.
    newest: u32,
}

impl Segments {
    pub(crate) fn get(&self, number: u32) -> Option<Arc<SegmentFile>> {
        self.lock().slots.get(&number)?.get().cloned()
    }

    /// The segment, which may have yet to come; none if it is gone.
    pub(crate) fn slot(&self, number: u32) -> Option<Arc<Slot>> {
        let mut open = self.lock();
        if number > open.newest {
            return Some(Arc::clone(open.slots.entry(number).or_default()));
        }
        open.slots.get(&number).cloned()
    }

    pub(crate) fn insert(&self, segment: Arc<SegmentFile>) {
        let mut open = self.lock();
        open.newest = open.newest.max(segment.number);
        open.slots.entry(segment.number).or_default().get_or_init(|| segment);
    }

    /// Number and bytes of the segments, for figures.
    pub(crate) fn sizes(&self) -> (u64, u64) {
        let open = self.lock();
        let files = || open.slots.values().filter_map(|slot| slot.get());
        (files().count() as u64, files().filter_map(|segment| segment.length().ok()).sum())
    }

    /// Forgets a segment: from now on nobody can get it, but those who have it go on. What is given back may be the
    /// last hold on it.
    pub(crate) fn forget(&self, number: u32) -> Option<Arc<Slot>> {
        self.lock().slots.remove(&number)
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The directory of the segments.
pub(crate) const DIRECTORY: &str = "journal";

/// The file of a segment.
pub(crate) fn path_of(number: u32) -> String {
    format!("{DIRECTORY}/{number:08}.seg")
}

/// The segment whose file has this name.
pub(crate) fn number_of(name: &str) -> Option<u32> {
    name.strip_suffix(".seg").filter(|n| n.len() >= 8).and_then(|n| n.parse().ok())
}
