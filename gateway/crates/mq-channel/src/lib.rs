//! MQ channel protocol state machines without I/O: both ends of MQI channels.
//!
//! [`ServerConnection`] is the end of the queue manager, [`ClientConnection`] that of an application. Both are fed
//! with what a socket read and with the time, and give out events and bytes to send; they know no sockets, no tasks
//! and no clock. The owner moves bytes and answers calls.
//!
//! ```text
//!  socket -> handle_bytes    ┌────────────┐  poll_event -> owner
//!  timer  -> handle_timeout  │ connection │  reply, call <- owner
//!  timer  <- poll_timeout    └────────────┘  poll_output -> socket
//! ```
//!
//! The server end speaks two shapes of mq-wire-observed.md: A, one conversation in TSH segments up to FAP 12, and B,
//! several conversations on a socket in TSHM segments from FAP 13 on, served independently; both read by MQGET. The
//! client end speaks A.
//! What a call *does* is not known here: requests are handed over and replies brought into the form that was asked.

mod client;
mod error;
mod event;
mod link;
mod negotiate;
mod reply;
mod request;
mod server;

pub use client::{ClientConfig, ClientConnection, ClientEvent, ClientTerms, ReservedIds};
pub use error::{ConnectionError, OwnerError, PeerError};
pub use event::{CallId, ChannelRequest, ChannelTerms, Event};
pub use reply::{AsyncPuts, OpenDefaults, PutObject, Reply};
pub use request::{Connect, Password, Request};
pub use server::{HELD_BYTES_MAX, ServerConfig, ServerConnection};
