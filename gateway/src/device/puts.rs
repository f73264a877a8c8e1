//! A device's puts on their way through the exits: which see them with a transmission header built for them.

use mq_wire::{Chars, Coding, Mqmd, Mqxqh, QMgrName, QName, Reader, Reason};
use mqe::frame::Put;
use mqe::{ConnId, DeviceMessage, DeviceName, RequestId, Sequence};
use mqe_exits::{Chain, Direction, ExitMessage, Origin, Verdict};

use crate::clock;
use crate::core::{Command, CoreHandle, DevicePut, DevicePutBody, Lane, Stopped, reply_token};

/// What the exits' way needs to know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names {
    /// The gateway's name: where replies to devices come back.
    pub(super) gateway: QMgrName,
    /// The embedded queue manager.
    pub(super) q_mgr: QMgrName,
    /// What stands between queue and device in a reply-to queue.
    pub(super) separator: char,
}

/// Takes puts to the core: which are new, the exits for those, and then the puts themselves, in order.
pub(super) async fn deliver(
    core: &CoreHandle,
    conn: ConnId,
    chain: &Chain,
    names: Names,
    puts: Vec<(RequestId, Put)>,
) -> Result<(), Stopped> {
    let arrived = puts.iter().map(|(request, put)| (*request, put.sequence)).collect();
    let new =
        core.ask(Lane::Intake, |answer| Command::DevicePutsArrived { conn, puts: arrived, answer }).await?;
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut messages = Vec::new();
    for ((request, put), device) in puts.into_iter().zip(new) {
        let Some(device) = device else { continue };
        let (sequence, unnamed) = (put.sequence, put.queue_manager.is_blank());
        let content = match wrap(&device, put, names) {
            Ok((message, token, wrapped)) => {
                messages.push(wrapped);
                Ok((message, token))
            }
            Err(reason) => Err(reason),
        };
        waiting.push(Waiting { request, sequence, device, unnamed, content });
    }
    if waiting.is_empty() {
        return Ok(());
    }
    let mut verdicts = chain.run(messages).await.into_iter();
    let mut puts = Vec::with_capacity(waiting.len());
    for Waiting { request, sequence, device, unnamed, content } in waiting {
        let body = match content {
            Ok((message, token)) => match verdicts.next() {
                Some(Verdict::Pass(passed)) => unwrap(message, token, passed).map(|mut body| {
                    // Which queue manager is meant by none is for the core to say.
                    if unnamed && body.q_mgr == names.q_mgr {
                        body.q_mgr = QMgrName::BLANK;
                    }
                    body
                }),
                Some(Verdict::Undelivered { reason, why, .. }) => {
                    tracing::info!(%device, %sequence, %reason, why, "an exit does not let the put through");
                    Err(reason)
                }
                // Nothing is decided: the put and those behind it wait for an operator.
                Some(Verdict::CloseChannel { why } | Verdict::Stopped { why }) => {
                    tracing::warn!(%device, %sequence, why, "puts wait: the exits have stopped");
                    Err(Reason::Q_MGR_QUIESCING)
                }
                None => Err(Reason::UNEXPECTED_ERROR),
            },
            Err(reason) => Err(reason),
        };
        let body = match body {
            Ok(body) => with_file(core, body).await,
            Err(reason) => Err(reason),
        };
        puts.push(DevicePut { request, sequence, device, body });
    }
    core.send(Lane::Intake, Command::DevicePuts { conn, puts }).await
}

/// The put with its payload in a file, where that is long. What cannot be written now is put again by the device.
async fn with_file(core: &CoreHandle, mut body: DevicePutBody) -> Result<DevicePutBody, Reason> {
    body.message.file = crate::core::write_long(core, &body.message.payload).await.map_err(|error| {
        tracing::warn!(%error, "a long put cannot be taken now");
        Reason::STORAGE_MEDIUM_FULL
    })?;
    Ok(body)
}

/// A reply token, and the queue that it stands for.
type Token = (QName, QName);

struct Waiting {
    request: RequestId,
    sequence: Sequence,
    device: DeviceName,
    /// It named no queue manager.
    unnamed: bool,
    content: Result<(DeviceMessage, Option<Token>), Reason>,
}

/// The message of a put, and how the exits see it.
fn wrap(
    device: &DeviceName,
    put: Put,
    names: Names,
) -> Result<(DeviceMessage, Option<Token>, ExitMessage), Reason> {
    let Put { queue, queue_manager, envelope, payload, .. } = put;
    let mut message = DeviceMessage::from_envelope(&envelope, payload).map_err(|error| {
        tracing::info!(%device, %error, "a put that cannot be read");
        Reason::MD_ERROR
    })?;
    let token = reply_to(device, &mut message.descriptor, names);
    let header = Mqxqh {
        remote_q_name: queue,
        remote_q_mgr_name: if queue_manager.is_blank() { names.q_mgr } else { queue_manager },
        msg_desc: message.to_mq(clock::now().wall_ms).unwrap_or_else(|| message.descriptor.clone()),
        ..Mqxqh::default()
    };
    let origin = Origin::new(&device.to_string(), Direction::FromDevice);
    let wrapped = ExitMessage::wrap(origin, &header, &message.payload);
    Ok((message, token, wrapped))
}

