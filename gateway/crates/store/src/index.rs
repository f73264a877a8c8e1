//! The derived index, in sled: entries of owners for whom memory has no room.
//!
//! Nothing in it is the truth and nothing outlives a start: the journal has everything ([`crate::Store::entries`]), and a
//! start makes it anew, so it does not matter whether the folder is missing, older, newer, damaged or swollen. It is
//! made when the first entries come, and made anew when sled reports an error or keeps too many dead pages.
//!
//! Entries are packed: a key of its own for each owner would cost sled more memory than the entries themselves
//! (measured: 200,000 small keys, 75 MB and more). No other file names sled.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::OwnerId;

const DIRECTORY: &str = "index";
const TREE: &str = "cold";
const CACHE_BYTES: u64 = 4 << 20;
/// sled gives space back only in its flusher, so it stays on.
const SLED_FLUSH_MS: u64 = 1000;
/// What goes into sled at once. Sixteen of these fit into a page that is no file of its own.
const PACK_BYTES: usize = 8 << 10;
/// An index that takes more than this, and so many times its content, is made anew.
const SWOLLEN_BYTES_MIN: u64 = if cfg!(test) { 1 << 20 } else { 64 << 20 };
const SWOLLEN_FACTOR: u64 = 4;
/// How often that is looked at, in packs.
const LOOK_AFTER_PACKS: u64 = 64;

/// Keeps index entries of owners for whom memory has no room. Blocks; not for the core.
#[derive(Debug, Clone)]
pub struct ColdIndex {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    directory: PathBuf,
    rebuilds: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sled: Option<Sled>,
    /// Databases that were made, for their names.
    made: u32,
    /// The pack that is being filled, and its number.
    filling: Vec<u8>,
    number: u64,
    places: HashMap<(u64, u32), Place>,
    /// Bytes of each pack that are still wanted.
    live: HashMap<u64, u64>,
    /// No more is taken: the store is closed.
    closed: bool,
}

#[derive(Debug)]
struct Sled {
    db: sled::Db,
    packs: sled::Tree,
    path: PathBuf,
}

/// Where a part lies.
#[derive(Debug, Clone, Copy)]
struct Place {
    pack: u64,
    offset: u32,
    length: u32,
    checksum: u32,
}

impl ColdIndex {
    /// An empty index below the data directory. What an earlier start has left there is removed.
    pub(crate) fn new(directory: &Path) -> Self {
        let directory = directory.join(DIRECTORY);
        remove(&directory);
        let state = Mutex::new(State { number: 1, ..State::default() });
        Self { inner: Arc::new(Inner { directory, rebuilds: AtomicU64::new(0), state }) }
    }

    /// Keeps a part of what the caller knows of an owner; an earlier one of the same number is replaced. False if it
    /// cannot: then whoever has it must keep it.
    pub fn put(&self, owner: OwnerId, part: u32, entries: &[u8]) -> bool {
        let mut state = self.lock();
        let Ok(length) = u32::try_from(entries.len()) else { return false };
        if state.closed {
            return false;
        }
        state.release(&(owner.0, part));
        if !state.filling.is_empty()
            && state.filling.len() + entries.len() > PACK_BYTES
            && !self.write_pack(&mut state)
        {
            return false;
        }
        let offset = state.filling.len() as u32;
        let place = Place { pack: state.number, offset, length, checksum: crc32fast::hash(entries) };
        state.filling.extend_from_slice(entries);
        *state.live.entry(place.pack).or_default() += u64::from(length);
        state.places.insert((owner.0, part), place);
        true
    }

    /// The parts from 0 on, one after the other; none if one is not there, or does not verify.
    pub fn get(&self, owner: OwnerId, parts: u32) -> Option<Vec<u8>> {
        let state = self.lock();
        let mut all = Vec::new();
        for part in 0..parts {
            let place = state.places.get(&(owner.0, part))?;
            let range = place.offset as usize..place.offset as usize + place.length as usize;
            let begin = all.len();
            if place.pack == state.number {
                all.extend_from_slice(state.filling.get(range)?);
            } else {
                let packs = &state.sled.as_ref()?.packs;
                let pack = guarded(|| packs.get(place.pack.to_be_bytes()))??;
                all.extend_from_slice(pack.get(range)?);
            }
            if crc32fast::hash(&all[begin..]) != place.checksum {
                return None;
            }
        }
        Some(all)
    }

