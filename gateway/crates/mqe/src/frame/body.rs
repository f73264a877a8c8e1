//! The bodies of frames. HELLO and WELCOME are fields, so that they can grow; the others are fixed layouts.

use bytes::{BufMut, Bytes, BytesMut};
use mq_wire::{QMgrName, QName, Reason};

use super::{
    Decoded, ErrorCode, Frame, HEAD_BYTES, Hello, Limits, MessageHead, Put, PutOutcome, Refusal,
    RejectOutcome, UIDS_MAX, Welcome,
};
use crate::fields::{Fields, Value};
use crate::message::ENVELOPE_BYTES_MAX;
use crate::wire::{Cursor, DecodeErrorKind};
use crate::{DecodeError, DeviceName, Incarnation, RequestId, Sequence, SessionId, Uid};

/// Longest text of an ERROR, in bytes.
const TEXT_BYTES_MAX: usize = 1024;
/// Longest token of a HELLO, in bytes.
const TOKEN_BYTES_MAX: usize = 2048;
/// Longest product text of a HELLO, in bytes.
const PRODUCT_BYTES_MAX: usize = 64;

pub(super) fn encode(frame: &Frame, out: &mut BytesMut) {
    match frame {
        Frame::Hello(hello) => encode_hello(hello, out),
        Frame::Resume { stored, refused } => {
            put_uids(stored, out);
            out.put_u32(refused.len() as u32);
            for (uid, refusal) in refused {
                out.put_slice(&uid.to_bytes());
                match refusal {
                    Refusal::Rejected(reason) => {
                        out.put_u8(1);
                        out.put_i32(reason.0);
                    }
                    Refusal::Released => {
                        out.put_u8(2);
                        out.put_i32(0);
                    }
                }
            }
        }
        Frame::Get { messages, bytes, wait_ms } => {
            out.put_u32(*messages);
            out.put_u32(*bytes);
            out.put_u32(*wait_ms);
        }
        Frame::Confirm(uids) => put_uids(uids, out),
        Frame::Reject { uid, reason } => {
            out.put_slice(&uid.to_bytes());
            out.put_i32(reason.0);
        }
        Frame::Release(uid) | Frame::Released(uid) => out.put_slice(&uid.to_bytes()),
        Frame::Put(put) => {
            out.put_u64(put.sequence.0);
            put_name(put.queue.trimmed(), out);
            put_name(put.queue_manager.trimmed(), out);
            out.put_u32(put.envelope.len() as u32);
            out.put_slice(&put.envelope);
            out.put_slice(&put.payload);
        }
        Frame::Ping | Frame::Pong => {}
        Frame::Welcome(welcome) => encode_welcome(welcome, out),
        Frame::Resumed { ended } | Frame::Confirmed { ended } => out.put_u32(*ended),
        Frame::Message(head, envelope, payload) => {
            out.put_slice(&head.uid.to_bytes());
            out.put_u8(head.deliveries);
            out.put_u8(u8::from(head.resent));
            out.put_u64(head.remaining_ms.unwrap_or(u64::MAX));
            out.put_u32(envelope.len() as u32);
            out.put_slice(envelope);
            out.put_slice(payload);
        }
        Frame::End { given, waiting, in_doubt } => {
            out.put_u32(*given);
            out.put_u32(*waiting);
            out.put_u32(*in_doubt);
        }
        Frame::Rejected(uid, outcome) => {
            out.put_slice(&uid.to_bytes());
            out.put_u8(u8::from(*outcome == RejectOutcome::Gone));
        }
        Frame::PutAnswer(sequence, outcome) => {
            out.put_u64(sequence.0);
            match outcome {
                PutOutcome::Taken => {
                    out.put_u8(0);
                    out.put_u32(0);
                }
                PutOutcome::Refused(reason) => {
                    out.put_u8(1);
                    out.put_i32(reason.0);
                }
                PutOutcome::Busy(retry_after_ms) => {
                    out.put_u8(2);
                    out.put_u32(*retry_after_ms);
                }
            }
        }
        Frame::Wake { waiting } => out.put_u32(*waiting),
        Frame::Error { code, retry_after_ms, text } => {
            out.put_u16(code.0 as u16);
            out.put_u32(*retry_after_ms);
            let text = cut(text, TEXT_BYTES_MAX);
            out.put_u32(text.len() as u32);
            out.put_slice(text.as_bytes());
        }
    }
}

