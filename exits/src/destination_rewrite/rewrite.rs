//! The rule itself, on the bytes of an MQXQH (mq-objects.md 10.5). It computes everything before it writes anything:
//! on every outcome but "rewritten" no byte changes. Outside of the two names no byte ever changes.

use std::fmt;
use std::ops::Range;

use mq_wire::{QMgrName, is_name_byte};

use super::{OnlyIfQMgr, Order, RewriteOptions};

/// Offsets in MQXQH (mq-objects.md 1.7).
const VERSION: Range<usize> = 4..8;
const REMOTE_Q_NAME: Range<usize> = 8..56;
const REMOTE_Q_MGR_NAME: Range<usize> = 56..104;
const NAMES_END: usize = 104;
/// A whole header; fewer bytes that hold the names are enough for the rule.
const WHOLE: usize = 428;
const NAME_LENGTH: usize = 48;

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Both names were written.
    Rewritten {
        /// The header ends before its descriptor does.
        truncated: bool,
    },
    /// An ordinary name of a queue.
    NoSeparator,
    /// Not an MQXQH of version 1.
    NotXqh,
    /// Not for one of the queue manager names that are looked at.
    NotAddressed,
    /// The bytes end before the names do.
    TooShort,
    /// Nothing stands where the queue's name should.
    EmptyQueue,
    /// Nothing stands where the device's name should.
    EmptyQMgr,
    /// The device's name has more than 48 characters with prefix and suffix.
    NameTooLong,
    /// A part that is no MQ name.
    BadName(Part),
}

/// A part of the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The queue.
    Queue,
    /// The device, which is a queue manager.
    QMgr,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rewritten { .. } => "rewritten",
            Self::NoSeparator => "RemoteQName has no separator",
            Self::NotXqh => "not a transmission queue header of version 1",
            Self::NotAddressed => "RemoteQMgrName is not a name that is rewritten",
            Self::TooShort => "the transmission queue header ends before its names do",
            Self::EmptyQueue => "RemoteQName names no queue beside the separator",
            Self::EmptyQMgr => "RemoteQName names no device beside the separator",
            Self::NameTooLong => "the name of the device has more than 48 characters with prefix and suffix",
            Self::BadName(Part::Queue) => {
                "the queue's part of RemoteQName has characters that names do not have"
            }
            Self::BadName(Part::QMgr) => {
                "the device's part of RemoteQName has characters that names do not have"
            }
        })
    }
}

/// The two names that a header is to get, in its own character set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    queue: [u8; NAME_LENGTH],
    q_mgr: [u8; NAME_LENGTH],
    truncated: bool,
}

impl Destination {
    /// Writes the names into the header from which they were split; elsewhere into any that is long enough.
    pub fn write(&self, header: &mut [u8]) {
        if let Some(field) = header.get_mut(REMOTE_Q_NAME) {
            field.copy_from_slice(&self.queue);
        }
        if let Some(field) = header.get_mut(REMOTE_Q_MGR_NAME) {
            field.copy_from_slice(&self.q_mgr);
        }
    }
}

/// Rewrites the names of a header in place.
pub fn rewrite(header: &mut [u8], options: &RewriteOptions, gateway_names: &[QMgrName]) -> Outcome {
    match split(header, options, gateway_names) {
        Ok(destination) => {
            destination.write(header);
            Outcome::Rewritten { truncated: destination.truncated }
        }
        Err(outcome) => outcome,
    }
}

