//! The tables of offsets: one structure each, with the section of mq-wire.md it is copied from.

use crate::layout::Kind::{Bytes, Chars, U8, U16, U32};
use crate::layout::Layout;

/// mq-wire.md 3.1. As long as the level says (mq-wire-observed-base.md 2.2), so it is read and written cut.
pub(crate) const ID: Layout = Layout {
    id: "ID",
    lengths: &[(0, 240)],
    fields: &[
        ("FapLevel", 4, U8),
        ("CapFlags1", 5, U8),
        ("ECapFlags1", 6, U8),
        ("ErrFlags1", 7, U8),
        ("MaxMsgsPerBatch", 10, U16),
        ("MaxTransmissionSize", 12, U32),
        ("MaxMsgSize", 16, U32),
        ("SeqWrapValue", 20, U32),
        ("ChannelName", 24, Chars(20)),
        ("CapFlags2", 44, U8),
        ("ECapFlags2", 45, U8),
        ("CCSID", 46, U16),
        ("QMgrName", 48, Chars(48)),
        ("HeartbeatInterval", 96, U32),
        ("EFLLength", 100, U16),
        ("ErrFlags2", 102, U8),
        ("HdrCompList", 104, Bytes(2)),
        ("MsgCompList", 106, Bytes(16)),
        ("SSLKeyReset", 124, U32),
        ("ConvPerSocket", 128, U32),
        ("CapFlags3", 132, U8),
        ("ECapFlags3", 133, U8),
        ("ProcessId", 136, U32),
        ("ThreadId", 140, U32),
        ("TraceId", 144, U32),
        ("ProductId", 148, Chars(12)),
        ("QMId", 160, Chars(48)),
        ("PAL", 208, Bytes(20)),
        ("R", 228, Bytes(12)),
    ],
};

/// mq-wire.md 3.5: 28 bytes below FAP 5, else 132.
pub(crate) const UID: Layout = Layout {
    id: "UID",
    lengths: &[(0, 132)],
    fields: &[
        ("UserId", 4, Chars(12)),
        ("Password", 16, Chars(12)),
        ("LongUserId", 28, Chars(64)),
        ("SidLength", 92, U8),
        ("SidType", 93, U8),
        ("Sid", 94, Bytes(38)),
    ],
};

/// mq-wire.md 3.5, the fixed part. The strings follow.
pub(crate) const CAUT: Layout = Layout {
    id: "CAUT",
    lengths: &[(0, 24)],
    fields: &[
        ("AuthType", 4, U32),
        ("UserIdMaxLength", 8, U32),
        ("PasswordMaxLength", 12, U32),
        ("UserIdLength", 16, U32),
        ("PasswordLength", 20, U32),
    ],
};

/// mq-wire.md 4.2, the part after the 120 bytes of the oldest body.
pub(crate) const FCNO: Layout = Layout {
    id: "FCNO",
    lengths: &[(1, 140), (2, 212), (3, 340), (4, 352)],
    fields: &[("Flags", 8, U32), ("ConnTag", 12, Bytes(128))],
};

/// mq-wire.md 5.2.
pub(crate) const OD: Layout = Layout {
    id: "OD",
    lengths: &[(1, 168), (2, 200), (3, 336), (4, 400)],
    fields: &[
        ("ObjectType", 8, U32),
        ("ObjectName", 12, Chars(48)),
        ("ObjectQMgrName", 60, Chars(48)),
        ("DynamicQName", 108, Chars(48)),
        ("AlternateUserId", 156, Chars(12)),
        ("RecsPresent", 168, U32),
        ("KnownDestCount", 172, U32),
        ("UnknownDestCount", 176, U32),
        ("InvalidDestCount", 180, U32),
        ("ObjectRecOffset", 184, U32),
        ("ResponseRecOffset", 188, U32),
        ("ObjectRecPtr", 192, U32),
        ("ResponseRecPtr", 196, U32),
        ("AlternateSecurityId", 200, Bytes(40)),
        ("ResolvedQName", 240, Chars(48)),
        ("ResolvedQMgrName", 288, Chars(48)),
        ("ObjectString", 336, Bytes(20)),
        ("SelectionString", 356, Bytes(20)),
        ("ResObjectString", 376, Bytes(20)),
        ("ResolvedType", 396, U32),
    ],
};

