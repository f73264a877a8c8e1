//! Gets that wait on a queue: fair among those whom a message fits, at no cost to those whom it does not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::get::Plan;
use crate::index::{Entry, Key, Select};
use crate::verb::{CallId, ConnId};

/// A get that waits.
#[derive(Debug, Clone)]
pub(crate) struct Waiter {
    pub(crate) conn: ConnId,
    pub(crate) call: CallId,
    pub(crate) plan: Plan,
    /// When it ends with 2033; none waits for ever.
    pub(crate) deadline: Option<Instant>,
}

/// The number of a waiter, given in the order in which they came.
pub(crate) type Turn = u64;

/// The gets that wait on one queue.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    waiters: BTreeMap<Turn, Waiter>,
    /// Those that take the message, by what they wait for: the first that fits gets it.
    takers: BTreeSet<(Select, Turn)>,
    /// Those that browse: each that fits gets it.
    browsers: BTreeSet<(Select, Turn)>,
}

impl Waiting {
    pub(crate) fn len(&self) -> usize {
        self.waiters.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    pub(crate) fn add(&mut self, turn: Turn, waiter: Waiter) {
        let set = if waiter.plan.browses() { &mut self.browsers } else { &mut self.takers };
        set.insert((waiter.plan.select, turn));
        self.waiters.insert(turn, waiter);
    }

    pub(crate) fn remove(&mut self, turn: Turn) -> Option<Waiter> {
        let waiter = self.waiters.remove(&turn)?;
        self.takers.remove(&(waiter.plan.select, turn));
        self.browsers.remove(&(waiter.plan.select, turn));
        Some(waiter)
    }

    pub(crate) fn get(&self, turn: Turn) -> Option<&Waiter> {
        self.waiters.get(&turn)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Turn, &Waiter)> {
        self.waiters.iter().map(|(turn, waiter)| (*turn, waiter))
    }

    /// Whoever has waited longest, behind `after`, and takes what the message is.
    pub(crate) fn taker(&self, key: Key, entry: &Entry, after: Option<Turn>) -> Option<Turn> {
        let from = after.map_or(0, |turn| turn + 1);
        let first =
            |select| self.takers.range((select, from)..=(select, Turn::MAX)).next().map(|(_, turn)| *turn);
        Select::all_of(key, entry).into_iter().filter_map(first).min()
    }

    /// Everyone who waits to browse what the message is, in order.
    pub(crate) fn browsers(&self, key: Key, entry: &Entry) -> Vec<Turn> {
        if self.browsers.is_empty() {
            return Vec::new();
        }
        let mut turns: Vec<Turn> = Select::all_of(key, entry)
            .into_iter()
            .flat_map(|select| self.browsers.range((select, 0)..=(select, Turn::MAX)).map(|(_, turn)| *turn))
            .collect();
        turns.sort_unstable();
        turns
    }
}
