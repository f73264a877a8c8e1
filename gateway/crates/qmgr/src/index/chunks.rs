//! Entries in the order of their keys, in chunks: little more than the entries themselves, however many there are.
//!
//! Messages mostly come at the end and go at the beginning; those that are backed out come back to their places. So a
//! chunk is a deque, never longer than 256 entries, that grows by doubling from one. Full chunks stay full while only
//! the end grows; only an insertion in the middle splits one, where it is. What is taken leaves its chunk at once, so there are no
//! dead entries to step over.
//!
//! The order key of a message is its id, but for the few that were stored once more at an old place: theirs are kept
//! apart. Those that can expire stand by their time as well.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use store::Id;

use super::Entry;

/// Most entries of a chunk.
const CHUNK_ENTRIES_MAX: usize = 256;

/// Fewest entries of a part of a chunk that is split.
const SPLIT_ENTRIES_MIN: usize = 32;

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// None is empty.
    chunks: VecDeque<Chunk>,
    /// Order keys that are not the ids of their messages.
    apart: BTreeMap<Id, u64>,
    /// Order keys of those that can expire, by when they do.
    by_time: BTreeSet<(u64, u64)>,
}

/// Entries that follow each other.
#[derive(Debug, Default)]
struct Chunk {
    /// The order key of the last one: here, so that a search among thousands of chunks stays in what is cached.
    last: u64,
    entries: VecDeque<Entry>,
}

/// Where something is, or would be.
struct Spot {
    chunk: usize,
    at: usize,
    found: bool,
}

impl Chunks {
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub(super) fn get(&self, order: u64) -> Option<&Entry> {
        let spot = self.find(order);
        self.chunks.get(spot.chunk)?.entries.get(spot.at).filter(|_| spot.found)
    }

    pub(super) fn get_mut(&mut self, order: u64) -> Option<&mut Entry> {
        let spot = self.find(order);
        self.chunks.get_mut(spot.chunk)?.entries.get_mut(spot.at).filter(|_| spot.found)
    }

    /// Puts an entry to its place. Gives back what had the same order key.
    pub(super) fn insert(&mut self, order: u64, entry: Entry) -> Option<Entry> {
        let spot = self.find(order);
        let replaced = self.remove_at(order, &spot);
        let spot = if replaced.is_some() { self.find(order) } else { spot };
        if order != entry.id.as_u64() {
            self.apart.insert(entry.id, order);
        }
        if entry.expiry_ms != 0 {
            self.by_time.insert((entry.expiry_ms, order));
        }
        let Spot { mut chunk, mut at, .. } = spot;
        let room = |chunk: Option<&Chunk>| chunk.is_some_and(|chunk| chunk.entries.len() < CHUNK_ENTRIES_MAX);
        if at == 0 && !room(self.chunks.get(chunk)) {
            // Between two chunks: at the end of the first one, or in one of its own.
            match chunk.checked_sub(1).filter(|before| room(self.chunks.get(*before))) {
                Some(before) => (chunk, at) = (before, CHUNK_ENTRIES_MAX),
                None => self.chunks.insert(chunk, Chunk::default()),
            }
        } else if !room(self.chunks.get(chunk)) {
            // Where it is split others will follow: what comes back comes in order.
            let split = at.clamp(SPLIT_ENTRIES_MIN, CHUNK_ENTRIES_MAX - SPLIT_ENTRIES_MIN);
            if let Some(full) = self.chunks.get_mut(chunk) {
                let tail = Chunk { last: full.last, entries: full.entries.split_off(split) };
                give_back(&mut full.entries);
                self.chunks.insert(chunk + 1, tail);
                self.note_last(chunk);
            }
            if at > split {
                (chunk, at) = (chunk + 1, at - split);
            }
        }
        if let Some(Chunk { last, entries: chunk }) = self.chunks.get_mut(chunk) {
            *last = order.max(*last);
            if chunk.len() == chunk.capacity() {
                chunk.reserve_exact(chunk.len().clamp(1, CHUNK_ENTRIES_MAX - chunk.len()));
            }
            chunk.insert(at.min(chunk.len()), entry);
        }
        replaced
    }

    pub(super) fn remove(&mut self, order: u64) -> Option<Entry> {
        let spot = self.find(order);
        self.remove_at(order, &spot)
    }

