//! The single-byte pages by number: what each byte is, where each character lies, and the way of names to ISO 8859-1 and
//! back. Pages of more than one byte a character are not here; UTF-8 and UTF-16 are in `charset`.

use std::sync::OnceLock;

use super::ascii::{CP437, CP850, CP923, CP1250, CP1252};
use super::ebcdic::{CP37, CP273, CP277, CP278, CP280, CP284, CP285, CP297, CP500, CP871, CP1047};

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    ccsid: i32,
    /// The code point of each byte; [`UNDEFINED`] where there is none.
    codes: [u16; 256],
    /// EBCDIC, ISO 8859, or another extension of ASCII.
    pub(crate) family: Family,
    places: OnceLock<Places>,
    names: OnceLock<Names>,
}

/// What kind of page it is, which decides about newlines and the substitution character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Ebcdic,
    Iso,
    Pc,
}

/// Where each character is.
#[derive(Debug)]
struct Places {
    /// The bytes of the code points below 256, for most of which this is all.
    low: [Option<u8>; 256],
    /// Each code point with its byte, in the order of code points.
    all: Vec<(u16, u8)>,
}

/// The bytes of a page as ISO 8859-1 and back, one-to-one.
#[derive(Debug)]
pub(crate) struct Names {
    /// ISO 8859-1 of each byte.
    pub(crate) to_latin_1: [u8; 256],
    /// The byte of each character of ISO 8859-1.
    pub(crate) from_latin_1: [u8; 256],
}

const UNDEFINED: u16 = 0xFFFF;
const EURO: u16 = 0x20AC;

impl Page {
    /// The page with this number.
    pub(crate) fn of(ccsid: i32) -> Option<&'static Self> {
        PAGES.iter().find(|page| page.ccsid == ccsid)
    }

    /// The character of this byte.
    pub(crate) fn character(&self, byte: u8) -> Option<char> {
        match self.codes[usize::from(byte)] {
            UNDEFINED => None,
            code => char::from_u32(u32::from(code)),
        }
    }

    /// The byte of this character.
    pub(crate) fn byte(&self, character: char) -> Option<u8> {
        let code = u16::try_from(u32::from(character)).ok()?;
        let places = self.places.get_or_init(|| {
            let mut all: Vec<_> = self.codes.iter().copied().zip(0..=u8::MAX).collect();
            all.retain(|(code, _)| *code != UNDEFINED);
            all.sort_unstable();
            let mut low = [None; 256];
            for (code, byte) in &all {
                if let Some(place) = low.get_mut(usize::from(*code)) {
                    *place = Some(*byte);
                }
            }
            Places { low, all }
        });
        if let Some(place) = places.low.get(usize::from(code)) {
            return *place;
        }
        let place = places.all.binary_search_by_key(&code, |(code, _)| *code).ok()?;
        Some(places.all[place].1)
    }

    /// What stands for a character that the page has not got: SUB, in EBCDIC and in ASCII.
    pub(crate) fn substitute(&self) -> u8 {
        if self.family == Family::Ebcdic { 0x3F } else { 0x1A }
    }

    /// How names and other fixed fields go to ISO 8859-1 and back without loss: characters that both have go to each
    /// other, what is left on either side pairs up in order. (For 850 those are the 32 box characters and the 32
    /// control characters above 0x7F; for an EBCDIC page with the euro sign it pairs with the currency sign.)
    pub(crate) fn names(&self) -> &Names {
        self.names.get_or_init(|| {
            let mut names = Names { to_latin_1: [0; 256], from_latin_1: [0; 256] };
            let mut taken = [false; 256];
            let mut left = Vec::new();
            for byte in 0..=u8::MAX {
                match u8::try_from(self.codes[usize::from(byte)]) {
                    Ok(latin_1) => {
                        names.to_latin_1[usize::from(byte)] = latin_1;
                        names.from_latin_1[usize::from(latin_1)] = byte;
                        taken[usize::from(latin_1)] = true;
                    }
                    Err(_) => left.push(byte),
                }
            }
            let free = (0..=u8::MAX).filter(|latin_1| !taken[usize::from(*latin_1)]);
            for (byte, latin_1) in left.into_iter().zip(free) {
                names.to_latin_1[usize::from(byte)] = latin_1;
                names.from_latin_1[usize::from(latin_1)] = byte;
            }
            names
        })
    }

    const fn new(ccsid: i32, family: Family, codes: [u16; 256]) -> Self {
        Self { ccsid, codes, family, places: OnceLock::new(), names: OnceLock::new() }
    }

    const fn ebcdic(ccsid: i32, latin_1: &[u8; 256]) -> Self {
        Self::new(ccsid, Family::Ebcdic, wide(latin_1))
    }

    const fn ebcdic_with_euro(ccsid: i32, latin_1: &[u8; 256]) -> Self {
        let mut codes = wide(latin_1);
        let mut byte = 0;
        while byte < 256 {
            if codes[byte] == '¤' as u16 {
                codes[byte] = EURO;
            }
            byte += 1;
        }
        Self::new(ccsid, Family::Ebcdic, codes)
    }
}

