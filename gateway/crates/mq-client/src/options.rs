//! Where to connect, and as whom.

use std::time::Duration;

use mq_channel::Password;
use mq_wire::{ApplName, ChannelName, Chars, NameError, QMgrName};

/// The port that MQ has when none is given (mq-wire.md 0.2).
const DEFAULT_PORT: u16 = 1414;

/// Everything that a connection needs to know before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectOptions {
    /// The server-connection channel.
    pub channel: ChannelName,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// The queue manager wanted; blank takes any.
    pub qmgr_name: QMgrName,
    /// User, when the queue manager is to be told one.
    pub user: String,
    /// Password of `user`. It goes over the wire in clear: FAP 12 has no protection for it (mq-wire.md 3.5).
    pub password: Option<Password>,
    /// The name under which the queue manager shows this application.
    pub appl_name: ApplName,
    /// The longest message that this side takes, in bytes. The channel may allow less.
    pub max_msg_length: u32,
    /// Seconds between signs of life of the queue manager in a waiting get; 0 for none. The larger of both ends' values
    /// counts. A queue manager silent for a good while longer is taken for dead.
    pub heartbeat_s: u32,
    /// Whether to ask for puts without answers. Where the queue manager agrees, a put with
    /// `PutOptions::ASYNC_RESPONSE` is not waited for; where not, it is put all the same, and waited for.
    pub asynchronous_puts: bool,
    /// The most time that connecting may take, from the socket to the answer of MQCONN.
    pub connect_timeout: Duration,
    /// The most time that the queue manager may take for an answer, beyond the wait interval of a get.
    pub reply_timeout: Duration,
}

impl ConnectOptions {
    /// Options for a channel at a host and port, with defaults for all else.
    pub fn new(channel: ChannelName, host: impl Into<String>, port: u16) -> Self {
        Self {
            channel,
            host: host.into(),
            port,
            qmgr_name: QMgrName::BLANK,
            user: String::new(),
            password: None,
            appl_name: Chars::cut("mq-client"),
            max_msg_length: 100 * 1024 * 1024,
            heartbeat_s: 60,
            asynchronous_puts: true,
            connect_timeout: Duration::from_secs(30),
            reply_timeout: Duration::from_secs(60),
        }
    }

    /// Reads `CHANNEL/TCP/host(port)`, the form of MQSERVER. Without `(port)` it is 1414.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let form = || ParseError::Form { text: text.to_owned() };
        let mut parts = text.trim().splitn(3, '/');
        let (Some(channel), Some(transport), Some(address)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(form());
        };
        let channel = channel.parse().map_err(ParseError::Channel)?;
        if address.contains(',') {
            return Err(form());
        }
        if !transport.eq_ignore_ascii_case("TCP") {
            return Err(ParseError::Transport { transport: transport.to_owned() });
        }
        let (host, port) = match address.split_once('(') {
            None => (address, DEFAULT_PORT),
            Some((host, rest)) => {
                let digits = rest.strip_suffix(')').ok_or_else(form)?;
                let port = digits.parse().ok().filter(|port| *port != 0);
                (host, port.ok_or_else(|| ParseError::Port { port: digits.to_owned() })?)
            }
        };
        if host.is_empty() || host.contains([')', ' ']) {
            return Err(form());
        }
        Ok(Self::new(channel, host, port))
    }
}

/// A text that says no place to connect to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Another form.
    #[error("{text:?} is not of the form CHANNEL/TCP/host(port), for one host")]
    Form {
        /// The text.
        text: String,
    },
    /// No channel name.
    #[error("the channel: {0}")]
    Channel(NameError),
    /// Another transport.
    #[error("the transport {transport:?}: only TCP can be used")]
    Transport {
        /// The word.
        transport: String,
    },
    /// No port number.
    #[error("the port {port:?}: write a number from 1 to 65535 between the parentheses")]
    Port {
        /// What stands there.
        port: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let check = |text: &str, channel: &str, host: &str, port: u16| {
            let options = ConnectOptions::parse(text).unwrap();
            let found = (options.channel.to_string(), options.host.as_str(), options.port);
            assert_eq!(found, (channel.to_owned(), host, port), "{text}");
        };
        check("DEV.APP.SVRCONN/TCP/127.0.0.1(1414)", "DEV.APP.SVRCONN", "127.0.0.1", 1414);
        check("A/tcp/mq.example.com(2000)", "A", "mq.example.com", 2000);
        check(" A/TCP/localhost ", "A", "localhost", 1414);
        check("A/TCP/::1(1415)", "A", "::1", 1415);
    }

    #[test]
    fn mistakes_are_named() {
        let check = |text: &str, part: &str| {
            let message = ConnectOptions::parse(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        };
        check("", "CHANNEL/TCP/host(port)");
        check("A/TCP", "CHANNEL/TCP/host(port)");
        check("A/TCP/", "CHANNEL/TCP/host(port)");
        check("A/TCP/h(1", "CHANNEL/TCP/host(port)");
        check("A/TCP/h(1),i(2)", "one host");
        check("A/LU62/h(1)", "only TCP");
        check("A/TCP/h(0)", "65535");
        check("A/TCP/h(99999)", "65535");
        check("/TCP/h(1)", "blank");
        check("A B/TCP/h(1)", "the channel");
        check("TWENTY.ONE.CHARACTERS/TCP/h(1)", "more than 20");
    }
}
