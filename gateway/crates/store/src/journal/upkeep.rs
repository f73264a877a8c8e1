//! What the core's half does beside its batches: decides when a checkpoint is due, which segment is compacted and how
//! fast, and what goes when nothing is written (STORE.md 4).

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use super::compaction::{Candidate, Compactor, Progress};
use super::shared::Job;
use super::{Journal, Spot};
use crate::batch::{Batch, MovedRecord, MovedWhat};
use crate::format::record::{self, Parsed};
use crate::ledger::Segment;
use crate::{Moved, Op, Room, StoreError, UnitId};

/// A checkpoint is due after this many bytes, or this long after the first record that none covers (STORE.md 4).
const CHECKPOINT_BYTES: u64 = 64 << 20;
const CHECKPOINT_AFTER_MS: u64 = 60_000;
/// Or at once when half a segment only waits for it to be dropped, but not more often than this (a seed of the simulation
/// must mean the same whenever it runs).
const CHECKPOINT_TO_DROP: Duration = Duration::from_millis(if cfg!(test) { 0 } else { 50 });
/// Without writes for so long, what is kept for them is given back.
const IDLE_AFTER_MS: u64 = 10_000;
/// A segment that is being written is left when so much of it is dead and nothing is written.
const IDLE_DEAD_BYTES: u64 = 8 << 20;
/// And while there is no room, already then.
const SHORT_DEAD_BYTES: u64 = 4 << 20;
/// What a checkpoint may take beside the records that are moved for it.
const CHECKPOINT_ROOM_BYTES: u64 = 1 << 20;
/// Compaction begins when the sealed segments hold more than this part of what lives, and half a segment beside.
const EXCESS_PERCENT: u64 = 110;
/// A segment is moved when less of it lives than this.
const SHARE_PERCENT: u64 = 50;
/// One of which more lives is moved when nothing of it has died for a while: else it may soon be empty by itself.
const STABLE_SHARE_PERCENT: u64 = 90;
const STABLE_AFTER_MS: u64 = 5_000;
/// So many segments that are much shorter than usual are left alone.
const SHORT_SEGMENTS_MAX: usize = 16;
/// Compaction may write so much in a second, and half of what all others write beside (its share is in
/// [`crate::Stat::moved_bytes`]).
const MOVE_BYTES_PER_SECOND: u64 = 16 << 20;
const MOVE_BUDGET_MAX: u64 = 32 << 20;

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Upkeep {
    compactor: Compactor,
    /// The segment that is being read.
    reading: Option<u32>,
    /// The batch with the newest moves. While that is not handed over the ledger does not know of them, and the same
    /// records would be moved twice.
    moved_in: u64,
    /// One is done: is there another?
    choose_again: bool,
    /// Segments with a record that does not verify: they stay.
    stuck: BTreeSet<u32>,
    /// What compaction may write now.
    budget: u64,
    budget_at_ms: u64,
    written_before: u64,
    /// Segments read to their end.
    pub(super) compacted: u64,
    pub(super) damaged: Vec<String>,
    /// Whether something was handed over since [`Journal::keep_up`] last looked, and since when not.
    touched: bool,
    idle_since_ms: Option<u64>,
    spares_dropped: bool,
    checkpoint_at: Instant,
    /// The segment that was being synced when the core last looked: when it is another one, a sealed one was added.
    segment: u32,
    /// How many records of each segment lived, and since when no fewer.
    lived: HashMap<u32, (u32, u64)>,
    now_ms: u64,
}

impl Upkeep {
    pub(super) fn new(compactor: Compactor) -> Self {
        Self {
            compactor,
            reading: None,
            moved_in: 0,
            choose_again: false,
            stuck: BTreeSet::new(),
            budget: MOVE_BYTES_PER_SECOND,
            budget_at_ms: 0,
            written_before: 0,
            compacted: 0,
            damaged: Vec::new(),
            touched: true,
            idle_since_ms: None,
            spares_dropped: false,
            checkpoint_at: Instant::now(),
            segment: 0,
            lived: HashMap::new(),
            now_ms: 0,
        }
    }

    /// A batch was handed over. Whether the core should soon look after the segments.
    pub(super) fn touched(&mut self) -> bool {
        self.touched = true;
        self.choose_again
    }
}

impl Journal {
    /// Everything that is due by the clock, but for the checkpoint.
    pub(super) fn keep_up(&mut self, monotonic_ms: u64) {
        self.refill_budget(monotonic_ms);
        self.see_what_lives(monotonic_ms);
        self.give_back_when_idle(monotonic_ms);
        self.leave_when_short();
        self.choose();
    }

