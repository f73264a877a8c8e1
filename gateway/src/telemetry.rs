//! The log: lines on standard error, for people or for machines. What is logged is for those who log it.

use std::io::{IsTerminal, stderr};

use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};

/// Sets the log up for the whole process. `RUST_LOG` goes before the configured level.
pub fn init(log: &Log) -> anyhow::Result<()> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(directives) if !directives.is_empty() => EnvFilter::try_new(&directives)
            .map_err(|error| anyhow::anyhow!("RUST_LOG={directives:?} cannot be used: {error}"))?,
        _ => EnvFilter::try_new(log.level.as_str())?,
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr);
    let installed = match log.format {
        LogFormat::Text => builder.with_ansi(stderr().is_terminal()).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    installed.map_err(|error| anyhow::anyhow!("the log is set up already: {error}"))
}

/// The span of an MQ client's connection.
pub(crate) fn mq_connection(conn: qmgr::ConnId, peer: std::net::SocketAddr) -> tracing::Span {
    tracing::info_span!("mq", conn = conn.0, %peer)
}

/// The span of a device's connection.
pub(crate) fn device_connection(conn: mqe::ConnId, peer: std::net::SocketAddr) -> tracing::Span {
    tracing::info_span!("device", conn = conn.0, %peer)
}
