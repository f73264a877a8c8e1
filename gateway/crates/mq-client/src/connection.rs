//! A connection: the socket, the machine, and one method for each verb.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mq_channel::{ClientConfig, ClientConnection, ClientEvent, OpenDefaults, OwnerError, Reply, Request};
use mq_wire::{CloseOptions, CompCode, Mqgmo, Mqmd, Mqod, Mqpmo, OpenOptions, QMgrName, Reason, Selector};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time;

use crate::error::{BreakCause, ClientError};
use crate::options::ConnectOptions;

/// Bytes taken from the socket at once: two of the longest segments.
const READ_BYTES_MAX: usize = 64 * 1024;
/// Idle time after which the operating system asks whether the other end still lives.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// A connection to a queue manager.
///
/// Dropping it closes the socket: the queue manager then backs out the unit of work. To keep what was done, commit,
/// or [`disconnect`](Self::disconnect), which commits.
///
/// **Cancel safety**: a future of one of the methods that is dropped before it is ready may leave half a call on the
/// socket. Nothing is known about that call, so the connection is unusable from then on (2009) and only good to be
/// dropped.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    machine: ClientConnection,
    buffer: Box<[u8]>,
    usable: bool,
    qmgr_name: QMgrName,
    connection_id: [u8; 24],
    max_msg_length: u32,
}

/// An open object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Its handle.
    pub handle: i32,
    /// Warning, or NONE.
    pub reason: Reason,
    /// The descriptor with the names that were resolved.
    pub od: Mqod,
    /// What its definition says about puts and gets.
    pub defaults: OpenDefaults,
}

/// A message that was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// Warning, or NONE.
    pub reason: Reason,
    /// With ids and context filled in.
    pub md: Mqmd,
    /// With the resolved names.
    pub pmo: Mqpmo,
}

/// A message that was got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Got {
    /// Warning, or NONE: with `TRUNCATED_MSG_ACCEPTED` the rest of the message is gone.
    pub reason: Reason,
    /// Its descriptor.
    pub md: Mqmd,
    /// With the resolved name and the status bytes.
    pub gmo: Mqgmo,
    /// The length of the whole message.
    pub total_length: u32,
    /// Its data.
    pub data: Bytes,
}

/// Attributes of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inquired {
    /// Warning, or NONE.
    pub reason: Reason,
    /// The integers, in the order of their selectors.
    pub ints: Vec<i32>,
    /// The characters, in the order of their selectors, each with its fixed length.
    pub chars: Vec<u8>,
}

impl Connection {
    /// Connects: socket, channel, MQCONN.
    pub async fn connect(options: &ConnectOptions) -> Result<Self, ClientError> {
        let begun = now();
        let unreachable =
            |source| ClientError::Unreachable { host: options.host.clone(), port: options.port, source };
        let socket = TcpStream::connect((options.host.as_str(), options.port));
        let stream = match time::timeout(options.connect_timeout, socket).await {
            Ok(stream) => stream.map_err(unreachable)?,
            Err(_) => return Err(unreachable(io::ErrorKind::TimedOut.into())),
        };
        prepare(&stream).map_err(unreachable)?;
        tracing::trace!(host = options.host, port = options.port, channel = %options.channel, "socket connected");
        let mut connection = Self {
            stream,
            machine: ClientConnection::new(Arc::new(config(options)), begun),
            buffer: vec![0; READ_BYTES_MAX].into(),
            usable: false,
            qmgr_name: QMgrName::BLANK,
            connection_id: [0; 24],
            max_msg_length: 0,
        };
        match connection.next_event().await {
            Ok(ClientEvent::Connected { qmgr_name, connection_id, max_msg_length }) => {
                connection.usable = true;
                (connection.qmgr_name, connection.connection_id) = (qmgr_name, connection_id);
                connection.max_msg_length = max_msg_length;
                Ok(connection)
            }
            Ok(ClientEvent::Refused(reason)) => {
                connection.flush_end().await;
                Err(ClientError::Refused { qmgr_name: options.qmgr_name, reason })
            }
            Ok(ClientEvent::Reply { .. }) => Err(ClientError::Unusable),
            Err(BreakCause::Protocol(source)) => {
                connection.flush_end().await;
                Err(ClientError::Channel { channel: options.channel, reason: source.reason(), source })
            }
            Err(source) => Err(ClientError::Broken { call: "MQCONN", source }),
        }
    }

    /// The real name of the queue manager.
    pub fn qmgr_name(&self) -> QMgrName {
        self.qmgr_name
    }

