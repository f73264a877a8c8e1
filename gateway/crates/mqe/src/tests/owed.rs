//! What is owed after an end, the park area, and units that were prepared: over crashes at each step.

use std::time::{Duration, Instant};

use bytes::Bytes;
use mq_wire::{Persistence, QMgrName, Reason, ReportOptions};
use store::mem::MemStore;
use store::{Commit, Prepare, Recovered, Store};

use super::pair::{Decide, Pair, message, name};
use crate::area::{
    Accepted, Area, AreaEffect, AreaSettings, Counter, NonPersistent, Onboarding, Owed, ParkLimits,
    Undelivered,
};
use crate::{DeviceMessage, DeviceName, Now, StoreIdentity};

fn reporting(number: u32) -> DeviceMessage {
    let mut message = message(number, 0);
    message.descriptor.report = ReportOptions::COD | ReportOptions::EXPIRATION;
    message
}

fn owed(pair: &Pair) -> Vec<Owed> {
    let owes = |effect: &AreaEffect| match effect {
        AreaEffect::Owes { owed, .. } => Some(*owed),
        _ => None,
    };
    pair.letters.iter().filter_map(owes).collect()
}

/// Reports that were made: each once.
fn reports(pair: &Pair) -> usize {
    pair.disk.values(b"y").len()
}

/// ONCE.md 3, "report in the unit of the confirm": lost or twice else.
#[test]
fn row_the_report_is_owed_in_the_unit_of_the_confirm() {
    // A crash after: the confirm is on disk, the debt is with the owner, paid, paid on disk.
    for crash in 1..5 {
        let mut pair = Pair::new();
        pair.offer(name(0), &reporting(1)).unwrap();
        pair.offer(name(0), &message(2, 0)).unwrap();
        pair.sync_all();
        pair.connect(0);
        pair.settle();
        assert_eq!((pair.have(0).len(), pair.area.owed()), (2, 1));
        if crash >= 2 {
            pair.turn(Area::handle_timeout);
        }
        if crash >= 3 {
            pair.finish_letter();
        }
        if crash >= 4 {
            pair.sync_all();
        }
        pair.crash_gateway();
        pair.crash_device(0);
        pair.connect(0);
        pair.settle();
        pair.gateway_timeout();
        pair.settle();
        assert_eq!(pair.have(0), [1, 2], "crash {crash}");
        assert_eq!((reports(&pair), pair.area.owed()), (1, 0), "crash {crash}");
        assert_eq!(pair.view().counters.get(Counter::Delivered), 2, "crash {crash}");
        pair.crash_gateway();
        assert_eq!((pair.area.owed(), pair.view().bytes), (0, 0), "crash {crash}");
    }
}

#[test]
fn an_expiry_is_owed_once_and_what_cannot_be_paid_is_tried_again() {
    let mut pair = Pair::new();
    let mut mortal = reporting(1);
    mortal.expiry_ms = Some(pair.wall_ms + 1_000);
    pair.offer(name(0), &mortal).unwrap();
    pair.sync_all();
    pair.pass(Duration::from_secs(40));
    pair.gateway_timeout();
    pair.gateway_timeout();
    assert_eq!(owed(&pair), [Owed::Expired]);
    assert_eq!((pair.view().counters.get(Counter::Expired), pair.view().bytes), (1, 0));
    let Some(AreaEffect::Owes { id, .. }) = pair.letters.pop_front() else { panic!() };
    pair.turn(|area, now, _, _| area.unpaid(id, now.instant));
    pair.gateway_timeout();
    assert_eq!(owed(&pair), []);
    pair.pass(Duration::from_secs(5));
    pair.gateway_timeout();
    assert_eq!(owed(&pair), [Owed::Expired]);
    pair.finish_letter();
    pair.sync_all();
    assert_eq!((reports(&pair), pair.area.owed()), (1, 0));
    pair.turn(|area, _, _, _| assert!(!area.paid(id, &mut Commit::default()), "once"));
}