    fn remove_at(&mut self, order: u64, spot: &Spot) -> Option<Entry> {
        let only = self.chunks.len() == 1;
        let Chunk { entries: chunk, .. } = self.chunks.get_mut(spot.chunk).filter(|_| spot.found)?;
        let entry = chunk.remove(spot.at)?;
        if order != entry.id.as_u64() {
            self.apart.remove(&entry.id);
        }
        if entry.expiry_ms != 0 {
            self.by_time.remove(&(entry.expiry_ms, order));
        }
        if chunk.is_empty() {
            self.chunks.remove(spot.chunk);
            give_back(&mut self.chunks);
            return Some(entry);
        }
        let was_last = spot.at == chunk.len();
        if only || spot.at > 0 {
            // A first chunk that is being emptied from its beginning goes soon as a whole.
            give_back(chunk);
        }
        if was_last {
            self.note_last(spot.chunk);
        }
        Some(entry)
    }

    fn note_last(&mut self, chunk: usize) {
        let last = self.chunks.get(chunk).and_then(|chunk| chunk.entries.back()).map(|last| self.order(last));
        if let (Some(chunk), Some(last)) = (self.chunks.get_mut(chunk), last) {
            chunk.last = last;
        }
    }

    /// When the first of them expires.
    pub(super) fn first_expiry(&self) -> Option<u64> {
        self.by_time.first().map(|(expiry_ms, _)| *expiry_ms)
    }

    /// Those that have expired, the first ones first.
    pub(super) fn expired(&self, wall_ms: u64) -> impl Iterator<Item = u64> {
        let over = self.by_time.iter().take_while(move |(expiry_ms, _)| *expiry_ms <= wall_ms);
        over.map(|(_, order)| *order)
    }

    /// Everything behind a key, in order.
    pub(super) fn behind(&self, after: Option<u64>) -> impl Iterator<Item = (u64, &Entry)> {
        let spot = after.map_or(Spot { chunk: 0, at: 0, found: false }, |after| self.find(after));
        let first = spot.at + usize::from(spot.found);
        let (start, rest) = (spot.chunk.min(self.chunks.len()), (spot.chunk + 1).min(self.chunks.len()));
        let begun = self
            .chunks
            .range(start..rest)
            .flat_map(move |chunk| chunk.entries.range(first.min(chunk.entries.len())..));
        let others = self.chunks.range(rest..).flat_map(|chunk| &chunk.entries);
        begun.chain(others).map(|entry| (self.order(entry), entry))
    }

    fn order(&self, entry: &Entry) -> u64 {
        let apart = if self.apart.is_empty() { None } else { self.apart.get(&entry.id) };
        apart.copied().unwrap_or_else(|| entry.id.as_u64())
    }

    /// The first entry with this key or a higher one.
    fn find(&self, order: u64) -> Spot {
        let ends_before = |chunk: &Chunk| chunk.last < order;
        // Most come at the end, and go at the beginning.
        let chunk = match (self.chunks.front(), self.chunks.back()) {
            (Some(first), _) if !ends_before(first) => 0,
            (_, Some(last)) if !ends_before(last) => self.chunks.partition_point(ends_before),
            _ => self.chunks.len(),
        };
        let Some(Chunk { entries, .. }) = self.chunks.get(chunk) else {
            return Spot { chunk, at: 0, found: false };
        };
        let at = match entries.front() {
            Some(first) if self.order(first) >= order => 0,
            _ => entries.partition_point(|entry| self.order(entry) < order),
        };
        let found = entries.get(at).is_some_and(|entry| self.order(entry) == order);
        Spot { chunk, at, found }
    }

    /// Bytes that are reserved for entries.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let entries: usize = self.chunks.iter().map(|chunk| chunk.entries.capacity()).sum();
        entries * size_of::<Entry>() + self.chunks.capacity() * size_of::<Chunk>()
    }
}

