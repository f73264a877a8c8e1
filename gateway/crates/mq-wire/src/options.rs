//! Bit sets of the calls and the descriptor (mq-wire.md 10.2). Unknown bits survive, so that what is refused can be named.

flags! {
    /// MQOO_*, options of MQOPEN.
    OpenOptions(u32) {
        /// Get with the queue's default share option.
        INPUT_AS_Q_DEF = 0x1;
        /// Get, others may too.
        INPUT_SHARED = 0x2;
        /// Get, nobody else may.
        INPUT_EXCLUSIVE = 0x4;
        /// Browse.
        BROWSE = 0x8;
        /// Put.
        OUTPUT = 0x10;
        /// Inquire attributes.
        INQUIRE = 0x20;
        /// Set attributes.
        SET = 0x40;
        /// Keep the context of messages got.
        SAVE_ALL_CONTEXT = 0x80;
        /// Allow to pass identity context.
        PASS_IDENTITY_CONTEXT = 0x100;
        /// Allow to pass all context.
        PASS_ALL_CONTEXT = 0x200;
        /// Allow to set identity context.
        SET_IDENTITY_CONTEXT = 0x400;
        /// Allow to set all context.
        SET_ALL_CONTEXT = 0x800;
        /// Use the rights of another user.
        ALTERNATE_USER_AUTHORITY = 0x1000;
        /// Fail when the queue manager quiesces.
        FAIL_IF_QUIESCING = 0x2000;
        /// Bind when opened.
        BIND_ON_OPEN = 0x4000;
        /// Bind at each put.
        BIND_NOT_FIXED = 0x8000;
        /// Only resolve the names.
        RESOLVE_NAMES = 0x1_0000;
        /// Co-operate in browsing.
        CO_OP = 0x2_0000;
        /// Return the local queue that was resolved.
        RESOLVE_LOCAL_Q = 0x4_0000;
        /// No read-ahead.
        NO_READ_AHEAD = 0x8_0000;
        /// Read-ahead.
        READ_AHEAD = 0x10_0000;
        /// No multicast.
        NO_MULTICAST = 0x20_0000;
        /// Bind a group to one place.
        BIND_ON_GROUP = 0x40_0000;
    }
    /// MQCO_*, options of MQCLOSE.
    CloseOptions(u32) {
        /// Delete the queue when it is empty.
        DELETE = 0x1;
        /// Delete the queue with what is in it.
        DELETE_PURGE = 0x2;
        /// Keep the subscription.
        KEEP_SUB = 0x4;
        /// Remove the subscription.
        REMOVE_SUB = 0x8;
        /// Deliver what was read ahead first.
        QUIESCE = 0x20;
    }
    /// MQPMO_*, options of MQPUT.
    PutOptions(u32) {
        /// Within the unit of work.
        SYNCPOINT = 0x2;
        /// Outside of the unit of work.
        NO_SYNCPOINT = 0x4;
        /// Context as usual.
        DEFAULT_CONTEXT = 0x20;
        /// Make a new MsgId.
        NEW_MSG_ID = 0x40;
        /// Make a new CorrelId.
        NEW_CORREL_ID = 0x80;
        /// Pass the identity context of another handle.
        PASS_IDENTITY_CONTEXT = 0x100;
        /// Pass all context of another handle.
        PASS_ALL_CONTEXT = 0x200;
        /// The caller sets identity context.
        SET_IDENTITY_CONTEXT = 0x400;
        /// The caller sets all context.
        SET_ALL_CONTEXT = 0x800;
        /// Use the rights of another user.
        ALTERNATE_USER_AUTHORITY = 0x1000;
        /// Fail when the queue manager quiesces.
        FAIL_IF_QUIESCING = 0x2000;
        /// No context at all.
        NO_CONTEXT = 0x4000;
        /// Groups and segments in logical order.
        LOGICAL_ORDER = 0x8000;
        /// No reply is awaited.
        ASYNC_RESPONSE = 0x1_0000;
        /// A reply is awaited.
        SYNC_RESPONSE = 0x2_0000;
        /// Return the local queue that was resolved.
        RESOLVE_LOCAL_Q = 0x4_0000;
        /// Warn if nobody subscribed.
        WARN_IF_NO_SUBS_MATCHED = 0x8_0000;
        /// Retain the publication.
        RETAIN = 0x20_0000;
        /// The descriptor is output only.
        MD_FOR_OUTPUT_ONLY = 0x80_0000;
        /// Publish on this queue manager only.
        SCOPE_QMGR = 0x400_0000;
        /// Leave the reply-to out of publications.
        SUPPRESS_REPLYTO = 0x800_0000;
        /// Not to own subscriptions.
        NOT_OWN_SUBS = 0x1000_0000;
    }
    /// MQGMO_*, options of MQGET.
    GetOptions(u32) {
        /// Wait for a message.
        WAIT = 0x1;
        /// Within the unit of work.
        SYNCPOINT = 0x2;
        /// Outside of the unit of work.
        NO_SYNCPOINT = 0x4;
        /// Set a signal.
        SET_SIGNAL = 0x8;
        /// Browse from the start.
        BROWSE_FIRST = 0x10;
        /// Browse the next one.
        BROWSE_NEXT = 0x20;
        /// Cut off what does not fit, and take the message.
        ACCEPT_TRUNCATED_MSG = 0x40;
        /// Leave this message out of a back-out.
        MARK_SKIP_BACKOUT = 0x80;
        /// Get the message under the browse cursor.
        MSG_UNDER_CURSOR = 0x100;
        /// Lock the message browsed.
        LOCK = 0x200;
        /// Unlock the message locked.
        UNLOCK = 0x400;
        /// Browse the message under the cursor again.
        BROWSE_MSG_UNDER_CURSOR = 0x800;
        /// Within the unit of work if the message is persistent.
        SYNCPOINT_IF_PERSISTENT = 0x1000;
        /// Fail when the queue manager quiesces.
        FAIL_IF_QUIESCING = 0x2000;
        /// Convert the data.
        CONVERT = 0x4000;
        /// Groups and segments in logical order.
        LOGICAL_ORDER = 0x8000;
        /// Only complete logical messages.
        COMPLETE_MSG = 0x1_0000;
        /// Only when all messages of the group are there.
        ALL_MSGS_AVAILABLE = 0x2_0000;
        /// Only when all segments are there.
        ALL_SEGMENTS_AVAILABLE = 0x4_0000;
        /// Mark for this handle.
        MARK_BROWSE_HANDLE = 0x10_0000;
        /// Mark for the co-operating handles.
        MARK_BROWSE_CO_OP = 0x20_0000;
        /// Take the co-operative mark away.
        UNMARK_BROWSE_CO_OP = 0x40_0000;
        /// Take the handle's mark away.
        UNMARK_BROWSE_HANDLE = 0x80_0000;
        /// Browse only what is not marked.
        UNMARKED_BROWSE_MSG = 0x100_0000;
        /// Properties as an MQRFH2.
        PROPERTIES_FORCE_MQRFH2 = 0x200_0000;
        /// No properties.
        NO_PROPERTIES = 0x400_0000;
        /// Properties by handle.
        PROPERTIES_IN_HANDLE = 0x800_0000;
        /// Properties as older programs expect them.
        PROPERTIES_COMPATIBILITY = 0x1000_0000;
    }
    /// MQMO_*, which ids have to match.
    MatchOptions(u32) {
        /// MsgId.
        MSG_ID = 0x1;
        /// CorrelId.
        CORREL_ID = 0x2;
        /// GroupId.
        GROUP_ID = 0x4;
        /// Sequence number.
        MSG_SEQ_NUMBER = 0x8;
        /// Offset.
        OFFSET = 0x10;
        /// Token.
        MSG_TOKEN = 0x20;
    }
    /// MQRO_*, reports wanted.
    ReportOptions(u32) {
        /// Positive action notification.
        PAN = 0x1;
        /// Negative action notification.
        NAN = 0x2;
        /// Pass the CorrelId on.
        PASS_CORREL_ID = 0x40;
        /// Pass the MsgId on.
        PASS_MSG_ID = 0x80;
        /// Confirm on arrival.
        COA = 0x100;
        /// Confirm on arrival with data.
        COA_WITH_DATA = 0x300;
        /// Confirm on arrival with full data.
        COA_WITH_FULL_DATA = 0x700;
        /// Confirm on delivery.
        COD = 0x800;
        /// Confirm on delivery with data.
        COD_WITH_DATA = 0x1800;
        /// Confirm on delivery with full data.
        COD_WITH_FULL_DATA = 0x3800;
        /// Pass discard and expiry on.
        PASS_DISCARD_AND_EXPIRY = 0x4000;
        /// Report the expiry.
        EXPIRATION = 0x20_0000;
        /// Report the expiry with data.
        EXPIRATION_WITH_DATA = 0x60_0000;
        /// Report the expiry with full data.
        EXPIRATION_WITH_FULL_DATA = 0xE0_0000;
        /// Report an exception.
        EXCEPTION = 0x100_0000;
        /// Report an exception with data.
        EXCEPTION_WITH_DATA = 0x300_0000;
        /// Report an exception with full data.
        EXCEPTION_WITH_FULL_DATA = 0x700_0000;
        /// Discard what cannot be delivered.
        DISCARD_MSG = 0x800_0000;
    }
    /// MQMF_*, message flags.
    MessageFlags(u32) {
        /// Segmentation is allowed.
        SEGMENTATION_ALLOWED = 0x1;
        /// A segment.
        SEGMENT = 0x2;
        /// The last segment.
        LAST_SEGMENT = 0x4;
        /// In a group.
        MSG_IN_GROUP = 0x8;
        /// The last of a group.
        LAST_MSG_IN_GROUP = 0x10;
    }    /// MQCNO_*, options of MQCONNX.
    ConnectOptions(u32) {
        /// Run in the queue manager's process.
        FASTPATH_BINDING = 0x1;
        /// One after the other on the queue manager, by connection tag.
        SERIALIZE_CONN_TAG_Q_MGR = 0x2;
        /// One after the other in the queue-sharing group.
        SERIALIZE_CONN_TAG_QSG = 0x4;
        /// Refuse the tag on the queue manager while it is in use.
        RESTRICT_CONN_TAG_Q_MGR = 0x8;
        /// Refuse the tag in the queue-sharing group while it is in use.
        RESTRICT_CONN_TAG_QSG = 0x10;
        /// One thread owns the connection.
        HANDLE_SHARE_NONE = 0x20;
        /// Threads share the connection and wait for each other.
        HANDLE_SHARE_BLOCK = 0x40;
        /// Threads share the connection and are refused while it is busy.
        HANDLE_SHARE_NO_BLOCK = 0x80;
        /// Shared binding.
        SHARED_BINDING = 0x100;
        /// Isolated binding.
        ISOLATED_BINDING = 0x200;
        /// Local binding.
        LOCAL_BINDING = 0x400;
        /// Client binding.
        CLIENT_BINDING = 0x800;
        /// Accounting of the MQI on.
        ACCOUNTING_MQI_ENABLED = 0x1000;
        /// Accounting of the MQI off.
        ACCOUNTING_MQI_DISABLED = 0x2000;
        /// Accounting of queues on.
        ACCOUNTING_Q_ENABLED = 0x4000;
        /// Accounting of queues off.
        ACCOUNTING_Q_DISABLED = 0x8000;
        /// A socket of its own.
        NO_CONV_SHARING = 0x1_0000;
        /// Every conversation may share the socket.
        ALL_CONVS_SHARE = 0x4_0000;
        /// Make a connection tag.
        GENERATE_CONN_TAG = 0x20_0000;
        /// Reconnect to any queue manager.
        RECONNECT = 0x100_0000;
        /// Do not reconnect.
        RECONNECT_DISABLED = 0x200_0000;
        /// Reconnect to the same queue manager.
        RECONNECT_Q_MGR = 0x400_0000;
    }
}
