//! Answers of the queue manager in the model's words.

use bytes::Bytes;
use mq_wire::{Coding, FormatName, Mqdlh, Mqmd, Mqmde, Mqxqh, Reader};
use qmgr::{CallId, Context, Reply};

use super::{Engine, Pending};
use crate::calls::{Body, Call, Data, Extension, Got, Header, Md, NO_ID, Outcome, Seen};

impl Engine {
    pub(super) fn outcome(
        &mut self,
        pending: &Pending,
        id: CallId,
        reply: Reply,
        expected: &Outcome,
        call: &Call,
    ) -> Outcome {
        match reply {
            Reply::Plain { cc, reason } => Outcome { cc: cc.0, reason: reason.0, seen: Seen::Nothing },
            Reply::NotGot(not) => Outcome::failed(not.reason.0),
            Reply::Connected(_) | Reply::Reserved { .. } => Outcome::ok(Seen::Nothing),
            Reply::Opened(opened) => {
                let (hobj, q) = match &expected.seen {
                    Seen::Opened { hobj, q, .. } => (*hobj, q.clone()),
                    _ => (0, String::new()),
                };
                if let Call::Open { options, .. } = call {
                    self.opened(hobj, opened.handle, *options);
                }
                let name = self.names.queue_back(opened.od.resolved_q_name.0.text(), &q);
                Outcome::ok(Seen::Opened { hobj, q: name, qm: opened.od.resolved_q_mgr_name.0.text() })
            }
            Reply::Put(put) => {
                let made = match &expected.seen {
                    Seen::Put { msg_id, correl_id, group_id, .. } => [*msg_id, *correl_id, *group_id],
                    _ => [[0; 24]; 3],
                };
                let seen = Seen::Put {
                    msg_id: self.names.id_back(put.md.msg_id.0, &made[0]),
                    correl_id: self.names.id_back(put.md.correl_id.0, &made[1]),
                    group_id: self.names.id_back(put.md.group_id.0, &made[2]),
                    seq: put.md.msg_seq_number,
                    offset: put.md.offset,
                };
                Outcome { cc: put.cc.0, reason: put.reason.0, seen }
            }
            Reply::Inquired(inquired) => Outcome {
                cc: inquired.cc.0,
                reason: inquired.reason.0,
                seen: Seen::Values(inquired.integers),
            },
            Reply::Got(got) => self.got(pending, id, *got, expected, call),
            Reply::ReadFirst(_) => unreachable!("read when it was said"),
        }
    }

    fn got(
        &mut self,
        pending: &Pending,
        id: CallId,
        got: qmgr::Got,
        expected: &Outcome,
        call: &Call,
    ) -> Outcome {
        let record = self.record(got.id, got.place);
        let mut md = Mqmd::decode(&mut Reader::new(&record.envelope, Coding::NATIVE)).expect("a descriptor");
        got.amend(&mut md);
        if got.check.as_ref().is_some_and(|check| !check.fits(&md)) {
            self.mismatched(pending.clone(), id, got, (record.envelope, record.body));
            let reply = self.answers.remove(&id);
            let pending = self.pending.remove(&id);
            return match (reply, pending) {
                (Some(reply), Some(pending)) => self.outcome(&pending, id, reply, expected, call),
                (_, Some(pending)) => {
                    self.pending.insert(id, pending);
                    Outcome::ok(Seen::Waits)
                }
                _ => Outcome::ok(Seen::Nothing),
            };
        }
        let mut body = record.body.to_vec();
        for part in &got.parts {
            body.extend_from_slice(&self.record(part.id, part.place).body);
        }
        if got.taken
            && let Some((_, Some(kept))) = self.handles.get_mut(&pending.hobj)
        {
            *kept = Some(Box::new(Context::of(&md)));
        }
        let blank = Got {
            md: Md::default(),
            data: Data::default(),
            returned: 0,
            length: 0,
            group_status: 0,
            segment_status: 0,
            token: 0,
            q: String::new(),
            assembled: false,
        };
        let expected = if let Seen::Got(got) = &expected.seen { (**got).clone() } else { blank };
        let mut shown = self.md_back(&md, &expected.md);
        (shown.backout, shown.expiry) = (got.backout_count, got.expiry);
        let length = body.len();
        let seen = Got {
            data: self.data_back(&md, Bytes::from(body), &expected.data),
            md: shown,
            returned: got.deliver_length as usize,
            length: if got.body_length as usize == length { length } else { usize::MAX },
            group_status: got.gmo.group_status,
            segment_status: got.gmo.segment_status,
            token: self.names.token_back(got.token, expected.token),
            q: self.names.queue_back(got.gmo.resolved_q_name.0.text(), &expected.q),
            assembled: !got.parts.is_empty(),
        };
        Outcome { cc: got.cc.0, reason: got.reason.0, seen: Seen::Got(Box::new(seen)) }
    }

