//! From an application's put to a device's confirm, through a gateway in a process of its own, against a bare TCP
//! ping-pong of 64 bytes in the same run. Prints figures and ratios, and where the gateway's processor time went by
//! thread; then through a chain of five exits beside none, in turns; then with the applications at another queue manager,
//! whose transmission queue the gateway drains over MQ's client protocol, with latency added between the two. It asserts
//! nothing.
//!
//! `cargo bench -p integration-tests --bench end_to_end [-- ROUNDS]`. The data directory is in the folder for temporary
//! files (`TMPDIR`); one in memory proves nothing.

#![expect(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use device_sim::device::{Counts, Device, DeviceOptions};
use integration_tests::delay::delayed;
use integration_tests::mq::{Mq, persistent};
use integration_tests::ping::{Ping, Sizes, echo};
use integration_tests::service::Service;
use integration_tests::{remote, wait};
use mq_client::ConnectOptions;
use mq_wire::{OpenOptions, PutOptions};
use tokio::runtime::Runtime;

const GATEWAY: &str = env!("CARGO_BIN_EXE_mqe-gateway-under-test");
const DEVICES: usize = 20;
const APPLICATIONS: usize = 4;
/// Messages of an application in a round.
const MESSAGES: usize = 2_500;
const UNIT: usize = 50;
const BODY_BYTES: usize = 256;
/// Messages that are put one after the other, each when the one before it is confirmed.
const SINGLE: usize = 50;
const PING_BYTES: usize = 64;
const PING: Sizes = Sizes { question: PING_BYTES, answer: PING_BYTES };
const PING_SLICE: Duration = Duration::from_millis(250);
/// Time that a round trip between gateway and queue manager takes longer, and messages of an application in a round.
const LATENCIES: [(Duration, usize); 3] =
    [(Duration::ZERO, MESSAGES), (Duration::from_millis(1), 250), (Duration::from_millis(20), 25)];
/// Turns of none and five exits, and messages of an application in a turn.
const TURNS: usize = 9;
const TURN_MESSAGES: usize = 1_500;
/// Quick ones as a fleet would have them.
const FIVE: [(&str, &str); 5] = [
    ("destination-rewrite", ""),
    ("access-list", "allow_devices=DEV* deny_queues=ADMIN*|SYSTEM*"),
    ("size-limit", "max=4096"),
    ("header-stamp", "identity=\"VIA GATE1\""),
    ("rate-limit", "per_second=1000000"),
];
const TIME: Duration = Duration::from_secs(120);

/// Rounds of something, added up.
#[derive(Debug, Default)]
struct Figures {
    count: usize,
    time: Duration,
}

impl Figures {
    fn add(&mut self, count: usize, time: Duration) {
        self.count += count;
        self.time += time;
    }

    fn per_second(&self) -> f64 {
        self.count as f64 / self.time.as_secs_f64()
    }

    fn micros(&self) -> f64 {
        1e6 / self.per_second()
    }
}

/// Queue and queue manager by which a device's queue is addressed.
type Destination = fn(usize) -> (String, String);

/// By the rewrite: one definition for all devices.
fn rewritten(device: usize) -> (String, String) {
    (format!("ORDERS%DEV{device:05}"), "GATE1".to_owned())
}

/// By a definition for each device.
fn defined(device: usize) -> (String, String) {
    ("ORDERS".to_owned(), format!("DEV{device:05}"))
}

/// Where applications connect, and how they address.
struct Applications {
    options: ConnectOptions,
    destination: Destination,
}

impl Applications {
    fn at(service: &Service) -> Self {
        Self { options: service.connect_options("DEV.APP.SVRCONN"), destination: rewritten }
    }

    fn open(&self, app: &mut Mq, device: usize) -> i32 {
        let (queue, queue_manager) = (self.destination)(device);
        app.open(&queue, &queue_manager, OpenOptions::OUTPUT).unwrap()
    }
}

