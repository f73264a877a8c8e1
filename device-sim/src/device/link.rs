//! The way to the gateway: waiting to connect, connecting, connected. Reads while it writes.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::net::TcpStream;
use tokio::time::{self, Instant};

/// Bytes taken from the socket at once.
const READ_BYTES_MAX: usize = 16 * 1024;

type Connecting = Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>;

/// The link.
pub(super) enum Link {
    Waiting(Instant),
    Connecting(Connecting),
    Up(TcpStream),
}

/// What happened on it.
#[derive(Debug)]
pub(super) enum LinkEvent {
    /// The pause is over.
    Dial,
    Connected,
    /// Connecting failed, or the connection broke.
    Broken(io::Error),
    /// Some of the output was written, or there may be input: [`Link::read`].
    Moved,
}

impl Link {
    pub(super) fn dial(address: String, timeout: Duration) -> Self {
        Self::Connecting(Box::pin(async move {
            let connecting = time::timeout(timeout, TcpStream::connect(&address)).await;
            let stream = connecting.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            let stream =
                stream.map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))?;
            stream.set_nodelay(true)?;
            Ok(stream)
        }))
    }

    /// Moves on. Can be cancelled without loss.
    pub(super) async fn event(&mut self, out: &mut Output) -> LinkEvent {
        match self {
            Self::Waiting(until) => {
                time::sleep_until(*until).await;
                LinkEvent::Dial
            }
            Self::Connecting(connecting) => match connecting.await {
                Ok(stream) => {
                    *self = Self::Up(stream);
                    LinkEvent::Connected
                }
                Err(error) => LinkEvent::Broken(error),
            },
            Self::Up(stream) => {
                let moved = tokio::select! {
                    ready = stream.readable() => ready,
                    ready = stream.writable(), if !out.is_empty() => match ready {
                        Ok(()) => out.write(stream),
                        Err(error) => Err(error),
                    },
                };
                match moved {
                    Ok(()) => LinkEvent::Moved,
                    Err(error) => LinkEvent::Broken(error),
                }
            }
        }
    }

    /// Hands over what has come; at most one read.
    pub(super) fn read(&self, take: impl FnOnce(&[u8])) -> io::Result<()> {
        let Self::Up(stream) = self else { return Ok(()) };
        let mut buffer = [0; READ_BYTES_MAX];
        match stream.try_read(&mut buffer) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the gateway closed the connection")),
            Ok(length) => {
                take(&buffer[..length]);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Bytes that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Output {
    pieces: VecDeque<Bytes>,
}

impl Output {
    pub(super) fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.pieces.push_back(bytes);
        }
    }

    pub(super) fn clear(&mut self) {
        self.pieces.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Writes as much as the socket takes now.
    fn write(&mut self, stream: &TcpStream) -> io::Result<()> {
        while let Some(first) = self.pieces.front_mut() {
            let slices: Vec<io::IoSlice<'_>>;
            let written = if first.len() >= READ_BYTES_MAX {
                stream.try_write(first)
            } else {
                slices = self.pieces.iter().take(64).map(|piece| io::IoSlice::new(piece)).collect();
                stream.try_write_vectored(&slices)
            };
            match written {
                Ok(length) => self.advance(length),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn advance(&mut self, mut length: usize) {
        while let Some(first) = self.pieces.front_mut() {
            let step = length.min(first.len());
            first.advance(step);
            length -= step;
            if !first.is_empty() {
                return;
            }
            self.pieces.pop_front();
        }
    }
}
