//! Fixed, blank-padded character fields and the names made of them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use bytes::{BufMut, BytesMut};

use crate::codec::{Coding, Field};

/// A character field of N bytes, padded with blanks, held in ASCII whatever it is on the wire. Zero bytes are
/// accepted as padding when it is read (mq-wire.md 5.11), and equal to blanks ever after; only
/// [`Writer::as_read`](crate::Writer::as_read) writes them again.
#[derive(Clone, Copy)]
pub struct Chars<const N: usize> {
    bytes: [u8; N],
    /// From here on zeros were read. `u16::MAX` if none were.
    zeros_from: u16,
}

impl<const N: usize> Chars<N> {
    /// All blanks.
    pub const BLANK: Self = Self { bytes: [b' '; N], zeros_from: u16::MAX };

    /// The field with exactly these bytes; from the first zero byte on it is blank.
    pub fn from_bytes(mut bytes: [u8; N]) -> Self {
        let Some(end) = bytes.iter().position(|b| *b == 0) else {
            return Self { bytes, zeros_from: u16::MAX };
        };
        bytes[end..].fill(b' ');
        Self { bytes, zeros_from: u16::try_from(end).unwrap_or(u16::MAX) }
    }

    /// The text padded with blanks, cut off where it is too long.
    pub fn cut(text: &str) -> Self {
        let mut bytes = [b' '; N];
        let length = text.len().min(N);
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        Self::from_bytes(bytes)
    }

    /// The whole field.
    pub fn as_bytes(&self) -> &[u8; N] {
        &self.bytes
    }

    /// The field without trailing blanks.
    pub fn trimmed(&self) -> &[u8] {
        let end = self.bytes.iter().rposition(|b| *b != b' ').map_or(0, |last| last + 1);
        &self.bytes[..end]
    }

    /// Whether there is nothing but blanks.
    pub fn is_blank(&self) -> bool {
        self.trimmed().is_empty()
    }

    /// The text without trailing blanks; bytes outside of ASCII come as Latin-1.
    pub fn text(&self) -> String {
        self.trimmed().iter().map(|b| char::from(*b)).collect()
    }
}

impl<const N: usize> PartialEq for Chars<N> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl<const N: usize> Eq for Chars<N> {}

impl<const N: usize> PartialOrd for Chars<N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize> Ord for Chars<N> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes.cmp(&other.bytes)
    }
}

impl<const N: usize> Hash for Chars<N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes.hash(state);
    }
}

impl<const N: usize> Default for Chars<N> {
    fn default() -> Self {
        Self::BLANK
    }
}

impl<const N: usize> fmt::Display for Chars<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text())
    }
}

impl<const N: usize> fmt::Debug for Chars<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

impl<const N: usize> Field for Chars<N> {
    const LENGTH: usize = N;
    fn read(bytes: &[u8], coding: Coding) -> Self {
        let mut fixed = [0; N];
        fixed.copy_from_slice(&bytes[..N]);
        if coding.ccsid.is_ebcdic() {
            fixed = fixed.map(|b| EBCDIC_TO_ASCII[usize::from(b)]);
        }
        Self::from_bytes(fixed)
    }
    fn write(&self, out: &mut BytesMut, coding: Coding) {
        if coding.ccsid.is_ebcdic() {
            out.extend(self.bytes.iter().map(|b| ASCII_TO_EBCDIC[usize::from(*b)]));
        } else {
            out.put_slice(&self.bytes);
        }
    }
    fn write_as_read(&self, out: &mut BytesMut, coding: Coding) {
        self.write(out, coding);
        let zeros = N.saturating_sub(usize::from(self.zeros_from));
        let end = out.len();
        out[end - zeros..].fill(0);
    }
}

/// A name that is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Too many characters.
    #[error("{name:?} has more than {max} characters")]
    TooLong {
        /// The text.
        name: String,
        /// The most that fit.
        max: usize,
    },
    /// A character that names do not have.
    #[error("{name:?} has the character {found:?}, names have only A-Z a-z 0-9 . / _ %")]
    Character {
        /// The text.
        name: String,
        /// The first character that does not belong.
        found: char,
    },
    /// Nothing at all.
    #[error("the name is blank")]
    Blank,
}

/// Whether the byte may stand in an MQ name (mq-objects.md 3.1).
pub const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'_' | b'%')
}

