//! A device as its frames: one after the other, as a test writes them down. What a device must remember the test remembers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::Bytes;
use mqe::frame::{Decoded, FRAME_BYTES_MAX, Frame, Hello, Put, PutOutcome, Splitter, VERSION, Welcome};
use mqe::{DeviceMessage, Incarnation, RequestId, Sequence, SessionId};

/// An answer comes within this.
const TIME: Duration = Duration::from_secs(30);

/// A connection that has said HELLO and RESUME.
#[derive(Debug)]
pub struct Frames {
    stream: TcpStream,
    splitter: Splitter,
    request: u32,
    incarnation: Incarnation,
    session: SessionId,
}

impl Frames {
    /// Connects a device whose store is of this incarnation and has last resumed in this session; both 0: it is new.
    #[track_caller]
    pub fn connect(
        gateway: SocketAddr,
        name: &str,
        incarnation: Incarnation,
        last_session: SessionId,
    ) -> Self {
        let stream = TcpStream::connect(gateway).unwrap();
        stream.set_read_timeout(Some(TIME)).unwrap();
        let (device, token, product) = (name.parse().unwrap(), Bytes::new(), String::new());
        let hello = Hello { version: VERSION, device, incarnation, last_session, token, product };
        let splitter = Splitter::new(FRAME_BYTES_MAX);
        let mut frames = Self { stream, splitter, request: 0, incarnation, session: last_session };
        frames.send(&Frame::Hello(hello));
        let answer = frames.receive();
        let Frame::Welcome(Welcome { incarnation, session, .. }) = answer else { panic!("{answer:?}") };
        (frames.incarnation, frames.session) = (incarnation, session);
        frames.send(&Frame::Resume { stored: Vec::new(), refused: Vec::new() });
        let answer = frames.receive();
        assert!(matches!(answer, Frame::Resumed { .. }), "{answer:?}");
        frames
    }

    /// The same device again, by a new connection.
    #[track_caller]
    pub fn again(&self, gateway: SocketAddr, name: &str) -> Self {
        Self::connect(gateway, name, self.incarnation, self.session)
    }

    /// Sends a frame.
    #[track_caller]
    pub fn send(&mut self, frame: &Frame) {
        self.request += 1;
        self.stream.write_all(&frame.to_bytes(RequestId(self.request))).unwrap();
    }

    /// The next frame; fails when none comes.
    #[track_caller]
    pub fn receive(&mut self) -> Frame {
        let mut buffer = [0; 4096];
        loop {
            if let Some(bytes) = self.splitter.next_frame().unwrap() {
                match Frame::decode(&bytes).unwrap().1 {
                    Decoded::Frame(Frame::Wake { .. }) => continue,
                    Decoded::Frame(frame) => return frame,
                    Decoded::Unknown(kind) => panic!("a frame of type {kind}"),
                }
            }
            let read = self.stream.read(&mut buffer).unwrap();
            assert!(read > 0, "the gateway has ended the connection");
            self.splitter.extend(&buffer[..read]);
        }
    }

    /// PUT to a queue at the gateway's default; what became of it.
    #[track_caller]
    pub fn put(&mut self, sequence: u64, message: &DeviceMessage) -> PutOutcome {
        match self.put_frame(sequence, message) {
            Frame::PutAnswer(Sequence(answered), outcome) if answered == sequence => outcome,
            frame => panic!("{frame:?}"),
        }
    }

    /// The same; whatever frame it is answered with.
    #[track_caller]
    pub fn put_frame(&mut self, sequence: u64, message: &DeviceMessage) -> Frame {
        self.send(&Frame::Put(Put {
            sequence: Sequence(sequence),
            queue: message.queue,
            queue_manager: mq_wire::QMgrName::BLANK,
            envelope: message.envelope(),
            payload: message.payload.clone(),
        }));
        self.receive()
    }
}
