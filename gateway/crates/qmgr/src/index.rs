//! The messages of a queue that can be had now, in the order in which they are had.
//!
//! A message that is locked (got in a unit of work, or by the gateway) or not committed is not in here: it is with
//! the one who holds it, together with its key, and comes back to its place. So nothing is ever stepped over.
//!
//! A message takes little more than its [`Entry`], 56 bytes; one that can expire stands by its time as well. Indexes by
//! MsgId and CorrelId are made when somebody first gets by them from a queue that is not short, and dropped when the
//! queue is empty.

mod chunks;

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Included};

use store::{Id, Place};

use self::chunks::Chunks;

/// The place of a message in its queue: class (0 is got first; 9 minus the priority, or 0 on a FIFO queue), then
/// the order key of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) class: u8,
    pub(crate) order: u64,
}

/// What is known of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: Id,
    /// Wall clock milliseconds; 0 is never.
    pub(crate) expiry_ms: u64,
    /// Hashes of MsgId and CorrelId.
    pub(crate) tags: [u64; 2],
    pub(crate) place: Place,
    pub(crate) body_length: u32,
    /// The batch of this start that made it real, for answers that say it is there; 0: long durable.
    /// [`Entry::LATE`]: a batch with a larger number.
    pub(crate) batch: u32,
    pub(crate) backouts: u16,
    pub(crate) priority: u8,
    pub(crate) flags: Flags,
}

/// What is known of a message by a bit each, so that an entry stays small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags(u8);

impl Flags {
    /// It survives a restart.
    pub(crate) const PERSISTENT: Self = Self(1);
    /// There is more to know about it: see [`crate::special`].
    pub(crate) const SPECIAL: Self = Self(2);
    /// A report is wanted when it is got for good (COD).
    pub(crate) const COD: Self = Self(4);
    /// A report is wanted when it expires.
    pub(crate) const EXPIRATION: Self = Self(8);
    /// It is in a group, or a segment.
    pub(crate) const GROUPED: Self = Self(16);
    /// Its data begins with message properties.
    pub(crate) const PROPERTIES: Self = Self(32);

    pub(crate) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub(crate) fn with(self, other: Self, on: bool) -> Self {
        if on { Self(self.0 | other.0) } else { Self(self.0 & !other.0) }
    }
}

impl Entry {
    /// See [`Entry::batch`].
    pub(crate) const LATE: u32 = u32::MAX;

    pub(crate) fn persistent(&self) -> bool {
        self.flags.contains(Flags::PERSISTENT)
    }

    pub(crate) fn is_expired(&self, wall_ms: u64) -> bool {
        self.expiry_ms != 0 && self.expiry_ms <= wall_ms
    }
}

/// Which messages are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Select {
    Any,
    MsgId(u64),
    CorrelId(u64),
    Both(u64, u64),
    /// By token, which says the place.
    At(Key),
}

impl Select {
    pub(crate) fn fits(self, key: Key, entry: &Entry) -> bool {
        let [msg_id, correl_id] = entry.tags;
        match self {
            Self::Any => true,
            Self::MsgId(wanted) => wanted == msg_id,
            Self::CorrelId(wanted) => wanted == correl_id,
            Self::Both(wanted, other) => wanted == msg_id && other == correl_id,
            Self::At(wanted) => wanted == key,
        }
    }

    /// Every selection that the message fits.
    pub(crate) fn all_of(key: Key, entry: &Entry) -> [Self; 5] {
        let [msg_id, correl_id] = entry.tags;
        [
            Self::Any,
            Self::MsgId(msg_id),
            Self::CorrelId(correl_id),
            Self::Both(msg_id, correl_id),
            Self::At(key),
        ]
    }
}

/// Messages up to which a match looks at each.
const SHORT: usize = 64;

/// See the module's text.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Those that have messages, in the order in which they are got.
    classes: Vec<(u8, Chunks)>,
    count: usize,
    by_msg_id: Option<BTreeSet<(u64, Key)>>,
    by_correl_id: Option<BTreeSet<(u64, Key)>>,
    /// Entries looked at, ever: what a test counts instead of time.
    pub(crate) steps: u64,
}

impl Index {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// When the first of them expires.
    pub(crate) fn first_expiry(&self) -> Option<u64> {
        self.classes.iter().filter_map(|(_, class)| class.first_expiry()).min()
    }