fn listed(park: ParkLimits) -> Pair {
    Pair::with(|settings| {
        settings.onboarding = Onboarding::default();
        settings.park = park;
    })
}

fn stranger() -> DeviceName {
    DeviceName::new("STRANGER").unwrap()
}

fn park(pair: &mut Pair, number: u32) -> Result<Accepted, Undelivered> {
    park_message(pair, &message(number, (number % 3) as u8))
}

fn park_message(pair: &mut Pair, message: &DeviceMessage) -> Result<Accepted, Undelivered> {
    pair.turn(|area, now, batch, out| {
        let unit = batch.new_unit();
        let accepted = area.park(now, &stranger(), message, unit, batch)?;
        let mut commit = Commit { unit: Some(unit), ..Commit::default() };
        area.seal_unit(now, unit, &mut commit);
        batch.commit(commit);
        area.unit_is_real(now, unit, batch, out);
        Ok(accepted)
    })
}

#[test]
fn parked_messages_wait_for_their_device_over_restarts() {
    for crash in [false, true] {
        let mut pair = listed(ParkLimits::default());
        (1..=5).for_each(|number| assert!(park(&mut pair, number).is_ok()));
        pair.sync_all();
        if crash {
            pair.crash_gateway();
        }
        assert!(pair.area.device(&stranger()).is_none());
        assert!(pair.area.devices(None).all(|view| view.name != stranger()));
        let parked: Vec<_> = pair.area.parked().collect();
        assert_eq!((parked.len(), parked[0].device, parked[0].messages), (1, stranger(), 5));
        assert_eq!(pair.area.parked_totals().0, 5);
        // HELLO does not make it known, an operator does.
        let released = pair.turn(|area, _, batch, _| area.park_release(&stranger(), batch));
        assert_eq!(released, Ok(5));
        pair.sync_all();
        if crash {
            pair.crash_gateway();
        }
        let view = pair.area.device(&stranger()).unwrap();
        assert_eq!((view.waiting, view.listed), (5, true));
        assert_eq!((pair.area.parked().count(), pair.area.parked_totals()), (0, (0, 0)));
        assert_eq!(pair.disk.values(b"dK").len(), 0);
        let order: Vec<u8> =
            pair.area.messages(&stranger()).unwrap().map(|message| message.priority).collect();
        assert_eq!(order, [2, 2, 1, 1, 0]);
    }
}

#[test]
fn parked_messages_become_dead_letters_when_their_time_is_over() {
    let mut pair = listed(ParkLimits { time_max: Duration::from_secs(100), ..ParkLimits::default() });
    park(&mut pair, 1).unwrap();
    pair.pass(Duration::from_secs(60));
    park(&mut pair, 2).unwrap();
    pair.sync_all();
    pair.crash_gateway();
    pair.pass(Duration::from_secs(41));
    pair.gateway_timeout();
    pair.gateway_timeout();
    let over = [Owed::DeadLetter(Reason::UNKNOWN_REMOTE_Q_MGR)];
    assert_eq!((owed(&pair), pair.area.parked_totals().0), (over.to_vec(), 1));
    pair.sync_all();
    pair.crash_gateway();
    pair.gateway_timeout();
    assert_eq!(owed(&pair), over, "the debt survives");
    pair.finish_letter();
    pair.pass(Duration::from_secs(60));
    (0..2).for_each(|_| pair.gateway_timeout());
    pair.finish_letter();
    pair.pass(Duration::from_secs(60));
    (0..2).for_each(|_| pair.gateway_timeout());
    pair.sync_all();
    assert_eq!((reports(&pair), pair.area.owed(), pair.area.parked().count()), (2, 0, 0));
    pair.crash_gateway();
    assert_eq!(pair.disk.values(b"dK").len() + pair.disk.values(b"dO").len(), 0);
    assert_eq!(pair.area.bytes(), 0);
}

