//! MQMDE, the extension of a version-1 descriptor (mq-objects.md 1.3).

use crate::{Ccsid, Chars, Encoding, FormatName, GroupId, MessageFlags, Mqmd};

wire_struct! {
    /// The descriptor extension: what MQMD version 2 has more, in front of the data.
    pub struct Mqmde, "MQMDE", id b"MDE ", initial version 2 {
        version 2, length 72 {
            /// Always 72.
            struc_length: u32 = 72,
            /// Encoding of the data that follows.
            encoding: Encoding = Encoding::NATIVE,
            /// Character set of the data that follows.
            ccsid: Ccsid = Ccsid(0),
            /// Format of the data that follows.
            format: FormatName = Chars::BLANK,
            /// Zero.
            flags: u32 = 0,
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

impl Mqmde {
    /// What a descriptor of version 2 says, for those who have one of version 1 only.
    pub fn of(md: &Mqmd) -> Self {
        Self {
            encoding: md.encoding,
            ccsid: md.ccsid,
            format: md.format,
            group_id: md.group_id,
            msg_seq_number: md.msg_seq_number,
            offset: md.offset,
            msg_flags: md.msg_flags,
            original_length: md.original_length,
            ..Self::default()
        }
    }
}
