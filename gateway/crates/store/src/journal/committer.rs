//! The committer: takes all that waits, writes once, syncs once, and tells the core.
//!
//! It owns the end of the journal. [`Committer::turn`] and [`Committer::idle`] are plain functions; the thread that
//! calls them is in `journal`, and a test may call them itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::checkpoints::{self, Failure};
use super::reader::Segments;
use super::shared::{Job, Shared, Submitted, Taken};
use super::snapshot::Parts;
use super::writer::Writer;
use crate::batch::Batch;
use crate::files::{Files, Lock, still_ours};
use crate::format::footer;
use crate::format::group::{self, GroupKind};
use crate::format::record;
use crate::layout::GroupPlan;
use crate::planted::{Bug, is_planted};
use crate::{BodyFile, Op, Position, StoreError};

/// A write is not made larger than this by taking more that waits; it bounds what a start may have to copy.
const WRITE_BYTES: usize = 4 << 20;
/// How often a disk that was full is asked whether it still is.
const LOOK_FOR_ROOM: Duration = Duration::from_secs(1);

/// Writes and syncs what the core hands over.
#[derive(Debug)]
pub(crate) struct Committer {
    files: Arc<dyn Files>,
    lock: Arc<dyn Lock>,
    segments: Arc<Segments>,
    shared: Arc<Shared>,
    pub(crate) writer: Writer,
    /// Written and not yet answered: the newest batch, how many, and what they set.
    unanswered: Option<(Position, usize)>,
    /// Since when each of them has waited.
    since: Vec<Instant>,
    checkpoint: Option<Taken>,
    /// Files of bodies whose death is in no durable checkpoint yet: the one that had it was given up.
    unconfirmed: Vec<BodyFile>,
    /// Files of bodies that are dead in a durable checkpoint, and still read by somebody.
    lingering: Vec<BodyFile>,
    /// When room was last looked for.
    looked: Instant,
}

impl Committer {
    pub(crate) fn new(
        (files, lock): (Arc<dyn Files>, Arc<dyn Lock>),
        segments: Arc<Segments>,
        shared: Arc<Shared>,
        writer: Writer,
    ) -> Self {
        Self {
            files,
            lock,
            segments,
            shared,
            writer,
            unanswered: None,
            since: Vec::new(),
            checkpoint: None,
            unconfirmed: Vec::new(),
            lingering: Vec::new(),
            looked: Instant::now(),
        }
    }

    /// Does what waited. After an error the committer is done: it is not known what is on disk.
    pub(crate) fn turn(&mut self, jobs: Vec<Job>) -> Result<(), StoreError> {
        for job in jobs {
            match job {
                Job::Batch(submitted) => self.batch(&submitted)?,
                Job::Checkpoint(taken) if is_planted(Bug::CheckpointAhead) => {
                    self.capture_ahead(taken);
                    self.write_checkpoint()?;
                }
                Job::Checkpoint(taken) => {
                    self.flush()?;
                    self.capture(taken);
                }
                Job::Close(taken) => {
                    self.flush()?;
                    self.capture(taken);
                    self.writer.seal()?;
                    self.write_checkpoint()?;
                }
                Job::DropSpares => self.writer.space.drop_spares(),
                Job::Roll(number) => {
                    self.flush()?;
                    still_ours(self.files.as_ref(), self.lock.as_ref())?;
                    self.writer.roll(number, 0, 0)?;
                    self.writer.mark(self.writer.written)?;
                    self.flush()?;
                }
            }
            if self.writer.waiting_bytes() > WRITE_BYTES {
                self.flush()?;
            }
        }
        self.flush()?;
        self.look_for_room();
        self.write_checkpoint()
    }

    /// Nothing has come for a while: claims what is on disk (STORE.md 2), unless a batch is being laid out there, or a
    /// checkpoint is on its way that was taken there.
    pub(crate) fn idle(&mut self) -> Result<(), StoreError> {
        if self.writer.is_unclaimed()
            && let Some(spot) = self.shared.head.take_mark(self.writer.written)
        {
            self.writer.mark(spot)?;
            self.flush()?;
        }
        self.look_for_room();
        self.remove_bodies();
        self.write_checkpoint()
    }

    /// Whether [`Committer::idle`] has something to do.
    pub(crate) fn wants_idle(&self) -> bool {
        self.writer.is_unclaimed()
            || self.checkpoint.is_some()
            || self.writer.space.is_short()
            || !self.lingering.is_empty()
    }

    /// While intake pauses for want of room: looks again every second, for ever (STORE.md 6).
    fn look_for_room(&mut self) {
        if self.writer.space.is_short() && self.looked.elapsed() >= LOOK_FOR_ROOM {
            self.look_for_room_now();
        }
    }

    pub(crate) fn look_for_room_now(&mut self) {
        self.looked = Instant::now();
        self.writer.space.refill();
        self.shared.set_figures(&self.writer, std::iter::empty());
    }

    fn batch(&mut self, submitted: &Submitted) -> Result<(), StoreError> {
        let batch = &submitted.batch;
        let ends = batch.groups.iter().skip(1).map(|g| g.first_op).chain([batch.ops.len()]);
        for (plan, end) in batch.groups.iter().zip(ends) {
            self.group(batch, plan, end)?;
        }
        let waiting = self.unanswered.map_or(0, |u| u.1);
        self.unanswered = Some((batch.position, waiting + 1));
        self.since.push(submitted.since);
        Ok(())
    }

