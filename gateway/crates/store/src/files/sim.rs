//! A simulated disk: a page cache over sectors, with power loss, failing syncs and no space, all from a seed.
//!
//! What is not synced may be kept, lost or torn, sector by sector; directory operations may be forgotten one by one;
//! a failed sync marks pages clean that the disk may never have got, and clean pages may be evicted at any time. A
//! fuse stops the machine inside any operation that changes something.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use super::{File, Files, Lock};

const SECTOR: usize = 512;

/// A small generator of our own, so that a seed means the same for ever.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) % u64::from(bound.max(1))) as u32
    }

    pub(crate) fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }
}

/// A rule of the journal that is broken under its feet, to see that the crash test finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lie {
    /// The entries of this directory are never synced.
    Directory(&'static str),
    /// Files created under a name with this end are never synced.
    Files(&'static str),
    /// A sync never makes a new length durable.
    Lengths,
    /// A failed sync is taken for a good one.
    FailedSync,
}

/// A machine with a disk. Clones are the same machine.
#[derive(Debug, Clone)]
pub(crate) struct SimFiles {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    random: Random,
    inodes: Vec<Inode>,
    directories: BTreeMap<String, Directory>,
    /// Operations until the machine stops.
    fuse: Option<u32>,
    stopped: bool,
    /// Syncs that may still fail.
    failing_syncs: u32,
    /// Bytes that may still be reserved.
    room: Option<u64>,
    locked: bool,
    lie: Option<Lie>,
    /// What was done, in its order.
    log: Vec<String>,
}

#[derive(Debug, Default, Clone)]
struct Inode {
    /// As it was created or last renamed.
    name: String,
    disk: Vec<u8>,
    cache: Vec<u8>,
    dirty: BTreeSet<usize>,
    /// Whether the length on disk is that of the cache.
    length_dirty: bool,
    /// What was written since it has its name: begin and end.
    written: Vec<(usize, usize)>,
}

#[derive(Debug, Default, Clone)]
struct Directory {
    disk: BTreeMap<String, usize>,
    cache: BTreeMap<String, usize>,
    pending: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Set(String, usize),
    Remove(String),
    Rename(String, String, usize),
}

impl Directory {
    fn put(map: &mut BTreeMap<String, usize>, change: &Change) {
        match change {
            Change::Set(name, inode) => drop(map.insert(name.clone(), *inode)),
            Change::Remove(name) => drop(map.remove(name)),
            Change::Rename(from, to, inode) => {
                if map.get(from) == Some(inode) {
                    map.remove(from);
                }
                map.insert(to.clone(), *inode);
            }
        }
    }

    fn apply(&mut self, change: Change) {
        Self::put(&mut self.cache, &change);
        self.pending.push(change);
    }
}

impl SimFiles {
    pub(crate) fn new(seed: u64) -> Self {
        let state = State {
            random: Random::new(seed),
            inodes: Vec::new(),
            directories: BTreeMap::new(),
            fuse: None,
            stopped: false,
            failing_syncs: 0,
            room: None,
            locked: false,
            lie: None,
            log: Vec::new(),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Stops the machine inside the operation after `operations` more.
    pub(crate) fn set_fuse(&self, operations: Option<u32>) {
        self.lock().fuse = operations;
    }

    /// Whether the fuse has gone off.
    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Lets up to `count` syncs fail, at random.
    pub(crate) fn set_failing_syncs(&self, count: u32) {
        self.lock().failing_syncs = count;
    }

    /// Leaves room for this many bytes of new files, and of files that grow.
    pub(crate) fn set_room(&self, room: Option<u64>) {
        self.lock().room = room;
    }

    /// Breaks a rule.
    pub(crate) fn set_lie(&self, lie: Option<Lie>) {
        self.lock().lie = lie;
    }

    /// What was done since this was last asked.
    pub(crate) fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().log)
    }

    /// The process is killed: the page cache stays.
    pub(crate) fn kill(&self) {
        let mut state = self.lock();
        state.stopped = false;
        state.fuse = None;
        state.locked = false;
    }

    /// Power is lost: the synced stays, of the rest an arbitrary part.
    pub(crate) fn power_loss(&self) {
        self.kill();
        let state = &mut *self.lock();
        for inode in &mut state.inodes {
            if inode.length_dirty && state.random.one_in(2) {
                let (disk, cache) = (inode.disk.len(), inode.cache.len());
                let torn = cache > disk && state.random.one_in(2);
                let length =
                    if torn { disk + state.random.below((cache - disk) as u32) as usize } else { cache };
                inode.disk.resize(length, 0);
            }
            for sector in std::mem::take(&mut inode.dirty) {
                match state.random.below(3) {
                    0 => inode.persist(sector, SECTOR),
                    1 => {}
                    _ => inode.persist(sector, state.random.below(SECTOR as u32) as usize),
                }
            }
            inode.length_dirty = false;
            inode.cache.clone_from(&inode.disk);
        }
        for directory in state.directories.values_mut() {
            for change in std::mem::take(&mut directory.pending) {
                if state.random.one_in(2) {
                    Directory::put(&mut directory.disk, &change);
                }
            }
            directory.cache.clone_from(&directory.disk);
        }
    }

    /// Clean pages are thrown out: the cache shows what the disk has.
    pub(crate) fn evict(&self) {
        for inode in &mut self.lock().inodes {
            if inode.length_dirty {
                continue;
            }
            for sector in 0..inode.cache.len().div_ceil(SECTOR) {
                if !inode.dirty.contains(&sector) {
                    let range = sector * SECTOR..((sector + 1) * SECTOR).min(inode.cache.len());
                    // Where a failed sync has left the disk shorter, there is nothing but zeros to be read.
                    for at in range {
                        inode.cache[at] = inode.disk.get(at).copied().unwrap_or(0);
                    }
                }
            }
        }
    }

    /// The bytes of a file, as a reader sees them.
    pub(crate) fn content(&self, path: &str) -> Option<Vec<u8>> {
        let state = self.lock();
        Some(state.inodes[state.find(path)?].cache.clone())
    }

    /// Turns over bits of one byte, on disk and in the cache.
    pub(crate) fn flip(&self, path: &str, offset: usize, mask: u8) {
        let mut state = self.lock();
        let inode = state.find(path).unwrap();
        let inode = &mut state.inodes[inode];
        inode.cache[offset] ^= mask;
        if let Some(byte) = inode.disk.get_mut(offset) {
            *byte ^= mask;
        }
    }

    /// Replaces what a file holds, on disk and in the cache.
    pub(crate) fn set_content(&self, path: &str, content: Vec<u8>) {
        let mut state = self.lock();
        let inode = state.find(path).unwrap();
        state.inodes[inode].disk.clone_from(&content);
        state.inodes[inode].cache = content;
    }

    /// Cuts a file, on disk and in the cache.
    pub(crate) fn cut(&self, path: &str, length: usize) {
        let mut state = self.lock();
        let inode = state.find(path).unwrap();
        state.inodes[inode].cache.truncate(length);
        state.inodes[inode].disk.truncate(length);
    }

    /// A machine with a copy of what this one has.
    pub(crate) fn fork(&self, seed: u64) -> Self {
        let state = self.lock();
        let copy = State {
            random: Random::new(seed),
            inodes: state.inodes.clone(),
            directories: state.directories.clone(),
            fuse: None,
            stopped: false,
            failing_syncs: 0,
            room: None,
            locked: false,
            lie: None,
            log: Vec::new(),
        };
        Self { state: Arc::new(Mutex::new(copy)) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn handle(&self, inode: usize) -> Arc<dyn File> {
        Arc::new(SimFile { files: self.clone(), inode })
    }
}

impl Inode {
    fn persist(&mut self, sector: usize, bytes: usize) {
        let begin = sector * SECTOR;
        let end = (begin + bytes).min(self.cache.len());
        if begin >= end {
            return;
        }
        if self.disk.len() < end {
            self.disk.resize(end, 0);
        }
        self.disk[begin..end].copy_from_slice(&self.cache[begin..end]);
    }

    fn persist_all(&mut self) {
        self.disk.resize(self.cache.len(), 0);
        for sector in std::mem::take(&mut self.dirty) {
            self.persist(sector, SECTOR);
        }
        self.length_dirty = false;
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

impl State {
    fn find(&self, path: &str) -> Option<usize> {
        let (directory, name) = split(path);
        self.directories.get(directory)?.cache.get(name).copied()
    }

    fn directory(&mut self, path: &str) -> &mut Directory {
        self.directories.get_mut(path).unwrap()
    }

    /// One more operation that changes something: whether the machine stops inside it.
    fn tick(&mut self, what: &str, path: &str) -> io::Result<bool> {
        if self.stopped {
            return Err(io::Error::other("the machine has stopped"));
        }
        self.log.push(format!("{what} {path}"));
        match &mut self.fuse {
            Some(0) => {
                self.stopped = true;
                Ok(true)
            }
            Some(left) => {
                *left -= 1;
                Ok(false)
            }
            None => Ok(false),
        }
    }

    /// As [`State::tick`], for what happens wholly or not at all.
    fn step(&mut self, what: &str, path: &str) -> io::Result<()> {
        let before = !self.stopped && self.random.one_in(2);
        match self.tick(what, path)? {
            // Whether the stop comes before or after it is left to the next operation.
            true if before => Err(io::Error::other("the machine has stopped")),
            _ => Ok(()),
        }
    }

    fn failure_of_sync(&self) -> io::Result<()> {
        match self.lie {
            Some(Lie::FailedSync) => Ok(()),
            _ => Err(io::Error::other("the sync failed")),
        }
    }

    fn sync_fails(&mut self) -> bool {
        let fails = self.failing_syncs > 0 && self.random.one_in(8);
        if fails {
            self.failing_syncs -= 1;
        }
        fails
    }
}

impl Files for SimFiles {
    fn make_directory(&self, path: &str) -> io::Result<()> {
        self.lock().directories.entry(path.to_owned()).or_default();
        Ok(())
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let state = self.lock();
        let directory = state.directories.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(directory.cache.keys().cloned().collect())
    }

    fn create(&self, path: &str, reserve: u64) -> io::Result<Arc<dyn File>> {
        let mut state = self.lock();
        if state.find(path).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if let Some(room) = state.room {
            let left = room.checked_sub(reserve.max(1)).ok_or(io::ErrorKind::StorageFull)?;
            state.room = Some(left);
        }
        state.step("create", path)?;
        let inode = state.inodes.len();
        let cache = vec![0; reserve as usize];
        state.inodes.push(Inode { name: path.to_owned(), cache, length_dirty: true, ..Inode::default() });
        let (directory, name) = split(path);
        state.directory(directory).apply(Change::Set(name.to_owned(), inode));
        Ok(self.handle(inode))
    }

    fn open(&self, path: &str) -> io::Result<Option<Arc<dyn File>>> {
        let inode = self.lock().find(path);
        Ok(inode.map(|inode| self.handle(inode)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.step("rename", to)?;
        let inode = state.find(from).ok_or(io::ErrorKind::NotFound)?;
        let (directory, from) = split(from);
        let change = Change::Rename(from.to_owned(), split(to).1.to_owned(), inode);
        state.directory(directory).apply(change);
        state.inodes[inode].written.clear();
        to.clone_into(&mut state.inodes[inode].name);
        Ok(())
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.step("remove", path)?;
        let inode = state.find(path).ok_or(io::ErrorKind::NotFound)?;
        let bytes = state.inodes[inode].cache.len() as u64;
        state.room = state.room.map(|room| room + bytes);
        let (directory, name) = split(path);
        state.directory(directory).apply(Change::Remove(name.to_owned()));
        Ok(())
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.step("sync directory", path)?;
        if state.sync_fails() {
            return state.failure_of_sync();
        }
        if state.lie.is_some_and(|lie| matches!(lie, Lie::Directory(of) if of == path)) {
            return Ok(());
        }
        let directory = state.directory(path);
        for change in std::mem::take(&mut directory.pending) {
            Directory::put(&mut directory.disk, &change);
        }
        Ok(())
    }

    fn lock(&self, _path: &str) -> io::Result<Option<Box<dyn Lock>>> {
        let mut state = self.lock();
        if std::mem::replace(&mut state.locked, true) {
            return Ok(None);
        }
        Ok(Some(Box::new(SimLock { files: self.clone() })))
    }

    fn show(&self, path: &str) -> String {
        path.to_owned()
    }
}

#[derive(Debug)]
struct SimLock {
    files: SimFiles,
}

impl Lock for SimLock {
    fn is_in_place(&self) -> bool {
        true
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.files.lock().locked = false;
    }
}

#[derive(Debug)]
struct SimFile {
    files: SimFiles,
    inode: usize,
}

impl File for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.files.lock();
        let content = state.inodes[self.inode].cache.get(offset as usize..).unwrap_or_default();
        let count = content.len().min(buffer.len());
        buffer[..count].copy_from_slice(&content[..count]);
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let state = &mut *self.files.lock();
        let name = state.inodes[self.inode].name.clone();
        let stops = state.tick("write", &name)?;
        let count = if stops { state.random.below(bytes.len() as u32 + 1) as usize } else { bytes.len() };
        let inode = &mut state.inodes[self.inode];
        let begin = offset as usize;
        if count > 0 {
            if inode.cache.len() < begin + count {
                inode.cache.resize(begin + count, 0);
                inode.length_dirty = true;
            }
            let again = inode.written.iter().any(|(from, to)| *from < begin + count && begin < *to);
            assert!(!again, "{name} is written again at {begin} (STORE.md 2)");
            inode.written.push((begin, begin + count));
            inode.cache[begin..begin + count].copy_from_slice(&bytes[..count]);
            inode.dirty.extend(begin / SECTOR..=(begin + count - 1) / SECTOR);
        }
        if stops { Err(io::Error::other("the machine has stopped")) } else { Ok(()) }
    }

    fn sync(&self) -> io::Result<()> {
        let state = &mut *self.files.lock();
        let name = state.inodes[self.inode].name.clone();
        state.step("sync", &name)?;
        let fails = state.sync_fails();
        let inode = &mut state.inodes[self.inode];
        if fails {
            // Some of it may have reached the disk; all of it now counts as clean.
            for sector in std::mem::take(&mut inode.dirty) {
                if state.random.one_in(2) {
                    inode.persist(sector, SECTOR);
                }
            }
            if std::mem::take(&mut inode.length_dirty) && state.random.one_in(2) {
                inode.disk.resize(inode.cache.len(), 0);
            }
            return state.failure_of_sync();
        }
        if state.lie.is_some_and(|lie| matches!(lie, Lie::Files(end) if inode.name.ends_with(end))) {
            return Ok(());
        }
        let length = inode.disk.len();
        inode.persist_all();
        if state.lie == Some(Lie::Lengths) && inode.disk.len() > length {
            inode.disk.truncate(length);
            inode.length_dirty = true;
        }
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.files.lock().inodes[self.inode].cache.len() as u64)
    }

    fn reserve(&self, length: u64) -> io::Result<()> {
        let state = &mut *self.files.lock();
        let name = state.inodes[self.inode].name.clone();
        let present = state.inodes[self.inode].cache.len();
        let more = (length as usize).saturating_sub(present);
        if more == 0 {
            return Ok(());
        }
        state.step("reserve", &name)?;
        let left = state.room.map(|room| room.checked_sub(more as u64));
        let got = if left == Some(None) { state.random.below(more as u32) as usize } else { more };
        let inode = &mut state.inodes[self.inode];
        inode.cache.resize(present + got, 0);
        inode.length_dirty = true;
        match left {
            Some(None) => Err(io::ErrorKind::StorageFull.into()),
            Some(left) => {
                state.room = left;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let mut state = self.files.lock();
        let name = state.inodes[self.inode].name.clone();
        state.step("shorten", &name)?;
        let state = &mut *state;
        let inode = &mut state.inodes[self.inode];
        let given_back = inode.cache.len().saturating_sub(length as usize);
        state.room = state.room.map(|room| room + given_back as u64);
        inode.cache.resize(length as usize, 0);
        inode.dirty.retain(|sector| sector * SECTOR < length as usize);
        inode.length_dirty = true;
        Ok(())
    }
}
