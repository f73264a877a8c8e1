//! MQSTAT, the status of asynchronous puts (mq-wire-observed-base.md 4.2, mq-wire.md 5.13).

use bytes::Bytes;

use crate::{
    Coding, CompCode, DecodeError, Mqcharv, ObjectName, ObjectType, OpenOptions, QMgrName, Reader, Reason,
    Writer,
};

wire_struct! {
    /// The status report.
    pub struct Mqsts, "MQSTS", id b"STAT", initial version 1 {
        version 1, length 224 {
            /// Completion code of the first failure.
            comp_code: CompCode = CompCode::OK,
            /// Reason of the first failure.
            reason: Reason = Reason::NONE,
            /// Puts that succeeded.
            put_success_count: i32 = 0,
            /// Puts with a warning.
            put_warning_count: i32 = 0,
            /// Puts that failed.
            put_failure_count: i32 = 0,
            /// Kind of the object of the first failure.
            object_type: ObjectType = ObjectType::Q,
            /// Its name.
            object_name: ObjectName = ObjectName::BLANK,
            /// Its queue manager.
            object_q_mgr_name: QMgrName = QMgrName::BLANK,
            /// Its name after resolution.
            resolved_object_name: ObjectName = ObjectName::BLANK,
            /// Its queue manager after resolution.
            resolved_q_mgr_name: QMgrName = QMgrName::BLANK,
        }
        version 2, length 272 {
            /// Long object name.
            object_string: Mqcharv = Mqcharv::default(),
            /// Subscription.
            sub_name: Mqcharv = Mqcharv::default(),
            /// Options of the open that failed.
            open_options: OpenOptions = OpenOptions::empty(),
            /// Options of the subscription that failed.
            sub_options: u32 = 0,
        }
    }
}

/// Request and reply of MQSTAT.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatBody {
    /// 0 is asynchronous puts.
    pub stat_type: u32,
    /// The report.
    pub sts: Mqsts,
}

impl StatBody {
    /// Reads it.
    pub fn decode(body: &Bytes, coding: Coding) -> Result<Self, DecodeError> {
        let reader = &mut Reader::new(body, coding);
        Ok(Self { stat_type: reader.field("MQSTAT", "Type")?, sts: Mqsts::decode(reader)? })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        writer.field(&self.stat_type);
        self.sts.encode(writer);
    }
}