    pub(super) fn is_checkpoint_due(&mut self, monotonic_ms: u64) -> bool {
        if !self.snapshots.is_empty() {
            return true;
        }
        let bytes = self.uncovered_bytes();
        if bytes == 0 {
            return false;
        }
        let since = *self.uncovered_since_ms.get_or_insert(monotonic_ms);
        bytes >= CHECKPOINT_BYTES
            || monotonic_ms.saturating_sub(since) >= CHECKPOINT_AFTER_MS
            || self.can_drop()
    }

    /// Whether enough waits for a checkpoint to be dropped, and there was none just before.
    fn can_drop(&mut self) -> bool {
        let due = self.upkeep.checkpoint_at.elapsed() >= CHECKPOINT_TO_DROP
            && match self.shared.room() {
                Room::Enough => self.dead_bytes() >= self.options.segment_bytes / 2,
                // Every bit of room counts.
                Room::Short => self.dead_bytes() > 0,
            };
        if due {
            self.upkeep.checkpoint_at = Instant::now();
        }
        due
    }

    /// A turn in which the journal has come to another segment, or compaction to an end: there may be something to drop
    /// or to move, and under load the next second would be too late.
    fn keep_up_in_turn(&mut self) {
        self.settle_checkpoint();
        self.choose();
        if !self.checkpoint_in_work && self.can_drop() {
            let taken = self.take_checkpoint();
            self.shared.push(Job::Checkpoint(taken));
        }
    }

    /// Remembers how many records of each segment live.
    fn see_what_lives(&mut self, monotonic_ms: u64) {
        let lived = &mut self.upkeep.lived;
        lived.retain(|number, _| self.ledger.segment_lives(*number));
        for (number, segment) in self.ledger.segments() {
            let (live, since) = lived.entry(number).or_insert((segment.live(), monotonic_ms));
            if *live != segment.live() {
                (*live, *since) = (segment.live(), monotonic_ms);
            }
        }
        self.upkeep.now_ms = monotonic_ms;
    }

    fn uncovered_bytes(&self) -> u64 {
        let Spot { segment, offset } = self.shared.head.spot();
        let segments = u64::from(segment.saturating_sub(self.covered.segment));
        (segments * self.options.segment_bytes + u64::from(offset))
            .saturating_sub(u64::from(self.covered.offset))
    }

    /// Bytes of segments that only wait for a checkpoint.
    fn dead_bytes(&self) -> u64 {
        let current = self.shared.head.spot().segment;
        let dead =
            self.ledger.segments().filter(|(number, segment)| *number < current && segment.live() == 0);
        dead.map(|(_, segment)| u64::from(segment.end)).sum()
    }

    fn refill_budget(&mut self, monotonic_ms: u64) {
        let written = self.shared.figures().written;
        let moved = written.by_kind.last().copied().unwrap_or_default();
        let by_others = written.bytes.saturating_sub(moved);
        let upkeep = &mut self.upkeep;
        let passed = monotonic_ms.saturating_sub(upkeep.budget_at_ms);
        let more = MOVE_BYTES_PER_SECOND.saturating_mul(passed) / 1000
            + by_others.saturating_sub(upkeep.written_before) / 2;
        upkeep.budget = upkeep.budget.saturating_add(more).min(MOVE_BUDGET_MAX);
        (upkeep.budget_at_ms, upkeep.written_before) = (monotonic_ms, by_others);
    }

    /// Nothing was written for a while: old segments need not be kept, and a segment full of what is dead need not be
    /// the one that is written next.
    fn give_back_when_idle(&mut self, monotonic_ms: u64) {
        if std::mem::take(&mut self.upkeep.touched) {
            self.upkeep.idle_since_ms = None;
            self.upkeep.spares_dropped = false;
        }
        let since = *self.upkeep.idle_since_ms.get_or_insert(monotonic_ms);
        if monotonic_ms > since {
            // The page cache has them; here they keep the files of bodies that are dead.
            self.trim_recent_to(0);
        }
        if monotonic_ms.saturating_sub(since) < IDLE_AFTER_MS || self.shared.in_flight() > 0 {
            return;
        }
        self.give_back_spares_and_segment();
    }

    /// Without room the segment that is written is left as soon as a step of it is dead: only sealed ones come free.
    fn leave_when_short(&mut self) {
        if self.shared.room() == Room::Short && self.dead_in_current() >= SHORT_DEAD_BYTES {
            self.leave_segment();
        }
    }

