//! The device's word on a message: confirm, reject, release; and an operator's force (ONCE.md 2).

use mq_wire::Reason;
use store::{Batch, Commit, Id};

use super::counters::Counter;
use super::device::InDoubt;
use super::queue::Entry;
use super::{Area, AreaEffect, OnboardError, keys};
use crate::frame::{Frame, RejectOutcome};
use crate::{ConnId, DeviceName, Now, RequestId, StoreIdentity, Uid};

impl Area {
    /// The device has these durably: they end as delivered. What is gone already is no error.
    pub fn confirm(
        &mut self,
        now: Now,
        conn: ConnId,
        request: RequestId,
        uids: &[Uid],
        batch: &mut Batch,
        out: &mut Vec<AreaEffect>,
    ) {
        self.latest = now.instant;
        let Some(number) = self.resumed_session(conn, request, out) else { return };
        let mut commit = Commit::default();
        let ended = uids.iter().map(|uid| u32::from(self.settle(number, uid, &mut commit))).sum();
        let Some(device) = self.devices.get_mut(number) else { return };
        device.commit(commit, batch, &mut self.newest);
        let needs = Some(device.newest());
        out.push(AreaEffect::Frame { conn, needs, request, frame: Frame::Confirmed { ended } });
        // There may be room for a window now.
        self.serve_waiting(number, now, batch, out);
        self.set_timer(number);
    }

    /// The device can never take it. It stays in doubt until [`Area::finish_reject`].
    pub fn reject(
        &mut self,
        conn: ConnId,
        request: RequestId,
        uid: Uid,
        reason: Reason,
        batch: &mut Batch,
        out: &mut Vec<AreaEffect>,
    ) {
        let Some(number) = self.resumed_session(conn, request, out) else { return };
        let mut commit = Commit::default();
        let mut letters = Vec::new();
        let begun = self.begin_reject(number, &uid, reason, &mut commit, &mut letters);
        let Some(device) = self.devices.get_mut(number) else { return };
        device.commit(commit, batch, &mut self.newest);
        if !begun {
            let frame = Frame::Rejected(uid, RejectOutcome::Gone);
            out.push(AreaEffect::Frame { conn, needs: Some(device.newest()), request, frame });
        }
        out.append(&mut letters);
        self.set_timer(number);
    }

    /// The dead-letter queue gets the message in the unit of `commit`: it ends there. False if it ended otherwise in
    /// the meantime: then nothing was added, and nothing may be put.
    pub fn finish_reject(
        &mut self,
        device: &DeviceName,
        uid: Uid,
        commit: &mut Commit,
        batch: &Batch,
        out: &mut Vec<AreaEffect>,
    ) -> bool {
        let Some(number) = self.devices.number(device) else { return false };
        let Some(device) = self.devices.get_mut(number) else { return false };
        let Some(live) = &mut device.live else { return false };
        if live.doubt.get(&uid.id).is_none_or(|found| found.rejected.is_none()) {
            return false;
        }
        let Some(found) = live.doubt.remove(&uid.id) else { return false };
        self.bytes -= u64::from(found.entry.length());
        device.end(&found.entry, Counter::Rejected, commit);
        device.commit_counters(commit);
        device.changed(batch.position(), &mut self.newest);
        if let Some(link) = device.link().filter(|link| link.resumed) {
            let (conn, needs) = (link.conn, Some(device.newest()));
            let frame = Frame::Rejected(uid, RejectOutcome::DeadLettered);
            out.push(AreaEffect::Frame { conn, needs, request: RequestId(0), frame });
        }
        // A GET that waits for the room is served by it, when the commit is in the batch.
        self.set_timer(number);
        self.rest(number);
        true
    }

    /// Not now: it waits again, in its old place.
    pub fn release(
        &mut self,
        now: Now,
        conn: ConnId,
        request: RequestId,
        uid: Uid,
        batch: &mut Batch,
        out: &mut Vec<AreaEffect>,
    ) {
        let Some(number) = self.resumed_session(conn, request, out) else { return };
        let mut commit = Commit::default();
        let is_old = self.is_old_word(number, &uid, &mut commit);
        let Some(device) = self.devices.get_mut(number) else { return };
        if !is_old
            && device.live().doubt.get(&uid.id).is_some_and(|doubt| doubt.rejected.is_none())
            && let Some(InDoubt { entry, .. }) = device.live().doubt.remove(&uid.id)
        {
            device.wait(entry, &mut self.index);
        }
        device.commit(commit, batch, &mut self.newest);
        let needs = Some(device.newest());
        out.push(AreaEffect::Frame { conn, needs, request, frame: Frame::Released(uid) });
        self.serve_waiting(number, now, batch, out);
    }

