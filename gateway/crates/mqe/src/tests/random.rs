//! A seeded schedule of everything: messages both ways, cuts at any byte, crashes of either end, lost answers, refusals;
//! then peace, and the ledger.

use std::collections::BTreeSet;
use std::time::Duration;

use mq_wire::ReportOptions;

use super::pair::{Decide, Pair, Puts, message, name};
use crate::area::{AreaEffect, Counter};
use crate::{ConnId, DeviceMessage};

/// SplitMix64: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % sides
    }
}

/// What a schedule may do besides the plain work.
#[derive(Debug, Clone, Copy)]
struct Faults {
    gateway_crashes: bool,
    device_crashes: bool,
    refusals: bool,
    expiry: bool,
    moves: bool,
    evictions: bool,
    /// Senders that want reports, and units that are decided late.
    debts: bool,
}

struct Run {
    pair: Pair,
    dice: Dice,
    faults: Faults,
    next: u32,
    next_put: u32,
    /// A disk that is slow in this run: one in so many syncs comes about.
    lazy: u64,
    mortal: BTreeSet<u32>,
    /// Numbers whose senders want to hear of their end.
    reporting: BTreeSet<u32>,
}

impl Run {
    fn new(seed: u64, faults: Faults) -> Self {
        let mut pair = Pair::with(|settings| {
            settings.limits.window_messages_max = 3;
            settings.limits.put_credit = 3;
            if faults.evictions {
                settings.index_bytes_max = 0;
            }
        });
        pair.connect(0);
        let mut dice = Dice(seed);
        let lazy = 1 + dice.roll(4);
        Self {
            pair,
            dice,
            faults,
            next: 1,
            next_put: 1,
            lazy,
            mortal: BTreeSet::new(),
            reporting: BTreeSet::new(),
        }
    }

    fn message(&mut self) -> DeviceMessage {
        let number = self.next;
        self.next += 1;
        let mut message = message(number, (self.dice.roll(3) * 4) as u8);
        if self.faults.expiry && self.dice.roll(3) == 0 {
            message.expiry_ms = Some(self.pair.wall_ms + 1 + self.dice.roll(60_000));
            self.mortal.insert(number);
        }
        if self.faults.debts && self.dice.roll(2) == 0 {
            message.descriptor.report = ReportOptions::COD | ReportOptions::EXPIRATION;
            self.reporting.insert(number);
        }
        message
    }

    fn some_link(&mut self) -> Option<ConnId> {
        let conns: Vec<ConnId> = self.pair.links.keys().copied().collect();
        let at = self.dice.roll(conns.len().max(1) as u64) as usize;
        conns.get(at).copied()
    }

