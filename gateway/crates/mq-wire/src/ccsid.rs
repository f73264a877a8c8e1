//! Text in a character set: the single-byte pages of [`pages`], UTF-8 and UTF-16, and what is known of each by number
//! (CDRA; mq-wire.md 0.3 for names).
//!
//! Which parts of a message are text is for `convert` to say.

mod ascii;
mod charset;
mod converter;
mod ebcdic;
mod pages;

use std::borrow::Cow;

pub(crate) use self::charset::Charset;
pub use self::converter::{Converter, EbcdicNewline, InvalidText, UnknownCcsid};
use self::pages::{Names, Page};
use crate::{Ccsid, Encoding};

impl Ccsid {
    /// US-ASCII.
    pub const ASCII: Self = Self(367);
    /// The code page of older Windows and DOS consoles in the US.
    pub const PC_US: Self = Self(437);
    /// The same in Western Europe.
    pub const PC_LATIN_1: Self = Self(850);
    /// UTF-16; its byte order is that of the encoding beside it.
    pub const UTF_16: Self = Self(1200);
    /// MQCCSI_EMBEDDED (-1): each string has its own, inside the data.
    pub const EMBEDDED: Self = Self(-1);
    /// MQCCSI_INHERIT (-2): that of the header in which this stands.
    pub const INHERIT: Self = Self(-2);

    /// Whether text in this character set can be read and written here.
    pub fn is_known(self) -> bool {
        Charset::of(self, Encoding::NATIVE).is_some()
    }

    /// Whether it is UTF-16, or the older sets of two bytes a character that are parts of it.
    pub const fn is_utf_16(self) -> bool {
        matches!(self.0, 1200 | 13488 | 17584)
    }
}

/// The text of these bytes; `None` if the character set is not known here or has no such bytes. UTF-16 is read as
/// big-endian, see [`Converter`] for the other.
pub fn decode_text(bytes: &[u8], ccsid: Ccsid) -> Option<Cow<'_, str>> {
    decode_in(bytes, Charset::of(ccsid, Encoding::BIG)?, ccsid)
}

/// The bytes of this text; `None` if the character set is not known here or has no such characters. UTF-16 is written
/// as big-endian.
pub fn encode_text(text: &str, ccsid: Ccsid) -> Option<Cow<'_, [u8]>> {
    encode_in(text, Charset::of(ccsid, Encoding::BIG)?, ccsid)
}

/// [`decode_text`] in a character set that is known already.
pub(crate) fn decode_in(bytes: &[u8], charset: Charset, ccsid: Ccsid) -> Option<Cow<'_, str>> {
    let has_ascii = !ccsid.is_ebcdic() && !ccsid.is_utf_16();
    if charset == Charset::Utf8 || (has_ascii && bytes.is_ascii()) {
        return std::str::from_utf8(bytes).ok().map(Cow::Borrowed);
    }
    let (mut text, mut whole) = (String::new(), true);
    charset
        .decode(bytes, |character| match character {
            Some(character) => text.push(character),
            None => whole = false,
        })
        .ok()?;
    whole.then_some(Cow::Owned(text))
}

/// [`encode_text`] in a character set that is known already.
pub(crate) fn encode_in(text: &str, charset: Charset, ccsid: Ccsid) -> Option<Cow<'_, [u8]>> {
    let has_ascii = !ccsid.is_ebcdic() && !ccsid.is_utf_16();
    if charset == Charset::Utf8 || (has_ascii && text.is_ascii()) {
        return Some(Cow::Borrowed(text.as_bytes()));
    }
    let mut bytes = Vec::new();
    text.chars().all(|character| charset.encode(character, &mut bytes)).then_some(Cow::Owned(bytes))
}