    fn group(&mut self, batch: &Batch, plan: &GroupPlan, end: usize) -> Result<(), StoreError> {
        let ops = &batch.ops[plan.first_op..end];
        if plan.spot.segment != self.writer.written.segment {
            self.flush()?;
            let (payload, lines) = ops.iter().map(sizes).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
            still_ours(self.files.as_ref(), self.lock.as_ref())?;
            self.writer.roll(plan.spot.segment, payload, lines)?;
        }
        self.writer.begin_group(plan.spot, plan.first_record)?;
        for (op, place) in ops.iter().zip(&batch.places[plan.first_op..end]) {
            let (bytes, _) = sizes(op);
            if bytes > record::LENGTH_MAX {
                return Err(StoreError::TooLarge { bytes });
            }
            self.writer.record(*place, |out| match op {
                Op::Message(stored, message) => record::write_message(out, stored, message),
                Op::Keyed(unit, change) => record::write_keyed(out, *unit, change),
                Op::Commit(commit) => record::write_commit(out, commit),
                Op::BackOut(unit, _) => record::write_back_out(out, *unit),
                Op::Prepare(prepare) => record::write_prepare(out, prepare),
                Op::Moved(moved) => record::write_moved(out, moved),
            })?;
        }
        self.writer.end_group(GroupKind::Records)
    }

    /// One write, one sync, one answer for all.
    fn flush(&mut self) -> Result<(), StoreError> {
        if self.writer.waiting_bytes() == 0 {
            return Ok(());
        }
        if is_planted(Bug::AckBeforeSync)
            && let Some((position, count)) = self.unanswered.take()
        {
            self.shared.durable(position, count);
        }
        self.writer.flush()?;
        self.shared.set_figures(&self.writer, self.since.drain(..));
        if let Some((position, count)) = self.unanswered.take() {
            self.shared.durable(position, count);
        }
        Ok(())
    }

    /// The journal is synced just up to the checkpoint's position: now the checksum there is known.
    fn capture(&mut self, mut taken: Taken) {
        self.shared.head.captured();
        if taken.checkpoint.position == self.writer.synced {
            taken.checkpoint.previous = self.writer.last;
            self.checkpoint = Some(taken);
        } else {
            let position = taken.checkpoint.position;
            tracing::error!(%position, "a checkpoint was taken where no group ends (our fault)");
            self.unconfirmed.extend(taken.dead_bodies);
            self.shared.checkpointed(None);
        }
    }

    /// What a planted bug does instead: nobody looks whether the journal is synced.
    fn capture_ahead(&mut self, mut taken: Taken) {
        self.shared.head.captured();
        taken.checkpoint.previous = self.writer.last;
        self.checkpoint = Some(taken);
    }

    /// Writes the checkpoint; once it is durable, what it does not need goes.
    fn write_checkpoint(&mut self) -> Result<(), StoreError> {
        let Some(mut taken) = self.checkpoint.take() else { return Ok(()) };
        if is_planted(Bug::DropBeforeCheckpoint) {
            self.drop_dead(&mut taken);
        }
        let (files, lock) = (self.files.as_ref(), self.lock.as_ref());
        let outcome = checkpoints::write(files, lock, &mut self.writer.space, &taken.checkpoint);
        match outcome {
            Ok(()) => {
                self.drop_dead(&mut taken);
                self.shared.checkpointed(Some(taken));
                Ok(())
            }
            Err(Failure::GivenUp(error)) => {
                tracing::warn!(%error, "a checkpoint was given up; the next one will do");
                if let Some(request) = &taken.snapshot {
                    request.fill(Err(error));
                }
                self.unconfirmed.extend(taken.dead_bodies);
                self.shared.checkpointed(None);
                Ok(())
            }
            Err(Failure::Unknown(error)) => Err(error),
        }
    }
}

impl Committer {
    /// What the checkpoint, which is durable, does not need.
    fn drop_dead(&mut self, taken: &mut Taken) {
        // Before anything goes: whoever copies the store needs it as it was.
        if let Some(mut request) = taken.snapshot.take() {
            let checkpoint = taken.checkpoint.clone();
            let segments = checkpoint.segments.iter().filter_map(|entry| self.segments.get(entry.number));
            let (segments, bodies) = (segments.collect(), std::mem::take(&mut request.bodies));
            request.fill(Ok(Parts { checkpoint, segments, bodies }));
        }
        for segment in &taken.droppable {
            let slot = self.segments.forget(*segment);
            self.writer.retire(*segment, slot);
        }
        for file in self.unconfirmed.drain(..).chain(taken.dead_bodies.drain(..)) {
            // One that was named again, and died again, is here already.
            if !self.lingering.contains(&file) {
                self.lingering.push(file);
            }
        }
        self.remove_bodies();
    }

    /// Removes the files of dead bodies that nobody reads any more.
    fn remove_bodies(&mut self) {
        self.lingering.retain(|file| {
            if !file.is_held() {
                file.remove();
            }
            file.is_held()
        });
    }
}

/// Bytes of the record of an operation, and of its lines.
fn sizes(op: &Op) -> (u64, u64) {
    match op {
        Op::Message(_, message) => (record::message_length(message), record::MESSAGE_LINE),
        Op::Keyed(_, change) => (record::keyed_length(change), record::SHORT_LINE),
        Op::Commit(commit) => {
            let records = 1 + commit.changes.len() as u64;
            (record::commit_length(commit), records * record::SHORT_LINE)
        }
        Op::BackOut(..) => (record::SHORT_HEAD, record::SHORT_LINE),
        Op::Prepare(prepare) => (record::prepare_length(prepare), record::SHORT_LINE),
        Op::Moved(moved) => (record::moved_length(moved), record::moved_lines_length(moved)),
    }
}

// The room that a layout keeps for a segment's end must cover what `Writer::seal` puts there.
const _: () = assert!(footer::TRAILER < crate::format::BLOCK && group::HEADER < crate::format::BLOCK);
