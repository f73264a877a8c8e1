//! A character set with the byte order that goes with it: bytes to characters and back. What is done about characters that
//! do not exist is for the caller to say.

use super::pages::{ASCII, Family, Page};
use crate::{ByteOrder, Ccsid, Encoding};

/// A character set that is known here.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Charset {
    /// One byte a character.
    Page(&'static Page),
    /// 1208.
    Utf8,
    /// 1200, 13488, 17584.
    Utf16(ByteOrder),
}

impl PartialEq for Charset {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Page(one), Self::Page(other)) => std::ptr::eq(*one, *other),
            (Self::Utf8, Self::Utf8) => true,
            (Self::Utf16(one), Self::Utf16(other)) => one == other,
            _ => false,
        }
    }
}

impl Charset {
    /// The character set with this number; the encoding says the byte order of UTF-16.
    pub(crate) fn of(ccsid: Ccsid, encoding: Encoding) -> Option<Self> {
        match ccsid {
            Ccsid::UTF_8 => Some(Self::Utf8),
            _ if ccsid.is_utf_16() => Some(Self::Utf16(encoding.byte_order())),
            Ccsid::ASCII => Some(Self::Page(&ASCII)),
            _ => Page::of(ccsid.0).map(Self::Page),
        }
    }

    /// What kind of page it is, of a single-byte one.
    pub(crate) fn family(self) -> Option<Family> {
        match self {
            Self::Page(page) => Some(page.family),
            _ => None,
        }
    }

    /// Calls `each` with every character; `None` for a byte that the page does not define. The error is the offset at
    /// which the bytes are no text: where a sequence of UTF-8 or a surrogate of UTF-16 is broken.
    pub(crate) fn decode(self, bytes: &[u8], mut each: impl FnMut(Option<char>)) -> Result<(), usize> {
        match self {
            Self::Page(page) => bytes.iter().for_each(|byte| each(page.character(*byte))),
            Self::Utf8 => {
                let text = std::str::from_utf8(bytes).map_err(|error| error.valid_up_to())?;
                text.chars().for_each(|character| each(Some(character)));
            }
            Self::Utf16(order) => {
                let units = bytes.chunks_exact(2).map(|pair| match order {
                    ByteOrder::Big => u16::from_be_bytes([pair[0], pair[1]]),
                    ByteOrder::Little => u16::from_le_bytes([pair[0], pair[1]]),
                });
                let mut offset = 0;
                for character in char::decode_utf16(units) {
                    let character = character.map_err(|_| offset)?;
                    offset += 2 * character.len_utf16();
                    each(Some(character));
                }
                if bytes.len() % 2 == 1 {
                    return Err(bytes.len() - 1);
                }
            }
        }
        Ok(())
    }

    /// Appends a character; false, and nothing, if it does not exist here.
    #[must_use]
    pub(crate) fn encode(self, character: char, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Page(page) => match page.byte(character) {
                Some(byte) => out.push(byte),
                None => return false,
            },
            Self::Utf8 => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            Self::Utf16(order) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    match order {
                        ByteOrder::Big => out.extend_from_slice(&unit.to_be_bytes()),
                        ByteOrder::Little => out.extend_from_slice(&unit.to_le_bytes()),
                    }
                }
            }
        }
        true
    }

    /// Appends what stands for a character that does not exist: SUB (0x3F in EBCDIC, else 0x1A).
    pub(crate) fn substitute(self, out: &mut Vec<u8>) {
        match self {
            Self::Page(page) => out.push(page.substitute()),
            _ => _ = self.encode('\u{1A}', out),
        }
    }
}