    fn dead_in_current(&self) -> u64 {
        let current = self.shared.head.spot();
        let live = self.ledger.segments().find(|(number, _)| *number == current.segment);
        u64::from(current.offset).saturating_sub(live.map_or(0, |(_, segment)| segment.live_bytes()))
    }

    fn give_back_spares_and_segment(&mut self) {
        if !std::mem::replace(&mut self.upkeep.spares_dropped, true) {
            self.shared.push(Job::DropSpares);
        }
        if self.dead_in_current() >= IDLE_DEAD_BYTES.min(self.options.segment_bytes / 4)
            && self.leave_segment()
        {
            // What comes free of it is not kept either.
            self.upkeep.spares_dropped = false;
        }
    }

    fn leave_segment(&mut self) -> bool {
        let Some(left) = self.shared.head.leave_segment() else { return false };
        self.ledger.set_end(left.segment, left.offset);
        self.shared.push(Job::Roll(left.segment + 1));
        true
    }

    /// Chooses the segment that is moved next, if one should be.
    fn choose(&mut self) {
        let upkeep = &self.upkeep;
        if upkeep.reading.is_some() || upkeep.moved_in > self.batch || self.shared.failure().is_some() {
            return;
        }
        let Some(number) = self.sparsest() else { return };
        let Some(segment) = self.segments.get(number) else { return };
        if let Some(entry) = self.ledger.entry(number) {
            self.upkeep.reading = Some(number);
            self.upkeep.compactor.begin(segment, entry);
        }
    }

    fn sparsest(&self) -> Option<u32> {
        // Whatever lies before the last sync's segment is sealed and on disk.
        let synced = self.shared.synced()?.segment;
        let sealed = || {
            let before = self.ledger.segments().take_while(|(number, _)| *number < synced);
            before.filter(|(number, segment)| segment.live() > 0 && !self.upkeep.stuck.contains(number))
        };
        let (bytes, live) = sealed().fold((0, 0), |(bytes, live), (_, segment)| {
            (bytes + u64::from(segment.end), live + segment.live_bytes())
        });
        let usual = self.options.segment_bytes;
        if bytes > live * EXCESS_PERCENT / 100 + usual / 2 {
            let share = |segment: &Segment| segment.live_bytes() * 1000 / u64::from(segment.end).max(1);
            let stable = |number: u32, segment: &Segment| {
                self.upkeep.lived.get(&number).is_some_and(|(live, since)| {
                    *live == segment.live() && self.upkeep.now_ms.saturating_sub(*since) >= STABLE_AFTER_MS
                })
            };
            // Without room nothing comes back before all of it is moved and a checkpoint is durable: that must fit.
            let fits = match self.shared.room() {
                Room::Enough => u64::MAX,
                Room::Short => self.shared.figures().left_bytes.saturating_sub(CHECKPOINT_ROOM_BYTES) / 2,
            };
            let worth = sealed().filter(|(number, segment)| {
                let share = share(segment);
                if segment.live_bytes() > fits {
                    return false;
                }
                share < SHARE_PERCENT * 10 || (share < STABLE_SHARE_PERCENT * 10 && stable(*number, segment))
            });
            if let Some((number, _)) = worth.min_by_key(|(_, segment)| share(segment)) {
                return Some(number);
            }
        }
        let short = || sealed().filter(|(_, segment)| u64::from(segment.end) < usual / 4);
        if short().count() > SHORT_SEGMENTS_MAX {
            return short().min_by_key(|(_, segment)| segment.end).map(|(number, _)| number);
        }
        None
    }

    /// Takes up what compaction has read, and adds copies of what still lives to the batch.
    pub(super) fn move_some(&mut self, batch: &mut Batch, moved: &mut dyn FnMut(&Moved) -> bool) {
        // Without room there is nothing more urgent.
        if self.upkeep.budget == 0 && self.shared.room() == Room::Enough {
            return;
        }
        let segment = self.shared.synced().map_or(0, |synced| synced.segment);
        let is_new = std::mem::replace(&mut self.upkeep.segment, segment) != segment;
        if is_new || (self.upkeep.choose_again && self.upkeep.moved_in <= self.batch) {
            self.upkeep.choose_again = false;
            self.keep_up_in_turn();
        }
        match self.upkeep.compactor.progress() {
            None => {}
            Some(Progress::Records(records)) => {
                let bytes: u64 = records.iter().map(|r| r.bytes.len() as u64).sum();
                self.upkeep.budget = self.upkeep.budget.saturating_sub(bytes);
                if let Err((number, error)) = self.move_records(records, batch, moved) {
                    self.stuck(number, &error);
                }
            }
            Some(Progress::Done) => {
                self.upkeep.compacted += 1;
                self.upkeep.reading = None;
                self.upkeep.choose_again = true;
                self.shared.want_turn();
            }
            Some(Progress::Stuck(number, error)) => {
                self.stuck(number, &error);
                self.upkeep.reading = None;
            }
        }
    }

