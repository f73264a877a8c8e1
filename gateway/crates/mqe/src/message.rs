//! A message between gateway and device: where it goes, the MQ descriptor, properties, payload; and its envelope.
//!
//! The *envelope* is everything but the payload, as [`Fields`] with reserved names (mqe.md 1.3, 4.5: only values that
//! are not the default are there; the payload is never changed). `PROTOCOL.md` lists the names for devices.

use bytes::Bytes;
use mq_wire::{
    AccountingToken, ApplType, Ccsid, Chars, CorrelId, Encoding, Feedback, GroupId, MessageFlags, Mqmd,
    MsgId, MsgType, Persistence, QMgrName, QName, ReportOptions,
};

use store::BodyFile;

use crate::DeviceName;
use crate::convert::RawHeaders;
use crate::fields::{Fields, Value};
use crate::wire::{DecodeError, DecodeErrorKind};

/// The longest envelope that is accepted, in bytes.
pub const ENVELOPE_BYTES_MAX: usize = 60 * 1024;

/// A message for a device, or from one.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceMessage {
    /// The queue at its destination.
    pub queue: QName,
    /// The queue manager that first took it; blank where that is not known.
    pub origin_qmgr: QMgrName,
    /// The queue that it was sent to, as the application named it: what a dead letter says of it. Blank where that is its
    /// queue at the device.
    pub via_queue: QName,
    /// And the queue manager.
    pub via_qmgr: QMgrName,
    /// When it expires: wall clock milliseconds since 1970.
    pub expiry_ms: Option<u64>,
    /// The descriptor, version 2. Priority and persistence are resolved; `expiry` is not used (see `expiry_ms`).
    pub descriptor: Mqmd,
    /// Properties of the application.
    pub properties: Fields,
    /// The headers in which MQ had them, for the way back ([`crate::convert`]). A device need not look at them.
    pub headers: Option<RawHeaders>,
    /// The data, as it was put.
    pub payload: Bytes,
    /// The file of the store that holds the end of just this payload, if one was written: whoever changes the payload
    /// takes it away. It never leaves the gateway.
    pub file: Option<BodyFile>,
}

/// Tenths of a second to milliseconds (mqe.md 4.5).
const EXPIRY_UNIT_MS: u64 = 100;

impl DeviceMessage {
    /// A datagram without anything special.
    pub fn new(queue: QName, payload: Bytes) -> Self {
        Self {
            queue,
            origin_qmgr: QMgrName::BLANK,
            via_queue: QName::BLANK,
            via_qmgr: QMgrName::BLANK,
            expiry_ms: None,
            descriptor: plain(),
            properties: Fields::new(),
            headers: None,
            payload,
            file: None,
        }
    }

    /// From an MQ message: the descriptor's expiry counts from now; a priority or persistence that was not resolved
    /// becomes 0 and not persistent.
    pub fn from_mq(
        queue: QName,
        origin_qmgr: QMgrName,
        descriptor: &Mqmd,
        payload: Bytes,
        wall_ms: u64,
    ) -> Self {
        let expiry = u64::try_from(descriptor.expiry).ok();
        let expiry_ms = expiry.map(|tenths| wall_ms.saturating_add(tenths * EXPIRY_UNIT_MS));
        let persistence = if descriptor.persistence == Persistence::PERSISTENT {
            Persistence::PERSISTENT
        } else {
            Persistence::NOT_PERSISTENT
        };
        let descriptor = Mqmd {
            version: 2,
            expiry: -1,
            priority: descriptor.priority.clamp(0, 9),
            persistence,
            ..descriptor.clone()
        };
        Self { origin_qmgr, expiry_ms, descriptor, ..Self::new(queue, payload) }
    }

    /// The same; the application had sent it to this address.
    pub fn with_via(self, via_queue: QName, via_qmgr: QMgrName) -> Self {
        Self { via_queue, via_qmgr, ..self }
    }

    /// Where it was sent, as a dead-letter header says it, when it was for this device.
    pub fn address(&self, device: &DeviceName) -> (QName, QMgrName) {
        if self.via_queue.is_blank() {
            (self.queue, device.queue_manager())
        } else {
            (self.via_queue, self.via_qmgr)
        }
    }

    /// The same; the end of its payload lies in this file already, as many bytes as the file has.
    pub fn with_file(self, file: Option<BodyFile>) -> Self {
        Self { file, ..self }
    }