#[test]
fn the_park_area_has_limits_and_can_be_purged() {
    let mut pair = listed(ParkLimits { messages_max: 3, ..ParkLimits::default() });
    (1..=3).for_each(|number| assert!(park(&mut pair, number).is_ok()));
    assert!(matches!(park(&mut pair, 4), Err(Undelivered::ParkFull { messages: 3, .. })));
    let purged = pair.turn(|area, _, batch, _| area.park_purge(&stranger(), batch));
    assert_eq!((purged, pair.area.parked_totals()), (Ok(3), (0, 0)));
    assert!(park(&mut pair, 5).is_ok());
    // A device that is known takes what is parked for it at once.
    pair.turn(|area, _, batch, _| area.add_device(stranger(), batch)).unwrap();
    assert!(park(&mut pair, 6).is_ok());
    assert_eq!(pair.area.device(&stranger()).unwrap().waiting, 2);
}

/// A batch of a remote source: durable, invisible, and decided later.
#[test]
fn a_prepared_unit_is_invisible_until_it_is_decided_over_crashes() {
    let settings = || AreaSettings {
        onboarding: Onboarding { patterns: vec!["DEV*".to_owned()], devices_max: 10 },
        ..AreaSettings::new(QMgrName::new("GATE1").unwrap(), StoreIdentity::default())
    };
    let now = Now { wall_ms: 1_000, instant: Instant::now() };
    let start = |store: &mut MemStore, recovered: &Recovered| {
        let mut batch = store.begin();
        let area = Area::new(settings(), recovered, now, &mut batch).unwrap();
        store.submit(batch);
        area
    };
    for (crash, commit) in [(false, true), (true, true), (false, false), (true, false)] {
        let (mut store, recovered) = MemStore::new(None);
        let mut area = start(&mut store, &recovered);
        let mut expired = message(9, 0);
        expired.expiry_ms = Some(now.wall_ms);
        let mut batch = store.begin();
        let unit = batch.new_unit();
        for number in 1..=3 {
            area.accept(now, &name(0), &message(number, 0), unit, &mut batch).unwrap();
        }
        area.accept(now, &name(0), &expired, unit, &mut batch).unwrap();
        batch.prepare(Prepare { unit, kills: Vec::new(), note: Bytes::from_static(b"note") });
        store.submit(batch);
        if crash {
            let gone = area.unit_expired(unit);
            let (again, recovered) = store.restart();
            store = again;
            area = start(&mut store, &recovered);
            area.adopt_expired(unit, gone);
        }
        let view = area.device(&name(0)).unwrap();
        assert_eq!((view.waiting, view.arriving, view.counters.get(Counter::Expired)), (0, 3, 0));
        let mut batch = store.begin();
        if commit {
            let mut commit = Commit { unit: Some(unit), ..Commit::default() };
            area.seal_unit(now, unit, &mut commit);
            batch.commit(commit);
            area.unit_is_real(now, unit, &mut batch, &mut Vec::new());
        } else {
            let written = area.unit_dropped(unit);
            batch.back_out(unit, written);
        }
        store.submit(batch);
        for _ in 0..2 {
            let view = area.device(&name(0)).unwrap();
            let expected = if commit { (3, 0, 1) } else { (0, 0, 0) };
            assert_eq!((view.waiting, view.arriving, view.counters.get(Counter::Expired)), expected);
            assert_eq!(view.bytes == 0, !commit);
            let (again, recovered) = store.restart();
            assert!(recovered.prepared.is_empty());
            store = again;
            area = start(&mut store, &recovered);
        }
    }
}

