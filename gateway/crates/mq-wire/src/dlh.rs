//! MQDLH, the dead-letter header (mq-wire.md 5.8, mq-objects.md 1.8).

use crate::constants::{ApplType, Reason};
use crate::{ApplName, Ccsid, Chars, Encoding, FormatName, QMgrName, QName};

wire_struct! {
    /// The dead-letter header: why a message is here and where it should have gone.
    pub struct Mqdlh, "MQDLH", id b"DLH ", initial version 1 {
        version 1, length 172 {
            /// Why: a reason or a feedback code.
            reason: Reason = Reason::NONE,
            /// The queue it was meant for.
            dest_q_name: QName = QName::BLANK,
            /// The queue manager it was meant for.
            dest_q_mgr_name: QMgrName = QMgrName::BLANK,
            /// Encoding of the data that follows.
            encoding: Encoding = Encoding(0),
            /// Character set of the data that follows.
            ccsid: Ccsid = Ccsid(0),
            /// Format of the data that follows.
            format: FormatName = Chars::BLANK,
            /// Kind of the application that put it here.
            put_appl_type: ApplType = ApplType::NO_CONTEXT,
            /// Name of the application that put it here.
            put_appl_name: ApplName = Chars::BLANK,
            /// Date of the put, `YYYYMMDD`, GMT.
            put_date: Chars<8> = Chars::BLANK,
            /// Time of the put, `HHMMSSTH`, GMT.
            put_time: Chars<8> = Chars::BLANK,
        }
    }
}
