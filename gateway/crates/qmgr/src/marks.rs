//! Marks of browsing (IBM MQ reference, "MQGMO options", MQGMO_MARK_BROWSE_HANDLE and MQGMO_MARK_BROWSE_CO_OP): by a
//! handle for itself, and by the handles of a queue that co-operate.
//!
//! Who browses what is not marked must not step over all that is: a queue's first half million messages may be. So a
//! set of marks knows a place up to which all messages are marked but for those that it names, and goes on from there.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::time::Instant;

use crate::index::{Index, Key};
use crate::verb::ConnId;

/// A handle: its connection and its number there.
pub(crate) type Who = (ConnId, i32);

/// Whose marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// Those of the handles that co-operate.
    CoOp,
    /// Those of one handle.
    Handle(Who),
}

/// The marks on the messages of a queue.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    sets: BTreeMap<Owner, Set>,
    /// Co-operative marks by when they end.
    by_time: BTreeSet<(Instant, Key)>,
}

#[derive(Debug, Default)]
struct Set {
    marked: BTreeMap<Key, Mark>,
    /// Up to here all messages are marked, but for `open`.
    up_to: Option<Key>,
    /// Messages up to there that are not marked, or are no more.
    open: BTreeSet<Key>,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    by: Who,
    until: Option<Instant>,
}

impl Marks {
    pub(crate) fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    pub(crate) fn is_marked(&self, owner: Owner, key: Key) -> bool {
        self.sets.get(&owner).is_some_and(|set| set.marked.contains_key(&key))
    }

    /// Marks a message for an owner; a co-operative mark may end by itself.
    pub(crate) fn mark(&mut self, owner: Owner, key: Key, by: Who, until: Option<Instant>) {
        let set = self.sets.entry(owner).or_default();
        set.open.remove(&key);
        let before = set.marked.insert(key, Mark { by, until });
        if let Some(until) = before.and_then(|mark| mark.until) {
            self.by_time.remove(&(until, key));
        }
        if let Some(until) = until {
            self.by_time.insert((until, key));
        }
    }

    /// Takes a mark away. Says whether there was one.
    pub(crate) fn unmark(&mut self, owner: Owner, key: Key) -> bool {
        let Some(set) = self.sets.get_mut(&owner) else { return false };
        let Some(mark) = set.marked.remove(&key) else { return false };
        if let Some(until) = mark.until {
            self.by_time.remove(&(until, key));
        }
        if set.up_to.is_some_and(|up_to| key <= up_to) {
            set.open.insert(key);
        }
        if set.marked.is_empty() {
            self.sets.remove(&owner);
        }
        true
    }

    /// A message is at this place, and was not a moment ago.
    pub(crate) fn comes(&mut self, key: Key) {
        for set in self.sets.values_mut() {
            if set.up_to.is_some_and(|up_to| key <= up_to) && !set.marked.contains_key(&key) {
                set.open.insert(key);
            }
        }
    }

    /// The message at this place is gone, and its marks with it.
    pub(crate) fn goes(&mut self, key: Key) {
        let by_time = &mut self.by_time;
        self.sets.retain(|_, set| {
            set.open.remove(&key);
            if let Some(until) = set.marked.remove(&key).and_then(|mark| mark.until) {
                by_time.remove(&(until, key));
            }
            !set.marked.is_empty()
        });
    }

    /// A handle is closed: its own marks go, and those that it made for all. Says what may be unmarked now.
    pub(crate) fn close(&mut self, who: Who) -> Vec<Key> {
        self.sets.remove(&Owner::Handle(who));
        let of_who = |(key, mark): (&Key, &Mark)| (mark.by == who).then_some(*key);
        let co_op = self.sets.get(&Owner::CoOp);
        let keys: Vec<Key> =
            co_op.map(|set| set.marked.iter().filter_map(of_who).collect()).unwrap_or_default();
        keys.iter().for_each(|key| _ = self.unmark(Owner::CoOp, *key));
        keys
    }

    /// When the first mark ends.
    pub(crate) fn first_end(&self) -> Option<Instant> {
        self.by_time.first().map(|(until, _)| *until)
    }

    /// Ends the marks whose time is over, and says which.
    pub(crate) fn end(&mut self, now: Instant) -> Vec<Key> {
        let over: Vec<Key> =
            self.by_time.iter().take_while(|(until, _)| *until <= now).map(|(_, key)| *key).collect();
        over.iter().for_each(|key| _ = self.unmark(Owner::CoOp, *key));
        over
    }

