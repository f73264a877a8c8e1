//! Text in a character set: 819 and 1208 whole, the ASCII part of other ASCII pages, and of EBCDIC pages the
//! characters that they all have at the same places (mq-wire.md 0.3: enough for names).
//!
//! Conversion of message data between any two pages is not here; data goes through as it is.

use std::borrow::Cow;

use crate::Ccsid;

impl Ccsid {
    /// US-ASCII.
    pub const ASCII: Self = Self(367);
    /// The code page of older Windows and DOS consoles in the US; of it we know the ASCII part.
    pub const PC_US: Self = Self(437);
    /// The same in Western Europe.
    pub const PC_LATIN_1: Self = Self(850);

    /// Whether bytes below 0x80 are ASCII and those above are unknown here.
    const fn is_ascii_family(self) -> bool {
        matches!(self, Self::ASCII | Self::PC_US | Self::PC_LATIN_1)
    }
}

/// The text of these bytes; `None` if the character set is not known here or has no such bytes.
pub fn decode_text(bytes: &[u8], ccsid: Ccsid) -> Option<Cow<'_, str>> {
    if ccsid.is_ebcdic() {
        return bytes
            .iter()
            .map(|byte| match ebcdic_to_ascii(*byte) {
                b'?' if *byte != EBCDIC_SUBSTITUTE => None,
                ascii => Some(char::from(ascii)),
            })
            .collect::<Option<String>>()
            .map(Cow::Owned);
    }
    match ccsid {
        Ccsid::UTF_8 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Ccsid::LATIN_1 if bytes.is_ascii() => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Ccsid::LATIN_1 => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
        _ if ccsid.is_ascii_family() && bytes.is_ascii() => {
            std::str::from_utf8(bytes).ok().map(Cow::Borrowed)
        }
        _ => None,
    }
}

/// The bytes of this text; `None` if the character set is not known here or has no such characters.
pub fn encode_text(text: &str, ccsid: Ccsid) -> Option<Cow<'_, [u8]>> {
    if ccsid.is_ebcdic() {
        return text
            .chars()
            .map(|character| {
                let ascii = u8::try_from(character).ok()?;
                let byte = ascii_to_ebcdic(ascii);
                (byte != EBCDIC_SUBSTITUTE || ascii == b'?').then_some(byte)
            })
            .collect::<Option<Vec<u8>>>()
            .map(Cow::Owned);
    }
    match ccsid {
        Ccsid::UTF_8 => Some(Cow::Borrowed(text.as_bytes())),
        Ccsid::LATIN_1 if text.is_ascii() => Some(Cow::Borrowed(text.as_bytes())),
        Ccsid::LATIN_1 => {
            let bytes = text.chars().map(|character| u8::try_from(character).ok());
            bytes.collect::<Option<Vec<u8>>>().map(Cow::Owned)
        }
        _ if ccsid.is_ascii_family() && text.is_ascii() => Some(Cow::Borrowed(text.as_bytes())),
        _ => None,
    }
}

/// The ASCII character at this place of every EBCDIC page, or `?`.
pub(crate) fn ebcdic_to_ascii(byte: u8) -> u8 {
    EBCDIC_TO_ASCII[usize::from(byte)]
}

/// The place of this ASCII character in every EBCDIC page, or that of `?`.
pub(crate) fn ascii_to_ebcdic(byte: u8) -> u8 {
    ASCII_TO_EBCDIC[usize::from(byte)]
}

const EBCDIC_SUBSTITUTE: u8 = 0x6F;

/// The characters that EBCDIC pages share with ASCII at the same places; others become `?` (ASCII) and 0x6F (EBCDIC),
/// the substitution that a reader will notice.
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
    let (mut to_ascii, mut to_ebcdic) = ([b'?'; 256], [EBCDIC_SUBSTITUTE; 256]);
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
    fn of_other_pages_only_the_sure_part_is_text() {
        for ccsid in [Ccsid::PC_US, Ccsid::PC_LATIN_1, Ccsid::ASCII] {
            assert_eq!(decode_text(b"QM1", ccsid).as_deref(), Some("QM1"));
            assert_eq!(decode_text(b"\x84", ccsid), None);
            assert_eq!(encode_text("ä", ccsid), None);
        }
        assert_eq!(decode_text(b"\xD8\xD4\xF1", Ccsid(500)).as_deref(), Some("QM1"));
        assert_eq!(decode_text(b"\x4A", Ccsid(500)), None);
        assert_eq!(encode_text("[", Ccsid(37)), None);
        assert_eq!(encode_text("?", Ccsid(37)).as_deref(), Some(&[0x6F][..]));
        assert_eq!(decode_text(b"QM1", Ccsid(943)), None);
        assert_eq!(encode_text("QM1", Ccsid::Q_MGR), None);
    }

    #[test]
    fn every_name_character_has_its_place_in_ebcdic() {
        for byte in (0..=255_u8).filter(|byte| is_name_byte(*byte) || *byte == b' ') {
            assert_eq!(ebcdic_to_ascii(ascii_to_ebcdic(byte)), byte, "{}", char::from(byte));
        }
    }

    proptest! {
        #[test]
        fn what_can_be_encoded_comes_back(text in ".{0,40}", ccsid in 0..6_usize) {
            let pages = [Ccsid::LATIN_1, Ccsid::UTF_8, Ccsid::PC_US, Ccsid::ASCII, Ccsid(500), Ccsid(1047)];
            if let Some(bytes) = encode_text(&text, pages[ccsid]) {
                prop_assert_eq!(decode_text(&bytes, pages[ccsid]), Some(Cow::Borrowed(text.as_str())));
            }
        }

        #[test]
        fn what_can_be_decoded_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..40), ccsid in 0..6_usize) {
            let pages = [Ccsid::LATIN_1, Ccsid::UTF_8, Ccsid::PC_US, Ccsid::ASCII, Ccsid(500), Ccsid(1047)];
            if let Some(text) = decode_text(&bytes, pages[ccsid]) {
                prop_assert_eq!(encode_text(&text, pages[ccsid]), Some(Cow::Borrowed(bytes.as_slice())));
            }
        }
    }
}
