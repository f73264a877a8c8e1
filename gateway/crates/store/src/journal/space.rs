//! Room on disk beside the segments: a reserve for bad times, and old segments that are kept to be written again.
//!
//! The reserve is one file with space and nothing in it. When the disk is full it is shortened, step by step, for
//! those who drain the store (STORE.md 6); from then on intake pauses, until the reserve is whole again and there is a
//! little more. A segment that nobody needs keeps its blocks: to write into those again is cheaper than to get new
//! ones, and it keeps room for us that nobody else can take.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use super::reader::{DIRECTORY, SegmentFile, Slot, path_of};
use crate::StoreError;
use crate::files::{File, Files, failed};

/// What the reserve holds: three of these (STORE.md 6). A whole segment each would be a fifth of a gigabyte for an
/// empty store; what must go on without room (starts, confirms, commits, moves) is small.
const RESERVE_PART_BYTES: u64 = 8 << 20;
const RESERVE_PARTS: u64 = 3;
/// What there must be beside a whole reserve before intake goes on, so that it does not pause again at once.
const HEADROOM_PARTS: u64 = 1;
/// Old segments that are kept. One is enough: it is taken when the segment that will be the next one begins to die.
const SPARES_MAX: usize = 1;

const RESERVE: &str = "journal/reserve";
const SPARE_PREFIX: &str = "spare-";

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Space {
    files: Arc<dyn Files>,
    reserve: Option<Arc<dyn File>>,
    /// What the reserve holds, and what it should.
    held: u64,
    part: u64,
    short: bool,
    /// Names of the spares, and their bytes.
    spares: Vec<(String, u64)>,
    next_spare: u32,
    /// What of the reserve may not be given up: the last part belongs to a start and its checkpoint.
    floor: u64,
    /// Segments before this are not written again: somebody may have them from before a recovery.
    written_again_from: u32,
    pub(crate) recycled: u64,
}

/// An old segment that is written again, and its length.
#[derive(Debug)]
pub(crate) struct Spare {
    pub(crate) file: Arc<dyn File>,
    pub(crate) bytes: u64,
}

impl Space {
    pub(crate) fn files(&self) -> Arc<dyn Files> {
        Arc::clone(&self.files)
    }

    /// Takes up what an earlier start has left. Nothing is created yet: a start may need the room.
    pub(crate) fn open(files: &Arc<dyn Files>, segment_bytes: u64) -> Result<Self, StoreError> {
        let names = files.list(DIRECTORY).map_err(failed(files.as_ref(), "list", DIRECTORY))?;
        let mut space = Self {
            files: Arc::clone(files),
            reserve: files.open(RESERVE).map_err(failed(files.as_ref(), "open", RESERVE))?,
            held: 0,
            part: RESERVE_PART_BYTES.min(segment_bytes),
            short: false,
            spares: Vec::new(),
            next_spare: 1,
            floor: 0,
            written_again_from: 0,
            recycled: 0,
        };
        if let Some(file) = &space.reserve {
            space.held = file.length().map_err(failed(files.as_ref(), "read", RESERVE))?;
        }
        for name in names.iter().filter(|name| name.starts_with(SPARE_PREFIX)) {
            let path = format!("{DIRECTORY}/{name}");
            let number = name.trim_start_matches(SPARE_PREFIX).parse().unwrap_or(0);
            space.next_spare = space.next_spare.max(number + 1);
            let bytes = files.open(&path).ok().flatten().and_then(|file| file.length().ok()).unwrap_or(0);
            space.spares.push((path, bytes));
        }
        Ok(space)
    }

