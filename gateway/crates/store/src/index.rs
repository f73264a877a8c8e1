//! The derived index of keyed state, in sled: look-ups outside of the core, and a quick start.
//!
//! The journal is the truth. The index is written by a thread of its own, lazily, and only behind what is durable;
//! with each write goes the position that it reflects, in the same sled batch. Whatever is wrong with it (missing,
//! older, newer, damaged, swollen, an error while it is written), it is written anew and no answer changes: at a start a
//! value is taken from it only if its position is a point of this very journal and the journal says that the record at
//! that place lives. While the service runs the new one is filled from the journal, in this thread; until then it
//! answers nothing.
//!
//! No other file names sled.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::format::record::{self, Parsed};
use crate::journal::Segments;
use crate::layout::Spot;
use crate::ledger::RealChange;
use crate::{KeyedChange, OwnerId, Place, StoreError};

const TREE: &str = "keyed";
const COLD_TREE: &str = "cold";
const DIRECTORY: &str = "index";
/// The position of the tree; keys of the callers have another first byte.
const POSITION_KEY: &[u8] = b"p";
const KEY_PREFIX: u8 = b'k';
const CACHE_BYTES: u64 = 16 << 20;
/// Changes are gathered this long before they are written.
const GATHER: Duration = Duration::from_millis(500);
/// Values that are read for one write of a new index.
const REBUILD_CHUNK: usize = 1000;
/// An index that takes more than this, and so many times its content, is written anew.
const SWOLLEN_BYTES_MIN: u64 = if cfg!(test) { 2 << 20 } else { 64 << 20 };
const SWOLLEN_FACTOR: u64 = 8;
/// sled gives space back only in its flusher, so it stays on.
const SLED_FLUSH_MS: u64 = 1000;

/// A point of the journal: the end of a group, and which group that was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) start: u32,
    pub(crate) spot: Spot,
    pub(crate) checksum: u32,
}

/// Reads keyed state outside of the core. It lags behind what is durable by up to about a second, and it answers
/// nothing while the index is not available: whoever must know asks the core.
#[derive(Debug, Clone)]
pub struct KeyedIndex {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    directory: PathBuf,
    rebuilds: AtomicU64,
    trees: RwLock<Option<Trees>>,
    pending: Mutex<Pending>,
    wake: Condvar,
}

#[derive(Debug, Clone)]
struct Trees {
    db: sled::Db,
    keyed: sled::Tree,
    /// Index entries that memory has no room for. Nothing of an earlier start is ever read.
    cold: sled::Tree,
}

#[derive(Debug, Default)]
struct Pending {
    changes: HashMap<Vec<u8>, Option<(Bytes, Place)>>,
    identity: Option<Identity>,
    /// What is in the tree.
    applied: Spot,
    hurry: bool,
    stop: bool,
    /// The tree cannot be written: nothing goes into it until it was made anew.
    broken: bool,
    /// From what it is made anew.
    rebuild: Option<Rebuild>,
    rebuilding: bool,
}

/// Where every value lies, and where to read it.
#[derive(Debug)]
struct Rebuild {
    places: Vec<Place>,
    segments: Arc<Segments>,
}

impl KeyedIndex {
    /// The value of a key.
    pub fn keyed(&self, key: &[u8]) -> Option<Bytes> {
        let trees = self.inner.trees()?;
        let entry = trees.keyed.get(tree_key(key)).ok()??;
        decode(key, &entry).map(|e| e.1)
    }

    /// The part of the index that holds what memory has no room for.
    pub(crate) fn cold(&self, start: u32) -> ColdIndex {
        ColdIndex { inner: Arc::clone(&self.inner), start }
    }

    /// The keys that begin with `prefix`, in their order, and their values.
    pub fn scan(&self, prefix: &[u8]) -> Vec<(Vec<u8>, Bytes)> {
        let Some(trees) = self.inner.trees() else { return Vec::new() };
        let entries = trees.keyed.scan_prefix(tree_key(prefix)).filter_map(Result::ok);
        entries
            .filter_map(|(key, entry)| {
                let key = key.get(1..)?.to_vec();
                let value = decode(&key, &entry)?.1;
                Some((key, value))
            })
            .collect()
    }
}