fn main() {
    let rounds = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(5);
    let mut service = Service::start(GATEWAY);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let counts = fleet(&runtime, &service);
    let confirmed = || confirmed(&counts);
    let mut single = Figures::default();
    let applications = Applications::at(&service);
    let mut ping = Ping::connect(echo(PING), PING);
    first(&applications, &counts);

    let (syncs, threads) = (syncs(&service), thread_millis(service.process().id()));
    let (mut ping_pong, stream) = streams(&mut ping, &applications, &counts, MESSAGES, rounds);
    let stream_syncs = self::syncs(&service) - syncs;
    let stream_threads = thread_millis(service.process().id());
    for _ in 0..rounds {
        ping_pong.add(ping.rounds(PING_SLICE), PING_SLICE);
        single.add(SINGLE, one_by_one(&applications, confirmed));
    }

    println!(
        "TCP ping-pong, {PING_BYTES} bytes: {:.0}/s, {:.1} us each",
        ping_pong.per_second(),
        ping_pong.micros()
    );
    println!(
        "put to confirm, {BODY_BYTES} bytes, persistent, units of {UNIT}, {APPLICATIONS} applications, {DEVICES} devices: \
         {:.0} messages/s, {:.1} us each, {:.2} ping-pongs each ({:.3} messages each ping-pong), {:.4} syncs each",
        stream.per_second(),
        stream.micros(),
        stream.micros() / ping_pong.micros(),
        ping_pong.micros() / stream.micros(),
        stream_syncs as f64 / stream.count as f64
    );
    println!(
        "put to confirm, one by one: {:.0}/s, {:.0} us each, {:.1} ping-pongs each",
        single.per_second(),
        single.micros(),
        single.micros() / ping_pong.micros()
    );
    println!("processor time of the gateway's threads in the stream:");
    for (name, after) in stream_threads {
        let used = after - threads.get(&name).copied().unwrap_or(0);
        println!("  {name:<16} {used:>6} ms {:>7.2} us a message", used as f64 * 1e3 / stream.count as f64);
    }
    service.stop();
    none_and_five(&runtime);
    for (latency, messages) in LATENCIES {
        from_another(&runtime, &mut ping, rounds, (latency, messages), &stream);
    }
}

/// Five exits, of which one rewrites what one definition lets through, beside none and a definition for each device. They
/// take turns, so that whatever else the machine does meets both.
fn none_and_five(runtime: &Runtime) {
    let five = FIVE.map(|(kind, data)| format!("[[exit]]\nkind = \"{kind}\"\ndata = '{data}'\n")).concat();
    let define = |device| format!("DEFINE QREMOTE(DEV{device:05}) RQMNAME(DEV{device:05}) XMITQ(GATE1)\n");
    let definitions: String = (0..DEVICES).map(define).collect();
    let mut sides = [("exit = []", defined as Destination, definitions), (&five, rewritten, String::new())]
        .map(|(config, destination, definitions)| {
            let service = Service::prepare(GATEWAY).with_config(config);
            let script = service.folder().join("devices.mqsc");
            std::fs::write(&script, definitions).unwrap();
            let mut service = service.with(&["--mqsc", &script.display().to_string()]);
            service.restart();
            let counts = fleet(runtime, &service);
            let applications =
                Applications { options: service.connect_options("DEV.APP.SVRCONN"), destination };
            first(&applications, &counts);
            (service, applications, counts, Vec::new())
        });
    for _ in 0..TURNS {
        for (_, applications, counts, micros) in &mut sides {
            micros.push(stream(applications, counts, TURN_MESSAGES).micros());
        }
    }
    let [none, five] = sides.map(|(mut service, .., mut micros)| {
        service.stop();
        micros.sort_by(f64::total_cmp);
        micros[TURNS / 2]
    });
    println!(
        "put to confirm, median of {TURNS}: {none:.1} us each without exits, {five:.1} us with five: {:.1} % more",
        (five / none - 1.0) * 100.0
    );
}

/// The same from another queue manager, in batches of 50.
fn from_another(
    runtime: &Runtime,
    ping: &mut Ping,
    rounds: usize,
    (latency, messages): (Duration, usize),
    local: &Figures,
) {
    let mut hq = remote::queue_manager(GATEWAY);
    hq.restart();
    let address = if latency.is_zero() { hq.mq() } else { delayed(hq.mq(), latency).unwrap() };
    let mut gateway = remote::gateway_at(GATEWAY, address, "batch_messages_max = 50", "");
    gateway.restart();
    let counts = fleet(runtime, &gateway);
    let applications = Applications::at(&hq);
    first(&applications, &counts);
    let (ping_pong, stream) = streams(ping, &applications, &counts, messages, rounds);
    println!(
        "put to confirm from another queue manager, round trips to it {} ms longer: {:.0} messages/s, {:.1} us each, \
         {:.2} ping-pongs each ({:.3} messages each ping-pong), {:.2} of the local rate",
        latency.as_millis(),
        stream.per_second(),
        stream.micros(),
        stream.micros() / ping_pong.micros(),
        ping_pong.micros() / stream.micros(),
        stream.per_second() / local.per_second()
    );
    gateway.stop();
    hq.stop();
}

