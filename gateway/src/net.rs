//! Sockets: listeners, the accept loop, and a connection's bytes with their bounds. What the bytes mean is for the
//! protocol machines.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use mq_client::{ClientError, ConnectOptions, Connection};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::io::{AsyncWriteExt, Interest, Ready};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock;

/// Connections that may wait to be accepted: ten thousand devices come back at once after an outage.
const BACKLOG: i32 = 4096;

/// Bytes read from a socket at once.
const READ_BYTES_MAX: usize = 64 * 1024;

/// Silence after which the kernel looks whether the peer is still there; then how often, and how often in vain.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 3;

/// How long a closed connection is read from.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// Bytes that a peer takes at least in the time after which it is cut.
const WRITE_BYTES_MIN: usize = 16 * 1024;

/// Bytes taken in at most while we are writing.
const READ_WHILE_WRITING_BYTES_MAX: usize = 1024 * 1024;

/// Connects to a queue manager.
pub(crate) async fn connect(options: &ConnectOptions) -> Result<Connection, ClientError> {
    #[cfg(test)]
    if turmoil::in_simulation() {
        return crate::simulation::connect(options).await;
    }
    Connection::connect(options).await
}

/// Listens on an address; the error says what to do.
pub(crate) fn listen(what: &str, address: SocketAddr) -> anyhow::Result<TcpListener> {
    let bound = || -> io::Result<TcpListener> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        // A restart must not wait for connections of the process before it.
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        TcpListener::from_std(socket.into())
    };
    bound().map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => anyhow::anyhow!(
            "the {what} listener cannot use {address}: another program has the port; stop that one, or give another \
             address with --listen-{what} (port 0 takes any free one)"
        ),
        _ => anyhow::anyhow!("the {what} listener cannot use {address}: {error}"),
    })
}

/// What a connection gets from the accept loop.
pub(crate) struct Accepted {
    /// Its bytes.
    pub(crate) pipe: Pipe,
    /// Who is at the other end.
    pub(crate) peer: SocketAddr,
    /// Whether there are as many connections as allowed: it is to be refused in its own protocol.
    pub(crate) over_limit: bool,
    /// Held while the connection lives.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
}

/// Accepts until stopped; each connection becomes a task of the tracker.
pub(crate) async fn accept<F, Fut>(
    listener: Listener,
    connections: Arc<Semaphore>,
    tracker: TaskTracker,
    stop: CancellationToken,
    serve: F,
) where
    F: Fn(Accepted) -> Fut,
    Fut: Future<Output = ()> + Send + 'static,
{
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let permit = Arc::clone(&connections).try_acquire_owned().ok();
                let over_limit = permit.is_none();
                if let Err(error) = stream.set_up() {
                    tracing::debug!(%peer, %error, "gone before it was served");
                    continue;
                }
                tracker.spawn(serve(Accepted { pipe: Pipe::new(stream), peer, over_limit, permit }));
            }
            Err(error) => {
                // Out of descriptors, usually: those who are connected go on, and ends of connections make room.
                tracing::warn!(%error, "cannot accept a connection; trying again in 100 ms");
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(Duration::from_millis(100)) => {}
                }
            }
        }
    }
}

/// A listening socket.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    #[cfg(test)]
    Simulated(crate::simulation::Listener),
}

impl Listener {
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr(),
            #[cfg(test)]
            Self::Simulated(listener) => listener.local_addr(),
        }
    }

    async fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        match self {
            Self::Tcp(listener) => listener.accept().await.map(|(stream, peer)| (Stream::Tcp(stream), peer)),
            #[cfg(test)]
            Self::Simulated(listener) => {
                listener.accept().await.map(|(stream, peer)| (Stream::Simulated(stream), peer))
            }
        }
    }
}

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    #[cfg(test)]
    Simulated(crate::simulation::Stream),
}

impl Stream {
    /// Requests and answers are small and awaited: nothing may wait for more bytes. A client that vanished without a word
    /// (power, network) holds its unit of work: probes find out, since a server may not send heartbeats to every client
    /// (mq-wire-observed-base.md 7).
    fn set_up(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                let keepalive = TcpKeepalive::new()
                    .with_time(KEEPALIVE_AFTER)
                    .with_interval(KEEPALIVE_EVERY)
                    .with_retries(KEEPALIVE_PROBES);
                SockRef::from(stream).set_tcp_keepalive(&keepalive)
            }
            #[cfg(test)]
            Self::Simulated(_) => Ok(()),
        }
    }

    async fn ready(&mut self, interest: Interest) -> io::Result<Ready> {
        match self {
            Self::Tcp(stream) => stream.ready(interest).await,
            #[cfg(test)]
            Self::Simulated(stream) => stream.ready(interest).await,
        }
    }

    fn try_read_buf(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_read_buf(buffer),
            #[cfg(test)]
            Self::Simulated(stream) => stream.try_read_buf(buffer),
        }
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            #[cfg(test)]
            Self::Simulated(stream) => stream.try_write(bytes),
        }
    }

    async fn shutdown(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown().await,
            #[cfg(test)]
            Self::Simulated(stream) => stream.shutdown().await,
        }
    }
}

