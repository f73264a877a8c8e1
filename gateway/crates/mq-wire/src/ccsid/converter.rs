//! Text from one character set to another, as a queue manager converts message data.

use super::charset::Charset;
use super::pages::Family;
use crate::{Ccsid, Encoding};

/// What becomes of the EBCDIC newline, 0x15, outside of EBCDIC: the setting `ConvEBCDICNewline` of a queue manager. A line
/// feed goes to 0x25 always, and from EBCDIC to EBCDIC the pages decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EbcdicNewline {
    /// It becomes a line feed.
    #[default]
    NlToLf,
    /// It becomes what the pages say: U+0085.
    Table,
    /// As [`EbcdicNewline::Table`] for ISO pages, as [`EbcdicNewline::NlToLf`] for others.
    Iso,
}

/// Which of two character sets is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnknownCcsid {
    /// That of the bytes there are.
    #[error("character set {} cannot be converted from", .0.0)]
    Source(Ccsid),
    /// The one asked for.
    #[error("character set {} cannot be converted to", .0.0)]
    Target(Ccsid),
}

/// Bytes that are no text of their character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no text of its character set at offset {offset}")]
pub struct InvalidText {
    /// Where.
    pub offset: usize,
}

/// Converts text of one character set to another.
///
/// A character that the target has not got becomes the substitution character, 0x1A or in EBCDIC 0x3F, and so does a byte
/// that the source does not define: that is no error in MQ. Broken UTF-8 and UTF-16 is one.
#[derive(Debug, Clone)]
pub struct Converter {
    from: Charset,
    to: Charset,
    newline_to_line_feed: bool,
    /// What each byte of a single-byte page becomes.
    map: Option<Box<[Encoded; 256]>>,
}

/// One character in the target.
#[derive(Debug, Clone, Copy, Default)]
struct Encoded {
    bytes: [u8; 4],
    length: u8,
    is_substitute: bool,
}

impl Converter {
    /// A converter, if both are known. An encoding counts for UTF-16, which has its integers' byte order.
    pub fn new(
        from: (Ccsid, Encoding),
        to: (Ccsid, Encoding),
        newline: EbcdicNewline,
    ) -> Result<Self, UnknownCcsid> {
        let source = Charset::of(from.0, from.1).ok_or(UnknownCcsid::Source(from.0))?;
        let target = Charset::of(to.0, to.1).ok_or(UnknownCcsid::Target(to.0))?;
        let newline_to_line_feed = source.family() == Some(Family::Ebcdic)
            && target.family() != Some(Family::Ebcdic)
            && match newline {
                EbcdicNewline::NlToLf => true,
                EbcdicNewline::Table => false,
                EbcdicNewline::Iso => target.family() != Some(Family::Iso),
            };
        let mut converter = Self { from: source, to: target, newline_to_line_feed, map: None };
        if let Charset::Page(source) = source {
            let mut map = Box::new([Encoded::default(); 256]);
            let mut one = Vec::with_capacity(4);
            for (byte, to) in (0..=u8::MAX).zip(map.iter_mut()) {
                one.clear();
                to.is_substitute = !converter.append(source.character(byte), &mut one);
                for (place, byte) in to.bytes.iter_mut().zip(&one) {
                    *place = *byte;
                    to.length += 1;
                }
            }
            converter.map = Some(map);
        }
        Ok(converter)
    }

    /// Whether bytes stay what they are.
    pub fn is_identity(&self) -> bool {
        self.from == self.to
    }

