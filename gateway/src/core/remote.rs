//! Batches of remote sources (ONCE.md 4): durable but invisible, then visible when MQCMIT was done. What the journal knows of
//! each source is keyed state; the last batch that is not decided is a unit that was prepared.
//!
//! | key | value |
//! |---|---|
//! | `gS` name | version, last committed batch, highest number used, the queue manager's identifier |
//!
//! The note of a prepared unit is `R`, version, number, source, devices whose message had expired, message ids.

use std::collections::BTreeMap;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use mq_wire::{MsgId, Reason};
use mqe::area::Area;
use store::{Commit, Position, Prepare, Recovered, UnitId};

use super::command::{Delivery, HandOver, HandedOver, RefusedBy};
use super::hand_over::{Refusal, Went};
use super::turn::{Core, Turn};
use crate::source;

const PREFIX: &[u8] = b"gS";
const VERSION: u8 = 1;
const NOTE: u8 = b'R';

/// What the journal knows of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RemoteState {
    /// The queue manager's identifier; empty until the first batch.
    pub(crate) q_mgr_id: String,
    /// The last batch that is committed there.
    pub(crate) committed: u64,
    /// No lower number is ever used again.
    pub(crate) used: u64,
    /// The batch that is not decided.
    pub(crate) prepared: Option<PreparedBatch>,
    /// When this is on disk, all of it is.
    pub(crate) needs: Option<Position>,
}

/// A batch that is durable and invisible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PreparedBatch {
    pub(crate) number: u64,
    unit: UnitId,
    /// Its messages on the transmission queue.
    pub(crate) msg_ids: Vec<MsgId>,
}

/// What is to be prepared.
#[derive(Debug)]
pub(crate) struct RemoteBatch {
    pub(crate) source: String,
    /// All of the unit of work, also those that the core has nothing to do with.
    pub(crate) deliveries: Vec<HandOver>,
    pub(crate) msg_ids: Vec<MsgId>,
}

/// A batch that was prepared, or what was refused of it: then nothing was done.
#[derive(Debug)]
pub(crate) struct PreparedOutcome {
    pub(crate) number: u64,
    pub(crate) handed_over: HandedOver,
}

/// What the journal knows of all sources.
#[derive(Debug, Default)]
pub(crate) struct Remotes(BTreeMap<String, RemoteState>);

impl Remotes {
    /// From what was recovered; the area learns what had expired in the batches.
    pub(super) fn recover(recovered: &Recovered, area: &mut Area) -> anyhow::Result<Self> {
        let mut remotes = Self::default();
        for (key, value) in &recovered.keyed {
            let Some(name) = key.strip_prefix(PREFIX) else { continue };
            let name = String::from_utf8_lossy(name).into_owned();
            let state = read_state(value)
                .ok_or_else(|| anyhow::anyhow!("what the store says of source {name} cannot be read"))?;
            remotes.0.insert(name, state);
        }
        for prepared in &recovered.prepared {
            let Some((source, number, expired, msg_ids)) = read_note(&prepared.note) else { continue };
            area.adopt_expired(prepared.unit, expired);
            let state = remotes.0.entry(source).or_default();
            state.used = state.used.max(number);
            state.prepared = Some(PreparedBatch { number, unit: prepared.unit, msg_ids });
        }
        Ok(remotes)
    }

    fn set(&self, source: &str, commit: &mut Commit) {
        let Some(RemoteState { q_mgr_id, committed, used, .. }) = self.0.get(source) else { return };
        let mut value = BytesMut::with_capacity(17 + q_mgr_id.len());
        value.put_u8(VERSION);
        value.put_u64(*committed);
        value.put_u64(*used);
        value.put_slice(q_mgr_id.as_bytes());
        commit.set([PREFIX, source.as_bytes()].concat(), value.freeze());
    }
}

