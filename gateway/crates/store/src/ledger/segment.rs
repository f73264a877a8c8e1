//! One segment in the ledger: a dead bit for each record, and how much of it lives.

use crate::SegmentStat;
use crate::format::checkpoint::SegmentEntry;

#[derive(Debug, Default)]
pub(crate) struct Segment {
    pub(crate) end: u32,
    /// Random bits of the start that wrote it.
    pub(super) nonce: u64,
    records: u32,
    dead: Vec<u8>,
    live: u32,
    /// Those of them that are messages.
    live_messages: u32,
    /// All messages that were written, and their bytes.
    messages: u32,
    message_bytes: u64,
}

impl Segment {
    /// A segment of the start with these random bits.
    pub(super) fn new(nonce: u64) -> Self {
        Self { nonce, ..Self::default() }
    }

    /// A record that is no message; it lives.
    pub(super) fn add(&mut self, record: u32) {
        self.grow(record + 1);
        self.live += 1;
    }

    /// A message; it lives.
    pub(super) fn add_message(&mut self, record: u32, bytes: u64) {
        self.add(record);
        self.live_messages += 1;
        self.count_message(bytes);
    }

    /// Counts a message whose bit is set elsewhere.
    pub(super) fn count_message(&mut self, bytes: u64) {
        self.messages += 1;
        self.message_bytes += bytes;
    }

    /// Whether it lived.
    pub(super) fn kill(&mut self, record: u32) -> bool {
        let bit = 1 << (record % 8);
        match self.dead.get_mut(record as usize / 8) {
            Some(byte) if record < self.records && *byte & bit == 0 => {
                *byte |= bit;
                self.live -= 1;
                true
            }
            _ => false,
        }
    }

    /// Whether it lived.
    pub(super) fn kill_message(&mut self, record: u32) -> bool {
        let lived = self.kill(record);
        if lived {
            self.live_messages -= 1;
        }
        lived
    }

    /// So many records, all dead.
    pub(super) fn restore(&mut self, records: u32) {
        self.grow(records);
        for record in 0..records {
            self.dead[record as usize / 8] |= 1 << (record % 8);
        }
    }

    /// A record of a restored segment lives; what it is must be said with another call.
    pub(super) fn revive(&mut self, record: u32) {
        if let Some(byte) = self.dead.get_mut(record as usize / 8) {
            *byte &= !(1 << (record % 8));
        }
    }

    /// Live records.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    pub(crate) fn is_live(&self, record: u32) -> bool {
        record < self.records
            && self.dead.get(record as usize / 8).is_some_and(|byte| byte & (1 << (record % 8)) == 0)
    }

    /// How many of its bytes live. Messages are taken to be of like size among themselves, and so is the rest:
    /// commit records, which are dead at once, would else make a segment look emptier than it is.
    pub(crate) fn live_bytes(&self) -> u64 {
        let part = |bytes: u64, live: u32, all: u32| {
            if all == 0 { 0 } else { bytes * u64::from(live.min(all)) / u64::from(all) }
        };
        let others = u64::from(self.end).saturating_sub(self.message_bytes);
        part(self.message_bytes, self.live_messages, self.messages)
            + part(others, self.live - self.live_messages, self.records.saturating_sub(self.messages))
    }

    pub(super) fn entry(&self, number: u32) -> SegmentEntry {
        let dead = self.dead[..(self.records as usize).div_ceil(8)].to_vec();
        SegmentEntry { number, end: self.end, records: self.records, nonce: Some(self.nonce), dead }
    }

    pub(crate) fn stat(&self, number: u32) -> SegmentStat {
        SegmentStat { number, bytes: u64::from(self.end), records: self.records, live: self.live }
    }

    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + self.dead.capacity()
    }

    fn grow(&mut self, records: u32) {
        if records > self.records {
            self.records = records;
            let bytes = (records as usize).div_ceil(8);
            if bytes > self.dead.len() {
                self.dead.resize(bytes, 0);
            }
        }
    }
}
