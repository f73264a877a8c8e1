//! Random, damaged and truncated bytes on both listeners: that connection ends, with a reason in the log; nobody else
//! notices, and nothing is left in memory.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use integration_tests::device::Device;
use integration_tests::mq::{Mq, persistent, reason};
use integration_tests::seed::Seed;
use integration_tests::service::Service;
use integration_tests::wait;
use mq_client::ConnectOptions;
use mq_wire::{GetOptions, OpenOptions, PutOptions, Reason};
use rand::rngs::StdRng;
use rand::{Rng, RngExt};

use crate::{DEVICE_SIM, GATEWAY};

/// Bad connections, half of them on each listener.
const CONNECTIONS: usize = 1000;
/// How much more memory they may leave behind.
const MORE_KIB_MAX: u64 = 5 * 1024;
/// A connection ends within this.
const END: Duration = Duration::from_secs(30);
/// Bad connections at the same time.
const AT_ONCE: usize = 8;
/// Messages that a device gets while they come and go.
const GOOD_MESSAGES: usize = 20;

/// What a well-behaved client sends, to be cut and damaged: the recorded session of IBM's client at FAP 12. It comes all at
/// once, so it is judged by its first segments; `bad_calls` plays conversations step by step.
fn mq_bytes() -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/wire/base-fap12-tsh.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    let mut bytes = Vec::new();
    for line in text.lines() {
        let segment: serde_json::Value = serde_json::from_str(line).unwrap();
        if segment["dir"] == "c>s" {
            let hex = segment["hex"].as_str().unwrap();
            let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
            bytes.extend(pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()));
        }
    }
    assert!(bytes.starts_with(b"TSH "), "the recording begins with a segment");
    bytes
}

/// What a device says first.
fn device_bytes() -> Vec<u8> {
    let now = Instant::now();
    let settings = mqe::device_end::DeviceSettings::new("DEV77777".parse().unwrap());
    let mut device = mqe::device_end::Device::new(now, settings, mqe::device_end::DeviceState::default());
    device.connected(now);
    let bytes: Vec<u8> = std::iter::from_fn(|| device.poll_output()).flatten().collect();
    assert!(bytes.len() > 8, "HELLO is said");
    bytes
}

/// A damaged conversation; the flag says that it cannot be taken for a client that merely went away.
fn damaged(good: &[u8], rng: &mut StdRng) -> (Vec<u8>, bool) {
    let random = |length: usize, rng: &mut StdRng| {
        let mut bytes = vec![0; length];
        rng.fill_bytes(&mut bytes);
        bytes
    };
    let cut = good[..rng.random_range(0..good.len())].to_vec();
    match rng.random_range(0..4) {
        // Never by chance the first byte of a TSH or of a length that is accepted.
        0 => {
            let length = rng.random_range(64..4096);
            (vec![0xFF; 4].into_iter().chain(random(length, rng)).collect(), true)
        }
        1 => (cut, false),
        2 => {
            let mut bytes = cut;
            for _ in 0..rng.random_range(1..8) {
                if let Some(last) = bytes.len().checked_sub(1) {
                    bytes[rng.random_range(0..=last)] = rng.random();
                }
            }
            (bytes, false)
        }
        _ => {
            let length = rng.random_range(1..2048);
            (cut.into_iter().chain(random(length, rng)).collect(), false)
        }
    }
}

/// Sends, ends its own side, and waits until the other has ended too. Gives the own port.
fn bad_connection(to: SocketAddr, bytes: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(to).unwrap();
    let port = stream.local_addr().unwrap().port();
    stream.set_read_timeout(Some(END)).unwrap();
    // The service may have ended it before all was written.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    read_to_end(&mut stream);
    port
}

#[track_caller]
fn read_to_end(stream: &mut TcpStream) {
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return,
            Err(error) => panic!("the service does not end a bad connection: {error}"),
        }
    }
}

/// One round after the other until told to stop; each must work.
fn good_rounds(options: &ConnectOptions, stop: &AtomicBool) -> usize {
    let mut app = Mq::connect(options).unwrap();
    let handle = app.open("APP.GOOD", "", OpenOptions::OUTPUT | OpenOptions::INPUT_SHARED).unwrap();
    let mut rounds = 0;
    while !stop.load(Ordering::Relaxed) {
        let text = format!("round {rounds}");
        app.put(handle, persistent(), PutOptions::SYNCPOINT, text.clone()).unwrap();
        app.commit().unwrap();
        let got =
            app.get(handle, GetOptions::NO_SYNCPOINT, Duration::ZERO).unwrap().expect("its own message");
        assert_eq!(got.data, text);
        rounds += 1;
    }
    rounds
}

