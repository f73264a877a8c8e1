//! What a fuzzer calls with any bytes: nothing here may panic, whatever they are, except when what was read does not
//! come back from what was written.

mod seeds;

use bytes::{Bytes, BytesMut};

pub use self::seeds::messages;

use crate::samples::{CODINGS, all_samples};
use crate::{
    Body, ByteOrder, Ccsid, Described, EbcdicNewline, Encoding, Folder, FormatName, GetOptions,
    PropertyControl, Reason, SegmentHeader, Wanted, Writer, convert_message, decode_text, deliver,
    encode_text, properties_length, properties_of, rfh2_of, without_properties,
};

/// Bytes from a socket: header, body, and the body again from what is written of it.
pub fn segment(bytes: &[u8]) {
    let Ok(Some((header, length))) = SegmentHeader::peek(bytes, 32_766) else { return };
    let Some(body) = bytes.get(header.length()..length) else { return };
    for fap_level in [1, 12, 17] {
        let Ok(decoded) = Body::decode(&header, &Bytes::copy_from_slice(body), fap_level) else { continue };
        let mut out = BytesMut::new();
        decoded.encode(&mut Writer::as_read(&mut out, header.coding()));
        assert!(
            Body::decode(&header, &out.freeze(), fap_level) == Ok(decoded),
            "what was written differs from what was read"
        );
    }
}

/// Bytes as every structure and body in every coding; each that can be read comes back from what is written of it.
pub fn structures(bytes: &[u8]) {
    for sample in all_samples() {
        for coding in CODINGS {
            let Ok(once) = (sample.decode)(bytes, coding) else { continue };
            assert!(
                (sample.decode)(&once, coding) == Ok(once),
                "{}: what was written differs from what was read",
                sample.name
            );
        }
    }
}

/// Bytes as text in every character set known here.
pub fn text(bytes: &[u8]) {
    for ccsid in [819, 1208, 1200, 367, 437, 850, 923, 1252, 37, 500, 1047, 1141, 0, -1, 943].map(Ccsid) {
        if let Some(text) = decode_text(bytes, ccsid) {
            assert!(encode_text(&text, ccsid).as_deref() == Some(bytes), "text of {} differs", ccsid.0);
        }
    }
}

/// Bytes as a message of every format, converted.
pub fn conversion(bytes: &[u8]) {
    for format in FormatName::BUILT_IN.iter().chain([&FormatName::NONE]) {
        conversion_of(*format, bytes);
    }
}

/// Bytes as a message of this format, converted. Without a warning, what came out and goes out again in the same form is
/// the same; in any case it is at most as much longer as text can become.
pub fn conversion_of(format: FormatName, bytes: &[u8]) {
    const NUMBERS: [(Encoding, Encoding); 3] = [
        (Encoding::BIG, Encoding::LITTLE),
        (Encoding::LITTLE, Encoding::BIG),
        (Encoding::LITTLE, Encoding::LITTLE),
    ];
    const SETS: [(i32, i32); 8] =
        [(819, 500), (500, 819), (819, 1208), (1208, 1200), (37, 1200), (1200, 819), (-1, 819), (0, 850)];
    let data = Bytes::copy_from_slice(bytes);
    for ((source, target), (from, to)) in
        NUMBERS.into_iter().flat_map(|numbers| SETS.map(|sets| (numbers, sets)))
    {
        let wanted = Wanted {
            encoding: target,
            ccsid: Ccsid(to),
            q_mgr_ccsid: Ccsid::LATIN_1,
            buffer_length: usize::MAX,
            accept_truncated: false,
            newline: EbcdicNewline::NlToLf,
        };
        let of = Described { format, encoding: source, ccsid: Ccsid(from) };
        let once = convert_message(of, &data, &wanted);
        assert!(once.data.len() <= 4 * data.len() + 8, "{format} grew to {}", once.data.len());
        assert!(once.described.format == format, "{format} became {}", once.described.format);
        if once.warning == Reason::NONE {
            let twice = convert_message(once.described, &once.data, &wanted);
            assert!(twice == once, "{format} differs when it is converted again");
        }
    }
}

/// Bytes as a message with properties: what is taken out of it once is all, and comes back when it is put in front.
pub fn properties(bytes: &[u8]) {
    let data = Bytes::copy_from_slice(bytes);
    for coding in CODINGS {
        let encoding = if coding.order == ByteOrder::Big { Encoding::BIG } else { Encoding::LITTLE };
        let of = Described { format: FormatName::RF_HEADER_2, encoding, ccsid: coding.ccsid };
        assert!(properties_length(of, &data) <= data.len(), "properties are longer than the message");
        for control in (0..5).filter_map(PropertyControl::of) {
            let delivered = deliver(control, GetOptions::empty(), false, of, &data);
            assert!(delivered.is_ok_and(|(_, rest)| rest.len() <= data.len()), "{control:?} makes it longer");
        }
        let properties = properties_of(of, &data);
        let (rest_of, rest) = without_properties(of, &data);
        assert!(properties_of(rest_of, &rest).is_empty(), "properties are left");
        assert!(without_properties(rest_of, &rest) == (rest_of, rest.clone()), "it differs the second time");
        let (again_of, again) = rfh2_of(&properties, rest_of, &rest);
        assert!(properties_of(again_of, &again).len() == properties.len(), "properties were lost");
    }
    let text = String::from_utf8_lossy(bytes);
    if let Err(error) = Folder::parse(&text) {
        assert!(error.offset <= text.len(), "{error}");
    }
}