/// The names that [`rewrite`] would write, or why it would not.
pub fn split(
    header: &[u8],
    options: &RewriteOptions,
    gateway_names: &[QMgrName],
) -> Result<Destination, Outcome> {
    // The numbers are the steps of mq-objects.md 10.5. 1:
    if header.len() < NAMES_END {
        return Err(Outcome::TooShort);
    }
    // 2:
    let charset = Charset::of(header).ok_or(Outcome::NotXqh)?;
    if !matches!(header[VERSION], [0, 0, 0, 1] | [1, 0, 0, 0]) {
        return Err(Outcome::NotXqh);
    }
    // 3:
    let q_mgr = charset.trimmed(&header[REMOTE_Q_MGR_NAME]);
    let is_q_mgr =
        |name: &QMgrName| name.trimmed().iter().map(|b| charset.encode(*b)).eq(q_mgr.iter().copied());
    let addressed = match &options.only_if_qmgr {
        OnlyIfQMgr::Gateway => gateway_names.iter().any(is_q_mgr),
        OnlyIfQMgr::Any => true,
        OnlyIfQMgr::Names(names) => names.iter().any(is_q_mgr),
    };
    if !addressed {
        return Err(Outcome::NotAddressed);
    }
    // 4 and 5: only this field is searched.
    let name = charset.trimmed(&header[REMOTE_Q_NAME]);
    let separator = charset.encode(options.separator);
    let at = name.iter().position(|b| *b == separator).ok_or(Outcome::NoSeparator)?;
    // 6 and 7: the first separator wins, further ones stay in the second part.
    let (first, second) = (charset.trimmed(&name[..at]), &name[at + 1..]);
    let (queue, device) = match options.order {
        Order::QueueThenQMgr => (first, second),
        Order::QMgrThenQueue => (second, first),
    };
    if queue.is_empty() {
        return Err(Outcome::EmptyQueue);
    }
    if device.is_empty() {
        return Err(Outcome::EmptyQMgr);
    }
    // 8:
    let encoded = |text: &str| text.bytes().map(|b| charset.encode(b)).collect::<Vec<u8>>();
    let mut prefix = encoded(&options.prefix);
    if options.prefix_if_missing && device.starts_with(&prefix) {
        prefix.clear();
    }
    let suffix = encoded(&options.suffix);
    let pad = if options.blank_fill { charset.blank() } else { 0 };
    let q_mgr = padded([&prefix, device, &suffix], pad).ok_or(Outcome::NameTooLong)?;
    // 9:
    if options.strict {
        let is_name = |part: &[u8]| part.iter().all(|b| charset.decode(*b).is_some_and(is_name_byte));
        if !is_name(queue) {
            return Err(Outcome::BadName(Part::Queue));
        }
        if !is_name(device) {
            return Err(Outcome::BadName(Part::QMgr));
        }
    }
    // 10 is the caller's.
    let queue = padded([queue, &[], &[]], pad).ok_or(Outcome::NameTooLong)?;
    Ok(Destination { queue, q_mgr, truncated: header.len() < WHOLE })
}

/// The pieces in a field that has room for them.
fn padded(pieces: [&[u8]; 3], pad: u8) -> Option<[u8; NAME_LENGTH]> {
    let mut field = [pad; NAME_LENGTH];
    let mut end = 0;
    for piece in pieces {
        field.get_mut(end..end + piece.len())?.copy_from_slice(piece);
        end += piece.len();
    }
    Some(field)
}

/// What the characters of names are in a header. In all pages of the ASCII family they are the same, and likewise in
/// those of EBCDIC, so the identifier says enough and the descriptor's CCSID is not needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Charset {
    Ascii,
    Ebcdic,
}

/// First EBCDIC code, first ASCII code and number of each run of name characters (mq-objects.md 10.5).
const EBCDIC_RUNS: [(u8, u8, u8); 12] = [
    (0x4B, b'.', 1),
    (0x61, b'/', 1),
    (0x6C, b'%', 1),
    (0x6D, b'_', 1),
    (0x81, b'a', 9),
    (0x91, b'j', 9),
    (0xA2, b's', 8),
    (0xC1, b'A', 9),
    (0xD1, b'J', 9),
    (0xE2, b'S', 8),
    (0xF0, b'0', 10),
    (0x40, b' ', 1),
];

impl Charset {
    /// By the identifier: characters, so byte order does not touch them.
    fn of(header: &[u8]) -> Option<Self> {
        match header.get(..4)? {
            b"XQH " => Some(Self::Ascii),
            [0xE7, 0xD8, 0xC8, 0x40] => Some(Self::Ebcdic),
            _ => None,
        }
    }

    fn blank(self) -> u8 {
        self.encode(b' ')
    }

    /// A name character in this set.
    fn encode(self, ascii: u8) -> u8 {
        if self == Self::Ascii {
            return ascii;
        }
        let run = EBCDIC_RUNS.iter().find(|(_, first, count)| (*first..first + count).contains(&ascii));
        // Only name characters get here: options and names are checked where they are made. 0x6F is EBCDIC's `?`.
        run.map_or(0x6F, |(ebcdic, first, _)| ebcdic + (ascii - first))
    }

    /// A byte of this set in ASCII, if it is a name character or a blank, or if the set is ASCII.
    fn decode(self, byte: u8) -> Option<u8> {
        if self == Self::Ascii {
            return Some(byte);
        }
        let run = EBCDIC_RUNS.iter().find(|(first, _, count)| (*first..first + count).contains(&byte));
        run.map(|(first, ascii, _)| ascii + (byte - first))
    }

    /// The field up to its first zero byte and without trailing blanks.
    fn trimmed(self, field: &[u8]) -> &[u8] {
        let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
        let end = field[..end].iter().rposition(|b| *b != self.blank()).map_or(0, |last| last + 1);
        &field[..end]
    }
}
