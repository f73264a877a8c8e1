//! The records of a device's store and their bytes, for a file that only grows: length u32 of what follows the
//! checksum, CRC-32 of it, type u8, body. Big-endian. A torn end is where reading stops.

use bytes::{BufMut, Bytes, BytesMut};
use mq_wire::{QMgrName, QName, Reason};

use super::state::OutboxPut;
use crate::frame::{FRAME_BYTES_MAX, Refusal};
use crate::message::ENVELOPE_BYTES_MAX;
use crate::wire::{Cursor, DecodeErrorKind};
use crate::{DecodeError, Incarnation, Sequence, SessionId, Uid};

/// Bytes of length and checksum.
const HEAD_BYTES: usize = 8;

/// A change of the device's durable state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceRecord {
    /// 1: RESUME will be sent under these.
    Resuming {
        /// The incarnation that WELCOME gave.
        incarnation: Incarnation,
        /// The session that WELCOME gave.
        session: SessionId,
    },
    /// 2: a message is stored, and not seen confirmed. Envelope and payload are empty where it is kept elsewhere.
    Noted {
        /// Its name.
        uid: Uid,
        /// The message, all but the payload.
        envelope: Bytes,
        /// The payload.
        payload: Bytes,
    },
    /// 3: these were confirmed, and answered.
    Forgotten(Vec<Uid>),
    /// 4: a message is refused, and not seen answered.
    Refused {
        /// Its name.
        uid: Uid,
        /// How.
        refusal: Refusal,
    },
    /// 5: a refusal was answered.
    RefusalAnswered {
        /// Of which message.
        uid: Uid,
    },
    /// 6: a put goes into the outbox.
    Put {
        /// Its number.
        sequence: Sequence,
        /// What is put where.
        put: OutboxPut,
    },
    /// 7: a put was decided.
    PutDecided {
        /// Which.
        sequence: Sequence,
    },
    /// 8: no put below this number will be made.
    NextSequence(Sequence),
}

impl DeviceRecord {
    /// Appends its bytes.
    pub fn encode(&self, out: &mut BytesMut) {
        let start = out.len();
        out.put_bytes(0, HEAD_BYTES);
        self.encode_body(out);
        let body = start + HEAD_BYTES;
        let length = (out.len() - body) as u32;
        let checksum = crc32fast::hash(&out[body..]);
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        out[start + 4..body].copy_from_slice(&checksum.to_be_bytes());
    }

    fn encode_body(&self, out: &mut BytesMut) {
        match self {
            Self::Resuming { incarnation, session } => {
                out.put_u8(1);
                out.put_u32(incarnation.0);
                out.put_u64(session.0);
            }
            Self::Noted { uid, envelope, payload } => {
                out.put_u8(2);
                out.put_slice(&uid.to_bytes());
                put_message(out, envelope, payload);
            }
            Self::Forgotten(uids) => {
                out.put_u8(3);
                uids.iter().for_each(|uid| out.put_slice(&uid.to_bytes()));
            }
            Self::Refused { uid, refusal } => {
                out.put_u8(4);
                out.put_slice(&uid.to_bytes());
                let (kind, reason) = match refusal {
                    Refusal::Rejected(reason) => (1, reason.0),
                    Refusal::Released => (2, 0),
                };
                out.put_u8(kind);
                out.put_i32(reason);
            }
            Self::RefusalAnswered { uid } => {
                out.put_u8(5);
                out.put_slice(&uid.to_bytes());
            }
            Self::Put { sequence, put } => {
                out.put_u8(6);
                out.put_u64(sequence.0);
                out.put_slice(put.queue.0.as_bytes());
                out.put_slice(put.queue_manager.0.as_bytes());
                put_message(out, &put.envelope, &put.payload);
            }
            Self::PutDecided { sequence } => {
                out.put_u8(7);
                out.put_u64(sequence.0);
            }
            Self::NextSequence(sequence) => {
                out.put_u8(8);
                out.put_u64(sequence.0);
            }
        }
    }

    fn decode_body(bytes: &[u8]) -> Result<Self, DecodeError> {
        const WHAT: &str = "device record";
        let mut cursor = Cursor::new(bytes);
        let record = match cursor.u8(WHAT)? {
            1 => Self::Resuming {
                incarnation: Incarnation(cursor.u32(WHAT)?),
                session: SessionId(cursor.u64(WHAT)?),
            },
            2 => {
                let uid = Uid::read(&mut cursor)?;
                let (envelope, payload) = message(&mut cursor)?;
                Self::Noted { uid, envelope, payload }
            }
            3 => {
                let mut uids = Vec::new();
                while cursor.left() > 0 {
                    uids.push(Uid::read(&mut cursor)?);
                }
                Self::Forgotten(uids)
            }
            4 => {
                let uid = Uid::read(&mut cursor)?;
                let kind = cursor.u8(WHAT)?;
                let reason = Reason(cursor.array(WHAT).map(i32::from_be_bytes)?);
                let refusal = match kind {
                    1 => Refusal::Rejected(reason),
                    2 => Refusal::Released,
                    found => return Err(cursor.error(WHAT, DecodeErrorKind::Code { found })),
                };
                Self::Refused { uid, refusal }
            }
            5 => Self::RefusalAnswered { uid: Uid::read(&mut cursor)? },
            6 => {
                let sequence = Sequence(cursor.u64(WHAT)?);
                let queue = QName(mq_wire::Chars::from_bytes(cursor.array(WHAT)?));
                let queue_manager = QMgrName(mq_wire::Chars::from_bytes(cursor.array(WHAT)?));
                let (envelope, payload) = message(&mut cursor)?;
                Self::Put { sequence, put: OutboxPut { queue, queue_manager, envelope, payload } }
            }
            7 => Self::PutDecided { sequence: Sequence(cursor.u64(WHAT)?) },
            8 => Self::NextSequence(Sequence(cursor.u64(WHAT)?)),
            found => return Err(cursor.error(WHAT, DecodeErrorKind::Code { found })),
        };
        cursor.finish(WHAT)?;
        Ok(record)
    }
}

/// Reads the records of a file, up to the first that is not whole.
#[derive(Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    valid: usize,
}

impl<'a> Records<'a> {
    /// The records in these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, valid: 0 }
    }

    /// Bytes of the records that were read so far: where the file is to be cut and gone on with.
    pub fn valid_bytes(&self) -> usize {
        self.valid
    }
}

impl Iterator for Records<'_> {
    type Item = DeviceRecord;

    fn next(&mut self) -> Option<DeviceRecord> {
        let mut cursor = Cursor::new(&self.bytes[self.valid..]);
        let length = cursor.u32("record").ok()? as usize;
        let checksum = cursor.u32("record").ok()?;
        // Longer than any that is written: not a record.
        if length > FRAME_BYTES_MAX + 1024 {
            return None;
        }
        let body = cursor.take("record", length).ok()?;
        if crc32fast::hash(body) != checksum {
            return None;
        }
        let record = DeviceRecord::decode_body(body).ok()?;
        self.valid += cursor.position();
        Some(record)
    }
}

fn put_message(out: &mut BytesMut, envelope: &Bytes, payload: &Bytes) {
    out.put_u32(envelope.len() as u32);
    out.put_slice(envelope);
    out.put_slice(payload);
}

fn message(cursor: &mut Cursor<'_>) -> Result<(Bytes, Bytes), DecodeError> {
    let envelope = Bytes::copy_from_slice(cursor.counted("record.envelope", ENVELOPE_BYTES_MAX)?);
    let payload = Bytes::copy_from_slice(cursor.take("record.payload", cursor.left())?);
    Ok((envelope, payload))
}
