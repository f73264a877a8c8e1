//! Report messages that the queue manager makes (mq-objects.md 1.13, 2.4; IBM MQ reference, "Report"): on arrival, on
//! delivery, on expiry, and for whoever cannot deliver a message. Each goes to the reply-to queue of its message by name
//! resolution, in the same unit of work as what it tells of; if it cannot be put there, to the dead-letter queue, and
//! if not there either, nowhere, which is counted. Nobody is ever refused anything because of a report.
//!
//! A report never asks for reports. It is put with the rights of a device: what an application may not write to, it
//! does not get written to by asking for reports either.

use bytes::{Bytes, BytesMut};
use mq_wire::{
    ApplType, Chars, Coding, CorrelId, Encoding, Feedback, FormatName, MessageFlags, Mqdlh, Mqmd, Mqmde,
    Mqod, MsgId, MsgType, OpenOptions, PutOptions, QMgrName, QName, Reader, Reason, ReportOptions, Writer,
};
use store::{Batch, Commit, UnitId};

use crate::clock::put_date_time;
use crate::context::{Chosen, Sender};
use crate::envelope::{is_extended, without_extension};
use crate::headers::Headers;
use crate::held::Held;
use crate::manager::QueueManager;
use crate::put::Message;
use crate::verb::{ConnId, Effect, Now, Properties, Rights};

/// Bytes of the application's data in a report with data.
const DATA_LENGTH: usize = 100;
/// Headers that may come on top of MAXMSGL of the queue manager.
const HEADERS_MAX: u32 = 4_000;

/// What is passed on of an expiry that is over, in tenths of a second: a minute, else the report would expire at once.
const EXPIRED: i32 = 600;

/// What a report tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportKind {
    /// The message has arrived (COA).
    Arrival,
    /// It was delivered (COD).
    Delivery,
    /// It has expired.
    Expiration,
    /// With the reason why the message could not be delivered.
    Exception(Feedback),
}

/// What is to become of a message that cannot be delivered, as it asks itself (MQRO_DEAD_LETTER_Q, MQRO_DISCARD_MSG).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undelivered {
    /// It goes to the dead-letter queue.
    DeadLetter,
    /// It is thrown away.
    Discard,
}

impl ReportKind {
    /// Options that ask for the report: plain, with data, with full data.
    fn options(self) -> [ReportOptions; 3] {
        match self {
            Self::Arrival => {
                [ReportOptions::COA, ReportOptions::COA_WITH_DATA, ReportOptions::COA_WITH_FULL_DATA]
            }
            Self::Delivery => {
                [ReportOptions::COD, ReportOptions::COD_WITH_DATA, ReportOptions::COD_WITH_FULL_DATA]
            }
            Self::Expiration => [
                ReportOptions::EXPIRATION,
                ReportOptions::EXPIRATION_WITH_DATA,
                ReportOptions::EXPIRATION_WITH_FULL_DATA,
            ],
            Self::Exception(_) => [
                ReportOptions::EXCEPTION,
                ReportOptions::EXCEPTION_WITH_DATA,
                ReportOptions::EXCEPTION_WITH_FULL_DATA,
            ],
        }
    }

    /// Whether the message asks for it. Neither arrival nor delivery is what happens on a transmission queue or a
    /// dead-letter queue: the formats of their messages say so.
    pub fn is_wanted(self, md: &Mqmd) -> bool {
        let confirms = matches!(self, Self::Arrival | Self::Delivery);
        let elsewhere = md.format == FormatName::XMIT_Q_HEADER || md.format == FormatName::DEAD_LETTER_HEADER;
        md.report.contains(self.options()[0]) && !(confirms && elsewhere)
    }

    fn feedback(self) -> Feedback {
        match self {
            Self::Arrival => Feedback::COA,
            Self::Delivery => Feedback::COD,
            Self::Expiration => Feedback::EXPIRATION,
            Self::Exception(feedback) => feedback,
        }
    }

    /// The data of the report: none, the headers and a hundred bytes, or all.
    fn data(self, md: &Mqmd, data: &Bytes) -> Bytes {
        let [_, some, all] = self.options();
        if md.report.contains(all) {
            data.clone()
        } else if md.report.contains(some) {
            let headers = Headers::of(md, data).length;
            data.slice(..data.len().min(headers + DATA_LENGTH))
        } else {
            Bytes::new()
        }
    }
}

