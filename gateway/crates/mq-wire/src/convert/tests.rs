//! Messages as they come out of a conversion: each format, each special value, and what happens when a part fails.

mod commands;
mod headers;

use bytes::BytesMut;

use super::*;
use crate::{Coding, Mqdlh, QName, Writer, encode_text};

const BIG: Encoding = Encoding::BIG;
const LITTLE: Encoding = Encoding::LITTLE;
const E: Ccsid = Ccsid(500);
const L: Ccsid = Ccsid(819);

fn described(format: FormatName, encoding: Encoding, ccsid: Ccsid) -> Described {
    Described { format, encoding, ccsid }
}

fn wanted(encoding: Encoding, ccsid: Ccsid) -> Wanted {
    Wanted {
        encoding,
        ccsid,
        q_mgr_ccsid: L,
        buffer_length: 100_000,
        accept_truncated: false,
        newline: EbcdicNewline::NlToLf,
    }
}

/// From big-endian EBCDIC to little-endian Latin-1.
fn converted(format: FormatName, data: &[u8]) -> Converted {
    let of = described(format, BIG, E);
    convert_message(of, &Bytes::copy_from_slice(data), &wanted(LITTLE, L))
}

fn written(coding: Coding, write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = BytesMut::new();
    write(&mut Writer::new(&mut out, coding));
    out.to_vec()
}

fn coding(encoding: Encoding, ccsid: Ccsid) -> Coding {
    Coding::of(encoding, ccsid)
}

fn ebcdic(text: &str) -> Vec<u8> {
    encode_text(text, E).unwrap().into_owned()
}

/// Text and integers, in big-endian EBCDIC and in little-endian Latin-1.
fn both(parts: &[Part<'_>]) -> (Vec<u8>, Vec<u8>) {
    let (mut big, mut little) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            I(value) => {
                big.extend(value.to_be_bytes());
                little.extend(value.to_le_bytes());
            }
            T(text) => {
                big.extend(ebcdic(text));
                little.extend(encode_text(text, L).unwrap().iter());
            }
            B(bytes) => {
                big.extend(*bytes);
                little.extend(*bytes);
            }
        }
    }
    (big, little)
}

