//! MQMD, the message descriptor (mq-wire.md 5.3, mq-objects.md 1.2).

use crate::constants::{ApplType, Feedback, MsgType, Persistence};
use crate::options::{MessageFlags, ReportOptions};
use crate::{AccountingToken, ApplName, Ccsid, Chars, CorrelId, Encoding, FormatName, GroupId, MsgId};
use crate::{QMgrName, QName, UserId};

wire_struct! {
    /// The message descriptor.
    pub struct Mqmd, "MQMD", id b"MD  ", initial version 1 {
        version 1, length 324 {
            /// Reports wanted, and how their ids are made.
            report: ReportOptions = ReportOptions::empty(),
            /// Request, reply, report or datagram.
            msg_type: MsgType = MsgType::DATAGRAM,
            /// Tenths of a second that are left; -1 is unlimited.
            expiry: i32 = -1,
            /// Feedback or reason code of a report.
            feedback: Feedback = Feedback::NONE,
            /// How numbers in the data are laid out.
            encoding: Encoding = Encoding::NATIVE,
            /// Character set of the data; 0 is that of the queue manager.
            ccsid: Ccsid = Ccsid::Q_MGR,
            /// What the data is.
            format: FormatName = Chars::BLANK,
            /// 0 to 9; -1 takes the queue's default.
            priority: i32 = -1,
            /// Whether it survives a restart.
            persistence: Persistence = Persistence::AS_Q_DEF,
            /// Message identifier; none lets the queue manager make one.
            msg_id: MsgId = MsgId::NONE,
            /// Correlation identifier.
            correl_id: CorrelId = CorrelId::NONE,
            /// How often a unit of work that got the message was backed out.
            backout_count: i32 = 0,
            /// Where replies and reports go.
            reply_to_q: QName = QName::BLANK,
            /// The queue manager of `reply_to_q`.
            reply_to_q_mgr: QMgrName = QMgrName::BLANK,
            /// Who put it.
            user_identifier: UserId = Chars::BLANK,
            /// Accounting token of the one who put it.
            accounting_token: AccountingToken = AccountingToken::NONE,
            /// Identity data of the application.
            appl_identity_data: Chars<32> = Chars::BLANK,
            /// Kind of the putting application.
            put_appl_type: ApplType = ApplType::NO_CONTEXT,
            /// Name of the putting application.
            put_appl_name: ApplName = Chars::BLANK,
            /// Date of the put, `YYYYMMDD`, GMT.
            put_date: Chars<8> = Chars::BLANK,
            /// Time of the put, `HHMMSSTH`, GMT.
            put_time: Chars<8> = Chars::BLANK,
            /// Origin data of the application.
            appl_origin_data: Chars<4> = Chars::BLANK,
        }
        version 2, length 364 {
            /// Group identifier.
            group_id: GroupId = GroupId::NONE,
            /// Sequence number within the group.
            msg_seq_number: i32 = 1,
            /// Offset of a segment in its message.
            offset: i32 = 0,
            /// Message flags.
            msg_flags: MessageFlags = MessageFlags::empty(),
            /// Length of the original message of a segment; -1 undefined.
            original_length: i32 = -1,
        }
    }
}

/// So that a descriptor of version 1 can be a field of MQXQH.
impl crate::Field for Mqmd {
    const LENGTH: usize = 324;

    fn check(bytes: &[u8], coding: crate::Coding) -> Result<(), crate::DecodeError> {
        let mut reader = crate::Reader::new(bytes, coding);
        reader.struc_id(Self::TITLE, Self::ID)?;
        let at_version = reader.clone();
        match reader.field(Self::TITLE, "Version")? {
            1 => Ok(()),
            found => Err(at_version.error(Self::TITLE, "Version", crate::DecodeErrorKind::Version { found })),
        }
    }

    fn read(bytes: &[u8], coding: crate::Coding) -> Self {
        // check() has seen identifier and version, and nothing else of a descriptor can be wrong.
        Self::decode(&mut crate::Reader::new(bytes, coding)).unwrap_or_default()
    }

    fn write(&self, out: &mut bytes::BytesMut, coding: crate::Coding) {
        let version_1 = Self { version: 1, ..self.clone() };
        version_1.encode(&mut crate::Writer::new(out, coding));
    }

    fn write_as_read(&self, out: &mut bytes::BytesMut, coding: crate::Coding) {
        let version_1 = Self { version: 1, ..self.clone() };
        version_1.encode(&mut crate::Writer::as_read(out, coding));
    }
}
