//! The messages of a queue that can be had now, in the order in which they are had.
//!
//! A message that is locked (got in a unit of work, or by the gateway) or not committed is not in here: it is with
//! the one who holds it, together with its key, and comes back to its place. So nothing is ever stepped over.
//!
//! A message takes little more than its [`Entry`], 56 bytes; one that can expire stands by its time as well. Indexes by
//! MsgId and CorrelId are made when somebody first gets by them from a queue that is not short, and dropped when the
//! queue is empty. Messages in groups stand by their place there as well; beside them the others are told apart only
//! when somebody first gets by such a place.

mod chunks;
mod groups;

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Included};

use mq_wire::GroupId;
use store::{Id, Place};

use self::chunks::Chunks;
use self::groups::Groups;
pub(crate) use self::groups::{Member, Ready, Spot};
use crate::special::Special;

/// The place of a message in its queue: class (0 is got first; 9 minus the priority, or 0 on a FIFO queue), then
/// the order key of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) class: u8,
    pub(crate) order: u64,
}

impl Key {
    /// The place in front of this one.
    pub(crate) fn before(self) -> Option<Self> {
        match (self.class, self.order) {
            (0, 0) => None,
            (class, 0) => Some(Self { class: class - 1, order: u64::MAX }),
            (class, order) => Some(Self { class, order: order - 1 }),
        }
    }
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
    /// It is not persistent, but survives a restart if the store has it: NPMCLASS(HIGH).
    pub(crate) const KEPT: Self = Self(64);

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

    /// It is there again after a restart: so its end has to be on disk before anybody hears of it.
    pub(crate) fn survives(&self) -> bool {
        self.persistent() || self.flags.contains(Flags::KEPT)
    }

    pub(crate) fn is_expired(&self, wall_ms: u64) -> bool {
        self.expiry_ms != 0 && self.expiry_ms <= wall_ms
    }
}

/// Which messages are wanted, by one thing: what somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Select {
    Any,
    MsgId(u64),
    CorrelId(u64),
    Both(u64, u64),
    /// By token, which says the place.
    At(Key),
    Group(GroupId),
}

impl Select {
    /// Every selection that the message fits.
    pub(crate) fn all_of(key: Key, entry: &Entry, group_id: Option<GroupId>) -> impl Iterator<Item = Self> {
        let [msg_id, correl_id] = entry.tags;
        let always = [
            Self::Any,
            Self::MsgId(msg_id),
            Self::CorrelId(correl_id),
            Self::Both(msg_id, correl_id),
            Self::At(key),
        ];
        always.into_iter().chain(group_id.map(Self::Group))
    }
}

/// Which messages are wanted, in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Want {
    /// By token, which says the place.
    pub(crate) at: Option<Key>,
    /// Hashes of MsgId and CorrelId.
    pub(crate) msg_id: Option<u64>,
    pub(crate) correl_id: Option<u64>,
    pub(crate) group_id: Option<GroupId>,
    pub(crate) seq_number: Option<i32>,
    pub(crate) offset: Option<i32>,
    /// What must be there beside it.
    pub(crate) ready: Option<Ready>,
}

impl Want {
    /// Exactly this message of a group.
    pub(crate) fn spot(spot: Spot) -> Self {
        let Spot { group_id, seq_number, offset } = spot;
        let (seq_number, offset) = (Some(seq_number), Some(offset));
        Self { group_id: Some(group_id), seq_number, offset, ..Self::default() }
    }

    /// What a message that comes must be, so that it is worth while to look; and whether that is all that is wanted:
    /// else what can be had then need not be the message that came.
    pub(crate) fn select(&self) -> (Select, bool) {
        let rest = self.seq_number.is_some() || self.offset.is_some() || self.ready.is_some();
        match (self.at, self.msg_id, self.correl_id, self.group_id) {
            (None, None, None, None) => (Select::Any, !rest),
            (None, Some(msg_id), None, None) if !rest => (Select::MsgId(msg_id), true),
            (None, None, Some(correl_id), None) if !rest => (Select::CorrelId(correl_id), true),
            (None, Some(msg_id), Some(correl_id), None) if !rest => (Select::Both(msg_id, correl_id), true),
            (Some(key), None, None, None) if !rest => (Select::At(key), true),
            (at, msg_id, correl_id, Some(group_id)) => {
                let all = !rest && at.is_none() && msg_id.is_none() && correl_id.is_none();
                (Select::Group(group_id), all)
            }
            _ => (Select::Any, false),
        }
    }