/// The bytes of a connection.
#[derive(Debug)]
pub(crate) struct Pipe {
    stream: Stream,
    /// What came while we were writing.
    buffer: BytesMut,
    /// The peer has ended its side.
    ended: bool,
}

impl Pipe {
    /// The bytes of this socket.
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, buffer: BytesMut::new(), ended: false }
    }

    /// What came next; none at the end. Cancel safe. An idle connection holds no buffer.
    pub(crate) async fn read(&mut self) -> io::Result<Option<Bytes>> {
        while self.buffer.is_empty() && !self.ended {
            self.stream.ready(Interest::READABLE).await?;
            self.take_in()?;
        }
        if self.buffer.is_empty() {
            return Ok(None);
        }
        Ok(Some(std::mem::take(&mut self.buffer).freeze()))
    }

    /// Writes all of it. A peer that takes less than [`WRITE_BYTES_MIN`] in `stall_max` is cut: what it holds back is
    /// memory of everybody.
    ///
    /// What the peer sends meanwhile is taken in, up to a bound: two ends that both write and do not read would wait
    /// for each other.
    pub(crate) async fn write(&mut self, mut bytes: Bytes, stall_max: Duration) -> io::Result<()> {
        let mut deadline = clock::now().instant + stall_max;
        let mut left_then = bytes.len();
        while bytes.has_remaining() {
            let reads = !self.ended && self.buffer.len() < READ_WHILE_WRITING_BYTES_MAX;
            let interest = if reads { Interest::READABLE | Interest::WRITABLE } else { Interest::WRITABLE };
            let Ok(ready) = tokio::time::timeout_at(deadline.into(), self.stream.ready(interest)).await
            else {
                let text = format!("it took next to nothing for {} s", stall_max.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            };
            let ready = ready?;
            if ready.is_writable() {
                match self.stream.try_write(&bytes) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(written) => {
                        bytes.advance(written);
                        if left_then - bytes.len() >= WRITE_BYTES_MIN {
                            deadline = clock::now().instant + stall_max;
                            left_then = bytes.len();
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
            if reads && ready.is_readable() {
                self.take_in()?;
            }
        }
        Ok(())
    }

    /// Writes what a machine has to say; small pieces together.
    pub(crate) async fn write_from(
        &mut self,
        mut next: impl FnMut() -> Option<Bytes>,
        stall_max: Duration,
    ) -> io::Result<()> {
        let Some(first) = next() else { return Ok(()) };
        let Some(second) = next() else { return self.write(first, stall_max).await };
        let mut joined = BytesMut::from(&first[..]);
        joined.extend_from_slice(&second);
        while let Some(more) = next() {
            joined.extend_from_slice(&more);
        }
        self.write(joined.freeze(), stall_max).await
    }

    /// Takes in what is there.
    fn take_in(&mut self) -> io::Result<()> {
        let before = self.buffer.len();
        self.buffer.reserve(READ_BYTES_MAX);
        match self.stream.try_read_buf(&mut self.buffer) {
            Ok(read) => self.ended = read == 0,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if before == 0 && self.buffer.is_empty() {
            self.buffer = BytesMut::new();
        }
        Ok(())
    }

    /// Ends the sending side, and reads what the peer still sends until it ends too or [`DRAIN_MAX`] is over: a close
    /// with bytes unread would reset the connection, and the peer might never read our last words.
    pub(crate) async fn close(mut self) {
        // A peer that is gone already does not need to be told.
        let _ = self.stream.shutdown().await;
        let drain = async {
            let mut scratch = BytesMut::with_capacity(4096);
            while self.stream.ready(Interest::READABLE).await.is_ok() {
                match self.stream.try_read_buf(&mut scratch) {
                    Ok(0) => return,
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
                    _ => scratch.clear(),
                }
            }
        };
        // Late or in time: the socket is closed now.
        let _ = tokio::time::timeout(DRAIN_MAX, drain).await;
    }
}
