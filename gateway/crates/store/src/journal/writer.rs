//! Writes groups into segments: encodes, writes once, syncs once, seals a full segment and begins the next.
//!
//! It knows the order of writes and syncs that STORE.md 2 asks for, and nothing of batches or threads.

use std::sync::Arc;
use std::time::Instant;

use super::reader::{DIRECTORY, SegmentFile, Segments, Slot, path_of};
use super::space::{Space, Spare};
use crate::Histogram;
use crate::files::{Files, failed};
use crate::format::footer::Trailer;
use crate::format::group::{self, GroupHeader, GroupKind};
use crate::format::record;
use crate::layout::{Spot, align, size_of_segment};
use crate::planted::{Bug, is_planted};
use crate::{Place, StoreError};

/// More than this is not kept for the next group.
const BUFFER_KEEP_BYTES: usize = 4 << 20;

/// Space is reserved ahead in steps of this, never beyond the size of a segment: a start then needs one step, and a
/// process that is killed leaves less than that behind what it wrote.
const STEP_BYTES: u64 = 4 << 20;

/// The end of the journal that is being written.
#[derive(Debug)]
pub(crate) struct Writer {
    files: Arc<dyn Files>,
    segments: Arc<Segments>,
    segment_bytes: u64,
    pub(crate) start: u32,
    pub(crate) nonce: u64,
    segment: Arc<SegmentFile>,
    /// What of the segment has space reserved, which is its length, and how far that may grow.
    reserved: u64,
    limit: u64,
    /// Checksum of the last group.
    pub(crate) last: u32,
    /// Where the next group goes.
    pub(crate) written: Spot,
    /// Everything before this is on disk.
    pub(crate) synced: Spot,
    /// Everything before this is claimed by a group on disk.
    claimed: Spot,
    /// The end of the last group that is not a mark.
    records_end: Spot,
    lines: Vec<u8>,
    records: u32,
    /// Groups that are not written yet, and where they go.
    buffer: Vec<u8>,
    buffer_at: u32,
    group_at: usize,
    group_first_record: u32,
    pub(crate) space: Space,
    pub(crate) written_figures: Written,
}

/// What was written since the start.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Written {
    pub(crate) groups: u64,
    pub(crate) syncs: u64,
    pub(crate) records: u64,
    /// Of all writes, padding included.
    pub(crate) bytes: u64,
    /// Of records, by kind.
    pub(crate) by_kind: [u64; record::KINDS],
    pub(crate) group_bytes: Histogram,
    pub(crate) sync_us: Histogram,
}

/// Where a start goes on: the place, and the checksum of the group before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct From {
    pub(crate) spot: Spot,
    pub(crate) checksum: u32,
}

impl Writer {
    /// Begins a new segment with a start group that holds `copies`, and makes it durable, then claims it: start
    /// group, fdatasync, directory sync, mark, fdatasync (STORE.md 3).
    pub(crate) fn start(
        segments: Arc<Segments>,
        mut space: Space,
        segment_bytes: u64,
        (start, nonce): (u32, u64),
        number: u32,
        from: From,
        copies: &[&[u8]],
    ) -> Result<Self, StoreError> {
        let files = space.files();
        let payload: u64 = copies.iter().map(|c| c.len() as u64).sum();
        // A record's line is never longer than the record; one block more for the mark of the start.
        let need = size_of_segment(align(group::HEADER + payload) + crate::format::BLOCK, payload);
        let limit = need.max(segment_bytes);
        let reserved = step_up(need, segment_bytes, limit);
        let (segment, reserved) = create(files.as_ref(), &segments, &mut space, number, reserved)?;
        let mut writer = Self {
            files,
            segments,
            segment_bytes,
            start,
            nonce,
            segment,
            reserved,
            limit,
            last: from.checksum,
            written: Spot { segment: number, offset: 0 },
            synced: from.spot,
            claimed: from.spot,
            records_end: from.spot,
            lines: Vec::new(),
            records: 0,
            buffer: Vec::new(),
            buffer_at: 0,
            group_at: 0,
            group_first_record: 0,
            space,
            written_figures: Written::default(),
        };
        writer.begin_group(writer.written, 0)?;
        for copy in copies {
            writer.record(writer.next_place(), |out| out.extend_from_slice(copy))?;
        }
        writer.end_group(GroupKind::Start { from: from.spot })?;
        if is_planted(Bug::StartNotDurable) {
            writer.flush_without_sync()?;
            return Ok(writer);
        }
        writer.flush()?;
        writer.sync_directory()?;
        writer.mark(writer.written)?;
        writer.flush()?;
        Ok(writer)
    }

    /// Where the next record of the open group will lie.
    pub(crate) fn next_place(&self) -> Place {
        Place {
            segment: self.written.segment,
            offset: self.buffer_at + self.buffer.len() as u32,
            record: self.records,
        }
    }

