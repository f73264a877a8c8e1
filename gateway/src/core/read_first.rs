//! Records that the queue manager has to see before it goes on: of messages that are got or have expired, on which a
//! report is wanted. They are read beside the core, and come back as commands.

use bytes::{Bytes, BytesMut};
use qmgr::{CallId, ConnId, ReadFirst};
use store::{BodyRef, Id, Place, StoreError};

use super::command::Command;
use super::lanes::Lane;
use super::turn::Core;

/// What a record that is read first takes of the budget for bodies; most are short.
const SHARE_BYTES: usize = 1 << 16;

impl Core {
    /// Reads what a get has to know of its message.
    pub(super) fn read_first_later(&self, conn: ConnId, call: CallId, first: &ReadFirst) {
        let parts = first.parts.iter().map(|part| self.store.body(part.id, part.place));
        let bodies = std::iter::once(self.store.body(first.id, first.place)).chain(parts).collect();
        self.read_later(bodies, move |record| Command::RecordRead { conn, call, record });
    }

    /// Reads a message that has expired.
    pub(super) fn read_expired_later(&self, id: Id, place: Place) {
        let bodies = vec![self.store.body(id, place)];
        self.read_later(bodies, move |record| Command::ExpiredRead { id, record });
    }

    fn read_later(
        &self,
        bodies: Vec<BodyRef>,
        command: impl FnOnce(Option<(Bytes, Bytes)>) -> Command + Send + 'static,
    ) {
        let (sender, budget) = (self.sender(), self.wiring.bodies.clone());
        self.lasting.helpers.spawn(async move {
            let _share = budget.share(SHARE_BYTES * bodies.len()).await;
            let record = read_all(bodies).await;
            let record = record.inspect_err(|error| tracing::error!(%error, "a message cannot be read")).ok();
            // If the service stops the connection is lost, and what has expired does so again.
            let _ = sender.send(Lane::Complete, command(record)).await;
        });
    }
}

/// The envelope of the first record, and the bodies of all of them one behind the other.
async fn read_all(bodies: Vec<BodyRef>) -> Result<(Bytes, Bytes), StoreError> {
    let mut bodies = bodies.into_iter();
    let Some(first) = bodies.next() else { return Ok((Bytes::new(), Bytes::new())) };
    let record = super::read(first).await?;
    if bodies.len() == 0 {
        return Ok((record.envelope, record.body));
    }
    let mut body = BytesMut::from(&record.body[..]);
    for further in bodies {
        body.extend_from_slice(&super::read(further).await?.body);
    }
    Ok((record.envelope, body.freeze()))
}