    /// The id of the connection, as the queue manager shows it.
    pub fn connection_id(&self) -> [u8; 24] {
        self.connection_id
    }

    /// The longest message that the channel takes, in bytes.
    pub fn max_msg_length(&self) -> u32 {
        self.max_msg_length
    }

    /// Whether calls can be made: not after a broken or abandoned one.
    pub fn is_usable(&self) -> bool {
        self.usable
    }

    /// MQOPEN.
    pub async fn open(&mut self, od: Mqod, options: OpenOptions) -> Result<Opened, ClientError> {
        match self.call(Request::Open { od: Box::new(od), options }).await? {
            Reply::Open { reason, handle, od, defaults, .. } => {
                Ok(Opened { handle, reason, od: *od, defaults })
            }
            _ => Err(self.unexpected()),
        }
    }

    /// MQCLOSE.
    pub async fn close(&mut self, handle: i32, options: CloseOptions) -> Result<(), ClientError> {
        self.call(Request::Close { handle, options }).await.map(drop)
    }

    /// MQPUT. With a warning the message was put all the same.
    pub async fn put(&mut self, handle: i32, md: Mqmd, pmo: Mqpmo, data: Bytes) -> Result<Put, ClientError> {
        match self.call(Request::Put { handle, md, pmo, data }).await? {
            Reply::Put { reason, md, pmo, .. } => Ok(Put { reason, md, pmo }),
            _ => Err(self.unexpected()),
        }
    }

    /// MQPUT1. With a warning the message was put all the same.
    pub async fn put1(&mut self, od: Mqod, md: Mqmd, pmo: Mqpmo, data: Bytes) -> Result<Put, ClientError> {
        match self.call(Request::Put1 { od: Box::new(od), md, pmo, data }).await? {
            Reply::Put1 { reason, md, pmo, .. } => Ok(Put { reason, md, pmo }),
            _ => Err(self.unexpected()),
        }
    }