    fn tags_fit(&self, entry: &Entry) -> bool {
        let [msg_id, correl_id] = entry.tags;
        self.msg_id.is_none_or(|wanted| wanted == msg_id)
            && self.correl_id.is_none_or(|wanted| wanted == correl_id)
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
    groups: Groups,
    /// Those that are not in `groups`, while somebody gets by what those are.
    plain: Option<BTreeSet<Key>>,
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

    /// Adds a message; with what is special about it, if its entry says that something is.
    pub(crate) fn insert(&mut self, key: Key, entry: Entry, special: Option<&Special>) {
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
        let group = special.and_then(|special| Some((special.group?, special.properties.length)));
        match (group, &mut self.plain) {
            (Some((group, properties)), _) => {
                self.groups.insert(key, &group, entry.body_length, properties);
            }
            (None, Some(plain)) => _ = plain.insert(key),
            (None, None) => {}
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
        if let Some(plain) = &mut self.plain {
            plain.remove(&key);
        }
        if !self.groups.is_empty() {
            self.groups.remove(key);
        }
    }

    /// Where a message belongs, if it is in a group or a segment.
    pub(crate) fn member(&self, key: Key) -> Option<(Spot, Member)> {
        self.groups.member(key)
    }

    /// The place of the segment behind that one.
    pub(crate) fn next_offset(&self, spot: Spot, member: Member) -> i32 {
        self.groups.next_offset(spot, member)
    }

    /// The segments behind the first one of a logical message; none if one is missing.
    pub(crate) fn rest_of_message(&self, head: Key) -> Option<Vec<Key>> {
        match self.groups.member(head) {
            Some((spot, _)) if spot.offset == 0 => self.groups.whole(head).map(|mut keys| {
                keys.remove(0);
                keys
            }),
            Some(_) => None,
            None => Some(Vec::new()),
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
        (self.by_msg_id, self.by_correl_id, self.plain) = (None, None, None);
    }

    /// As [`Self::forget_matches`], and nobody will ask for places in groups either.
    pub(crate) fn forget_all(&mut self) {
        self.forget_matches();
        self.groups = Groups::default();
    }

    /// The first message behind `after` that fits and has not expired. Those found expired are put into `expired`
    /// and are to be removed.
    pub(crate) fn find(
        &mut self,
        want: &Want,
        after: Option<Key>,
        wall_ms: u64,
        expired: &mut Vec<Key>,
    ) -> Option<Key> {
        let mut after = after;
        loop {
            let key = self.next(want, after)?;
            self.steps += 1;
            if !self.get(key).is_some_and(|entry| entry.is_expired(wall_ms)) {
                return Some(key);
            }
            expired.push(key);
            after = Some(key);
        }
    }

    /// Whether the message at this place is wanted.
    pub(crate) fn fits(&self, want: &Want, key: Key, entry: &Entry) -> bool {
        want.at.is_none_or(|at| at == key) && want.tags_fit(entry) && self.group_fits(want, key)
    }

    fn group_fits(&self, want: &Want, key: Key) -> bool {
        if want.group_id.is_none() && want.select().1 {
            return true;
        }
        let found = self.groups.spot(key);
        let spot = found.unwrap_or(Spot { group_id: GroupId::NONE, seq_number: 1, offset: 0 });
        want.group_id.is_none_or(|wanted| wanted == spot.group_id)
            && want.seq_number.is_none_or(|wanted| wanted == spot.seq_number)
            && want.offset.is_none_or(|wanted| wanted == spot.offset)
            && want.ready.is_none_or(|ready| found.is_none() || self.groups.is_ready(key, ready))
    }

    fn next(&mut self, want: &Want, after: Option<Key>) -> Option<Key> {
        if let Some(key) = want.at {
            let behind = after.is_none_or(|after| after < key);
            return self.get(key).filter(|entry| behind && self.fits(want, key, entry)).map(|_| key);
        }
        if want.select() == (Select::Any, true) {
            return self.behind(after).next().map(|(key, _)| key);
        }
        if self.count <= SHORT && self.by_msg_id.is_none() && self.by_correl_id.is_none() {
            let (mut steps, mut found) = (0, None);
            for (key, entry) in self.behind(after) {
                steps += 1;
                if self.fits(want, key, entry) {
                    found = Some(key);
                    break;
                }
            }
            self.steps += steps;
            return found;
        }
        let mut after = after;
        loop {
            let key = self.candidate(want, after)?;
            if self.get(key).is_some_and(|entry| self.fits(want, key, entry)) {
                return Some(key);
            }
            self.steps += 1;
            after = Some(key);
        }
    }

    /// The next message that may be wanted, by the index that says most.
    fn candidate(&mut self, want: &Want, after: Option<Key>) -> Option<Key> {
        match *want {
            // MsgIds are unique in all likelihood, CorrelIds need not be.
            Want { msg_id: Some(tag), .. } => after_tag(self.tagged(0), tag, after).next(),
            Want { correl_id: Some(tag), .. } => after_tag(self.tagged(1), tag, after).next(),
            Want { group_id: Some(group_id), seq_number: Some(seq_number), offset: Some(offset), .. } => {
                self.groups.next_at(Spot { group_id, seq_number, offset }, after)
            }
            Want { group_id: Some(group_id), .. } => self.groups.next_of(group_id, after),
            Want { seq_number, offset, ready, .. } => {
                let grouped = self.groups.next_ready(ready, after);
                // One that is in no group is the first of one for itself.
                let alone = seq_number.is_none_or(|number| number == 1) && offset.is_none_or(|at| at == 0);
                let plain = if alone { self.next_plain(after) } else { None };
                [grouped, plain].into_iter().flatten().min()
            }
        }
    }

    /// The next message that is in no group.
    fn next_plain(&mut self, after: Option<Key>) -> Option<Key> {
        if self.groups.is_empty() {
            return self.behind(after).next().map(|(key, _)| key);
        }
        if self.plain.is_none() {
            self.steps += self.count as u64;
            let all = self.behind(None).map(|(key, _)| key);
            self.plain = Some(all.filter(|key| self.groups.spot(*key).is_none()).collect());
        }
        groups::behind(self.plain.as_ref()?, after)
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

    pub(crate) fn entry(number: u64, tags: [u64; 2], expiry_ms: u64) -> Entry {
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

    const ANY: Want = Want {
        at: None,
        msg_id: None,
        correl_id: None,
        group_id: None,
        seq_number: None,
        offset: None,
        ready: None,
    };

    #[test]
    fn an_entry_is_small() {
        assert!(size_of::<Entry>() <= 56, "{}", size_of::<Entry>());
    }

    #[test]
    fn order_is_by_class_and_then_by_order_key() {
        let mut index = Index::default();
        for (class, order) in [(9, 1), (0, 7), (9, 0), (3, 5)] {
            index.insert(key(class, order), entry(order, [0, 0], 0), None);
        }
        let keys: Vec<_> = index.behind(None).map(|(key, _)| key).collect();
        assert_eq!(keys, [key(0, 7), key(3, 5), key(9, 0), key(9, 1)]);
        assert_eq!(index.find(&ANY, Some(key(3, 5)), 0, &mut Vec::new()), Some(key(9, 0)));
        assert_eq!(index.find(&ANY, Some(key(9, 1)), 0, &mut Vec::new()), None);
        let at = Want { at: Some(key(9, 0)), ..ANY };
        assert_eq!(index.find(&at, None, 0, &mut Vec::new()), Some(key(9, 0)));
    }

    #[test]
    fn a_match_costs_the_same_on_a_long_queue() {
        let mut index = Index::default();
        for number in 0..10_000 {
            index.insert(key(9, number), entry(number, [number, number / 2], 0), None);
        }
        let find = |index: &mut Index, (msg_id, correl_id), after| {
            let want = Want { msg_id, correl_id, ..ANY };
            index.find(&want, after, 0, &mut Vec::new())
        };
        assert_eq!(find(&mut index, (Some(77), None), None), Some(key(9, 77)));
        assert_eq!(find(&mut index, (None, Some(4_999)), None), Some(key(9, 9_998)));
        assert_eq!(find(&mut index, (None, Some(4_999)), Some(key(9, 9_998))), Some(key(9, 9_999)));
        assert_eq!(find(&mut index, (Some(9), Some(4)), None), Some(key(9, 9)));
        assert_eq!(find(&mut index, (Some(9), Some(5)), None), None);
        let before = index.steps;
        for number in (0..10_000).rev() {
            assert_eq!(find(&mut index, (Some(number), None), None), Some(key(9, number)));
            index.remove(key(9, number));
        }
        assert!(index.steps - before <= 20_000, "{}", index.steps - before);
        assert!(index.by_msg_id.is_none(), "an empty queue keeps no index");
    }

    #[test]
    fn the_expired_are_stepped_over_and_named() {
        let mut index = Index::default();
        index.insert(key(9, 1), entry(1, [0, 0], 100), None);
        index.insert(key(9, 2), entry(2, [0, 0], 101), None);
        let mut expired = Vec::new();
        assert_eq!(index.find(&ANY, None, 100, &mut expired), Some(key(9, 2)));
        assert_eq!(expired, [key(9, 1)]);
        assert_eq!(index.first_expiry(), Some(100));
        assert_eq!(index.expired(100, 9), [key(9, 1)]);
        assert_eq!(index.expired(101, 1), [key(9, 1)]);
        index.remove(key(9, 1));
        assert_eq!((index.first_expiry(), index.expired(100, 9)), (Some(101), Vec::new()));
    }
}
