//! Where records come to lie: the arithmetic of places.
//!
//! The length of every record is known when it is added to a batch, so its place is too, long before the committer
//! writes it. Groups begin at 4 KiB boundaries; a record is never split; what does not fit goes into the next
//! segment. Bytes are made elsewhere (`format`), and the committer checks that both agree.

use crate::Place;
use crate::format::{BLOCK, footer, group};

/// A point between groups: everything before it is one piece of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub(crate) struct Spot {
    pub(crate) segment: u32,
    pub(crate) offset: u32,
}

impl std::fmt::Display for Spot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08}.seg+{}", self.segment, self.offset)
    }
}

/// The beginning of a group in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupPlan {
    pub(crate) spot: Spot,
    pub(crate) first_record: u32,
    /// Index of its first operation in the batch.
    pub(crate) first_op: usize,
}

/// Where the next record will lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Bytes of a segment, unless one record alone needs more.
    segment_bytes: u64,
    segment: u32,
    /// Of the next record if a group is open, else of the next group.
    at: u64,
    open: bool,
    record: u32,
    lines: u64,
    /// Whether the block that every group leaves for a mark is still free.
    mark_free: bool,
}

/// Blocks that must stay free behind a group: one for a mark after idling, one for the mark of the seal.
const MARK_BLOCKS: u64 = 2;

impl Layout {
    /// The layout that goes on in `segment` behind what its start wrote.
    pub(crate) fn new(segment_bytes: u64, spot: Spot, record: u32, lines: u64) -> Self {
        Self {
            segment_bytes,
            segment: spot.segment,
            at: u64::from(spot.offset),
            open: false,
            record,
            lines,
            mark_free: false,
        }
    }

    /// Room for a record of `bytes`, which counts as `records` and has `lines` bytes of lines in the footer.
    /// The second value is where a new group begins, if it opens one.
    pub(crate) fn place(&mut self, bytes: u64, records: u32, lines: u64) -> (Place, Option<Spot>) {
        let begin = if self.open { self.at } else { self.at + group::HEADER };
        let need = size_of_segment(begin + bytes, self.lines + lines);
        let fresh = self.at == 0 && !self.open;
        if need > self.segment_bytes && !fresh {
            *self = Self { open: false, at: 0, record: 0, lines: 0, segment: self.segment + 1, ..*self };
        }
        let opened = (!self.open).then(|| {
            let spot = self.spot();
            self.at += group::HEADER;
            self.open = true;
            spot
        });
        let place = Place { segment: self.segment, offset: self.at as u32, record: self.record };
        self.at += bytes;
        self.record += records;
        self.lines += lines;
        (place, opened)
    }

    /// Goes on in the next segment, behind a mark that takes its first block. Gives where the old one ends. No group
    /// may be open.
    pub(crate) fn leave_segment(&mut self) -> Spot {
        let left = self.end_of_group();
        *self = Self {
            segment: self.segment + 1,
            at: BLOCK,
            open: false,
            record: 0,
            lines: 0,
            mark_free: false,
            ..*self
        };
        left
    }

    /// Ends the group: the next one begins at the next boundary.
    pub(crate) fn close(&mut self) {
        if self.open {
            self.at = align(self.at);
            self.open = false;
            self.mark_free = true;
        }
    }

    /// Takes the block for a mark, if there is one.
    pub(crate) fn take_mark(&mut self) -> Option<Spot> {
        if self.open || !self.mark_free {
            return None;
        }
        let spot = self.spot();
        self.mark_free = false;
        self.at += BLOCK;
        Some(spot)
    }

    /// Where the group that is open would end, or the last one has ended.
    pub(crate) fn end_of_group(&self) -> Spot {
        Spot { segment: self.segment, offset: align(self.at) as u32 }
    }

    /// Where the next group begins; with a group open, where the next record does.
    pub(crate) fn spot(&self) -> Spot {
        Spot { segment: self.segment, offset: self.at as u32 }
    }
}

/// The next boundary at or behind `offset`.
pub(crate) fn align(offset: u64) -> u64 {
    offset.next_multiple_of(BLOCK)
}

/// What a segment must hold whose last group ends at `end` and whose footer has `lines` bytes of lines.
pub(crate) fn size_of_segment(end: u64, lines: u64) -> u64 {
    align(end) + MARK_BLOCKS * BLOCK + footer::TRAILER + lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        Layout::new(64 * 1024, Spot { segment: 3, offset: 0 }, 0, 0)
    }

    #[test]
    fn groups_begin_at_boundaries() {
        let mut layout = layout();
        let (first, opened) = layout.place(100, 1, 10);
        assert_eq!(opened, Some(Spot { segment: 3, offset: 0 }));
        assert_eq!(first, Place { segment: 3, offset: 80, record: 0 });
        let (second, opened) = layout.place(100, 2, 10);
        assert_eq!((second, opened), (Place { segment: 3, offset: 180, record: 1 }, None));
        layout.close();
        let (third, opened) = layout.place(100, 1, 10);
        assert_eq!(opened, Some(Spot { segment: 3, offset: 4096 }));
        assert_eq!(third.record, 3);
    }

    #[test]
    fn what_does_not_fit_goes_into_the_next_segment() {
        let mut layout = layout();
        layout.place(40_000, 1, 10);
        let (place, opened) = layout.place(20_000, 1, 10);
        assert_eq!(place, Place { segment: 4, offset: 80, record: 0 });
        assert_eq!(opened, Some(Spot { segment: 4, offset: 0 }));
    }

    #[test]
    fn a_record_larger_than_a_segment_gets_one_of_its_own() {
        let mut layout = layout();
        layout.place(10, 1, 10);
        assert_eq!(layout.place(1_000_000, 1, 10).0.segment, 4);
        assert_eq!(layout.place(10, 1, 10).0.segment, 5);
    }

    #[test]
    fn a_mark_takes_one_block_and_only_once_behind_a_group() {
        let mut layout = layout();
        assert_eq!(layout.take_mark(), None);
        layout.place(10, 1, 10);
        assert_eq!(layout.take_mark(), None, "a group is open");
        layout.close();
        assert_eq!(layout.take_mark(), Some(Spot { segment: 3, offset: 4096 }));
        assert_eq!(layout.take_mark(), None);
        assert_eq!(layout.place(10, 1, 10).1, Some(Spot { segment: 3, offset: 8192 }));
    }
}
