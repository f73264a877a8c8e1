//! The MQ headers that data begins with: how long they are together, and what follows them. Reports carry them whole,
//! and a cut between segments never goes through one. What an application puts with a descriptor of version 2 is looked
//! at: whether each is what its format says. What is in them is of no interest here.

use mq_wire::{ByteOrder, Ccsid, Encoding, FormatName, Mqdlh, Mqmd, Mqxqh, Reason};

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

/// How a header must begin.
struct Rule {
    format: FormatName,
    id: &'static [u8; 4],
    version: i32,
    /// Least length of the whole; those that say their length say at least this.
    length: usize,
    /// What is said if it is not so.
    reason: Reason,
}

/// Headers that are looked at (IBM MQ reference, MQPUT usage notes; mq-objects.md 1.7 to 1.12).
const RULES: &[Rule] = &[
    Rule {
        format: FormatName::DEAD_LETTER_HEADER,
        id: b"DLH ",
        version: 1,
        length: 172,
        reason: Reason::DLH_ERROR,
    },
    Rule {
        format: FormatName::XMIT_Q_HEADER,
        id: b"XQH ",
        version: 1,
        length: 428,
        reason: Reason::XQH_ERROR,
    },
    Rule { format: FormatName::TRIGGER, id: b"TM  ", version: 1, length: 684, reason: Reason::TM_ERROR },
    Rule { format: FormatName::IMS, id: b"IIH ", version: 1, length: 84, reason: Reason::IIH_ERROR },
    Rule { format: FormatName::RF_HEADER, id: b"RFH ", version: 1, length: 32, reason: Reason::RFH_ERROR },
    Rule { format: FormatName::RF_HEADER_2, id: b"RFH ", version: 2, length: 36, reason: Reason::RFH_ERROR },
];

/// Formats of data that consists of PCF structures.
const PCF: &[FormatName] = &[FormatName::ADMIN, FormatName::EVENT, FormatName::PCF];

/// Whether the headers that data begins with, and PCF structures, are what the formats say.
pub(crate) fn check(md: &Mqmd, data: &[u8]) -> Result<(), Reason> {
    let mut at = Headers { length: 0, format: md.format, encoding: md.encoding, ccsid: md.ccsid };
    for _ in 0..HEADERS_MAX {
        let rest = data.get(at.length..).unwrap_or_default();
        let order = at.encoding.byte_order();
        if PCF.contains(&at.format) {
            return check_pcf(rest, order);
        }
        let next = at.next(data);
        if let Some(rule) = RULES.iter().find(|rule| rule.format == at.format) {
            // Whoever writes EBCDIC writes the identifier in it too.
            let named = at.ccsid.is_ebcdic() || rest.starts_with(rule.id);
            let whole = rest.len() >= rule.length && number(rest, 4, order) == Some(rule.version);
            let says =
                !is_variable(rule.format) || next.is_some_and(|next| next.length - at.length >= rule.length);
            if !(named && whole && says) {
                return Err(rule.reason);
            }
        }
        let Some(next) = next else { break };
        at = next;
    }
    Ok(())
}

/// PCF structures one behind the other, each with its length at 4, take all of the data (2149).
fn check_pcf(data: &[u8], order: ByteOrder) -> Result<(), Reason> {
    /// Type and length.
    const LEAST: usize = 8;
    let mut rest = data;
    while !rest.is_empty() {
        let length = number(rest, 4, order).and_then(|length| usize::try_from(length).ok());
        let next = length.filter(|length| *length >= LEAST).and_then(|length| rest.get(length..));
        rest = next.ok_or(Reason::PCF_ERROR)?;
    }
    Ok(())
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

    /// The reason, or 0.
    fn checked(format: FormatName, data: &[u8]) -> i32 {
        let md = Mqmd { format, encoding: Encoding::BIG, ..Mqmd::default() };
        super::check(&md, data).map_or_else(|reason| reason.0, |()| 0)
    }

    #[test]
    fn a_header_is_what_its_format_says() {
        let native = Mqmd { format: FormatName::DEAD_LETTER_HEADER, ..Mqmd::default() };
        let chain = dead_letter("MQHRF2", &properties(b"MQSTR   ", b"data"));
        assert_eq!(super::check(&native, &chain), Ok(()));
        let mut second = chain.clone();
        second[172 + 7] = 9;
        assert_eq!(super::check(&native, &second), Err(Reason::RFH_ERROR), "each one is looked at");
        for length in 0..172 {
            assert_eq!(super::check(&native, &chain[..length]), Err(Reason::DLH_ERROR));
        }
        let ebcdic = Mqmd { ccsid: Ccsid(500), ..native };
        let mut other = chain;
        other[..4].copy_from_slice(&[0xC4, 0xD3, 0xC8, 0x40]);
        assert_eq!(super::check(&ebcdic, &other), Ok(()));
        let good = properties(b"MQSTR   ", b"data");
        assert_eq!(checked(FormatName::RF_HEADER_2, &good), 0);
        for (at, byte) in [(0, b'X'), (7, 9), (11, 0xFF), (11, 20), (8, 0xFF)] {
            let mut wrong = good.clone();
            wrong[at] = byte;
            assert_eq!(checked(FormatName::RF_HEADER_2, &wrong), 2334, "{at}");
        }
        assert_eq!(checked(FormatName::RF_HEADER, &good), 2334, "version 2");
        assert_eq!(checked(FormatName::XMIT_Q_HEADER, &[0; 428]), 2260);
        assert_eq!(checked(FormatName::TRIGGER, &[0; 684]), 2265);
        assert_eq!(checked(FormatName::IMS, &[0; 84]), 2148);
        assert_eq!(checked(FormatName::STRING, &[0; 9]), 0);
    }

    #[test]
    fn pcf_structures_take_all_of_the_data() {
        let header = [0, 0, 0, 1, 0, 0, 0, 12, 0, 0, 0, 3];
        let twice = [header, header].concat();
        for format in [FormatName::PCF, FormatName::ADMIN, FormatName::EVENT] {
            assert_eq!((checked(format, &header), checked(format, &twice), checked(format, &[])), (0, 0, 0));
            assert_eq!(checked(format, &[0; 36]), 2149);
            for length in (1..twice.len()).filter(|length| *length != header.len()) {
                assert_eq!(checked(format, &twice[..length]), 2149, "{length}");
            }
        }
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
