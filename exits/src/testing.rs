//! For tests of exits, without a gateway: messages as they lie on a transmission queue, and an exit that is called as the chain
//! calls it.
//!
//! ```
//! use mqe_exits::testing::{Harness, TestMessage};
//! use mqe_exits::{ExitResponse, SizeLimit};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let mut harness = Harness::new(SizeLimit::from_data("max=4").unwrap());
//! let mut message = TestMessage::to("ORDERS%DEV00042", "GATE1").payload("four").build();
//! assert_eq!(harness.run(&mut message).await.unwrap(), ExitResponse::Ok);
//! # });
//! ```

use bytes::BytesMut;
use mq_wire::{Ccsid, Chars, Coding, Encoding, FormatName, Mqmd, Mqxqh, QMgrName, QName, Writer};

use crate::{Direction, ExitContext, ExitError, ExitMessage, ExitResponse, InitContext, Origin, ReceiveExit};

/// A message for a transmission queue, in the making. Names may be anything: exits get what applications write.
#[derive(Debug, Clone)]
pub struct TestMessage {
    header: Mqxqh,
    payload: Vec<u8>,
    direction: Direction,
    source: String,
    coding: Coding,
}

impl TestMessage {
    /// To a queue at a queue manager; a string in our own coding, empty.
    pub fn to(queue: &str, q_mgr: &str) -> Self {
        let msg_desc = Mqmd { format: FormatName::STRING, ccsid: Ccsid::UTF_8, ..Mqmd::default() };
        let header = Mqxqh {
            remote_q_name: QName(Chars::cut(queue)),
            remote_q_mgr_name: QMgrName(Chars::cut(q_mgr)),
            msg_desc,
            ..Mqxqh::default()
        };
        let (payload, source) = (Vec::new(), "GATE1".to_owned());
        Self { header, payload, direction: Direction::FromMq, source, coding: Coding::NATIVE }
    }

    /// With this data.
    #[must_use]
    pub fn payload(self, payload: impl Into<Vec<u8>>) -> Self {
        Self { payload: payload.into(), ..self }
    }

    /// With changes of its own descriptor, the one inside of the MQXQH.
    #[must_use]
    pub fn descriptor(mut self, change: impl FnOnce(&mut Mqmd)) -> Self {
        change(&mut self.header.msg_desc);
        self
    }

    /// Put by a device.
    #[must_use]
    pub fn from_device(self, device: &str) -> Self {
        Self { direction: Direction::FromDevice, source: device.to_owned(), ..self }
    }

    /// Its header in another byte order and code page, such as those of a mainframe (big-endian, 500).
    #[must_use]
    pub fn coded(self, encoding: Encoding, ccsid: Ccsid) -> Self {
        Self { coding: Coding::of(encoding, ccsid), ..self }
    }

    /// The message.
    pub fn build(self) -> ExitMessage {
        let mut bytes = BytesMut::new();
        let mut writer = Writer::new(&mut bytes, self.coding);
        self.header.encode(&mut writer);
        writer.raw(&self.payload);
        let encoding = match self.coding.order {
            mq_wire::ByteOrder::Big => Encoding::BIG,
            mq_wire::ByteOrder::Little => Encoding::LITTLE,
        };
        let descriptor = Mqmd {
            version: 2,
            encoding,
            ccsid: self.coding.ccsid,
            format: ExitMessage::transmission_format(),
            ..self.header.msg_desc.clone()
        };
        ExitMessage::new(Origin::new(&self.source, self.direction), descriptor, bytes.freeze())
    }
}

/// Calls an exit as an instance of the chain does, with a context that it keeps between calls.
#[derive(Debug)]
pub struct Harness<E> {
    exit: E,
    init: InitContext,
    context: ExitContext,
    calls: u64,
}

impl<E: ReceiveExit> Harness<E> {
    /// An exit of a gateway named GATE1.
    pub fn new(exit: E) -> Self {
        Self::of_gateway(exit, "", &[QMgrName(Chars::cut("GATE1"))])
    }

    /// An exit with this data string, of a gateway with these names.
    pub fn of_gateway(exit: E, data: &str, names: &[QMgrName]) -> Self {
        let init = InitContext::new(data, names);
        let context = ExitContext::new(init.clone(), Origin::new("GATE1", Direction::FromMq));
        Self { exit, init, context, calls: 0 }
    }

    /// [`ReceiveExit::init`].
    pub async fn init(&self) -> Result<(), ExitError> {
        self.exit.init(&self.init).await
    }

    /// [`ReceiveExit::receive`]. The chain's time limit, panic guard and limit of size are not here.
    pub async fn run(&mut self, message: &mut ExitMessage) -> Result<ExitResponse, ExitError> {
        self.calls += 1;
        self.context.begin(message.origin(), self.calls);
        self.exit.receive(&mut self.context, message).await
    }

    /// [`ReceiveExit::term`].
    pub async fn term(&self) {
        self.exit.term().await;
    }
}
