//! Async MQ client on mq-channel's machines: one connection, one conversation, one call at a time.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use mq_client::{ConnectOptions, Connection};
//! use mq_wire::{Mqmd, Mqod, Mqpmo, OpenOptions, PutOptions};
//!
//! let options = ConnectOptions::parse("DEV.APP.SVRCONN/TCP/127.0.0.1(1414)")?;
//! let mut connection = Connection::connect(&options).await?;
//! let od = Mqod { object_name: "DEV.QUEUE.1".parse()?, ..Mqod::default() };
//! let queue = connection.open(od, OpenOptions::OUTPUT).await?;
//! let pmo = Mqpmo { options: PutOptions::SYNCPOINT, ..Mqpmo::default() };
//! connection.put(queue.handle, Mqmd::default(), pmo, "hello".into()).await?;
//! connection.commit().await?;
//! connection.disconnect().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Structures go out in the version that the caller gives them, as in MQ's own interfaces: a field of a later version is
//! not sent. Byte order, code page and level are the queue manager's; names and character attributes are ISO 8859-1 here
//! whatever they are there, message data is never touched.
//!
//! What it never does: commit by itself, repeat a call, connect again. Where [`ClientError::is_in_doubt`] says so, nobody
//! knows whether the last call was done; that is for the caller to find out (`ONCE.md` 4).

mod check;
mod connection;
mod error;
mod ids;
mod options;
mod results;

pub use connection::{Connection, Transport};
pub use error::{BreakCause, ClientError};
pub use options::{ConnectOptions, ParseError};
pub use results::{Got, Inquired, Opened, Put};

pub use mq_channel::{AsyncPuts, ClientTerms, OpenDefaults, Password};
