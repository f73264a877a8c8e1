//! Messages that are off their queues, with the one who holds them: got in a unit of work, locked by the owner, or put
//! and not committed.
//!
//! All of them are in one table by id, and who holds them keeps ids only: so a message that compaction moves is found
//! at once, whoever has it.

use std::collections::BTreeMap;

use store::{Id, Place, UnitId};

use crate::connection::Unit;
use crate::index::{Entry, Key};

/// A message that is off its queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) queue: u64,
    pub(crate) key: Key,
    pub(crate) entry: Entry,
}

/// A unit of work that ends: what it held.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    pub(crate) id: Option<UnitId>,
    pub(crate) puts: Vec<Held>,
    pub(crate) gets: Vec<Held>,
}

/// Every message that is held.
#[derive(Debug, Default)]
pub(crate) struct Table(BTreeMap<Id, Held>);

impl Table {
    /// Takes a message in. What comes back is for the one who holds it.
    pub(crate) fn add(&mut self, held: Held) -> Id {
        self.0.insert(held.entry.id, held);
        held.entry.id
    }

    pub(crate) fn get(&self, id: Id) -> Option<&Held> {
        self.0.get(&id)
    }

    /// Nobody holds the message any more.
    pub(crate) fn take(&mut self, id: Id) -> Option<Held> {
        self.0.remove(&id)
    }

    pub(crate) fn take_all(&mut self, ids: Vec<Id>) -> Vec<Held> {
        ids.into_iter().filter_map(|id| self.take(id)).collect()
    }

    /// Takes all that a unit holds.
    pub(crate) fn end(&mut self, unit: Unit) -> Ended {
        let Unit { id, puts, gets, .. } = unit;
        Ended { id, puts: self.take_all(puts), gets: self.take_all(gets) }
    }

    /// The message lies elsewhere now. Says whether it is held.
    pub(crate) fn set_place(&mut self, id: Id, place: Place) -> bool {
        let Some(held) = self.0.get_mut(&id) else { return false };
        held.entry.place = place;
        true
    }
}
