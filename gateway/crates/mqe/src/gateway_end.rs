//! The gateway's end of a device's connection: bytes to typed requests, answers to bytes, time-outs. No socket.
//!
//! ```text
//!  Hello ──HELLO──> Greeting ──WELCOME sent──> Open ──error, time-out, close──> Ended
//! ```
//!
//! What requests mean is the area's ([`crate::area`]); this end sees to it that nothing is kept that is longer than a
//! limit, that HELLO comes first and in time, and that silence ends. PING it answers itself.
//! The owner takes all events out before it reads more, and reads nothing while [`DeviceConnection::wants_input`] is
//! false.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};

use crate::frame::{
    Decoded, ErrorCode, Frame, FrameError, HELLO_BYTES_MAX, LENGTH_BYTES, Limits, MessageHead, Splitter,
};
use crate::{DecodeError, RequestId};

/// Output beyond which nothing more is read.
const OUTPUT_BYTES_MAX: usize = 256 * 1024;
/// Payloads up to this are copied behind their head; longer ones go out as they are.
const COPY_BYTES_MAX: usize = 16 * 1024;
/// Silent heartbeats after which a connection ends.
const SILENT_HEARTBEATS: u32 = 3;

/// What the owner is told.
#[derive(Debug, Clone, PartialEq)]
pub enum DeviceEvent {
    /// A request, for the area: HELLO, RESUME, GET, CONFIRM, REJECT, RELEASE or PUT.
    Request {
        /// Its id, for the answer.
        request: RequestId,
        /// The request.
        frame: Frame,
    },
    /// The connection is over: write what is left of the output, then close the socket.
    Ended(EndReason),
}