const fn wide(latin_1: &[u8; 256]) -> [u16; 256] {
    let mut codes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        codes[byte] = latin_1[byte] as u16;
        byte += 1;
    }
    codes
}

/// Every page known here. 858 is 850 with the euro sign for the dotless i; 5348 is 1252 as IBM numbers it since the euro.
static PAGES: [Page; 29] = [
    Page::new(819, Family::Iso, LATIN_1),
    Page::new(437, Family::Pc, replaced(LATIN_1, 0x80, CP437)),
    Page::new(850, Family::Pc, replaced(LATIN_1, 0x80, CP850)),
    Page::ebcdic(37, &CP37),
    Page::ebcdic(273, &CP273),
    Page::ebcdic(277, &CP277),
    Page::ebcdic(278, &CP278),
    Page::ebcdic(280, &CP280),
    Page::ebcdic(284, &CP284),
    Page::ebcdic(285, &CP285),
    Page::ebcdic(297, &CP297),
    Page::ebcdic(500, &CP500),
    Page::ebcdic(871, &CP871),
    Page::ebcdic(1047, &CP1047),
    Page::ebcdic_with_euro(1140, &CP37),
    Page::ebcdic_with_euro(1141, &CP273),
    Page::ebcdic_with_euro(1142, &CP277),
    Page::ebcdic_with_euro(1143, &CP278),
    Page::ebcdic_with_euro(1144, &CP280),
    Page::ebcdic_with_euro(1145, &CP284),
    Page::ebcdic_with_euro(1146, &CP285),
    Page::ebcdic_with_euro(1147, &CP297),
    Page::ebcdic_with_euro(1148, &CP500),
    Page::ebcdic_with_euro(1149, &CP871),
    Page::new(858, Family::Pc, replaced(replaced(LATIN_1, 0x80, CP850), 0xD5, "€")),
    Page::new(923, Family::Iso, LATIN_9),
    Page::new(1250, Family::Pc, replaced(LATIN_1, 0x80, CP1250)),
    Page::new(1252, Family::Pc, replaced(LATIN_1, 0x80, CP1252)),
    Page::new(5348, Family::Pc, replaced(LATIN_1, 0x80, CP1252)),
];

/// 367: ASCII, and nothing above. Not among [`PAGES`], which are all one-to-one.
pub(crate) static ASCII: Page = Page::new(367, Family::Iso, {
    let mut codes = LATIN_1;
    let mut byte = 0x80;
    while byte < 256 {
        codes[byte] = UNDEFINED;
        byte += 1;
    }
    codes
});

const LATIN_1: [u16; 256] = {
    let mut codes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        codes[byte] = byte as u16;
        byte += 1;
    }
    codes
};

const LATIN_9: [u16; 256] = {
    let mut codes = LATIN_1;
    let mut next = 0;
    while next < CP923.len() {
        let (byte, character) = CP923[next];
        codes[byte as usize] = character as u16;
        next += 1;
    }
    codes
};