fn read_state(mut value: &[u8]) -> Option<RemoteState> {
    if value.try_get_u8().ok()? != VERSION {
        return None;
    }
    let (committed, used) = (value.try_get_u64().ok()?, value.try_get_u64().ok()?);
    let q_mgr_id = std::str::from_utf8(value).ok()?.to_owned();
    Some(RemoteState { q_mgr_id, committed, used, prepared: None, needs: None })
}

fn note(source: &str, number: u64, expired: &[u32], msg_ids: &[MsgId]) -> Bytes {
    let mut note = BytesMut::with_capacity(16 + source.len() + 4 * expired.len() + 24 * msg_ids.len());
    note.put_u8(NOTE);
    note.put_u8(VERSION);
    note.put_u64(number);
    note.put_u16(source.len() as u16);
    note.put_slice(source.as_bytes());
    note.put_u32(expired.len() as u32);
    expired.iter().for_each(|device| note.put_u32(*device));
    msg_ids.iter().for_each(|id| note.put_slice(&id.0));
    note.freeze()
}

fn read_note(note: &[u8]) -> Option<(String, u64, Vec<u32>, Vec<MsgId>)> {
    let mut rest = note.strip_prefix(&[NOTE, VERSION])?;
    let number = rest.try_get_u64().ok()?;
    let length = usize::from(rest.try_get_u16().ok()?);
    let (source, mut rest) = rest.split_at_checked(length)?;
    let count = rest.try_get_u32().ok()? as usize;
    if rest.len() < 4 * count || !(rest.len() - 4 * count).is_multiple_of(24) {
        return None;
    }
    let expired = (0..count).map(|_| rest.get_u32()).collect();
    let msg_ids = rest.as_chunks::<24>().0.iter().map(|id| MsgId(*id)).collect();
    Some((String::from_utf8_lossy(source).into_owned(), number, expired, msg_ids))
}

impl Core {
    /// What the journal knows of a source.
    pub(super) fn remote_state(&self, source: &str) -> RemoteState {
        self.remotes.0.get(source).cloned().unwrap_or_default()
    }

    /// A source begins with a queue manager: the number in its sync message is this one.
    pub(super) fn remote_begin(&mut self, source: String, q_mgr_id: String, number: u64, turn: &mut Turn) {
        let state = self.remotes.0.entry(source.clone()).or_default();
        (state.q_mgr_id, state.committed) = (q_mgr_id, number);
        state.used = state.used.max(number);
        state.needs = Some(turn.batch.position());
        let mut commit = Commit::default();
        self.remotes.set(&source, &mut commit);
        turn.batch.commit(commit);
    }

    /// Writes a batch, invisible. If anything is refused nothing is written.
    pub(super) fn remote_prepare(&mut self, batch: RemoteBatch, turn: &mut Turn) -> PreparedOutcome {
        let RemoteBatch { source, deliveries, msg_ids } = batch;
        let number = self.remote_state(&source).used + 1;
        let mut handed_over = HandedOver { needs: turn.batch.position(), ..HandedOver::default() };
        let unit = turn.batch.new_unit();
        for handed in &deliveries {
            match self.deliver_remote(handed, unit, turn) {
                Ok(went) => handed_over.count(went),
                Err(refusal) => handed_over.refused.push(refusal.of_message(handed.key)),
            }
        }
        if !handed_over.refused.is_empty() {
            self.drop_unit(unit, turn);
            let HandedOver { refused, needs, .. } = handed_over;
            let handed_over = HandedOver { refused, left: deliveries, needs, ..HandedOver::default() };
            return PreparedOutcome { number, handed_over };
        }
        let note = note(&source, number, &self.area.unit_expired(unit), &msg_ids);
        turn.batch.prepare(Prepare { unit, kills: Vec::new(), note });
        let state = self.remotes.0.entry(source).or_default();
        (state.used, state.needs) = (number, Some(turn.batch.position()));
        state.prepared = Some(PreparedBatch { number, unit, msg_ids });
        PreparedOutcome { number, handed_over }
    }

