//! The application that reads what devices put: units of work; what a unit brought counts when it is committed. Each
//! connection reads what every `mq_connections`th device put, so that it sees the order.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use mq_client::ClientError;
use mq_wire::{GetOptions, Mqgmo, Mqmd, Mqod, OpenOptions};
use tokio::time;

use super::payload::Way;
use super::shared::Shared;
use super::units::{Failed, Open, Units, by_correl_id};

/// How long a get waits for the first message of a unit.
const WAIT: Duration = Duration::from_millis(500);
/// Pause before a unit of work that was backed out is tried again.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes of a message beyond the wanted ones.
const LABEL_BYTES_MAX: usize = 1024;

/// Reads until all has come that was put, the devices are done, and nothing more comes.
pub(super) async fn run(shared: Arc<Shared>, worker: u32) -> anyhow::Result<()> {
    let options = &shared.options;
    let mut units =
        Units::new(options.mq.clone(), options.get_state_queue, shared.run, &format!("get {worker}"));
    loop {
        let are_devices_done = *shared.devices_done.borrow();
        let mut got = Vec::new();
        let is_committed = match attempt(&shared, worker, &mut units, &mut got).await {
            Ok(()) => true,
            Err(Failed::For(error)) => return Err(error.into()),
            Err(Failed::InDoubt) => {
                shared.note_trouble("a unit of work of the application that gets was in doubt");
                let was_committed = units.was_committed().await?;
                if !was_committed {
                    time::sleep(PAUSE).await;
                }
                was_committed
            }
        };
        if !is_committed {
            continue;
        }
        for payload in &got {
            shared.arrived(payload, Way::Up, None, None, true);
        }
        shared.progress.read_back.fetch_add(got.len() as u64, Ordering::Relaxed);
        let has_all = shared.ledger().delivered(Way::Up) >= options.expected(Way::Up);
        if got.is_empty() && are_devices_done && has_all {
            break;
        }
    }
    let hardships = &shared.hardships;
    hardships.mq_breaks.fetch_add(units.breaks, Ordering::Relaxed);
    hardships.found_committed.fetch_add(units.found_committed, Ordering::Relaxed);
    hardships.found_backed_out.fetch_add(units.found_backed_out, Ordering::Relaxed);
    units.end().await;
    Ok(())
}

/// One unit of work. What it got counts only when it is known to be committed; with nothing it is backed out.
async fn attempt(
    shared: &Shared,
    worker: u32,
    units: &mut Units,
    got: &mut Vec<Bytes>,
) -> Result<(), Failed> {
    units.begin().await?;
    let options = &shared.options;
    let od = Mqod { object_name: options.reply_queue.into(), ..Mqod::default() };
    let Open { connection, replies, .. } = units.open()?;
    let handle = match *replies {
        Some(handle) => handle,
        None => match connection.open(od, OpenOptions::INPUT_SHARED | OpenOptions::FAIL_IF_QUIESCING).await {
            Ok(opened) => *replies.insert(opened.handle),
            Err(error) => return Err(units.failed(format!("cannot open {}", options.reply_queue), error)),
        },
    };
    while got.len() < options.unit_messages as usize {
        match next(shared, worker, units, handle, got.is_empty()).await? {
            Ok(Some(payload)) => got.push(payload),
            Ok(None) => break,
            Err(error) => return Err(units.failed(format!("cannot get from {}", options.reply_queue), error)),
        }
    }
    if got.is_empty() { units.back_out().await } else { units.commit().await }
}

async fn next(
    shared: &Shared,
    worker: u32,
    units: &mut Units,
    handle: i32,
    is_first: bool,
) -> Result<Result<Option<Bytes>, ClientError>, Failed> {
    let md = Mqmd { correl_id: shared.correl_id(worker), ..Mqmd::default() };
    let wait = if is_first { GetOptions::WAIT } else { GetOptions::empty() };
    let gmo = Mqgmo {
        options: GetOptions::SYNCPOINT | GetOptions::FAIL_IF_QUIESCING | GetOptions::NO_PROPERTIES | wait,
        wait_interval: WAIT.as_millis() as i32,
        ..by_correl_id()
    };
    let buffer_length = (shared.options.size + LABEL_BYTES_MAX) as u32;
    let Open { connection, .. } = units.open()?;
    Ok(connection.get(handle, md, gmo, buffer_length).await.map(|got| got.map(|got| got.data)))
}
