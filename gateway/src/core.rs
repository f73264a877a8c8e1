//! The heart: one task owns queue manager, area and store, and applies every command with a plain function.
//!
//! ```text
//!  lanes ──round──> apply ──> batch (gathering) ──submit──> committer ──> Announcer ──> whoever waits for a position
//!                     └─────> effects ──────────────────────────────────> connections, in the order they were made
//! ```
//!
//! The core hands its batch over when the committer has nothing in hand, or when the batch is large; so groups form
//! by themselves, without a timer. It never waits for a socket, an exit or a body.

mod bodies;
mod cold;
mod command;
mod devices;
mod durable;
mod effects;
#[cfg(test)]
pub(crate) mod faulty;
mod hand_over;
mod handle;
mod lanes;
mod newest;
mod operate;
mod outbox;
mod owed;
mod read_first;
mod recovery;
mod remote;
mod space;
mod status;
#[cfg(test)]
pub(crate) mod tests;
mod tokens;
mod turn;
mod walk;

pub(crate) use bodies::{Bodies, Records, Share, has_same_end, read, write_long};
pub(crate) use command::{
    Command, DeadLetter, Delivery, DevicePut, DevicePutBody, HandOver, HandedOver, LockedBody, MqReply,
    Refused, RefusedBy, TakenKey, ToDevice, ToMq,
};
pub(crate) use durable::{Announcer, Durable};
pub(crate) use hand_over::{APPL_NAME, dead_letter_message};
pub(crate) use handle::{ConnectionCount, CoreHandle, Farewell};
pub(crate) use lanes::{Lane, Stopped};
pub(crate) use outbox::{EndedHere, NextBatch, NextEntry, OutboxBell, OutboxCommand};
pub(crate) use owed::EXPIRED;
pub(crate) use recovery::{Machinery, Machines};
pub(crate) use remote::{RemoteBatch, RemoteState};
pub(crate) use tokens::reply_token;
pub(crate) use turn::{Core, Wiring};
