//! What devices and messages cost in memory, and how long a start takes, of the gateway as a process of its own:
//! 100,000 devices that became known by a message and have none any more, then 1,000,000 messages of 256 bytes for
//! them; each as it is after the work and again after a start with the same data. Then the time from the start of the
//! process to `ready`, and to the first message in the hands of a device. It asserts nothing.
//!
//! Resident memory is what `/proc/PID/status` says: all of it, and of that what is of no file.
//!
//! `cargo bench -p integration-tests --bench memory [-- [--short]]`: `--short` has a tenth of it. The data directory is
//! in the folder for temporary files (`TMPDIR`), which must not be in memory.

#![expect(clippy::unwrap_used, reason = "a bench stops at the first surprise")]

use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use device_sim::device::{Device, DeviceOptions};
use integration_tests::mq::persistent;
use integration_tests::service::Service;
use integration_tests::wait;
use mq_client::{ConnectOptions, Connection};
use mq_wire::{Mqmd, Mqod, Mqpmo, PutOptions, Reason};
use tokio::runtime::{Builder, Runtime};

const BODY_BYTES: usize = 256;
const CONNECTIONS: usize = 4;
const UNIT: usize = 1000;
/// In tenths of a second: longer than a first message needs to its device, and not much longer.
const FIRST_EXPIRY: i32 = 100;
const TIME: Duration = Duration::from_secs(240);
/// The gateway has nothing to do any more, and has given back what it gives back by itself.
const CALM: Duration = Duration::from_secs(12);

/// Resident memory, in bytes.
#[derive(Debug, Clone, Copy)]
struct Memory {
    all: u64,
    /// Of no file: heaps and stacks.
    own: u64,
}

fn main() {
    let short = std::env::args().any(|arg| arg == "--short");
    let (devices, messages) = if short { (10_000, 100_000) } else { (100_000, 1_000_000) };
    let mut service = Service::start(env!("CARGO_BIN_EXE_mqe-gateway-under-test"));
    if in_memory(&service) {
        println!("{} is in memory: set TMPDIR to a folder on a disk", service.folder().display());
        return;
    }
    let options = service.connect_options("DEV.APP.SVRCONN");
    println!(
        "{devices} devices, {messages} messages of {BODY_BYTES} bytes{}",
        if short { ", short: not for comparison" } else { "" }
    );
    println!(
        "{:<36} {:>9} {:>9} {:>14} {:>15} {:>9} {:>9}",
        "", "RSS MiB", "anon MiB", "bytes a device", "bytes a message", "ready s", "first s"
    );

    // Once for everything that is made on first use.
    feed(&options, 1, 1, FIRST_EXPIRY);
    wait_for(&service, 0);
    wait::pause(CALM);
    let empty = Memory::of(&mut service);
    print_row("empty", empty, None, None, None);

    let begun = Instant::now();
    feed(&options, devices, devices, FIRST_EXPIRY);
    let fed = begun.elapsed();
    wait_for(&service, 0);
    wait::pause(CALM);
    let known = service.status()["area"]["devices"].as_u64().unwrap();
    let idle = Memory::of(&mut service);
    let per_device = |memory: Memory| memory.above(empty, devices);
    print_row("devices, idle", idle, Some(per_device(idle)), None, None);
    service.stop().succeeded();
    let times = start(&mut service, None);
    let idle_again = Memory::of(&mut service);
    print_row("devices, idle, started again", idle_again, Some(per_device(idle_again)), None, Some(times));

    let begun = Instant::now();
    feed(&options, devices, messages, -1);
    let fed_messages = begun.elapsed();
    wait_for(&service, messages as u64);
    let handed_over = begun.elapsed();
    wait::pause(CALM);
    let stored = Memory::of(&mut service);
    let per_message = |memory: Memory, idle: Memory| Some(memory.above(idle, messages));
    print_row("messages stored", stored, None, per_message(stored, idle_again), None);
    service.kill();
    let times = start(&mut service, Some(devices / 2));
    let stored_again = Memory::of(&mut service);
    let cost = per_message(stored_again, idle_again);
    print_row("messages, started after a kill", stored_again, None, cost, Some(times));
    wait::pause(CALM);
    let later = Memory::of(&mut service);
    print_row("the same, a while later", later, None, per_message(later, idle_again), None);
    service.stop().succeeded();
    let times = start(&mut service, Some(devices / 3));
    let stored_again = Memory::of(&mut service);
    let cost = per_message(stored_again, idle_again);
    print_row("messages, started after a stop", stored_again, None, cost, Some(times));
    println!(
        "{known} devices known; first messages put in {:.1} s, the others in {:.1} s, with their devices after {:.1} s; \
         the store reports {} bytes of memory",
        fed.as_secs_f64(),
        fed_messages.as_secs_f64(),
        handed_over.as_secs_f64(),
        service.status()["store"]["memory_bytes"]
    );
}

