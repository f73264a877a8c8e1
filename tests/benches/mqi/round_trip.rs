//! One call after the other: what a round trip costs beyond the round trip.

use std::path::Path;
use std::time::{Duration, Instant};

use integration_tests::java::Java;
use integration_tests::mq::Mq;
use integration_tests::ping::{Ping, Sizes, echo};
use integration_tests::relay::Relay;
use integration_tests::service::Service;
use mq_wire::{GetOptions, Mqmd, OpenOptions, Persistence, PutOptions};

use crate::{SLICE, median};

const BODY_BYTES: usize = 256;
const SLICES: usize = 9;
const QUEUE: &str = "DEV.QUEUE.1";
const JAVA: Duration = Duration::from_secs(120);

pub(crate) fn run() {
    let service = Service::start(env!("CARGO_BIN_EXE_mqe-gateway-under-test"));
    let (put_sizes, get_sizes) = sizes(&service);
    let mut app = Mq::connect(&service.connect_options("DEV.APP.SVRCONN")).unwrap();
    let handle = app.open(QUEUE, "", OpenOptions::INPUT_SHARED | OpenOptions::OUTPUT).unwrap();
    let mut put_ping = Ping::connect(echo(put_sizes), put_sizes);
    let mut get_ping = Ping::connect(echo(get_sizes), get_sizes);
    for _ in 0..1_000 {
        put_and_get(&mut app, handle);
    }
    let (mut puts, mut gets, mut put_pings, mut get_pings) =
        <(Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>)>::default();
    for _ in 0..SLICES {
        put_pings.push(micros(SLICE, put_ping.rounds(SLICE)));
        get_pings.push(micros(SLICE, get_ping.rounds(SLICE)));
        let (mut put, mut get, mut calls) = (Duration::ZERO, Duration::ZERO, 0);
        while put + get < 2 * SLICE {
            let (one, other) = put_and_get(&mut app, handle);
            (put, get, calls) = (put + one, get + other, calls + 1);
        }
        puts.push(micros(put, calls));
        gets.push(micros(get, calls));
    }
    app.disconnect().unwrap();
    print("MQPUT", "mq-client", put_sizes, median(puts), median(put_pings));
    print("MQGET", "mq-client", get_sizes, median(gets), median(get_pings));
}

pub(crate) fn run_java() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop-bench");
    std::fs::create_dir_all(&folder).unwrap();
    let Some(java) = Java::prepare(&folder) else { return };
    let service = Service::start(env!("CARGO_BIN_EXE_mqe-gateway-under-test"));
    let (put_sizes, get_sizes) = java_sizes(&java, &service);
    let (put_echo, get_echo) = (echo(put_sizes), echo(get_sizes));
    let numbers = [service.mq().port().into(), put_echo.port().into(), put_sizes.question, put_sizes.answer]
        .into_iter()
        .chain([get_echo.port().into(), get_sizes.question, get_sizes.answer, BODY_BYTES, SLICES]);
    let args: Vec<String> = numbers.map(|number| number.to_string()).collect();
    let ended = java.run_fast("RoundTrip", &args, service.folder(), JAVA).succeeded();
    let figures: Vec<f64> = ended.stdout.split_whitespace().map(|figure| figure.parse().unwrap()).collect();
    let [put, put_ping, get, get_ping] = figures[..] else { panic!("four figures: {}", ended.stdout) };
    print("MQPUT", "IBM's classes for Java", put_sizes, put, put_ping);
    print("MQGET", "IBM's classes for Java", get_sizes, get, get_ping);
}

fn print(call: &str, who: &str, sizes: Sizes, call_micros: f64, ping_micros: f64) {
    println!(
        "{call}, {BODY_BYTES} bytes, non-persistent, by {who}: {call_micros:.1} us; TCP ping-pong of {} and {} bytes: \
         {ping_micros:.1} us; {:.2} ping-pongs",
        sizes.question,
        sizes.answer,
        call_micros / ping_micros
    );
}

fn micros(time: Duration, count: usize) -> f64 {
    time.as_secs_f64() * 1e6 / count as f64
}

fn message() -> Mqmd {
    Mqmd { persistence: Persistence::NOT_PERSISTENT, ..Mqmd::default() }
}

fn put_and_get(app: &mut Mq, handle: i32) -> (Duration, Duration) {
    let begun = Instant::now();
    app.put(handle, message(), PutOptions::NO_SYNCPOINT, vec![b'x'; BODY_BYTES]).unwrap();
    let put = begun.elapsed();
    app.get(handle, GetOptions::NO_SYNCPOINT, Duration::ZERO).unwrap().unwrap();
    (put, begun.elapsed() - put)
}

/// How many bytes a put and a get of mq-client are on the wire.
fn sizes(service: &Service) -> (Sizes, Sizes) {
    const CALLS: usize = 100;
    let relay = Relay::start(service.mq(), &service.folder().join("sizes.pcap")).unwrap();
    let text = format!("DEV.APP.SVRCONN/TCP/127.0.0.1({})", relay.address().port());
    let mut app = Mq::connect(&mq_client::ConnectOptions::parse(&text).unwrap()).unwrap();
    let handle = app.open(QUEUE, "", OpenOptions::INPUT_SHARED | OpenOptions::OUTPUT).unwrap();
    let mut measure = |call: &mut dyn FnMut(&mut Mq)| {
        let (up, down) = relay.bytes();
        for _ in 0..CALLS {
            call(&mut app);
        }
        let (up_after, down_after) = relay.bytes();
        Sizes { question: (up_after - up) / CALLS, answer: (down_after - down) / CALLS }
    };
    let put = measure(&mut |app| {
        app.put(handle, message(), PutOptions::NO_SYNCPOINT, vec![b'x'; BODY_BYTES]).unwrap();
    });
    let get = measure(&mut |app| {
        app.get(handle, GetOptions::NO_SYNCPOINT, Duration::ZERO).unwrap().unwrap();
    });
    app.disconnect().unwrap();
    (put, get)
}

/// The same of IBM's classes: what many calls are more than few.
fn java_sizes(java: &Java, service: &Service) -> (Sizes, Sizes) {
    const FEW: usize = 10;
    const MANY: usize = 1_010;
    let relay = Relay::start(service.mq(), &service.folder().join("java-sizes.pcap")).unwrap();
    let bytes = |call: &str, count: usize| {
        let (up, down) = relay.bytes();
        let args =
            [call.to_owned(), relay.address().port().to_string(), BODY_BYTES.to_string(), count.to_string()];
        java.run("RoundTrip", &args, service.folder(), JAVA).succeeded();
        let (up_after, down_after) = relay.bytes();
        (up_after - up, down_after - down)
    };
    let each = |call: &str| {
        let ((few_up, few_down), (many_up, many_down)) = (bytes(call, FEW), bytes(call, MANY));
        let of = |few: usize, many: usize| (many - few) / (MANY - FEW);
        Sizes { question: of(few_up, many_up), answer: of(few_down, many_down) }
    };
    (each("put"), each("get"))
}