pub(super) fn decode(bytes: &Bytes) -> Result<(RequestId, Decoded), DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let code = cursor.u8("frame.type")?;
    let request = RequestId(cursor.u32("frame.request id")?);
    debug_assert_eq!(cursor.position(), HEAD_BYTES);
    let cursor = &mut cursor;
    let frame = match code {
        0x01 => decode_hello(cursor)?,
        0x02 => {
            let stored = uids(cursor)?;
            let count = count(cursor, "RESUME.refused", Uid::LENGTH + 5)?;
            let mut refused = Vec::with_capacity(count);
            for _ in 0..count {
                let uid = Uid::read(cursor)?;
                let at = cursor.clone();
                let kind = cursor.u8("RESUME.kind")?;
                let reason = Reason(cursor.array("RESUME.reason").map(i32::from_be_bytes)?);
                refused.push((
                    uid,
                    match kind {
                        1 => Refusal::Rejected(reason),
                        2 => Refusal::Released,
                        found => return Err(at.error("RESUME.kind", DecodeErrorKind::Code { found })),
                    },
                ));
            }
            Frame::Resume { stored, refused }
        }
        0x03 => Frame::Get {
            messages: cursor.u32("GET.messages")?,
            bytes: cursor.u32("GET.bytes")?,
            wait_ms: cursor.u32("GET.wait")?,
        },
        0x04 => Frame::Confirm(uids(cursor)?),
        0x05 => Frame::Reject {
            uid: Uid::read(cursor)?,
            reason: Reason(cursor.array("REJECT.reason").map(i32::from_be_bytes)?),
        },
        0x06 => Frame::Release(Uid::read(cursor)?),
        0x07 => decode_put(bytes, cursor)?,
        0x08 => Frame::Ping,
        0x81 => decode_welcome(cursor)?,
        0x82 => Frame::Resumed { ended: cursor.u32("RESUMED.ended")? },
        0x83 => {
            let uid = Uid::read(cursor)?;
            let deliveries = cursor.u8("MESSAGE.deliveries")?;
            let resent = cursor.u8("MESSAGE.flags")? & 1 != 0;
            let remaining = cursor.u64("MESSAGE.remaining")?;
            let remaining_ms = (remaining != u64::MAX).then_some(remaining);
            let (envelope, payload) = message(bytes, cursor, "MESSAGE.envelope")?;
            Frame::Message(MessageHead { uid, deliveries, resent, remaining_ms }, envelope, payload)
        }
        0x84 => Frame::End {
            given: cursor.u32("END.given")?,
            waiting: cursor.u32("END.waiting")?,
            in_doubt: cursor.u32("END.in doubt")?,
        },
        0x85 => Frame::Confirmed { ended: cursor.u32("CONFIRMED.ended")? },
        0x86 => {
            let uid = Uid::read(cursor)?;
            let at = cursor.clone();
            let outcome = match cursor.u8("REJECTED.outcome")? {
                0 => RejectOutcome::DeadLettered,
                1 => RejectOutcome::Gone,
                found => return Err(at.error("REJECTED.outcome", DecodeErrorKind::Code { found })),
            };
            Frame::Rejected(uid, outcome)
        }
        0x87 => Frame::Released(Uid::read(cursor)?),
        0x88 => {
            let sequence = Sequence(cursor.u64("PUT_ANSWER.sequence")?);
            let at = cursor.clone();
            let kind = cursor.u8("PUT_ANSWER.outcome")?;
            let detail = cursor.u32("PUT_ANSWER.detail")?;
            let outcome = match kind {
                0 => PutOutcome::Taken,
                1 => PutOutcome::Refused(Reason(detail as i32)),
                2 => PutOutcome::Busy(detail),
                found => return Err(at.error("PUT_ANSWER.outcome", DecodeErrorKind::Code { found })),
            };
            Frame::PutAnswer(sequence, outcome)
        }
        0x89 => Frame::Pong,
        0x8A => Frame::Wake { waiting: cursor.u32("WAKE.waiting")? },
        0xFF => {
            let code = ErrorCode(i32::from(cursor.u16("ERROR.code")?));
            let retry_after_ms = cursor.u32("ERROR.retry after")?;
            let text = cursor.counted("ERROR.text", TEXT_BYTES_MAX)?;
            Frame::Error { code, retry_after_ms, text: String::from_utf8_lossy(text).into_owned() }
        }
        found => return Ok((request, Decoded::Unknown(found))),
    };
    cursor.finish("frame")?;
    Ok((request, Decoded::Frame(frame)))
}

