//! An entry of the outbox as it is stored: what it is, where it goes, and the message.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use mq_wire::{Chars, QMgrName, Reason};

use crate::{DecodeError, DecodeErrorKind, DeviceMessage, DeviceName};

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A put of a device.
    Put,
    /// A report.
    Report,
    /// A dead letter with this reason; its message's `via` fields are the names for the header.
    DeadLetter(Reason),
}

/// Something that must reach a queue manager.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboxEntry {
    /// What it is.
    pub kind: EntryKind,
    /// The device that put it, or whose message it is about.
    pub device: Option<DeviceName>,
    /// The queue manager of its queue; blank is the target itself.
    pub q_mgr: QMgrName,
    /// Queue, descriptor, expiry, properties, data.
    pub message: DeviceMessage,
}

const WHAT: &str = "an entry of the outbox";
const VERSION: u8 = 1;

impl OutboxEntry {
    /// Everything but the data.
    pub(super) fn envelope(&self) -> Bytes {
        let message = self.message.envelope();
        let (kind, reason) = match self.kind {
            EntryKind::Put => (0, 0),
            EntryKind::Report => (1, 0),
            EntryKind::DeadLetter(reason) => (2, reason.0),
        };
        let device = self.device.as_ref().map_or(&b""[..], |device| device.trimmed());
        let q_mgr = self.q_mgr.0.trimmed();
        let mut out = BytesMut::with_capacity(8 + device.len() + q_mgr.len() + message.len());
        out.put_u8(VERSION);
        out.put_u8(kind);
        out.put_i32(reason);
        for name in [device, q_mgr] {
            out.put_u8(name.len() as u8);
            out.put_slice(name);
        }
        out.put_slice(&message);
        out.freeze()
    }

    /// The entry that was stored.
    pub fn from_record(envelope: &[u8], body: Bytes) -> Result<Self, DecodeError> {
        let wrong = |kind| DecodeError { what: WHAT, offset: 0, kind };
        let mut rest = envelope;
        let short = |_| wrong(DecodeErrorKind::Missing);
        let version = rest.try_get_u8().map_err(short)?;
        if version != VERSION {
            return Err(wrong(DecodeErrorKind::Code { found: version }));
        }
        let (kind, reason) = (rest.try_get_u8().map_err(short)?, rest.try_get_i32().map_err(short)?);
        let kind = match kind {
            0 => EntryKind::Put,
            1 => EntryKind::Report,
            2 => EntryKind::DeadLetter(Reason(reason)),
            found => return Err(wrong(DecodeErrorKind::Code { found })),
        };
        let mut name = || {
            let length = usize::from(rest.try_get_u8().ok()?);
            let (name, behind) = rest.split_at_checked(length)?;
            rest = behind;
            std::str::from_utf8(name).ok()
        };
        let names = name().zip(name());
        let (device, q_mgr) = names.ok_or(wrong(DecodeErrorKind::Name))?;
        let device = match device {
            "" => None,
            device => Some(DeviceName::new(device).map_err(|_| wrong(DecodeErrorKind::Name))?),
        };
        let q_mgr = QMgrName(Chars::cut(q_mgr));
        Ok(Self { kind, device, q_mgr, message: DeviceMessage::from_envelope(rest, body)? })
    }
}