    /// The descriptor for MQ, with the expiry that is left (rounded up, mqe.md 4.5). None if nothing is left: an
    /// expired message is not put.
    pub fn to_mq(&self, wall_ms: u64) -> Option<Mqmd> {
        let expiry = match self.expiry_ms {
            None => -1,
            Some(at) => {
                let left = at.checked_sub(wall_ms).filter(|left| *left > 0)?;
                i32::try_from(left.div_ceil(EXPIRY_UNIT_MS)).unwrap_or(i32::MAX)
            }
        };
        Some(Mqmd { expiry, ..self.descriptor.clone() })
    }

    /// 0 to 9.
    pub fn priority(&self) -> u8 {
        self.descriptor.priority.clamp(0, 9) as u8
    }

    /// Whether it survives restarts.
    pub fn is_persistent(&self) -> bool {
        self.descriptor.persistence == Persistence::PERSISTENT
    }

    /// Everything but the payload, as bytes.
    pub fn envelope(&self) -> Bytes {
        let md = &self.descriptor;
        let base = plain();
        let mut fields = Fields::new();
        text(&mut fields, QUEUE, self.queue.0);
        text(&mut fields, ORIGIN, self.origin_qmgr.0);
        text(&mut fields, VIA_QUEUE, self.via_queue.0);
        text(&mut fields, VIA_QMGR, self.via_qmgr.0);
        if let Some(at) = self.expiry_ms {
            fields.put(EXPIRES, Value::Long(i64::try_from(at).unwrap_or(i64::MAX)));
        }
        if md.priority != base.priority {
            fields.put(PRIORITY, Value::Byte(self.priority()));
        }
        if self.is_persistent() {
            fields.put(PERSISTENT, Value::Boolean(true));
        }
        for (name, value, default) in
            numbers(md).into_iter().zip(numbers(&base)).map(|(a, b)| (a.0, a.1, b.1))
        {
            if value != default {
                fields.put(name, Value::Int(value));
            }
        }
        id(&mut fields, MESSAGE_ID, &md.msg_id.0);
        id(&mut fields, CORRELATION_ID, &md.correl_id.0);
        id(&mut fields, ACCOUNTING, &md.accounting_token.0);
        id(&mut fields, GROUP, &md.group_id.0);
        text(&mut fields, FORMAT, md.format);
        text(&mut fields, REPLY_TO_Q, md.reply_to_q.0);
        text(&mut fields, REPLY_TO_Q_MGR, md.reply_to_q_mgr.0);
        text(&mut fields, USER, md.user_identifier);
        text(&mut fields, APPL_IDENTITY, md.appl_identity_data);
        text(&mut fields, PUT_APPL_NAME, md.put_appl_name);
        text(&mut fields, PUT_DATE, md.put_date);
        text(&mut fields, PUT_TIME, md.put_time);
        text(&mut fields, APPL_ORIGIN, md.appl_origin_data);
        if let Some(RawHeaders { encoding, ccsid, bytes }) = &self.headers {
            fields.put(HEADERS, Value::Bytes(bytes.clone()));
            fields.put(HEADERS_ENCODING, Value::Int(encoding.0));
            fields.put(HEADERS_CCSID, Value::Int(ccsid.0));
        }
        if !self.properties.is_empty() {
            fields.put(PROPERTIES, Value::Fields(self.properties.clone()));
        }
        fields.to_bytes()
    }

