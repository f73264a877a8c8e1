//! What a device keeps over a crash: incarnation and session, what it has stored and refused without an answer, and
//! its outbox.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use mq_wire::{QMgrName, QName};

use super::record::DeviceRecord;
use crate::frame::Refusal;
use crate::{Incarnation, Sequence, SessionId, Uid};

/// A put that was not decided yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxPut {
    /// The queue that it is for.
    pub queue: QName,
    /// The queue manager of that queue; blank lets the gateway's own decide.
    pub queue_manager: QMgrName,
    /// The message, all but the payload.
    pub envelope: Bytes,
    /// The payload.
    pub payload: Bytes,
}

/// The durable state: what its records, applied in order, make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceState {
    /// 0 before the first WELCOME, and for a store that was lost.
    pub incarnation: Incarnation,
    /// The session under which it last sent RESUME.
    pub session: SessionId,
    /// Stored, not seen confirmed.
    pub noted: BTreeSet<Uid>,
    /// Refused, not seen answered.
    pub refusals: BTreeMap<Uid, Refusal>,
    /// Puts without an outcome.
    pub outbox: BTreeMap<Sequence, OutboxPut>,
    /// The next put's number; never used twice in an incarnation.
    pub next_sequence: Sequence,
}

impl Default for DeviceState {
    fn default() -> Self {
        Self {
            incarnation: Incarnation(0),
            session: SessionId(0),
            noted: BTreeSet::new(),
            refusals: BTreeMap::new(),
            outbox: BTreeMap::new(),
            next_sequence: Sequence(1),
        }
    }
}

impl DeviceState {
    /// What a record changes.
    pub fn apply(&mut self, record: &DeviceRecord) {
        match record {
            DeviceRecord::Resuming { incarnation, session } => {
                (self.incarnation, self.session) = (*incarnation, *session);
            }
            DeviceRecord::Noted { uid, .. } => {
                self.noted.insert(*uid);
            }
            DeviceRecord::Forgotten(uids) => {
                uids.iter().for_each(|uid| {
                    self.noted.remove(uid);
                });
            }
            DeviceRecord::Refused { uid, refusal } => {
                self.refusals.insert(*uid, *refusal);
            }
            DeviceRecord::RefusalAnswered { uid } => {
                self.refusals.remove(uid);
            }
            DeviceRecord::Put { sequence, put } => {
                self.outbox.insert(*sequence, put.clone());
                self.next_sequence = self.next_sequence.max(Sequence(sequence.0.saturating_add(1)));
            }
            DeviceRecord::PutDecided { sequence } => {
                self.outbox.remove(sequence);
            }
            DeviceRecord::NextSequence(sequence) => self.next_sequence = self.next_sequence.max(*sequence),
        }
    }

    /// Records that make this state: for a new file in place of a long one. Stored messages themselves are not in it:
    /// keep those whose [`DeviceRecord::Noted`] the application has not used.
    pub fn snapshot(&self) -> Vec<DeviceRecord> {
        let (incarnation, session) = (self.incarnation, self.session);
        let mut records = vec![
            DeviceRecord::Resuming { incarnation, session },
            DeviceRecord::NextSequence(self.next_sequence),
        ];
        let noted = self.noted.iter();
        records.extend(noted.map(|uid| DeviceRecord::Noted {
            uid: *uid,
            envelope: Bytes::new(),
            payload: Bytes::new(),
        }));
        let refused = self.refusals.iter();
        records.extend(refused.map(|(uid, refusal)| DeviceRecord::Refused { uid: *uid, refusal: *refusal }));
        let puts = self.outbox.iter();
        records
            .extend(puts.map(|(sequence, put)| DeviceRecord::Put { sequence: *sequence, put: put.clone() }));
        records
    }
}
