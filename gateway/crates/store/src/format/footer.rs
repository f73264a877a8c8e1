//! The footer of a sealed segment: a line for each record, so that a start need not read the records themselves.
//!
//! It ends with a trailer, which is the end of the file and names the segment.

use super::record::{Head, SHORT_LINE};
use super::{Append, Cursor};

/// Bytes of the trailer.
pub(crate) const TRAILER: u64 = 40;

const MAGIC: &[u8; 8] = b"MQEFOOT1";

/// What the trailer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    pub(crate) segment: u32,
    pub(crate) start: u32,
    /// Where the last group ends.
    pub(crate) end: u32,
    pub(crate) records: u32,
    pub(crate) lines_length: u32,
    pub(crate) lines_checksum: u32,
}

impl Trailer {
    /// Appends the trailer to the lines.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(MAGIC);
        for number in
            [self.segment, self.start, self.end, self.records, self.lines_length, self.lines_checksum, 0]
        {
            out.put_u32(number);
        }
        let checksum = crc32fast::hash(&out[at..]);
        out.put_u32(checksum);
    }

    /// The trailer in these bytes, if they are one.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let checked = bytes.get(..TRAILER as usize - 4)?;
        let mut cursor = Cursor::new(bytes);
        if cursor.bytes(8)? != MAGIC {
            return None;
        }
        let trailer = Self {
            segment: cursor.u32()?,
            start: cursor.u32()?,
            end: cursor.u32()?,
            records: cursor.u32()?,
            lines_length: cursor.u32()?,
            lines_checksum: cursor.u32()?,
        };
        cursor.u32()?;
        (crc32fast::hash(checked) == cursor.u32()?).then_some(trailer)
    }

    /// The lines, if they are those that the trailer means.
    pub(crate) fn lines(&self, bytes: &[u8]) -> Option<Vec<(u32, Head)>> {
        if bytes.len() != self.lines_length as usize || crc32fast::hash(bytes) != self.lines_checksum {
            return None;
        }
        if u64::from(self.records) * SHORT_LINE > bytes.len() as u64 {
            return None;
        }
        let mut cursor = Cursor::new(bytes);
        let lines: Option<Vec<_>> = (0..self.records).map(|_| Head::read_line(&mut cursor)).collect();
        lines.filter(|_| cursor.remaining() == 0)
    }
}
