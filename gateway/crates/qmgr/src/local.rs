//! The gateway's own way to the queues, without a connection: locks on a transmission queue, and puts in a unit of
//! the owner that also holds what the owner writes (ONCE.md 4, last row).
//!
//! A lock takes the message off the queue, like a get in a unit of work, until it is given back or taken for good.

use bytes::Bytes;
use mq_wire::{
    ApplName, ApplType, ChannelName, Mqmd, Mqod, OpenOptions, PutOptions, QMgrName, QName, Reason, UserId,
};
use store::{Batch, BodyFile, Commit, Id, Place, UnitId};

use crate::context::{Chosen, Sender};
use crate::held::{Ended, Held};
use crate::index::Want;
use crate::manager::QueueManager;
use crate::put::Message;
use crate::queue::bury;
use crate::verb::{Effect, Now, Properties, Rights};

/// Who holds locks. The owner gives the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder(pub u64);

/// A message that was locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locked {
    /// Its id.
    pub id: Id,
    /// Where it lies.
    pub place: Place,
    /// Its order key within queue and priority.
    pub order: u64,
    /// 0 to 9.
    pub priority: u8,
    /// Whether it is persistent.
    pub persistent: bool,
    /// Wall clock milliseconds at which it expires; 0 is never.
    pub expiry_ms: u64,
    /// Bytes of its data.
    pub body_length: u32,
    /// How often it was given back.
    pub backout_count: u16,
}

/// Who puts with [`crate::QueueManager::put_in_unit`].
#[derive(Debug, Clone)]
pub struct Putter {
    /// UserIdentifier.
    pub user: UserId,
    /// PutApplName.
    pub appl_name: ApplName,
    /// PutApplType.
    pub appl_type: ApplType,
    /// What it may do.
    pub rights: Rights,
    /// Where the context of the message comes from.
    pub context: PutContext,
}

/// Where the context of a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutContext {
    /// From the putter and the clock.
    Default,
    /// Identity as in the descriptor, origin from the putter and the clock.
    SetIdentity,
    /// All as in the descriptor: dead letters keep the originator's (mq-objects.md 1.8). As it is with an MCA, the
    /// rest of the descriptor is not looked at either.
    SetAll,
}

/// Where a message went.
#[derive(Debug, Clone)]
pub struct PutOutcome {
    /// The queue that was resolved.
    pub queue: QName,
    /// Its queue manager.
    pub q_mgr: QMgrName,
    /// The descriptor as the putter gets it back.
    pub md: Mqmd,
    /// None, or a warning (2049).
    pub reason: Reason,
    /// Id in the store, of the first segment if it was cut.
    pub id: Id,
}

/// What the listener needs to know of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelView {
    /// Its name.
    pub name: ChannelName,
    /// Its type (MQCHT_*: 7 is SVRCONN).
    pub chltype: i32,
    /// Longest message; 0 is that of the queue manager.
    pub maxmsgl: i32,
    /// Heartbeat interval in seconds.
    pub hbint: i32,
    /// User that its connections have; empty: their own.
    pub mcauser: String,
    /// Conversations on a socket.
    pub sharecnv: i32,
    /// Connections at a time.
    pub maxinst: i32,
    /// Connections at a time of one client.
    pub maxinstc: i32,
    /// Seconds without a call after which a connection ends; 0 is never.
    pub discint: i32,
}

/// A queue, for status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueView {
    /// Its name.
    pub name: QName,
    /// Its type (MQQT_*: 1 local, 2 model, 3 alias, 6 remote).
    pub q_type: i32,
    /// Whether it is a transmission queue.
    pub transmission: bool,
    /// Messages on it, uncommitted puts among them.
    pub depth: u64,
    /// Puts, gets and locks that are not committed.
    pub uncommitted: u64,
    /// Handles open for input.
    pub open_input: u32,
    /// Handles open for output.
    pub open_output: u32,
    /// Gets that wait.
    pub waiting: u64,
    /// Messages that expired on it, ever.
    pub expired: u64,
}

/// A message of the owner's for [`QueueManager::put_in_unit`].
#[derive(Debug, Clone)]
pub struct UnitPut {
    /// Its queue.
    pub queue: QName,
    /// The queue manager of the queue; blank is this one.
    pub q_mgr: QMgrName,
    /// Its descriptor.
    pub md: Mqmd,
    /// Its data.
    pub body: Bytes,
}

