//! What a message of a fleet says of itself: a line of text that a person can read, then filling.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// From MQ to a device.
    Down,
    /// From a device to MQ.
    Up,
}

/// A sequence of messages in which order counts: one device, one queue, one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream {
    /// Which way.
    pub way: Way,
    /// The device's number, from 1.
    pub device: u32,
    /// The queue's number, from 1.
    pub queue: u32,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match self.way {
            Way::Down => "down",
            Way::Up => "up",
        };
        write!(f, "{way}/device {}/queue {}", self.device, self.queue)
    }
}

/// What stands in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Names the run, so that messages of an older one are not taken for lost or doubled.
    pub run: u64,
    /// In which sequence it stands.
    pub stream: Stream,
    /// Its place there, from 1.
    pub sequence: u32,
    /// Microseconds since the run's begin when it was made.
    pub made_us: u64,
}

/// Why a message says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// It is none of a fleet's.
    Foreign,
    /// It was one, and is changed.
    Damaged,
}

/// `MQFLEET `, then the checksum of all that follows it.
const MARK: &[u8] = b"MQFLEET ";
const CHECKSUM_BYTES: usize = 8;

impl Label {
    /// The message, at least `size` bytes.
    pub fn payload(&self, size: usize) -> Bytes {
        let Self { run, stream: Stream { way, device, queue }, sequence, made_us } = self;
        let way = if *way == Way::Down { 'd' } else { 'u' };
        let text = format!(" {run:016x} {way} {device} {queue} {sequence} {made_us} ");
        let mut out = BytesMut::with_capacity(size.max(128));
        out.put_slice(MARK);
        out.put_bytes(0, CHECKSUM_BYTES);
        out.put_slice(text.as_bytes());
        // Filling that differs from message to message, so that bytes of another one are seen.
        let mut state = run ^ (u64::from(*device) << 40) ^ (u64::from(*queue) << 32) ^ u64::from(*sequence);
        while out.len() < size {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            out.put_u8(b'a' + ((state >> 33) % 26) as u8);
        }
        let covered = MARK.len() + CHECKSUM_BYTES;
        let checksum = format!("{:08x}", crc32fast::hash(&out[covered..]));
        out[MARK.len()..covered].copy_from_slice(checksum.as_bytes());
        out.freeze()
    }

    /// Reads a message.
    pub fn read(payload: &[u8]) -> Result<Self, Unreadable> {
        let rest = payload.strip_prefix(MARK).ok_or(Unreadable::Foreign)?;
        let (checksum, rest) = rest.split_at_checked(CHECKSUM_BYTES).ok_or(Unreadable::Damaged)?;
        if format!("{:08x}", crc32fast::hash(rest)).as_bytes() != checksum {
            return Err(Unreadable::Damaged);
        }
        Self::parse(rest).ok_or(Unreadable::Damaged)
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut words = text.split_ascii_whitespace();
        let run = u64::from_str_radix(words.next()?, 16).ok()?;
        let way = match words.next()? {
            "d" => Way::Down,
            "u" => Way::Up,
            _ => return None,
        };
        let device = words.next()?.parse().ok()?;
        let queue = words.next()?.parse().ok()?;
        let sequence = words.next()?.parse().ok()?;
        let made_us = words.next()?.parse().ok()?;
        Some(Self { run, stream: Stream { way, device, queue }, sequence, made_us })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_is_seen() {
        let stream = Stream { way: Way::Up, device: 7, queue: 2 };
        let label = Label { run: 0xAB, stream, sequence: 3, made_us: 12_345 };
        for size in [0, 90, 300] {
            let payload = label.payload(size);
            assert!(payload.len() >= size);
            assert_eq!(Label::read(&payload), Ok(label));
            for at in 0..payload.len() {
                let mut changed = payload.to_vec();
                changed[at] ^= 1;
                let wanted = if at < MARK.len() { Unreadable::Foreign } else { Unreadable::Damaged };
                assert_eq!(Label::read(&changed), Err(wanted), "byte {at}");
                assert!(Label::read(&payload[..at]).is_err(), "cut at {at}");
            }
        }
    }
}
