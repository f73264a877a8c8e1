//! An MQ application as a test writes it down: one call after the other, on mq-client.

use std::time::Duration;

use bytes::Bytes;
use mq_client::{ClientError, ConnectOptions, Connection, Got};
use mq_wire::{
    Coding, FormatName, GetOptions, Mqdlh, Mqgmo, Mqmd, Mqod, Mqpmo, OpenOptions, Persistence, PutOptions,
    Reader, Reason, Selector,
};
use tokio::runtime::{Builder, Runtime};

/// The longest message that a test gets.
const BUFFER: u32 = 4 << 20;

/// A connected application.
#[derive(Debug)]
pub struct Mq {
    runtime: Runtime,
    connection: Connection,
}

/// The persistent message of an application.
pub fn persistent() -> Mqmd {
    Mqmd { persistence: Persistence::PERSISTENT, format: FormatName::STRING, ..Mqmd::default() }
}

impl Mq {
    /// Connects.
    pub fn connect(options: &ConnectOptions) -> Result<Self, ClientError> {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
        let connection = runtime.block_on(Connection::connect(options))?;
        Ok(Self { runtime, connection })
    }

    /// The name of the queue manager.
    pub fn queue_manager(&self) -> String {
        self.connection.qmgr_name().to_string()
    }

    /// Opens a queue, of another queue manager if that is not blank.
    pub fn open(
        &mut self,
        queue: &str,
        queue_manager: &str,
        options: OpenOptions,
    ) -> Result<i32, ClientError> {
        let object = Mqod {
            object_name: queue.parse().expect("a name"),
            object_q_mgr_name: if queue_manager.is_empty() {
                mq_wire::QMgrName::BLANK
            } else {
                queue_manager.parse().expect("a name")
            },
            ..Mqod::default()
        };
        self.open_object(object, options)
    }

    /// Opens what the descriptor names.
    pub fn open_object(&mut self, object: Mqod, options: OpenOptions) -> Result<i32, ClientError> {
        Ok(self.runtime.block_on(self.connection.open(object, options))?.handle)
    }

    /// Puts.
    pub fn put(
        &mut self,
        handle: i32,
        md: Mqmd,
        options: PutOptions,
        data: impl Into<Bytes>,
    ) -> Result<Mqmd, ClientError> {
        let pmo = Mqpmo { options, ..Mqpmo::default() };
        Ok(self.runtime.block_on(self.connection.put(handle, md, pmo, data.into()))?.md)
    }

    /// Puts one persistent message outside of a unit of work.
    pub fn put_one(
        &mut self,
        queue: &str,
        queue_manager: &str,
        data: impl Into<Bytes>,
    ) -> Result<Mqmd, ClientError> {
        self.put_md(queue, queue_manager, persistent(), data)
    }

    /// The same with a descriptor.
    pub fn put_md(
        &mut self,
        queue: &str,
        queue_manager: &str,
        md: Mqmd,
        data: impl Into<Bytes>,
    ) -> Result<Mqmd, ClientError> {
        let handle = self.open(queue, queue_manager, OpenOptions::OUTPUT)?;
        let put = self.put(handle, md, PutOptions::NO_SYNCPOINT, data);
        self.close(handle)?;
        put
    }

    /// Gets the next message, if there is one or one comes in time.
    pub fn get(
        &mut self,
        handle: i32,
        options: GetOptions,
        wait: Duration,
    ) -> Result<Option<Got>, ClientError> {
        let wait_interval = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
        let options = if wait.is_zero() { options } else { options | GetOptions::WAIT };
        let gmo = Mqgmo { options, wait_interval, ..Mqgmo::default() };
        self.runtime.block_on(self.connection.get(handle, Mqmd::default(), gmo, BUFFER))
    }

    /// Gets with options and a descriptor to match, without waiting.
    pub fn get_by(&mut self, handle: i32, md: Mqmd, gmo: Mqgmo) -> Result<Option<Got>, ClientError> {
        self.runtime.block_on(self.connection.get(handle, md, gmo, BUFFER))
    }

    /// Gets the next message outside of a unit of work; fails if none comes in time.
    #[track_caller]
    pub fn get_one(&mut self, handle: i32, wait: Duration) -> Got {
        self.get(handle, GetOptions::NO_SYNCPOINT, wait).unwrap().expect("a message")
    }

    /// All messages of a queue, as they come.
    #[track_caller]
    pub fn drain(&mut self, queue: &str) -> Vec<Got> {
        let handle = self.open(queue, "", OpenOptions::INPUT_SHARED).unwrap();
        let mut all = Vec::new();
        while let Some(got) = self.get(handle, GetOptions::NO_SYNCPOINT, Duration::ZERO).unwrap() {
            all.push(got);
        }
        self.close(handle).unwrap();
        all
    }

    /// Closes a handle.
    pub fn close(&mut self, handle: i32) -> Result<(), ClientError> {
        self.runtime.block_on(self.connection.close(handle, mq_wire::CloseOptions::empty())).map(drop)
    }

    /// Commits.
    pub fn commit(&mut self) -> Result<(), ClientError> {
        self.runtime.block_on(self.connection.commit())
    }

    /// Backs out.
    pub fn back(&mut self) -> Result<(), ClientError> {
        self.runtime.block_on(self.connection.back())
    }

    /// Integers of an object.
    pub fn integers(&mut self, handle: i32, selectors: &[Selector]) -> Result<Vec<i32>, ClientError> {
        Ok(self.runtime.block_on(self.connection.inquire(handle, selectors.to_vec(), 0))?.ints)
    }

    /// A character attribute, without its blanks.
    pub fn characters(
        &mut self,
        handle: i32,
        selector: Selector,
        length: u32,
    ) -> Result<String, ClientError> {
        let found = self.runtime.block_on(self.connection.inquire(handle, vec![selector], length))?;
        Ok(String::from_utf8_lossy(&found.chars).trim_end().to_owned())
    }

    /// Disconnects, which commits.
    pub fn disconnect(self) -> Result<(), ClientError> {
        self.runtime.block_on(self.connection.disconnect())
    }
}

/// The dead-letter header of a message, and what is behind it.
#[track_caller]
pub fn dead_letter(got: &Got) -> (Mqdlh, Bytes) {
    assert_eq!(got.md.format, FormatName::DEAD_LETTER_HEADER, "no dead letter: {:?}", got.md);
    let mut reader = Reader::new(&got.data, Coding::of(got.md.encoding, got.md.ccsid));
    let header = Mqdlh::decode(&mut reader).unwrap();
    let behind = got.data.slice(reader.position()..);
    (header, behind)
}

/// The reason of a call that should fail.
#[track_caller]
pub fn reason<T: std::fmt::Debug>(outcome: Result<T, ClientError>) -> Reason {
    outcome.expect_err("the call should fail").reason()
}