    /// The parts from 0 on are in memory again.
    pub fn remove(&self, owner: OwnerId, parts: u32) {
        let mut state = self.lock();
        for part in 0..parts {
            state.release(&(owner.0, part));
        }
    }

    /// Times at which it was made anew.
    pub(crate) fn rebuilds(&self) -> u64 {
        self.inner.rebuilds.load(Ordering::Relaxed)
    }

    /// The store ends: sled lets its files go.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        *state = State { closed: true, ..State::default() };
    }

    /// As after an error of sled's.
    #[cfg(test)]
    pub(crate) fn give_up(&self) {
        self.make_anew(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the pack that is full into sled, and begins another. After an error everything that was kept is void.
    fn write_pack(&self, state: &mut State) -> bool {
        if state.sled.is_none() {
            state.sled = self.open(state);
        }
        let bytes = std::mem::take(&mut state.filling);
        let (number, wanted) = (state.number, state.live.contains_key(&state.number));
        state.number += 1;
        let written = state.sled.as_ref().is_some_and(|sled| {
            !wanted || guarded(|| sled.packs.insert(number.to_be_bytes(), bytes)).is_some()
        });
        if !written {
            tracing::warn!(path = %self.inner.directory.display(), "the index cannot be written; it is made anew");
            self.make_anew(state);
        } else if number.is_multiple_of(LOOK_AFTER_PACKS) {
            self.shrink(state);
        }
        written
    }

    /// What was kept is void: the journal has it.
    fn make_anew(&self, state: &mut State) {
        if let Some(sled) = state.sled.take() {
            sled.end();
        }
        *state =
            State { made: state.made, number: state.number + 1, closed: state.closed, ..State::default() };
        self.inner.rebuilds.fetch_add(1, Ordering::Relaxed);
    }

    fn open(&self, state: &mut State) -> Option<Sled> {
        state.made += 1;
        let path = self.inner.directory.join(state.made.to_string());
        remove(&path);
        let config = sled::Config::new().path(&path).cache_capacity(CACHE_BYTES);
        let config = config.flush_every_ms(Some(SLED_FLUSH_MS));
        let db = guarded(|| config.open())?;
        let packs = guarded(|| db.open_tree(TREE))?;
        Some(Sled { db, packs, path })
    }

    /// Copies what is wanted into another database if this one is mostly dead pages.
    fn shrink(&self, state: &mut State) {
        let wanted: u64 = state.live.values().sum();
        let size = state.sled.as_ref().and_then(|sled| guarded(|| sled.db.size_on_disk())).unwrap_or(0);
        if size <= SWOLLEN_BYTES_MIN || size <= wanted.saturating_mul(SWOLLEN_FACTOR) {
            return;
        }
        let Some(old) = state.sled.take() else { return };
        let copied = self.open(state).filter(|new| {
            let all = state.live.keys().filter(|pack| **pack != state.number);
            all.map(|pack| pack.to_be_bytes()).all(|pack| {
                let bytes = guarded(|| old.packs.get(pack)).flatten();
                bytes.is_some_and(|bytes| guarded(|| new.packs.insert(pack, bytes)).is_some())
            })
        });
        old.end();
        self.inner.rebuilds.fetch_add(1, Ordering::Relaxed);
        match copied {
            Some(new) => state.sled = Some(new),
            None => self.make_anew(state),
        }
    }
}

impl State {
    /// A part is not wanted any more; with the last one its pack goes.
    fn release(&mut self, key: &(u64, u32)) {
        let Some(place) = self.places.remove(key) else { return };
        let Some(live) = self.live.get_mut(&place.pack) else { return };
        *live -= u64::from(place.length);
        if *live > 0 {
            return;
        }
        self.live.remove(&place.pack);
        if place.pack != self.number
            && let Some(sled) = &self.sled
            && guarded(|| sled.packs.remove(place.pack.to_be_bytes())).is_none()
        {
            tracing::debug!(pack = place.pack, "a pack of the index stays");
        }
    }
}

impl Sled {
    fn end(self) {
        let Self { db, packs, path } = self;
        drop((packs, db));
        remove(&path);
    }
}

/// sled panics on some kinds of damage.
fn guarded<T>(work: impl FnOnce() -> sled::Result<T>) -> Option<T> {
    match std::panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Some(value),
        Ok(Err(error)) => {
            tracing::warn!(%error, "sled");
            None
        }
        Err(_) => None,
    }
}

