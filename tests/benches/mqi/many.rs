//! Many applications at once, each waiting until its message is on disk.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use integration_tests::mq::{Mq, persistent};
use integration_tests::ping::{Ping, Sizes, echo};
use integration_tests::service::Service;
use mq_wire::{OpenOptions, PutOptions};

use crate::{median, service};

const CONNECTIONS: usize = 50;
const BODY_BYTES: usize = 256;
const SLICES: usize = 5;
const SLICE: Duration = Duration::from_secs(1);
/// TSH 28, API header 16, MQMD 364, MQPMO 128, DataLength 4 and the data; the reply has none (mq-wire.md 5.1).
const SIZES: Sizes =
    Sizes { question: 28 + 16 + 364 + 128 + 4 + BODY_BYTES, answer: 28 + 16 + 364 + 128 + 4 };

pub(crate) fn run() {
    let service = service("DEFINE QLOCAL(MANY) MAXDEPTH(999999999)");
    let echo = echo(SIZES);
    let (mut puts, mut pings, mut messages) = (Vec::new(), Vec::new(), 0);
    let before = syncs(&service);
    for _ in 0..SLICES {
        pings.push(rate(|barrier| {
            let mut ping = Ping::connect(echo, SIZES);
            barrier.wait();
            ping.rounds(SLICE)
        }));
        let options = service.connect_options("DEV.APP.SVRCONN");
        let put = rate(|barrier| {
            let mut app = Mq::connect(&options).unwrap();
            let handle = app.open("MANY", "", OpenOptions::OUTPUT).unwrap();
            barrier.wait();
            let (begun, mut count) = (Instant::now(), 0);
            while begun.elapsed() < SLICE {
                app.put(handle, persistent(), PutOptions::NO_SYNCPOINT, vec![b'x'; BODY_BYTES]).unwrap();
                count += 1;
            }
            app.disconnect().unwrap();
            count
        });
        messages += (put * SLICE.as_secs_f64()) as u64;
        puts.push(put);
    }
    let each = (syncs(&service) - before) as f64 / messages as f64;
    let (put, ping) = (median(puts), median(pings));
    println!(
        "MQPUT, {BODY_BYTES} bytes, persistent, {CONNECTIONS} connections: {put:.0}/s; TCP ping-pong of {} and {} bytes over \
         {CONNECTIONS} connections: {ping:.0}/s; {:.2} of it, {each:.4} syncs a message",
        SIZES.question,
        SIZES.answer,
        put / ping
    );
}

/// What all connections together do in a second.
fn rate(work: impl Fn(&Barrier) -> usize + Sync) -> f64 {
    let barrier = Barrier::new(CONNECTIONS);
    let counts: Vec<usize> = thread::scope(|scope| {
        let threads: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(|| work(&barrier))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    counts.iter().sum::<usize>() as f64 / SLICE.as_secs_f64()
}

fn syncs(service: &Service) -> u64 {
    service.status()["store"]["syncs"].as_u64().unwrap()
}
