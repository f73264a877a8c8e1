//! From a message of the transmission queue to a device's message, or to a dead letter.

use std::sync::Arc;

use bytes::Bytes;
use mq_wire::{Chars, Coding, MessageFlags, Mqmd, Mqmde, Mqxqh, QMgrName, QName, Reader, Reason};
use mqe::{DeviceMessage, DeviceName};
use mqe_exits::ExitMessage;
use store::BodyFile;

use crate::clock;
use crate::core::{DeadLetter, Delivery};

/// What addressing has to know.
#[derive(Debug, Clone)]
pub(crate) struct Addressing {
    /// The queue manager that has the transmission queue.
    pub(crate) q_mgr: QMgrName,
    /// The names under which the gateway is addressed; the first is its own.
    pub(crate) names: Arc<[QMgrName]>,
    /// Whether groups and segments, which devices do not know, are undelivered.
    pub(crate) refuses_segments: bool,
}

/// Where a message goes that came through the exits: queue and device are what its MQXQH says now (mqe.md 6.4).
pub(crate) fn delivery(
    message: ExitMessage,
    addressing: &Addressing,
    original: &ExitMessage,
    expiry_ms: u64,
) -> Delivery {
    let undeliverable = |reason, why: &str| Delivery::Undeliverable { reason, why: why.to_owned() };
    let Some((xqh, payload)) = split(message) else {
        return undeliverable(Reason::XQH_ERROR, "it has no transmission queue header that can be read");
    };
    let flags = MessageFlags::SEGMENT | MessageFlags::LAST_SEGMENT | MessageFlags::MSG_IN_GROUP;
    if addressing.refuses_segments
        && xqh.msg_desc.msg_flags.intersects(flags | MessageFlags::LAST_MSG_IN_GROUP)
    {
        return undeliverable(
            Reason::SEGMENTS_NOT_SUPPORTED,
            "it is in a group or a segment, which are refused here",
        );
    }
    let (queue, q_mgr) = (xqh.remote_q_name, addressing.q_mgr);
    let mut message = DeviceMessage::from_mq(queue, q_mgr, &xqh.msg_desc, payload, clock::now().wall_ms);
    // The embedded descriptor has the expiry of the time of the put; what counts is when the store says it is over.
    message.expiry_ms = Some(expiry_ms).filter(|at| *at > 0);
    let (via_queue, via_qmgr) = addressed_to(original);
    let message = Box::new(message.with_via(via_queue, via_qmgr).with_properties_apart());
    if addressing.names.contains(&xqh.remote_q_mgr_name) {
        return Delivery::Queue { message };
    }
    match DeviceName::try_from(xqh.remote_q_mgr_name) {
        Ok(device) => Delivery::Device { device, message },
        Err(error) => {
            let why = format!("{} can be the name of no device: {error}", xqh.remote_q_mgr_name);
            undeliverable(Reason::UNKNOWN_REMOTE_Q_MGR, &why)
        }
    }
}

/// The dead letter of a message as it lay on the transmission queue (mq-objects.md 1.8). One without a readable
/// header goes as it is.
///
/// `file` holds the end of the message as it lay there.
pub(crate) fn dead_letter(original: &ExitMessage, file: Option<BodyFile>, reason: Reason) -> DeadLetter {
    match split(original.clone()) {
        Some((xqh, body)) => DeadLetter {
            reason,
            // One that begins in the header was put with it: what is left of it is in no file.
            file: file.filter(|file| file.length() <= body.len() as u64),
            queue: xqh.remote_q_name,
            q_mgr: xqh.remote_q_mgr_name,
            md: xqh.msg_desc,
            body,
        },
        None => {
            let queue = QName(Chars::cut(original.origin().source()));
            let (md, body) = original.clone().into_parts();
            DeadLetter { reason, queue, q_mgr: QMgrName::BLANK, md, body, file }
        }
    }
}

/// Where the application sent it: for those who look for it.
pub(crate) fn addressed_to(original: &ExitMessage) -> (QName, QMgrName) {
    match original.xqh() {
        Ok(xqh) => (xqh.remote_q_name, xqh.remote_q_mgr_name),
        Err(_) => (QName(Chars::cut(original.origin().source())), QMgrName::BLANK),
    }
}

/// A message that is for no device, as one that can be parked: what is to be said of it later is in it.
pub(crate) fn parked_whole(original: &ExitMessage, q_mgr: QMgrName) -> DeviceMessage {
    let DeadLetter { queue, q_mgr: dead_q_mgr, md, body, .. } = dead_letter(original, None, Reason::NONE);
    DeviceMessage::from_mq(queue, q_mgr, &md, body, clock::now().wall_ms).with_via(queue, dead_q_mgr)
}

/// Header and payload. What an MQMDE says of group and segment goes into the descriptor (mq-objects.md 1.7).
fn split(message: ExitMessage) -> Option<(Mqxqh, Bytes)> {
    let (descriptor, data) = message.into_parts();
    let mut reader = Reader::new(&data, Coding::of(descriptor.encoding, descriptor.ccsid));
    let mut xqh = Mqxqh::decode(&mut reader).ok()?;
    let md = &mut xqh.msg_desc;
    if md.format.trimmed() != b"MQHMDE" {
        return Some((xqh, data.slice(Mqxqh::LENGTH..)));
    }
    reader.set_coding(Coding::of(md.encoding, md.ccsid));
    let mde = Mqmde::decode(&mut reader).ok()?;
    let payload = data.slice(reader.position()..);
    *md = Mqmd {
        version: 2,
        encoding: mde.encoding,
        ccsid: mde.ccsid,
        format: mde.format,
        group_id: mde.group_id,
        msg_seq_number: mde.msg_seq_number,
        offset: mde.offset,
        msg_flags: mde.msg_flags,
        original_length: mde.original_length,
        ..md.clone()
    };
    Some((xqh, payload))
}