    fn step(&mut self) {
        let roll = self.dice.roll(100);
        let faults = self.faults;
        match roll {
            0..4 if faults.debts => {
                let message = self.message();
                let becomes_real = self.dice.roll(3) > 0;
                self.pair.prepare(&message, becomes_real);
            }
            4..7 if faults.debts => drop(self.pair.decide_prepared()),
            0..12 => {
                let message = self.message();
                self.pair.offer(name(0), &message).unwrap();
            }
            12..18 => {
                self.pair.put(0, self.next_put);
                self.next_put += 1;
            }
            18..38 => {
                let bytes = 1 + self.dice.roll(200) as usize;
                if let Some(conn) = self.some_link() {
                    self.pair.carry_up(conn, bytes);
                }
            }
            38..58 => {
                let bytes = 1 + self.dice.roll(200) as usize;
                if let Some(conn) = self.some_link() {
                    self.pair.carry_down(conn, bytes);
                }
            }
            58..70 => {
                if self.dice.roll(self.lazy) == 0 {
                    // All that waits goes in one group, or the oldest alone.
                    let all = self.dice.roll(2) == 0;
                    while self.pair.sync() && all {}
                }
            }
            70..84 => drop(self.pair.device_sync(0)),
            84..87 => {
                self.pair.pass(Duration::from_millis(self.dice.roll(40_000)));
                self.pair.gateway_timeout();
                self.pair.device_timeout(0);
            }
            87..89 if faults.debts && self.dice.roll(3) == 0 => {
                if let Some(AreaEffect::Owes { id, .. }) = self.pair.letters.front() {
                    let id = *id;
                    self.pair.letters.pop_front();
                    self.pair.turn(|area, now, _, _| area.unpaid(id, now.instant));
                }
            }
            87..89 => self.pair.finish_letter(),
            89 => self.pair.out_of_exits(),
            90 => {
                self.pair.index_broken = self.dice.roll(20) == 0;
                self.pair.cold_step();
                self.pair.index_broken = false;
            }
            91 => {
                self.pair.puts = match self.dice.roll(4) {
                    0 if faults.refusals => Puts::Busy,
                    1 => Puts::Hold,
                    _ => Puts::Take,
                };
            }
            92 if faults.refusals => {
                self.pair.devices[0].decide = match self.dice.roll(5) {
                    0 => Decide::Reject,
                    1 => Decide::Release,
                    2 => Decide::Hold,
                    _ => Decide::Store,
                };
                self.pair.decide_held(0);
                self.pair.act(0);
            }
            93 => {
                if let Some(conn) = self.some_link() {
                    self.pair.gateway_sees_end(conn);
                }
            }
            94 if faults.evictions => {
                self.pair.give_up(0);
                let conns: Vec<ConnId> = self.pair.links.keys().copied().collect();
                conns.into_iter().for_each(|conn| self.pair.gateway_sees_end(conn));
                for _ in 0..self.dice.roll(8) {
                    self.pair.pass(Duration::from_millis(400));
                    self.pair.gateway_timeout();
                    let _ = self.dice.roll(3) > 0 && self.pair.cold_step();
                }
            }
            94 => self.pair.give_up(0),
            95 if faults.gateway_crashes => self.pair.crash_gateway(),
            96 if faults.device_crashes => self.pair.crash_device(0),
            97 => drop(self.pair.connect(0)),
            98 if faults.moves => {
                let part = self.dice.roll(2);
                self.pair.compact(|at| at as u64 % 2 == part);
                if faults.refusals && self.dice.roll(8) == 0 {
                    self.pair.turn(|area, _, batch, _| area.clear(&name(0), batch)).ok();
                }
            }
            _ => {
                if self.pair.devices[0].conn.is_none() {
                    self.pair.connect(0);
                }
            }
        }
    }

