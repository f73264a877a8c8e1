//! What a connection's bytes go through: a TCP socket, or whatever else carries them in order.

use std::fmt::Debug;
use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Carries bytes both ways, in order, until it ends.
pub trait Transport: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin + 'static> Transport for T {}

#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Other(Box<dyn Transport>),
}

impl Stream {
    /// Reads what is there, without waiting for more; zero is the end. A socket itself is asked: the runtime learns of what
    /// came only when it next looks, and that may be after a commit was sent into a connection that had ended.
    pub(super) async fn read_now(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let stream = match self {
            Self::Tcp(stream) => stream,
            Self::Other(stream) => {
                let mut buffer = ReadBuf::new(buffer);
                let read =
                    poll_fn(|cx| Poll::Ready(Pin::new(&mut **stream).poll_read(cx, &mut buffer))).await;
                return match read {
                    Poll::Pending => Ok(None),
                    Poll::Ready(read) => read.map(|()| Some(buffer.filled().len())),
                };
            }
        };
        match socket2::SockRef::from(&*stream).peek(&mut [MaybeUninit::uninit()]) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
        loop {
            stream.readable().await?;
            match stream.try_read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read.map(Some),
            }
        }
    }

    fn transport(&mut self) -> Pin<&mut dyn Transport> {
        match self {
            Self::Tcp(stream) => Pin::new(stream),
            Self::Other(stream) => Pin::new(&mut **stream),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.transport().poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.transport().poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.transport().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.transport().poll_shutdown(cx)
    }
}