#[test]
fn while_the_clock_is_not_trusted_the_park_area_does_not_ask_for_steps() {
    let mut pair = listed(ParkLimits { time_max: Duration::from_secs(100), ..ParkLimits::default() });
    park(&mut pair, 1).unwrap();
    let mut mortal = message(2, 0);
    mortal.expiry_ms = Some(pair.wall_ms + 100_000_000);
    park_message(&mut pair, &mortal).unwrap();
    pair.gateway_timeout();
    pair.wall_ms += 3_600_000;
    pair.pass(Duration::from_secs(61));
    pair.gateway_timeout();
    pair.gateway_timeout();
    assert!(pair.area.sweep_paused_until().is_some());
    assert!(pair.area.poll_timeout().is_some_and(|at| at > pair.time), "nothing can be done now");
    assert_eq!((owed(&pair), pair.area.parked_totals().0), (Vec::new(), 2));
    // Later the clock is believed.
    pair.pass(Duration::from_secs(600));
    (0..3).for_each(|_| pair.gateway_timeout());
    assert_eq!((owed(&pair).len(), pair.area.parked_totals().0), (2, 0));
}

#[test]
fn non_persistent_parked_messages_that_a_start_loses_leave_nothing() {
    let mut pair = Pair::with(|settings| {
        settings.onboarding = Onboarding::default();
        settings.non_persistent = NonPersistent::Lost;
    });
    let mut soft = message(1, 0);
    soft.descriptor.persistence = Persistence::NOT_PERSISTENT;
    park_message(&mut pair, &soft).unwrap();
    pair.sync_all();
    pair.crash_gateway();
    assert_eq!(pair.disk.values(b"dK").len(), 0);
    (0..2).for_each(|_| pair.gateway_timeout());
    pair.sync_all();
    assert_eq!(pair.disk.values(b"dD").len(), 0, "the device is forgotten");
    for _ in 0..2 {
        assert_eq!(pair.area.parked_counters().get(Counter::LostNonPersistent), 1);
        pair.crash_gateway();
    }
}

/// DESIGN.md 6: each accepted message ends as exactly one of the list, counted for ever.
#[test]
fn ends_in_the_park_area_stay_counted_when_the_device_is_forgotten() {
    let mut pair = listed(ParkLimits { time_max: Duration::from_secs(100), ..ParkLimits::default() });
    let mut mortal = message(2, 0);
    mortal.expiry_ms = Some(pair.wall_ms + 50_000);
    park(&mut pair, 1).unwrap();
    park_message(&mut pair, &mortal).unwrap();
    pair.sync_all();
    for _ in 0..6 {
        pair.pass(Duration::from_secs(31));
        (0..2).for_each(|_| pair.gateway_timeout());
        pair.finish_letter();
        pair.sync_all();
    }
    assert_eq!(pair.disk.values(b"dD").len() + pair.disk.values(b"dC").len(), 0, "the device is forgotten");
    for _ in 0..2 {
        let counters = pair.area.parked_counters();
        let counted = [Counter::Accepted, Counter::DeadLettered, Counter::Expired];
        assert_eq!(counted.map(|counter| counters.get(counter)), [2, 1, 1]);
        pair.crash_gateway();
    }
}

/// ONCE.md 2, "mark per priority of what was handed out": what never was is not kept from expiry.
#[test]
fn row_a_unit_that_becomes_real_below_the_mark_was_not_handed_out() {
    let mut pair = Pair::new();
    let mut mortal = message(1, 0);
    mortal.expiry_ms = Some(pair.wall_ms + 10_000);
    pair.prepare(&mortal, true);
    pair.sync_all();
    pair.connect(0);
    pair.settle();
    pair.devices[0].decide = Decide::Hold;
    pair.offer(name(0), &message(2, 0)).unwrap();
    pair.settle();
    pair.crash_device(0);
    let conns: Vec<_> = pair.links.keys().copied().collect();
    conns.into_iter().for_each(|conn| pair.gateway_sees_end(conn));
    pair.decide_prepared();
    pair.sync_all();
    for _ in 0..2 {
        let view = pair.view();
        assert_eq!((view.waiting, view.in_doubt), (1, 1));
        pair.crash_gateway();
    }
    pair.pass(Duration::from_secs(45));
    pair.gateway_timeout();
    let view = pair.view();
    assert_eq!((view.in_doubt, view.counters.get(Counter::Expired)), (1, 1));
}