    fn deliver_remote(&mut self, handed: &HandOver, unit: UnitId, turn: &mut Turn) -> Result<Went, Refusal> {
        let now = turn.mqe_now();
        let (outcome, went, by) = match &handed.delivery {
            Delivery::Device { device, message } => {
                let accepted = self.area.accept(now, device, message, unit, &mut turn.batch);
                (accepted, Went::Moved, RefusedBy::Destination)
            }
            Delivery::Park { device, message } => {
                let accepted = self.area.park(now, device, message, unit, &mut turn.batch);
                (accepted, Went::Parked, RefusedBy::Park)
            }
            Delivery::Queue { message } => {
                // A queue of the embedded queue manager would be in no unit with the other one's: only reply tokens lead on.
                let Some((device, queue)) = self.tokens.find(&message.queue) else {
                    let what = "the gateway has no queue for messages of this source";
                    return Err(Refusal::by_reason(
                        Reason::UNKNOWN_OBJECT_NAME,
                        what,
                        RefusedBy::Destination,
                    ));
                };
                let message = mqe::DeviceMessage { queue, ..(**message).clone() };
                let accepted = self.area.accept(now, &device, &message, unit, &mut turn.batch);
                (accepted, Went::Moved, RefusedBy::Destination)
            }
            // These are done in the source's unit of work.
            Delivery::DeadLetter(reason) => {
                return Ok(Went::of_dead_letter(&source::dead_letter(&handed.original, None, *reason)));
            }
            Delivery::Discard(_) => return Ok(Went::Discarded),
            Delivery::Undeliverable { reason, why } => {
                return Err(Refusal::undeliverable(*reason, why));
            }
        };
        outcome.map(|_| went).map_err(|undelivered| Refusal::of(&undelivered, by))
    }

    /// The queue manager was replaced: a batch that is not decided becomes visible, since the old one gives it to nobody else.
    pub(super) fn remote_replaced(&mut self, source: &str, turn: &mut Turn) {
        if let Some(PreparedBatch { number, .. }) = self.remote_state(source).prepared {
            self.remote_decide(source, number, true, turn);
        }
        let number = self.remote_state(source).committed;
        self.remote_begin(source.to_owned(), String::new(), number, turn);
    }

    /// Decides about the batch with this number: it becomes visible, or never was. Nothing if it is decided.
    pub(super) fn remote_decide(&mut self, source: &str, number: u64, committed: bool, turn: &mut Turn) {
        let Some(state) = self.remotes.0.get_mut(source) else { return };
        let Some(PreparedBatch { unit, .. }) = state.prepared.take_if(|batch| batch.number == number) else {
            return;
        };
        state.needs = Some(turn.batch.position());
        if committed {
            state.committed = number;
            let mut commit = Commit { unit: Some(unit), ..Commit::default() };
            self.remotes.set(source, &mut commit);
            self.make_real(commit, turn);
        } else {
            let written = self.area.unit_dropped(unit);
            turn.batch.back_out(unit, written);
            let mut commit = Commit::default();
            // The number is not used again, also after a restart.
            self.remotes.set(source, &mut commit);
            turn.batch.commit(commit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_and_states_are_read_as_written() {
        let ids = [MsgId([1; 24]), MsgId([2; 24])];
        let written = note("hq", 7, &[3, 4], &ids);
        assert_eq!(read_note(&written), Some(("hq".to_owned(), 7, vec![3, 4], ids.to_vec())));
        assert_eq!(read_note(&written[..written.len() - 1]), None);
        assert_eq!(read_note(b"another kind of note"), None);
        let state = RemoteState {
            q_mgr_id: "HQ_2026".to_owned(),
            committed: 5,
            used: 9,
            prepared: None,
            needs: None,
        };
        let mut remotes = Remotes::default();
        remotes.0.insert("hq".to_owned(), state.clone());
        let mut commit = Commit::default();
        remotes.set("hq", &mut commit);
        let value = commit.changes[0].value.clone().unwrap();
        assert_eq!(read_state(&value), Some(state));
        assert_eq!(read_state(&value[..10]), None);
    }
}
