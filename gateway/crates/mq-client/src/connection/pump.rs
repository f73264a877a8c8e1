//! Bytes between socket and machine, one call at a time. What the calls mean is in `calls`.

use std::io;
use std::time::{Duration, Instant};

use mq_channel::{ClientEvent, OwnerError, Reply, Request};
use mq_wire::CompCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time;

use super::Connection;
use crate::error::{BreakCause, ClientError};

/// How long the last words may take that nobody waits for.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_secs(1);

impl Connection {
    /// One call: what the queue manager answered unless that is a failure.
    pub(super) async fn call(&mut self, request: Request) -> Result<Reply, ClientError> {
        let name = request.name();
        match self.exchange(name, request).await? {
            ClientEvent::Reply { reply, .. } => match reply.outcome() {
                (CompCode::FAILED, reason) => Err(ClientError::Call { call: name, reason }),
                _ => Ok(reply),
            },
            _ => Err(self.unexpected()),
        }
    }

    /// One call: the event that answers it.
    pub(super) async fn exchange(
        &mut self,
        call: &'static str,
        request: Request,
    ) -> Result<ClientEvent, ClientError> {
        self.begin(call).await?;
        let decides = matches!(request, Request::Commit | Request::Disconnect);
        self.machine.call(now(), request).map_err(|error| not_made(call, error))?;
        // Until the answer is there: a future that is dropped leaves the connection so.
        self.usable = false;
        match self.next_event().await {
            Ok(event) => {
                self.usable = true;
                Ok(event)
            }
            Err(source) => {
                tracing::debug!(call, error = %source, "connection broken");
                if decides {
                    return Err(ClientError::OutcomeUnknown { call, source });
                }
                Err(ClientError::Broken { call, source })
            }
        }
    }

    /// A put that is not answered: it is done when all of it has been given to the socket.
    pub(super) async fn tell(&mut self, call: &'static str, request: Request) -> Result<(), ClientError> {
        self.begin(call).await?;
        self.machine.put(request).map_err(|error| not_made(call, error))?;
        self.usable = false;
        let patience = Some(now() + self.reply_timeout);
        self.send(patience).await.map_err(|source| ClientError::Broken { call, source })?;
        self.usable = true;
        Ok(())
    }

    /// Moves bytes until the machine has an event.
    pub(super) async fn next_event(&mut self) -> Result<ClientEvent, BreakCause> {
        loop {
            // First what is known: a refusal counts even if the socket takes no last word from us.
            if let Some(event) = self.machine.poll_event() {
                return Ok(event);
            }
            self.send(None).await?;
            match within(self.machine.poll_timeout(), self.stream.read(&mut self.buffer)).await {
                None => self.machine.handle_timeout(now())?,
                Some(read) => {
                    let length = read?;
                    if let Err(source) = self.received(length) {
                        // The answer may have come before the end, and in the same bytes: it counts. The end is told
                        // to the next call, which is not made.
                        let Some(event) = self.machine.poll_event() else { return Err(source) };
                        self.ended = Some(source);
                        return Ok(event);
                    }
                }
            }
        }
    }

    /// Sends what the machine still has to say and ends the stream. The result is known by now: what goes wrong here
    /// matters to nobody, and takes no longer than a moment.
    pub(super) async fn flush_end(&mut self) {
        self.usable = false;
        let end = async {
            while let Some(bytes) = self.machine.poll_output() {
                self.stream.write_all(&bytes).await?;
            }
            self.stream.shutdown().await
        };
        if let Ok(Err(error)) = time::timeout(LAST_WORDS_TIMEOUT, end).await {
            tracing::trace!(%error, "the socket was gone before its end");
        }
    }

    /// The machine checks that replies fit their requests; this is for what it would miss.
    pub(super) fn unexpected(&mut self) -> ClientError {
        self.usable = false;
        ClientError::Unusable
    }

    /// Looks at what has come between two calls. If the queue manager has ended the connection, the call is not made,
    /// and its caller is told so: that is more than is known about a call that breaks.
    async fn begin(&mut self, call: &'static str) -> Result<(), ClientError> {
        if !self.usable {
            return Err(ClientError::Unusable);
        }
        if let Some(source) = self.ended.take() {
            self.usable = false;
            return Err(ClientError::Ended { call, source });
        }
        self.take_what_came().await.map_err(|source| {
            self.usable = false;
            ClientError::Ended { call, source }
        })
    }

    /// Reads what is there, without waiting for more.
    async fn take_what_came(&mut self) -> Result<(), BreakCause> {
        loop {
            let Some(length) = self.stream.read_now(&mut self.buffer).await? else { return Ok(()) };
            self.received(length)?;
        }
    }

    /// So many bytes are in the buffer; none is the end of the stream.
    fn received(&mut self, length: usize) -> Result<(), BreakCause> {
        if length == 0 {
            self.machine.handle_end_of_stream()?;
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(self.machine.handle_bytes(now(), &self.buffer[..length])?)
    }

    /// Sends all that there is; the machine says by when, else `patience`.
    async fn send(&mut self, patience: Option<Instant>) -> Result<(), BreakCause> {
        while let Some(bytes) = self.machine.poll_output() {
            let deadline = self.machine.poll_timeout().or(patience);
            match within(deadline, self.stream.write_all(&bytes)).await {
                None => return Err(io::Error::from(io::ErrorKind::TimedOut).into()),
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    // A queue manager that ends the channel while we send has said why.
                    self.take_what_came().await?;
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }
}

/// The machine did not take the call, so nothing was sent.
fn not_made(call: &'static str, error: OwnerError) -> ClientError {
    match error {
        OwnerError::MessageLength { length, max } => ClientError::TooLongForChannel { length, max },
        error => ClientError::Broken { call, source: error.into() },
    }
}

/// The result, or `None` if it does not come in time.
async fn within<T>(deadline: Option<Instant>, future: impl Future<Output = T>) -> Option<T> {
    match deadline {
        None => Some(future.await),
        Some(at) => time::timeout_at(at.into(), future).await.ok(),
    }
}

/// The runtime's clock, which tests can stop.
pub(super) fn now() -> Instant {
    time::Instant::now().into_std()
}
