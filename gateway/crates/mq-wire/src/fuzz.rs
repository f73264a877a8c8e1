//! What a fuzzer calls with any bytes: nothing here may panic, whatever they are, except when what was read does not
//! come back from what was written.

use bytes::{Bytes, BytesMut};

use crate::samples::{CODINGS, all_samples};
use crate::{Body, Ccsid, SegmentHeader, Writer, decode_text, encode_text};

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