    /// Appends the converted text, and says how many characters became the substitution character. Nothing is appended
    /// in case of an error.
    pub fn convert(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<usize, InvalidText> {
        let (start, mut substituted) = (out.len(), 0);
        out.reserve(bytes.len());
        if let Some(map) = &self.map {
            if let Charset::Page(_) = self.to {
                out.extend(bytes.iter().map(|byte| {
                    let encoded = &map[usize::from(*byte)];
                    substituted += usize::from(encoded.is_substitute);
                    encoded.bytes[0]
                }));
                return Ok(substituted);
            }
            for byte in bytes {
                let encoded = &map[usize::from(*byte)];
                match encoded.length {
                    1 => out.push(encoded.bytes[0]),
                    length => out.extend_from_slice(&encoded.bytes[..usize::from(length)]),
                }
                substituted += usize::from(encoded.is_substitute);
            }
            return Ok(substituted);
        }
        let done = self.from.decode(bytes, |character| {
            substituted += usize::from(!self.append(character, out));
        });
        done.map(|()| substituted).map_err(|offset| {
            out.truncate(start);
            InvalidText { offset }
        })
    }

    /// Appends a character, or the substitution character and says false.
    fn append(&self, character: Option<char>, out: &mut Vec<u8>) -> bool {
        let is_newline = character == Some('\u{85}') && self.newline_to_line_feed;
        let character = if is_newline { Some('\n') } else { character };
        let encoded = character.is_some_and(|character| self.to.encode(character, out));
        if !encoded {
            self.to.substitute(out);
        }
        encoded
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn converted(
        from: i32,
        to: i32,
        newline: EbcdicNewline,
        bytes: &[u8],
    ) -> Result<(Vec<u8>, usize), InvalidText> {
        let from = (Ccsid(from), Encoding::BIG);
        let converter = Converter::new(from, (Ccsid(to), Encoding::LITTLE), newline).unwrap();
        let mut out = vec![1];
        let substituted = converter.convert(bytes, &mut out)?;
        Ok((out.split_off(1), substituted))
    }

    fn check(from: i32, to: i32, bytes: &[u8], expected: &[u8], substituted: usize) {
        let found = converted(from, to, EbcdicNewline::NlToLf, bytes);
        assert_eq!(found, Ok((expected.to_vec(), substituted)), "{from} to {to}");
    }

    #[test]
    fn text_from_set_to_set() {
        check(500, 819, b"\xC8\x85\x93\x93\x96\x4F", b"Hello!", 0);
        check(819, 1047, b"[x]", b"\xAD\xA7\xBD", 0);
        check(850, 1252, b"\x84\x81", b"\xE4\xFC", 0);
        check(1141, 1208, b"\x9F\xC0", "€ä".as_bytes(), 0);
        // Source big-endian, target little-endian.
        check(1200, 13488, b"\0A\x20\xAC", b"A\0\xAC\x20", 0);
        check(1208, 1200, "😀".as_bytes(), b"\x3D\xD8\x00\xDE", 0);
        check(17584, 1208, b"\xD8\x3D\xDE\x00", "😀".as_bytes(), 0);
        check(819, 819, b"\x80\xFF", b"\x80\xFF", 0);
        check(367, 819, b"a\xE4", b"a\x1A", 1);
    }

    #[test]
    fn what_does_not_exist_is_substituted_and_counted() {
        check(1208, 819, "a€b漢".as_bytes(), b"a\x1Ab\x1A", 2);
        check(1208, 500, "€".as_bytes(), b"\x3F", 1);
        check(1252, 437, b"\x80", b"\x1A", 1);
        check(1252, 37, b"\x80", b"\x3F", 1);
        check(367, 1208, b"\x80", b"\x1A", 1);
    }

    #[test]
    fn broken_text_is_refused_where_it_is_broken() {
        let offset =
            |from, bytes: &[u8]| converted(from, 819, EbcdicNewline::NlToLf, bytes).unwrap_err().offset;
        assert_eq!(offset(1208, b"ab\xC3"), 2);
        assert_eq!(offset(1208, b"a\xFFb"), 1);
        assert_eq!(offset(1200, b"\0a\0"), 2);
        assert_eq!(offset(1200, b"\0a\xD8\x3D\0b"), 2);
        assert_eq!(offset(1200, b"\xDE\x00"), 0);
    }

    #[test]
    fn newlines_of_ebcdic() {
        use EbcdicNewline::{Iso, NlToLf, Table};
        let check = |from, to, newline, bytes: &[u8], expected: &[u8]| {
            assert_eq!(
                converted(from, to, newline, bytes).unwrap().0,
                expected,
                "{from} to {to} {newline:?}"
            );
        };
        check(500, 819, NlToLf, b"\x15\x25", b"\n\n");
        check(500, 819, Table, b"\x15\x25", b"\x85\n");
        check(500, 819, Iso, b"\x15\x25", b"\x85\n");
        check(500, 437, Iso, b"\x15\x25", b"\n\n");
        check(500, 1208, NlToLf, b"\x15", b"\n");
        check(500, 1208, Table, b"\x15", b"\xC2\x85");
        check(500, 1047, NlToLf, b"\x15\x25", b"\x15\x25");
        check(819, 500, NlToLf, b"\n\x85", b"\x25\x15");
        check(1208, 500, Table, b"\n\xC2\x85", b"\x25\x15");
    }

    #[test]
    fn unknown_sets_say_which() {
        let new = |from, to| {
            let (from, to) = ((Ccsid(from), Encoding::BIG), (Ccsid(to), Encoding::BIG));
            Converter::new(from, to, EbcdicNewline::default()).map(|_| ())
        };
        assert_eq!(new(943, 819), Err(UnknownCcsid::Source(Ccsid(943))));
        assert_eq!(new(819, 0), Err(UnknownCcsid::Target(Ccsid(0))));
        assert_eq!(new(0, 0), Err(UnknownCcsid::Source(Ccsid(0))));
        assert_eq!(new(1208, 37), Ok(()));
    }

    const PAGES: [i32; 12] = [37, 273, 437, 500, 819, 850, 923, 1047, 1140, 1148, 1250, 1252];

    proptest! {
        #[test]
        fn every_page_goes_through_unicode_and_back(
            bytes in prop::collection::vec(any::<u8>(), 0..80),
            page in prop::sample::select(&PAGES[..]),
            unicode in prop::sample::select(vec![1200, 1208, 13488]),
        ) {
            let forth = (Ccsid(page), Encoding::BIG);
            let back = (Ccsid(unicode), Encoding::LITTLE);
            let mut middle = Vec::new();
            let mut out = Vec::new();
            let converter = Converter::new(forth, back, EbcdicNewline::Table).unwrap();
            prop_assert_eq!(converter.convert(&bytes, &mut middle), Ok(0));
            let converter = Converter::new(back, forth, EbcdicNewline::Table).unwrap();
            prop_assert_eq!(converter.convert(&middle, &mut out), Ok(0));
            prop_assert_eq!(out, bytes);
        }

        #[test]
        fn pages_with_the_same_characters_lose_nothing(
            bytes in prop::collection::vec(any::<u8>(), 0..80),
            one in prop::sample::select(vec![37, 273, 277, 278, 280, 284, 285, 297, 500, 871, 1047, 819]),
            other in prop::sample::select(vec![37, 273, 277, 278, 280, 284, 285, 297, 500, 871, 1047, 819]),
        ) {
            let (middle, substituted) = converted(one, other, EbcdicNewline::Table, &bytes).unwrap();
            prop_assert_eq!(substituted, 0);
            prop_assert_eq!(converted(other, one, EbcdicNewline::Table, &middle).unwrap().0, bytes);
        }

        #[test]
        fn any_bytes_are_converted_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..80),
            from in prop::sample::select(vec![367, 437, 819, 500, 1200, 1208, 13488, 17584]),
            to in prop::sample::select(vec![367, 437, 819, 500, 1200, 1208, 13488, 17584]),
        ) {
            if let Err(error) = converted(from, to, EbcdicNewline::NlToLf, &bytes) {
                prop_assert!(error.offset < bytes.len());
            }
        }
    }
}
