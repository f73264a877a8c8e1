//! What a source is told about its queue manager: the configuration with its defaults filled in.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use mq_client::{ConnectOptions, Password};
use mq_wire::{ApplName, QMgrName, QName};

use crate::config::{Address, Config, MessageContext, PutsWhenStopped, SourceSection};

/// How long connecting to one address may take, and any answer.
const CONNECT_MAX: Duration = Duration::from_secs(15);
const REPLY_MAX: Duration = Duration::from_secs(60);

/// What a source and its outbox are told.
#[derive(Debug, Clone)]
pub(crate) struct RemoteSettings {
    pub(crate) name: String,
    /// Tried one after the other.
    pub(crate) addresses: Vec<Address>,
    /// The queue manager's name; none is any.
    pub(crate) q_mgr: Option<QMgrName>,
    pub(crate) user: String,
    pub(crate) password: Option<Password>,
    pub(crate) queue: QName,
    pub(crate) sync_queue: Option<QName>,
    /// None: the queue manager's.
    pub(crate) dead_letter_queue: Option<QName>,
    pub(crate) wait: Duration,
    pub(crate) puts_when_stopped: PutsWhenStopped,
    pub(crate) context: MessageContext,
}

impl RemoteSettings {
    /// From the configuration; a password file that cannot be read is an error.
    pub(crate) fn of(config: &Config, source: &SourceSection) -> anyhow::Result<Self> {
        let password = match &source.password_file {
            Some(file) => Some(password(file)?),
            None => std::env::var("MQ_PASSWORD").ok().filter(|_| !source.user.is_empty()),
        };
        Ok(Self {
            name: config.source_name(source),
            addresses: source.connect.0.clone(),
            q_mgr: source.queue_manager,
            user: source.user.clone(),
            password: password.map(Password::new),
            queue: config.transmission_queue_of(source),
            sync_queue: source.sync_queue,
            dead_letter_queue: source.dead_letter_queue,
            wait: Duration::from_secs(source.wait_seconds.into()),
            puts_when_stopped: source.puts_when_stopped,
            context: source.context,
        })
    }

    /// How to connect to one of the addresses.
    pub(super) fn connect_options(&self, address: &Address) -> ConnectOptions {
        ConnectOptions {
            qmgr_name: self.q_mgr.unwrap_or(QMgrName::BLANK),
            user: self.user.clone(),
            password: self.password.clone(),
            appl_name: ApplName::cut(crate::core::APPL_NAME),
            // The state of a unit of work must be known: each put is waited for.
            asynchronous_puts: false,
            connect_timeout: CONNECT_MAX,
            reply_timeout: REPLY_MAX,
            ..ConnectOptions::new(address.channel, address.host.clone(), address.port)
        }
    }
}

/// The first line of a file.
fn password(file: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("the password file {} cannot be read", file.display()))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