    /// Those that have expired, up to so many.
    pub(crate) fn expired(&self, wall_ms: u64, messages_max: usize) -> Vec<Key> {
        let of_class = |(class, entries): &(u8, Chunks)| {
            let class = *class;
            entries
                .expired(wall_ms)
                .map(move |order| Key { class, order })
                .take(messages_max)
                .collect::<Vec<_>>()
        };
        self.classes.iter().flat_map(of_class).take(messages_max).collect()
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Entry> {
        self.class(key.class)?.get(key.order)
    }

    /// The message at this place in the order, if it is this one, lies elsewhere now. Says whether it is here.
    pub(crate) fn set_place(&mut self, key: Key, id: Id, place: Place) -> bool {
        let class = self.class_mut(key.class);
        let Some(entry) = class.and_then(|class| class.get_mut(key.order)).filter(|entry| entry.id == id)
        else {
            return false;
        };
        entry.place = place;
        true
    }

    /// Adds a message.
    pub(crate) fn insert(&mut self, key: Key, entry: Entry) {
        let at = self.classes.partition_point(|(class, _)| *class < key.class);
        if self.classes.get(at).is_none_or(|(class, _)| *class != key.class) {
            self.classes.reserve_exact(1);
            self.classes.insert(at, (key.class, Chunks::default()));
        }
        if let Some(replaced) = self.classes.get_mut(at).and_then(|(_, class)| class.insert(key.order, entry))
        {
            self.left(key, &replaced);
        }
        self.count += 1;
        if let Some(index) = &mut self.by_msg_id {
            index.insert((entry.tags[0], key));
        }
        if let Some(index) = &mut self.by_correl_id {
            index.insert((entry.tags[1], key));
        }
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<Entry> {
        let class = self.class_mut(key.class)?;
        let entry = class.remove(key.order)?;
        if class.is_empty() {
            self.classes.retain(|(class, _)| *class != key.class);
        }
        self.left(key, &entry);
        Some(entry)
    }

    /// An entry is no longer among those in order.
    fn left(&mut self, key: Key, entry: &Entry) {
        self.count -= 1;
        if self.count == 0 {
            self.forget_matches();
        }
        if let Some(index) = &mut self.by_msg_id {
            index.remove(&(entry.tags[0], key));
        }
        if let Some(index) = &mut self.by_correl_id {
            index.remove(&(entry.tags[1], key));
        }
    }

    fn class(&self, class: u8) -> Option<&Chunks> {
        self.classes.iter().find(|(other, _)| *other == class).map(|(_, chunks)| chunks)
    }

    fn class_mut(&mut self, class: u8) -> Option<&mut Chunks> {
        self.classes.iter_mut().find(|(other, _)| *other == class).map(|(_, chunks)| chunks)
    }

    /// Takes the first messages, up to so many.
    pub(crate) fn take_first(&mut self, messages_max: usize) -> Vec<Entry> {
        let keys: Vec<Key> = self.behind(None).take(messages_max).map(|(key, _)| key).collect();
        keys.into_iter().filter_map(|key| self.remove(key)).collect()
    }

    /// Drops the indexes by MsgId and CorrelId: nobody will ask for them.
    pub(crate) fn forget_matches(&mut self) {
        (self.by_msg_id, self.by_correl_id) = (None, None);
    }

    /// The first message behind `after` that fits and has not expired. Those found expired are put into `expired`
    /// and are to be removed.
    pub(crate) fn find(
        &mut self,
        select: Select,
        after: Option<Key>,
        wall_ms: u64,
        expired: &mut Vec<Key>,
    ) -> Option<Key> {
        let mut after = after;
        loop {
            let key = self.next(select, after)?;
            self.steps += 1;
            if !self.get(key).is_some_and(|entry| entry.is_expired(wall_ms)) {
                return Some(key);
            }
            expired.push(key);
            after = Some(key);
        }
    }

    fn next(&mut self, select: Select, after: Option<Key>) -> Option<Key> {
        match select {
            Select::Any => self.behind(after).next().map(|(key, _)| key),
            Select::At(key) => {
                (after.is_none_or(|after| after < key) && self.get(key).is_some()).then_some(key)
            }
            _ if self.count <= SHORT && self.by_msg_id.is_none() && self.by_correl_id.is_none() => {
                let (mut steps, mut found) = (0, None);
                for (key, entry) in self.behind(after) {
                    steps += 1;
                    if select.fits(key, entry) {
                        found = Some(key);
                        break;
                    }
                }
                self.steps += steps;
                found
            }
            Select::MsgId(tag) => after_tag(self.tagged(0), tag, after).next(),
            Select::CorrelId(tag) => after_tag(self.tagged(1), tag, after).next(),
            Select::Both(msg_id, correl_id) => {
                // MsgIds are unique in all likelihood, CorrelIds need not be.
                let keys: Vec<Key> = after_tag(self.tagged(0), msg_id, after).collect();
                self.steps += keys.len() as u64;
                keys.into_iter().find(|key| self.get(*key).is_some_and(|entry| entry.tags[1] == correl_id))
            }
        }
    }

    /// Everything behind `after`, in order.
    pub(crate) fn behind(&self, after: Option<Key>) -> impl Iterator<Item = (Key, &Entry)> {
        let first = after.map_or(0, |key| key.class);
        let classes = self.classes.iter().filter(move |(class, _)| *class >= first);
        classes.flat_map(move |(class, entries)| {
            let class = *class;
            let after = after.filter(|key| key.class == class).map(|key| key.order);
            entries.behind(after).map(move |(order, entry)| (Key { class, order }, entry))
        })
    }

    /// The index by one of the tags, made now if it is not there.
    fn tagged(&mut self, tag: usize) -> &BTreeSet<(u64, Key)> {
        let missing = if tag == 0 { self.by_msg_id.is_none() } else { self.by_correl_id.is_none() };
        let made = missing.then(|| {
            self.steps += self.count as u64;
            self.behind(None).map(|(key, entry)| (entry.tags[tag], key)).collect::<BTreeSet<_>>()
        });
        let index = if tag == 0 { &mut self.by_msg_id } else { &mut self.by_correl_id };
        index.get_or_insert_with(|| made.unwrap_or_default())
    }
}

fn after_tag(
    index: &BTreeSet<(u64, Key)>,
    tag: u64,
    after: Option<Key>,
) -> impl Iterator<Item = Key> + use<'_> {
    let first = Key { class: 0, order: 0 };
    let from = after.map_or(Included((tag, first)), |key| Excluded((tag, key)));
    let last = Key { class: u8::MAX, order: u64::MAX };
    index.range((from, Included((tag, last)))).map(|(_, key)| *key)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(super) fn entry(number: u64, tags: [u64; 2], expiry_ms: u64) -> Entry {
        Entry {
            id: Id::from_u64(number),
            expiry_ms,
            tags,
            place: Place::default(),
            body_length: 0,
            batch: 0,
            backouts: 0,
            priority: 0,
            flags: Flags::default(),
        }
    }

    fn key(class: u8, order: u64) -> Key {
        Key { class, order }
    }

    #[test]
    fn an_entry_is_small() {
        assert!(size_of::<Entry>() <= 56, "{}", size_of::<Entry>());
    }

    #[test]
    fn order_is_by_class_and_then_by_order_key() {
        let mut index = Index::default();
        for (class, order) in [(9, 1), (0, 7), (9, 0), (3, 5)] {
            index.insert(key(class, order), entry(order, [0, 0], 0));
        }
        let keys: Vec<_> = index.behind(None).map(|(key, _)| key).collect();
        assert_eq!(keys, [key(0, 7), key(3, 5), key(9, 0), key(9, 1)]);
        assert_eq!(index.find(Select::Any, Some(key(3, 5)), 0, &mut Vec::new()), Some(key(9, 0)));
        assert_eq!(index.find(Select::Any, Some(key(9, 1)), 0, &mut Vec::new()), None);
        assert_eq!(index.find(Select::At(key(9, 0)), None, 0, &mut Vec::new()), Some(key(9, 0)));
    }

    #[test]
    fn a_match_costs_the_same_on_a_long_queue() {
        let mut index = Index::default();
        for number in 0..10_000 {
            index.insert(key(9, number), entry(number, [number, number / 2], 0));
        }
        let find = |index: &mut Index, select, after| index.find(select, after, 0, &mut Vec::new());
        assert_eq!(find(&mut index, Select::MsgId(77), None), Some(key(9, 77)));
        assert_eq!(find(&mut index, Select::CorrelId(4_999), None), Some(key(9, 9_998)));
        assert_eq!(find(&mut index, Select::CorrelId(4_999), Some(key(9, 9_998))), Some(key(9, 9_999)));
        assert_eq!(find(&mut index, Select::Both(9, 4), None), Some(key(9, 9)));
        assert_eq!(find(&mut index, Select::Both(9, 5), None), None);
        let before = index.steps;
        for number in (0..10_000).rev() {
            assert_eq!(find(&mut index, Select::MsgId(number), None), Some(key(9, number)));
            index.remove(key(9, number));
        }
        assert!(index.steps - before <= 20_000, "{}", index.steps - before);
        assert!(index.by_msg_id.is_none(), "an empty queue keeps no index");
    }

    #[test]
    fn the_expired_are_stepped_over_and_named() {
        let mut index = Index::default();
        index.insert(key(9, 1), entry(1, [0, 0], 100));
        index.insert(key(9, 2), entry(2, [0, 0], 101));
        let mut expired = Vec::new();
        assert_eq!(index.find(Select::Any, None, 100, &mut expired), Some(key(9, 2)));
        assert_eq!(expired, [key(9, 1)]);
        assert_eq!(index.first_expiry(), Some(100));
        assert_eq!(index.expired(100, 9), [key(9, 1)]);
        assert_eq!(index.expired(101, 1), [key(9, 1)]);
        index.remove(key(9, 1));
        assert_eq!((index.first_expiry(), index.expired(100, 9)), (Some(101), Vec::new()));
    }
}
