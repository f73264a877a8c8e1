//! The way into the core, as the other tasks hold it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mq_wire::ChannelName;
use qmgr::ConnId;
use store::Position;
use tokio::sync::oneshot;

use super::command::{ChannelTerms, Command};
use super::durable::{Durable, NotDurable};
use super::lanes::{Lane, LaneSender, Stopped};

/// A sender into the core. Each connection has its own, made with [`CoreHandle::connection`].
#[derive(Debug)]
pub(crate) struct CoreHandle {
    lanes: LaneSender<Command>,
    durable: Durable,
    conn: ConnId,
    conns: Arc<AtomicU64>,
}

impl CoreHandle {
    pub(super) fn new(lanes: LaneSender<Command>, durable: Durable) -> Self {
        Self { lanes, durable, conn: ConnId(0), conns: Arc::new(AtomicU64::new(1)) }
    }

    /// A sender for another connection, with a number of its own: the order is kept per connection.
    pub(crate) fn connection(&self) -> Self {
        Self {
            lanes: self.lanes.for_connection(),
            durable: self.durable.clone(),
            conn: ConnId(self.conns.fetch_add(1, Ordering::Relaxed)),
            conns: Arc::clone(&self.conns),
        }
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

    /// What a server-connection channel allows; none if there is no such channel.
    pub(crate) async fn channel(&self, channel: ChannelName) -> Result<Option<ChannelTerms>, Stopped> {
        self.ask(Lane::Control, |answer| Command::Channel { channel, answer }).await
    }

    /// Returns when the position is on disk.
    pub(crate) async fn durable(&self, position: Option<Position>) -> Result<(), NotDurable> {
        if self.durable.is_durable(position) {
            return Ok(());
        }
        self.durable.clone().wait(position).await
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
