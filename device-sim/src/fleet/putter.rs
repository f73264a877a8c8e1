//! The application that puts to devices: units of work over several addresses, each put again if it was not committed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mq_wire::{Ccsid, Chars, Mqmd, Mqod, Mqpmo, ObjectName, Persistence, PutOptions, QMgrName};
use tokio::time::{self, Instant};

use super::payload::{Label, Stream, Way};
use super::shared::Shared;
use super::units::{Failed, Open, Units};

/// Pause before a unit of work that was backed out is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// One message to put.
#[derive(Debug, Clone, Copy)]
struct Item {
    stream: Stream,
    sequence: u32,
}

/// Puts the messages of every `mq_connections`th device.
pub(super) async fn run(shared: Arc<Shared>, worker: u32) -> anyhow::Result<()> {
    let options = &shared.options;
    let mut units =
        Units::new(options.mq.clone(), options.put_state_queue, shared.run, &format!("put {worker}"));
    let mut pace = Pace::new(options.rate / f64::from(options.mq_connections));
    let mut items = Vec::new();
    // Round by round, so that a unit of work is for many devices.
    for sequence in 1..=options.messages {
        for queue in 1..=options.queues {
            for device in (1..=options.devices).filter(|device| device % options.mq_connections == worker) {
                items.push(Item { stream: Stream { way: Way::Down, device, queue }, sequence });
                if items.len() >= options.unit_messages as usize {
                    pace.wait(items.len()).await;
                    put(&shared, &mut units, &items).await?;
                    items.clear();
                }
            }
        }
    }
    if !items.is_empty() {
        put(&shared, &mut units, &items).await?;
    }
    let hardships = &shared.hardships;
    hardships.mq_breaks.fetch_add(units.breaks, Ordering::Relaxed);
    hardships.found_committed.fetch_add(units.found_committed, Ordering::Relaxed);
    hardships.found_backed_out.fetch_add(units.found_backed_out, Ordering::Relaxed);
    units.end().await;
    Ok(())
}

/// One unit of work, until it is committed.
async fn put(shared: &Shared, units: &mut Units, items: &[Item]) -> anyhow::Result<()> {
    loop {
        let mut in_unit = 0;
        let attempted = attempt(shared, units, items, &mut in_unit).await;
        shared.progress.in_unit.fetch_sub(in_unit, Ordering::Relaxed);
        match attempted {
            Ok(()) => break,
            Err(Failed::For(error)) => return Err(error.into()),
            Err(Failed::InDoubt) => {
                shared.note_trouble("a unit of work of the application that puts was in doubt");
                if units.was_committed().await? {
                    break;
                }
                time::sleep(PAUSE).await;
            }
        }
    }
    let mut ledger = shared.ledger();
    items.iter().for_each(|item| ledger.sent(item.stream, item.sequence));
    drop(ledger);
    shared.progress.put.fetch_add(items.len() as u64, Ordering::Relaxed);
    Ok(())
}

async fn attempt(
    shared: &Shared,
    units: &mut Units,
    items: &[Item],
    in_unit: &mut u64,
) -> Result<(), Failed> {
    units.begin().await?;
    for item in items {
        let Open { connection, .. } = units.open()?;
        let Item { stream, sequence } = *item;
        let (od, to) = address(shared, stream);
        let label = Label { run: shared.run, stream, sequence, made_us: shared.elapsed_us() };
        let md = Mqmd {
            format: Chars::cut("MQSTR"),
            ccsid: Ccsid::UTF_8,
            persistence: Persistence::PERSISTENT,
            ..Mqmd::default()
        };
        let options = PutOptions::SYNCPOINT | PutOptions::NEW_MSG_ID | PutOptions::FAIL_IF_QUIESCING;
        let pmo = Mqpmo { options, ..Mqpmo::default() };
        let payload = label.payload(shared.options.size);
        if let Err(error) = connection.put1(od, md, pmo, payload).await {
            return Err(units.failed(format!("cannot put to {to}"), error));
        }
        *in_unit += 1;
        shared.progress.in_unit.fetch_add(1, Ordering::Relaxed);
    }
    units.commit().await
}

fn address(shared: &Shared, stream: Stream) -> (Mqod, String) {
    let options = &shared.options;
    let Stream { device, queue, .. } = stream;
    let name =
        format!("{}{}{}{device:05}", options.queue_text(queue), options.separator, options.device_prefix);
    let via: QMgrName = options.via;
    let to = format!("{name} at {via}");
    // The options were checked: names of the highest numbers are names.
    let od = Mqod { object_name: ObjectName(Chars::cut(&name)), object_q_mgr_name: via, ..Mqod::default() };
    (od, to)
}

/// So many messages in a second.
#[derive(Debug)]
struct Pace {
    each: Option<Duration>,
    next: Instant,
}

impl Pace {
    fn new(rate: f64) -> Self {
        let each = (rate > 0.0).then(|| Duration::from_secs_f64(1.0 / rate));
        Self { each, next: Instant::now() }
    }

    async fn wait(&mut self, messages: usize) {
        if let Some(each) = self.each {
            time::sleep_until(self.next).await;
            // What was missed is not made up for in a burst.
            self.next = self.next.max(Instant::now()) + each * messages as u32;
        }
    }
}