/// Keeps index entries of owners for whom memory has no room. It is derived: what it has lost, the journal has
/// ([`crate::Store::entries`]). Blocks; not for the core.
#[derive(Debug, Clone)]
pub struct ColdIndex {
    inner: Arc<Inner>,
    start: u32,
}

impl ColdIndex {
    /// Keeps a part of what the caller knows of an owner; an earlier one of the same number is replaced. False if it
    /// cannot: then whoever has it must keep it.
    pub fn put(&self, owner: OwnerId, part: u32, entries: &[u8]) -> bool {
        let Some(trees) = self.inner.trees() else { return false };
        let key = cold_key(owner, part);
        let head = [self.start, checksum(&key, entries)];
        let mut value: Vec<u8> = head.iter().flat_map(|n| n.to_le_bytes()).collect();
        value.extend_from_slice(entries);
        trees.cold.insert(key, value).is_ok()
    }

    /// The parts from 0 on, one after the other; none if one is not there, or does not verify.
    pub fn get(&self, owner: OwnerId, parts: u32) -> Option<Vec<u8>> {
        let trees = self.inner.trees()?;
        let mut all = Vec::new();
        for part in 0..parts {
            let key = cold_key(owner, part);
            let value = trees.cold.get(key).ok()??;
            let mut cursor = crate::format::Cursor::new(&value);
            let (start, expected) = (cursor.u32()?, cursor.u32()?);
            let entries = cursor.bytes(cursor.remaining())?;
            if start != self.start || checksum(&key, entries) != expected {
                return None;
            }
            all.extend_from_slice(entries);
        }
        Some(all)
    }

    /// The parts from 0 on are in memory again.
    pub fn remove(&self, owner: OwnerId, parts: u32) {
        let Some(trees) = self.inner.trees() else { return };
        for part in 0..parts {
            if let Err(error) = trees.cold.remove(cold_key(owner, part)) {
                // It is never read again without being put again.
                tracing::debug!(%error, "cold entries stay in the index");
            }
        }
    }
}

fn cold_key(owner: OwnerId, part: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&owner.0.to_be_bytes());
    key[8..].copy_from_slice(&part.to_be_bytes());
    key
}

/// What the index held when the store was opened.
#[derive(Debug, Default)]
pub(crate) struct IndexCopy {
    trees: Option<Trees>,
    identity: Option<Identity>,
    by_place: HashMap<Place, (Vec<u8>, Bytes)>,
}

impl IndexCopy {
    /// Opens the index below `directory`; one that cannot be used is replaced by an empty one.
    pub(crate) fn open(directory: &Path) -> Self {
        let path = directory.join(DIRECTORY);
        let mut copy = Self::try_open(&path);
        if copy.is_none() {
            tracing::warn!(path = %path.display(), "the index cannot be used and is written anew");
            if let Err(error) = std::fs::remove_dir_all(&path) {
                tracing::warn!(%error, "the old index stays");
            }
            copy = Self::try_open(&path);
        }
        copy.unwrap_or_default()
    }

    fn try_open(path: &Path) -> Option<Self> {
        // sled panics on some kinds of damage.
        let opened = std::panic::catch_unwind(AssertUnwindSafe(|| -> sled::Result<Self> {
            let config = sled::Config::new();
            let db =
                config.path(path).cache_capacity(CACHE_BYTES).flush_every_ms(Some(SLED_FLUSH_MS)).open()?;
            let keyed = db.open_tree(TREE)?;
            if is_swollen(&db, &keyed) {
                return Err(sled::Error::Unsupported("it has swollen".to_owned()));
            }
            let identity = keyed.get(POSITION_KEY)?.and_then(|bytes| decode_identity(&bytes));
            let mut by_place = HashMap::new();
            for entry in keyed.scan_prefix([KEY_PREFIX]) {
                let (key, entry) = entry?;
                let key = &key[1..];
                if let Some((place, value)) = decode(key, &entry) {
                    by_place.insert(place, (key.to_vec(), value));
                }
            }
            db.drop_tree(COLD_TREE)?;
            let cold = db.open_tree(COLD_TREE)?;
            Ok(Self { trees: Some(Trees { db, keyed, cold }), identity, by_place })
        }));
        opened.ok()?.ok()
    }

