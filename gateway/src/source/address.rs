//! From a message of the transmission queue to a device's message, or to a dead letter.

use bytes::Bytes;
use mq_wire::{Coding, Mqmd, Mqmde, Mqxqh, QMgrName, Reader, Reason};
use mqe::{DeviceMessage, DeviceName};
use mqe_exits::ExitMessage;
use store::BodyFile;

use crate::clock;
use crate::core::{DeadLetter, Delivery};

/// Where a message goes that came through the exits: queue and device are what its MQXQH says now.
pub(crate) fn delivery(message: ExitMessage, q_mgr: QMgrName, expiry_ms: u64) -> Delivery {
    let Some((xqh, payload)) = split(message) else { return Delivery::DeadLetter(Reason::XQH_ERROR) };
    let Ok(device) = DeviceName::try_from(xqh.remote_q_mgr_name) else {
        return Delivery::DeadLetter(Reason::UNKNOWN_REMOTE_Q_MGR);
    };
    let mut message =
        DeviceMessage::from_mq(xqh.remote_q_name, q_mgr, &xqh.msg_desc, payload, clock::now().wall_ms);
    // The embedded descriptor has the expiry of the time of the put; what counts is when the store says it is over.
    message.expiry_ms = Some(expiry_ms).filter(|at| *at > 0);
    Delivery::Device { device, message: Box::new(message) }
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
            let queue = mq_wire::QName(mq_wire::Chars::cut(original.origin().source()));
            let (md, body) = original.clone().into_parts();
            DeadLetter { reason, queue, q_mgr: QMgrName::BLANK, md, body, file }
        }
    }
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