enum Part<'a> {
    I(i32),
    T(&'a str),
    B(&'a [u8]),
}
use Part::{B, I, T};

#[test]
fn text() {
    let found = converted(FormatName::STRING, &ebcdic("Hallo, Welt!"));
    assert_eq!(found.data, &b"Hallo, Welt!"[..]);
    assert_eq!((found.described, found.warning), (described(FormatName::STRING, LITTLE, L), Reason::NONE));
}

#[test]
fn what_is_as_wanted_is_not_touched() {
    let data = Bytes::from_static(b"\x80\x81 broken whatever it says it is");
    for format in [FormatName::STRING, FormatName::ADMIN, FormatName::NONE, FormatName::RF_HEADER_2] {
        let of = described(format, LITTLE, Ccsid(943));
        let found = convert_message(of, &data, &wanted(LITTLE, Ccsid(943)));
        assert_eq!((found.described, found.warning), (of, Reason::NONE), "{format}");
        assert_eq!(found.data.as_ptr(), data.as_ptr(), "{format}");
    }
    // Other numbers, but there are none in text.
    let of = described(FormatName::STRING, BIG, L);
    let found = convert_message(of, &data, &wanted(LITTLE, L));
    assert_eq!((found.described, found.warning), (described(FormatName::STRING, LITTLE, L), Reason::NONE));
    assert_eq!(found.data.as_ptr(), data.as_ptr());
    // Nothing to convert.
    let of = described(FormatName::NONE, BIG, E);
    let found = convert_message(of, &Bytes::new(), &wanted(LITTLE, L));
    assert_eq!((found.described, found.warning), (of, Reason::NONE));
}

#[test]
fn the_queue_managers_own_set() {
    let of = described(FormatName::STRING, LITTLE, Ccsid::Q_MGR);
    let data = Bytes::from_static(b"\xE4");
    let found = convert_message(of, &data, &wanted(LITTLE, Ccsid::UTF_8));
    assert_eq!(found.data, "ä".as_bytes());
    let of = described(FormatName::STRING, LITTLE, Ccsid::UTF_8);
    let found = convert_message(of, &Bytes::from_static("ä".as_bytes()), &wanted(LITTLE, Ccsid::Q_MGR));
    assert_eq!(found.data, data);
    assert_eq!(found.described.ccsid, L);
}

#[test]
fn utf_16_has_the_byte_order_of_the_encoding() {
    let of = described(FormatName::STRING, BIG, Ccsid(1200));
    let data = Bytes::from_static(b"\0A\x20\xAC");
    let found = convert_message(of, &data, &wanted(LITTLE, Ccsid(1200)));
    assert_eq!(found.data, &b"A\0\xAC\x20"[..]);
    let found = convert_message(of, &data, &wanted(BIG, Ccsid(13488)));
    assert_eq!((&found.data, found.described.ccsid), (&data, Ccsid(13488)));
    let found = convert_message(of, &data, &wanted(LITTLE, Ccsid::UTF_8));
    assert_eq!(found.data, "A€".as_bytes());
    let found = convert_message(of, &data, &wanted(LITTLE, L));
    assert_eq!((&found.data[..], found.warning), (&b"A\x1A"[..], Reason::NONE));
}

#[test]
fn what_cannot_be_converted_says_why_and_stays() {
    let text = FormatName::STRING;
    for (of, to, data, reason) in [
        (described(FormatName::NONE, BIG, E), (LITTLE, L), &b"x"[..], Reason::FORMAT_ERROR),
        (described(FormatName::cut("MYFORMAT"), BIG, E), (LITTLE, L), b"x", Reason::FORMAT_ERROR),
        (described(FormatName::COMMAND_1, BIG, E), (LITTLE, L), b"x", Reason::FORMAT_ERROR),
        (described(text, BIG, Ccsid(943)), (LITTLE, L), b"x", Reason::SOURCE_CCSID_ERROR),
        (described(text, BIG, Ccsid::EMBEDDED), (LITTLE, L), b"x", Reason::SOURCE_CCSID_ERROR),
        (described(text, BIG, E), (LITTLE, Ccsid(943)), b"x", Reason::TARGET_CCSID_ERROR),
        (described(text, BIG, E), (LITTLE, Ccsid::INHERIT), b"x", Reason::TARGET_CCSID_ERROR),
        (described(text, Encoding(0x113), E), (LITTLE, L), b"x", Reason::SOURCE_INTEGER_ENC_ERROR),
        (described(text, Encoding(0x131), E), (LITTLE, L), b"x", Reason::SOURCE_DECIMAL_ENC_ERROR),
        (described(text, Encoding(0x511), E), (LITTLE, L), b"x", Reason::SOURCE_FLOAT_ENC_ERROR),
        (described(text, BIG, E), (Encoding(0x223), L), b"x", Reason::TARGET_INTEGER_ENC_ERROR),
        (described(text, BIG, E), (Encoding(0x232), L), b"x", Reason::TARGET_DECIMAL_ENC_ERROR),
        (described(text, BIG, E), (Encoding(0x522), L), b"x", Reason::TARGET_FLOAT_ENC_ERROR),
        (described(text, Encoding(0), Ccsid(1200)), (LITTLE, L), b"\0x", Reason::SOURCE_INTEGER_ENC_ERROR),
        (described(text, BIG, E), (Encoding(0), Ccsid(1200)), b"x", Reason::TARGET_INTEGER_ENC_ERROR),
        (described(text, BIG, Ccsid::UTF_8), (LITTLE, L), b"a\xC3", Reason::DBCS_ERROR),
        (described(text, BIG, Ccsid(1200)), (LITTLE, L), b"\0a\0", Reason::DBCS_ERROR),
    ] {
        let data = Bytes::copy_from_slice(data);
        let found = convert_message(of, &data, &wanted(to.0, to.1));
        assert_eq!(
            found,
            Converted { described: of, data: data.clone(), warning: reason },
            "{of:?} to {to:?}"
        );
    }
    // An encoding that says nothing does no harm to text.
    let found =
        convert_message(described(text, Encoding(0), E), &Bytes::from_static(b"\xC1"), &wanted(LITTLE, L));
    assert_eq!((&found.data[..], found.warning), (&b"A"[..], Reason::NONE));
}

#[test]
fn what_outgrows_the_buffer_stays() {
    let data = Bytes::from_static(b"\xE4\xE4");
    let of = described(FormatName::STRING, LITTLE, L);
    let mut to = Wanted { buffer_length: 3, ..wanted(LITTLE, Ccsid::UTF_8) };
    let found = convert_message(of, &data, &to);
    assert_eq!((found.described, &found.data, found.warning), (of, &data, Reason::CONVERTED_MSG_TOO_BIG));
    to.accept_truncated = true;
    let found = convert_message(of, &data, &to);
    assert_eq!((&found.data[..], found.warning), ("ää".as_bytes(), Reason::NONE));
    to = Wanted { buffer_length: 4, accept_truncated: false, ..to };
    assert_eq!(convert_message(of, &data, &to).warning, Reason::NONE);
    // What did not fit before is for the caller to refuse.
    to.buffer_length = 1;
    assert_eq!(convert_message(of, &data, &to).warning, Reason::NONE);
}

fn dlh(encoding: Encoding, ccsid: Ccsid, format: FormatName) -> Mqdlh {
    let dest_q_name = QName::new("ORDERS").unwrap();
    Mqdlh { reason: Reason::Q_FULL, dest_q_name, encoding, ccsid, format, ..Mqdlh::default() }
}
