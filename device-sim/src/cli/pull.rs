//! `device-sim pull`: takes a device's messages and prints them.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use mq_wire::{QName, Reason};
use tokio::time::Instant;

use super::DeviceArgs;
use crate::device::{Device, DeviceError, DeviceOptions, Intake, Received};

/// Messages that are marked as used together.
const BATCH: usize = 64;
/// Messages among which those for a queue are searched.
const SEARCHED: u32 = 256;
/// How long the last confirms may take when messages were printed.
const SETTLE: Duration = Duration::from_secs(5);
/// The same when there may be messages that stay undecided.
const SETTLE_OTHERS: Duration = Duration::from_millis(250);

#[derive(Debug, Args)]
pub(super) struct PullArgs {
    #[command(flatten)]
    device: DeviceArgs,
    /// Print only messages for this queue. Others are kept in --state for a later call; without it they are looked at,
    /// not confirmed, and come again (and only what stands among the first 256 is found)
    #[arg(long, value_name = "Q")]
    queue: Option<QName>,
    /// End after so many messages
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max: Option<u64>,
    /// Print each message and refuse it for good, with this MQ reason code or name: it goes to the dead-letter queue
    #[arg(long, value_name = "REASON", value_parser = reason, conflicts_with = "no_confirm")]
    reject: Option<Reason>,
    /// Print the first messages and neither store nor confirm them: they come again
    #[arg(long)]
    no_confirm: bool,
}

/// What becomes of a message that is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stored,
    Accepted,
    Rejected(Reason),
    Undecided,
}

pub(super) async fn run(args: PullArgs) -> anyhow::Result<ExitCode> {
    let fate = match (args.reject, args.no_confirm) {
        (Some(reason), _) => Fate::Rejected(reason),
        (None, true) => Fate::Undecided,
        (None, false) if args.queue.is_some() && args.device.state.is_none() => Fate::Accepted,
        (None, false) => Fate::Stored,
    };
    let options = args.device.options();
    let options = DeviceOptions {
        intake: if fate == Fate::Stored { Intake::Store } else { Intake::Ask },
        // What is stored for other queues stays there: it is no reason to stop.
        take_max: args.max.filter(|_| args.queue.is_none()),
        unused_max: if args.queue.is_some() { usize::MAX } else { options.unused_max },
        window_messages: match (args.max, args.queue) {
            (_, Some(_)) => SEARCHED,
            (Some(max), None) => options.window_messages.min(u32::try_from(max).unwrap_or(u32::MAX)),
            (None, None) => options.window_messages,
        },
        ..options
    };
    let mut device = Device::open(options).await?;
    let mut printed = 0;
    let mut until = Instant::now() + args.device.wait;
    while args.max.is_none_or(|max| printed < max) {
        let wait = until.saturating_duration_since(Instant::now());
        let Some(first) = device.next(wait).await? else { break };
        let left = args.max.map_or(u64::MAX, |max| max - printed);
        let mut batch = vec![first];
        while batch.len() < BATCH && (batch.len() as u64) < left {
            let Some(received) = device.try_next() else { break };
            batch.push(received);
        }
        printed += take(&args, fate, &device, batch).await?;
        until = Instant::now() + args.device.wait;
    }
    let status = device.status();
    end(device, fate, fate != Fate::Stored && args.queue.is_some(), printed).await?;
    let has_enough = args.max.is_some_and(|max| printed >= max);
    if let Some(why) = status.trouble.filter(|_| !status.ready && !has_enough) {
        anyhow::bail!("{printed} messages were printed; then the gateway was not reached any more: {why}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what is to be printed. How many that were.
async fn take(
    args: &PullArgs,
    fate: Fate,
    device: &Device,
    batch: Vec<Received>,
) -> Result<u64, anyhow::Error> {
    let mut used = Vec::new();
    let mut lines = Vec::new();
    for received in &batch {
        // What an earlier life stored is decided.
        let fate = if received.again { Fate::Stored } else { fate };
        if args.queue.is_some_and(|queue| queue != received.message.queue) {
            continue;
        }
        let is_decided = match fate {
            Fate::Stored => true,
            Fate::Accepted => passing(device.accept(received.uid).await)?,
            Fate::Rejected(reason) => passing(device.reject(received.uid, reason).await)?,
            Fate::Undecided => true,
        };
        if is_decided {
            lines.push(serde_json::to_string(&super::json::line(args.device.device, received))?);
        }
        if matches!(fate, Fate::Stored | Fate::Accepted) && is_decided {
            used.push(received.uid);
        }
    }
    let mut out = std::io::stdout().lock();
    for line in &lines {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    drop(out);
    if !used.is_empty() {
        device.used(&used).await?;
    }
    Ok(lines.len() as u64)
}

/// Whether the decision came in time. If not, the message comes again.
fn passing(outcome: Result<(), DeviceError>) -> Result<bool, DeviceError> {
    match outcome {
        Ok(()) => Ok(true),
        Err(DeviceError::TooLate) => Ok(false),
        Err(error) => Err(error),
    }
}

async fn end(device: Device, fate: Fate, has_others: bool, printed: u64) -> anyhow::Result<()> {
    let status = device.status();
    // Messages that are not decided never settle.
    let wait =
        if has_others || fate == Fate::Undecided || status.sessions == 0 { SETTLE_OTHERS } else { SETTLE };
    let is_settled = device.close(wait).await? || wait == SETTLE_OTHERS;
    if status.sessions == 0 {
        let why = status.trouble.unwrap_or_else(|| "no answer came".to_owned());
        anyhow::bail!("the gateway was not reached: {why}");
    }
    if !is_settled {
        let why = status.trouble.unwrap_or_else(|| "no answer came".to_owned());
        anyhow::bail!("{printed} messages were printed, not all are confirmed to the gateway: {why}");
    }
    Ok(())
}

/// A reason code by number or name.
fn reason(text: &str) -> Result<Reason, String> {
    let named = || {
        let wanted = text.trim_start_matches("MQRC_");
        Reason::ALL.iter().copied().find(|reason| {
            reason.name().is_some_and(|name| name.trim_start_matches("MQRC_").eq_ignore_ascii_case(wanted))
        })
    };
    let number = text.parse().ok().filter(|number| (1..=9_999).contains(number)).map(Reason);
    number
        .or_else(named)
        .ok_or_else(|| format!("{text:?} is no MQ reason code, such as 2110 or MQRC_FORMAT_ERROR"))
}