/// How fixed character fields in this character set go to ISO 8859-1, in which they are held, and back. `None` where
/// bytes stay as they are: in ISO 8859-1, in sets that are not known, and in UTF-8, whose characters outside of names would
/// not always fit their field again.
pub(crate) fn names(ccsid: Ccsid) -> Option<&'static Names> {
    match ccsid {
        Ccsid::LATIN_1 | Ccsid::UTF_8 | Ccsid::Q_MGR => None,
        _ => Page::of(ccsid.0).map(Page::names),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::is_name_byte;

    #[test]
    fn latin_1_and_utf_8_differ_above_ascii() {
        assert_eq!(decode_text(b"\xE4", Ccsid::LATIN_1).as_deref(), Some("ä"));
        assert_eq!(decode_text(b"\xE4", Ccsid::UTF_8), None);
        assert_eq!(encode_text("ä€", Ccsid::UTF_8).as_deref(), Some("ä€".as_bytes()));
        assert_eq!(encode_text("ä", Ccsid::LATIN_1).as_deref(), Some(&b"\xE4"[..]));
        assert_eq!(encode_text("€", Ccsid::LATIN_1), None);
    }

    #[test]
    fn text_of_other_pages() {
        for ccsid in [Ccsid::PC_US, Ccsid::PC_LATIN_1] {
            assert_eq!(decode_text(b"QM1", ccsid).as_deref(), Some("QM1"));
            assert_eq!(decode_text(b"\x84", ccsid).as_deref(), Some("ä"));
            assert_eq!(encode_text("ä", ccsid).as_deref(), Some(&b"\x84"[..]));
            assert_eq!(encode_text("€", ccsid), None);
        }
        assert_eq!(decode_text(b"\x84", Ccsid::ASCII), None);
        assert_eq!(encode_text("ä", Ccsid::ASCII), None);
        assert_eq!(decode_text(b"\xD8\xD4\xF1", Ccsid(500)).as_deref(), Some("QM1"));
        assert_eq!(decode_text(b"\x4A", Ccsid(500)).as_deref(), Some("["));
        assert_eq!(encode_text("[", Ccsid(37)).as_deref(), Some(&[0xBA][..]));
        assert_eq!(encode_text("?", Ccsid(37)).as_deref(), Some(&[0x6F][..]));
        assert_eq!(decode_text(b"\0Q\x20\xAC", Ccsid::UTF_16).as_deref(), Some("Q€"));
        assert_eq!(decode_text(b"QM1", Ccsid::UTF_16), None);
        assert_eq!(encode_text("Q", Ccsid(13488)).as_deref(), Some(&b"\0Q"[..]));
        assert_eq!(decode_text(b"QM1", Ccsid(943)), None);
        assert_eq!(encode_text("QM1", Ccsid::Q_MGR), None);
    }

    #[test]
    fn the_sets_that_are_known() {
        for ccsid in [367, 437, 819, 850, 858, 923, 1200, 1208, 1250, 1252, 5348, 13488, 17584] {
            assert!(Ccsid(ccsid).is_known() && !Ccsid(ccsid).is_ebcdic(), "{ccsid}");
        }
        for ccsid in (0..2_000).map(Ccsid).filter(|ccsid| ccsid.is_ebcdic()) {
            assert!(ccsid.is_known(), "{}", ccsid.0);
            assert_eq!(names(ccsid).map(|names| names.to_latin_1[0x40]), Some(b' '), "{}", ccsid.0);
        }
        for ccsid in
            [Ccsid::Q_MGR, Ccsid::EMBEDDED, Ccsid::INHERIT, Ccsid(943), Ccsid(65_535), Ccsid(i32::MIN)]
        {
            assert!(!ccsid.is_known(), "{}", ccsid.0);
        }
    }

    #[test]
    fn name_characters_are_at_the_same_place_in_every_ebcdic_page() {
        let first = names(Ccsid(500)).unwrap();
        for ccsid in (0..2_000).map(Ccsid).filter(|ccsid| ccsid.is_ebcdic()) {
            let names = names(ccsid).unwrap();
            for byte in (0..=255_u8).filter(|byte| is_name_byte(*byte) || *byte == b' ' || *byte == 0) {
                let place = names.from_latin_1[usize::from(byte)];
                assert_eq!(place, first.from_latin_1[usize::from(byte)], "{} {}", ccsid.0, char::from(byte));
            }
        }
        for ccsid in [367, 437, 850, 1250, 1252].map(Ccsid) {
            if let Some(names) = names(ccsid) {
                assert!((0..0x80_u8).all(|byte| names.to_latin_1[usize::from(byte)] == byte), "{}", ccsid.0);
            }
        }
    }

    proptest! {
        #[test]
        fn what_can_be_encoded_comes_back(text in ".{0,40}", ccsid in 0..8_usize) {
            let ccsid = Ccsid([819, 1208, 437, 367, 500, 1047, 1200, 1252][ccsid]);
            if let Some(bytes) = encode_text(&text, ccsid) {
                prop_assert_eq!(decode_text(&bytes, ccsid), Some(Cow::Borrowed(text.as_str())));
            }
        }

        #[test]
        fn what_can_be_decoded_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..40), ccsid in 0..8_usize) {
            let ccsid = Ccsid([819, 1208, 437, 367, 500, 1047, 1200, 1252][ccsid]);
            if let Some(text) = decode_text(&bytes, ccsid) {
                prop_assert_eq!(encode_text(&text, ccsid), Some(Cow::Borrowed(bytes.as_slice())));
            }
        }
    }
}