/// What the exits made of it. Group, segment, expiry and properties are not in the header: they stay the message's.
fn unwrap(
    message: DeviceMessage,
    token: Option<Token>,
    passed: ExitMessage,
) -> Result<DevicePutBody, Reason> {
    // Not `source::split`: an MQMDE in a device's payload is the payload's.
    let (outer, data) = passed.into_parts();
    let mut reader = Reader::new(&data, Coding::of(outer.encoding, outer.ccsid));
    let Ok(xqh) = Mqxqh::decode(&mut reader) else { return Err(Reason::XQH_ERROR) };
    let payload = data.slice(reader.position()..);
    let before = message.descriptor;
    let descriptor = Mqmd {
        version: 2,
        expiry: before.expiry,
        group_id: before.group_id,
        msg_seq_number: before.msg_seq_number,
        offset: before.offset,
        msg_flags: before.msg_flags,
        original_length: before.original_length,
        ..xqh.msg_desc
    };
    let message = DeviceMessage { queue: xqh.remote_q_name, descriptor, payload, ..message };
    Ok(DevicePutBody { queue: xqh.remote_q_name, q_mgr: xqh.remote_q_mgr_name, token, message })
}

/// Replies come home without a definition for each device (mqe.md 6.5): the reply-to queue of the device becomes
/// `QUEUE%DEVICE` at the gateway, or a token that stands for it: then both are given.
fn reply_to(device: &DeviceName, md: &mut Mqmd, names: Names) -> Option<Token> {
    let own = md.reply_to_q_mgr.is_blank() || md.reply_to_q_mgr == device.queue_manager();
    if md.reply_to_q.is_blank() || !own {
        return None;
    }
    md.reply_to_q_mgr = names.gateway;
    let queue = md.reply_to_q;
    let address = format!("{queue}{}{device}", names.separator);
    if address.len() > 48 {
        // Half of a name would lead the reply elsewhere: a short one stands for both.
        md.reply_to_q = reply_token(device, &queue);
        return Some((md.reply_to_q, queue));
    }
    md.reply_to_q = QName(Chars::cut(&address));
    None
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn names() -> Names {
        let name = |text| QMgrName::new(text).unwrap();
        Names { gateway: name("GATE1"), q_mgr: name("QM1"), separator: '%' }
    }

    fn reply_to_of(queue: &str, q_mgr: &str) -> (String, String, Option<Token>) {
        let mut md = Mqmd {
            reply_to_q: QName(Chars::cut(queue)),
            reply_to_q_mgr: QMgrName(Chars::cut(q_mgr)),
            ..Mqmd::default()
        };
        let token = reply_to(&DeviceName::new("DEV00042").unwrap(), &mut md, names());
        (md.reply_to_q.to_string(), md.reply_to_q_mgr.to_string(), token)
    }

    #[test]
    fn replies_to_a_device_come_through_the_gateway() {
        let home = ("ANSWERS%DEV00042".to_owned(), "GATE1".to_owned(), None);
        assert_eq!(reply_to_of("ANSWERS", ""), home);
        assert_eq!(reply_to_of("ANSWERS", "DEV00042"), home);
        assert_eq!(reply_to_of("ANSWERS", "QM1"), ("ANSWERS".to_owned(), "QM1".to_owned(), None));
        assert_eq!(reply_to_of("", ""), (String::new(), String::new(), None));
        let long = "Q".repeat(40);
        let (queue, q_mgr, token) = reply_to_of(&long, "");
        let (token, stands_for) = token.unwrap();
        assert_eq!((queue, q_mgr), (token.to_string(), "GATE1".to_owned()));
        assert_eq!(stands_for.to_string(), long);
    }

    #[test]
    fn a_put_keeps_its_descriptor_through_the_exits() {
        let device = DeviceName::new("DEV00042").unwrap();
        let mut sent = DeviceMessage::new(QName::new("ORDERS").unwrap(), Bytes::from_static(b"payload"));
        sent.descriptor.priority = 7;
        sent.descriptor.group_id.0[3] = 9;
        let put = Put {
            sequence: Sequence(1),
            queue: sent.queue,
            queue_manager: QMgrName::BLANK,
            envelope: sent.envelope(),
            payload: sent.payload.clone(),
        };
        let (message, token, wrapped) = wrap(&device, put, names()).unwrap();
        let body = unwrap(message, token, wrapped).unwrap();
        assert_eq!((body.queue, body.q_mgr), (sent.queue, names().q_mgr));
        assert_eq!(body.message, sent);
    }
}