    fn stuck(&mut self, number: u32, error: &StoreError) {
        tracing::error!(%error, "a live record cannot be moved: its segment stays; see `store check`");
        self.upkeep.damaged.push(error.to_string());
        self.upkeep.stuck.insert(number);
    }

    /// Checks again that each lives: it may have died since it was read. What dies in the batch that is open is seen
    /// when that is entered into the ledger.
    fn move_records(
        &mut self,
        records: Vec<Candidate>,
        batch: &mut Batch,
        moved: &mut dyn FnMut(&Moved) -> bool,
    ) -> Result<(), (u32, StoreError)> {
        let (mut copies, mut told) = (Vec::new(), Vec::new());
        let mut units = BTreeSet::new();
        for Candidate { from, bytes } in records {
            if !self.ledger.is_live(from) {
                continue;
            }
            let mut undecided = false;
            let what = match record::parse(&bytes, from) {
                Some(Parsed::Message(entry, unit, _)) => {
                    told.push((copies.len(), entry));
                    undecided = unit.is_some_and(|unit| self.ledger.is_undecided(unit));
                    MovedWhat::Message { id: entry.id, unit, kept: true }
                }
                Some(Parsed::Keyed(Some(unit), _)) if self.ledger.is_undecided(unit) => {
                    // Behind changes of the same unit in this batch the copies would tell a wrong order: later.
                    if !is_written_under(batch, unit) {
                        units.insert(unit);
                    }
                    continue;
                }
                Some(Parsed::Keyed(_, change)) => MovedWhat::Keyed(change.key),
                Some(Parsed::Prepare { unit, .. }) => {
                    undecided = true;
                    MovedWhat::OfUnit(unit)
                }
                _ => {
                    let what = "a live record is of a kind that does not live".to_owned();
                    let path = self.files.show(&super::reader::path_of(from.segment));
                    let error = StoreError::Damaged { path, offset: u64::from(from.offset), what };
                    return Err((from.segment, error));
                }
            };
            copies.push(MovedRecord { from, bytes, undecided, what });
        }
        for unit in units {
            self.copy_changes(unit, &mut copies);
        }
        if copies.is_empty() {
            return Ok(());
        }
        let places = batch.moved(copies);
        let mut from_places = HashMap::new();
        let Some(Op::Moved(copies)) = batch.ops.last_mut() else { return Ok(()) };
        for (index, entry) in told {
            let (Some(copy), Some(to)) = (copies.get_mut(index), places.get(index)) else { continue };
            from_places.insert(entry.id, copy.from);
            let now_known = moved(&Moved {
                id: entry.id,
                owner: entry.owner,
                order: entry.order,
                priority: entry.priority,
                from: copy.from,
                to: *to,
            });
            if let MovedWhat::Message { kept, .. } = &mut copy.what {
                *kept = !now_known;
            }
        }
        self.upkeep.moved_in = batch.position.batch;
        self.moving.push_back((batch.position, from_places));
        Ok(())
    }

    /// The changes of an undecided unit, all of them in their order: their places tell that order.
    fn copy_changes(&self, unit: UnitId, copies: &mut Vec<MovedRecord>) {
        for (change, from) in self.ledger.keyed_of(unit) {
            let mut bytes = Vec::new();
            record::write_keyed(&mut bytes, Some(unit), change);
            let what = MovedWhat::OfUnit(unit);
            copies.push(MovedRecord { from: *from, bytes: bytes.into(), undecided: true, what });
        }
    }
}

/// Whether the batch has changes of the unit, or copies of some.
fn is_written_under(batch: &Batch, unit: UnitId) -> bool {
    batch.ops.iter().any(|op| match op {
        Op::Keyed(of, _) => *of == Some(unit),
        Op::Moved(copies) => {
            copies.iter().any(|copy| matches!(copy.what, MovedWhat::OfUnit(of) if of == unit))
        }
        _ => false,
    })
}
