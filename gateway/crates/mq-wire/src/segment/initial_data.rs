//! ID, the initial data with which a channel starts (mq-wire.md 3.1, 3.3, 3.4).

use crate::{Ccsid, ChannelName, Chars, QMgrName};

sized_struct! {
    /// The initial data: what one side proposes or accepts. Lengths seen: 44, 102, 104, 128, 160, 208 and 240.
    pub struct InitialData, "ID", id b"ID  ", least 44, whole 240 {
        /// Level of the protocol; the lower one wins.
        fap_level: u8 = 0,
        /// What the sender can do.
        cap_flags_1: CapFlags1 = CapFlags1::empty(),
        /// Which of the partner's `cap_flags_1` are refused.
        ecap_flags_1: CapFlags1 = CapFlags1::empty(),
        /// Which of the partner's values are not accepted.
        err_flags_1: ErrFlags1 = ErrFlags1::empty(),
        /// Zero.
        reserved: [u8; 2] = [0; 2],
        /// Messages in a batch, on message channels.
        max_msgs_per_batch: u16 = 0,
        /// Longest segment, header included.
        max_transmission_size: u32 = 0,
        /// Longest message.
        max_msg_size: u32 = 0,
        /// After this sequence number comes 1 again, on message channels.
        seq_wrap_value: u32 = 0,
        /// The channel.
        channel_name: ChannelName = ChannelName::BLANK,
        /// What the sender can do.
        cap_flags_2: CapFlags2 = CapFlags2::empty(),
        /// Which of the partner's `cap_flags_2` are refused.
        ecap_flags_2: CapFlags2 = CapFlags2::empty(),
        /// Character set of this structure's sender.
        ccsid: u16 = 0,
        /// The queue manager wanted, or that of the answering side.
        q_mgr_name: QMgrName = QMgrName::BLANK,
        /// Seconds; 0 is none.
        heartbeat_interval: u32 = 0,
        /// Not to be relied on; 0 from a responder.
        efl_length: u16 = 0,
        /// Which of the partner's values are not accepted.
        err_flags_2: ErrFlags2 = ErrFlags2::empty(),
        /// Zero.
        reserved_1: u8 = 0,
        /// Header compressions in order of preference, FF unused.
        hdr_comp_list: [u8; 2] = [0, 0xFF],
        /// Message compressions in order of preference, FF unused.
        msg_comp_list: [u8; 16] = NO_COMPRESSION,
        /// Zero.
        reserved_2: [u8; 2] = [0; 2],
        /// Bytes after which TLS changes its keys; 0 is never.
        ssl_key_reset: u32 = 0,
        /// Conversations that may share the socket; 0 is no sharing.
        conv_per_socket: i32 = 0,
        /// What the sender can do.
        cap_flags_3: CapFlags3 = CapFlags3::empty(),
        /// Which of the partner's `cap_flags_3` are refused.
        ecap_flags_3: CapFlags3 = CapFlags3::empty(),
        /// Zero.
        reserved_3: [u8; 2] = [0; 2],
        /// Information only.
        process_id: u32 = 0,
        /// Information only.
        thread_id: u32 = 0,
        /// Information only.
        trace_id: u32 = 0,
        /// Four letters and eight digits: product and its version.
        product_id: Chars<12> = Chars::BLANK,
        /// Identifier of the queue manager.
        q_mgr_id: Chars<48> = Chars::BLANK,
        /// Algorithms of password protection in order of preference, FFFF unused.
        password_algorithms: [u16; 10] = [0xFFFF; 10],
        /// Random bytes that take part in password protection.
        random: [u8; 12] = [0; 12],
    }
}

const NO_COMPRESSION: [u8; 16] = {
    let mut list = [0xFF; 16];
    list[0] = 0;
    list
};

impl InitialData {
    /// The character set of the sender.
    pub const fn sender_ccsid(&self) -> Ccsid {
        Ccsid(self.ccsid as i32)
    }
}

flags! {
    /// CapFlags1: with 0x26 a client opens, with 0x07 a sender, with 0x08 a requester.
    CapFlags1(u8) {
        /// Messages have sequence numbers.
        MSG_SEQ = 0x01;
        /// Can convert.
        CONVERSION_CAPABLE = 0x02;
        /// A message may span segments.
        SPLIT_MESSAGE = 0x04;
        /// A requester: the partner is to send.
        REQUEST_INITIATION = 0x08;
        /// A security flow is wanted.
        REQUEST_SECURITY = 0x10;
        /// An MQI channel.
        MQREQUEST = 0x20;
        /// Security on server-connection channels.
        SVRCONN_SECURITY = 0x40;
        /// Not explained anywhere.
        RUNTIME = 0x80;
    }
    /// CapFlags2.
    CapFlags2(u8) {
        /// Distribution lists.
        DIST_LIST_CAPABLE = 0x01;
        /// Non-persistent messages outside of batches.
        FAST_MESSAGES_REQUIRED = 0x02;
        /// The responder converts.
        RESPONDER_CONVERSION = 0x04;
        /// Two units of work.
        DUAL_UOW = 0x08;
        /// XA calls.
        XAREQUEST = 0x10;
        /// Not explained anywhere.
        XARUNTIME_APP = 0x20;
        /// SPI verbs beyond QUERY and OPEN.
        SPIREQUEST = 0x40;
        /// Trace-route messages.
        TRACE_ROUTE_CAPABLE = 0x80;
    }
    /// CapFlags3.
    CapFlags3(u8) {
        /// Message properties.
        MSG_PROP_CAPABLE = 0x01;
        /// Multicast.
        MULTICAST_CAPABLE = 0x02;
        /// Properties apart.
        MSG_PROP_INT_SEPARATE = 0x04;
        /// MQGET on a shared socket.
        MULTIPLEX_SYNCGET = 0x08;
        /// Password protection.
        PROT_ALGORITHMS = 0x10;
        /// Connection tags are made on demand.
        GEN_CONNTAG_CAP = 0x20;
    }
    /// ErrFlags1: the values that are not accepted.
    ErrFlags1(u8) {
        /// Character set.
        CCSID = 0x01;
        /// Encoding.
        ENCODING = 0x02;
        /// Longest segment.
        MAX_TRANSMISSION_SIZE = 0x04;
        /// Level.
        FAP_LEVEL = 0x08;
        /// Longest message.
        MAX_MSG_SIZE = 0x10;
        /// Messages in a batch.
        MAX_MSG_PER_BATCH = 0x20;
        /// Wrap of sequence numbers.
        SEQ_WRAP_VALUE = 0x40;
        /// Heartbeat interval.
        HEARTBEAT_INTERVAL = 0x80;
    }
    /// ErrFlags2: the values that are not accepted.
    ErrFlags2(u8) {
        /// Header compression.
        HDR_COMP_LIST = 0x01;
        /// Message compression.
        MSG_COMP_LIST = 0x02;
        /// TLS key reset.
        SSL_RESET = 0x04;
    }
}