    /// Does something that needs room; where there is none, room is made as long as there is any kept.
    pub(crate) fn with_room<T>(
        &mut self,
        mut work: impl FnMut(&dyn Files) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match work(self.files.as_ref()) {
                Err(error) if is_full(&error) && self.release() => {}
                outcome => return outcome,
            }
        }
    }

    /// In a process that has served: readers, and whoever copies the store, may hold what is there now.
    pub(crate) fn write_again_from(&mut self, number: u32) {
        self.written_again_from = number;
    }

    /// The start is done: from now on the last part of the reserve is for the next one.
    pub(crate) fn keep_for_next_start(&mut self) {
        self.floor = self.part;
    }

    /// What the running service may still take of what is kept.
    pub(crate) fn left(&self) -> u64 {
        self.held.saturating_sub(self.floor)
    }

    /// Whether intake must pause.
    pub(crate) fn is_short(&self) -> bool {
        self.short
    }

    /// Makes the reserve whole, if there is room for that and a little more; then it is short no longer.
    pub(crate) fn refill(&mut self) {
        let whole = self.part * RESERVE_PARTS;
        if !self.short && self.held >= whole {
            return;
        }
        match self.grow(whole, if self.short { self.part * HEADROOM_PARTS } else { 0 }) {
            Ok(()) => self.short = false,
            Err(error) if is_full(&error) => self.short = true,
            Err(error) => {
                // Not for want of room: intake need not suffer for it.
                tracing::warn!(%error, path = self.files.show(RESERVE), "the reserve cannot be made");
                self.short = false;
            }
        }
    }

    fn grow(&mut self, whole: u64, headroom: u64) -> io::Result<()> {
        if self.reserve.is_none() {
            self.reserve = Some(self.files.create(RESERVE, 0)?);
        }
        let Some(file) = &self.reserve else { return Ok(()) };
        if self.held > whole {
            // Of an earlier start with longer segments.
            file.set_length(whole)?;
            self.held = whole;
        }
        let outcome = file.reserve(whole + headroom);
        let mut reached = file.length()?.min(whole);
        if outcome.is_err() {
            // The last blocks of the disk are not for us: whoever starts beside us has a file to write too.
            reached = reached.saturating_sub(self.part / 8).max(self.held.min(reached));
        }
        file.set_length(reached)?;
        self.held = reached;
        outcome
    }

    /// Gives back some of what is kept. False if there is nothing.
    fn release(&mut self) -> bool {
        self.short = true;
        if let Some((path, _)) = self.spares.pop() {
            if let Err(error) = self.files.remove(&path) {
                tracing::warn!(%error, path = self.files.show(&path), "an old segment stays");
            }
            return true;
        }
        let Some(file) = &self.reserve else { return false };
        if self.held <= self.floor {
            return false;
        }
        // An eighth of a part at a time: the others shall find some too.
        let left = self.held.saturating_sub((self.part / 8).max(1)).max(self.floor);
        if let Err(error) = file.set_length(left) {
            tracing::warn!(%error, path = self.files.show(RESERVE), "the reserve cannot be given back");
            return false;
        }
        self.held = left;
        true
    }

    /// An old segment under a new name, whose entry is durable: what is in it may be overwritten. None if there is no
    /// spare one.
    pub(crate) fn take_spare(&mut self, number: u32) -> Result<Option<Spare>, StoreError> {
        let Some((spare, bytes)) = self.spares.pop() else { return Ok(None) };
        let (files, path) = (self.files.as_ref(), path_of(number));
        files.rename(&spare, &path).map_err(failed(files, "rename", &spare))?;
        files.sync_directory(DIRECTORY).map_err(failed(files, "sync", DIRECTORY))?;
        let file = files.open(&path).map_err(failed(files, "open", &path))?;
        let file = file.ok_or_else(|| StoreError::Damaged {
            path: files.show(&path),
            offset: 0,
            what: "it is gone just after it was renamed".to_owned(),
        })?;
        self.recycled += 1;
        Ok(Some(Spare { file, bytes }))
    }

    /// A segment that no checkpoint needs, and that nobody can find any more: it is kept if nobody reads it and few
    /// are kept, else it is removed.
    pub(crate) fn retire(&mut self, number: u32, slot: Option<Arc<Slot>>, segment_bytes: u64) {
        let path = path_of(number);
        let bytes = sole_owner(slot).and_then(|segment| segment.length().ok()).unwrap_or(0);
        let wanted = !self.short && self.spares.len() < SPARES_MAX && number >= self.written_again_from;
        if wanted && bytes >= segment_bytes / 2 && bytes <= segment_bytes {
            let spare = format!("{DIRECTORY}/{SPARE_PREFIX}{}", self.next_spare);
            self.next_spare += 1;
            match self.files.rename(&path, &spare) {
                Ok(()) => return self.spares.push((spare, bytes)),
                Err(error) => tracing::warn!(%error, path = self.files.show(&path), "cannot be kept"),
            }
        }
        if let Err(error) = self.files.remove(&path) {
            tracing::warn!(%error, path = self.files.show(&path), "a segment that nobody needs stays");
        }
    }

    /// Removes the spares: nothing was written for a while.
    pub(crate) fn drop_spares(&mut self) {
        for (path, _) in self.spares.drain(..) {
            if let Err(error) = self.files.remove(&path) {
                tracing::warn!(%error, path = self.files.show(&path), "an old segment stays");
            }
        }
    }

    /// Bytes that are kept.
    pub(crate) fn bytes(&self) -> u64 {
        self.held + self.spares.iter().map(|s| s.1).sum::<u64>()
    }
}

#[cfg(test)]
impl Space {
    pub(crate) fn use_up(&mut self) {
        self.floor = 0;
        while self.release() {}
    }
}

/// The segment, if nobody else has it or can get it.
fn sole_owner(slot: Option<Arc<Slot>>) -> Option<SegmentFile> {
    Arc::into_inner(slot?)?.into_inner().and_then(Arc::into_inner)
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}