    /// Bytes of the lines so far, which the layout counts on.
    pub(crate) fn lines_length(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Records of the segment so far.
    pub(crate) fn records(&self) -> u32 {
        self.records
    }

    /// Opens a group at `spot`, which must be where the journal ends.
    pub(crate) fn begin_group(&mut self, spot: Spot, first_record: u32) -> Result<(), StoreError> {
        if spot != self.written || first_record != self.records {
            return Err(self
                .segment
                .damaged(spot.offset, "a group was laid out at another place (our fault)"));
        }
        if self.buffer.is_empty() {
            self.buffer_at = spot.offset;
        }
        self.group_at = self.buffer.len();
        self.group_first_record = first_record;
        self.buffer.resize(self.group_at + group::HEADER as usize, 0);
        Ok(())
    }

    /// Adds a record to the open group, at the place that was laid out for it.
    pub(crate) fn record(
        &mut self,
        place: Place,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), StoreError> {
        if place != self.next_place() {
            return Err(self
                .segment
                .damaged(place.offset, "a record was laid out at another place (our fault)"));
        }
        let at = self.buffer.len();
        write(&mut self.buffer);
        let written = &self.buffer[at..];
        let count = record::write_lines(&mut self.lines, place.offset, written);
        self.records += count;
        self.written_figures.records += u64::from(count);
        if let Some(bytes) = record::kind_index(written).and_then(|k| self.written_figures.by_kind.get_mut(k))
        {
            *bytes += written.len() as u64;
        }
        Ok(())
    }

    /// Ends the group: fills in its header and goes to the next boundary.
    pub(crate) fn end_group(&mut self, kind: GroupKind) -> Result<(), StoreError> {
        let payload = &self.buffer[self.group_at + group::HEADER as usize..];
        let header = GroupHeader {
            kind,
            start: self.start,
            spot: self.written,
            nonce: self.nonce,
            previous: self.last,
            payload_checksum: crc32fast::hash(payload),
            payload_length: u32::try_from(payload.len())
                .map_err(|_| StoreError::TooLarge { bytes: payload.len() as u64 })?,
            first_record: self.group_first_record,
            records: self.records - self.group_first_record,
            claim: if is_planted(Bug::MarkBeforeSync) { self.written } else { self.synced },
        };
        let bytes = header.encode();
        self.buffer[self.group_at..self.group_at + bytes.len()].copy_from_slice(&bytes);
        self.last = GroupHeader::checksum(&bytes);
        self.written = header.end();
        if kind != GroupKind::Mark {
            self.records_end = self.written;
        }
        self.buffer.resize((self.written.offset - self.buffer_at) as usize, 0);
        self.written_figures.groups += 1;
        Ok(())
    }

    /// Whether something is on disk that nothing on disk claims.
    pub(crate) fn is_unclaimed(&self) -> bool {
        self.claimed < self.records_end && self.records_end <= self.synced
    }

    /// A group that holds nothing but a claim.
    pub(crate) fn mark(&mut self, spot: Spot) -> Result<(), StoreError> {
        self.begin_group(spot, self.records)?;
        self.end_group(GroupKind::Mark)
    }

    /// Bytes that wait to be written.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// One write, one sync of all groups that wait.
    pub(crate) fn flush(&mut self) -> Result<(), StoreError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.reserve()?;
        // Where space cannot be reserved, it is the write that finds none. The same bytes at the same place again are
        // harmless as long as nothing was synced.
        let (segment, buffer, at) = (&self.segment, &self.buffer, u64::from(self.buffer_at));
        let written = self.space.with_room(|_| segment.file.write_at(buffer, at));
        written.map_err(failed(self.files.as_ref(), "write", &self.segment.path))?;
        let figures = &mut self.written_figures;
        figures.bytes += self.buffer.len() as u64;
        figures.group_bytes.add(self.buffer.len() as u64);
        self.sync()?;
        self.claimed = self.synced;
        self.synced = self.written;
        self.buffer.clear();
        if self.buffer.capacity() > BUFFER_KEEP_BYTES {
            self.buffer.shrink_to(BUFFER_KEEP_BYTES);
        }
        Ok(())
    }

    /// What a planted bug does instead.
    fn flush_without_sync(&mut self) -> Result<(), StoreError> {
        let written = self.segment.file.write_at(&self.buffer, u64::from(self.buffer_at));
        written.map_err(failed(self.files.as_ref(), "write", &self.segment.path))?;
        self.synced = self.written;
        self.buffer.clear();
        Ok(())
    }

