//! The purge of a device's messages: a long command as keyed state (STORE.md 4).
//!
//! Its begin says up to which id it goes, and which messages it leaves alone: what is in doubt and what open units hold
//! at that moment. From then on the others are invisible; the steps only collect, and a restart goes on with them.

use std::collections::BTreeSet;

use bytes::BufMut;
use store::{Batch, Commit, Id};

use super::counters::Counter;
use super::queue::{Entry, SubQueue};
use super::{Area, OnboardError, keys};
use crate::DeviceName;
use crate::wire::{Cursor, DecodeError};

/// Most messages that one step ends.
const STEP_MAX: usize = 1_000;

/// What a purge begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleared {
    /// Messages that will end. They are invisible already.
    pub messages: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Messages that stay: the device may have them, or they are not visible yet.
    pub kept: usize,
}

/// A purge that has not come to its end.
#[derive(Debug, Default)]
pub(super) struct Clearing {
    /// The highest id that it ends.
    upto: Option<Id>,
    except: BTreeSet<Id>,
    /// What must still end; each command adds one.
    rest: Vec<SubQueue>,
    bytes: u64,
}

impl Clearing {
    /// Whether a message that was found at a start belongs to it.
    pub(super) fn covers(&self, id: Id) -> bool {
        self.upto.is_some_and(|upto| id <= upto) && !self.except.contains(&id)
    }

    /// A message that was found at a start.
    pub(super) fn insert(&mut self, entry: Entry) {
        self.bytes += u64::from(entry.length());
        if self.rest.is_empty() {
            self.rest.push(SubQueue::default());
        }
        self.rest[0].insert(entry);
    }

    pub(super) fn len(&self) -> usize {
        self.rest.iter().map(SubQueue::len).sum()
    }

    pub(super) fn rest(&self) -> &[SubQueue] {
        &self.rest
    }

    pub(super) fn rest_mut(&mut self) -> &mut [SubQueue] {
        &mut self.rest
    }

    /// A message that is in memory again; its bytes are counted already.
    pub(super) fn insert_counted(&mut self, entry: Entry) {
        self.insert(entry);
        self.bytes -= u64::from(entry.length());
    }

    /// Takes out a message that ends otherwise.
    pub(super) fn remove(&mut self, id: Id) -> Option<Entry> {
        let entry = self.rest.iter_mut().find_map(|rest| rest.remove(id))?;
        self.bytes -= u64::from(entry.length());
        Some(entry)
    }

    fn pop(&mut self) -> Option<Entry> {
        while let Some(rest) = self.rest.last_mut() {
            if let Some(entry) = rest.pop_first() {
                self.bytes -= u64::from(entry.length());
                return Some(entry);
            }
            self.rest.pop();
        }
        None
    }

    /// Up to which id, then the exceptions.
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 * (1 + self.except.len()));
        for id in self.upto.iter().chain(&self.except) {
            out.put_u64(id.as_u64());
        }
        out
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "purge";
        let mut cursor = Cursor::new(bytes);
        let mut clearing = Self { upto: Some(Id::from_u64(cursor.u64(WHAT)?)), ..Self::default() };
        while cursor.left() > 0 {
            clearing.except.insert(Id::from_u64(cursor.u64(WHAT)?));
        }
        Ok(clearing)
    }
}

impl Area {
    /// Ends all messages that wait for a device, in steps that [`Area::handle_timeout`] takes. What the device may have,
    /// and what is not visible yet, stays.
    pub fn clear(&mut self, device: &DeviceName, batch: &mut Batch) -> Result<Cleared, OnboardError> {
        let number = self.number(device)?;
        let Some(found) = self.devices.get_mut(number) else {
            return Err(OnboardError::Unknown { device: *device });
        };
        let kept = found.messages() - found.queue.len();
        let last = found.queue.last_id().max(self.cold.last_id(number));
        let Some(last) = last else { return Ok(Cleared { messages: 0, bytes: 0, kept }) };
        let written = self.units.values().flat_map(|unit| &unit.stored);
        let written = written.filter(|written| written.number == number).map(|written| &written.entry);
        let doubt = found.live.iter().flat_map(|live| live.doubt.values()).map(|doubt| &doubt.entry);
        let (mut except, mut kept_bytes) = (BTreeSet::new(), 0);
        for entry in written.chain(doubt) {
            except.insert(entry.id);
            kept_bytes += u64::from(entry.length());
        }
        let before = found.queue.bytes();
        let queue = std::mem::take(&mut found.queue);
        let (messages, bytes) = (queue.len() + self.cold.waiting(number), found.bytes - kept_bytes);
        found.bytes = kept_bytes;
        self.index.left(found, before);
        let clearing = found.live().clearing.get_or_insert_default();
        // What an earlier command has left is older, and none of the exceptions.
        (clearing.upto, clearing.except) = (clearing.upto.max(Some(last)), except);
        clearing.rest.push(queue);
        clearing.bytes += bytes;
        let mut commit = Commit::default();
        commit.set(keys::clearing(number), clearing.to_bytes());
        found.commit(commit, batch, &mut self.newest);
        self.clearing.insert(number);
        // What is not in memory comes, and ends then.
        self.cold.clear(number);
        self.set_timer(number);
        Ok(Cleared { messages, bytes, kept })
    }

    /// Ends the next messages of purges.
    pub(super) fn clear_some(&mut self, batch: &mut Batch) {
        let mut left = STEP_MAX;
        while let Some(number) = self.clearing.first().copied()
            && left > 0
        {
            let Some(device) = self.devices.get_mut(number) else {
                self.clearing.remove(&number);
                continue;
            };
            let mut commit = Commit::default();
            let mut ended = 0;
            let mut over = true;
            if let Some(clearing) = &mut device.live().clearing {
                while ended < left
                    && let Some(entry) = clearing.pop()
                {
                    commit.kill(entry.id, entry.place);
                    self.bytes -= u64::from(entry.length());
                    ended += 1;
                }
                over = clearing.len() == 0;
            }
            left -= ended;
            if ended > 0 {
                device.count(Counter::Purged, ended as u64);
            }
            if over && self.cold.is_away(number) {
                // It goes on when the rest is in memory.
                self.clearing.remove(&number);
            } else if over {
                commit.remove(keys::clearing(number));
                device.live().clearing = None;
                self.clearing.remove(&number);
            }
            device.commit(commit, batch, &mut self.newest);
            self.rest(number);
        }
    }
}