impl Memory {
    fn of(service: &mut Service) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{}/status", service.process().id())).unwrap();
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
        };
        Self { all: bytes("VmRSS:"), own: bytes("RssAnon:") }
    }

    /// What each of so many has added.
    fn above(self, before: Self, count: usize) -> f64 {
        (self.all as f64 - before.all as f64) / count as f64
    }
}

fn print_row(
    what: &str,
    memory: Memory,
    per_device: Option<f64>,
    per_message: Option<f64>,
    times: Option<(f64, Option<f64>)>,
) {
    let number = |value: Option<f64>, digits: usize| {
        value.map(|value| format!("{value:.digits$}")).unwrap_or_default()
    };
    println!(
        "{what:<36} {:>9.1} {:>9.1} {:>14} {:>15} {:>9} {:>9}",
        memory.all as f64 / f64::from(1 << 20),
        memory.own as f64 / f64::from(1 << 20),
        number(per_device, 0),
        number(per_message, 1),
        number(times.map(|times| times.0), 2),
        number(times.and_then(|times| times.1), 2)
    );
}

/// Puts round robin to all devices, in units of work, over several connections.
fn feed(options: &ConnectOptions, devices: usize, messages: usize, expiry: i32) {
    let body = Bytes::from(vec![b'x'; BODY_BYTES]);
    let body = &body;
    thread::scope(|scope| {
        for connection in 0..CONNECTIONS {
            scope.spawn(move || {
                runtime().block_on(async {
                    let mut app = Connection::connect(options).await.unwrap();
                    let mine = (connection..messages).step_by(CONNECTIONS);
                    for (index, number) in mine.enumerate() {
                        put(&mut app, number % devices, expiry, body).await;
                        if (index + 1) % UNIT == 0 {
                            app.commit().await.unwrap();
                        }
                    }
                    app.disconnect().await.unwrap();
                });
            });
        }
    });
}

async fn put(app: &mut Connection, device: usize, expiry: i32, body: &Bytes) {
    let begun = Instant::now();
    loop {
        let object = Mqod {
            object_name: format!("ORDERS%{}", name(device)).parse().unwrap(),
            object_q_mgr_name: "GATE1".parse().unwrap(),
            ..Mqod::default()
        };
        let options = Mqpmo { options: PutOptions::SYNCPOINT, ..Mqpmo::default() };
        match app.put1(object, Mqmd { expiry, ..persistent() }, options, body.clone()).await {
            // The gateway is behind: what this unit has put is in its way too.
            Err(error) if error.reason() == Reason::Q_FULL => {
                app.commit().await.unwrap();
                wait::pause(Duration::from_millis(5));
            }
            put => {
                put.unwrap();
                return;
            }
        }
        assert!(begun.elapsed() < TIME, "the transmission queue stays full");
    }
}

/// Waits until so many messages are with devices, and none is on its way there.
fn wait_for(service: &Service, messages: u64) {
    wait::until("the messages", TIME, || {
        // A report looks at every device: not too often.
        wait::pause(Duration::from_millis(250));
        let status = service.status();
        let on_queues: u64 =
            status["queues"].as_array().unwrap().iter().map(|q| q["depth"].as_u64().unwrap()).sum();
        (on_queues == 0 && status["area"]["messages"] == messages).then_some(())
    });
}

/// Starts it with the data it had: the seconds to `ready`, and to the first message of a device.
fn start(service: &mut Service, device: Option<usize>) -> (f64, Option<f64>) {
    let begun = Instant::now();
    service.restart();
    let ready = begun.elapsed().as_secs_f64();
    let first = device.map(|device| {
        runtime().block_on(async {
            let options = DeviceOptions::new(service.devices().to_string(), name(device).parse().unwrap());
            let mut device = Device::open(options).await.unwrap();
            let first = device.next(TIME).await.unwrap();
            assert!(first.is_some(), "a device has nothing");
            let seconds = begun.elapsed().as_secs_f64();
            device.crash().await;
            seconds
        })
    });
    (ready, first)
}

fn name(device: usize) -> String {
    format!("DEV{device:06}")
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Whether the data is in a file system without a disk (proc(5), `mounts`).
fn in_memory(service: &Service) -> bool {
    let folder = service.folder().canonicalize().unwrap();
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    let of_folder = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (point, kind) = (words.next()?, words.next()?);
        folder.starts_with(point).then_some((point.len(), kind))
    });
    of_folder.max().is_some_and(|(_, kind)| matches!(kind, "tmpfs" | "ramfs"))
}