    /// The message that an envelope and a payload make. Fields that are not in the list are left out.
    pub fn from_envelope(envelope: &[u8], payload: Bytes) -> Result<Self, DecodeError> {
        let fields = Fields::from_bytes(envelope)?;
        let queue = QName(chars(&fields, QUEUE)?);
        if queue.is_blank() {
            return Err(wrong(QUEUE, DecodeErrorKind::Missing));
        }
        if !queue.is_valid() {
            return Err(wrong(QUEUE, DecodeErrorKind::Name));
        }
        let origin_qmgr = QMgrName(chars(&fields, ORIGIN)?);
        if !origin_qmgr.is_valid() {
            return Err(wrong(ORIGIN, DecodeErrorKind::Name));
        }
        // What an application wrote, which need not be a name.
        let (via_queue, via_qmgr) = (QName(chars(&fields, VIA_QUEUE)?), QMgrName(chars(&fields, VIA_QMGR)?));
        let base = plain();
        let int = |name: &'static str, default: i32| match fields.get(name) {
            None => Ok(default),
            Some(_) => fields.int(name).ok_or(wrong(name, DecodeErrorKind::Missing)),
        };
        let priority = int(PRIORITY, base.priority)?;
        if !(0..=9).contains(&priority) {
            let found = u64::from(priority.unsigned_abs());
            return Err(wrong(PRIORITY, DecodeErrorKind::TooLarge { found, max: 9 }));
        }
        let persistence = match fields.get(PERSISTENT) {
            None | Some(Value::Boolean(false)) => Persistence::NOT_PERSISTENT,
            Some(Value::Boolean(true)) => Persistence::PERSISTENT,
            Some(_) => return Err(wrong(PERSISTENT, DecodeErrorKind::Missing)),
        };
        let expiry_ms = match fields.get(EXPIRES) {
            None => None,
            Some(_) => {
                let at = fields.long(EXPIRES).and_then(|at| u64::try_from(at).ok());
                Some(at.ok_or(wrong(EXPIRES, DecodeErrorKind::Missing))?)
            }
        };
        let properties = match fields.get(PROPERTIES) {
            None => Fields::new(),
            Some(Value::Fields(properties)) => properties.clone(),
            Some(_) => return Err(wrong(PROPERTIES, DecodeErrorKind::Missing)),
        };
        let headers = match fields.get(HEADERS) {
            Some(Value::Bytes(bytes)) => Some(RawHeaders {
                encoding: Encoding(int(HEADERS_ENCODING, base.encoding.0)?),
                ccsid: Ccsid(int(HEADERS_CCSID, base.ccsid.0)?),
                bytes: bytes.clone(),
            }),
            Some(_) => return Err(wrong(HEADERS, DecodeErrorKind::Missing)),
            None => None,
        };
        let descriptor = Mqmd {
            report: ReportOptions::from_bits_retain(int(REPORT, 0)? as u32),
            msg_type: MsgType(int(TYPE, base.msg_type.0)?),
            feedback: Feedback(int(FEEDBACK, base.feedback.0)?),
            encoding: Encoding(int(ENCODING, base.encoding.0)?),
            ccsid: Ccsid(int(CCSID, base.ccsid.0)?),
            format: chars(&fields, FORMAT)?,
            priority,
            persistence,
            msg_id: MsgId(fixed(&fields, MESSAGE_ID)?),
            correl_id: CorrelId(fixed(&fields, CORRELATION_ID)?),
            backout_count: int(BACKOUT_COUNT, 0)?,
            reply_to_q: QName(chars(&fields, REPLY_TO_Q)?),
            reply_to_q_mgr: QMgrName(chars(&fields, REPLY_TO_Q_MGR)?),
            user_identifier: chars(&fields, USER)?,
            accounting_token: AccountingToken(fixed(&fields, ACCOUNTING)?),
            appl_identity_data: chars(&fields, APPL_IDENTITY)?,
            put_appl_type: ApplType(int(PUT_APPL_TYPE, base.put_appl_type.0)?),
            put_appl_name: chars(&fields, PUT_APPL_NAME)?,
            put_date: chars(&fields, PUT_DATE)?,
            put_time: chars(&fields, PUT_TIME)?,
            appl_origin_data: chars(&fields, APPL_ORIGIN)?,
            group_id: GroupId(fixed(&fields, GROUP)?),
            msg_seq_number: int(SEQUENCE_IN_GROUP, base.msg_seq_number)?,
            offset: int(OFFSET, base.offset)?,
            msg_flags: MessageFlags::from_bits_retain(int(FLAGS, 0)? as u32),
            original_length: int(ORIGINAL_LENGTH, base.original_length)?,
            ..base
        };
        let message =
            Self { headers, origin_qmgr, expiry_ms, descriptor, properties, ..Self::new(queue, payload) };
        Ok(message.with_via(via_queue, via_qmgr))
    }
}

