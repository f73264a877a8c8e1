//! The MQ headers that data begins with: how long they are together, and what follows them. Reports carry them whole,
//! and a cut between segments never goes through one. What is in them is of no interest here.

use mq_wire::{ByteOrder, Ccsid, Encoding, FormatName, Mqdlh, Mqmd, Mqxqh};

/// What follows the headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Headers {
    /// Bytes that they take.
    pub(crate) length: usize,
    /// Format of the data behind them.
    pub(crate) format: FormatName,
    /// Its encoding.
    pub(crate) encoding: Encoding,
    /// Its character set.
    pub(crate) ccsid: Ccsid,
}

/// The most headers that are followed: more are data.
const HEADERS_MAX: usize = 32;
/// Least length of a header that says its length itself (MQRFH is the shortest).
const VARIABLE_MIN: usize = 28;

impl Headers {
    /// Of a message. What is no valid header counts as data.
    pub(crate) fn of(md: &Mqmd, data: &[u8]) -> Self {
        let mut found = Self { length: 0, format: md.format, encoding: md.encoding, ccsid: md.ccsid };
        for _ in 0..HEADERS_MAX {
            let Some(next) = found.next(data) else { break };
            found = next;
        }
        found
    }

    fn next(self, data: &[u8]) -> Option<Self> {
        let rest = data.get(self.length..)?;
        let order = self.encoding.byte_order();
        // Where encoding, character set and format of what follows stand (mq-objects.md 1.7, 1.8).
        let (length, [encoding, ccsid, format]) = if self.format == FormatName::DEAD_LETTER_HEADER {
            (Mqdlh::length(1), [108, 112, 116])
        } else if self.format == FormatName::XMIT_Q_HEADER {
            (Mqxqh::LENGTH, [128, 132, 136])
        } else if is_variable(self.format) {
            (usize::try_from(number(rest, 8, order)?).ok()?, [12, 16, 20])
        } else {
            return None;
        };
        if length < VARIABLE_MIN || rest.len() < length {
            return None;
        }
        let ccsid = match number(rest, ccsid, order)? {
            // Not said, or as before.
            0 | -2 => self.ccsid,
            number => Ccsid(number),
        };
        Some(Self {
            length: self.length + length,
            format: FormatName::from_bytes(rest.get(format..format + 8)?.try_into().ok()?),
            encoding: Encoding(number(rest, encoding, order)?),
            ccsid,
        })
    }
}

/// Whether headers of this format have their length at 8 and what follows at 12, 16 and 20, as all `MQH*` have.
fn is_variable(format: FormatName) -> bool {
    format.as_bytes().starts_with(b"MQH") || format == FormatName::IMS || format == FormatName::CICS
}

/// Whether data of the format may be cut anywhere: text, what says nothing of itself, and what is an application's.
pub(crate) fn may_be_cut(format: FormatName) -> bool {
    format == FormatName::STRING || !format.as_bytes().starts_with(b"MQ")
}

fn number(bytes: &[u8], at: usize, order: ByteOrder) -> Option<i32> {
    let bytes: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(match order {
        ByteOrder::Big => i32::from_be_bytes(bytes),
        ByteOrder::Little => i32::from_le_bytes(bytes),
    })
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use mq_wire::{Chars, Coding, Writer};

    use super::*;

    fn dead_letter(format: &str, data: &[u8]) -> Vec<u8> {
        let header = Mqdlh {
            format: Chars::cut(format),
            encoding: Encoding::BIG,
            ccsid: Ccsid::UTF_8,
            ..Mqdlh::default()
        };
        let mut out = BytesMut::new();
        header.encode(&mut Writer::new(&mut out, Coding::NATIVE));
        [&out[..], data].concat()
    }

    /// An MQRFH2 without folders, big-endian.
    fn properties(format: &[u8; 8], data: &[u8]) -> Vec<u8> {
        let mut out = Vec::from(*b"RFH \0\0\0\x02\0\0\0\x24");
        out.extend([0, 0, 1, 0x11, 0xFF, 0xFF, 0xFF, 0xFE]);
        out.extend(format);
        out.extend([0, 0, 0, 0, 0, 0, 4, 0xB8]);
        out.extend(data);
        out
    }

    fn check(format: &str, data: &[u8], expected: (usize, &str)) {
        let md = Mqmd { format: Chars::cut(format), ..Mqmd::default() };
        let found = Headers::of(&md, data);
        assert_eq!((found.length, found.format.text().as_str()), expected);
    }

    #[test]
    fn headers_one_behind_the_other() {
        check("", b"data", (0, ""));
        check("MQSTR", b"data", (0, "MQSTR"));
        check("MQDEAD", &dead_letter("MQSTR", b"data"), (172, "MQSTR"));
        let chain = dead_letter("MQHRF2", &properties(b"MQSTR   ", b"data"));
        check("MQDEAD", &chain, (172 + 36, "MQSTR"));
        let md = Mqmd { format: Chars::cut("MQDEAD"), ..Mqmd::default() };
        let found = Headers::of(&md, &chain);
        assert_eq!((found.encoding, found.ccsid), (Encoding::BIG, Ccsid::UTF_8), "inherited");
    }

    #[test]
    fn what_is_no_header_is_data() {
        let whole = dead_letter("MQHRF2", &properties(b"MQSTR   ", b""));
        for length in 0..172 {
            check("MQDEAD", &whole[..length], (0, "MQDEAD"));
        }
        for length in 172..whole.len() {
            check("MQDEAD", &whole[..length], (172, "MQHRF2"));
        }
        let mut negative = whole.clone();
        negative[172 + 8..172 + 12].fill(0xFF);
        check("MQDEAD", &negative, (172, "MQHRF2"));
        let endless = properties(b"MQHRF2  ", b"").repeat(50);
        let md = Mqmd { format: Chars::cut("MQHRF2"), encoding: Encoding::BIG, ..Mqmd::default() };
        assert_eq!(Headers::of(&md, &endless).length, 36 * HEADERS_MAX);
    }
}
