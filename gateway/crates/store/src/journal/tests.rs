//! Each rule of STORE.md 2 to 5 that is built, as a test with its name. Crashes at random are in `crash`.

mod bad;
mod directory;
mod index;
mod rules;
mod space;

use std::sync::Arc;

use bytes::Bytes;

use super::crash::Told;
use super::{Journal, OpenOptions};
use crate::files::sim::SimFiles;
use crate::format::group::{GroupHeader, GroupKind};
use crate::{Batch, Commit, Kill, NewMessage, OwnerId, Recovered, Store, StoreError, Stored, Watch};

/// A journal on a simulated disk, whose committer is driven by the test.
struct Rig {
    files: SimFiles,
    told: Arc<Told>,
    journal: Option<Box<Journal>>,
    clock_ms: u64,
}

impl Rig {
    fn new() -> Self {
        let mut rig = Self { files: SimFiles::new(1), told: Arc::default(), journal: None, clock_ms: 0 };
        rig.open().unwrap();
        rig
    }

    fn open(&mut self) -> Result<Recovered, StoreError> {
        self.journal = None;
        self.told = Arc::default();
        let watch = Arc::clone(&self.told) as Arc<dyn Watch>;
        let options =
            OpenOptions { index: false, segment_bytes: 0, cache_bytes: 0, ..OpenOptions::new("", watch) };
        let (journal, recovered) = Journal::open_inline(Arc::new(self.files.clone()), &options)?;
        self.journal = Some(Box::new(journal));
        Ok(recovered)
    }

    /// Killed, and started again: the page cache stays.
    fn reopen(&mut self) -> Result<Recovered, StoreError> {
        self.journal = None;
        self.files.kill();
        self.open()
    }

    fn journal(&mut self) -> &mut Journal {
        self.journal.as_mut().unwrap()
    }

    /// Hands a batch over, without a turn of the committer.
    fn submit<T>(&mut self, work: impl FnOnce(&mut Batch) -> T) -> T {
        let mut batch = self.journal().begin();
        let result = work(&mut batch);
        self.journal().submit(batch);
        result
    }

    fn write<T>(&mut self, work: impl FnOnce(&mut Batch) -> T) -> T {
        let result = self.submit(work);
        self.journal().turn_inline();
        result
    }

    fn put(&mut self, body_bytes: usize) -> Stored {
        self.write(|batch| batch.message(message(body_bytes)))
    }

    fn kill(&mut self, stored: &Stored) {
        let kills = vec![Kill { id: stored.id, place: stored.place }];
        self.write(|batch| batch.commit(Commit { kills, ..Commit::default() }));
    }

    /// Takes a checkpoint, as a minute after the first record that none covers.
    fn checkpoint(&mut self) {
        for _ in 0..2 {
            self.clock_ms += 60_000;
            let clock_ms = self.clock_ms;
            self.journal().maintain(clock_ms);
        }
        self.journal().turn_inline();
        let clock_ms = self.clock_ms;
        self.journal().maintain(clock_ms);
    }

    /// The headers of a segment, at every boundary.
    fn headers(&self, segment: u32) -> Vec<GroupHeader> {
        let content = self.files.content(&format!("journal/{segment:08}.seg")).unwrap();
        content.chunks(4096).filter_map(|block| GroupHeader::decode(block).map(|h| h.0)).collect()
    }

    /// The segments, without what is kept beside them.
    fn segments(&self) -> Vec<String> {
        let names = crate::files::Files::list(&self.files, "journal").unwrap();
        names.into_iter().filter(|name| name.ends_with(".seg")).collect()
    }

    fn look_for_room(&mut self) {
        self.journal().look_for_room_inline();
    }

    /// Leaves no room on the disk, not even what is kept for bad times.
    fn fill_disk(&mut self) {
        self.journal().use_up_reserve_inline();
        self.files.set_room(Some(0));
    }
}

fn message(body_bytes: usize) -> NewMessage {
    NewMessage {
        unit: None,
        owner: OwnerId(1),
        order: None,
        priority: 4,
        persistent: true,
        expiry_ms: 0,
        tags: [0, 0],
        envelope: Bytes::from_static(b"envelope"),
        body: Bytes::from(vec![b'x'; body_bytes]),
        file: None,
    }
}

fn is_mark(header: &GroupHeader) -> bool {
    header.kind == GroupKind::Mark
}