/// mq-wire.md 5.3.
pub(crate) const MD: Layout = Layout {
    id: "MD",
    lengths: &[(1, 324), (2, 364)],
    fields: &[
        ("Report", 8, U32),
        ("MsgType", 12, U32),
        ("Expiry", 16, U32),
        ("Feedback", 20, U32),
        ("Encoding", 24, U32),
        ("CodedCharSetId", 28, U32),
        ("Format", 32, Chars(8)),
        ("Priority", 40, U32),
        ("Persistence", 44, U32),
        ("MsgId", 48, Bytes(24)),
        ("CorrelId", 72, Bytes(24)),
        ("BackoutCount", 96, U32),
        ("ReplyToQ", 100, Chars(48)),
        ("ReplyToQMgr", 148, Chars(48)),
        ("UserIdentifier", 196, Chars(12)),
        ("AccountingToken", 208, Bytes(32)),
        ("ApplIdentityData", 240, Chars(32)),
        ("PutApplType", 272, U32),
        ("PutApplName", 276, Chars(28)),
        ("PutDate", 304, Chars(8)),
        ("PutTime", 312, Chars(8)),
        ("ApplOriginData", 320, Chars(4)),
        ("GroupId", 324, Bytes(24)),
        ("MsgSeqNumber", 348, U32),
        ("Offset", 352, U32),
        ("MsgFlags", 356, U32),
        ("OriginalLength", 360, U32),
    ],
};

/// mq-wire.md 5.4.
pub(crate) const PMO: Layout = Layout {
    id: "PMO",
    lengths: &[(1, 128), (2, 152), (3, 176)],
    fields: &[
        ("Options", 8, U32),
        ("Timeout", 12, U32),
        ("Context", 16, U32),
        ("KnownDestCount", 20, U32),
        ("UnknownDestCount", 24, U32),
        ("InvalidDestCount", 28, U32),
        ("ResolvedQName", 32, Chars(48)),
        ("ResolvedQMgrName", 80, Chars(48)),
        ("RecsPresent", 128, U32),
        ("PutMsgRecFields", 132, U32),
        ("PutMsgRecOffset", 136, U32),
        ("ResponseRecOffset", 140, U32),
        ("PutMsgRecPtr", 144, U32),
        ("ResponseRecPtr", 148, U32),
        ("OriginalMsgHandle", 152, Bytes(8)),
        ("NewMsgHandle", 160, Bytes(8)),
        ("Action", 168, U32),
        ("PubLevel", 172, U32),
    ],
};

/// mq-wire.md 5.5.
pub(crate) const GMO: Layout = Layout {
    id: "GMO",
    lengths: &[(1, 72), (2, 80), (3, 100), (4, 112)],
    fields: &[
        ("Options", 8, U32),
        ("WaitInterval", 12, U32),
        ("Signal1", 16, U32),
        ("Signal2", 20, U32),
        ("ResolvedQName", 24, Chars(48)),
        ("MatchOptions", 72, U32),
        ("GroupStatus", 76, Chars(1)),
        ("SegmentStatus", 77, Chars(1)),
        ("Segmentation", 78, Chars(1)),
        ("Reserved1", 79, Chars(1)),
        ("MsgToken", 80, Bytes(16)),
        ("ReturnedLength", 96, U32),
        ("Reserved2", 100, U32),
        ("MsgHandle", 104, Bytes(8)),
    ],
};

/// mq-wire.md 5.12, the form of 28 bytes.
pub(crate) const FOPA: Layout = Layout {
    id: "FOPA",
    lengths: &[(1, 28)],
    fields: &[
        ("Length", 8, U32),
        ("DefPersistence", 12, U32),
        ("DefPutResponseType", 16, U32),
        ("DefReadAhead", 20, U32),
        ("PropertyControl", 24, U32),
    ],
};

/// mq-wire.md 5.13; on the wire after the type (mq-wire-observed-base.md 4.2).
pub(crate) const STS: Layout = Layout {
    id: "STAT",
    lengths: &[(1, 224), (2, 272)],
    fields: &[
        ("CompCode", 8, U32),
        ("Reason", 12, U32),
        ("PutSuccessCount", 16, U32),
        ("PutWarningCount", 20, U32),
        ("PutFailureCount", 24, U32),
        ("ObjectType", 28, U32),
        ("ObjectName", 32, Chars(48)),
        ("ObjectQMgrName", 80, Chars(48)),
        ("ResolvedObjectName", 128, Chars(48)),
        ("ResolvedQMgrName", 176, Chars(48)),
        ("ObjectString", 224, Bytes(20)),
        ("SubName", 244, Bytes(20)),
        ("OpenOptions", 264, U32),
        ("SubOptions", 268, U32),
    ],
};