fn remove(path: &Path) {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%error, path = %path.display(), "the old index stays");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(owner: u64, round: u64) -> Vec<u8> {
        (0..40 + owner % 500).map(|at| (owner * 7 + round * 13 + at) as u8).collect()
    }

    #[test]
    fn what_is_put_comes_back_until_it_is_removed_or_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let cold = ColdIndex::new(directory.path());
        assert_eq!(cold.get(OwnerId(1), 1), None);
        for round in 0..6 {
            for owner in 0..600 {
                assert!(cold.put(OwnerId(owner), 0, &entries(owner, round)));
                if owner % 3 == 0 {
                    assert!(cold.put(OwnerId(owner), 1, b"more"));
                }
                if owner % 5 == 0 {
                    cold.remove(OwnerId(owner), 2);
                }
            }
        }
        for owner in 0..600 {
            let mut wanted = Some(entries(owner, 5)).filter(|_| owner % 5 != 0);
            assert_eq!(cold.get(OwnerId(owner), 1), wanted, "{owner}");
            wanted = wanted.filter(|_| owner % 3 == 0).map(|first| [first.as_slice(), b"more"].concat());
            assert_eq!(cold.get(OwnerId(owner), 2), wanted, "{owner}");
        }
        assert_eq!(cold.get(OwnerId(1), 0), Some(Vec::new()));
        cold.close();
        assert!(!cold.put(OwnerId(1), 0, b"x"));
        assert_eq!(cold.get(OwnerId(1), 1), None);
    }

    #[test]
    fn one_that_is_mostly_dead_pages_is_made_anew_and_nothing_is_lost() {
        let directory = tempfile::tempdir().unwrap();
        let cold = ColdIndex::new(directory.path());
        let mut round = 0;
        while cold.rebuilds() == 0 {
            round += 1;
            for owner in 0..100 {
                assert!(cold.put(OwnerId(owner), 0, &vec![round as u8; 2000]));
            }
            assert!(round < 1000, "it does not swell");
        }
        for owner in 0..100 {
            assert_eq!(cold.get(OwnerId(owner), 1).map(|entries| entries.len()), Some(2000), "{owner}");
        }
    }

    #[test]
    fn after_an_error_everything_is_void_and_it_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let cold = ColdIndex::new(directory.path());
        for owner in 0..100 {
            assert!(cold.put(OwnerId(owner), 0, &[1; 1000]));
        }
        cold.give_up();
        assert!((0..100).all(|owner| cold.get(OwnerId(owner), 1).is_none()));
        for owner in 0..100 {
            assert!(cold.put(OwnerId(owner), 0, &[2; 1000]));
        }
        assert!((0..100).all(|owner| cold.get(OwnerId(owner), 1) == Some(vec![2; 1000])));
        assert_eq!(cold.rebuilds(), 1);
        // Whatever an earlier start has left, or somebody has put there, is gone with the next start.
        std::fs::write(directory.path().join("index/1"), [0x5a; 3000]).unwrap_or_default();
        cold.close();
        let next = ColdIndex::new(directory.path());
        assert!(!directory.path().join("index").exists());
        assert_eq!(next.get(OwnerId(1), 1), None);
    }
}