    /// Whether the message is not marked for any of the owners: none. Else the place behind which to look on.
    pub(crate) fn step_over(&mut self, owners: &[Owner], index: &Index, key: Key) -> Option<Key> {
        let mut behind = None;
        for owner in owners {
            let Some(set) = self.sets.get_mut(owner) else { continue };
            if set.marked.contains_key(&key) {
                behind = behind.max(Some(set.behind(index, key)));
            }
        }
        behind
    }
}

impl Set {
    /// Behind which place the next message may be that is not marked; the one at `key` is.
    fn behind(&mut self, index: &Index, key: Key) -> Key {
        match self.up_to {
            Some(up_to) if key <= up_to => {
                let open = self.open.range((Excluded(key), Unbounded)).next();
                open.and_then(|open| open.before()).map_or(up_to, |open| open.min(up_to)).max(key)
            }
            up_to => {
                let next = index.behind(up_to).next().map(|(next, _)| next);
                if next == Some(key) {
                    self.up_to = Some(key);
                }
                key
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::index::tests::entry;

    fn key(order: u64) -> Key {
        Key { class: 9, order }
    }

    const ME: Who = (ConnId(1), 1);
    const MINE: Owner = Owner::Handle(ME);

    fn queue(messages: u64) -> Index {
        let mut index = Index::default();
        (1..=messages).for_each(|order| index.insert(key(order), entry(order, [0; 2], 0), None));
        index
    }

    /// The first message that is not marked, and the steps to it.
    fn first(marks: &mut Marks, index: &Index, owners: &[Owner]) -> (Option<u64>, usize) {
        let (mut after, mut steps) = (None, 0);
        while let Some((key, _)) = index.behind(after).next() {
            steps += 1;
            match marks.step_over(owners, index, key) {
                None => return (Some(key.order), steps),
                Some(behind) => after = Some(behind),
            }
        }
        (None, steps)
    }

    #[test]
    fn marked_messages_are_not_stepped_over_again_and_again() {
        let (mut marks, index) = (Marks::default(), queue(10_000));
        let mut steps = 0;
        for order in 1..=10_000 {
            let (found, took) = first(&mut marks, &index, &[MINE]);
            assert_eq!(found, Some(order));
            steps += took;
            marks.mark(MINE, key(order), ME, None);
        }
        assert!(steps <= 30_000, "{steps}");
        assert_eq!(first(&mut marks, &index, &[MINE]).0, None);
        assert_eq!(first(&mut marks, &index, &[Owner::CoOp]).0, Some(1));
        assert!(marks.unmark(MINE, key(5_000)) && !marks.unmark(MINE, key(5_000)));
        assert_eq!(first(&mut marks, &index, &[MINE]), (Some(5_000), 2));
    }

    #[test]
    fn what_comes_is_not_marked() {
        let (mut marks, mut index) = (Marks::default(), queue(10));
        for order in [1, 2, 3, 4] {
            marks.mark(MINE, key(order), ME, None);
            first(&mut marks, &index, &[MINE]);
        }
        index.remove(key(2));
        marks.goes(key(2));
        assert_eq!(first(&mut marks, &index, &[MINE]).0, Some(5));
        index.insert(key(2), entry(2, [0; 2], 0), None);
        marks.comes(key(2));
        assert_eq!(first(&mut marks, &index, &[MINE]).0, Some(2));
    }

    #[test]
    fn co_operative_marks_end_by_time_and_with_their_handle() {
        let (mut marks, index, start) = (Marks::default(), queue(4), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        marks.mark(Owner::CoOp, key(1), ME, Some(at(5)));
        marks.mark(Owner::CoOp, key(2), (ConnId(1), 2), Some(at(9)));
        marks.mark(MINE, key(3), ME, None);
        assert_eq!(first(&mut marks, &index, &[MINE, Owner::CoOp]).0, Some(4));
        assert_eq!((marks.first_end(), marks.end(at(4))), (Some(at(5)), vec![]));
        assert_eq!(marks.end(at(5)), [key(1)]);
        assert_eq!(first(&mut marks, &index, &[MINE, Owner::CoOp]).0, Some(1));
        assert_eq!(marks.close((ConnId(1), 2)), [key(2)]);
        assert_eq!(marks.close(ME), []);
        assert!(marks.is_empty() && marks.by_time.is_empty());
    }
}
