//! The way into the core, as the other tasks hold it.
//!
//! The core's state has *generations*: one from the start, another after each recovery in the process. A connection
//! belongs to the one in which it began and ends with it. Its commands go into lanes that end with the generation,
//! so that nothing which was asked of the old state is ever applied to the new one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mq_wire::ChannelName;
use qmgr::ConnId;
use store::{BodyFiles, Position, Room};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::command::{ChannelTerms, Command};
use super::durable::{Durable, NotDurable};
use super::lanes::{Lane, LaneSender, Stopped};
use super::newest;

/// What belongs to one generation of the core's state.
#[derive(Debug)]
pub(crate) struct Generation {
    pub(super) lanes: LaneSender<Command>,
    pub(super) durable: Durable,
    /// Cancelled when the journal has failed.
    pub(super) ended: CancellationToken,
    /// Names of long bodies carry the number of the start.
    pub(super) body_files: BodyFiles,
    pub(super) room: newest::Receiver<Room>,
}

/// A sender into the core. Each connection has its own, made with [`CoreHandle::connection`].
#[derive(Debug)]
pub(crate) struct CoreHandle {
    generations: newest::Receiver<Arc<Generation>>,
    generation: Arc<Generation>,
    lanes: LaneSender<Command>,
    conn: ConnId,
    conns: Arc<AtomicU64>,
}

impl CoreHandle {
    pub(super) fn new(generations: newest::Receiver<Arc<Generation>>) -> Self {
        let generation = Arc::clone(&generations.look());
        let lanes = generation.lanes.for_connection();
        Self { generations, generation, lanes, conn: ConnId(0), conns: Arc::new(AtomicU64::new(1)) }
    }

    /// A sender for another connection, with a number of its own: the order is kept per connection. It is of the
    /// newest generation, which may have ended.
    pub(crate) fn connection(&self) -> Self {
        let generation = Arc::clone(&self.generations.look());
        Self {
            generations: self.generations.clone(),
            lanes: generation.lanes.for_connection(),
            generation,
            conn: ConnId(self.conns.fetch_add(1, Ordering::Relaxed)),
            conns: Arc::clone(&self.conns),
        }
    }

    /// The same, but of a generation that lives: while the store recovers, this waits.
    pub(crate) async fn newest(&self) -> Result<Self, Stopped> {
        let lives = |newest: &Arc<Generation>| (!newest.ended.is_cancelled()).then_some(());
        // Without a core there is no sender any more.
        self.generations.wait(lives).await.map_err(|_| Stopped)?;
        Ok(self.connection())
    }

    /// Returns when the journal has failed: what this connection had is void.
    pub(crate) async fn ended(&self) {
        self.generation.ended.cancelled().await;
    }

    /// Whether the store is being recovered.
    pub(crate) fn is_recovering(&self) -> bool {
        self.generations.look().ended.is_cancelled()
    }

    /// The number of this connection; never given again while the process lives.
    pub(crate) fn conn(&self) -> ConnId {
        self.conn
    }

    /// Sends a command.
    pub(crate) async fn send(&self, lane: Lane, command: Command) -> Result<(), Stopped> {
        self.lanes.send(lane, command).await
    }

    /// Sends a command and awaits its answer.
    pub(crate) async fn ask<T>(
        &self,
        lane: Lane,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> Result<T, Stopped> {
        let (answer, answered) = oneshot::channel();
        self.lanes.send(lane, command(answer)).await?;
        answered.await.map_err(|_| Stopped)
    }

    /// Asks what changes nothing, of whatever generation lives: while the store recovers, this waits.
    pub(crate) async fn inquire<T>(
        &self,
        command: impl Fn(oneshot::Sender<T>) -> Command,
    ) -> Result<T, Stopped> {
        loop {
            let newest = self.newest().await?;
            match newest.ask(Lane::Control, &command).await {
                Err(Stopped) if newest.generation.ended.is_cancelled() => {}
                outcome => return outcome,
            }
        }
    }

    /// What a server-connection channel allows; none if there is no such channel.
    pub(crate) async fn channel(&self, channel: ChannelName) -> Result<Option<ChannelTerms>, Stopped> {
        self.ask(Lane::Control, |answer| Command::Channel { channel, answer }).await
    }

    /// Returns when the position is on disk.
    pub(crate) async fn durable(&self, position: Option<Position>) -> Result<(), NotDurable> {
        if position.is_none_or(|position| self.is_durable(position)) {
            return Ok(());
        }
        self.generation.durable.wait(position).await
    }

    /// Whether the position is on disk.
    pub(crate) fn is_durable(&self, position: Position) -> bool {
        self.generation.durable.is_durable(position)
    }

    /// The files of long bodies.
    pub(crate) fn body_files(&self) -> &BodyFiles {
        &self.generation.body_files
    }

    /// Whether new messages are taken.
    pub(crate) fn room(&self) -> Room {
        *self.generation.room.look()
    }

    /// Returns when new messages are taken again.
    pub(crate) async fn enough_room(&self) -> Result<(), Stopped> {
        // It goes with the generation.
        let enough = |room: &Room| (*room == Room::Enough).then_some(());
        self.generation.room.wait(enough).await.map_err(|_| Stopped)
    }
}

/// Tells the core that a connection is over: by [`Farewell::say`], or when its task panics.
#[derive(Debug)]
pub(crate) struct Farewell {
    core: Arc<CoreHandle>,
    closed: Option<Command>,
}

impl Farewell {
    pub(crate) fn new(core: Arc<CoreHandle>, closed: Command) -> Self {
        Self { core, closed: Some(closed) }
    }

    pub(crate) async fn say(mut self) {
        if let Some(closed) = self.closed.take() {
            // If the core is gone, so is what it knew of the connection.
            let _ = self.core.send(Lane::Control, closed).await;
        }
    }
}

impl Drop for Farewell {
    fn drop(&mut self) {
        if let Some(closed) = self.closed.take() {
            let core = Arc::clone(&self.core);
            // The same.
            tokio::spawn(async move { core.send(Lane::Control, closed).await });
        }
    }
}

/// How many connections of a kind there are, and were.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCount {
    now: AtomicU64,
    total: AtomicU64,
}

impl ConnectionCount {
    /// Counts one until the guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Counted {
        self.now.fetch_add(1, Ordering::Relaxed);
        self.total.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(self))
    }

    /// How many there are.
    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// How many there were since the start.
    pub(crate) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
}

/// A connection that counts.
#[derive(Debug)]
pub(crate) struct Counted(Arc<ConnectionCount>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}
