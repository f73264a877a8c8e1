//! Frames of a device's connection in the order in which the core made them, when a body among them is slow (ONCE.md 1).

use mqe::frame::{Decoded, Frame, Hello, Splitter, VERSION};
use mqe::{Incarnation, RequestId, SessionId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::core::OutboxCommand;

/// A device that says what the test wants it to say.
struct Frames {
    stream: TcpStream,
    splitter: Splitter,
}

impl Frames {
    async fn connect(gateway: &Running, name: &str) -> Self {
        let stream = TcpStream::connect(&gateway.service.listeners.devices).await.unwrap();
        let mut frames = Self { stream, splitter: Splitter::new(1 << 20) };
        let (incarnation, last_session, token) = (Incarnation(0), SessionId(0), Bytes::new());
        let (device, product) = (name.parse().unwrap(), String::new());
        let hello = Hello { version: VERSION, device, incarnation, last_session, token, product };
        frames.write(&[&Frame::Hello(hello)]).await;
        assert!(matches!(frames.next().await, Frame::Welcome(_)));
        frames.write(&[&Frame::Resume { stored: Vec::new(), refused: Vec::new() }]).await;
        assert!(matches!(frames.next().await, Frame::Resumed { .. }));
        frames
    }

    async fn write(&mut self, frames: &[&Frame]) {
        let bytes: Vec<Bytes> = frames.iter().map(|frame| frame.to_bytes(RequestId(1))).collect();
        self.stream.write_all(&bytes.concat()).await.unwrap();
    }

    async fn next(&mut self) -> Frame {
        let mut buffer = [0; 4096];
        loop {
            if let Some(bytes) = self.splitter.next_frame().unwrap() {
                let Decoded::Frame(frame) = Frame::decode(&bytes).unwrap().1 else { panic!("a frame") };
                return frame;
            }
            let read = tokio::time::timeout(LONG, self.stream.read(&mut buffer)).await.unwrap().unwrap();
            assert!(read > 0, "the connection has ended");
            self.splitter.extend(&buffer[..read]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_a_body_that_is_slow_to_read_holds_the_answers_behind_it() {
    let running = Running::start_with(|config, _| config.limits.in_flight_bytes_max = 1 << 20).await;
    let mut tried = 0;
    put(&running, "ORDERS%DEV1", "GATE1", &mut tried).await;
    let device = DeviceName::new("DEV1").unwrap();
    let report = async || {
        running.service.core.inquire(|answer| Command::DeviceReport { device, answer }).await.unwrap()
    };
    until(async || report().await.is_some_and(|device| device.waiting == 1)).await;
    let mut frames = Frames::connect(&running, "DEV1").await;
    // Whoever reads a body waits until there is room for it.
    let bodies = &running.service.devices.bodies;
    let all: Vec<_> = std::iter::from_fn(|| bodies.try_share(1)).collect();
    assert!(!all.is_empty());
    // In one piece: with the first one under way the connection reads nothing more.
    let get = Frame::Get { messages: 10, bytes: 1 << 20, wait_ms: 0 };
    frames.write(&[&get, &get]).await;
    until(async || report().await.is_some_and(|device| device.in_doubt == 1)).await;
    // The core has answered the second one too, which needs no body.
    let depths = |answer| Command::Outbox { command: OutboxCommand::Depths { answer } };
    running.service.core.newest().await.unwrap().ask(Lane::Intake, depths).await.unwrap();
    drop(all);
    let order = [frames.next().await, frames.next().await, frames.next().await];
    assert!(
        matches!(order, [Frame::Message(..), Frame::End { given: 1, .. }, Frame::End { given: 0, .. }]),
        "{order:?}"
    );
    drop(frames);
    running.end().await;
}