/// A report for another queue manager to put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportMessage {
    /// The queue that it is for.
    pub queue: QName,
    /// And its queue manager.
    pub q_mgr: QMgrName,
    /// Its descriptor; without a message id, so that it gets a new one, if the message does not want its own passed on.
    pub md: Mqmd,
    /// Its data.
    pub body: Bytes,
}

/// The report that a message asks for, made by `this`; `expiry` is what is left of the message's, in tenths of a second.
/// None if it asks for none.
pub fn report_message(
    now: Now,
    this: QMgrName,
    kind: ReportKind,
    md: &Mqmd,
    data: &Bytes,
    expiry: i32,
) -> Option<ReportMessage> {
    kind.is_wanted(md).then(|| ReportMessage {
        queue: md.reply_to_q,
        q_mgr: md.reply_to_q_mgr,
        md: describe(now, this, kind, md, data.len(), expiry, MsgId::NONE),
        body: kind.data(md, data),
    })
}

impl QueueManager {
    /// Reports, in the unit of work of the owner's commit record, on a message that is not of a queue of this queue
    /// manager any more, if it asks for that. `expiry` is what is left of its time, in tenths of a second.
    #[expect(clippy::too_many_arguments, reason = "the message, the report on it, and where it is written")]
    pub fn report_in_unit(
        &mut self,
        now: Now,
        kind: ReportKind,
        md: &Mqmd,
        body: &Bytes,
        expiry: i32,
        commit: &mut Commit,
        batch: &mut Batch,
    ) {
        let Some(unit) = commit.unit.filter(|_| kind.is_wanted(md)) else { return };
        let mut held = Vec::new();
        self.report(now, kind, (md, body), expiry, Some(unit), batch, &mut held);
        self.hold_for_owner(unit, held, commit);
    }

    /// Reports, in the unit of work of the owner's commit record, that a message could not be delivered, if it asks for
    /// that. The feedback is the reason, or a code of mq-objects.md 2.4. Says what is to become of the message itself.
    pub fn exception_report(
        &mut self,
        now: Now,
        md: &Mqmd,
        body: &Bytes,
        feedback: Feedback,
        commit: &mut Commit,
        batch: &mut Batch,
    ) -> Result<Undelivered, Reason> {
        let unit = commit.unit.ok_or(Reason::UOW_NOT_AVAILABLE)?;
        let mut held = Vec::new();
        let kind = ReportKind::Exception(feedback);
        if kind.is_wanted(md) {
            self.report(now, kind, (md, body), md.expiry, Some(unit), batch, &mut held);
        }
        self.hold_for_owner(unit, held, commit);
        let discard = md.report.contains(ReportOptions::DISCARD_MSG);
        Ok(if discard { Undelivered::Discard } else { Undelivered::DeadLetter })
    }

    /// Reports that ended nowhere: neither their queue nor the dead-letter queue took them.
    pub fn reports_dropped(&self) -> u64 {
        self.reports_dropped
    }