/// A unit of the owner: what it put, and the locks that it takes for good.
#[derive(Debug, Default)]
pub(crate) struct OwnUnit {
    puts: Vec<Id>,
    taken: Vec<(Holder, Id)>,
}

/// Headers that may come on top of MAXMSGL of the queue manager, where it is not an application that puts.
const HEADERS_MAX: u32 = 4_000;

impl QueueManager {
    /// Locks the next messages of a queue, in order, up to so many messages and bytes (always one, whatever its
    /// length). None if there are none.
    pub fn lock_next(
        &mut self,
        now: Now,
        queue: &QName,
        holder: Holder,
        messages_max: usize,
        bytes_max: usize,
    ) -> Result<Vec<Locked>, Reason> {
        let number = self.directory.number(*queue).ok_or(Reason::UNKNOWN_OBJECT_NAME)?;
        let object = self.directory.get_mut(number).ok_or(Reason::UNKNOWN_OBJECT_NAME)?;
        if !object.facts.get {
            return Err(Reason::GET_INHIBITED);
        }
        let local = object.local.as_deref_mut().ok_or(Reason::OPTION_NOT_VALID_FOR_TYPE)?;
        let (mut locked, mut bytes, mut expired) = (Vec::new(), 0, Vec::new());
        while locked.len() < messages_max {
            let found = local.index.find(&Want::default(), None, now.wall_ms, &mut expired);
            self.expired.take(number, local, &expired);
            expired.clear();
            let Some(key) = found else { break };
            let length = local.index.get(key).map_or(0, |entry| entry.body_length as usize);
            if !locked.is_empty() && bytes + length > bytes_max {
                break;
            }
            let Some(entry) = local.remove(key) else { break };
            bytes += length;
            local.uncommitted_gets += 1;
            let id = self.held.add(Held { queue: number, key, entry });
            self.locks.insert((holder, id));
            locked.push(Locked {
                id: entry.id,
                place: entry.place,
                order: key.order,
                priority: entry.priority,
                persistent: entry.persistent(),
                expiry_ms: entry.expiry_ms,
                body_length: entry.body_length,
                backout_count: entry.backouts,
            });
        }
        self.sweep_soon(now);
        Ok(locked)
    }

    /// Gives locked messages back to their places. Ids that the holder has not locked are passed over.
    pub fn unlock(&mut self, now: Now, holder: Holder, ids: &[Id], batch: &mut Batch, out: &mut Vec<Effect>) {
        let ids = ids.iter().copied().filter(|id| self.locks.remove(&(holder, *id))).collect();
        let held = self.held.take_all(ids);
        self.put_back(now, held, batch, out);
        self.finish(now, batch, out);
    }

    /// Gives all that a holder has locked back.
    pub fn unlock_all(&mut self, now: Now, holder: Holder, batch: &mut Batch, out: &mut Vec<Effect>) {
        let all = self.locks.range((holder, Id::from_u64(0))..=(holder, Id::from_u64(u64::MAX)));
        let ids: Vec<Id> = all.map(|(_, id)| *id).collect();
        self.unlock(now, holder, &ids, batch, out);
    }

    /// Whether the holder has the message locked: the second look before anything is written for it.
    pub fn is_locked(&self, holder: Holder, id: Id) -> bool {
        self.locks.contains(&(holder, id))
    }

    /// Takes locked messages for good, looking again at each lock: adds their deaths to the commit record of the
    /// owner. Says for each whether it was locked. Final with [`Self::unit_is_real`], or at once if the record is of
    /// no unit.
    pub fn take_locked(&mut self, holder: Holder, ids: &[Id], commit: &mut Commit) -> Vec<bool> {
        let mut taken = Vec::with_capacity(ids.len());
        for id in ids {
            let held = self.held.get(*id).filter(|_| self.locks.remove(&(holder, *id)));
            taken.push(held.is_some());
            let Some(held) = held.copied() else { continue };
            bury(&held.entry, commit);
            if let Some(unit) = commit.unit {
                self.units.entry(unit).or_default().taken.push((holder, *id));
                continue;
            }
            self.specials.forget(&held.entry);
            self.held.take(*id);
            if let Some(local) = self.directory.local_mut(held.queue) {
                local.uncommitted_gets = local.uncommitted_gets.saturating_sub(1);
                self.dirty.insert(held.queue);
            }
        }
        taken
    }

