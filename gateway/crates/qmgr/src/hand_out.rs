//! MQGET: the message that was found is handed out: whether it fits, what of it is delivered, whether it leaves the
//! queue, and what the handle keeps of it.

use mq_wire::{CompCode, GetOptions, MessageFlags, Mqgmo, OpenOptions, PropertyControl, Reason};
use mqsc::{Attribute, row};
use store::{Batch, Commit, Id, Position};

use crate::get::{Outcome, Plan, Progress, Which, token};
use crate::held::Held;
use crate::index::{Entry, Flags, Key};
use crate::manager::QueueManager;
use crate::marks::Owner;
use crate::queue::{Object, bury};
use crate::read_first::Reading;
use crate::special::Special;
use crate::verb::{CallId, ConnId, Got, Now, Part};

/// Bytes of an MQMDE (mq-objects.md 1.3).
const EXTENSION_LENGTH: u32 = 72;

/// A message as it is handed out: one physical message, or the segments of a logical one.
#[derive(Debug)]
struct Found {
    key: Key,
    entry: Entry,
    special: Option<Special>,
    /// The segments behind it.
    rest: Vec<(Key, Entry)>,
    /// Whether it is a logical message that was put together, or is one segment.
    whole: bool,
    /// Why not all segments of it are here (2243, 2244).
    uneven: Reason,
}

impl Found {
    fn entries(&self) -> impl Iterator<Item = &Entry> {
        std::iter::once(&self.entry).chain(self.rest.iter().map(|(_, entry)| entry))
    }

    fn all(&self) -> impl Iterator<Item = (Key, Entry)> {
        std::iter::once((self.key, self.entry)).chain(self.rest.iter().copied())
    }
}

/// What of the data goes to the application.
#[derive(Debug, Clone, Copy)]
struct Delivery {
    skip: u32,
    extension_length: u32,
    length: u32,
}

impl QueueManager {
    /// Hands out the message at this place.
    pub(crate) fn hand_out(
        &mut self,
        now: Now,
        conn: ConnId,
        call: CallId,
        plan: &Plan,
        key: Key,
        batch: &mut Batch,
    ) -> Outcome {
        let found = match self.found(plan, key) {
            Ok(Some(found)) => found,
            Ok(None) => return Outcome::Nothing,
            Err(reason) => return Outcome::Failed(reason),
        };
        let delivery = self.delivery(plan, &found);
        let fits = delivery.length <= plan.buffer_length;
        let shown = fits || plan.has(GetOptions::ACCEPT_TRUNCATED_MSG);
        let taken = shown && !plan.browses();
        let in_unit = taken && plan.unit.is(found.entry.persistent());
        if let Err(reason) = self.check_found(conn, plan, &found, shown, taken.then_some(in_unit)) {
            return Outcome::Failed(reason);
        }
        let warning = shown.then(|| self.keep_progress(conn, plan, &found, in_unit)).flatten();
        let reason = match (fits, shown, warning) {
            (true, _, warning) => {
                if found.uneven == Reason::NONE {
                    warning.unwrap_or(Reason::NONE)
                } else {
                    found.uneven
                }
            }
            (false, true, _) => Reason::TRUNCATED_MSG_ACCEPTED,
            (false, false, _) => Reason::TRUNCATED_MSG_FAILED,
        };
        let Some(local) = self.directory.local(plan.queue) else { return Outcome::Nothing };
        let shown_by = |entry: &Entry| local.needs(entry, batch.start());
        let mut needs = found.entries().filter_map(shown_by).max();
        let got = Box::new(self.got(now, plan, &found, delivery, reason, taken));
        if !shown {
            if plan.which == Which::BrowseFirst {
                self.rewind(conn, plan);
            }
            return Outcome::Got { got, needs };
        }
        if plan.browses() {
            self.browsed(now, conn, plan, &found);
            return Outcome::Got { got, needs };
        }
        let cod = found.entry.flags.contains(Flags::COD);
        if cod || (got.check.is_some() && !found.rest.is_empty()) {
            let ids = self.hold(plan.queue, &found);
            let first =
                self.read_first((conn, call), Reading { ids, in_unit, cod, plan: plan.clone(), got, needs });
            return Outcome::Read { first, needs };
        }
        if in_unit {
            let ids = self.hold(plan.queue, &found);
            if let Some(connection) = self.connections.get_mut(&conn) {
                connection.unit.gets.extend(ids);
            }
        } else if let Some(position) = self.take(plan.queue, &found, batch) {
            needs = Some(position);
        }
        Outcome::Got { got, needs }
    }

