//! Sockets of the simulated network, used as real ones are. A link that is cut says nothing: probes find out, as the
//! kernel's do ([`PROBE_EVERY`]).

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::BytesMut;
use mq_client::{ClientError, ConnectOptions, Connection};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::sync::Notify;
use tokio::time::Sleep;
use turmoil::net::{TcpListener, TcpStream};

use super::context::{self, Socket};
use crate::clock;

/// How often a socket looks whether its peer can be reached; the real one does it after a minute.
const PROBE_EVERY: Duration = Duration::from_secs(5);

/// Connects to a queue manager.
pub(crate) async fn connect(options: &ConnectOptions) -> Result<Connection, ClientError> {
    let connecting = Stream::connect(&options.host, options.port);
    let connected = tokio::time::timeout(options.connect_timeout, connecting).await;
    match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(stream) => Connection::over(stream, options).await,
        Err(source) => {
            Err(ClientError::Unreachable { host: options.host.clone(), port: options.port, source })
        }
    }
}

/// A host's kernel: it hangs up when its processes are gone, in an order that the seed decides.
#[derive(Debug)]
pub(crate) struct Kernel {
    host: String,
    killed: Notify,
}

impl Kernel {
    pub(crate) fn of(host: &str) -> Self {
        Self { host: host.to_owned(), killed: Notify::new() }
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The processes of the host are killed in its next tick.
    pub(crate) fn kill(&self) {
        self.killed.notify_one();
    }

    /// Runs the software of the host.
    pub(crate) async fn run(
        self: Rc<Self>,
        software: impl Future<Output = turmoil::Result>,
    ) -> turmoil::Result {
        let kernel = Rc::clone(&self);
        tokio::task::spawn_local(async move {
            kernel.killed.notified().await;
            kernel.hang_up();
        });
        let outcome = software.await;
        self.hang_up();
        outcome
    }

    fn hang_up(&self) {
        for socket in context::sockets(turmoil::lookup(self.host.as_str())) {
            drop(socket.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

/// A listening socket.
pub(crate) struct Listener(TcpListener);

impl Listener {
    pub(crate) async fn bind(port: u16) -> io::Result<Self> {
        TcpListener::bind(("0.0.0.0", port)).await.map(Self)
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    pub(crate) async fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        let (stream, peer) = self.0.accept().await?;
        Ok((Stream::new(stream)?, peer))
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listener").field(&self.0.local_addr()).finish()
    }
}

/// A connected socket.
#[derive(Debug)]
pub(crate) struct Stream {
    socket: Arc<Socket>,
    local: SocketAddr,
    peer: SocketAddr,
    /// How often its link had been cut when it was connected.
    cuts: u64,
    probe: Pin<Box<Sleep>>,
}

impl Stream {
    fn new(socket: TcpStream) -> io::Result<Self> {
        let (local, peer) = (socket.local_addr()?, socket.peer_addr()?);
        let cuts = context::cuts(local.ip(), peer.ip());
        let socket = Arc::new(Mutex::new(Some(socket)));
        context::opened(local.ip(), &socket);
        Ok(Self { socket, local, peer, cuts, probe: Box::pin(tokio::time::sleep(PROBE_EVERY)) })
    }

    pub(crate) async fn connect(host: &str, port: u16) -> io::Result<Self> {
        Self::new(TcpStream::connect((host, port)).await?)
    }

    /// Returns when it can be read, or written if that is of interest too.
    pub(crate) async fn ready(&mut self, interest: Interest) -> io::Result<Ready> {
        poll_fn(|cx| self.poll_ready(interest, cx)).await
    }

    fn poll_ready(&mut self, interest: Interest, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        self.probe(cx)?;
        self.with(|socket| {
            let mut ready = Ready::EMPTY;
            let mut byte = [0];
            // Whoever reads finds the error.
            if interest.is_readable() && socket.poll_peek(cx, &mut ReadBuf::new(&mut byte)).is_ready() {
                ready |= Ready::READABLE;
            }
            if interest.is_writable()
                && let Poll::Ready(outcome) = pin!(socket.writable()).poll(cx)
            {
                outcome?;
                ready |= Ready::WRITABLE;
            }
            Ok(if ready.is_empty() { Poll::Pending } else { Poll::Ready(Ok(ready)) })
        })?
    }

    /// Fails where it was hung up.
    fn with<T>(&self, f: impl FnOnce(&mut TcpStream) -> io::Result<T>) -> io::Result<T> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        f(socket.as_mut().ok_or(io::ErrorKind::BrokenPipe)?)
    }

    pub(crate) fn try_read_buf(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        let mut piece = [0; 4096];
        let mut read = ReadBuf::new(&mut piece);
        let cx = &mut Context::from_waker(Waker::noop());
        match self.with(|socket| Ok(Pin::new(socket).poll_read(cx, &mut read)))? {
            Poll::Pending => return Err(io::ErrorKind::WouldBlock.into()),
            Poll::Ready(outcome) => outcome?,
        }
        buffer.extend_from_slice(read.filled());
        Ok(read.filled().len())
    }

    pub(crate) fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.with(|socket| socket.try_write(bytes))?;
        context::sent(self.local, self.peer, &bytes[..written]);
        Ok(written)
    }

    pub(crate) async fn shutdown(&mut self) -> io::Result<()> {
        poll_fn(|cx| Pin::new(&mut *self).poll_shutdown(cx)).await
    }

    /// Whether the peer can be reached, as far as probes have told.
    fn probe(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while self.probe.as_mut().poll(cx).is_ready() {
            if context::cuts(self.local.ip(), self.peer.ip()) > self.cuts {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "no probe was answered"));
            }
            self.probe.as_mut().reset((clock::now().instant + PROBE_EVERY).into());
        }
        Ok(())
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.probe(cx)?;
        self.with(|socket| Ok(Pin::new(socket).poll_read(cx, buf)))?
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.probe(cx)?;
        let written = ready!(self.with(|socket| Ok(Pin::new(socket).poll_write(cx, bytes)))?)?;
        context::sent(self.local, self.peer, &bytes[..written]);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|socket| Ok(Pin::new(socket).poll_flush(cx)))?
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|socket| Ok(Pin::new(socket).poll_shutdown(cx)))?
    }
}
