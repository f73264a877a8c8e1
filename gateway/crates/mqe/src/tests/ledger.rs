//! The application's own book: what was offered, what came, in which order. It shares no filter with the machines.

use std::collections::BTreeMap;

use crate::{DeviceName, Uid};

#[derive(Debug, Clone)]
struct Offered {
    uid: Uid,
    priority: u8,
    device: DeviceName,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    offered: BTreeMap<u32, Offered>,
    /// Numbers in the order in which each device's store got them.
    arrived: Vec<(usize, u32)>,
}

/// What a ledger can find.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    Lost(u32),
    Doubled(u32),
    Swapped(u32, u32),
    FromNowhere(u32),
}

impl Ledger {
    pub(super) fn offered(&mut self, number: u32, uid: Uid, priority: u8, device: DeviceName) {
        self.offered.insert(number, Offered { uid, priority, device });
    }

    pub(super) fn arrived(&mut self, number: u32, device: usize) {
        self.arrived.push((device, number));
    }

    /// Forgets what the store never had: its unit was not synced.
    pub(super) fn never_durable(&mut self, number: u32) {
        self.offered.remove(&number);
    }

    pub(super) fn uid(&self, number: u32) -> Option<Uid> {
        self.offered.get(&number).map(|offered| offered.uid)
    }

    /// What is wrong, where each device gets its messages once, and in order within a priority. `ended` are those
    /// that ended otherwise.
    pub(super) fn check(&self, ended: &[u32], order: bool) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for (_, number) in &self.arrived {
            *counts.entry(*number).or_default() += 1;
        }
        for (number, count) in &counts {
            if *count > 1 {
                faults.push(Fault::Doubled(*number));
            }
            if !self.offered.contains_key(number) {
                faults.push(Fault::FromNowhere(*number));
            }
        }
        for number in self.offered.keys() {
            match (counts.contains_key(number), ended.contains(number)) {
                (false, false) => faults.push(Fault::Lost(*number)),
                (true, true) => faults.push(Fault::Doubled(*number)),
                _ => {}
            }
        }
        if order {
            self.check_order(&mut faults);
        }
        faults.sort();
        faults.dedup();
        faults
    }

    fn check_order(&self, faults: &mut Vec<Fault>) {
        let mut newest: BTreeMap<(DeviceName, u8), (Uid, u32)> = BTreeMap::new();
        for (_, number) in &self.arrived {
            let Some(offered) = self.offered.get(number) else { continue };
            let lane = (offered.device, offered.priority);
            if let Some((before, earlier)) = newest.get(&lane)
                && *before > offered.uid
            {
                faults.push(Fault::Swapped(*earlier, *number));
            }
            newest.insert(lane, (offered.uid, *number));
        }
    }
}

#[cfg(test)]
mod tests {
    use store::Id;

    use super::*;
    use crate::StoreIdentity;

    fn book() -> Ledger {
        let mut ledger = Ledger::default();
        let device = DeviceName::new("DEV1").unwrap();
        for number in 1..=3 {
            let uid = Uid { store: StoreIdentity::default(), id: Id::from_u64(u64::from(number)) };
            ledger.offered(number, uid, 0, device);
        }
        ledger
    }

    fn check(arrived: &[u32], expected: &[Fault]) {
        let mut ledger = book();
        arrived.iter().for_each(|number| ledger.arrived(*number, 0));
        assert_eq!(ledger.check(&[], true), expected);
    }

    #[test]
    fn the_ledger_finds_a_loss_a_double_and_a_swap() {
        check(&[1, 2, 3], &[]);
        check(&[1, 3], &[Fault::Lost(2)]);
        check(&[1, 2, 2, 3], &[Fault::Doubled(2)]);
        check(&[1, 3, 2], &[Fault::Swapped(3, 2)]);
        check(&[1, 2, 3, 4], &[Fault::FromNowhere(4)]);
    }

    #[test]
    fn an_end_and_an_arrival_are_a_double() {
        let mut ledger = book();
        [1, 2, 3].iter().for_each(|number| ledger.arrived(*number, 0));
        assert_eq!(ledger.check(&[3], true), [Fault::Doubled(3)]);
    }
}
