//! What the owner of the area does beside its messages: tells of moves, and keeps entries that leave memory.

use std::collections::BTreeSet;

use super::pair::Pair;
use crate::area::{ColdWork, cold_entries, owner_of};

impl Pair {
    /// Compaction writes some of the live messages again at other places.
    pub(super) fn compact(&mut self, wanted: impl Fn(usize) -> bool) {
        let ids = self.disk.movable();
        let ids = ids.into_iter().enumerate().filter(|(at, _)| wanted(*at)).map(|(_, id)| id);
        let batch = self.disk.begin();
        for moved in ids.map(|id| self.disk.relocate(id)).collect::<Vec<_>>() {
            let kept = !self.area.moved(&moved);
            let away = self.area.devices(None).any(|view| view.away > 0);
            assert!(away || !kept, "the old place is kept");
            self.disk.told(&moved, kept);
        }
        self.disk.submit(&batch);
    }

    /// One piece of work on entries that leave memory, or come back.
    pub(super) fn cold_step(&mut self) -> bool {
        self.cold.extend(std::iter::from_fn(|| self.area.poll_cold()));
        let Some(work) = self.cold.pop_front() else { return false };
        match work {
            ColdWork::Evict { number, .. } if self.index_broken => self.area.not_evicted(number),
            ColdWork::Evict { number, part, entries } => {
                self.kept.insert((number, part), entries);
                if self.turn(|area, _, _, _| area.evicted(number)) {
                    self.evictions += 1;
                } else {
                    self.kept.remove(&(number, part));
                }
            }
            ColdWork::Load { number, parts, last, ended } => {
                let anew = (self.disk.pending() == 0 || self.index_broken).then(|| {
                    self.sync_all();
                    cold_entries(&self.disk.messages_of(owner_of(number)), last, &ended)
                });
                let parts = (0..parts).map(|part| self.kept.remove(&(number, part)).unwrap());
                let mut entries = parts.collect::<Vec<_>>().concat();
                if let Some(anew) = anew {
                    assert_eq!(ids(&anew), ids(&entries), "what the store has of device number {number}");
                    if self.index_broken {
                        entries = anew;
                    }
                }
                self.turn(|area, _, batch, out| area.loaded(number, &entries, batch, out)).unwrap();
            }
        }
        true
    }
}

/// The ids of entries as they are kept.
fn ids(entries: &[u8]) -> BTreeSet<&[u8]> {
    entries.chunks(33).map(|entry| &entry[..8]).collect()
}
