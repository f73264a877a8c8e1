//! Units of work as a careful MQ application makes them: each replaces a *state message* of the application with the
//! unit's number, so that after a broken connection it can find out whether the unit was committed (ONCE.md 4 does the
//! same for the gateway's source).

use std::time::Duration;

use bytes::Bytes;
use mq_client::{ClientError, ConnectOptions, Connection};
use mq_wire::{
    CorrelId, GetOptions, Mqgmo, Mqmd, Mqod, Mqpmo, OpenOptions, Persistence, PutOptions, QName, Reason,
};
use tokio::time::{self, Instant};

/// Pause before the next try to connect, or to look whether an old unit of work is finished.
const PAUSE: Duration = Duration::from_millis(100);
/// A service that is starting may be awaited for so long.
const FIRST_CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Bytes of a state message.
const STATE_BYTES: u32 = 8;

/// Why an application cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum UnitsError {
    /// MQ says no, and will say so again.
    #[error("{doing}")]
    Mq {
        /// What was tried.
        doing: String,
        /// What MQ says.
        source: ClientError,
    },
    /// The state message says what cannot be.
    #[error(
        "the state message on {queue} says unit of work {found} after {last}: does another program use it?"
    )]
    State {
        /// The queue.
        queue: QName,
        /// What it says.
        found: u64,
        /// The last that was known.
        last: u64,
    },
}

/// What a try of a unit of work ended with.
#[derive(Debug)]
pub(super) enum Failed {
    /// The connection is lost or of no use: whether the unit was committed is to be found out.
    InDoubt,
    /// For good.
    For(Box<UnitsError>),
}

/// An application's connection and its state message.
#[derive(Debug)]
pub(super) struct Units {
    options: ConnectOptions,
    queue: QName,
    /// Its first 20 bytes name run and worker; the rest counts state messages that may or may not have been put.
    owner: [u8; 20],
    generation: u32,
    /// The state message is there.
    has_state: bool,
    /// The last unit that is known to be committed.
    last: u64,
    open: Option<Open>,
    begun: Instant,
    connected_once: bool,
    pub(super) breaks: u64,
    pub(super) found_committed: u64,
    pub(super) found_backed_out: u64,
}

#[derive(Debug)]
pub(super) struct Open {
    pub(super) connection: Connection,
    state: i32,
    /// Of the queue that devices put to, once it is open.
    pub(super) replies: Option<i32>,
}

impl Units {
    pub(super) fn new(options: ConnectOptions, queue: QName, run: u64, worker: &str) -> Self {
        let mut owner = [b' '; 20];
        owner[..8].copy_from_slice(&run.to_be_bytes());
        owner[8..].iter_mut().zip(worker.bytes()).for_each(|(byte, letter)| *byte = letter);
        Self {
            options,
            queue,
            owner,
            generation: 0,
            has_state: false,
            last: 0,
            open: None,
            begun: Instant::now(),
            connected_once: false,
            breaks: 0,
            found_committed: 0,
            found_backed_out: 0,
        }
    }

    /// Begins a unit of work: the connection, with the state message taken away under syncpoint.
    pub(super) async fn begin(&mut self) -> Result<(), Failed> {
        self.connect().await?;
        while !self.has_state {
            match self.put_state(0, PutOptions::NO_SYNCPOINT).await {
                Ok(()) => self.has_state = true,
                Err(Failed::InDoubt) => {
                    // Whether it is there is not known: another name for the next one. The old one is in nobody's way.
                    self.generation += 1;
                    self.connect().await?;
                }
                Err(failed) => return Err(failed),
            }
        }
        match self.take_state().await? {
            Some(found) if found == self.last => Ok(()),
            Some(found) => Err(self.strange(found)),
            // An older unit of work of this application is not finished.
            None => Err(self.lost()),
        }
    }

    /// The connection on which a unit of work was begun.
    pub(super) fn open(&mut self) -> Result<&mut Open, Failed> {
        self.open.as_mut().ok_or(Failed::InDoubt)
    }

    /// Commits the unit of work that was begun.
    pub(super) async fn commit(&mut self) -> Result<(), Failed> {
        self.put_state(self.last + 1, PutOptions::SYNCPOINT).await?;
        match self.open()?.connection.commit().await {
            Ok(()) => {
                self.last += 1;
                Ok(())
            }
            Err(error) => Err(self.failed("cannot commit", error)),
        }
    }