const QUEUE: &str = "queue";
const ORIGIN: &str = "origin";
const VIA_QUEUE: &str = "via_queue";
const VIA_QMGR: &str = "via_qmgr";
const EXPIRES: &str = "expires";
const PRIORITY: &str = "priority";
const PERSISTENT: &str = "persistent";
const REPORT: &str = "report";
const TYPE: &str = "type";
const FEEDBACK: &str = "feedback";
const ENCODING: &str = "encoding";
const CCSID: &str = "ccsid";
const BACKOUT_COUNT: &str = "backouts";
const PUT_APPL_TYPE: &str = "put_appl_type";
const SEQUENCE_IN_GROUP: &str = "group_seq";
const OFFSET: &str = "offset";
const FLAGS: &str = "flags";
const ORIGINAL_LENGTH: &str = "original_length";
const MESSAGE_ID: &str = "message_id";
const CORRELATION_ID: &str = "correlation_id";
const ACCOUNTING: &str = "accounting";
const GROUP: &str = "group_id";
const FORMAT: &str = "format";
const REPLY_TO_Q: &str = "reply_to_q";
const REPLY_TO_Q_MGR: &str = "reply_to_qmgr";
const USER: &str = "user";
const APPL_IDENTITY: &str = "appl_identity";
const PUT_APPL_NAME: &str = "put_appl_name";
const PUT_DATE: &str = "put_date";
const PUT_TIME: &str = "put_time";
const APPL_ORIGIN: &str = "appl_origin";
const PROPERTIES: &str = "properties";
const HEADERS: &str = "headers";
const HEADERS_ENCODING: &str = "headers_encoding";
const HEADERS_CCSID: &str = "headers_ccsid";

/// What a message without any optional field has.
fn plain() -> Mqmd {
    Mqmd { version: 2, priority: 0, persistence: Persistence::NOT_PERSISTENT, ..Mqmd::default() }
}

/// The whole-number fields of a descriptor that travel as they are.
fn numbers(md: &Mqmd) -> [(&'static str, i32); 11] {
    [
        (REPORT, md.report.bits() as i32),
        (TYPE, md.msg_type.0),
        (FEEDBACK, md.feedback.0),
        (ENCODING, md.encoding.0),
        (CCSID, md.ccsid.0),
        (BACKOUT_COUNT, md.backout_count),
        (PUT_APPL_TYPE, md.put_appl_type.0),
        (SEQUENCE_IN_GROUP, md.msg_seq_number),
        (OFFSET, md.offset),
        (FLAGS, md.msg_flags.bits() as i32),
        (ORIGINAL_LENGTH, md.original_length),
    ]
}

fn wrong(what: &'static str, kind: DecodeErrorKind) -> DecodeError {
    DecodeError { what, offset: 0, kind }
}

/// Characters: ASCII where they are, else bytes.
fn text<const N: usize>(fields: &mut Fields, name: &'static str, value: Chars<N>) {
    if value.is_blank() {
        return;
    }
    let bytes = value.trimmed();
    fields.put(
        name,
        match std::str::from_utf8(bytes) {
            Ok(text) if text.is_ascii() => Value::Ascii(text.to_owned()),
            _ => Value::Bytes(Bytes::copy_from_slice(bytes)),
        },
    );
}

fn chars<const N: usize>(fields: &Fields, name: &'static str) -> Result<Chars<N>, DecodeError> {
    let bytes = match fields.get(name) {
        None => return Ok(Chars::BLANK),
        Some(Value::Ascii(text)) => text.as_bytes(),
        Some(Value::Bytes(bytes)) => bytes,
        Some(_) => return Err(wrong(name, DecodeErrorKind::Missing)),
    };
    let mut padded = [b' '; N];
    match padded.get_mut(..bytes.len()) {
        Some(place) => place.copy_from_slice(bytes),
        None => {
            let kind = DecodeErrorKind::TooLarge { found: bytes.len() as u64, max: N as u64 };
            return Err(wrong(name, kind));
        }
    }
    Ok(Chars::from_bytes(padded))
}

fn id(fields: &mut Fields, name: &'static str, value: &[u8]) {
    if value.iter().any(|b| *b != 0) {
        fields.put(name, Value::Bytes(Bytes::copy_from_slice(value)));
    }
}

/// Bytes of fixed length; shorter ones are padded with zeros, as MQ ids are.
fn fixed<const N: usize>(fields: &Fields, name: &'static str) -> Result<[u8; N], DecodeError> {
    let mut padded = [0; N];
    match fields.get(name) {
        None => {}
        Some(Value::Bytes(bytes)) => match padded.get_mut(..bytes.len()) {
            Some(place) => place.copy_from_slice(bytes),
            None => {
                let kind = DecodeErrorKind::TooLarge { found: bytes.len() as u64, max: N as u64 };
                return Err(wrong(name, kind));
            }
        },
        Some(_) => return Err(wrong(name, DecodeErrorKind::Missing)),
    }
    Ok(padded)
}

#[cfg(test)]
mod tests;
