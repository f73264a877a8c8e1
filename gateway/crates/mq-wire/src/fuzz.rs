//! What a fuzzer calls with any bytes: nothing here may panic, whatever they are, except when what was read does not
//! come back from what was written.

use bytes::{Bytes, BytesMut};

use crate::samples::{CODINGS, all_samples};
use crate::{
    Body, Ccsid, Described, EbcdicNewline, Encoding, FormatName, Reason, SegmentHeader, Wanted, Writer,
    convert_message, decode_text, encode_text,
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

/// Bytes as a message of every format, converted. Without a warning, what came out and goes out again in the same form is
/// the same; with one, it is at most as much longer as text can become.
pub fn conversion(bytes: &[u8]) {
    const NUMBERS: [Encoding; 2] = [Encoding::BIG, Encoding::LITTLE];
    let data = Bytes::copy_from_slice(bytes);
    for format in FormatName::BUILT_IN.iter().chain([&FormatName::NONE]) {
        for (from, to) in
            [(819, 500), (500, 819), (819, 1208), (1208, 1200), (37, 1200), (1200, 819), (-1, 819), (0, 850)]
        {
            for (source, target) in [(0, 1), (1, 0), (1, 1)] {
                let wanted = Wanted {
                    encoding: NUMBERS[target],
                    ccsid: Ccsid(to),
                    q_mgr_ccsid: Ccsid::LATIN_1,
                    buffer_length: usize::MAX,
                    accept_truncated: false,
                    newline: EbcdicNewline::NlToLf,
                };
                let of = Described { format: *format, encoding: NUMBERS[source], ccsid: Ccsid(from) };
                let once = convert_message(of, &data, &wanted);
                assert!(once.data.len() <= 4 * data.len() + 8, "{format} grew to {}", once.data.len());
                assert!(once.described.format == *format, "{format} became {}", once.described.format);
                if once.warning == Reason::NONE {
                    let twice = convert_message(once.described, &once.data, &wanted);
                    assert!(twice == once, "{format} differs when it is converted again");
                }
            }
        }
    }
}
