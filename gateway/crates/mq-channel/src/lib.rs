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
//! What is spoken is shape A of mq-wire-observed.md: TSH segments, FAP 12, one conversation a connection, MQGET.
//! Conversation ids are in the events already, so that shapes with shared conversations come behind the same types.
//! What a call *does* is not known here: requests are handed over and replies brought into the form that was asked.

mod client;
mod error;
mod event;
mod link;
mod negotiate;
mod reply;
mod request;
mod server;

pub use client::{ClientConfig, ClientConnection, ClientEvent};
pub use error::{ConnectionError, OwnerError, PeerError};
pub use event::{CallId, ChannelRequest, ChannelTerms, Event};
pub use reply::{AsyncPuts, OpenDefaults, Reply};
pub use request::{Connect, Password, Request};
pub use server::{ServerConfig, ServerConnection};
