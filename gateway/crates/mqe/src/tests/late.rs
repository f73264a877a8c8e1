//! Units that are prepared, and decided later: what a remote source's batches do to the pair.

use bytes::Bytes;
use store::{Commit, Prepare};

use super::pair::{Pair, name, number_of};
use crate::DeviceMessage;
use crate::area::Accepted;

impl Pair {
    /// A message for device 0 in a unit that is decided later. One that will be dropped is never offered.
    pub(super) fn prepare(&mut self, message: &DeviceMessage, becomes_real: bool) {
        let number = number_of(&message.payload);
        let (unit, accepted, position) = self.turn(|area, now, batch, _| {
            let unit = batch.new_unit();
            let accepted = area.accept(now, &name(0), message, unit, batch).unwrap();
            let note = Bytes::from(format!("{number} {becomes_real}"));
            batch.prepare(Prepare { unit, kills: Vec::new(), note });
            (unit, accepted, batch.position())
        });
        self.prepared.insert(unit, (number, becomes_real));
        if let Accepted::Stored(uid) = accepted
            && becomes_real
        {
            self.ledger.offered(number, uid, message.priority(), name(0));
            self.undurable.push((position, number));
        }
    }

    /// The oldest of these units is decided. False if there is none.
    pub(super) fn decide_prepared(&mut self) -> bool {
        let Some((unit, (_, becomes_real))) = self.prepared.pop_first() else { return false };
        self.turn(|area, now, batch, out| {
            if becomes_real {
                let mut commit = Commit { unit: Some(unit), ..Commit::default() };
                area.seal_unit(now, unit, &mut commit);
                batch.commit(commit);
                area.unit_is_real(now, unit, batch, out);
            } else {
                let written = area.unit_dropped(unit);
                batch.back_out(unit, written);
            }
        });
        true
    }
}