    /// Reports that a message was delivered, in the unit of work of the connection that got it; or at once, with what
    /// the commit record says of its end. `expiry` is what is left of the message's, in tenths of a second. Says whether
    /// something was written that is to survive a restart.
    #[expect(
        clippy::too_many_arguments,
        reason = "the message, how it was got, and where things are written"
    )]
    pub(crate) fn report_cod(
        &mut self,
        now: Now,
        conn: ConnId,
        in_unit: bool,
        record: Option<(&Bytes, &Bytes)>,
        expiry: i32,
        end: Commit,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> bool {
        if !in_unit {
            return self.end_with_report(now, ReportKind::Delivery, record, expiry, end, batch, out);
        }
        let Some((md, body)) = asking(ReportKind::Delivery, record) else { return false };
        let Some(connection) = self.connections.get(&conn) else { return false };
        let unit = connection.unit.id.unwrap_or_else(|| batch.new_unit());
        let mut held = Vec::new();
        self.report(now, ReportKind::Delivery, (&md, body), expiry, Some(unit), batch, &mut held);
        if let Some(connection) = self.connections.get_mut(&conn).filter(|_| !held.is_empty()) {
            connection.unit.id = Some(unit);
            connection.unit.puts.extend(held.into_iter().map(|held| self.held.add(held)));
        }
        false
    }

    /// Reports that a message expired, with what the commit record says of its end.
    pub(crate) fn report_expiration(
        &mut self,
        now: Now,
        record: Option<(&Bytes, &Bytes)>,
        end: Commit,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) {
        self.end_with_report(now, ReportKind::Expiration, record, EXPIRED, end, batch, out);
    }

    /// Writes the end of a message and the report on it, both or neither.
    #[expect(clippy::too_many_arguments, reason = "the message, the report on it, and where it is written")]
    fn end_with_report(
        &mut self,
        now: Now,
        kind: ReportKind,
        record: Option<(&Bytes, &Bytes)>,
        expiry: i32,
        mut end: Commit,
        batch: &mut Batch,
        out: &mut Vec<Effect>,
    ) -> bool {
        let mut held = Vec::new();
        if let Some((md, body)) = asking(kind, record) {
            let unit = batch.new_unit();
            self.report(now, kind, (&md, body), expiry, Some(unit), batch, &mut held);
            end.unit = (!held.is_empty()).then_some(unit);
        }
        for held in &held {
            self.specials.write(&held.entry, &mut end);
        }
        batch.commit(end);
        let persistent = held.iter().any(|held| held.entry.persistent());
        let position = persistent.then(|| batch.position());
        self.make_visible(now, held, position, batch, out);
        persistent
    }

    /// Makes a report and writes it, in the unit if there is one. What was written is added to `held`.
    #[expect(clippy::too_many_arguments, reason = "the message, the report on it, and where it is written")]
    pub(crate) fn report(
        &mut self,
        now: Now,
        kind: ReportKind,
        (md, data): (&Mqmd, &Bytes),
        expiry: i32,
        unit: Option<UnitId>,
        batch: &mut Batch,
        held: &mut Vec<Held>,
    ) {
        let report_data = kind.data(md, data);
        let msg_id = self.new_msg_id(batch.start());
        let report = describe(now, self.settings.name, kind, md, data.len(), expiry, msg_id);
        let to = (md.reply_to_q, md.reply_to_q_mgr);
        let Err(reason) = self.put_report(
            now,
            to,
            Rights::Device,
            (report.clone(), report_data.clone()),
            unit,
            batch,
            held,
        ) else {
            return;
        };
        let dead = !report.report.contains(ReportOptions::DISCARD_MSG)
            && self.dead_letter(now, to, reason, (report, report_data), unit, batch, held).is_ok();
        if !dead {
            self.reports_dropped += 1;
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a message, where it goes, and where it is written")]
    fn put_report(
        &mut self,
        now: Now,
        (queue, q_mgr): (QName, QMgrName),
        rights: Rights,
        (md, body): (Mqmd, Bytes),
        unit: Option<UnitId>,
        batch: &mut Batch,
        held: &mut Vec<Held>,
    ) -> Result<(), Reason> {
        let od = Mqod { object_name: queue.into(), object_q_mgr_name: q_mgr, ..Mqod::default() };
        let route = self.route(&od, OpenOptions::OUTPUT, rights)?;
        self.check_not_model(&route)?;
        let sender = Sender {
            user: md.user_identifier,
            appl_name: md.put_appl_name,
            appl_type: md.put_appl_type,
            context: Chosen::SetAll,
        };
        let message = Message {
            md,
            body,
            file: None,
            options: PutOptions::empty(),
            kept: None,
            headers: HEADERS_MAX,
            any_descriptor: true,
            check_headers: false,
            properties: Properties::default(),
        };
        let prepared = self.prepare(now, &sender, &route, message, batch.start())?;
        held.extend(self.write(now, &route, prepared, unit, batch)?);
        Ok(())
    }

    /// Puts what cannot go where it should onto the dead-letter queue, behind an MQDLH (mq-objects.md 1.8).
    #[expect(
        clippy::too_many_arguments,
        reason = "a message, where it should have gone, and where it is written"
    )]
    fn dead_letter(
        &mut self,
        now: Now,
        (queue, q_mgr): (QName, QMgrName),
        reason: Reason,
        (md, body): (Mqmd, Bytes),
        unit: Option<UnitId>,
        batch: &mut Batch,
        held: &mut Vec<Held>,
    ) -> Result<(), Reason> {
        let dead_letter_queue = self.dead_letter_queue().ok_or(Reason::UNKNOWN_OBJECT_NAME)?;
        let (put_date, put_time) = put_date_time(now.wall_ms);
        let extended = is_extended(&md);
        let header = Mqdlh {
            reason,
            dest_q_name: queue,
            dest_q_mgr_name: q_mgr,
            encoding: if extended { Encoding::NATIVE } else { md.encoding },
            ccsid: if extended { self.ccsid() } else { md.ccsid },
            format: if extended { FormatName::MD_EXTENSION } else { md.format },
            put_appl_type: ApplType::QMGR,
            put_appl_name: Chars::cut(&self.settings.name.0.text()),
            put_date,
            put_time,
            ..Mqdlh::default()
        };
        let mut out = BytesMut::with_capacity(Mqdlh::length(1) + body.len());
        let mut writer = Writer::new(&mut out, Coding::NATIVE);
        header.encode(&mut writer);
        if extended {
            Mqmde::of(&md).encode(&mut writer);
        }
        writer.raw(&body);
        let md = Mqmd {
            format: FormatName::DEAD_LETTER_HEADER,
            encoding: Encoding::NATIVE,
            ccsid: self.ccsid(),
            ..without_extension(md)
        };
        let to = (dead_letter_queue, QMgrName::BLANK);
        self.put_report(now, to, Rights::Admin, (md, out.freeze()), unit, batch, held)
    }
}