fn encode_hello(hello: &Hello, out: &mut BytesMut) {
    let mut fields = Fields::new();
    fields.put("version", Value::Int(i32::from(hello.version)));
    fields.put("device", Value::Ascii(hello.device.to_string()));
    fields.put("incarnation", Value::Long(i64::from(hello.incarnation.0)));
    fields.put("session", Value::Long(hello.last_session.0 as i64));
    if !hello.token.is_empty() {
        fields.put("token", Value::Bytes(hello.token.clone()));
    }
    let product: String = hello.product.chars().filter(char::is_ascii).take(PRODUCT_BYTES_MAX).collect();
    if !product.is_empty() {
        fields.put("product", Value::Ascii(product));
    }
    fields.encode(out);
}

fn decode_hello(cursor: &mut Cursor<'_>) -> Result<Frame, DecodeError> {
    let fields = all_fields(cursor)?;
    let device = fields.ascii("device").ok_or(missing("HELLO.device"))?;
    let wrong_name = DecodeError { what: "HELLO.device", offset: 0, kind: DecodeErrorKind::Name };
    let token = fields.bytes("token").cloned().unwrap_or_default();
    let product = fields.ascii("product").unwrap_or_default();
    if token.len() > TOKEN_BYTES_MAX || product.len() > PRODUCT_BYTES_MAX {
        let found = token.len().max(product.len()) as u64;
        let kind = DecodeErrorKind::TooLarge { found, max: TOKEN_BYTES_MAX as u64 };
        return Err(DecodeError { what: "HELLO.token or product", offset: 0, kind });
    }
    Ok(Frame::Hello(Hello {
        version: number(&fields, "HELLO.version", "version")?,
        device: DeviceName::new(device).map_err(|_| wrong_name)?,
        incarnation: Incarnation(number(&fields, "HELLO.incarnation", "incarnation")?),
        last_session: SessionId(number(&fields, "HELLO.session", "session")?),
        token,
        product: product.to_owned(),
    }))
}

fn encode_welcome(welcome: &Welcome, out: &mut BytesMut) {
    let Limits {
        heartbeat_ms,
        frame_bytes_max,
        window_messages_max,
        window_bytes_max,
        wait_ms_max,
        put_credit,
    } = welcome.limits;
    let mut fields = Fields::new();
    fields.put("version", Value::Int(i32::from(welcome.version)));
    fields.put("gateway", Value::Ascii(welcome.gateway.to_string()));
    fields.put("session", Value::Long(welcome.session.0 as i64));
    fields.put("incarnation", Value::Long(i64::from(welcome.incarnation.0)));
    fields.put("heartbeat_ms", Value::Long(i64::from(heartbeat_ms)));
    fields.put("frame_bytes_max", Value::Long(i64::from(frame_bytes_max)));
    fields.put("window_messages_max", Value::Long(i64::from(window_messages_max)));
    fields.put("window_bytes_max", Value::Long(i64::from(window_bytes_max)));
    fields.put("wait_ms_max", Value::Long(i64::from(wait_ms_max)));
    fields.put("put_credit", Value::Long(i64::from(put_credit)));
    fields.put("waiting", Value::Long(i64::from(welcome.waiting)));
    fields.encode(out);
}