    /// As [`Self::put_in_unit_with_file`], without a file.
    pub fn put_in_unit(
        &mut self,
        now: Now,
        who: &Putter,
        put: UnitPut,
        commit: &mut Commit,
        batch: &mut Batch,
    ) -> Result<PutOutcome, Reason> {
        self.put_in_unit_with_file(now, who, put, None, commit, batch)
    }

    /// Puts a message in the unit of the owner's commit record. It cannot be had before [`Self::unit_is_real`].
    /// The file, if there is one, holds the end of the data: the record names it and repeats nothing of it.
    pub fn put_in_unit_with_file(
        &mut self,
        now: Now,
        who: &Putter,
        put: UnitPut,
        file: Option<BodyFile>,
        commit: &mut Commit,
        batch: &mut Batch,
    ) -> Result<PutOutcome, Reason> {
        let unit = commit.unit.ok_or(Reason::UOW_NOT_AVAILABLE)?;
        let od = Mqod { object_name: put.queue.into(), object_q_mgr_name: put.q_mgr, ..Mqod::default() };
        let route = self.route(&od, OpenOptions::OUTPUT, who.rights)?;
        self.check_not_model(&route)?;
        let context = match who.context {
            PutContext::Default => Chosen::Default,
            PutContext::SetIdentity => Chosen::SetIdentity,
            PutContext::SetAll => Chosen::SetAll,
        };
        let sender = Sender { user: who.user, appl_name: who.appl_name, appl_type: who.appl_type, context };
        let message = Message {
            md: put.md,
            body: put.body,
            file,
            options: PutOptions::SYNCPOINT,
            kept: None,
            headers: HEADERS_MAX,
            any_descriptor: who.context == PutContext::SetAll,
            check_headers: false,
            properties: Properties::default(),
        };
        let prepared = self.prepare(now, &sender, &route, message, batch.start())?;
        let (md, reason) = (prepared.md.clone(), prepared.reason);
        let held = self.write(now, &route, prepared, Some(unit), batch)?;
        let id = held.first().ok_or(Reason::UNEXPECTED_ERROR)?.entry.id;
        self.hold_for_owner(unit, held, commit);
        Ok(PutOutcome { queue: route.queue, q_mgr: route.q_mgr, md, reason, id })
    }

    /// What was written in the unit of the owner stays hidden until the unit is real.
    pub(crate) fn hold_for_owner(&mut self, unit: UnitId, held: Vec<Held>, commit: &mut Commit) {
        for held in held {
            self.specials.write(&held.entry, commit);
            let id = self.held.add(held);
            self.units.entry(unit).or_default().puts.push(id);
        }
    }

    /// The owner has added the commit record of the unit to the batch: what was put can be had, what was taken is
    /// gone.
    pub fn unit_is_real(&mut self, now: Now, unit: UnitId, batch: &mut Batch, out: &mut Vec<Effect>) {
        let Some(OwnUnit { puts, taken }) = self.units.remove(&unit) else { return };
        let taken = taken.into_iter().map(|(_, id)| id).collect();
        let (puts, gets) = (self.held.take_all(puts), self.held.take_all(taken));
        let mut lost = Commit::default();
        for held in puts.iter().filter(|held| self.directory.local(held.queue).is_none()) {
            bury(&held.entry, &mut lost);
        }
        batch.commit(lost);
        self.settle(now, Ended { id: Some(unit), puts, gets }, batch, out);
        self.finish(now, batch, out);
    }

    /// The unit shall never be: what was put never was, what was taken is locked as before. Writes the end of what
    /// was put under it here; what others wrote is theirs.
    pub fn unit_dropped(&mut self, unit: UnitId, batch: &mut Batch) {
        let Some(OwnUnit { puts, taken }) = self.units.remove(&unit) else { return };
        let puts = self.held.take_all(puts);
        self.forget_puts(&Ended { id: Some(unit), puts, gets: Vec::new() }, batch);
        // They were held all the time.
        self.locks.extend(taken);
    }
}