    /// The message at this place, with the rest of its logical message if that is wanted.
    fn found(&self, plan: &Plan, key: Key) -> Result<Option<Found>, Reason> {
        let Some(local) = self.directory.local(plan.queue) else { return Ok(None) };
        let Some(entry) = local.index.get(key).copied() else { return Ok(None) };
        let special = self.specials.of(&entry).copied();
        let mut found = Found { key, entry, special, rest: Vec::new(), whole: false, uneven: Reason::NONE };
        let Some((spot, member)) = local.index.member(key) else { return Ok(Some(found)) };
        if !plan.has(GetOptions::COMPLETE_MSG) || !member.is_segment() {
            return Ok(Some(found));
        }
        if spot.offset > 0 && plan.which.under_cursor() {
            return Err(Reason::INVALID_MSG_UNDER_CURSOR);
        }
        let Some(rest) = local.index.rest_of_message(key) else { return Ok(None) };
        let like = special.and_then(|special| special.group);
        for key in rest {
            let Some(entry) = local.index.get(key).copied() else { return Ok(None) };
            let group = self.specials.of(&entry).and_then(|special| special.group);
            let differs = match (like, group) {
                (Some(like), Some(group)) if like.ccsid != group.ccsid => Reason::INCONSISTENT_CCSIDS,
                (Some(like), Some(group)) if like.encoding != group.encoding => {
                    Reason::INCONSISTENT_ENCODINGS
                }
                _ => Reason::NONE,
            };
            if differs != Reason::NONE {
                found.uneven = differs;
                return Ok(Some(found));
            }
            found.rest.push((key, entry));
        }
        found.whole = true;
        Ok(Some(found))
    }

    /// What speaks against handing it out. `taken` says whether it would be in the unit of work, if it leaves.
    fn check_found(
        &self,
        conn: ConnId,
        plan: &Plan,
        found: &Found,
        shown: bool,
        taken: Option<bool>,
    ) -> Result<(), Reason> {
        let differs = |(must, tag): (Option<u64>, u64)| must.is_some_and(|must| must != tag);
        if plan.must.into_iter().zip(found.entry.tags).any(differs) {
            return Err(Reason::MATCH_OPTIONS_ERROR);
        }
        let marked = || {
            let local = self.directory.local(plan.queue);
            local.is_some_and(|local| local.marks.is_marked(Owner::CoOp, found.key))
        };
        if shown && plan.has(GetOptions::MARK_BROWSE_CO_OP) && marked() {
            return Err(crate::error::reason::MSG_MARKED_BROWSE_CO_OP);
        }
        let (Some(in_unit), Some(connection)) = (taken, self.connections.get(&conn)) else { return Ok(()) };
        if plan.has(GetOptions::LOGICAL_ORDER)
            && let Some(kept) = connection.handles.get(&plan.handle).and_then(|handle| handle.progress(false))
        {
            kept.check_unit(in_unit)?;
        }
        let messages = connection.unit.messages();
        if !found.rest.is_empty() && found.entry.persistent() && !in_unit && messages > 0 {
            return Err(Reason::UOW_NOT_AVAILABLE);
        }
        // The report on the delivery is in the unit as well (mq-objects.md 3.2, MAXUMSGS).
        let report = usize::from(found.entry.flags.contains(Flags::COD));
        if in_unit && messages + found.entries().count() + report > self.unit_messages_max() {
            return Err(Reason::SYNCPOINT_LIMIT_REACHED);
        }
        Ok(())
    }

