//! How a peer writes numbers and characters: its byte order and its code page (mq-wire.md 0.3), written here a second
//! time, by hand, so that a mistake in the codecs of the code under test is seen. What the bytes mean is in `layout`.

/// Byte order and CCSID of one end of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coding {
    pub(crate) big: bool,
    pub(crate) ccsid: u16,
}

/// Printable ASCII in code page 500, from blank (0x20) to tilde (0x7E).
const EBCDIC_500: [u8; 95] = [
    0x40, 0x4F, 0x7F, 0x7B, 0x5B, 0x6C, 0x50, 0x7D, 0x4D, 0x5D, 0x5C, 0x4E, 0x6B, 0x60, 0x4B,
    0x61, // blank to /
    0xF0, 0xF1, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0x7A, 0x5E, 0x4C, 0x7E, 0x6E,
    0x6F, // 0 to ?
    0x7C, 0xC1, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xD1, 0xD2, 0xD3, 0xD4, 0xD5,
    0xD6, // @ to O
    0xD7, 0xD8, 0xD9, 0xE2, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8, 0xE9, 0x4A, 0xE0, 0x5A, 0x5F,
    0x6D, // P to _
    0x79, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x91, 0x92, 0x93, 0x94, 0x95,
    0x96, // ` to o
    0x97, 0x98, 0x99, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xC0, 0xBB, 0xD0, 0xA1, // p to ~
];

impl Coding {
    pub(crate) fn u16(self, value: u16) -> [u8; 2] {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(crate) fn u32(self, value: u32) -> [u8; 4] {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(crate) fn read_u16(self, bytes: &[u8]) -> u16 {
        let bytes = bytes[..2].try_into().unwrap();
        if self.big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    pub(crate) fn read_u32(self, bytes: &[u8]) -> u32 {
        let bytes = bytes[..4].try_into().unwrap();
        if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    pub(crate) fn ebcdic(self) -> bool {
        self.ccsid == 500
    }

    /// `text` in the code page, padded with its blank to `length`.
    pub(crate) fn chars(self, text: &str, length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for c in text.chars() {
            match c {
                ' '..='~' if self.ebcdic() => bytes.push(EBCDIC_500[c as usize - 0x20]),
                ' '..='~' => bytes.push(c as u8),
                'é' => bytes.extend_from_slice(self.acute()),
                other => panic!("the peer has no {other:?}"),
            }
        }
        assert!(bytes.len() <= length, "{text:?} in {length} bytes");
        bytes.resize(length, if self.ebcdic() { 0x40 } else { 0x20 });
        bytes
    }

    /// The text in a field, without the padding (mq-wire.md 5.11: zero bytes are padding too).
    pub(crate) fn text(self, bytes: &[u8]) -> String {
        let mut text = String::new();
        let mut rest = bytes;
        while let [first, ..] = rest {
            if rest.starts_with(self.acute()) {
                text.push('é');
                rest = &rest[self.acute().len()..];
                continue;
            }
            text.push(match *first {
                0 => ' ',
                byte if self.ebcdic() => match EBCDIC_500.iter().position(|known| *known == byte) {
                    Some(at) => char::from(0x20 + at as u8),
                    None => '?',
                },
                byte if byte.is_ascii() => char::from(byte),
                _ => '?',
            });
            rest = &rest[1..];
        }
        text.trim_end().to_owned()
    }

    /// One letter outside ASCII, which every code page keeps at a place of its own.
    fn acute(self) -> &'static [u8] {
        match self.ccsid {
            819 => &[0xE9],
            437 | 850 => &[0x82],
            500 => &[0x51],
            1208 => &[0xC3, 0xA9],
            other => panic!("the peer does not know CCSID {other}"),
        }
    }
}
