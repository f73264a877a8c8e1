//! Compaction: reads what lives in sparse segments, outside of the core, so that the core can write it again
//! (STORE.md 4). Which segment, and how much at a time, is decided by the core's half, in `journal`.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use bytes::Bytes;

use super::reader::{SegmentFile, Window};
use super::recover::{read_footer, split_all};
use super::shared::Shared;
use crate::format::Cursor;
use crate::format::checkpoint::SegmentEntry;
use crate::format::group::{self, GroupHeader};
use crate::format::record::{self, Head};
use crate::layout::Spot;
use crate::{Place, StoreError};

/// What is read and handed over at once: it goes into one batch of the core's, so it bounds what a put may wait for.
const CHUNK_BYTES: usize = 128 << 10;

/// A record that lived when its segment was chosen, verified.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) from: Place,
    pub(crate) bytes: Bytes,
}

/// What reading has brought.
#[derive(Debug)]
pub(crate) enum Progress {
    Records(Vec<Candidate>),
    /// The segment was read to its end.
    Done,
    /// A record does not verify, or cannot be read: the segment stays.
    Stuck(u32, StoreError),
}

/// Reads segments one after the other.
#[derive(Debug)]
pub(crate) enum Compactor {
    Thread {
        work: SyncSender<(Arc<SegmentFile>, SegmentEntry)>,
        progress: Receiver<Progress>,
        thread: Option<JoinHandle<()>>,
    },
    /// Reads when it is asked, for tests that do every turn themselves.
    #[cfg(test)]
    Inline(Option<Reading>),
}

impl Compactor {
    pub(crate) fn start(shared: Arc<Shared>) -> Result<Self, StoreError> {
        let (work, queue) = sync_channel(1);
        let (sender, progress) = sync_channel(1);
        let thread = std::thread::Builder::new().name("store-compactor".to_owned());
        let thread = thread.spawn(move || run(&queue, &sender, &shared)).map_err(|error| StoreError::Io {
            action: "start",
            path: "the compactor's thread".to_owned(),
            error: error.to_string(),
        })?;
        Ok(Self::Thread { work, progress, thread: Some(thread) })
    }

    /// Begins to read what lives in a segment. The one before must be done.
    pub(crate) fn begin(&mut self, segment: Arc<SegmentFile>, entry: SegmentEntry) {
        match self {
            // Full only if one is being read, and closed only at the end.
            Self::Thread { work, .. } => drop(work.try_send((segment, entry))),
            #[cfg(test)]
            Self::Inline(reading) => *reading = Some(Reading::new(segment, entry)),
        }
    }

    /// What was read since.
    pub(crate) fn progress(&mut self) -> Option<Progress> {
        match self {
            Self::Thread { progress, .. } => progress.try_recv().ok(),
            #[cfg(test)]
            Self::Inline(reading) => {
                let next = reading.as_mut()?.next();
                if !matches!(next, Progress::Records(_)) {
                    *reading = None;
                }
                Some(next)
            }
        }
    }
}

impl Drop for Compactor {
    fn drop(&mut self) {
        match self {
            Self::Thread { work, progress, thread } => {
                // Without the other ends the thread ends, whatever it does.
                (*work, _) = sync_channel(1);
                (_, *progress) = sync_channel(1);
                if let Some(thread) = thread.take()
                    && thread.join().is_err()
                {
                    tracing::warn!("the compactor's thread has panicked");
                }
            }
            #[cfg(test)]
            Self::Inline(_) => {}
        }
    }
}

fn run(queue: &Receiver<(Arc<SegmentFile>, SegmentEntry)>, progress: &SyncSender<Progress>, shared: &Shared) {
    while let Ok((segment, entry)) = queue.recv() {
        let mut reading = Reading::new(segment, entry);
        loop {
            let next = reading.next();
            let more = matches!(next, Progress::Records(_));
            if progress.send(next).is_err() {
                return;
            }
            shared.want_turn();
            if !more {
                break;
            }
        }
    }
}