    /// Bytes that are delivered, properties apart that are not.
    fn delivery(&self, plan: &Plan, found: &Found) -> Delivery {
        let mut delivery = Delivery { skip: 0, extension_length: 0, length: 0 };
        if let Some(special) = &found.special {
            if found.entry.flags.contains(Flags::PROPERTIES) {
                let control =
                    self.directory.get(plan.named).map_or(PropertyControl::Compatibility, property_control);
                let has_handle = plan.gmo.version >= 4 && plan.gmo.msg_handle != 0;
                // What is refused was refused when the call came.
                let left_out = match control.for_get(plan.gmo.options, has_handle).unwrap_or(control) {
                    PropertyControl::None => true,
                    PropertyControl::Compatibility => !special.properties.compatible,
                    _ => false,
                };
                if left_out {
                    delivery.skip = special.properties.length.min(found.entry.body_length);
                }
            }
            if plan.md_version < 2 && special.group.is_some() {
                delivery.extension_length = EXTENSION_LENGTH;
            }
        }
        let stored: u64 = found.entries().map(|entry| u64::from(entry.body_length)).sum();
        let length = stored + u64::from(delivery.extension_length) - u64::from(delivery.skip);
        delivery.length = u32::try_from(length).unwrap_or(u32::MAX);
        delivery
    }

    fn got(
        &self,
        now: Now,
        plan: &Plan,
        found: &Found,
        delivery: Delivery,
        reason: Reason,
        taken: bool,
    ) -> Got {
        let entry = &found.entry;
        let deliver_length = delivery.length.min(plan.buffer_length);
        let name = |object: &Object| object.definition.queue_name();
        let part = |(_, entry): &(Key, Entry)| {
            let Entry { id, place, body_length, .. } = *entry;
            Part { id, place, body_length }
        };
        let token = token(plan.queue, found.key);
        let flags = found.special.and_then(|special| special.group).map(|group| group.flags);
        let has = |flag| flags.is_some_and(|flags: MessageFlags| flags.contains(flag));
        Got {
            cc: if reason == Reason::NONE { CompCode::OK } else { CompCode::WARNING },
            reason,
            id: entry.id,
            place: entry.place,
            parts: found.rest.iter().map(part).collect(),
            whole: found.whole,
            skip: delivery.skip,
            extension_length: delivery.extension_length,
            body_length: delivery.length,
            deliver_length,
            backout_count: entry.backouts.into(),
            expiry: expiry_left(now, entry),
            gmo: Mqgmo {
                resolved_q_name: self.directory.get(plan.queue).map(name).unwrap_or_default(),
                group_status: match (has(MessageFlags::LAST_MSG_IN_GROUP), has(MessageFlags::MSG_IN_GROUP)) {
                    (true, _) => b'L',
                    (false, true) => b'G',
                    (false, false) => b' ',
                },
                segment_status: match (has(MessageFlags::LAST_SEGMENT), has(MessageFlags::SEGMENT)) {
                    (_, true) if found.whole => b'L',
                    (true, _) => b'L',
                    (false, true) => b'S',
                    (false, false) => b' ',
                },
                segmentation: if has(MessageFlags::SEGMENTATION_ALLOWED) { b'A' } else { b' ' },
                msg_token: token,
                returned_length: deliver_length.try_into().unwrap_or(i32::MAX),
                ..plan.gmo.clone()
            },
            token,
            check: plan.check.map(Box::new),
            taken,
            handle: plan.handle,
            special: found.special.map(Box::new),
        }
    }

    /// Keeps where the handle is in its group, and says what it left incomplete by going on in another way.
    fn keep_progress(&mut self, conn: ConnId, plan: &Plan, found: &Found, in_unit: bool) -> Option<Reason> {
        if plan.which == Which::BrowseUnderCursor {
            // It is where it was.
            return None;
        }
        let logical = plan.has(GetOptions::LOGICAL_ORDER);
        let connection = self.connections.get_mut(&conn)?;
        let handle = connection.handles.get_mut(&plan.handle)?;
        if plan.browses() {
            handle.browsed_logically = Some(logical);
        }
        let before = handle.progress(plan.browses()).copied();
        let index = &self.directory.local(plan.queue)?.index;
        if before.is_none() && !logical && !found.entry.flags.contains(Flags::GROUPED) {
            // Most handles see no groups at all.
            return None;
        }
        let last = index.member(found.rest.last().map_or(found.key, |(key, _)| *key));
        let next_offset = last.map_or(0, |(spot, member)| index.next_offset(spot, member));
        let after = Progress::after(before.as_ref(), found.key, last, next_offset, (in_unit, logical));
        if in_unit {
            connection.keep_orders(plan.handle);
        }
        let handle = connection.handles.get_mut(&plan.handle)?;
        *handle.progress_mut(plan.browses()) = Some(Box::new(after));
        if logical { None } else { before.and_then(|before| before.left_incomplete()) }
    }