    /// The position that it reflects.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.identity
    }

    /// The keyed record at this place.
    pub(crate) fn at(&self, place: Place) -> Option<KeyedChange> {
        let (key, value) = self.by_place.get(&place)?;
        Some(KeyedChange { key: key.clone(), value: Some(value.clone()) })
    }
}

/// Writes the index.
#[derive(Debug)]
pub(crate) struct IndexWriter {
    index: KeyedIndex,
    thread: Option<JoinHandle<()>>,
}

impl IndexWriter {
    /// Brings the copy to what the journal says, and starts the thread.
    pub(crate) fn start(
        directory: &Path,
        copy: IndexCopy,
        valid: bool,
        keyed: &[(Vec<u8>, Bytes)],
        places: &[(Vec<u8>, Place)],
        identity: Identity,
    ) -> Result<Self, StoreError> {
        let IndexCopy { trees, by_place, .. } = copy;
        let mut pending = Pending { identity: Some(identity), ..Pending::default() };
        let mut known: HashMap<Vec<u8>, Place> = HashMap::new();
        if valid {
            known = by_place.into_iter().map(|(place, (key, _))| (key, place)).collect();
        } else if let Some(trees) = &trees
            && let Err(error) = trees.keyed.clear()
        {
            tracing::warn!(%error, "the index cannot be emptied");
        }
        for ((key, value), (_, place)) in keyed.iter().zip(places) {
            if known.remove(key) != Some(*place) {
                pending.changes.insert(key.clone(), Some((value.clone(), *place)));
            }
        }
        pending.changes.extend(known.into_keys().map(|key| (key, None)));
        let inner = Inner {
            directory: directory.join(DIRECTORY),
            rebuilds: AtomicU64::new(0),
            trees: RwLock::new(trees),
            pending: Mutex::new(pending),
            wake: Condvar::new(),
        };
        let inner = Arc::new(inner);
        let for_thread = Arc::clone(&inner);
        let thread = std::thread::Builder::new()
            .name("store-index".to_owned())
            .spawn(move || for_thread.run())
            .map_err(|error| StoreError::Io {
                action: "start",
                path: "the index's thread".to_owned(),
                error: error.to_string(),
            })?;
        Ok(Self { index: KeyedIndex { inner }, thread: Some(thread) })
    }

    pub(crate) fn index(&self) -> &KeyedIndex {
        &self.index
    }

    /// What became durable with the group that ends at this point.
    pub(crate) fn feed(&self, changes: impl IntoIterator<Item = RealChange>, identity: Identity) {
        let mut pending = self.index.inner.lock();
        if pending.stop || (pending.broken && pending.rebuild.is_none() && !pending.rebuilding) {
            // What it is made anew from has this too.
            pending.identity = Some(identity);
            return;
        }
        for change in changes {
            pending.changes.insert(change.key, change.value);
        }
        pending.identity = Some(identity);
        self.index.inner.wake.notify_one();
    }

    /// What the core asks and gives; see [`IndexUpkeep`].
    pub(crate) fn upkeep(&self) -> IndexUpkeep {
        IndexUpkeep { inner: Arc::clone(&self.index.inner) }
    }

    /// Whether the tree has come to this point. If not, it makes haste.
    pub(crate) fn has_passed(&self, spot: Spot) -> bool {
        let mut pending = self.index.inner.lock();
        let passed = pending.applied >= spot || pending.stop || pending.broken;
        if !passed && !pending.hurry {
            pending.hurry = true;
            self.index.inner.wake.notify_one();
        }
        passed
    }
}