/// The reading of one segment.
#[derive(Debug)]
pub(crate) struct Reading {
    segment: Arc<SegmentFile>,
    entry: SegmentEntry,
    /// The live records, in their order, once they are known: place and length.
    live: Option<std::vec::IntoIter<(Place, u32)>>,
    window: Window,
}

impl Reading {
    pub(crate) fn new(segment: Arc<SegmentFile>, entry: SegmentEntry) -> Self {
        Self { segment, entry, live: None, window: Window::default() }
    }

    fn next(&mut self) -> Progress {
        match self.read() {
            Ok(records) if records.is_empty() => Progress::Done,
            Ok(records) => Progress::Records(records),
            Err(error) => Progress::Stuck(self.segment.number, error),
        }
    }

    fn read(&mut self) -> Result<Vec<Candidate>, StoreError> {
        let live = match &mut self.live {
            Some(live) => live,
            None => self.live.insert(live_records(&self.segment, &self.entry)?.into_iter()),
        };
        let (mut records, mut bytes) = (Vec::new(), 0);
        while bytes < CHUNK_BYTES
            && let Some((from, length)) = live.next()
        {
            let record = self.window.record(&self.segment, from.offset, length)?;
            bytes += record.len();
            records.push(Candidate { from, bytes: record });
        }
        Ok(records)
    }
}

/// The records that live.
fn live_records(segment: &SegmentFile, entry: &SegmentEntry) -> Result<Vec<(Place, u32)>, StoreError> {
    let mut live = Vec::new();
    visit_records(segment, Some(entry.end), |place, head| {
        if place.offset < entry.end && !entry.is_dead(place.record) {
            live.push((place, head.length));
        }
        Ok(())
    })?;
    Ok(live)
}

/// Visits the records of a segment, by the footer or, where there is none, by the groups themselves: up to where they
/// end, or if that is not known up to the first that does not verify, as it is with the segment that is being written.
pub(crate) fn visit_records(
    segment: &SegmentFile,
    end: Option<u32>,
    mut visit: impl FnMut(Place, &Head) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let number = segment.number;
    if let Some(lines) = read_footer(segment)? {
        for ((offset, head), record) in lines.iter().zip(0..) {
            visit(Place { segment: number, offset: *offset, record }, head)?;
        }
        return Ok(());
    }
    let mut at = Spot { segment: number, offset: 0 };
    while end.is_none_or(|end| at.offset < end) {
        let (header, payload) = match (read_group(segment, at), end) {
            (Ok(group), _) => group,
            (Err(StoreError::Damaged { .. }), None) => break,
            (Err(error), _) => return Err(error),
        };
        let mut lines = Vec::new();
        let mut offset = at.offset + group::HEADER as u32;
        for record in split_all(&payload) {
            record::write_lines(&mut lines, offset, record);
            offset += record.len() as u32;
        }
        let mut cursor = Cursor::new(&lines);
        for record in (header.first_record..).take(header.records as usize) {
            let Some((offset, head)) = Head::read_line(&mut cursor) else {
                return Err(segment.damaged(at.offset, "a group has fewer records than it says"));
            };
            visit(Place { segment: number, offset, record }, &head)?;
        }
        at = header.end();
    }
    Ok(())
}

fn read_group(segment: &SegmentFile, at: Spot) -> Result<(GroupHeader, Vec<u8>), StoreError> {
    let bytes = segment.read(u64::from(at.offset), group::HEADER as usize)?;
    let header = GroupHeader::decode(&bytes).map(|(header, _)| header).filter(|h| h.spot == at);
    let header = header.ok_or_else(|| segment.damaged(at.offset, "a group does not verify"))?;
    let begin = u64::from(at.offset) + group::HEADER;
    if begin + u64::from(header.payload_length) > segment.length()? {
        return Err(segment.damaged(at.offset, "a group ends behind the end of the file"));
    }
    let payload = segment.read(begin, header.payload_length as usize)?;
    if crc32fast::hash(&payload) != header.payload_checksum {
        return Err(segment.damaged(at.offset, "a group does not verify"));
    }
    Ok((header, payload))
}
