//! The index entries of one owner, read from the segments: for whoever has let go of them and cannot get them from the
//! derived index (STORE.md 7). What lives is fixed in the core's turn; the reading is outside of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::compaction::visit_records;
use super::reader::Slot;
use crate::batch::Batch;
use crate::format::checkpoint::SegmentEntry;
use crate::format::record::{self, Parsed};
use crate::{Id, Op, OwnerId, Place, RecoveredMessage, StoreError, UnitId};

/// The messages of one owner as of the turn in which it was given; see [`crate::Store::entries`].
#[derive(Debug, Default)]
pub struct EntriesTicket {
    pub(crate) owner: u64,
    /// With what is dead in them.
    pub(crate) segments: Vec<(SegmentEntry, Arc<Slot>)>,
    /// Messages written under these are not real yet.
    pub(crate) undecided: BTreeSet<UnitId>,
    /// What may not be on disk yet.
    pub(crate) batches: Vec<Arc<Batch>>,
    /// What is known already.
    pub(crate) known: Vec<RecoveredMessage>,
}

impl EntriesTicket {
    /// Reads them, in the order of their ids. Blocks; not for the core.
    pub fn read(self) -> Result<Vec<RecoveredMessage>, StoreError> {
        let mut found: BTreeMap<Id, RecoveredMessage> = self.known.iter().map(|m| (m.id, *m)).collect();
        for (entry, slot) in &self.segments {
            // One that is not created yet has nothing that is on disk.
            let Some(segment) = slot.get() else { continue };
            visit_records(segment, None, |place, head| {
                if !head.is_message_of(OwnerId(self.owner)) || entry.is_dead(place.record) {
                    return Ok(());
                }
                let entry = if head.has_file() {
                    match record::parse(&segment.record(place.offset)?, place) {
                        Some(Parsed::Message(entry, ..)) => Some(entry),
                        _ => None,
                    }
                } else {
                    head.recovered(place)
                };
                self.take(entry, head.unit, &mut found);
                Ok(())
            })?;
        }
        for batch in &self.batches {
            for (op, place) in batch.ops.iter().zip(&batch.places) {
                self.take_op(op, *place, &mut found);
            }
        }
        Ok(found.into_values().collect())
    }

    fn take_op(&self, op: &Op, place: Place, found: &mut BTreeMap<Id, RecoveredMessage>) {
        match op {
            Op::Message(stored, message) if message.owner.0 == self.owner && self.lives(place) => {
                self.take(Some(message.recovered(stored)), message.unit, found);
            }
            Op::Moved(copies) => {
                for (copy, to) in copies.iter().zip(record::moved_places(copies, place)) {
                    if let Some(Parsed::Message(entry, unit, _)) = record::parse(&copy.bytes, to)
                        && entry.owner.0 == self.owner
                        && self.lives(to)
                    {
                        self.take(Some(entry), unit, found);
                    }
                }
            }
            _ => {}
        }
    }

    fn lives(&self, place: Place) -> bool {
        let entry = self.segments.iter().find(|(entry, _)| entry.number == place.segment);
        entry.is_some_and(|(entry, _)| !entry.is_dead(place.record))
    }

    fn take(
        &self,
        entry: Option<RecoveredMessage>,
        unit: Option<UnitId>,
        found: &mut BTreeMap<Id, RecoveredMessage>,
    ) {
        if let Some(entry) = entry.filter(|_| unit.is_none_or(|unit| !self.undecided.contains(&unit))) {
            found.insert(entry.id, entry);
        }
    }
}
