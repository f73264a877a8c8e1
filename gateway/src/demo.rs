//! The main job for somebody who has never seen it: an MQ application and a fleet of devices around a service that is
//! killed in the middle; and the proof by the application's own numbers that nothing was lost, doubled or reordered.
//!
//! The service is a process of its own, so that SIGKILL is one. Application and devices are played by `device-sim`'s
//! fleet in this process, over real sockets; its ledger shares nothing with the gateway.

mod child;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context;
use device_sim::device::Counts;
use device_sim::fleet::{self, Direction, Faults, FleetOptions, Progress, Report};
use mq_client::ConnectOptions;
use mq_wire::QMgrName;
use tokio::task::JoinHandle;

use crate::clock;
use child::Service;

/// What is to be played.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DemoOptions {
    /// Devices.
    pub(crate) devices: u32,
    /// Messages for each device, and from each.
    pub(crate) messages: u32,
    /// Bytes of a message.
    pub(crate) size: usize,
    /// The report as JSON in place of the story.
    pub(crate) json: bool,
}

/// The gateway's name by default (INTERFACE.md 2).
const GATEWAY: &str = "GATE1";
/// Messages in a unit of work of the application.
const UNIT_MESSAGES: u32 = 20;
/// How long the application takes to put, so that there is something to see.
const PUT_SECONDS: f64 = 2.0;
/// The fraction of device connections that is cut at some byte.
const CUT: f64 = 0.15;
/// The service is killed when both kinds of work are in flight, which comes within this time.
const MOMENT_WITHIN: Duration = Duration::from_secs(20);

/// What was in flight when the service was killed.
#[derive(Debug, Clone, Copy, serde::Serialize)]
struct InFlight {
    /// Messages put in a unit of work that was not committed.
    puts: u64,
    /// Messages that devices had stored, and whose confirm was not answered.
    confirms: u64,
}

/// Plays it; false if the proof failed.
pub(crate) async fn run(options: DemoOptions) -> anyhow::Result<bool> {
    let say = |line: String| {
        if !options.json {
            println!("{line}");
        }
    };
    let DemoOptions { devices, messages, size, json } = options;
    let directory = tempfile::tempdir().context("cannot make a temporary directory")?;
    let total = u64::from(devices) * u64::from(messages);

    say(format!("A queue manager QM1 and a gateway {GATEWAY} start, in {}.", directory.path().display()));
    let mut service = Service::start(directory.path()).await?;
    say(format!("  MQ clients connect to {}, devices to {}.", service.mq, service.devices));

    say(format!(
        "An MQ application connects as a client and puts messages for {devices} devices, all of them offline:"
    ));
    say(format!(
        "  to queue ORDERS%DEVnnnnn at queue manager {GATEWAY}, persistent, in units of work of {UNIT_MESSAGES}."
    ));
    let (progress, counts) = (Arc::<Progress>::default(), Arc::<Counts>::default());
    let fleet = Fleet {
        task: tokio::spawn(fleet::run(fleet_options(&service, options, &progress, &counts)?)),
        progress,
        counts,
    };

    let waiting = fleet.until(|| fleet.progress.put.load(Ordering::Relaxed) >= total * 2 / 5);
    waiting.await.context("the application does not get on")?;
    let status = service.status().await?;
    say(format!(
        "  So far {} messages wait for {} devices; {} devices are connected.",
        status.area.messages, status.area.devices, status.device_connections
    ));

    say("The first devices come, while the application goes on. They pull, store, and confirm.".to_owned());
    let in_flight = fleet.in_flight().await?;
    let killed = service.kill()?;
    let InFlight { puts, confirms } = in_flight;
    say(format!(
        "SIGKILL for the service (process {killed}), in the middle of it. In flight at that moment:"
    ));
    say(format!(
        "  {puts} messages put and not committed, {confirms} messages stored by devices and not yet confirmed."
    ));

    let began = clock::now().instant;
    service = service.restart().await?;
    let took = clock::now().instant.duration_since(began).as_millis();
    say(format!("The service is started again on the same data, and ready after {took} ms."));
    say("The application asks its state message which unit of work was committed, and goes on from there."
        .to_owned());
    say(format!(
        "All devices come now, one in {:.0} through a connection that breaks. They answer each message to an MQ queue.",
        1.0 / CUT
    ));

    let report = fleet.task.await.context("the fleet failed")??;
    let end = service.status().await?;
    service.stop().await?;
    let left = end.area.messages;
    let proved = report.exact && left == 0 && in_flight.puts > 0 && in_flight.confirms > 0;
    if json {
        let whole = serde_json::json!({ "exact": proved, "in_flight_at_kill": in_flight, "report": report });
        println!("{}", serde_json::to_string_pretty(&whole)?);
    } else {
        println!();
        println!("{report}");
        println!();
        println!("{}", proof(&report, left, size));
    }
    Ok(proved)
}