/// Devices that take what comes, and what they have done.
fn fleet(runtime: &Runtime, service: &Service) -> Arc<Counts> {
    let counts = Arc::new(Counts::default());
    for index in 0..DEVICES {
        let options = DeviceOptions {
            counts: Arc::clone(&counts),
            ..DeviceOptions::new(service.devices().to_string(), format!("DEV{index:05}").parse().unwrap())
        };
        runtime.spawn(play(options));
    }
    counts
}

fn confirmed(counts: &Counts) -> usize {
    usize::try_from(counts.confirmed.load(Ordering::Relaxed)).unwrap()
}

/// Once for everything that is made on first use.
fn first(applications: &Applications, counts: &Counts) {
    put_all(applications, UNIT);
    wait::until("the first messages", TIME, || (confirmed(counts) == APPLICATIONS * UNIT).then_some(()));
}

/// Rounds of so many messages of each application, a slice of ping-pongs before each.
fn streams(
    ping: &mut Ping,
    applications: &Applications,
    counts: &Counts,
    messages: usize,
    rounds: usize,
) -> (Figures, Figures) {
    let (mut ping_pong, mut all) = <(Figures, Figures)>::default();
    for _ in 0..rounds {
        ping_pong.add(ping.rounds(PING_SLICE), PING_SLICE);
        let round = stream(applications, counts, messages);
        all.add(round.count, round.time);
    }
    (ping_pong, all)
}

/// So many messages of each application, from put to confirm.
fn stream(applications: &Applications, counts: &Counts, messages: usize) -> Figures {
    let (before, begun) = (confirmed(counts), Instant::now());
    put_all(applications, messages);
    let count = APPLICATIONS * messages;
    wait::until("all confirms", TIME, || (confirmed(counts) == before + count).then_some(()));
    Figures { count, time: begun.elapsed() }
}

/// Takes what comes, for ever.
async fn play(options: DeviceOptions) {
    let mut device = Device::open(options).await.unwrap();
    loop {
        let Some(first) = device.next(TIME).await.unwrap() else { continue };
        let more = std::iter::from_fn(|| device.try_next());
        let uids: Vec<_> = std::iter::once(first).chain(more).map(|message| message.uid).collect();
        device.used(&uids).await.unwrap();
    }
}

/// Each application puts so many messages, round robin to all devices.
fn put_all(applications: &Applications, messages: usize) {
    thread::scope(|scope| {
        for _ in 0..APPLICATIONS {
            scope.spawn(|| {
                let mut app = Mq::connect(&applications.options).unwrap();
                let handles: Vec<i32> =
                    (0..DEVICES).map(|device| applications.open(&mut app, device)).collect();
                for number in 0..messages {
                    let handle = handles[number % DEVICES];
                    app.put(handle, persistent(), PutOptions::SYNCPOINT, vec![b'x'; BODY_BYTES]).unwrap();
                    if (number + 1) % UNIT == 0 || number + 1 == messages {
                        app.commit().unwrap();
                    }
                }
                app.disconnect().unwrap();
            });
        }
    });
}

/// One message after the other; the time of all.
fn one_by_one(applications: &Applications, confirmed: impl Fn() -> usize) -> Duration {
    let mut app = Mq::connect(&applications.options).unwrap();
    let handle = applications.open(&mut app, 0);
    let before = confirmed();
    let begun = Instant::now();
    for number in 0..SINGLE {
        app.put(handle, persistent(), PutOptions::NO_SYNCPOINT, vec![b'x'; BODY_BYTES]).unwrap();
        // Looks without a pause: a wait would be longer than what is measured.
        while confirmed() <= before + number {
            assert!(begun.elapsed() < TIME, "a message is not confirmed");
            thread::yield_now();
        }
    }
    let time = begun.elapsed();
    app.disconnect().unwrap();
    time
}

/// Syncs of the store since its start.
fn syncs(service: &Service) -> u64 {
    service.status()["store"]["syncs"].as_u64().unwrap()
}

/// Processor time by name of thread, in milliseconds (proc(5), fields 14 and 15 of `stat`, in hundredths of a second).
fn thread_millis(process: u32) -> BTreeMap<String, u64> {
    let mut millis = BTreeMap::new();
    for task in std::fs::read_dir(Path::new("/proc").join(process.to_string()).join("task")).unwrap() {
        let stat = std::fs::read_to_string(task.unwrap().path().join("stat")).unwrap_or_default();
        let Some((begin, rest)) = stat.rsplit_once(") ") else { continue };
        let name = begin.split_once('(').unwrap().1;
        let ticks: u64 = rest.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        *millis.entry(name.to_owned()).or_default() += ticks * 10;
    }
    millis
}
