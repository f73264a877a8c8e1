//! What kind of queue manager the peer plays: everything that the negotiation can settle one way or another, and the
//! numbers it announces.

use crate::coding::Coding;

#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) coding: Coding,
    pub(crate) fap: u8,
    /// SHARECNV of the channel; 0 is no sharing, plain TSH.
    pub(crate) conversations: u32,
    /// SPIREQUEST agreed, so that asynchronous puts get no reply (mq-wire-observed-base.md 4.2).
    pub(crate) spi: bool,
    pub(crate) transmission_bytes_max: u32,
    pub(crate) message_bytes_max: u32,
    pub(crate) heartbeat_seconds: u32,
    /// Does not ask for a second round: "your proposal stands" (mq-wire-observed-base.md 3.1).
    pub(crate) one_round: bool,
    /// The MQCONN reply is this many bytes whatever the request had (mq-wire-observed-base.md 4.1).
    pub(crate) connect_body: Option<usize>,
    /// The first answer is this many bytes whatever the request had (mq-wire-observed-base.md 3.2).
    pub(crate) answer_bytes: Option<usize>,
}

pub(crate) const QUEUE_MANAGER: &str = "QM.PEER";
pub(crate) const CHANNEL: &str = "APP.SVRCONN";
pub(crate) const QM_ID: &str = "QM.PEER_2026-01-02_03.04.05";
pub(crate) const CONNECTION_ID: [u8; 24] = *b"AMQCQM.PEER     \x01\x02\x03\x04\x05\x06\x07\x08";

impl Default for Setting {
    /// A distributed queue manager with the defaults of mq-wire.md 3.7, but shape A.
    fn default() -> Setting {
        Setting {
            coding: Coding { big: false, ccsid: 819 },
            fap: 12,
            conversations: 0,
            spi: false,
            transmission_bytes_max: 32748,
            message_bytes_max: 4_194_304,
            heartbeat_seconds: 300,
            one_round: false,
            connect_body: None,
            answer_bytes: None,
        }
    }
}

impl Setting {
    pub(crate) fn big(self) -> Setting {
        let coding = Coding { big: true, ..self.coding };
        Setting { coding, ..self }
    }

    pub(crate) fn ccsid(self, ccsid: u16) -> Setting {
        let coding = Coding { ccsid, ..self.coding };
        Setting { coding, ..self }
    }

    pub(crate) fn fap(self, fap: u8) -> Setting {
        Setting { fap, ..self }
    }

    pub(crate) fn shared(self, conversations: u32) -> Setting {
        Setting { conversations, ..self }
    }

    pub(crate) fn spi(self) -> Setting {
        Setting { spi: true, ..self }
    }

    pub(crate) fn transmission(self, transmission_bytes_max: u32) -> Setting {
        Setting { transmission_bytes_max, ..self }
    }

    pub(crate) fn message(self, message_bytes_max: u32) -> Setting {
        Setting { message_bytes_max, ..self }
    }

    pub(crate) fn heartbeat(self, heartbeat_seconds: u32) -> Setting {
        Setting { heartbeat_seconds, ..self }
    }
}
