//! `run`: configuration, log and runtime; then the service has the word.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use mqe_exits::Registry;

use crate::config::{Config, LogFormat, Overrides};
use crate::service::{self, ReloadExits};
use crate::telemetry;

/// Threads of the runtime at least: one that is busy must not hold up all connections.
const WORKERS_MIN: usize = 2;

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  mqe-gateway run --data /var/lib/mqe --mqsc objects.mqsc --listen-mq 127.0.0.1:1414"
)]
pub(super) struct RunArgs {
    /// Configuration file [default: ./mqe-gateway.toml if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data directory [default: mqe-data]
    #[arg(long, value_name = "DIR", env = "MQE_DATA")]
    data: Option<PathBuf>,
    /// MQSC script to apply before anybody is served, after those of the configuration; can be repeated
    #[arg(long, value_name = "FILE")]
    mqsc: Vec<PathBuf>,
    /// Go on when a command of a script fails
    #[arg(long)]
    mqsc_continue: bool,
    /// Leave the DEV queues and channels out
    #[arg(long)]
    no_dev_objects: bool,
    /// Where MQ clients connect; port 0 is any free one [default: 127.0.0.1:1414]
    #[arg(long, value_name = "ADDR")]
    listen_mq: Option<SocketAddr>,
    /// Where devices connect [default: 127.0.0.1:7414]
    #[arg(long, value_name = "ADDR")]
    listen_devices: Option<SocketAddr>,
    /// Where administration listens [default: 127.0.0.1:9414]
    #[arg(long, value_name = "ADDR")]
    listen_admin: Option<SocketAddr>,
    /// Listen on addresses that other machines can reach, without credentials and without TLS
    #[arg(long)]
    insecure: bool,
    /// How a line of the log looks: text or json [default: text]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
}

pub(super) fn run(args: RunArgs, registry: Registry) -> anyhow::Result<()> {
    let overrides = Overrides {
        data: args.data,
        mqsc: args.mqsc,
        mqsc_continue: args.mqsc_continue,
        no_dev_objects: args.no_dev_objects,
        listen_mq: args.listen_mq,
        listen_devices: args.listen_devices,
        listen_admin: args.listen_admin,
        log_format: args.log_format,
    };
    let config = Config::load(args.config.as_deref(), &overrides)?;
    if !args.insecure {
        refuse_exposed(&config)?;
    }
    telemetry::init(&config.log)?;
    let workers =
        std::thread::available_parallelism().map_or(WORKERS_MIN, |cores| cores.get().max(WORKERS_MIN));
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(service::run(
            config,
            ReloadExits { file: args.config, overrides, registry: Arc::new(registry) },
        ))
}

/// INTERFACE.md 2: nobody is let in from outside by mistake.
fn refuse_exposed(config: &Config) -> anyhow::Result<()> {
    let exposed: Vec<String> = config
        .exposed()
        .iter()
        .map(|(section, address)| format!("[{section}] listens on {address}"))
        .collect();
    if exposed.is_empty() {
        return Ok(());
    }
    anyhow::bail!(
        "{}: other machines could reach it, and this version has neither credentials nor TLS; \
         listen on a loopback address such as 127.0.0.1, or give --insecure if the network is trusted",
        exposed.join(", "),
    )
}
