//! Records that the queue manager has to see before it goes on: of messages that are got or have expired, on which a
//! report is wanted. They are read beside the core, and come back as commands.

use bytes::Bytes;
use qmgr::{CallId, ConnId, ReadFirst};
use store::{Id, Place};

use super::bodies::Records;
use super::command::Command;
use super::lanes::Lane;
use super::turn::Core;

/// What a record that is read first takes of the budget for bodies; most are short.
const SHARE_BYTES: usize = 1 << 16;

impl Core {
    /// Reads what a get has to know of its message.
    pub(super) fn read_first_later(&self, conn: ConnId, call: CallId, first: &ReadFirst) {
        let body = |id, place| self.store.body(id, place);
        let records = Records::of((first.id, first.place), &first.parts, body);
        self.read_later(records, move |record| Command::RecordRead { conn, call, record });
    }

    /// Reads a message that has expired.
    pub(super) fn read_expired_later(&self, id: Id, place: Place) {
        let records = Records { first: self.store.body(id, place), rest: Vec::new() };
        self.read_later(records, move |record| Command::ExpiredRead { id, record });
    }

    fn read_later(
        &self,
        records: Records,
        command: impl FnOnce(Option<(Bytes, Bytes)>) -> Command + Send + 'static,
    ) {
        let (sender, budget) = (self.sender(), self.wiring.bodies.clone());
        self.lasting.helpers.spawn(async move {
            let _share = budget.share(SHARE_BYTES * (1 + records.rest.len())).await;
            let record = records.read().await;
            let record = record.inspect_err(|error| tracing::error!(%error, "a message cannot be read")).ok();
            let record = record.map(|record| (record.envelope, record.body));
            // If the service stops the connection is lost, and what has expired does so again.
            let _ = sender.send(Lane::Complete, command(record)).await;
        });
    }
}
