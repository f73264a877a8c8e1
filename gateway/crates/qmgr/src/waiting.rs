//! Gets that wait on a queue: fair among those whom a message fits, at no cost to those whom it does not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use mq_wire::GroupId;

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
    /// Those of both for whom a message that comes may make another one fit: they look anew.
    looking: BTreeSet<(Select, Turn)>,
}

/// One who waits and may be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Candidate {
    /// The message is what is wanted.
    Fits(Turn),
    /// It may make one fit.
    Looks(Turn),
}

impl Waiting {
    pub(crate) fn len(&self) -> usize {
        self.waiters.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    pub(crate) fn add(&mut self, turn: Turn, waiter: Waiter) {
        let (select, _) = waiter.plan.want.select();
        let set = match (waiter.plan.looks_around(), waiter.plan.takes()) {
            (true, _) => &mut self.looking,
            (false, true) => &mut self.takers,
            (false, false) => &mut self.browsers,
        };
        set.insert((select, turn));
        self.waiters.insert(turn, waiter);
    }

    pub(crate) fn remove(&mut self, turn: Turn) -> Option<Waiter> {
        let waiter = self.waiters.remove(&turn)?;
        let (select, _) = waiter.plan.want.select();
        for set in [&mut self.takers, &mut self.browsers, &mut self.looking] {
            set.remove(&(select, turn));
        }
        Some(waiter)
    }

    pub(crate) fn get(&self, turn: Turn) -> Option<&Waiter> {
        self.waiters.get(&turn)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Turn, &Waiter)> {
        self.waiters.iter().map(|(turn, waiter)| (*turn, waiter))
    }

    /// Whoever has waited longest, behind `after`, and takes what the message is, or may take what it makes fit.
    pub(crate) fn taker(
        &self,
        key: Key,
        entry: &Entry,
        group_id: Option<GroupId>,
        after: Option<Turn>,
    ) -> Option<Candidate> {
        let from = after.map_or(0, |turn| turn + 1);
        let first = |set: &BTreeSet<(Select, Turn)>, select| {
            set.range((select, from)..=(select, Turn::MAX)).next().map(|(_, turn)| *turn)
        };
        let fits =
            Select::all_of(key, entry, group_id).filter_map(|select| first(&self.takers, select)).min();
        if self.looking.is_empty() {
            return fits.map(Candidate::Fits);
        }
        let looks =
            Select::all_of(key, entry, group_id).filter_map(|select| first(&self.looking, select)).min();
        match (fits, looks) {
            (Some(fits), Some(looks)) if looks < fits => Some(Candidate::Looks(looks)),
            (Some(fits), _) => Some(Candidate::Fits(fits)),
            (None, looks) => looks.map(Candidate::Looks),
        }
    }

    /// Everyone who waits to browse what the message is, in order.
    pub(crate) fn browsers(&self, key: Key, entry: &Entry, group_id: Option<GroupId>) -> Vec<Turn> {
        if self.browsers.is_empty() {
            return Vec::new();
        }
        let mut turns: Vec<Turn> = Select::all_of(key, entry, group_id)
            .flat_map(|select| self.browsers.range((select, 0)..=(select, Turn::MAX)).map(|(_, turn)| *turn))
            .collect();
        turns.sort_unstable();
        turns
    }
}
