//! Many applications at once, each waiting until its message is on disk.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use integration_tests::mq::persistent;
use integration_tests::ping::{Ping, Sizes, echo};
use integration_tests::service::Service;
use mq_client::{ConnectOptions, Connection};
use mq_wire::{Mqod, Mqpmo, OpenOptions, PutOptions};

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
        let count = put_for(&options);
        messages += count as u64;
        puts.push(count as f64 / SLICE.as_secs_f64());
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

/// Puts of all connections together in a slice. mq-client is asynchronous: one thread serves all of them.
fn put_for(options: &ConnectOptions) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connected = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut connection = Connection::connect(options).await.unwrap();
            let od = Mqod { object_name: "MANY".parse().unwrap(), ..Mqod::default() };
            let handle = connection.open(od, OpenOptions::OUTPUT).await.unwrap().handle;
            connected.push((connection, handle));
        }
        let begun = Instant::now();
        let apps = connected.into_iter().map(|(mut connection, handle)| {
            tokio::spawn(async move {
                let body = Bytes::from(vec![b'x'; BODY_BYTES]);
                let pmo = Mqpmo { options: PutOptions::NO_SYNCPOINT, ..Mqpmo::default() };
                let mut count = 0;
                while begun.elapsed() < SLICE {
                    connection.put(handle, persistent(), pmo.clone(), body.clone()).await.unwrap();
                    count += 1;
                }
                connection.disconnect().await.unwrap();
                count
            })
        });
        let apps: Vec<_> = apps.collect();
        let mut count = 0;
        for app in apps {
            count += app.await.unwrap();
        }
        count
    })
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
