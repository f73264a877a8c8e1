//! What few messages have beside their entry in the index: reports that are wanted of them, a place in a group or
//! in a segmented message, properties in front of their data. Kept apart, so that all others cost nothing.
//!
//! For a message that survives a restart it is keyed state, written in the unit that makes the message real and
//! removed with its death. The record, 11 bytes, or 63 with a group: version (u8, 1), report options (u32), properties
//! (u32 length, u8 1 if one of them has a name that MQRFH2 readers of old know), group (u8: 0 none, 1 follows): GroupId
//! (24 bytes), MsgSeqNumber, Offset, MsgFlags, OriginalLength, CodedCharSetId, Encoding, Feedback if it is a report,
//! else 0 (i32 each). Little-endian. What is shorter is damaged, and so is another value where 0 or 1 belongs; what
//! stands behind it was appended later and is passed over.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use mq_wire::{Ccsid, Encoding, Feedback, GroupId, MessageFlags, Mqmd, MsgType, ReportOptions};
use store::{Commit, Id};

use crate::error::RecordError;
use crate::index::{Entry, Flags};
use crate::object::key;
use crate::report::ReportKind;
use crate::verb::Properties;

/// See the module's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Special {
    /// Of the descriptor, but for reports that there will not be.
    pub(crate) report: ReportOptions,
    /// What the data begins with.
    pub(crate) properties: Properties,
    /// Where it belongs.
    pub(crate) group: Option<Grouped>,
}

/// What the second version of the descriptor says of a message in a group, and of a segment (mq-objects.md 1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grouped {
    pub(crate) group_id: GroupId,
    pub(crate) seq_number: i32,
    pub(crate) offset: i32,
    pub(crate) flags: MessageFlags,
    pub(crate) original_length: i32,
    /// Segments that differ in these are not put together (2243, 2244).
    pub(crate) ccsid: Ccsid,
    pub(crate) encoding: Encoding,
    /// Of a report. Reports on the segments of a message are put together like them, but only those of one kind (IBM MQ
    /// documentation, "Reports and segmented messages").
    pub(crate) feedback: Option<Feedback>,
}

impl Special {
    /// What is special about a message, if anything is.
    pub(crate) fn of(md: &Mqmd, properties: Properties) -> Option<Self> {
        let mut report = md.report;
        if !ReportKind::Delivery.is_wanted(md) {
            report.remove(ReportOptions::COD_WITH_FULL_DATA);
        }
        if !ReportKind::Expiration.is_wanted(md) {
            report.remove(ReportOptions::EXPIRATION_WITH_FULL_DATA);
        }
        let wanted = ReportOptions::COD_WITH_FULL_DATA | ReportOptions::EXPIRATION_WITH_FULL_DATA;
        let special = Self { report, properties, group: Grouped::of(md) };
        let plain =
            !report.intersects(wanted) && properties == Properties::default() && special.group.is_none();
        (!plain).then_some(special)
    }

    /// What the entry says of it.
    pub(crate) fn flags(&self) -> Flags {
        Flags::SPECIAL
            .with(Flags::COD, self.report.contains(ReportOptions::COD))
            .with(Flags::EXPIRATION, self.report.contains(ReportOptions::EXPIRATION))
            .with(Flags::PROPERTIES, self.properties != Properties::default())
            .with(Flags::GROUPED, self.group.is_some())
    }

    /// Its record.
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(64);
        out.put_u8(VERSION);
        out.put_u32_le(self.report.bits());
        out.put_u32_le(self.properties.length);
        out.put_u8(u8::from(self.properties.compatible));
        out.put_u8(u8::from(self.group.is_some()));
        if let Some(group) = &self.group {
            out.put_slice(&group.group_id.0);
            out.put_i32_le(group.seq_number);
            out.put_i32_le(group.offset);
            out.put_u32_le(group.flags.bits());
            out.put_i32_le(group.original_length);
            out.put_i32_le(group.ccsid.0);
            out.put_i32_le(group.encoding.0);
            out.put_i32_le(group.feedback.map_or(0, |feedback| feedback.0));
        }
        out.freeze()
    }

    /// What a record says.
    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Self, RecordError> {
        let shown = || String::from_utf8_lossy(key).into_owned();
        if let Some(version) = value.first().copied().filter(|version| *version != VERSION) {
            return Err(RecordError::Version { key: shown(), version });
        }
        let damaged =
            || RecordError::Damaged { key: shown(), what: "it is too short, or holds what it cannot" };
        Self::fields(value).ok_or_else(damaged)
    }

    fn fields(value: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_le_bytes(value.get(at..at + 4)?.try_into().ok()?));
        let is = |at: usize| match value.get(at)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        };
        let properties = Properties { length: number(5)?, compatible: is(9)? };
        let group = match is(10)? {
            false => None,
            true => Some(Grouped {
                group_id: GroupId(value.get(11..35)?.try_into().ok()?),
                seq_number: number(35)?.cast_signed(),
                offset: number(39)?.cast_signed(),
                flags: MessageFlags::from_bits_retain(number(43)?),
                original_length: number(47)?.cast_signed(),
                ccsid: Ccsid(number(51)?.cast_signed()),
                encoding: Encoding(number(55)?.cast_signed()),
                feedback: Some(Feedback(number(59)?.cast_signed())).filter(|feedback| feedback.0 != 0),
            }),
        };
        Some(Self { report: ReportOptions::from_bits_retain(number(1)?), properties, group })
    }
}