    /// Backs out the unit of work that was begun.
    pub(super) async fn back_out(&mut self) -> Result<(), Failed> {
        match self.open()?.connection.back().await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.failed("cannot back out", error)),
        }
    }

    /// Whether the unit of work after the last known one was committed. Waits until that is certain.
    pub(super) async fn was_committed(&mut self) -> Result<bool, Box<UnitsError>> {
        if !self.has_state {
            return Ok(false);
        }
        loop {
            match self.look().await {
                Ok(Some(found)) if found == self.last => {
                    self.found_backed_out += 1;
                    return Ok(false);
                }
                Ok(Some(found)) if found == self.last + 1 => {
                    self.found_committed += 1;
                    self.last = found;
                    return Ok(true);
                }
                Ok(Some(found)) => {
                    let (queue, last) = (self.queue, self.last);
                    return Err(Box::new(UnitsError::State { queue, found, last }));
                }
                Ok(None) | Err(Failed::InDoubt) => time::sleep(PAUSE).await,
                Err(Failed::For(error)) => return Err(error),
            }
        }
    }

    /// Removes the state message, if that is possible at once.
    pub(super) async fn end(mut self) {
        if self.has_state
            && self.begin().await.is_ok()
            && let Some(Open { connection, .. }) = self.open.take()
        {
            // This commits. If it does not work, a state message that nobody needs stays.
            if let Err(error) = connection.disconnect().await {
                tracing::debug!(%error, "a state message stays");
            }
        }
    }

    /// What a call that failed means.
    pub(super) fn failed(&mut self, doing: impl Into<String>, error: ClientError) -> Failed {
        let is_passing = error.is_broken() || is_passing(error.reason());
        if is_passing {
            tracing::debug!(%error, "unit of work in doubt");
            self.lost()
        } else {
            Failed::For(Box::new(UnitsError::Mq { doing: doing.into(), source: error }))
        }
    }

    fn lost(&mut self) -> Failed {
        // The queue manager backs out what is open when the socket ends.
        if self.open.take().is_some() {
            self.breaks += 1;
        }
        Failed::InDoubt
    }

    fn strange(&self, found: u64) -> Failed {
        Failed::For(Box::new(UnitsError::State { queue: self.queue, found, last: self.last }))
    }

    async fn look(&mut self) -> Result<Option<u64>, Failed> {
        self.connect().await?;
        let found = self.take_state().await?;
        self.back_out().await?;
        Ok(found)
    }

    async fn connect(&mut self) -> Result<(), Failed> {
        while self.open.is_none() {
            match self.try_connect().await {
                Ok(open) => {
                    self.connected_once = true;
                    self.open = Some(open);
                }
                Err(source) if !self.connected_once && !is_passing(source.reason()) && self.is_late() => {
                    let doing = "cannot connect to MQ".to_owned();
                    return Err(Failed::For(Box::new(UnitsError::Mq { doing, source })));
                }
                Err(error) => {
                    tracing::debug!(%error, "not connected");
                    time::sleep(PAUSE).await;
                }
            }
        }
        Ok(())
    }

    /// Whether a queue manager that was never reached is taken for a mistake.
    fn is_late(&self) -> bool {
        self.begun.elapsed() >= FIRST_CONNECT_WITHIN
    }

    async fn try_connect(&mut self) -> Result<Open, ClientError> {
        let mut connection = Connection::connect(&self.options).await?;
        let od = Mqod { object_name: self.queue.into(), ..Mqod::default() };
        let options = OpenOptions::INPUT_SHARED | OpenOptions::OUTPUT | OpenOptions::FAIL_IF_QUIESCING;
        let state = connection.open(od, options).await?.handle;
        Ok(Open { connection, state, replies: None })
    }

    fn state_id(&self) -> CorrelId {
        let mut id = [0; 24];
        id[..20].copy_from_slice(&self.owner);
        id[20..].copy_from_slice(&self.generation.to_be_bytes());
        CorrelId(id)
    }

    async fn take_state(&mut self) -> Result<Option<u64>, Failed> {
        let md = Mqmd { correl_id: self.state_id(), ..Mqmd::default() };
        let gmo = Mqgmo { options: GetOptions::SYNCPOINT | GetOptions::NO_PROPERTIES, ..by_correl_id() };
        let Open { connection, state, .. } = self.open()?;
        match connection.get(*state, md, gmo, STATE_BYTES).await {
            Ok(got) => {
                Ok(got.map(|got| got.data.first_chunk().map_or(u64::MAX, |bytes| u64::from_be_bytes(*bytes))))
            }
            Err(error) => Err(self.failed("cannot get the state message", error)),
        }
    }

    async fn put_state(&mut self, unit: u64, syncpoint: PutOptions) -> Result<(), Failed> {
        let md = Mqmd { correl_id: self.state_id(), persistence: Persistence::PERSISTENT, ..Mqmd::default() };
        let pmo = Mqpmo { options: syncpoint | PutOptions::NEW_MSG_ID, ..Mqpmo::default() };
        let data = Bytes::copy_from_slice(&unit.to_be_bytes());
        let Open { connection, state, .. } = self.open()?;
        match connection.put(*state, md, pmo, data).await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.failed("cannot put the state message", error)),
        }
    }
}

/// Options of a get that takes the messages with the descriptor's CorrelId.
pub(super) fn by_correl_id() -> Mqgmo {
    Mqgmo { version: 2, ..Mqgmo::default() }
}

/// Whether time may change that.
fn is_passing(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::BACKED_OUT
            | Reason::Q_FULL
            | Reason::Q_SPACE_NOT_AVAILABLE
            | Reason::STORAGE_NOT_AVAILABLE
            | Reason::STORAGE_MEDIUM_FULL
            | Reason::RESOURCE_PROBLEM
            | Reason::Q_MGR_QUIESCING
            | Reason::Q_MGR_STOPPING
            | Reason::CONNECTION_QUIESCING
            | Reason::CONNECTION_STOPPING
            | Reason::CHANNEL_NOT_AVAILABLE
    )
}