    /// MQGET; `None` if no message fits, or none came while it waited (2033). How long it waits is in `gmo`
    /// (`GetOptions::WAIT` and `wait_interval`), and the answer is awaited at least as long.
    ///
    /// A message longer than `buffer_length` is an error and stays on its queue, unless `gmo` has
    /// `ACCEPT_TRUNCATED_MSG`.
    pub async fn get(
        &mut self,
        handle: i32,
        md: Mqmd,
        gmo: Mqgmo,
        buffer_length: u32,
    ) -> Result<Option<Got>, ClientError> {
        match self.call(Request::Get { handle, md, gmo, buffer_length }).await {
            Ok(Reply::Get { reason: Reason::TRUNCATED_MSG_FAILED, total_length, .. }) => {
                // A longer buffer would not help: no longer one is ever asked for.
                if total_length > self.max_msg_length {
                    let (length, max) = (total_length as usize, self.max_msg_length);
                    return Err(ClientError::TooLongForChannel { length, max });
                }
                Err(ClientError::TooLongForBuffer { total_length })
            }
            Ok(Reply::Get { reason, md, gmo, total_length, data, .. }) => {
                Ok(Some(Got { reason, md, gmo, total_length, data }))
            }
            Ok(_) => Err(self.unexpected()),
            Err(ClientError::Call { reason: Reason::NO_MSG_AVAILABLE, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// MQINQ. `char_length` is the sum of the lengths of the character attributes.
    pub async fn inquire(
        &mut self,
        handle: i32,
        selectors: Vec<Selector>,
        char_length: u32,
    ) -> Result<Inquired, ClientError> {
        // MQIA_*: up to 2000; MQCA_*: above (mq-wire.md 10.4).
        let ints = selectors.iter().filter(|selector| selector.0 <= 2000).count();
        let int_count = u32::try_from(ints).unwrap_or(u32::MAX);
        match self.call(Request::Inquire { handle, selectors, int_count, char_length }).await? {
            Reply::Inquire { reason, ints, chars, .. } => Ok(Inquired { reason, ints, chars }),
            _ => Err(self.unexpected()),
        }
    }

    /// MQSET: integers and characters in the order of their selectors.
    pub async fn set(
        &mut self,
        handle: i32,
        selectors: Vec<Selector>,
        ints: Vec<i32>,
        chars: Vec<u8>,
    ) -> Result<(), ClientError> {
        self.call(Request::Set { handle, selectors, ints, chars }).await.map(drop)
    }

    /// MQCMIT. If it breaks, nobody knows whether the unit of work was committed.
    pub async fn commit(&mut self) -> Result<(), ClientError> {
        self.call(Request::Commit).await.map(drop)
    }

    /// MQBACK.
    pub async fn back(&mut self) -> Result<(), ClientError> {
        self.call(Request::Back).await.map(drop)
    }

    /// MQDISC, which **commits** an open unit of work, and the end of the socket. To back out, call
    /// [`back`](Self::back) first, or drop the connection.
    pub async fn disconnect(mut self) -> Result<(), ClientError> {
        self.call(Request::Disconnect).await?;
        self.flush_end().await;
        Ok(())
    }

    /// One call: what the queue manager answered unless that is a failure.
    async fn call(&mut self, request: Request) -> Result<Reply, ClientError> {
        let name = request.name();
        if !self.usable {
            return Err(ClientError::Unusable);
        }
        match self.machine.call(now(), request) {
            Ok(_) => {}
            Err(OwnerError::MessageLength { length, max }) => {
                return Err(ClientError::TooLongForChannel { length, max });
            }
            Err(error) => return Err(ClientError::Broken { call: name, source: error.into() }),
        }
        // Until the answer is there: a future that is dropped leaves the connection so.
        self.usable = false;
        match self.next_event().await {
            Ok(ClientEvent::Reply { reply, .. }) => {
                self.usable = true;
                match reply.outcome() {
                    (CompCode::FAILED, reason) => Err(ClientError::Call { call: name, reason }),
                    _ => Ok(reply),
                }
            }
            Ok(_) => Err(ClientError::Unusable),
            Err(source) => {
                tracing::debug!(call = name, error = %source, "connection broken");
                Err(ClientError::Broken { call: name, source })
            }
        }
    }

    /// Moves bytes until the machine has an event.
    async fn next_event(&mut self) -> Result<ClientEvent, BreakCause> {
        loop {
            // First what is known: a refusal counts even if the socket takes no last word from us.
            if let Some(event) = self.machine.poll_event() {
                return Ok(event);
            }
            self.send().await?;
            match within(self.machine.poll_timeout(), self.stream.read(&mut self.buffer)).await {
                None => self.machine.handle_timeout(now())?,
                Some(read) => match read? {
                    0 => {
                        self.machine.handle_end_of_stream()?;
                        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                    }
                    length => self.machine.handle_bytes(now(), &self.buffer[..length])?,
                },
            }
        }
    }

    async fn send(&mut self) -> Result<(), BreakCause> {
        while let Some(bytes) = self.machine.poll_output() {
            match within(self.machine.poll_timeout(), self.stream.write_all(&bytes)).await {
                None => return Err(io::Error::from(io::ErrorKind::TimedOut).into()),
                Some(written) => written?,
            }
        }
        Ok(())
    }

    /// Sends what the machine still has to say and ends the stream. The result is known by now: what goes wrong here
    /// matters to nobody, and takes no longer than a moment.
    async fn flush_end(&mut self) {
        self.usable = false;
        let end = async {
            while let Some(bytes) = self.machine.poll_output() {
                self.stream.write_all(&bytes).await?;
            }
            self.stream.shutdown().await
        };
        if let Ok(Err(error)) = time::timeout(Duration::from_secs(1), end).await {
            tracing::trace!(%error, "the socket was gone before its end");
        }
    }

    /// The machine checks that replies fit their requests; this is for what it would miss.
    fn unexpected(&mut self) -> ClientError {
        self.usable = false;
        ClientError::Unusable
    }
}

fn config(options: &ConnectOptions) -> ClientConfig {
    ClientConfig {
        qmgr_name: options.qmgr_name,
        user: options.user.clone(),
        password: options.password.clone(),
        appl_name: options.appl_name,
        max_msg_length: options.max_msg_length,
        handshake_timeout: options.connect_timeout,
        reply_timeout: options.reply_timeout,
        ..ClientConfig::new(options.channel)
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    // Calls and replies are small and awaited: nothing is gained by holding them back.
    stream.set_nodelay(true)?;
    // No heartbeats flow between calls (mq-wire.md 3.11), so only this finds a host that is gone.
    let keepalive = socket2::TcpKeepalive::new().with_time(KEEPALIVE);
    socket2::SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

/// The result, or `None` if it does not come in time.
async fn within<T>(deadline: Option<Instant>, future: impl Future<Output = T>) -> Option<T> {
    match deadline {
        None => Some(future.await),
        Some(at) => time::timeout_at(at.into(), future).await.ok(),
    }
}

/// The runtime's clock, which tests can stop.
fn now() -> Instant {
    time::Instant::now().into_std()
}
