//! MQTM, the trigger message (mq-objects.md 1.9).

use crate::constants::ApplType;
use crate::{Chars, QName};

wire_struct! {
    /// The trigger message: which queue has work, and what is to be started.
    pub struct Mqtm, "MQTM", id b"TM  ", initial version 1 {
        version 1, length 684 {
            /// The queue that triggered.
            q_name: QName = QName::BLANK,
            /// The process named by the queue.
            process_name: Chars<48> = Chars::BLANK,
            /// Trigger data of the queue.
            trigger_data: Chars<64> = Chars::BLANK,
            /// Kind of the application to start.
            appl_type: ApplType = ApplType::NO_CONTEXT,
            /// The application to start.
            appl_id: Chars<256> = Chars::BLANK,
            /// Environment data of the process.
            env_data: Chars<128> = Chars::BLANK,
            /// User data of the process.
            user_data: Chars<128> = Chars::BLANK,
        }
    }
}
