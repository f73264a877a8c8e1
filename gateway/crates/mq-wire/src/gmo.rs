//! MQGMO, the get-message options (mq-wire.md 5.5).

use crate::options::{GetOptions, MatchOptions};
use crate::{MsgToken, QName};

wire_struct! {
    /// The get-message options.
    pub struct Mqgmo, "MQGMO", id b"GMO ", initial version 1 {
        version 1, length 72 {
            /// What to do.
            options: GetOptions = GetOptions::empty(),
            /// Milliseconds to wait; -1 is unlimited.
            wait_interval: i32 = 0,
            /// Reserved.
            signal_1: u32 = 0,
            /// Reserved.
            signal_2: u32 = 0,
            /// The queue that was resolved.
            resolved_q_name: QName = QName::BLANK,
        }
        version 2, length 80 {
            /// Which ids have to match.
            match_options: MatchOptions = MatchOptions::MSG_ID.union(MatchOptions::CORREL_ID),
            /// Blank, `G` in a group, `L` the last of one.
            group_status: u8 = b' ',
            /// Blank, `S` a segment, `L` the last one.
            segment_status: u8 = b' ',
            /// Blank inhibited, `A` allowed.
            segmentation: u8 = b' ',
            /// Reserved.
            reserved_1: u8 = b' ',
        }
        version 3, length 100 {
            /// Token of the message.
            msg_token: MsgToken = MsgToken::NONE,
            /// Bytes returned; -1 undefined.
            returned_length: i32 = -1,
        }
        version 4, length 112 {
            /// Reserved.
            reserved_2: i32 = 0,
            /// Handle for the properties.
            msg_handle: u64 = 0,
        }
    }
}