    /// Goes on in a new segment, whose first group and its lines need this much: the old one is synced, claimed and
    /// sealed before the new one exists, and that one's directory entry is synced before anything is in it.
    pub(crate) fn roll(&mut self, number: u32, payload: u64, lines: u64) -> Result<(), StoreError> {
        self.seal()?;
        let need = size_of_segment(group::HEADER + payload, lines);
        self.limit = need.max(self.segment_bytes);
        let reserved = step_up(need, self.segment_bytes, self.limit);
        (self.segment, self.reserved) =
            create(self.files.as_ref(), &self.segments, &mut self.space, number, reserved)?;
        self.sync_directory()?;
        self.written = Spot { segment: number, offset: 0 };
        self.records = 0;
        self.lines.clear();
        Ok(())
    }

    /// Claims what was written, and ends the segment with its footer.
    pub(crate) fn seal(&mut self) -> Result<(), StoreError> {
        self.flush()?;
        self.mark(self.written)?;
        self.flush()?;
        let trailer = Trailer {
            segment: self.segment.number,
            start: self.start,
            end: self.written.offset,
            records: self.records,
            lines_length: self.lines.len() as u32,
            lines_checksum: crc32fast::hash(&self.lines),
        };
        trailer.write(&mut self.lines);
        let end = u64::from(self.written.offset);
        let path = &self.segment.path;
        self.segment.file.write_at(&self.lines, end).map_err(failed(self.files.as_ref(), "write", path))?;
        self.segment.file.set_length(end + self.lines.len() as u64).map_err(failed(
            self.files.as_ref(),
            "shorten",
            path,
        ))?;
        self.sync()
    }

    /// A segment that nobody needs goes, or is kept to be written again.
    pub(crate) fn retire(&mut self, number: u32, slot: Option<Arc<Slot>>) {
        self.space.retire(number, slot, self.segment_bytes);
    }

    /// Makes the segment long enough for what waits, and with it for the marks and the footer that may follow: these
    /// never fail for want of room. Nothing is synced here. The sync that acknowledges the groups makes the new length
    /// durable too, because fdatasync flushes a change of size that is needed to read the data; until then the file
    /// may come back at any length between the old and the new, with nothing lost that anybody was told of.
    fn reserve(&mut self) -> Result<(), StoreError> {
        let end = u64::from(self.buffer_at) + self.buffer.len() as u64;
        let need = match self.records_end {
            Spot { segment, offset } if segment == self.written.segment => {
                size_of_segment(u64::from(offset), self.lines_length()).max(end)
            }
            _ => end,
        };
        if need > self.reserved {
            let length = step_up(need, self.segment_bytes, self.limit);
            let segment = &self.segment;
            self.space.with_room(|_| segment.file.reserve(length)).map_err(failed(
                self.files.as_ref(),
                "reserve space in",
                &segment.path,
            ))?;
            self.reserved = length;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        let begin = Instant::now();
        let mut synced = self.segment.file.sync();
        if is_planted(Bug::IgnoredSyncError) {
            synced = Ok(());
        } else if is_planted(Bug::RetriedSync) && synced.is_err() {
            synced = self.segment.file.sync();
        }
        synced.map_err(failed(self.files.as_ref(), "sync", &self.segment.path))?;
        self.written_figures.syncs += 1;
        self.written_figures.sync_us.add(u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX));
        Ok(())
    }

    fn sync_directory(&mut self) -> Result<(), StoreError> {
        self.written_figures.syncs += 1;
        if is_planted(Bug::NoDirSync) {
            return Ok(());
        }
        self.files.sync_directory(DIRECTORY).map_err(failed(self.files.as_ref(), "sync", DIRECTORY))
    }
}

/// Where the space that is reserved ends when `need` bytes must have some.
fn step_up(need: u64, segment_bytes: u64, limit: u64) -> u64 {
    let step = align(STEP_BYTES.min(segment_bytes / 2)).max(crate::format::BLOCK);
    need.next_multiple_of(step).min(limit).max(need)
}

/// A segment that was not there before: an old one written again, or a new one. Gives its length too.
fn create(
    files: &dyn Files,
    segments: &Segments,
    space: &mut Space,
    number: u32,
    reserve: u64,
) -> Result<(Arc<SegmentFile>, u64), StoreError> {
    let path = path_of(number);
    let (file, bytes) = match space.take_spare(number)? {
        Some(Spare { file, bytes }) if bytes >= reserve => (file, bytes),
        Some(Spare { file, .. }) => {
            space.with_room(|_| file.reserve(reserve)).map_err(failed(files, "reserve space in", &path))?;
            (file, reserve)
        }
        None => {
            let create = |files: &dyn Files| files.create(&path, reserve);
            (space.with_room(create).map_err(failed(files, "create", &path))?, reserve)
        }
    };
    let segment = Arc::new(SegmentFile::new(files, number, file));
    segments.insert(Arc::clone(&segment));
    Ok((segment, bytes))
}
