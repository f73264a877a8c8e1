//! DESIGN.md 9: what devices and messages cost, in the process and in keys of the store.

use std::time::Instant;

use bytes::Bytes;
use mq_wire::QMgrName;
use store::{Batch, Commit, Id, OwnerId, Place, Recovered, RecoveredMessage};

use super::pair::{IDENTITY, Pair, message, name};
use crate::area::{Area, AreaSettings, Counter};
use crate::{DeviceName, Now};

/// A device that was only given messages has its record in the store, and nothing else; counts stay exact.
#[test]
fn a_device_that_was_only_given_messages_has_one_key() {
    let mut pair = Pair::new();
    for number in 0..5 {
        pair.give(number, 0);
    }
    let keys = |pair: &Pair, prefix: &[u8]| pair.disk.values(prefix).len();
    assert_eq!(
        (keys(&pair, b"dD"), keys(&pair, b"dC"), keys(&pair, b"dM"), keys(&pair, b"dP")),
        (1, 0, 0, 0)
    );
    pair.crash_gateway();
    assert_eq!(pair.view().counters.get(Counter::Accepted), 5);
    // One that expired on its way is counted in its unit, also when it is the only one.
    let mut late = message(9, 0);
    late.expiry_ms = Some(1);
    pair.offer(name(0), &late).unwrap();
    pair.offer(name(1), &late).unwrap();
    pair.sync_all();
    pair.crash_gateway();
    for (device, accepted) in [(0, 6), (1, 1)] {
        let counters = pair.area.device(&name(device)).unwrap().counters;
        assert_eq!((counters.get(Counter::Accepted), counters.get(Counter::Expired)), (accepted, 1));
    }
    pair.connect(0);
    pair.settle();
    pair.put(0, 1);
    pair.settle();
    let before = pair.view().counters;
    assert_eq!((before.get(Counter::Accepted), before.get(Counter::Delivered)), (6, 5));
    pair.give_up(0);
    pair.settle();
    pair.gateway_timeout();
    pair.sync_all();
    // All that can happen to a device leaves record, counters and put mark.
    assert_eq!(
        (keys(&pair, b"dD"), keys(&pair, b"dC"), keys(&pair, b"dM"), keys(&pair, b"dP")),
        (2, 2, 0, 1)
    );
    pair.crash_gateway();
    assert_eq!(pair.view().counters, before);
}

/// Fewer where the compiler does not optimize.
const DEVICES: u32 = if cfg!(debug_assertions) { 10_000 } else { 100_000 };
const EACH: u32 = 10;

/// What the process holds in memory, if the system says so.
fn resident() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: f64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096.0)
}

fn now() -> Now {
    Now { wall_ms: 1_000_000, instant: Instant::now() }
}

fn settings() -> AreaSettings {
    AreaSettings::new(QMgrName::new("GATE1").unwrap(), IDENTITY)
}

fn device(number: u32) -> DeviceName {
    DeviceName::new(&format!("DEV{number:06}")).unwrap()
}

/// Records of devices, made by hand: an area that was here before would leave memory that is used again.
fn devices() -> Recovered {
    let record = |number: u32| {
        let value = [&[1][..], &number.to_be_bytes(), &[0; 16], &[1]].concat();
        ([&b"dD"[..], device(number).trimmed()].concat(), Bytes::from(value))
    };
    Recovered { keyed: (1..=DEVICES).map(record).collect(), ..Recovered::default() }
}

fn recover(recovered: &Recovered, start: u32) -> Area {
    Area::new(settings(), recovered, now(), &mut Batch::detached(start)).unwrap()
}

/// Prints what the area takes that recovers a million messages (run it alone, with `--release`). What it asserts is that
/// all is there.
#[test]
fn a_million_recovered_messages() {
    let mut recovered = devices();
    let start = resident();
    let idle = recover(&recovered, 2);
    let idle_bytes = resident().zip(start).map(|(end, start)| (end - start) / f64::from(DEVICES));
    assert_eq!(idle.device_count(), DEVICES as usize);
    let message = |number: u32| RecoveredMessage {
        id: Id::new(1, u64::from(number) + 1),
        // Round about, so that no queue is filled at one go.
        owner: OwnerId(1 << 63 | u64::from(number % DEVICES + 1)),
        order: u64::from(number) + 1,
        priority: 0,
        persistent: true,
        expiry_ms: 0,
        tags: [0; 2],
        place: Place { segment: 1, offset: number, record: number },
        envelope_length: 100,
        body_length: 1_000,
    };
    recovered.messages = (0..DEVICES * EACH).map(message).collect();
    let start = resident();
    let full = recover(&recovered, 3);
    let bytes = resident().zip(start).map(|(end, start)| end - start);
    let waiting: usize = full.devices(None).map(|view| view.waiting).sum();
    assert_eq!(waiting, (DEVICES * EACH) as usize);
    if let (Some(idle), Some(bytes)) = (idle_bytes, bytes) {
        let message = (bytes - idle * f64::from(DEVICES)) / f64::from(DEVICES * EACH);
        println!("recovered: {idle:.0} bytes an idle device, {message:.1} a message");
    }
}

/// The same by the way of intake, ten rounds over all devices.
#[test]
fn a_million_messages_taken_in() {
    let mut area = recover(&devices(), 2);
    let start = resident();
    for round in 0..EACH {
        for first in (0..DEVICES).step_by(1_000) {
            let mut batch = Batch::detached(3 + round);
            let unit = batch.new_unit();
            for number in first + 1..=first + 1_000 {
                area.accept(now(), &device(number), &message(number, 0), unit, &mut batch).unwrap();
            }
            let mut commit = Commit { unit: Some(unit), ..Commit::default() };
            area.seal_unit(now(), unit, &mut commit);
            assert!(commit.changes.is_empty(), "a message changes no counter");
            area.unit_is_real(now(), unit, &mut batch, &mut Vec::new());
        }
    }
    if let Some((end, start)) = resident().zip(start) {
        println!("taken in: {:.1} bytes a message", (end - start) / f64::from(DEVICES * EACH));
    }
    let waiting: usize = area.devices(None).map(|view| view.waiting).sum();
    assert_eq!(waiting, (DEVICES * EACH) as usize);
}