/// The descriptor and the data of a message that asks for the report.
fn asking<'a>(kind: ReportKind, record: Option<(&Bytes, &'a Bytes)>) -> Option<(Mqmd, &'a Bytes)> {
    let (envelope, body) = record?;
    let md = Mqmd::decode(&mut Reader::new(envelope, Coding::NATIVE)).ok()?;
    kind.is_wanted(&md).then_some((md, body))
}

/// The descriptor of a report, field by field. `length` is that of the message's data, `expiry` what is left of its time.
/// Only where segments are put together does a length count (IBM MQ reference, OriginalLength).
fn describe(
    now: Now,
    this: QMgrName,
    kind: ReportKind,
    md: &Mqmd,
    length: usize,
    expiry: i32,
    new_msg_id: MsgId,
) -> Mqmd {
    let passed = md.report.contains(ReportOptions::PASS_DISCARD_AND_EXPIRY);
    let discard = passed && md.report.contains(ReportOptions::DISCARD_MSG);
    let segment = md.msg_flags.contains(MessageFlags::SEGMENT);
    let pass_msg_id = md.report.contains(ReportOptions::PASS_MSG_ID);
    let pass_correl_id = md.report.contains(ReportOptions::PASS_CORREL_ID);
    let (put_date, put_time) = put_date_time(now.wall_ms);
    Mqmd {
        version: 2,
        report: if discard { ReportOptions::DISCARD_MSG } else { ReportOptions::empty() },
        msg_type: MsgType::REPORT,
        expiry: if passed { expiry } else { -1 },
        feedback: kind.feedback(),
        encoding: md.encoding,
        ccsid: md.ccsid,
        format: md.format,
        priority: md.priority,
        persistence: md.persistence,
        msg_id: if pass_msg_id { md.msg_id } else { new_msg_id },
        correl_id: if pass_correl_id { md.correl_id } else { CorrelId::from(md.msg_id) },
        backout_count: 0,
        reply_to_q: QName::BLANK,
        reply_to_q_mgr: this,
        user_identifier: md.user_identifier,
        accounting_token: md.accounting_token,
        appl_identity_data: md.appl_identity_data,
        put_appl_type: ApplType::QMGR,
        put_appl_name: Chars::cut(&this.0.text()),
        put_date,
        put_time,
        appl_origin_data: Chars::BLANK,
        group_id: md.group_id,
        msg_seq_number: md.msg_seq_number,
        offset: md.offset,
        msg_flags: md.msg_flags,
        original_length: if segment { i32::try_from(length).unwrap_or(i32::MAX) } else { -1 },
    }
}
