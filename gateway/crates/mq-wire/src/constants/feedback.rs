//! Feedback codes (mq-objects.md 2.4). A report of an exception carries a [`Reason`](crate::Reason) in their place:
//! the numbers never overlap.

constants! {
    /// Why a report was sent, or why a message is on the dead-letter queue.
    pub struct Feedback, "MQFB_" {
        NONE = 0, "no feedback";
        QUIT = 256, "the application is asked to end";
        EXPIRATION = 258, "the message expired";
        COA = 259, "the message arrived";
        COD = 260, "the message was delivered";
        CHANNEL_COMPLETED = 262, "the channel ended well";
        CHANNEL_FAIL_RETRY = 263, "the channel failed and will be tried again";
        CHANNEL_FAIL = 264, "the channel failed";
        APPL_CANNOT_BE_STARTED = 265, "the program that a trigger message names could not be started: see APPLICID of the process";
        TM_ERROR = 266, "the message says that it is a trigger message, but is none";
        APPL_TYPE_ERROR = 267, "the trigger monitor cannot start programs of this type: see APPLTYPE of the process";
        STOPPED_BY_MSG_EXIT = 268, "a message exit stopped the message";
        ACTIVITY = 269, "an activity report";
        XMIT_Q_MSG_ERROR = 271, "a message on a transmission queue has no valid MQXQH: only the queue manager should put there";
        PAN = 275, "the application did what was asked";
        NAN = 276, "the application could not do what was asked";
        STOPPED_BY_CHAD_EXIT = 277, "the exit for automatic definition refused the channel";
        STOPPED_BY_PUBSUB_EXIT = 279, "the publish exit stopped the message";
        NOT_A_REPOSITORY_MSG = 280, "a message on the repository queue is none for the repository";
        BIND_OPEN_CLUSRCVR_DEL = 281, "the cluster channel that the message was bound to was deleted";
        MAX_ACTIVITIES = 282, "the traced message made as many steps as it may";
        NOT_FORWARDED = 283, "the traced message was not sent on";
        NOT_DELIVERED = 284, "the traced message was not delivered";
        UNSUPPORTED_FORWARDING = 285, "the traced message wants to be sent on in a way that is not supported";
        UNSUPPORTED_DELIVERY = 286, "the traced message wants to be delivered in a way that is not supported";
        DATA_LENGTH_ZERO = 291, "IMS bridge: a segment has no length";
        DATA_LENGTH_NEGATIVE = 292, "IMS bridge: a segment has a negative length";
        DATA_LENGTH_TOO_BIG = 293, "IMS bridge: a segment is longer than the message";
        BUFFER_OVERFLOW = 294, "IMS bridge: the lengths of the segments exceed the data";
        LENGTH_OFF_BY_ONE = 295, "IMS bridge: a length differs by one byte";
        IIH_ERROR = 296, "IMS bridge: the IMS header is missing or not valid";
        NOT_AUTHORIZED_FOR_IMS = 298, "IMS bridge: the user may not do that in IMS";
        IMS_ERROR = 300, "IMS bridge: IMS reported an error";
        CICS_INTERNAL_ERROR = 401, "CICS bridge: an error of the bridge";
        CICS_NOT_AUTHORIZED = 402, "CICS bridge: the user may not do that in CICS";
        CICS_BRIDGE_FAILURE = 403, "CICS bridge: the bridge ended";
        CICS_CORREL_ID_ERROR = 404, "CICS bridge: the correlation identifier is not valid";
        CICS_CCSID_ERROR = 405, "CICS bridge: the character set is not valid";
        CICS_ENCODING_ERROR = 406, "CICS bridge: the encoding is not valid";
        CICS_CIH_ERROR = 407, "CICS bridge: the CICS header is not valid";
        CICS_UOW_ERROR = 408, "CICS bridge: the unit of work is not valid";
        CICS_COMMAREA_ERROR = 409, "CICS bridge: the communication area is not valid";
        CICS_APPL_NOT_STARTED = 410, "CICS bridge: the program could not be started";
        CICS_APPL_ABENDED = 411, "CICS bridge: the program ended abnormally";
        CICS_DLQ_ERROR = 412, "CICS bridge: the dead-letter queue could not be used";
        CICS_UOW_BACKED_OUT = 413, "CICS bridge: the unit of work was backed out";
        PUBLICATIONS_ON_REQUEST = 501, "the subscriber gets publications on request only";
        SUBSCRIBER_IS_PUBLISHER = 502, "the subscriber published this itself";
        MSG_SCOPE_MISMATCH = 503, "the scope of the publication does not reach the subscriber";
        SELECTOR_MISMATCH = 504, "the subscriber's selector leaves the publication out";
    }
}

impl From<crate::Reason> for Feedback {
    fn from(reason: crate::Reason) -> Self {
        Self(reason.0)
    }
}
