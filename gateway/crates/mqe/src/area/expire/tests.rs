//! What the sweep looks at, counted.

use std::time::{Duration, Instant};

use bytes::Bytes;
use mq_wire::{QMgrName, QName};
use store::{Batch, Commit, Recovered};

use super::{Area, STEP_MAX};
use crate::area::{AreaSettings, Counter, Onboarding};
use crate::{ConnId, DeviceMessage, DeviceName, Now, RequestId, StoreIdentity};

struct World {
    area: Area,
    now: Now,
    batches: u32,
}

impl World {
    fn new() -> Self {
        let mut settings = AreaSettings::new(QMgrName::new("GATE1").unwrap(), StoreIdentity([7; 16]));
        settings.onboarding = Onboarding { patterns: vec!["*".to_owned()], devices_max: u32::MAX };
        let now = Now { wall_ms: 1_000_500, instant: Instant::now() };
        let area = Area::new(settings, &Recovered::default(), now, &mut Batch::detached(1)).unwrap();
        Self { area, now, batches: 1 }
    }

    fn batch(&mut self) -> Batch {
        self.batches += 1;
        Batch::detached(self.batches)
    }

    fn give(&mut self, device: DeviceName, priority: u8, expiry_ms: Option<u64>) {
        let mut batch = self.batch();
        let unit = batch.new_unit();
        let mut message = DeviceMessage::new(QName::new("ORDERS").unwrap(), Bytes::new());
        message.expiry_ms = expiry_ms;
        message.descriptor.priority = i32::from(priority);
        self.area.accept(self.now, &device, &message, unit, &mut batch).unwrap();
        self.area.seal_unit(self.now, unit, &mut Commit::default());
        self.area.unit_is_real(self.now, unit, &mut batch, &mut Vec::new());
    }

    fn wait(&mut self, time: Duration) {
        self.now.instant += time;
        self.now.wall_ms += time.as_millis() as u64;
    }

    /// As long as the area says that its time has come: the messages that each step ended.
    fn sweep(&mut self) -> Vec<u64> {
        let mut steps = Vec::new();
        while self.area.poll_timeout().is_some_and(|at| at <= self.now.instant) {
            let before = self.expired();
            let mut batch = self.batch();
            self.area.handle_timeout(self.now, &mut batch, &mut Vec::new());
            steps.push(self.expired() - before);
        }
        steps
    }

    fn expired(&self) -> u64 {
        self.area.devices(None).map(|view| view.counters.get(Counter::Expired)).sum()
    }

    fn seconds_to_timeout(&self) -> Option<f64> {
        let at = self.area.poll_timeout()?;
        Some(at.duration_since(self.now.instant).as_secs_f64())
    }
}

fn name(number: u32) -> DeviceName {
    DeviceName::new(&format!("DEV{number:06}")).unwrap()
}

/// One message that expires among a hundred thousand devices costs a look at one of them.
#[test]
fn the_sweep_looks_at_what_expires() {
    let mut world = World::new();
    let mut batch = world.batch();
    for number in 0..100_000 {
        world.area.add_device(name(number), &mut batch).unwrap();
    }
    for number in (0..100_000).step_by(1_000) {
        world.give(name(number), 0, None);
    }
    assert_eq!(world.seconds_to_timeout(), None);
    let expiry_ms = world.now.wall_ms + 45_250;
    world.give(name(77_000), 0, Some(expiry_ms));
    // Its second is over then.
    assert_eq!(world.seconds_to_timeout(), Some(45.5));
    world.wait(Duration::from_secs(45));
    assert_eq!(world.sweep(), []);
    world.wait(Duration::from_millis(500));
    assert_eq!(world.sweep(), [1]);
    assert_eq!(world.area.sweep.looked, 1);
    assert_eq!(world.seconds_to_timeout(), None);
}