/// The codes with these characters from `first` on. The characters are in UTF-8, of at most three bytes each.
const fn replaced(mut codes: [u16; 256], first: usize, characters: &str) -> [u16; 256] {
    let bytes = characters.as_bytes();
    let (mut at, mut byte) = (0, first);
    while at < bytes.len() {
        let lead = bytes[at] as u16;
        let (code, length) = if lead < 0x80 {
            (lead, 1)
        } else if lead < 0xE0 {
            ((lead & 0x1F) << 6 | (bytes[at + 1] & 0x3F) as u16, 2)
        } else {
            ((lead & 0x0F) << 12 | ((bytes[at + 1] & 0x3F) as u16) << 6 | (bytes[at + 2] & 0x3F) as u16, 3)
        };
        codes[byte] = code;
        byte += 1;
        at += length;
    }
    codes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn every_page_is_one_to_one_and_defines_every_byte() {
        for page in &PAGES {
            let codes: BTreeSet<_> = page.codes.iter().collect();
            assert_eq!(codes.len(), 256, "{}", page.ccsid);
            assert!(!codes.contains(&UNDEFINED), "{}", page.ccsid);
            for byte in 0..=255 {
                let character = page.character(byte).unwrap();
                assert_eq!(page.byte(character), Some(byte), "{} {byte:02X}", page.ccsid);
            }
            assert_eq!(Page::of(page.ccsid).unwrap().ccsid, page.ccsid);
            assert_eq!((page.byte('€').is_some(), page.byte('漢')), (page.codes.contains(&EURO), None));
        }
    }

    #[test]
    fn names_go_to_latin_1_and_back_without_loss() {
        for page in PAGES.iter().chain([&ASCII]) {
            let names = page.names();
            for byte in 0..=255_u8 {
                let latin_1 = names.to_latin_1[usize::from(byte)];
                assert_eq!(names.from_latin_1[usize::from(latin_1)], byte, "{} {byte:02X}", page.ccsid);
                let same = page.character(byte) == Some(char::from(latin_1));
                let has_none = page.character(byte).is_none_or(|character| u32::from(character) > 0xFF);
                assert!(same || (has_none && latin_1 >= 0x80), "{} {byte:02X}", page.ccsid);
            }
        }
    }

    #[test]
    fn well_known_places() {
        // The characters on which national EBCDIC pages differ.
        for (ccsid, bytes) in [
            (37, [0x5B, 0x7B, 0x7C, 0x5A, 0xBA, 0xBB, 0xC0, 0xD0]),
            (273, [0x5B, 0x7B, 0xB5, 0x4F, 0x63, 0xFC, 0x43, 0xDC]),
            (500, [0x5B, 0x7B, 0x7C, 0x4F, 0x4A, 0x5A, 0xC0, 0xD0]),
            (1047, [0x5B, 0x7B, 0x7C, 0x5A, 0xAD, 0xBD, 0xC0, 0xD0]),
            (285, [0x4A, 0x7B, 0x7C, 0x5A, 0xB1, 0xBB, 0xC0, 0xD0]),
        ] {
            let page = Page::of(ccsid).unwrap();
            let found: Vec<_> = "$#@![]{}".chars().map(|character| page.byte(character).unwrap()).collect();
            assert_eq!(found, bytes, "{ccsid}");
        }
        for (ccsid, euro) in
            [(1140, 0x9F), (1141, 0x9F), (1142, 0x5A), (1143, 0x5A), (858, 0xD5), (923, 0xA4), (1252, 0x80)]
        {
            assert_eq!(Page::of(ccsid).unwrap().byte('€'), Some(euro), "{ccsid}");
        }
        assert_eq!(Page::of(1144).unwrap().byte('¤'), None);
        assert!(Page::of(943).is_none() && Page::of(0).is_none() && Page::of(-1).is_none());
    }

    /// What iconv makes of these bytes, or nothing if it is not here or does not know the page.
    fn iconv(name: &str, bytes: &[u8]) -> Option<Vec<u16>> {
        let mut child = Command::new("iconv")
            .args(["-f", name, "-t", "UTF-16BE"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        // An iconv that does not know the page ends before it reads.
        let _ = child.stdin.take()?.write_all(bytes);
        let output = child.wait_with_output().ok()?;
        let pairs = output.stdout.chunks_exact(2);
        output.status.success().then(|| pairs.map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect())
    }

    /// Where iconv of glibc is not as the registry has it: it takes capital for small thorn, É for the backslash, and an
    /// overline for the macron. Its pages 1143, 1146 and 1149, made of the same ones later, are as here.
    const KNOWN: &[(i32, &[u8])] = &[(278, &[0x71, 0xE0]), (285, &[0xA1]), (871, &[0x4A, 0xC0])];

    #[test]
    fn the_pages_are_those_of_iconv() {
        for page in &PAGES {
            let name = match page.ccsid {
                37 => "CP037".to_owned(),
                923 => "ISO-8859-15".to_owned(),
                1250 | 1252 => format!("CP{}", page.ccsid),
                5348 => "CP1252".to_owned(),
                ccsid => format!("IBM{ccsid}"),
            };
            let known =
                KNOWN.iter().find(|(ccsid, _)| *ccsid == page.ccsid).map_or(&[][..], |(_, bytes)| *bytes);
            let windows = name.starts_with("CP125");
            let asked: Vec<u8> = (0..=255_u8)
                .filter(|byte| !known.contains(byte))
                .filter(|byte| !windows || !(0x80..0xA0).contains(&page.codes[usize::from(*byte)]))
                .collect();
            let Some(theirs) = iconv(&name, &asked) else { continue };
            assert_eq!(theirs.len(), asked.len(), "{name}");
            for (byte, theirs) in asked.iter().zip(theirs) {
                assert_eq!(page.codes[usize::from(*byte)], theirs, "{name} {byte:02X}");
            }
        }
    }
}