    fn md_back(&mut self, md: &Mqmd, expected: &Md) -> Md {
        let queue = md.reply_to_q.0.text();
        Md {
            report: md.report.bits().cast_signed(),
            msg_type: md.msg_type.0,
            expiry: md.expiry,
            feedback: md.feedback.0,
            format: md.format.text(),
            priority: md.priority,
            persistence: md.persistence.0,
            msg_id: self.names.id_back(md.msg_id.0, &expected.msg_id),
            correl_id: self.names.id_back(md.correl_id.0, &expected.correl_id),
            backout: md.backout_count,
            reply_q: self.names.queue_back(queue, &expected.reply_q),
            reply_qm: md.reply_to_q_mgr.0.text(),
            user: md.user_identifier.text(),
            identity: md.appl_identity_data.text(),
            put_type: md.put_appl_type.0,
            put_name: md.put_appl_name.text(),
            origin: md.appl_origin_data.text(),
            group_id: self.names.id_back(md.group_id.0, &expected.group_id),
            seq: md.msg_seq_number,
            offset: md.offset,
            flags: md.msg_flags.bits().cast_signed(),
            original_length: md.original_length,
        }
    }

    /// The data, with the header that the descriptor names read.
    fn data_back(&mut self, md: &Mqmd, body: Bytes, expected: &Data) -> Data {
        let mut reader = Reader::new(&body, Coding::NATIVE);
        let (header, length) = match md.format.text().as_str() {
            "MQXMIT" => match Mqxqh::decode(&mut reader) {
                Ok(header) => {
                    let expected = match &expected.header {
                        Some(Header::Transmission { md, .. }) => (**md).clone(),
                        _ => Md::default(),
                    };
                    let md = Box::new(self.md_back(&header.msg_desc, &expected));
                    let (q, qm) = (header.remote_q_name.0.text(), header.remote_q_mgr_name.0.text());
                    (Some(Header::Transmission { q, qm, md }), 428)
                }
                Err(_) => (None, 0),
            },
            "MQDEAD" => match Mqdlh::decode(&mut reader) {
                Ok(header) => {
                    let q = header.dest_q_name.0.text();
                    let extended = header.format == FormatName::MD_EXTENSION;
                    let extension = extended.then(|| Mqmde::decode(&mut reader).expect("an extension"));
                    let expected = match &expected.header {
                        Some(Header::DeadLetter { extension: Some(extension), .. }) => extension.group_id,
                        _ => NO_ID,
                    };
                    let extension = extension.map(|extension| Extension {
                        group_id: self.names.id_back(extension.group_id.0, &expected),
                        seq: extension.msg_seq_number,
                        offset: extension.offset,
                        flags: extension.msg_flags.bits().cast_signed(),
                        original_length: extension.original_length,
                    });
                    let length = if extended { 172 + 72 } else { 172 };
                    (Some(Header::DeadLetter { reason: header.reason.0, q, extension }), length)
                }
                Err(_) => (None, 0),
            },
            _ => (None, 0),
        };
        Data { header, bytes: Body(body[length..].to_vec()) }
    }
}
