//! What a segment is, and its flags (mq-wire.md 1.3, 1.4, 2).

constants! {
    /// The type of a segment.
    pub struct SegmentType(u8), "" {
        INITIAL_DATA = 0x01, "proposal or answer when a channel starts";
        RESYNC = 0x02, "which batch was the last one, on message channels";
        RESET = 0x03, "a new sequence number, on message channels";
        MESSAGE = 0x04, "a message, on message channels";
        STATUS = 0x05, "a code, or plain consent";
        SECURITY = 0x06, "data of a security exit";
        PING = 0x07, "is to be sent back";
        USERID = 0x08, "who the client says it is";
        HEARTBEAT = 0x09, "sign of life";
        CONAUTH_INFO = 0x0A, "user and password";
        RENEGOTIATE_DATA = 0x0B, "never seen";
        SOCKET_ACTION = 0x0C, "start and end of conversations on a shared socket";
        ASYNC_MESSAGE = 0x0D, "a message that was asked for by REQUEST_MSGS";
        REQUEST_MSGS = 0x0E, "asks for messages";
        NOTIFICATION = 0x0F, "a state of a handle";
        MQCONN = 0x81, "connect";
        MQDISC = 0x82, "disconnect";
        MQOPEN = 0x83, "open";
        MQCLOSE = 0x84, "close";
        MQGET = 0x85, "get";
        MQPUT = 0x86, "put";
        MQPUT1 = 0x87, "open, put, close";
        MQSET = 0x88, "set attributes";
        MQINQ = 0x89, "inquire attributes";
        MQCMIT = 0x8A, "commit";
        MQBACK = 0x8B, "back out";
        SPI = 0x8C, "a verb of the system programming interface";
        MQSTAT = 0x8D, "status of asynchronous puts";
        MQSUB = 0x8E, "subscribe";
        MQSUBRQ = 0x8F, "ask for retained publications";
        MQCONN_REPLY = 0x91, "answer to connect";
        MQDISC_REPLY = 0x92, "answer to disconnect";
        MQOPEN_REPLY = 0x93, "answer to open";
        MQCLOSE_REPLY = 0x94, "answer to close";
        MQGET_REPLY = 0x95, "answer to get";
        MQPUT_REPLY = 0x96, "answer to put";
        MQPUT1_REPLY = 0x97, "answer to open, put, close";
        MQSET_REPLY = 0x98, "answer to set attributes";
        MQINQ_REPLY = 0x99, "answer to inquire attributes";
        MQCMIT_REPLY = 0x9A, "answer to commit";
        MQBACK_REPLY = 0x9B, "answer to back out";
        SPI_REPLY = 0x9C, "answer to a verb of the system programming interface";
        MQSTAT_REPLY = 0x9D, "answer to status";
        MQSUB_REPLY = 0x9E, "answer to subscribe";
        MQSUBRQ_REPLY = 0x9F, "answer to ask for retained publications";
        XA_START = 0xA1, "start a branch";
        XA_END = 0xA2, "end a branch";
        XA_OPEN = 0xA3, "open the resource manager";
        XA_CLOSE = 0xA4, "close the resource manager";
        XA_PREPARE = 0xA5, "prepare a branch";
        XA_COMMIT = 0xA6, "commit a branch";
        XA_ROLLBACK = 0xA7, "roll a branch back";
        XA_FORGET = 0xA8, "forget a branch";
        XA_RECOVER = 0xA9, "list prepared branches";
        XA_COMPLETE = 0xAA, "wait for an asynchronous verb";
        XA_START_REPLY = 0xB1, "answer to start a branch";
        XA_END_REPLY = 0xB2, "answer to end a branch";
        XA_OPEN_REPLY = 0xB3, "answer to open the resource manager";
        XA_CLOSE_REPLY = 0xB4, "answer to close the resource manager";
        XA_PREPARE_REPLY = 0xB5, "answer to prepare a branch";
        XA_COMMIT_REPLY = 0xB6, "answer to commit a branch";
        XA_ROLLBACK_REPLY = 0xB7, "answer to roll a branch back";
        XA_FORGET_REPLY = 0xB8, "answer to forget a branch";
        XA_RECOVER_REPLY = 0xB9, "answer to list prepared branches";
        XA_COMPLETE_REPLY = 0xBA, "answer to wait for an asynchronous verb";
    }
}

impl SegmentType {
    /// Whether the body starts with the API header: MQI and SPI calls and their replies (mq-wire.md 4.1).
    pub const fn is_call(self) -> bool {
        matches!(self.0, 0x81..=0x9F)
    }

    /// Whether it is the answer to a call.
    pub const fn is_reply(self) -> bool {
        matches!(self.0, 0x91..=0x9F | 0xB1..=0xBF)
    }

    /// The answer to this call; `None` for what is no call.
    pub const fn reply(self) -> Option<Self> {
        match self.0 {
            0x81..=0x8F | 0xA1..=0xAF => Some(Self(self.0 + 0x10)),
            _ => None,
        }
    }
}

flags! {
    /// ControlFlags1 (mq-wire.md 1.3).
    ControlFlags1(u8) {
        /// The sender wants an answer.
        CONFIRM_REQUEST = 0x01;
        /// Not accepted as proposed, or an error status.
        ERROR = 0x02;
        /// The partner is asked to close.
        REQUEST_CLOSE = 0x04;
        /// The sender closes now.
        CLOSE_CHANNEL = 0x08;
        /// The first segment of a call, reply or message.
        FIRST = 0x10;
        /// The last segment.
        LAST = 0x20;
        /// Consent to a confirm request, on message channels.
        REQUEST_ACCEPTED = 0x40;
        /// A message of the batch went to the dead-letter queue.
        DLQ_USED = 0x80;
    }
    /// ControlFlags2 (mq-wire.md 1.4).
    ControlFlags2(u8) {
        /// Headers are compressed.
        HDRCOMP = 0x01;
        /// Message data is compressed.
        MSGCOMP = 0x02;
        /// A compression header follows.
        CSH = 0x04;
        /// Mark of the commit interval, on message channels.
        CMIT_INTERVAL = 0x08;
    }
}
