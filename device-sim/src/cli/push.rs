//! `device-sim push`: puts lines as a device.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use mq_wire::{MsgType, Persistence, QMgrName, QName};
use mqe::DeviceMessage;
use mqe::frame::PutOutcome;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use super::DeviceArgs;
use crate::device::{Device, DeviceOptions, Flushed, Intake, NewPut, text_message};

/// The longest line.
const LINE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Puts that may be open before more lines are read.
const OPEN_MAX: usize = 256;

#[derive(Debug, Args)]
pub(super) struct PushArgs {
    #[command(flatten)]
    device: DeviceArgs,
    /// Where to: an MQ queue, or a device's queue as QUEUE%DEVICE@GATEWAY
    #[arg(long, value_name = "QUEUE[@QMGR]", value_parser = target)]
    to: Target,
    /// Where answers should go, as QUEUE[@QMGR]: the messages are requests
    #[arg(long, value_name = "Q", value_parser = target)]
    reply_to: Option<Target>,
    /// Put each line so many times
    #[arg(long, value_name = "N", default_value_t = 1)]
    count: u32,
    /// Put messages that do not survive a restart of the queue manager
    #[arg(long)]
    non_persistent: bool,
}

/// A queue, and its queue manager or blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) queue: QName,
    pub(super) queue_manager: QMgrName,
}

/// What became of the puts.
#[derive(Debug, Default)]
struct Told {
    put: u64,
    /// Those of an earlier call included.
    taken: u64,
    refused: u64,
    open: usize,
}

pub(super) async fn run(args: PushArgs) -> anyhow::Result<ExitCode> {
    let options = DeviceOptions { intake: Intake::Off, ..args.device.options() };
    let mut device = Device::open(options).await?;
    let older = device.status().open_puts;
    if older > 0 {
        eprintln!("device-sim: {older} messages of an earlier call are in the outbox and go first");
    }
    let mut told = Told::default();
    let mut input = BufReader::new(tokio::io::stdin());
    let mut lines = 0_u64;
    while let Some(line) = next_line(&mut input).await? {
        lines += 1;
        for _ in 0..args.count {
            device.put(put_of(&args, &line)).await?;
            told.put += 1;
        }
        if device.status().open_puts >= OPEN_MAX {
            let waited = device.until(args.device.wait, |status| status.open_puts < OPEN_MAX / 2).await?;
            if !waited {
                eprintln!(
                    "device-sim: the lines behind the first {lines} are not read: the outbox does not empty"
                );
                break;
            }
        }
    }
    told.add(device.flush(args.device.wait).await?);
    let status = device.status();
    device.close(Duration::ZERO).await?;
    println!(
        "{} put by {}: {} confirmed, {} refused, {} not confirmed",
        told.put, args.device.device, told.taken, told.refused, told.open
    );
    if told.open > 0 {
        let why = status.trouble.unwrap_or_else(|| "no answer came".to_owned());
        let what = match args.device.state {
            Some(_) => "they are in the outbox and go with the next call",
            None => "they are gone, since there is no --state",
        };
        anyhow::bail!("{} messages are not confirmed, {what}: {why}", told.open);
    }
    Ok(if told.refused > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Told {
    fn add(&mut self, flushed: Flushed) {
        for (sequence, outcome) in flushed.outcomes {
            match outcome {
                PutOutcome::Taken => self.taken += 1,
                PutOutcome::Refused(reason) => {
                    self.refused += 1;
                    let meaning = reason.meaning().unwrap_or_default();
                    eprintln!("device-sim: put {sequence} was refused: {reason}: {meaning}");
                }
                PutOutcome::Busy(_) => {}
            }
        }
        self.open = flushed.open;
    }
}

fn put_of(args: &PushArgs, line: &[u8]) -> NewPut {
    let Target { queue, queue_manager } = args.to;
    let mut message = text_message(queue, line.to_vec());
    if std::str::from_utf8(line).is_err() {
        message = DeviceMessage::new(queue, line.to_vec().into());
    }
    let md = &mut message.descriptor;
    md.persistence = if args.non_persistent { Persistence::NOT_PERSISTENT } else { Persistence::PERSISTENT };
    if let Some(reply_to) = args.reply_to {
        (md.reply_to_q, md.reply_to_q_mgr) = (reply_to.queue, reply_to.queue_manager);
        md.msg_type = MsgType::REQUEST;
    }
    NewPut { queue, queue_manager, message }
}

/// A line without its end.
async fn next_line(input: &mut BufReader<impl AsyncRead + Unpin>) -> anyhow::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let read = input.take(LINE_BYTES_MAX + 2).read_until(b'\n', &mut line).await;
    if read.context("cannot read standard input")? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
    anyhow::ensure!(line.len() as u64 <= LINE_BYTES_MAX, "a line is longer than {LINE_BYTES_MAX} bytes");
    Ok(Some(line))
}

/// `QUEUE[@QMGR]`.
pub(super) fn target(text: &str) -> Result<Target, String> {
    let (queue, queue_manager) = text.split_once('@').unwrap_or((text, ""));
    let queue = QName::new(queue).map_err(|error| error.to_string())?;
    let queue_manager = match queue_manager {
        "" => QMgrName::BLANK,
        name => QMgrName::new(name).map_err(|error| error.to_string())?,
    };
    Ok(Target { queue, queue_manager })
}