    /// The cursor stands before the first message: a browse of the first one that ends in 2080 (IBM MQ reference,
    /// 2080).
    fn rewind(&mut self, conn: ConnId, plan: &Plan) {
        let handle = self.connections.get_mut(&conn).and_then(|c| c.handles.get_mut(&plan.handle));
        if let Some(handle) = handle {
            (handle.cursor, handle.browsed, handle.browsed_logically) = (None, None, None);
        }
    }

    /// What a browse leaves behind: the cursor, marks, a lock.
    fn browsed(&mut self, now: Now, conn: ConnId, plan: &Plan, found: &Found) {
        let who = (conn, plan.handle);
        if plan.has(GetOptions::LOCK) {
            self.lock_browsed(who, plan.queue, found.all().collect());
        }
        let until = self.mark_ends(now);
        let Some(handle) = self.connections.get_mut(&conn).and_then(|c| c.handles.get_mut(&plan.handle))
        else {
            return;
        };
        // A browse that ends in 2080 leaves the cursor where it was: the client simply asks again
        // (mq-wire-observed-base.md 4.1).
        handle.cursor = Some(found.key);
        let co_op = handle.options.contains(OpenOptions::CO_OP);
        let Some(local) = self.directory.local_mut(plan.queue) else { return };
        if plan.has(GetOptions::UNMARK_BROWSE_HANDLE) {
            local.marks.unmark(Owner::Handle(who), found.key);
        }
        if plan.has(GetOptions::UNMARK_BROWSE_CO_OP) && co_op {
            local.marks.unmark(Owner::CoOp, found.key);
        }
        if plan.has(GetOptions::MARK_BROWSE_HANDLE) {
            local.marks.mark(Owner::Handle(who), found.key, who, None);
        }
        if plan.has(GetOptions::MARK_BROWSE_CO_OP) {
            local.marks.mark(Owner::CoOp, found.key, who, until);
        }
        self.note_marks(plan.queue);
    }

    /// Takes messages off their queue, to be held by somebody.
    fn hold(&mut self, queue: u64, found: &Found) -> Vec<Id> {
        let Some(local) = self.directory.local_mut(queue) else { return Vec::new() };
        let mut ids = Vec::with_capacity(1 + found.rest.len());
        for (key, _) in found.all() {
            let Some(entry) = local.remove(key) else { continue };
            local.uncommitted_gets += 1;
            ids.push(self.held.add(Held { queue, key, entry }));
        }
        ids
    }

    /// Takes messages for good. Says on what that depends, if anything of it is to survive a restart.
    fn take(&mut self, queue: u64, found: &Found, batch: &mut Batch) -> Option<Position> {
        let local = self.directory.local_mut(queue)?;
        let mut commit = Commit::default();
        for (key, entry) in found.all() {
            local.remove(key);
            bury(&entry, &mut commit);
            self.specials.forget(&entry);
        }
        batch.commit(commit);
        let survives = found.entries().any(Entry::survives);
        if survives {
            local.changed = batch.position();
        }
        survives.then(|| batch.position())
    }
}

/// PROPCTL.
fn property_control(object: &Object) -> PropertyControl {
    let definition = &object.definition;
    let value = definition.attributes.get(Attribute::PROPCTL);
    let number =
        row(definition.kind, Attribute::PROPCTL).zip(value).and_then(|(row, value)| row.number(value));
    number.and_then(PropertyControl::of).unwrap_or(PropertyControl::Compatibility)
}

/// Tenths of a second that are left; at least one, for a message that is given has not expired.
pub(crate) fn expiry_left(now: Now, entry: &Entry) -> i32 {
    if entry.expiry_ms == 0 {
        return -1;
    }
    let tenths = entry.expiry_ms.saturating_sub(now.wall_ms).div_ceil(100);
    i32::try_from(tenths).unwrap_or(i32::MAX).max(1)
}
