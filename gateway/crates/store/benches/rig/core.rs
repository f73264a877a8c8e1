//! The store driven by one thread, as the gateway's core drives it: a batch is begun and filled, the store has its turn
//! each second or when it asks for one, the batch is handed over.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use store::{
    Batch, Commit, Id, Journal, OpenOptions, Place, Position, Recovered, Stat, Store, StoreError, Stored,
    Watch,
};

use super::message;

/// How often the core lets the store do what is due by the clock.
const MAINTAIN_EVERY_MS: u64 = 1000;

#[derive(Debug, Default)]
struct Said {
    durable: Position,
    turn_wanted: bool,
    failed: Option<StoreError>,
}

#[derive(Debug, Default)]
struct Told {
    said: Mutex<Said>,
    wake: Condvar,
}

impl Told {
    fn say(&self, change: impl FnOnce(&mut Said)) {
        change(&mut self.said());
        self.wake.notify_one();
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap()
    }
}

impl Watch for Told {
    fn durable(&self, position: Position) {
        self.say(|said| said.durable = position);
    }

    fn failed(&self, error: StoreError) {
        self.say(|said| said.failed = Some(error));
    }

    fn turn_wanted(&self) {
        self.say(|said| said.turn_wanted = true);
    }
}

/// A store, and what its caller knows.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) store: Box<dyn Store>,
    told: Arc<Told>,
    begun: Instant,
    maintained_ms: u64,
    /// Where the messages of this start lie, by the counter of their ids.
    places: Vec<Place>,
}

impl Core {
    /// Opens what is there, with everything as the gateway has it.
    pub(crate) fn open(directory: &Path) -> (Self, Recovered) {
        let told = Arc::new(Told::default());
        let watch = Arc::clone(&told) as Arc<dyn Watch>;
        let (journal, recovered) = Journal::open(OpenOptions::new(directory, watch)).unwrap();
        let places = vec![Place::default()];
        let begun = Instant::now();
        (Self { store: Box::new(journal), told, begun, maintained_ms: 0, places }, recovered)
    }

    /// A turn of the core: what it has to add, and what the store has to do.
    pub(crate) fn turn(&mut self, fill: impl FnOnce(&mut Filling<'_>)) -> Position {
        let mut batch = self.store.begin();
        fill(&mut Filling { batch: &mut batch, places: &mut self.places });
        let now_ms = self.begun.elapsed().as_millis() as u64;
        let maintain = now_ms >= self.maintained_ms + MAINTAIN_EVERY_MS;
        if maintain {
            self.maintain();
        }
        if std::mem::take(&mut self.told.said().turn_wanted) || maintain {
            self.compact(&mut batch);
        }
        self.store.submit(batch)
    }

    /// A turn in which the store has nothing to do beside, whatever is due.
    pub(crate) fn bare_turn(&mut self, fill: impl FnOnce(&mut Filling<'_>)) -> Position {
        let mut batch = self.store.begin();
        fill(&mut Filling { batch: &mut batch, places: &mut self.places });
        self.store.submit(batch)
    }

    /// What is due by the clock.
    pub(crate) fn maintain(&mut self) {
        self.maintained_ms = self.begun.elapsed().as_millis() as u64;
        self.store.maintain(self.maintained_ms);
    }

    fn compact(&mut self, batch: &mut Batch) {
        let places = &mut self.places;
        self.store.compact(batch, &mut |moved| {
            places[moved.id.counter() as usize] = moved.to;
            true
        });
    }

    /// Waits until fewer than so many batches are on their way, `position` being the newest.
    pub(crate) fn wait(&self, position: Position, in_flight_max: u64) {
        let least = Position { batch: (position.batch + 1).saturating_sub(in_flight_max), ..position };
        let mut said = self.told.said();
        while said.durable < least {
            assert!(said.failed.is_none(), "{:?}", said.failed);
            said = self.told.wake.wait(said).unwrap();
        }
    }

    /// What a core without commands does for a while.
    pub(crate) fn rest(&mut self, span: Duration) {
        let until = Instant::now() + span;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            self.turn(|_| {});
            let next = Duration::from_millis(
                (self.maintained_ms + MAINTAIN_EVERY_MS)
                    .saturating_sub(self.begun.elapsed().as_millis() as u64),
            );
            let said = self.told.said();
            if !said.turn_wanted {
                drop(self.told.wake.wait_timeout(said, left.min(next)).unwrap());
            }
        }
    }

    /// Lets the store's threads end what they have begun; the core does nothing.
    pub(crate) fn settle(&self) {
        let until = Instant::now() + Duration::from_millis(200);
        let mut said = self.told.said();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            said = self.told.wake.wait_timeout(said, left).unwrap().0;
        }
    }

    /// Stores messages in batches, round robin to owners from 0 on; gives their ids.
    pub(crate) fn load(&mut self, messages: usize, owners: usize, body: &Bytes) -> Vec<Id> {
        const BATCH: usize = 256;
        let mut ids = Vec::with_capacity(messages);
        let mut last = Position::default();
        for from in (0..messages).step_by(BATCH) {
            last = self.turn(|filling| {
                for number in from..(from + BATCH).min(messages) {
                    ids.push(filling.message((number % owners) as u64, body).id);
                }
            });
            self.wait(last, 4);
        }
        self.wait(last, 1);
        ids
    }

    /// Kills messages in batches.
    pub(crate) fn kill_all(&mut self, ids: &[Id]) {
        let mut last = Position::default();
        for some in ids.chunks(1000) {
            last = self.turn(|filling| filling.kill(some));
            self.wait(last, 4);
        }
        self.wait(last, 1);
    }

    /// Where a message lies now.
    pub(crate) fn place(&self, id: Id) -> Place {
        self.places[id.counter() as usize]
    }

    /// The body of a message of this start.
    pub(crate) fn read(&self, id: Id) -> Bytes {
        self.store.body(id, self.place(id)).read().unwrap().body
    }

    pub(crate) fn stat(&self) -> Stat {
        self.store.stat()
    }

    pub(crate) fn close(self) {
        self.store.close().unwrap();
    }
}

/// An open batch.
#[derive(Debug)]
pub(crate) struct Filling<'a> {
    pub(crate) batch: &'a mut Batch,
    places: &'a mut Vec<Place>,
}

impl Filling<'_> {
    /// Adds a message; its place is remembered.
    pub(crate) fn message(&mut self, owner: u64, body: &Bytes) -> Stored {
        let stored = self.batch.message(message(owner, body));
        debug_assert_eq!(stored.id.counter() as usize, self.places.len());
        self.places.push(stored.place);
        stored
    }

    /// Adds a commit that kills these.
    pub(crate) fn kill(&mut self, ids: &[Id]) {
        let mut commit = Commit::default();
        for id in ids {
            commit.kill(*id, self.places[id.counter() as usize]);
        }
        self.batch.commit(commit);
    }
}