/// The core's hold on the index: sees that it must be made anew, and gives what that needs.
#[derive(Debug, Clone)]
pub(crate) struct IndexUpkeep {
    inner: Arc<Inner>,
}

impl IndexUpkeep {
    /// Whether it waits to be made anew.
    pub(crate) fn wants_rebuild(&self) -> bool {
        let pending = self.inner.lock();
        pending.broken && pending.rebuild.is_none() && !pending.rebuilding && !pending.stop
    }

    /// Makes it anew from the values at these places, all of which are on disk.
    pub(crate) fn rebuild(&self, places: Vec<Place>, segments: Arc<Segments>) {
        self.inner.lock().rebuild = Some(Rebuild { places, segments });
        self.inner.wake.notify_one();
    }

    /// Times at which it was made anew while the service ran.
    pub(crate) fn rebuilds(&self) -> u64 {
        self.inner.rebuilds.load(Ordering::Relaxed)
    }

    /// As after an error of sled's.
    #[cfg(test)]
    pub(crate) fn give_up(&self) {
        self.inner.give_up();
    }
}

impl Drop for IndexWriter {
    fn drop(&mut self) {
        self.index.inner.lock().stop = true;
        self.index.inner.wake.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the index's thread has panicked");
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trees(&self) -> Option<Trees> {
        self.trees.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes what has gathered, until it is stopped; then lets sled go.
    fn run(&self) {
        let mut stop = false;
        while !stop {
            let mut pending = self.lock();
            while pending.identity.is_none() && pending.rebuild.is_none() && !pending.stop {
                pending = self.wake.wait(pending).unwrap_or_else(PoisonError::into_inner);
            }
            let gathered = Instant::now() + GATHER;
            while !pending.hurry && !pending.stop {
                let left = gathered.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                pending = self.wake.wait_timeout(pending, left).unwrap_or_else(PoisonError::into_inner).0;
            }
            stop = pending.stop;
            pending.hurry = false;
            if let Some(rebuild) = pending.rebuild.take() {
                pending.rebuilding = true;
                drop(pending);
                self.make_anew(&rebuild);
                continue;
            }
            if pending.broken {
                pending.identity = None;
                continue;
            }
            let changes = std::mem::take(&mut pending.changes);
            let identity = pending.identity.take();
            drop(pending);
            if let (Some(identity), Some(trees)) = (identity, self.trees()) {
                match write(&trees, changes, identity) {
                    Ok(()) => self.lock().applied = identity.spot,
                    Err(error) => {
                        tracing::warn!(%error, "the index cannot be written; it is made anew");
                        self.give_up();
                    }
                }
            }
        }
        self.lock().stop = true;
        *self.trees.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Inner {
    /// The tree is of no use any more; the core is asked for what a new one is made from.
    fn give_up(&self) {
        *self.trees.write().unwrap_or_else(PoisonError::into_inner) = None;
        let mut pending = self.lock();
        pending.broken = true;
        pending.changes.clear();
    }

    /// A new tree with every value that the journal holds. One that changes meanwhile comes again with its change.
    fn make_anew(&self, rebuild: &Rebuild) {
        if let Err(error) = std::fs::remove_dir_all(&self.directory) {
            tracing::warn!(%error, "the old index stays");
        }
        let filled = IndexCopy::try_open(&self.directory).and_then(|copy| {
            let trees = copy.trees?;
            rebuild
                .fill(&trees)
                .map_err(|error| tracing::warn!(%error, "the index cannot be filled"))
                .ok()?;
            Some(trees)
        });
        let broken = filled.is_none();
        if !broken {
            self.rebuilds.fetch_add(1, Ordering::Relaxed);
        }
        *self.trees.write().unwrap_or_else(PoisonError::into_inner) = filled;
        let mut pending = self.lock();
        (pending.broken, pending.rebuilding) = (broken, false);
    }
}

impl Rebuild {
    fn fill(&self, trees: &Trees) -> sled::Result<()> {
        for places in self.places.chunks(REBUILD_CHUNK) {
            let mut batch = sled::Batch::default();
            for place in places {
                // A segment that is gone has nothing that lives: what was there has changed since.
                let Some(segment) = self.segments.get(place.segment) else { continue };
                match segment.record(place.offset).map(|bytes| record::parse(&bytes, *place)) {
                    Ok(Some(Parsed::Keyed(_, KeyedChange { key, value: Some(value) }))) => {
                        batch.insert(tree_key(&key), encode(&key, &value, *place));
                    }
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%error, "a value is left out of the index"),
                }
            }
            trees.keyed.apply_batch(batch)?;
        }
        Ok(())
    }
}

/// Whether most of what the tree takes on disk is dead pages: sled gives space back slowly, or not at all.
fn is_swollen(db: &sled::Db, keyed: &sled::Tree) -> bool {
    let Ok(size) = db.size_on_disk() else { return true };
    if size <= SWOLLEN_BYTES_MIN {
        return false;
    }
    let content = keyed.iter().filter_map(Result::ok).map(|(key, value)| (key.len() + value.len()) as u64);
    size > content.sum::<u64>().saturating_mul(SWOLLEN_FACTOR)
}

fn write(
    trees: &Trees,
    changes: HashMap<Vec<u8>, Option<(Bytes, Place)>>,
    identity: Identity,
) -> sled::Result<()> {
    let mut batch = sled::Batch::default();
    for (key, value) in changes {
        match value {
            Some((value, place)) => batch.insert(tree_key(&key), encode(&key, &value, place)),
            None => batch.remove(tree_key(&key)),
        }
    }
    batch.insert(POSITION_KEY, encode_identity(identity));
    trees.keyed.apply_batch(batch)?;
    trees.db.flush()?;
    Ok(())
}

fn tree_key(key: &[u8]) -> Vec<u8> {
    [&[KEY_PREFIX], key].concat()
}

/// Bytes of an entry before its value: the place, and a checksum of key and value.
const ENTRY_HEAD: usize = 16;

fn checksum(key: &[u8], value: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(value);
    hasher.finalize()
}

fn encode(key: &[u8], value: &[u8], place: Place) -> Vec<u8> {
    let numbers = [place.segment, place.offset, place.record, checksum(key, value)];
    let mut entry: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    entry.extend_from_slice(value);
    entry
}

fn decode(key: &[u8], entry: &[u8]) -> Option<(Place, Bytes)> {
    let mut cursor = crate::format::Cursor::new(entry);
    let place = Place { segment: cursor.u32()?, offset: cursor.u32()?, record: cursor.u32()? };
    let expected = cursor.u32()?;
    let value = &entry[ENTRY_HEAD..];
    (checksum(key, value) == expected).then(|| (place, Bytes::copy_from_slice(value)))
}

fn encode_identity(identity: Identity) -> Vec<u8> {
    let Identity { start, spot, checksum } = identity;
    [start, spot.segment, spot.offset, checksum].iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn decode_identity(bytes: &[u8]) -> Option<Identity> {
    let mut cursor = crate::format::Cursor::new(bytes);
    let (start, segment, offset, checksum) = (cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?);
    (cursor.remaining() == 0).then_some(Identity { start, spot: Spot { segment, offset }, checksum })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_mostly_dead_pages_is_written_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(DIRECTORY);
        let copy = IndexCopy::try_open(&path).unwrap();
        let Trees { db, keyed, .. } = copy.trees.unwrap();
        let mut round = 0u32;
        while db.size_on_disk().unwrap() <= SWOLLEN_BYTES_MIN {
            round += 1;
            for key in 0..50u32 {
                let value = vec![round as u8; 2000];
                keyed.insert(key.to_be_bytes(), value).unwrap();
            }
            db.flush().unwrap();
            assert!(round < 1000, "it does not swell");
        }
        drop((keyed, db));
        assert!(IndexCopy::try_open(&path).is_none());
        let anew = IndexCopy::open(directory.path());
        assert!(anew.trees.is_some_and(|trees| trees.db.size_on_disk().unwrap() < SWOLLEN_BYTES_MIN));
    }
}
