//! Records that the queue manager has to see before it goes on: of messages that are got or have expired, on which a
//! report is wanted. They are read beside the core, a few at a time and under the budget of bodies, and come back as
//! commands with their share of it. The others wait as ids: a thousand long messages may expire at once.

use std::collections::VecDeque;

use bytes::Bytes;
use qmgr::{CallId, ConnId, ReadFirst};
use store::Id;

use super::bodies::{Records, Share};
use super::command::Command;
use super::lanes::Lane;
use super::turn::Core;

/// Gets whose records are read at the same time: a client waits for each.
const GETS_MAX: usize = 16;

/// Expired messages that are read at the same time: nobody waits for them.
const EXPIRED_MAX: usize = 4;

/// A record that was read, if it can be, and the share of the budget that it has until the core has taken it.
#[derive(Debug)]
pub(crate) struct ReadRecord {
    /// Envelope and body.
    pub(crate) record: Option<(Bytes, Bytes)>,
    /// Its share.
    pub(crate) share: Option<Share>,
}

/// What is to be read.
#[derive(Debug)]
pub(super) struct Reads {
    gets: Line<(ConnId, CallId, Vec<Id>)>,
    expired: Line<Id>,
}

impl Reads {
    /// Nothing.
    pub(super) fn new() -> Self {
        Self { gets: Line::new(GETS_MAX), expired: Line::new(EXPIRED_MAX) }
    }

    /// What a get has to know of its message.
    pub(super) fn get(&mut self, conn: ConnId, call: CallId, first: &ReadFirst) {
        let ids = std::iter::once(first.id).chain(first.parts.iter().map(|part| part.id));
        self.gets.waiting.push_back((conn, call, ids.collect()));
    }

    /// A message that has expired.
    pub(super) fn expired(&mut self, id: Id) {
        self.expired.waiting.push_back(id);
    }

    /// The core has the record of a get.
    pub(super) fn get_done(&mut self) {
        self.gets.done();
    }

    /// The core has the record of an expired message.
    pub(super) fn expired_done(&mut self) {
        self.expired.done();
    }
}

/// Some are under way, the others wait.
#[derive(Debug)]
struct Line<T> {
    under_way: usize,
    under_way_max: usize,
    waiting: VecDeque<T>,
}

impl<T> Line<T> {
    fn new(under_way_max: usize) -> Self {
        Self { under_way: 0, under_way_max, waiting: VecDeque::new() }
    }

    fn next(&mut self) -> Option<T> {
        let next = if self.under_way < self.under_way_max { self.waiting.pop_front()? } else { return None };
        self.under_way += 1;
        Some(next)
    }

    fn done(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }
}

impl Core {
    /// Begins to read as much as may be under way. All batches that say where messages lie are with the store.
    pub(super) fn begin_reads(&mut self) {
        while let Some((conn, call, ids)) = self.reads.gets.next() {
            match self.records(&ids) {
                Some((records, bytes)) => {
                    self.read_later(records, bytes, move |read| Command::RecordRead { conn, call, read });
                }
                // The connection is gone, and the message back at its place.
                None => self.reads.get_done(),
            }
        }
        while let Some(id) = self.reads.expired.next() {
            match self.records(&[id]) {
                Some((records, bytes)) => {
                    self.read_later(records, bytes, move |read| Command::ExpiredRead { id, read });
                }
                None => self.reads.expired_done(),
            }
        }
    }

    /// The records of a message where they lie now, and the bytes of their data.
    fn records(&self, ids: &[Id]) -> Option<(Records, usize)> {
        let mut found = ids.iter().map(|id| {
            let (place, bytes) = self.queue_manager.lies(*id)?;
            Some((self.store.body(*id, place), bytes))
        });
        let (first, bytes) = found.next()??;
        let rest = found.collect::<Option<Vec<_>>>()?;
        let bytes = rest.iter().fold(bytes as usize, |sum, (_, bytes)| sum + *bytes as usize);
        Some((Records { first, rest }, bytes))
    }

    fn read_later(
        &self,
        records: Records,
        bytes: usize,
        command: impl FnOnce(ReadRecord) -> Command + Send + 'static,
    ) {
        let (sender, budget) = (self.sender(), self.wiring.bodies.clone());
        self.lasting.helpers.spawn(async move {
            let share = budget.share(bytes).await;
            let record = records.read().await;
            let record = record.inspect_err(|error| tracing::error!(%error, "a message cannot be read")).ok();
            let record = record.map(|record| (record.envelope, record.body));
            // If the service stops the connection is lost, and what has expired does so again.
            let _ = sender.send(Lane::Complete, command(ReadRecord { record, share })).await;
        });
    }
}
