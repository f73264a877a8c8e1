//! A connection: how it is made, what was agreed for it, and how it ends. The verbs are in `calls`, the bytes in `pump`.

mod calls;
mod pump;
mod stream;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mq_channel::{ClientConfig, ClientConnection, ClientEvent, ClientTerms};
use mq_wire::QMgrName;
use tokio::net::TcpStream;
use tokio::time;

use crate::error::{BreakCause, ClientError};
use crate::ids::Ids;
use crate::options::ConnectOptions;
use pump::now;
use stream::Stream;
pub use stream::Transport;

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
    stream: Stream,
    machine: ClientConnection,
    buffer: Box<[u8]>,
    usable: bool,
    /// The queue manager ended the connection right after its last answer.
    ended: Option<BreakCause>,
    qmgr_name: QMgrName,
    connection_id: [u8; 24],
    terms: ClientTerms,
    reply_timeout: Duration,
    /// For messages that are put without an answer.
    ids: Ids,
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
        Self::start(Stream::Tcp(stream), options, begun).await
    }

    /// The same over a connection that has been made already, whatever it is: host and port of the options say nothing
    /// then.
    pub async fn over(transport: impl Transport, options: &ConnectOptions) -> Result<Self, ClientError> {
        Self::start(Stream::Other(Box::new(transport)), options, now()).await
    }

    async fn start(stream: Stream, options: &ConnectOptions, begun: Instant) -> Result<Self, ClientError> {
        let mut connection = Self {
            stream,
            machine: ClientConnection::new(Arc::new(config(options)), begun),
            buffer: vec![0; READ_BYTES_MAX].into(),
            usable: false,
            ended: None,
            qmgr_name: QMgrName::BLANK,
            connection_id: [0; 24],
            terms: NOTHING_AGREED,
            reply_timeout: options.reply_timeout,
            ids: Ids::default(),
        };
        match connection.next_event().await {
            Ok(ClientEvent::Connected { qmgr_name, connection_id, .. }) => {
                connection.terms = connection.machine.terms().ok_or(ClientError::Unusable)?;
                connection.usable = true;
                (connection.qmgr_name, connection.connection_id) = (qmgr_name, connection_id);
                Ok(connection)
            }
            Ok(ClientEvent::Refused(reason)) => {
                connection.flush_end().await;
                Err(ClientError::Refused { qmgr_name: options.qmgr_name, reason })
            }
            Ok(ClientEvent::Reply { .. } | ClientEvent::Reserved { .. }) => Err(ClientError::Unusable),
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

    /// The id of the connection, as the queue manager shows it; zeros from those that give none.
    pub fn connection_id(&self) -> [u8; 24] {
        self.connection_id
    }

    /// The longest message that the channel takes, in bytes.
    pub fn max_msg_length(&self) -> u32 {
        self.terms.max_msg_length
    }

    /// What was agreed with the queue manager when the channel started.
    pub fn terms(&self) -> ClientTerms {
        self.terms
    }

    /// Whether calls can be made: not after a broken or abandoned one, nor when the end has come.
    pub fn is_usable(&self) -> bool {
        self.usable && self.ended.is_none()
    }
}

/// Before a channel has started.
const NOTHING_AGREED: ClientTerms = ClientTerms {
    fap_level: 0,
    max_msg_length: 0,
    segment_bytes_max: 0,
    heartbeat_s: 0,
    splits_messages: false,
    unanswered_puts: false,
};

fn config(options: &ConnectOptions) -> ClientConfig {
    ClientConfig {
        qmgr_name: options.qmgr_name,
        user: options.user.clone(),
        password: options.password.clone(),
        appl_name: options.appl_name,
        max_msg_length: options.max_msg_length,
        heartbeat_s: options.heartbeat_s,
        offers_unanswered_puts: options.asynchronous_puts,
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
