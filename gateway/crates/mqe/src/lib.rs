//! MQ Everyplace for this product: messages and fields, the device protocol, the store-and-forward area.
//!
//! - [`fields`] and [`message`]: what a message is between gateway and device, and its bytes (mqe.md 1.2, 8.4).
//! - [`frame`]: the frames of the device protocol; `PROTOCOL.md` beside this crate describes them for a device in
//!   another language.
//! - [`gateway_end`] and [`device_end`]: the two ends of a connection as machines without sockets.
//! - [`area`]: a durable sub-queue for each device, and the rules of once and once only (ONCE.md 1 to 3).
//!
//! Nothing here opens a socket or a file, reads a clock or draws a random number: time, connection numbers and the
//! store's batches come in as parameters, frames and effects go out as values.

pub mod area;
pub mod convert;
pub mod device_end;
pub mod fields;
pub mod frame;
pub mod gateway_end;
mod ids;
pub mod message;
pub mod outbox;
mod wire;

use std::time::Instant;

pub use ids::{ConnId, DeviceName, Incarnation, RequestId, Sequence, SessionId, StoreIdentity, Uid, digest};
pub use message::DeviceMessage;
pub use wire::{DecodeError, DecodeErrorKind};

/// The time, as the owner of a machine says it: wall time for expiry and put dates, the monotonic clock for the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Wall clock, milliseconds since 1970.
    pub wall_ms: u64,
    /// Monotonic clock.
    pub instant: Instant,
}

#[cfg(test)]
mod tests;