/// Gives back room of which three quarters are not used.
fn give_back<T>(deque: &mut VecDeque<T>) {
    if deque.len() <= deque.capacity() / 4 {
        deque.shrink_to(deque.len() * 2);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::tests::entry;

    #[derive(Debug, Clone)]
    enum Step {
        /// So many at the end.
        Append(u64),
        /// So many from the beginning, which come back later.
        Lock(usize),
        Unlock,
        /// One in the middle.
        Remove(usize),
        /// One that has another order than its id: behind one that is there.
        Again(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1..400_u64).prop_map(Step::Append),
            (1..400_usize).prop_map(Step::Lock),
            Just(Step::Unlock),
            any::<usize>().prop_map(Step::Remove),
            any::<usize>().prop_map(Step::Again),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_is_a_map(steps in prop::collection::vec(step(), 1..40)) {
            let (mut chunks, mut map) = (Chunks::default(), BTreeMap::new());
            let (mut next, mut locked) = (10, Vec::new());
            for step in steps {
                match step {
                    Step::Append(count) => for _ in 0..count {
                        let entry = entry(next, [0; 2], 0);
                        assert_eq!(chunks.insert(next, entry), map.insert(next, entry));
                        next += 10;
                    },
                    Step::Lock(count) => {
                        let orders: Vec<u64> = map.keys().copied().take(count).collect();
                        for order in orders {
                            locked.push((order, map.remove(&order).unwrap()));
                            assert_eq!(chunks.remove(order), locked.last().map(|(_, entry)| *entry));
                            assert_eq!(chunks.remove(order), None);
                        }
                    }
                    Step::Unlock => for (order, entry) in locked.drain(..) {
                        assert_eq!(chunks.insert(order, entry), map.insert(order, entry));
                    },
                    Step::Remove(which) if !map.is_empty() => {
                        let order = *map.keys().nth(which % map.len()).unwrap();
                        assert_eq!(chunks.remove(order), map.remove(&order));
                    }
                    Step::Again(which) if !map.is_empty() => {
                        let order = *map.keys().nth(which % map.len()).unwrap() + which as u64 % 2;
                        let entry = entry(next + 5, [0; 2], 0);
                        next += 10;
                        assert_eq!(chunks.insert(order, entry), map.insert(order, entry));
                    }
                    _ => {}
                }
                let pairs: Vec<_> = chunks.behind(None).map(|(order, entry)| (order, *entry)).collect();
                prop_assert_eq!(&pairs, &map.iter().map(|(order, entry)| (*order, *entry)).collect::<Vec<_>>());
                for order in pairs.iter().map(|(order, _)| *order).step_by(37) {
                    for after in [order - 1, order, order + 1] {
                        let expected = map.range(after + 1..).next().map(|(order, _)| *order);
                        prop_assert_eq!(chunks.behind(Some(after)).next().map(|(order, _)| order), expected);
                        prop_assert_eq!(chunks.get(after), map.get(&after));
                    }
                }
                for chunk in &chunks.chunks {
                    prop_assert!((1..=CHUNK_ENTRIES_MAX).contains(&chunk.entries.len()));
                    prop_assert_eq!(chunk.entries.back().map(|last| chunks.order(last)), Some(chunk.last));
                }
                prop_assert_eq!(chunks.is_empty(), map.is_empty());
            }
        }
    }

    /// STORE.md 7: what a message takes beside the indexes by MsgId and CorrelId.
    #[test]
    fn an_entry_takes_little_more_than_itself() {
        let mut chunks = Chunks::default();
        let fill = |chunks: &mut Chunks, numbers: std::ops::Range<u64>| {
            numbers.for_each(|number| _ = chunks.insert(number, entry(number, [0; 2], 0)));
        };
        fill(&mut chunks, 0..1);
        assert!(chunks.bytes() <= 256, "one message: {}", chunks.bytes());
        fill(&mut chunks, 1..100_000);
        assert!(chunks.bytes() <= 58 * 100_000, "{}", chunks.bytes() / 100_000);
        // Ten thousand locked at the head come back.
        for number in 0..10_000 {
            chunks.remove(number);
        }
        fill(&mut chunks, 0..10_000);
        assert!(chunks.bytes() <= 58 * 100_000, "come back: {}", chunks.bytes() / 100_000);
        // Most are taken from everywhere.
        for number in (0..100_000).filter(|number| number % 10 > 0) {
            chunks.remove(number);
        }
        assert!(chunks.bytes() <= 4 * 58 * 10_000, "{}", chunks.bytes() / 10_000);
        for number in (10..100_000).step_by(10) {
            chunks.remove(number);
        }
        assert!(chunks.bytes() <= 512, "one is left: {}", chunks.bytes());
        chunks.remove(0);
        assert_eq!(chunks.bytes(), 0);
    }
}
