//! MQXQH, the transmission queue header (mq-wire.md 5.6, mq-objects.md 1.7).

use crate::{Mqmd, QMgrName, QName};

wire_struct! {
    /// The transmission queue header: where a message goes, and its own descriptor in version 1.
    pub struct Mqxqh, "MQXQH", id b"XQH ", initial version 1 {
        version 1, length 428 {
            /// The queue at its destination.
            remote_q_name: QName = QName::BLANK,
            /// The queue manager of its destination.
            remote_q_mgr_name: QMgrName = QMgrName::BLANK,
            /// The descriptor of the message, always version 1.
            msg_desc: Mqmd = Mqmd::default(),
        }
    }
}

impl Mqxqh {
    /// Length of the header with the embedded descriptor.
    pub const LENGTH: usize = 428;
    /// Offset of the embedded descriptor.
    pub const MSG_DESC_OFFSET: usize = 104;
}