impl Grouped {
    /// Of a descriptor; none if it is neither in a group nor a segment.
    pub(crate) fn of(md: &Mqmd) -> Option<Self> {
        let grouped = MessageFlags::SEGMENT
            | MessageFlags::LAST_SEGMENT
            | MessageFlags::MSG_IN_GROUP
            | MessageFlags::LAST_MSG_IN_GROUP;
        let is = md.version >= 2 && (md.msg_flags.intersects(grouped) || !md.group_id.is_none());
        is.then_some(Self {
            group_id: md.group_id,
            seq_number: md.msg_seq_number,
            offset: md.offset,
            flags: md.msg_flags,
            original_length: md.original_length,
            ccsid: md.ccsid,
            encoding: md.encoding,
            feedback: (md.msg_type == MsgType::REPORT && md.feedback.0 != 0).then_some(md.feedback),
        })
    }

    /// Bytes of the message that it stands for: a report has as many as its original had, whatever data it carries
    /// (IBM MQ reference, OriginalLength).
    pub(crate) fn length(&self, body_length: u32) -> u32 {
        let original = u32::try_from(self.original_length).ok();
        original.filter(|_| self.feedback.is_some()).unwrap_or(body_length)
    }
}

const VERSION: u8 = 1;

/// What is special about which message, wherever the message is: on its queue, held, expired or being cleared.
#[derive(Debug, Default)]
pub(crate) struct Specials(BTreeMap<Id, Special>);

impl Specials {
    pub(crate) fn add(&mut self, id: Id, special: Special) {
        self.0.insert(id, special);
    }

    pub(crate) fn get(&self, id: Id) -> Option<&Special> {
        self.0.get(&id)
    }

    /// What is special about a message that has this entry.
    pub(crate) fn of(&self, entry: &Entry) -> Option<&Special> {
        if entry.flags.contains(Flags::SPECIAL) { self.get(entry.id) } else { None }
    }

    /// The message is gone for good.
    pub(crate) fn forget(&mut self, entry: &Entry) {
        if entry.flags.contains(Flags::SPECIAL) {
            self.0.remove(&entry.id);
        }
    }

    /// Adds what is known of a message to the commit record that makes it real.
    pub(crate) fn write(&self, entry: &Entry, commit: &mut Commit) {
        if !entry.flags.contains(Flags::SPECIAL) || !entry.survives() {
            return;
        }
        if let Some(special) = self.get(entry.id) {
            commit.set(key::special(entry.id), special.encode());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_back_and_every_truncation_is_refused() {
        let group = Grouped {
            group_id: GroupId([7; 24]),
            seq_number: 3,
            offset: 1 << 20,
            flags: MessageFlags::MSG_IN_GROUP | MessageFlags::SEGMENT,
            original_length: -1,
            ccsid: Ccsid(850),
            encoding: Encoding::NATIVE,
            feedback: None,
        };
        let report = Grouped { feedback: Some(Feedback::COA), ..group };
        for (group, length) in [(None, 11), (Some(group), 63), (Some(report), 63)] {
            let properties = Properties { length: 40, compatible: true };
            let special = Special { report: ReportOptions::COD_WITH_DATA, properties, group };
            let record = special.encode();
            assert_eq!((Special::decode(b"qs", &record).unwrap(), record.len()), (special, length));
            assert_eq!(Special::decode(b"qs", &[&record[..], b"later"].concat()).unwrap(), special);
            for length in 0..record.len() {
                let decoded = Special::decode(b"qs", &record[..length]);
                assert!(matches!(decoded, Err(RecordError::Damaged { .. })), "{length}");
            }
            for at in [9, 10] {
                let mut other = record.to_vec();
                other[at] = 2;
                assert!(Special::decode(b"qs", &other).is_err(), "{at}");
            }
        }
        assert!(matches!(Special::decode(b"qs", &[2]), Err(RecordError::Version { .. })));
    }

    #[test]
    fn most_messages_are_not_special() {
        let plain = Mqmd { version: 2, report: ReportOptions::COA, ..Mqmd::default() };
        assert_eq!(Special::of(&plain, Properties::default()), None);
        let grouped = Mqmd { msg_flags: MessageFlags::LAST_MSG_IN_GROUP, ..plain.clone() };
        let flags = Special::of(&grouped, Properties::default()).unwrap().flags();
        assert!(flags.contains(Flags::GROUPED) && !flags.contains(Flags::COD));
        let reported = Mqmd { report: ReportOptions::COD_WITH_DATA, ..plain };
        assert!(Special::of(&reported, Properties::default()).unwrap().flags().contains(Flags::COD));
    }
}