    fn end(mut self, seed: u64) {
        self.pair.puts = Puts::Take;
        self.pair.devices[0].decide = Decide::Store;
        self.pair.decide_held(0);
        self.pair.act(0);
        while self.pair.decide_prepared() {}
        self.pair.connect(0);
        self.pair.settle();
        for _ in 0..3 {
            // A device that was told BUSY comes again, a window that was full goes on.
            self.pair.pass(Duration::from_secs(61));
            self.pair.device_timeout(0);
            self.pair.gateway_timeout();
            self.pair.settle();
        }
        for _ in 0..20 {
            // What could not be paid is tried again.
            if self.pair.area.owed() > 0 {
                self.pair.pass(Duration::from_secs(61));
                self.pair.gateway_timeout();
                self.pair.settle();
            }
        }
        let pair = &self.pair;
        assert!(pair.devices[0].machine.is_settled(), "seed {seed}: {:?}", pair.devices[0].machine);
        let view = pair.view();
        assert_eq!((view.waiting, view.in_doubt, view.arriving, view.bytes), (0, 0, 0, 0), "seed {seed}");

        let count = |counter| view.counters.get(counter);
        let ended_otherwise = count(Counter::Expired) + count(Counter::Rejected) + count(Counter::Purged);
        assert_eq!(count(Counter::Accepted), count(Counter::Delivered) + ended_otherwise, "seed {seed}");
        assert_eq!(count(Counter::Rejected), pair.dead_letters() as u64, "seed {seed}");
        assert_eq!(count(Counter::Strange), 0, "seed {seed}");

        // Which ones ended otherwise the application cannot know; how many it can.
        let have: BTreeSet<u32> = pair.have(0).into_iter().collect();
        assert_eq!(have.len(), pair.have(0).len(), "seed {seed}: something came twice: {:?}", pair.have(0));
        assert_eq!(have.len() as u64, count(Counter::Delivered), "seed {seed}");
        let missing: Vec<u32> = (1..self.next)
            .filter(|number| pair.ledger.uid(*number).is_some() && !have.contains(number))
            .collect();
        assert_eq!(missing.len() as u64, ended_otherwise, "seed {seed}");
        if !self.faults.refusals {
            assert!(missing.iter().all(|number| self.mortal.contains(number)), "seed {seed}: {missing:?}");
        }
        // One report for each that wants one; none for what was refused or purged.
        let wants = |number: &&u32| self.reporting.contains(number);
        let delivered = have.iter().filter(wants).count();
        let expired = missing.iter().filter(wants).count();
        let reports = pair.disk.values(b"y").len();
        let most = if self.faults.refusals {
            delivered..=delivered + expired
        } else {
            delivered + expired..=delivered + expired
        };
        assert!(most.contains(&reports), "seed {seed}: {reports} reports, not {most:?}");
        assert_eq!((pair.area.owed(), pair.area.bytes()), (0, 0), "seed {seed}");
        assert_eq!(pair.disk.values(b"dO").len(), 0, "seed {seed}");

        // What a device releases or refuses it takes out of its order, and what is decided late comes late.
        let faults = pair.ledger.check(&missing, !self.faults.refusals && !self.faults.debts);
        assert_eq!(faults, [], "seed {seed}");

        let puts = pair.in_mq();
        assert!(puts.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}: order or double: {puts:?}");
        let told: BTreeSet<u64> = pair.devices[0].decided.iter().map(|(sequence, _)| sequence.0).collect();
        assert!(told.len() <= puts.len(), "seed {seed}: told OK and nowhere");
        if !self.faults.device_crashes {
            assert_eq!(puts, (1..self.next_put).collect::<Vec<_>>(), "seed {seed}");
        }
    }
}

/// How often entries left memory.
fn runs(seeds: std::ops::Range<u64>, faults: Faults) -> usize {
    let mut evictions = 0;
    for seed in seeds {
        let mut run = Run::new(seed, faults);
        for _ in 0..600 {
            run.step();
        }
        evictions += run.pair.evictions;
        run.end(seed);
    }
    evictions
}

#[test]
fn cuts_only() {
    let faults = Faults {
        gateway_crashes: false,
        device_crashes: false,
        refusals: false,
        expiry: false,
        moves: false,
        evictions: false,
        debts: false,
    };
    runs(0..60, faults);
}

#[test]
fn cuts_and_crashes_of_both() {
    let faults = Faults {
        gateway_crashes: true,
        device_crashes: true,
        refusals: false,
        expiry: false,
        moves: true,
        evictions: false,
        debts: false,
    };
    runs(1_000..1_120, faults);
}

#[test]
fn everything() {
    let faults = Faults {
        gateway_crashes: true,
        device_crashes: true,
        refusals: true,
        expiry: true,
        moves: true,
        evictions: false,
        debts: false,
    };
    runs(2_000..2_200, faults);
}

#[test]
fn everything_and_no_memory() {
    let faults = Faults {
        gateway_crashes: true,
        device_crashes: true,
        refusals: true,
        expiry: true,
        moves: true,
        evictions: true,
        debts: false,
    };
    let evictions = runs(3_000..3_200, faults);
    assert!(evictions > 500, "{evictions}");
}

#[test]
fn reports_and_units_that_are_decided_late() {
    let faults = Faults {
        gateway_crashes: true,
        device_crashes: true,
        refusals: false,
        expiry: true,
        moves: true,
        evictions: false,
        debts: true,
    };
    runs(4_000..4_150, faults);
}

#[test]
fn everything_with_reports_and_no_memory() {
    let faults = Faults {
        gateway_crashes: true,
        device_crashes: true,
        refusals: true,
        expiry: true,
        moves: true,
        evictions: true,
        debts: true,
    };
    runs(5_000..5_150, faults);
}