#[test]
fn bad_connections_end_and_nobody_else_notices() {
    let seed = Seed::new("bad_input");
    // A queue of its own for the good client: damaged conversations still put and get.
    let mut service = Service::prepare(GATEWAY).with(&["--mqsc", "good.mqsc"]);
    std::fs::write(service.folder().join("good.mqsc"), "DEFINE QLOCAL(APP.GOOD)\n").unwrap();
    service.restart();
    let options = service.connect_options("DEV.APP.SVRCONN");
    let device = Device::new(DEVICE_SIM, service.devices(), "DEV00001", service.folder());
    let mut app = Mq::connect(&options).unwrap();
    // Both ways were used once before memory is measured.
    app.put_one("ORDERS%DEV00001", "GATE1", "first").unwrap();
    device.pull(1);
    let before = service.resident_kib();

    let good_device = device.start_pull(&["--max", &GOOD_MESSAGES.to_string(), "--wait", "60"]);
    let stop = AtomicBool::new(false);
    let sent = AtomicUsize::new(0);
    let targets = [(service.mq(), mq_bytes()), (service.devices(), device_bytes())];
    let (rounds, reported) = thread::scope(|scope| {
        let good = scope.spawn(|| good_rounds(&options, &stop));
        let bad: Vec<_> = (0..AT_ONCE as u64)
            .map(|worker| {
                let mut rng = seed.rng_of(worker);
                let (targets, sent) = (&targets, &sent);
                scope.spawn(move || {
                    let mut to_report = Vec::new();
                    loop {
                        let number = sent.fetch_add(1, Ordering::Relaxed);
                        if number >= CONNECTIONS {
                            return to_report;
                        }
                        let (address, good) = &targets[number % 2];
                        let (bytes, garbage) = damaged(good, &mut rng);
                        let port = bad_connection(*address, &bytes);
                        if garbage {
                            to_report.push(port);
                        }
                    }
                })
            })
            .collect();
        for number in 0..GOOD_MESSAGES {
            app.put_one("ORDERS%DEV00001", "GATE1", format!("good {number}")).unwrap();
        }
        let reported: Vec<u16> = bad.into_iter().flat_map(|bad| bad.join().unwrap()).collect();
        stop.store(true, Ordering::Relaxed);
        (good.join().unwrap(), reported)
    });
    assert!(rounds > 0, "the good client did nothing meanwhile");
    let pulled = good_device.wait(END * 3).succeeded();
    assert_eq!(pulled.stdout.lines().count(), GOOD_MESSAGES, "{}", pulled.stdout);

    wait::until("no connection but the good one", END, || {
        let status = service.status();
        (status["mq_connections"] == 1 && status["device_connections"] == 0).then_some(())
    });
    let after = service.resident_kib();
    eprintln!("bad_input: {rounds} good rounds meanwhile; memory {before} KiB before, {after} KiB after");
    assert!(after <= before + MORE_KIB_MAX, "{before} KiB before, {after} KiB after");

    let log = service.log();
    let silent: Vec<&u16> = reported.iter().filter(|port| !gives_reason(&log, **port)).collect();
    assert!(silent.is_empty(), "{} of {} ended without a reason in the log", silent.len(), reported.len());
    assert!(!log.contains("panicked"), "{log}");
}

/// Whether the log says why the connection from this port ended.
fn gives_reason(log: &str, port: u16) -> bool {
    let peer = format!("127.0.0.1:{port}");
    log.lines().any(|line| line.contains(&peer) && line.contains("ended") && line.contains("why="))
}

#[test]
fn half_open_handshakes_end() {
    let mut service = Service::prepare(GATEWAY).with(&["--config", "quick.toml"]);
    std::fs::write(service.folder().join("quick.toml"), "[limits]\nhandshake_seconds_max = 1\n").unwrap();
    service.restart();
    let mq = mq_bytes();
    let device = device_bytes();
    let silent: Vec<(&str, SocketAddr, &[u8])> = vec![
        ("nothing, MQ", service.mq(), &[]),
        ("four bytes, MQ", service.mq(), &mq[..4]),
        ("a header without its end, MQ", service.mq(), &mq[..27]),
        ("the first segment only, MQ", service.mq(), &mq[..268]),
        ("nothing, device", service.devices(), &[]),
        ("half a HELLO, device", service.devices(), &device[..device.len() / 2]),
    ];
    for (what, address, bytes) in silent {
        let begun = Instant::now();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(bytes).unwrap();
        let port = stream.local_addr().unwrap().port();
        read_to_end(&mut stream);
        assert!(begun.elapsed() >= Duration::from_millis(900), "{what}: ended after {:?}", begun.elapsed());
        drop(stream);
        wait::until(what, END, || gives_reason(&service.log(), port).then_some(()));
    }
}

#[test]
fn unknown_names_get_their_reason_codes() {
    let service = Service::start(GATEWAY);
    let options = service.connect_options("DEV.APP.SVRCONN");
    let elsewhere = ConnectOptions { qmgr_name: "NOSUCHQM".parse().unwrap(), ..options.clone() };
    assert_eq!(reason(Mq::connect(&elsewhere)), Reason::Q_MGR_NAME_ERROR);
    let named = ConnectOptions { qmgr_name: "QM1".parse().unwrap(), ..options.clone() };
    assert!(Mq::connect(&named).is_ok());
    assert_eq!(
        reason(Mq::connect(&service.connect_options("NO.SUCH.CHANNEL"))),
        Reason::UNKNOWN_CHANNEL_NAME
    );
    let mut app = Mq::connect(&options).unwrap();
    let opened = app.open("NO.SUCH.QUEUE", "", OpenOptions::OUTPUT);
    assert_eq!(reason(opened), Reason::UNKNOWN_OBJECT_NAME);
    let opened = app.open("DEV.QUEUE.1", "NOWHERE", OpenOptions::OUTPUT);
    assert_eq!(reason(opened), Reason::UNKNOWN_REMOTE_Q_MGR);
}