macro_rules! names {
    ($($(#[$meta:meta])* $name:ident: $length:literal;)+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub Chars<$length>);

        impl $name {
            /// No name: all blanks.
            pub const BLANK: Self = Self(Chars::BLANK);

            /// A name from text: not blank, not too long, only name characters.
            pub fn new(text: &str) -> Result<Self, NameError> {
                if text.is_empty() {
                    return Err(NameError::Blank);
                }
                if let Some(found) = text.chars().find(|c| !c.is_ascii() || !is_name_byte(*c as u8)) {
                    return Err(NameError::Character { name: text.to_owned(), found });
                }
                if text.len() > $length {
                    return Err(NameError::TooLong { name: text.to_owned(), max: $length });
                }
                Ok(Self(Chars::cut(text)))
            }

            /// Whether there is nothing but blanks.
            pub fn is_blank(&self) -> bool {
                self.0.is_blank()
            }

            /// Whether every character is a name character and blanks stand at the end only. What comes from the
            /// wire need not be.
            pub fn is_valid(&self) -> bool {
                self.0.trimmed().iter().all(|b| is_name_byte(*b))
            }

            /// The name without trailing blanks.
            pub fn trimmed(&self) -> &[u8] {
                self.0.trimmed()
            }
        }

        impl FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl Field for $name {
            const LENGTH: usize = $length;
            fn read(bytes: &[u8], coding: Coding) -> Self {
                Self(Chars::read(bytes, coding))
            }
            fn write(&self, out: &mut BytesMut, coding: Coding) {
                self.0.write(out, coding);
            }
            fn write_as_read(&self, out: &mut BytesMut, coding: Coding) {
                self.0.write_as_read(out, coding);
            }
        }
    )+ };
}

names! {
    /// The name of a queue (48).
    QName: 48;
    /// The name of a queue manager (48).
    QMgrName: 48;
    /// The name of an object whose kind is not known yet (48).
    ObjectName: 48;
    /// The name of a channel (20).
    ChannelName: 20;
}

/// A user identifier of the descriptor (12).
pub type UserId = Chars<12>;
/// The name of a putting application (28).
pub type ApplName = Chars<28>;
/// A format name (8).
pub type FormatName = Chars<8>;

impl From<ObjectName> for QName {
    fn from(name: ObjectName) -> Self {
        Self(name.0)
    }
}

impl From<QName> for ObjectName {
    fn from(name: QName) -> Self {
        Self(name.0)
    }
}

impl From<QMgrName> for ObjectName {
    fn from(name: QMgrName) -> Self {
        Self(name.0)
    }
}

/// The characters that EBCDIC pages share with ASCII at the same places (mq-wire.md 0.3: enough for names); others
/// become `?` (ASCII) and 0x6F (EBCDIC), the substitution that a reader will notice.
const SHARED: &[(u8, &[u8])] = &[
    (0x40, b" "),
    (0x4B, b".<(+"),
    (0x50, b"&"),
    (0x5C, b"*);"),
    (0x60, b"-/"),
    (0x6B, b",%_>?"),
    (0x7A, b":"),
    (0x7D, b"'=\""),
    (0x81, b"abcdefghi"),
    (0x91, b"jklmnopqr"),
    (0xA2, b"stuvwxyz"),
    (0xC1, b"ABCDEFGHI"),
    (0xD1, b"JKLMNOPQR"),
    (0xE2, b"STUVWXYZ"),
    (0xF0, b"0123456789"),
];

static EBCDIC_TO_ASCII: [u8; 256] = tables().0;
static ASCII_TO_EBCDIC: [u8; 256] = tables().1;

const fn tables() -> ([u8; 256], [u8; 256]) {
    let (mut to_ascii, mut to_ebcdic) = ([b'?'; 256], [0x6F; 256]);
    (to_ascii[0], to_ebcdic[0]) = (0, 0);
    let mut row = 0;
    while row < SHARED.len() {
        let (first, characters) = SHARED[row];
        let mut column = 0;
        while column < characters.len() {
            to_ascii[first as usize + column] = characters[column];
            to_ebcdic[characters[column] as usize] = first + column as u8;
            column += 1;
        }
        row += 1;
    }
    (to_ascii, to_ebcdic)
}