    /// An operator ends a message that is in doubt. A tombstone waits for the device's word on it.
    pub fn force(
        &mut self,
        now: Now,
        device: &DeviceName,
        uid: Uid,
        batch: &mut Batch,
    ) -> Result<bool, OnboardError> {
        let number = self.number(device)?;
        let Some(device) = self.devices.get_mut(number) else { return Ok(false) };
        let live = device.live();
        let Some(found) = live.doubt.remove(&uid.id) else { return Ok(false) };
        live.tombs.insert(uid.id);
        let mut commit = Commit::default();
        self.bytes -= u64::from(found.entry.length());
        device.end(&found.entry, Counter::Forced, &mut commit);
        commit.set(keys::tombstone(number, uid.id), now.wall_ms.to_be_bytes().to_vec());
        device.commit(commit, batch, &mut self.newest);
        self.set_timer(number);
        self.rest(number);
        Ok(true)
    }

    /// A uid that the device has durably; whether a message ended by it.
    pub(super) fn settle(&mut self, number: u32, uid: &Uid, commit: &mut Commit) -> bool {
        if self.is_old_word(number, uid, commit) {
            return false;
        }
        let Some(device) = self.devices.get_mut(number) else { return false };
        let entry = if let Some(doubt) = device.live().doubt.remove(&uid.id) {
            doubt.entry
        } else {
            let Some(Entry { priority, .. }) = device.find(uid.id) else { return false };
            if !device.live().mark.covers(priority, uid.id) {
                // Never handed out to this store: another store's word on a message of the same number.
                device.count(Counter::Strange, 1);
                return false;
            }
            let Some(entry) = device.take(uid.id, &mut self.index) else { return false };
            entry
        };
        self.bytes -= u64::from(entry.length());
        device.end_reported(&entry, Counter::Delivered, self.latest, &mut self.debts, commit);
        true
    }

    /// Marks a message as on its way to the dead-letter queue. False if it is gone, or never was handed out.
    pub(super) fn begin_reject(
        &mut self,
        number: u32,
        uid: &Uid,
        reason: Reason,
        commit: &mut Commit,
        letters: &mut Vec<AreaEffect>,
    ) -> bool {
        if self.is_old_word(number, uid, commit) {
            return false;
        }
        let Some(device) = self.devices.get_mut(number) else { return false };
        if !device.live().doubt.contains_key(&uid.id) {
            let Some(Entry { priority, .. }) = device.find(uid.id) else { return false };
            if !device.live().mark.covers(priority, uid.id) {
                device.count(Counter::Strange, 1);
                return false;
            }
            let Some(entry) = device.take(uid.id, &mut self.index) else { return false };
            device.live().doubt.insert(uid.id, InDoubt { entry, sent: None, rejected: None });
        }
        let name = device.name;
        if let Some(doubt) = device.live().doubt.get_mut(&uid.id) {
            // Also when it was refused before: the letter may have come to nothing, and a second one finds it gone.
            doubt.rejected = Some(reason);
            doubt.sent = Some(self.latest);
            let place = doubt.entry.place;
            letters.push(AreaEffect::DeadLetter { device: name, uid: *uid, place, reason });
        }
        true
    }

    /// The name of a message on the wire.
    pub(super) fn uid(&self, id: Id) -> Uid {
        uid_of(&self.identities, id)
    }

    /// Whether the device speaks of a message of another store, or of one whose end was forced: that is counted, and
    /// ends nothing (ONCE.md 1, 2).
    fn is_old_word(&mut self, number: u32, uid: &Uid, commit: &mut Commit) -> bool {
        let is_ours = *uid == self.uid(uid.id);
        let Some(device) = self.devices.get_mut(number) else { return true };
        if !is_ours {
            device.count(Counter::Strange, 1);
            return true;
        }
        if device.live().tombs.remove(&uid.id) {
            commit.remove(keys::tombstone(number, uid.id));
            device.count(Counter::Late, 1);
            return true;
        }
        false
    }
}

/// The name of a message: the identity under which it was taken in, and its id. The first identity begins with the
/// first start, so that there is one for every id.
pub(super) fn uid_of(identities: &[(u32, StoreIdentity)], id: Id) -> Uid {
    let at = identities.partition_point(|(start, _)| *start <= id.start());
    let found = at.checked_sub(1).and_then(|at| identities.get(at));
    Uid { store: found.map(|(_, store)| *store).unwrap_or_default(), id }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use mq_wire::QMgrName;
    use store::Recovered;

    use super::*;
    use crate::area::AreaSettings;

    /// DESIGN.md 9: an idle device is small, and stays so when somebody asks for what it does not have.
    #[test]
    fn a_refusal_that_is_not_there_costs_an_idle_device_nothing() {
        let settings = AreaSettings::new(QMgrName::new("GATE1").unwrap(), StoreIdentity::default());
        let mut batch = Batch::detached(1);
        let now = Now { wall_ms: 1, instant: Instant::now() };
        let mut area = Area::new(settings, &Recovered::default(), now, &mut batch).unwrap();
        let name = DeviceName::new("DEV1").unwrap();
        area.add_device(name, &mut batch).unwrap();
        let number = area.number(&name).unwrap();
        let (uid, mut commit) = (area.uid(Id::new(1, 1)), Commit::default());
        assert!(!area.finish_reject(&name, uid, &mut commit, &batch, &mut Vec::new()));
        assert!(area.devices.get(number).unwrap().live.is_none());
    }
}
