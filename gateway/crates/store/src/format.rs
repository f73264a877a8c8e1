//! The bytes of the journal: what `FORMAT.md` describes, in code. Little-endian throughout.
//!
//! Encoding and decoding only; where things lie is `layout`, what they mean is for the journal.

pub(crate) mod checkpoint;
pub(crate) mod footer;
pub(crate) mod group;
pub(crate) mod record;

/// The version in the `format` file that this code writes and reads.
pub(crate) const VERSION: u32 = 2;

/// Groups begin at multiples of this (STORE.md 2), so that no acknowledged byte is ever written again.
pub(crate) const BLOCK: u64 = 4096;

/// A reader over bytes that may be anything: every step is checked.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.bytes(1).map(|b| b[0])
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.bytes(4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.bytes(8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes)
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }
}

/// Little-endian numbers at the end of a buffer.
pub(crate) trait Append {
    fn put_u32(&mut self, value: u32);
    fn put_u64(&mut self, value: u64);
}

impl Append for Vec<u8> {
    fn put_u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }
}