/// Why a connection ended on this side.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndReason {
    /// The stream of frames cannot be read.
    #[error("the device sent {0}")]
    Frame(#[from] FrameError),
    /// A frame cannot be read.
    #[error("the device sent a frame that cannot be read: {0}")]
    Decode(#[from] DecodeError),
    /// Another frame than HELLO came first, or one that only gateways send.
    #[error("the device sent a frame that may not come here")]
    Unexpected,
    /// No HELLO in time.
    #[error("no HELLO came in time")]
    HandshakeTimeout,
    /// Nothing came for several heartbeats.
    #[error("nothing came for {SILENT_HEARTBEATS} heartbeats")]
    Silent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Hello { until: Instant },
    Greeting { until: Instant },
    Open,
    Ended,
}

/// The gateway's end. See the module's text.
#[derive(Debug)]
pub struct DeviceConnection {
    state: State,
    splitter: Splitter,
    limits: Limits,
    heard: Instant,
    output: VecDeque<Bytes>,
    output_bytes: usize,
    /// The newest PING that was not answered: one PONG answers all.
    pong: Option<RequestId>,
    ended: Option<EndReason>,
}

impl DeviceConnection {
    /// A connection that was accepted now.
    pub fn new(now: Instant, limits: Limits, handshake_timeout: Duration) -> Self {
        Self {
            state: State::Hello { until: now + handshake_timeout },
            splitter: Splitter::new(HELLO_BYTES_MAX),
            limits,
            heard: now,
            output: VecDeque::new(),
            output_bytes: 0,
            pong: None,
            ended: None,
        }
    }

    /// Bytes came.
    pub fn handle_bytes(&mut self, now: Instant, bytes: &[u8]) {
        if self.state != State::Ended {
            self.heard = now;
            self.splitter.extend(bytes);
        }
    }

    /// Time has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_none_or(|at| at > now) {
            return;
        }
        let (reason, text) = match self.state {
            State::Hello { .. } | State::Greeting { .. } => {
                (EndReason::HandshakeTimeout, "the handshake took too long")
            }
            State::Open | State::Ended => (EndReason::Silent, "nothing came for several heartbeats"),
        };
        self.fail(RequestId(0), ErrorCode::TIMED_OUT, text.to_owned(), reason);
    }

    /// When [`DeviceConnection::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Hello { until } | State::Greeting { until } => Some(until),
            State::Open => {
                let silence = Duration::from_millis(u64::from(self.limits.heartbeat_ms)) * SILENT_HEARTBEATS;
                Some(self.heard + silence)
            }
            State::Ended => None,
        }
    }

    /// What came, one at a time.
    pub fn poll_event(&mut self) -> Option<DeviceEvent> {
        while self.state != State::Ended {
            let bytes = match self.splitter.next_frame() {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return None,
                Err(error) => {
                    let code = match error {
                        FrameError::TooLong { .. } => ErrorCode::TOO_LONG,
                        FrameError::TooShort { .. } => ErrorCode::PROTOCOL,
                    };
                    self.fail(RequestId(0), code, error.to_string(), error.into());
                    break;
                }
            };
            match Frame::decode(&bytes) {
                Ok((request, Decoded::Frame(frame))) => {
                    if let Some(event) = self.handle_frame(request, frame) {
                        return Some(event);
                    }
                }
                Ok((request, Decoded::Unknown(code))) => {
                    let text = format!("frame type {code:#04x} is not known here");
                    self.send(request, &Frame::error(ErrorCode::UNKNOWN_TYPE, 0, text));
                }
                Err(error) => {
                    self.fail(RequestId(0), ErrorCode::PROTOCOL, error.to_string(), error.into());
                }
            }
        }
        self.ended.take().map(DeviceEvent::Ended)
    }

    /// Whether the owner may read more from the socket.
    pub fn wants_input(&self) -> bool {
        self.state != State::Ended && self.output_bytes < OUTPUT_BYTES_MAX
    }

    /// Sends a frame. WELCOME opens the connection.
    pub fn send(&mut self, request: RequestId, frame: &Frame) {
        if self.state == State::Ended {
            return;
        }
        if let Frame::Welcome(welcome) = frame {
            self.state = State::Open;
            self.limits = welcome.limits;
            self.splitter.set_frame_bytes_max(welcome.limits.frame_bytes_max as usize);
        }
        self.push(frame.to_bytes(request));
    }

    /// Sends a MESSAGE whose envelope and payload were read from the store, without copying a long payload.
    pub fn send_message(&mut self, request: RequestId, head: MessageHead, envelope: Bytes, payload: Bytes) {
        if self.state == State::Ended {
            return;
        }
        if payload.len() <= COPY_BYTES_MAX {
            return self.push(Frame::Message(head, envelope, payload).to_bytes(request));
        }
        let mut start = BytesMut::new();
        Frame::Message(head, envelope, Bytes::new()).encode(request, &mut start);
        let length = (start.len() - LENGTH_BYTES + payload.len()) as u32;
        (&mut start[..LENGTH_BYTES]).put_u32(length);
        self.push(start.freeze());
        self.push(payload);
    }

    /// The owner ends the connection, behind what was sent. Nothing is read any more.
    pub fn close(&mut self) {
        self.state = State::Ended;
        self.splitter.clear();
        self.pong = None;
    }

    /// What must be written, in this order.
    pub fn poll_output(&mut self) -> Option<Bytes> {
        if let Some(request) = self.pong.take() {
            self.push(Frame::Pong.to_bytes(request));
        }
        let bytes = self.output.pop_front()?;
        self.output_bytes -= bytes.len();
        Some(bytes)
    }

    /// Bytes that wait to be written.
    pub fn output_bytes(&self) -> usize {
        self.output_bytes
    }

    /// Whether nothing will be read any more.
    pub fn is_ended(&self) -> bool {
        self.state == State::Ended
    }

    fn handle_frame(&mut self, request: RequestId, frame: Frame) -> Option<DeviceEvent> {
        match (self.state, &frame) {
            (State::Hello { until }, Frame::Hello(_)) => self.state = State::Greeting { until },
            (State::Open, Frame::Ping) => {
                self.pong = Some(request);
                return None;
            }
            (
                State::Open,
                Frame::Hello(_)
                | Frame::Resume { .. }
                | Frame::Get { .. }
                | Frame::Confirm(_)
                | Frame::Reject { .. }
                | Frame::Release(_)
                | Frame::Put(_),
            ) => {}
            _ => {
                let text = "this frame may not come here".to_owned();
                self.fail(request, ErrorCode::PROTOCOL, text, EndReason::Unexpected);
                return None;
            }
        }
        Some(DeviceEvent::Request { request, frame })
    }

    fn fail(&mut self, request: RequestId, code: ErrorCode, text: String, reason: EndReason) {
        self.send(request, &Frame::error(code, 0, text));
        self.close();
        self.ended = Some(reason);
    }

    fn push(&mut self, bytes: Bytes) {
        self.output_bytes += bytes.len();
        self.output.push_back(bytes);
    }
}
