//! `device-sim fleet`: plays a fleet, shows how far it is, and prints its report.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use mq_client::ConnectOptions;
use mq_wire::{QMgrName, QName};

use super::{address, seconds};
use crate::fleet::{self, Direction, Faults, FleetOptions, Progress, Report, Way};

/// How often the bar moves.
const SHOW_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(super) struct FleetArgs {
    /// The gateway's device listener
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7414", value_parser = address)]
    gateway: String,
    /// The queue manager, as CHANNEL/TCP/host(port)
    #[arg(long, value_name = "WHERE", default_value = "DEV.APP.SVRCONN/TCP/127.0.0.1(1414)", value_parser = connect)]
    mq: ConnectOptions,
    /// The gateway's name, by which MQ addresses devices
    #[arg(long, value_name = "GATE", default_value = "GATE1")]
    via: QMgrName,
    /// How many devices
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=99_999))]
    devices: u32,
    /// Queues of each device
    #[arg(long, value_name = "Q", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    queues: u32,
    /// Messages of each queue and way
    #[arg(long, value_name = "M", default_value_t = 10)]
    messages: u32,
    /// Bytes of a message, at least; its label takes about 90
    #[arg(long, value_name = "BYTES", default_value_t = 256)]
    size: usize,
    /// The fraction of devices that is there from the begin; the others come when all is put
    #[arg(long, value_name = "FRACTION", default_value_t = 0.5)]
    online: f64,
    /// Devices connected at a time
    #[arg(long, value_name = "MAX", default_value_t = 10_000)]
    connections: usize,
    /// Messages put to devices in a second; 0 is as fast as it goes
    #[arg(long, value_name = "R", default_value_t = 0.0)]
    rate: f64,
    /// From which all that is random follows; without it, it is drawn and printed
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// cut=FRACTION of device connections cut at some byte, crash=FRACTION of messages after which the device crashes
    #[arg(long, value_name = "SPEC", default_value = "")]
    faults: Faults,
    /// Which way messages go
    #[arg(long, value_enum, default_value_t = Direction::Down)]
    direction: Direction,
    /// Where the report goes, as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// MQ connections that put, and as many that get
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    mq_connections: u32,
    /// Messages in a unit of work
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    unit: u32,
    /// For the state messages of the applications that put
    #[arg(long, value_name = "Q", default_value = "DEV.QUEUE.2")]
    state_queue: QName,
    /// For the state message of the application that gets
    #[arg(long, value_name = "Q", default_value = "DEV.QUEUE.3")]
    get_state_queue: QName,
    /// Where devices put to
    #[arg(long, value_name = "Q", default_value = "DEV.QUEUE.1")]
    reply_queue: QName,
    /// Before the number in the names of devices
    #[arg(long, value_name = "TEXT", default_value = "DEV")]
    device_prefix: String,
    /// Before the number in the names of queues
    #[arg(long, value_name = "TEXT", default_value = "FLEET.Q")]
    queue_prefix: String,
    /// Where devices keep their state, each in a directory of its own; without it in memory
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// End when nothing moved for so long
    #[arg(long, value_name = "SECS", default_value = "60", value_parser = seconds)]
    give_up: Duration,
    /// Lose, double and swap a message behind the devices' backs: passes if the ledger finds just these
    #[arg(long)]
    self_test: bool,
    /// Print the report as JSON in place of the table
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Box<FleetArgs>) -> anyhow::Result<ExitCode> {
    let seed = args.seed.unwrap_or_else(draw);
    // First of all: a run that never ends can be played again too.
    eprintln!("seed={seed}");
    let (file, is_json) = (args.report.clone(), args.json);
    let options = options(*args, seed);
    let shown = std::io::stderr().is_terminal().then(|| show(&options));
    let outcome = fleet::run(options).await;
    if let Some(shown) = shown {
        shown.abort();
        let _ = shown.await;
    }
    let report =
        outcome.with_context(|| format!("the fleet could not be played to its end (seed={seed})"))?;
    let text = serde_json::to_string_pretty(&report)?;
    if let Some(file) = file {
        let written = tokio::fs::write(&file, format!("{text}\n")).await;
        written.with_context(|| format!("cannot write {}", file.display()))?;
    }
    if is_json {
        println!("{text}");
    } else {
        println!("{report}");
    }
    Ok(status(&report))
}

fn status(report: &Report) -> ExitCode {
    if report.exact {
        return ExitCode::SUCCESS;
    }
    eprintln!("device-sim: the fleet is not exact; seed={}", report.seed);
    ExitCode::FAILURE
}

fn options(args: FleetArgs, seed: u64) -> FleetOptions {
    let defaults = FleetOptions::new(args.gateway, args.mq, args.via);
    FleetOptions {
        devices: args.devices,
        queues: args.queues,
        messages: args.messages,
        size: args.size,
        online: args.online,
        connections: args.connections,
        rate: args.rate,
        seed,
        faults: args.faults,
        direction: args.direction,
        mq_connections: args.mq_connections,
        unit_messages: args.unit,
        put_state_queue: args.state_queue,
        get_state_queue: args.get_state_queue,
        reply_queue: args.reply_queue,
        device_prefix: args.device_prefix,
        queue_prefix: args.queue_prefix,
        state: args.state,
        give_up: args.give_up,
        self_test: args.self_test,
        ..defaults
    }
}

/// A bar on a terminal until it is aborted.
fn show(options: &FleetOptions) -> tokio::task::JoinHandle<()> {
    let progress = Arc::clone(&options.progress);
    let all = 2 * (options.expected(Way::Down) + options.expected(Way::Up)) + 2 * u64::from(options.devices);
    let bar = Bar(ProgressBar::new(all));
    if let Ok(style) = ProgressStyle::with_template("{elapsed} [{bar:30}] {percent:>3} % {msg}") {
        bar.0.set_style(style);
    }
    tokio::spawn(async move {
        loop {
            bar.0.set_position(progress.total().min(all));
            bar.0.set_message(describe(&progress));
            tokio::time::sleep(SHOW_EVERY).await;
        }
    })
}

/// Leaves nothing on the terminal behind.
struct Bar(ProgressBar);

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn describe(progress: &Progress) -> String {
    let Progress { put, delivered, answered, read_back, devices_done, .. } = progress;
    let [put, delivered, answered, read_back, done] =
        [put, delivered, answered, read_back, devices_done].map(|counter| counter.load(Ordering::Relaxed));
    format!(
        "put {put}, delivered {delivered}, from devices {answered}, read back {read_back}, devices done {done}"
    )
}

/// A seed from the clock.
fn draw() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_micros() as u64
}

fn connect(text: &str) -> Result<ConnectOptions, String> {
    ConnectOptions::parse(text).map_err(|error| error.to_string())
}
