//! MQPMO, the put-message options (mq-wire.md 5.4).

use crate::options::PutOptions;
use crate::{QMgrName, QName};

wire_struct! {
    /// The put-message options.
    pub struct Mqpmo, "MQPMO", id b"PMO ", initial version 1 {
        version 1, length 128 {
            /// What to do.
            options: PutOptions = PutOptions::empty(),
            /// Reserved.
            timeout: i32 = -1,
            /// Handle of the queue whose context is passed on.
            context: i32 = 0,
            /// Messages sent to local queues.
            known_dest_count: i32 = 0,
            /// Messages sent to remote queues.
            unknown_dest_count: i32 = 0,
            /// Messages that could not be sent.
            invalid_dest_count: i32 = 0,
            /// The queue that was resolved.
            resolved_q_name: QName = QName::BLANK,
            /// The queue manager that was resolved.
            resolved_q_mgr_name: QMgrName = QMgrName::BLANK,
        }
        version 2, length 152 {
            /// Put message records of a distribution list.
            recs_present: i32 = 0,
            /// Which fields the records have.
            put_msg_rec_fields: i32 = 0,
            /// Offset of the put message records.
            put_msg_rec_offset: u32 = 0,
            /// Offset of the response records.
            response_rec_offset: u32 = 0,
            /// Pointer, of no meaning to the peer.
            put_msg_rec_ptr: u32 = 0,
            /// Pointer, of no meaning to the peer.
            response_rec_ptr: u32 = 0,
        }
        version 3, length 176 {
            /// Message handle of the original message.
            original_msg_handle: u64 = 0,
            /// Message handle of the new message.
            new_msg_handle: u64 = 0,
            /// What kind of put it is.
            action: i32 = 0,
            /// Level of a publication.
            pub_level: i32 = 9,
        }
    }
}
