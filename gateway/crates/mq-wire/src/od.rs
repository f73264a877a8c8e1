//! MQOD, the object descriptor (mq-wire.md 5.2), and MQCHARV.

use bytes::BytesMut;

use crate::constants::ObjectType;
use crate::{Chars, Coding, Field, ObjectName, QMgrName, UserId};

/// A variable-length string as the wire describes it (mq-wire.md 5.2). The string itself is not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mqcharv {
    /// Pointer, of no meaning to the peer.
    pub pointer: u32,
    /// Offset of the string.
    pub offset: u32,
    /// Size of the buffer for an answer.
    pub buffer_size: u32,
    /// Length of the string.
    pub length: u32,
    /// Its character set.
    pub ccsid: u32,
}

impl Field for Mqcharv {
    const LENGTH: usize = 20;

    fn read(bytes: &[u8], coding: Coding) -> Self {
        let word = |index: usize| u32::read(&bytes[4 * index..], coding);
        Self { pointer: word(0), offset: word(1), buffer_size: word(2), length: word(3), ccsid: word(4) }
    }

    fn write(&self, out: &mut BytesMut, coding: Coding) {
        for word in [self.pointer, self.offset, self.buffer_size, self.length, self.ccsid] {
            word.write(out, coding);
        }
    }
}

wire_struct! {
    /// The object descriptor.
    pub struct Mqod, "MQOD", id b"OD  ", initial version 1 {
        version 1, length 168 {
            /// What kind of object is meant.
            object_type: ObjectType = ObjectType::Q,
            /// Its name.
            object_name: ObjectName = ObjectName::BLANK,
            /// Its queue manager; blank is the one connected to.
            object_q_mgr_name: QMgrName = QMgrName::BLANK,
            /// Name of a dynamic queue to be made of a model queue.
            dynamic_q_name: ObjectName = ObjectName::BLANK,
            /// Whose rights to use.
            alternate_user_id: UserId = Chars::BLANK,
        }
        version 2, length 200 {
            /// Object records of a distribution list.
            recs_present: i32 = 0,
            /// Local queues opened.
            known_dest_count: i32 = 0,
            /// Remote queues opened.
            unknown_dest_count: i32 = 0,
            /// Queues that could not be opened.
            invalid_dest_count: i32 = 0,
            /// Offset of the object records.
            object_rec_offset: u32 = 0,
            /// Offset of the response records.
            response_rec_offset: u32 = 0,
            /// Pointer, of no meaning to the peer.
            object_rec_ptr: u32 = 0,
            /// Pointer, of no meaning to the peer.
            response_rec_ptr: u32 = 0,
        }
        version 3, length 336 {
            /// Security identifier of `alternate_user_id`.
            alternate_security_id: [u8; 40] = [0; 40],
            /// The queue that was resolved.
            resolved_q_name: ObjectName = ObjectName::BLANK,
            /// The queue manager that was resolved.
            resolved_q_mgr_name: QMgrName = QMgrName::BLANK,
        }
        version 4, length 400 {
            /// Long object name (topics).
            object_string: Mqcharv = Mqcharv::default(),
            /// Selector.
            selection_string: Mqcharv = Mqcharv::default(),
            /// Long object name after resolution.
            res_object_string: Mqcharv = Mqcharv::default(),
            /// Kind of the object that was resolved.
            resolved_type: ObjectType = ObjectType(0),
        }
    }
}