fn decode_welcome(cursor: &mut Cursor<'_>) -> Result<Frame, DecodeError> {
    let fields = all_fields(cursor)?;
    let gateway = fields.ascii("gateway").and_then(|name| QMgrName::new(name).ok());
    let long = |what, name| number::<u32>(&fields, what, name);
    Ok(Frame::Welcome(Welcome {
        version: number(&fields, "WELCOME.version", "version")?,
        gateway: gateway.ok_or(missing("WELCOME.gateway"))?,
        session: SessionId(number(&fields, "WELCOME.session", "session")?),
        incarnation: Incarnation(long("WELCOME.incarnation", "incarnation")?),
        limits: Limits {
            heartbeat_ms: long("WELCOME.heartbeat", "heartbeat_ms")?,
            frame_bytes_max: long("WELCOME.frame bytes", "frame_bytes_max")?,
            window_messages_max: long("WELCOME.window messages", "window_messages_max")?,
            window_bytes_max: long("WELCOME.window bytes", "window_bytes_max")?,
            wait_ms_max: long("WELCOME.wait", "wait_ms_max")?,
            put_credit: long("WELCOME.put credit", "put_credit")?,
        },
        waiting: long("WELCOME.waiting", "waiting")?,
    }))
}

fn decode_put(bytes: &Bytes, cursor: &mut Cursor<'_>) -> Result<Frame, DecodeError> {
    let sequence = Sequence(cursor.u64("PUT.sequence")?);
    let queue = name(cursor, "PUT.queue")?;
    let queue = QName::new(queue).map_err(|_| cursor.error("PUT.queue", DecodeErrorKind::Name))?;
    let queue_manager = match name(cursor, "PUT.queue manager")? {
        "" => QMgrName::BLANK,
        text => QMgrName::new(text).map_err(|_| cursor.error("PUT.queue manager", DecodeErrorKind::Name))?,
    };
    let (envelope, payload) = message(bytes, cursor, "PUT.envelope")?;
    Ok(Frame::Put(Put { sequence, queue, queue_manager, envelope, payload }))
}

/// An envelope behind its length, and the rest of the frame; both without a copy.
fn message(
    bytes: &Bytes,
    cursor: &mut Cursor<'_>,
    what: &'static str,
) -> Result<(Bytes, Bytes), DecodeError> {
    let envelope = bytes.slice_ref(cursor.counted(what, ENVELOPE_BYTES_MAX)?);
    let payload = bytes.slice_ref(cursor.take(what, cursor.left())?);
    Ok((envelope, payload))
}

fn put_name(name: &[u8], out: &mut BytesMut) {
    // Names have at most 48 bytes.
    out.put_u8(name.len() as u8);
    out.put_slice(name);
}

fn name<'a>(cursor: &mut Cursor<'a>, what: &'static str) -> Result<&'a str, DecodeError> {
    cursor.short_text(what)
}

fn put_uids(uids: &[Uid], out: &mut BytesMut) {
    out.put_u32(uids.len() as u32);
    uids.iter().for_each(|uid| out.put_slice(&uid.to_bytes()));
}

fn uids(cursor: &mut Cursor<'_>) -> Result<Vec<Uid>, DecodeError> {
    let count = count(cursor, "uids", Uid::LENGTH)?;
    (0..count).map(|_| Uid::read(cursor)).collect()
}

/// A count of elements that are there: checked before anything is reserved for them.
fn count(cursor: &mut Cursor<'_>, what: &'static str, each: usize) -> Result<usize, DecodeError> {
    let at = cursor.clone();
    let count = cursor.u32(what)? as usize;
    if count > UIDS_MAX {
        return Err(at.error(what, DecodeErrorKind::TooLarge { found: count as u64, max: UIDS_MAX as u64 }));
    }
    if count * each > cursor.left() {
        let kind = DecodeErrorKind::Truncated { needed: count * each, left: cursor.left() };
        return Err(cursor.error(what, kind));
    }
    Ok(count)
}

fn all_fields(cursor: &mut Cursor<'_>) -> Result<Fields, DecodeError> {
    let rest = cursor.take("fields", cursor.left())?;
    Fields::from_bytes(rest)
}

/// A whole number that fits; it may stand as an int or a long.
fn number<T: TryFrom<i64>>(fields: &Fields, what: &'static str, name: &str) -> Result<T, DecodeError> {
    let value = fields.long(name).or_else(|| fields.int(name).map(i64::from)).ok_or(missing(what))?;
    T::try_from(value).map_err(|_| missing(what))
}

fn missing(what: &'static str) -> DecodeError {
    DecodeError { what, offset: 0, kind: DecodeErrorKind::Missing }
}

/// At most `max` bytes of the text, whole characters.
fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
