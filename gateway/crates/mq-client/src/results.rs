//! What the calls give back: the descriptors and names that the queue manager filled in, and its warning.

use bytes::Bytes;
use mq_channel::OpenDefaults;
use mq_wire::{Mqgmo, Mqmd, Mqod, Mqpmo, Reason};

/// An open object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Its handle.
    pub handle: i32,
    /// Warning, or NONE.
    pub reason: Reason,
    /// The descriptor with the names that were resolved.
    pub od: Mqod,
    /// What its definition says about puts and gets.
    pub defaults: OpenDefaults,
}

/// A message that was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// Warning, or NONE.
    pub reason: Reason,
    /// Whether the queue manager has answered. If not, the message is on its way, ids and nothing else are filled in,
    /// and [`Connection::stat`](crate::Connection::stat) tells what became of it.
    pub answered: bool,
    /// Of MQPUT1: the descriptor with the names that were resolved.
    pub od: Option<Box<Mqod>>,
    /// With ids and context filled in.
    pub md: Mqmd,
    /// With the resolved names.
    pub pmo: Mqpmo,
}

/// A message that was got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Got {
    /// Warning, or NONE: with `TRUNCATED_MSG_ACCEPTED` the rest of the message is gone.
    pub reason: Reason,
    /// Its descriptor.
    pub md: Mqmd,
    /// With the resolved name and the status bytes.
    pub gmo: Mqgmo,
    /// The length of the whole message.
    pub total_length: u32,
    /// Its data.
    pub data: Bytes,
}

/// Attributes of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inquired {
    /// Warning, or NONE.
    pub reason: Reason,
    /// The integers, in the order of their selectors.
    pub ints: Vec<i32>,
    /// The characters in ISO 8859-1, in the order of their selectors, each with its fixed length.
    pub chars: Vec<u8>,
}