fn fleet_options(
    service: &Service,
    options: DemoOptions,
    progress: &Arc<Progress>,
    counts: &Arc<Counts>,
) -> anyhow::Result<FleetOptions> {
    let DemoOptions { devices, messages, size, .. } = options;
    let total = u64::from(devices) * u64::from(messages);
    let host_port = service.mq.replace(':', "(") + ")";
    let mq = ConnectOptions::parse(&format!("DEV.APP.SVRCONN/TCP/{host_port}"))?;
    let gateway = QMgrName::new(GATEWAY)?;
    Ok(FleetOptions {
        devices,
        messages,
        size,
        queue_prefix: "ORDERS".to_owned(),
        online: 0.5,
        connections: devices as usize,
        rate: (total as f64 / PUT_SECONDS).max(50.0),
        seed: clock::now().wall_ms,
        faults: Faults { cut: CUT, crash: 0.0 },
        direction: Direction::Both,
        answers: true,
        mq_connections: 1,
        unit_messages: UNIT_MESSAGES,
        devices_after: total / 2,
        progress: Arc::clone(progress),
        counts: Arc::clone(counts),
        ..FleetOptions::new(service.devices.clone(), mq, gateway)
    })
}

/// The last word.
fn proof(report: &Report, left: u64, size: usize) -> String {
    let (down, up) = (&report.down.account, &report.up.account);
    let lost = down.lost.count + up.lost.count;
    let doubled = down.duplicated.count + up.duplicated.count;
    let reordered = down.reordered.count + up.reordered.count;
    format!(
        "By the application's own numbers and checksums, over {} messages of {size} bytes: {lost} lost, {doubled} \
         doubled, {reordered} out of order; {left} left in the gateway.",
        down.delivered + up.delivered
    )
}

/// The application and the devices, and how far they are.
struct Fleet {
    task: JoinHandle<anyhow::Result<Report>>,
    progress: Arc<Progress>,
    counts: Arc<Counts>,
}

impl Fleet {
    /// Waits until something is the case.
    async fn until(&self, reached: impl Fn() -> bool) -> anyhow::Result<()> {
        let wait = async {
            while !reached() {
                anyhow::ensure!(!self.task.is_finished(), "the fleet ended early");
                // The moment looked for may last for less than the clock's tick of a sleep.
                tokio::task::yield_now().await;
            }
            Ok(())
        };
        tokio::time::timeout(MOMENT_WITHIN, wait).await.context("it takes too long")?
    }

    /// The moment at which puts and confirms are both in flight.
    async fn in_flight(&self) -> anyhow::Result<InFlight> {
        let look = || {
            let confirmed = self.counts.confirmed.load(Ordering::Relaxed);
            let stored = self.counts.stored.load(Ordering::Relaxed);
            let puts = self.progress.in_unit.load(Ordering::Relaxed);
            InFlight { puts, confirms: stored.saturating_sub(confirmed) }
        };
        let both = || {
            let InFlight { puts, confirms } = look();
            puts > 0 && confirms > 0
        };
        self.until(both).await.context("puts and confirms were never in flight at the same time")?;
        Ok(look())
    }
}
