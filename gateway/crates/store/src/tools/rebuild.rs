//! A new store that is filled with what was saved, through the journal itself.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::progress;
use super::survey::CHECKPOINT;
use super::unfinished::{self, FORMAT};
use crate::bodies::BodyFile;
use crate::files::real::RealFiles;
use crate::files::{Files, failed};
use crate::format::VERSION;
use crate::format::checkpoint::Checkpoint;
use crate::{Batch, Journal, KeyedChange, NewMessage, OpenOptions, Position, Prepare, Store, StoreError};
use crate::{Stored, UnitId, Watch};

/// Bytes handed over at once.
const BATCH_BYTES: usize = 4 << 20;

/// A store that is being filled.
#[derive(Debug)]
pub(crate) struct Rebuild {
    journal: Box<Journal>,
    told: Arc<Told>,
    batch: Batch,
    /// Bytes of bodies that the batch keeps beside its records.
    file_bytes: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Told {
    state: Mutex<(Position, Option<StoreError>)>,
    changed: Condvar,
}

impl Told {
    fn lock(&self) -> MutexGuard<'_, (Position, Option<StoreError>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait(&self, position: Position) -> Result<(), StoreError> {
        let mut state = self.lock();
        loop {
            match &*state {
                (_, Some(error)) => return Err(error.clone()),
                (durable, None) if *durable >= position => return Ok(()),
                (_, None) => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl Watch for Told {
    fn durable(&self, position: Position) {
        self.lock().0 = position;
        self.changed.notify_all();
    }

    fn failed(&self, error: StoreError) {
        self.lock().1 = Some(error);
        self.changed.notify_all();
    }
}

impl Rebuild {
    /// Makes an empty store whose first start comes behind `start`, so that no old id is given again and new order
    /// keys follow the old ones.
    pub(crate) fn new(directory: &Path, start: u32) -> Result<Self, StoreError> {
        let files = RealFiles::new(directory);
        files.make_directory("").map_err(failed(&files, "create", ""))?;
        let checkpoint = Checkpoint { start, ..Checkpoint::default() };
        let version = format!("{VERSION}\n");
        for (path, bytes) in [(CHECKPOINT, checkpoint.encode()), (FORMAT, version.into_bytes())] {
            let file = files.create(path, 0).map_err(failed(&files, "create", path))?;
            file.write_at(&bytes, 0).map_err(failed(&files, "write", path))?;
            file.sync().map_err(failed(&files, "sync", path))?;
        }
        files.sync_directory("").map_err(failed(&files, "sync", ""))?;
        let told = Arc::new(Told::default());
        let watch = Arc::clone(&told) as Arc<dyn Watch>;
        let options = OpenOptions { index: false, ..OpenOptions::new(directory, watch) };
        let (journal, _) = Journal::open(options)?;
        // Who opens it next must not take it for a whole one.
        unfinished::begin(&files)?;
        let mut journal = Box::new(journal);
        let batch = journal.begin();
        Ok(Self { journal, told, batch, file_bytes: 0 })
    }

    pub(crate) fn unit(&mut self) -> UnitId {
        self.batch.new_unit()
    }

    pub(crate) fn message(&mut self, message: NewMessage) -> Result<Stored, StoreError> {
        self.file_bytes += message.file.as_ref().map_or(0, |file| file.length() as usize);
        let stored = self.batch.message(message);
        self.flush_if_large()?;
        Ok(stored)
    }

    pub(crate) fn keyed(&mut self, unit: Option<UnitId>, change: KeyedChange) -> Result<(), StoreError> {
        self.batch.keyed(unit, change);
        self.flush_if_large()
    }

    pub(crate) fn prepare(&mut self, prepare: Prepare) -> Result<(), StoreError> {
        self.batch.prepare(prepare);
        self.flush_if_large()
    }

    pub(crate) fn body_file(&self, bytes: &[u8]) -> Result<BodyFile, StoreError> {
        self.journal.body_files().write(bytes)
    }

    /// Everything is durable, and the store is closed. It still is an unfinished one.
    pub(crate) fn finish(mut self) -> Result<(), StoreError> {
        self.flush()?;
        self.journal.close()
    }

    fn flush_if_large(&mut self) -> Result<(), StoreError> {
        if self.batch.bytes() + self.file_bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        // Nobody is told of a batch with nothing in it.
        if self.batch.is_empty() {
            return Ok(());
        }
        progress::add_written(self.batch.bytes() + self.file_bytes);
        let empty = Batch::detached(0);
        let position = self.journal.submit(std::mem::replace(&mut self.batch, empty));
        self.file_bytes = 0;
        self.told.wait(position)?;
        self.batch = self.journal.begin();
        Ok(())
    }
}
