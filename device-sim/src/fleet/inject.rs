//! The self-test's faults: between a device and its application one message is lost, one doubled, and two are swapped.
//! The ledger must find each, and nothing else.

use bytes::Bytes;

use super::ledger::Account;
use super::payload::{Label, Stream, Way};

const LOST: (u32, u32) = (1, 2);
const DOUBLED: (u32, u32) = (2, 2);
const SWAPPED: (u32, u32) = (3, 2);

/// The faults of one device.
#[derive(Debug, Default)]
pub(super) struct Injector {
    held: Option<Bytes>,
}

impl Injector {
    /// What the application gets in place of this.
    pub(super) fn pass(&mut self, payload: Bytes) -> Vec<Bytes> {
        let Ok(Label { stream: Stream { way: Way::Down, device, queue: 1 }, sequence, .. }) =
            Label::read(&payload)
        else {
            return vec![payload];
        };
        match (device, sequence) {
            LOST => Vec::new(),
            DOUBLED => vec![payload.clone(), payload],
            SWAPPED => {
                self.held = Some(payload);
                Vec::new()
            }
            // Behind the one after it.
            _ => [Some(payload), self.held.take()].into_iter().flatten().collect(),
        }
    }
}

/// Whether the ledger has found them.
pub(super) fn are_found(account: &Account) -> bool {
    let id = |(device, sequence)| vec![format!("{}/{sequence}", Stream { way: Way::Down, device, queue: 1 })];
    account.lost.ids == id(LOST)
        && account.duplicated.ids == id(DOUBLED)
        && account.reordered.ids == id(SWAPPED)
        && account.phantom.count == 0
}

#[cfg(test)]
mod tests {
    use super::super::ledger::Ledger;
    use super::*;

    #[test]
    fn the_ledger_finds_each() {
        let mut ledger = Ledger::new(9);
        for device in 1..=4 {
            let mut injector = Injector::default();
            for queue in 1..=2 {
                let stream = Stream { way: Way::Down, device, queue };
                for sequence in 1..=5 {
                    let payload = Label { run: 9, stream, sequence, made_us: 0 }.payload(0);
                    for payload in injector.pass(payload) {
                        ledger.arrived(&payload, Way::Down, Some(device), Some(queue));
                    }
                }
                ledger.sent(stream, 5);
            }
        }
        assert!(are_found(&ledger.account(Way::Down)));
        assert!(!are_found(&Account::default()));
    }
}
