//! Character attributes of MQINQ and MQSET: on the wire in the code page of the conversation, for the owner in
//! ISO 8859-1 like every other character field. Where one attribute ends and the next begins does not matter here.

use bytes::{Bytes, BytesMut};
use mq_wire::{Chars, Coding, Field, Writer};

/// From the wire.
pub(crate) fn decode(chars: &[u8], coding: Coding) -> Vec<u8> {
    chars.iter().map(|byte| decode_byte(*byte, coding)).collect()
}

/// To the wire.
pub(crate) fn encode(chars: &[u8], coding: Coding) -> Bytes {
    chars.iter().map(|byte| encode_byte(*byte, coding)).collect()
}

/// One character from the wire.
pub(crate) fn decode_byte(byte: u8, coding: Coding) -> u8 {
    let [character] = *Chars::<1>::read(&[byte], coding).as_bytes();
    character
}

/// One character to the wire.
pub(crate) fn encode_byte(character: u8, coding: Coding) -> u8 {
    let mut out = BytesMut::with_capacity(1);
    Writer::new(&mut out, coding).field(&Chars::from_bytes([character]));
    out.first().copied().unwrap_or(character)
}

#[cfg(test)]
mod tests {
    use mq_wire::{ByteOrder, Ccsid};

    use super::*;

    #[test]
    fn attributes_go_to_the_code_page_and_come_back() {
        let check = |ccsid, bytes: &[u8]| {
            let coding = Coding { order: ByteOrder::Big, ccsid: Ccsid(ccsid) };
            assert_eq!(encode(b"Q1 \xE9", coding)[..], *bytes, "{ccsid}");
            assert_eq!(decode(bytes, coding), b"Q1 \xE9", "{ccsid}");
        };
        check(819, b"Q1 \xE9");
        check(850, b"Q1 \x82");
        check(500, b"\xD8\xF1\x40\x51");
        assert_eq!(decode(b"Q1\0", Coding::NATIVE), b"Q1 ", "zero bytes are padding (mq-wire.md 5.11)");
    }
}
