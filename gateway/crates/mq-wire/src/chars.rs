//! Fixed, blank-padded character fields and the names made of them.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use bytes::{BufMut, BytesMut};

use crate::ccsid::names;
use crate::codec::{Coding, Field};

/// A character field of N bytes, padded with blanks, held in ISO 8859-1 whatever it is on the wire. Zero bytes are
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

    /// The field with these bytes, for constants of ours.
    pub(crate) const fn literal(bytes: &[u8; N]) -> Self {
        Self { bytes: *bytes, zeros_from: u16::MAX }
    }

    /// The text padded with blanks, cut off where it is too long, in Latin-1: characters that it has not got become
    /// `?`. So [`Chars::text`] gives back what fits.
    pub fn cut(text: &str) -> Self {
        let mut bytes = [b' '; N];
        for (byte, character) in bytes.iter_mut().zip(text.chars()) {
            *byte = u8::try_from(character).unwrap_or(b'?');
        }
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
        if let Some(names) = names(coding.ccsid) {
            fixed = fixed.map(|byte| names.to_latin_1[usize::from(byte)]);
        }
        Self::from_bytes(fixed)
    }
    fn write(&self, out: &mut BytesMut, coding: Coding) {
        match names(coding.ccsid) {
            Some(names) => out.extend(self.bytes.iter().map(|byte| names.from_latin_1[usize::from(*byte)])),
            None => out.put_slice(&self.bytes),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{ByteOrder, Ccsid, Writer};

    const EBCDIC: Coding = Coding { order: ByteOrder::Big, ccsid: Ccsid(500) };

    fn written<T: Field>(value: &T, coding: Coding) -> BytesMut {
        let mut out = BytesMut::new();
        Writer::new(&mut out, coding).field(value);
        out
    }

    #[test]
    fn cut_never_splits_a_character() {
        assert_eq!(Chars::<4>::cut("Größe").text(), "Größ");
        assert_eq!(Chars::<4>::cut("5 €").as_bytes(), b"5 ? ");
        assert_eq!(Chars::<4>::cut("").as_bytes(), b"    ");
        assert_eq!(Chars::<4>::cut("a\0bc").as_bytes(), b"a   ");
    }

    #[test]
    fn zeros_equal_blanks_and_are_written_only_as_read() {
        let zeros = Chars::<4>::from_bytes(*b"ab\0\0");
        assert_eq!(zeros, Chars::cut("ab"));
        assert_eq!(&written(&zeros, Coding::NATIVE)[..], b"ab  ");
        let mut out = BytesMut::new();
        Writer::as_read(&mut out, Coding::NATIVE).field(&zeros);
        assert_eq!(&out[..], b"ab\0\0");
    }

    #[test]
    fn characters_outside_of_names_exist_in_other_sets() {
        let field = Chars::<8>::cut("Größe #1");
        for (ccsid, expected) in [
            (819, &b"Gr\xF6\xDFe #1"[..]),
            (850, b"Gr\x94\xE1e #1"),
            (437, b"Gr\x94\xE1e #1"),
            (500, b"\xC7\x99\xCC\x59\x85\x40\x7B\xF1"),
            (273, b"\xC7\x99\x6A\xA1\x85\x40\x7B\xF1"),
        ] {
            let coding = Coding { order: ByteOrder::Big, ccsid: Ccsid(ccsid) };
            assert_eq!(&written(&field, coding)[..], expected, "{ccsid}");
            assert_eq!(Chars::<8>::read(expected, coding), field, "{ccsid}");
        }
    }

    #[test]
    fn names_say_what_is_wrong_with_them() {
        assert_eq!(QName::new(""), Err(NameError::Blank));
        let found = |text: &str| match QName::new(text) {
            Err(NameError::Character { found, .. }) => Some(found),
            _ => None,
        };
        assert_eq!(found("A B"), Some(' '));
        assert_eq!(found("Größe"), Some('ö'));
        assert_eq!(found("A-B"), Some('-'));
        assert!(matches!(ChannelName::new(&"A".repeat(21)), Err(NameError::TooLong { max: 20, .. })));
        assert_eq!(ChannelName::new(&"A".repeat(20)).unwrap().to_string(), "A".repeat(20));
    }

    proptest! {
        #[test]
        fn cut_text_is_a_prefix(text in ".{0,20}") {
            let field = Chars::<12>::cut(&text);
            let expected: String = text.chars().take(12).take_while(|c| *c != '\0')
                .map(|c| if u32::from(c) < 256 { c } else { '?' }).collect();
            prop_assert_eq!(field.text(), expected.trim_end_matches(' '));
        }

        #[test]
        fn any_bytes_come_back_with_zeros_as_blanks(bytes: [u8; 12]) {
            let field = Chars::from_bytes(bytes);
            let out = written(&field, Coding::NATIVE);
            prop_assert_eq!(Chars::<12>::read(&out, Coding::NATIVE), field);
            prop_assert!(!out.contains(&0));
            prop_assert_eq!(Chars::<12>::cut(&field.text()), field);
        }

        #[test]
        fn no_byte_is_lost_in_any_set(bytes: [u8; 12], ccsid in prop::sample::select(vec![37, 437, 500, 819, 850, 1141, 1208, 1252, 943])) {
            let coding = Coding { order: ByteOrder::Big, ccsid: Ccsid(ccsid) };
            let mut out = BytesMut::new();
            Writer::as_read(&mut out, coding).field(&Chars::<12>::read(&bytes, coding));
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(12);
            prop_assert_eq!(&out[..end], &bytes[..end]);
        }

        #[test]
        fn names_come_back_from_both_character_sets(text in "[A-Za-z0-9./_%]{1,48}") {
            let name = QName::new(&text).unwrap();
            prop_assert!(name.is_valid() && !name.is_blank());
            prop_assert_eq!(name.to_string(), text);
            for coding in [Coding::NATIVE, EBCDIC] {
                prop_assert_eq!(QName::read(&written(&name, coding), coding), name);
            }
        }

        #[test]
        fn a_name_from_text_is_valid_or_refused(text in ".{0,60}") {
            let valid = !text.is_empty() && text.len() <= 48 && text.bytes().all(is_name_byte);
            prop_assert_eq!(QName::new(&text).is_ok(), valid);
        }
    }
}