/// A message that went otherwise leaves at most one look.
#[test]
fn what_was_fetched_is_not_looked_for() {
    let mut world = World::new();
    let wall_ms = world.now.wall_ms;
    for (number, seconds) in [(1, 40), (1, 400), (2, 40)] {
        world.give(name(number), 0, Some(wall_ms + seconds * 1_000));
    }
    for number in [1, 2] {
        let (conn, out) = (ConnId(u64::from(number)), &mut Vec::new());
        let hello = crate::frame::Hello {
            version: 1,
            device: name(number),
            incarnation: Default::default(),
            last_session: Default::default(),
            token: Bytes::new(),
            product: String::new(),
        };
        let (now, mut batch) = (world.now, world.batch());
        world.area.hello(conn, RequestId(1), &hello, &mut batch, out);
        world.area.resume(conn, RequestId(2), &[], &[], &mut batch, out);
        world.area.get(now, conn, RequestId(3), 1, 1, 0, &mut batch, out);
        world.area.closed(conn);
        world.area.handle_timeout(now, &mut batch, out);
    }
    assert_eq!(world.area.devices(None).map(|view| view.in_doubt).sum::<usize>(), 2);
    world.wait(Duration::from_secs(50));
    assert_eq!(world.sweep(), [0]);
    assert_eq!(world.area.sweep.looked, 1, "device 2 has nothing that expires");
    world.wait(Duration::from_secs(351));
    assert_eq!(world.sweep(), [1]);
    assert_eq!(world.area.sweep.looked, 2);
}

#[test]
fn a_step_ends_a_thousand_at_most() {
    let mut world = World::new();
    let wall_ms = world.now.wall_ms;
    // Many of one device, and many devices.
    (0..2_500).for_each(|number| world.give(name(0), (number % 3) as u8, Some(wall_ms + 1_000 + number)));
    (1..1_500).for_each(|number| world.give(name(number), 0, Some(wall_ms + 1_000)));
    world.wait(Duration::from_secs(31));
    let steps = world.sweep();
    assert!(steps.iter().all(|ended| *ended <= STEP_MAX as u64), "{steps:?}");
    assert_eq!((steps.iter().sum::<u64>(), world.expired()), (3_999, 3_999));
    assert!(world.area.sweep.looked < 1_510, "{}", world.area.sweep.looked);
    assert_eq!(world.area.bytes(), 0);
}

/// Times that no calendar has are no reason to fail, or to look all the time.
#[test]
fn what_expires_in_another_age_waits() {
    let mut world = World::new();
    for expiry_ms in [u64::MAX, u64::MAX - 1, 4_294_967_294_000, 4_294_967_295_000] {
        world.give(name(1), 0, Some(expiry_ms));
    }
    assert_eq!(world.seconds_to_timeout(), Some(60.0), "the clocks are compared");
    world.wait(Duration::from_secs(61));
    assert_eq!(world.sweep(), [0]);
    world.now.wall_ms = u64::MAX / 2;
    world.area.handle_timeout(world.now, &mut Batch::detached(9), &mut Vec::new());
    world.area.resume_sweep();
    world.wait(Duration::from_secs(61));
    assert_eq!(world.sweep(), [0], "kept; a GET will not give it");
}

/// Against the plain rule: nothing that has expired waits after a sweep.
#[test]
fn random_times() {
    let mut world = World::new();
    let mut state = 7u64;
    let mut roll = move |sides: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % sides
    };
    let mut given = 0;
    for _ in 0..400 {
        for _ in 0..roll(20) {
            let expiry_ms = (roll(3) > 0).then(|| world.now.wall_ms + 1 + roll(300_000));
            given += u64::from(expiry_ms.is_some());
            world.give(name(roll(30) as u32), roll(3) as u8, expiry_ms);
        }
        world.wait(Duration::from_millis(31_000 + roll(20_000)));
        world.sweep();
        let second = world.now.wall_ms / 1_000 * 1_000;
        for view in world.area.devices(None) {
            let waiting = world.area.messages(&view.name).unwrap();
            assert!(waiting.filter_map(|view| view.expiry_ms).all(|expiry_ms| expiry_ms > second));
        }
    }
    let waiting = |view: &crate::area::DeviceView| {
        world.area.messages(&view.name).unwrap().filter(|view| view.expiry_ms.is_some()).count() as u64
    };
    assert_eq!(world.expired() + world.area.devices(None).map(|view| waiting(&view)).sum::<u64>(), given);
}
