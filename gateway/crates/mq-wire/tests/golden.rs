//! Recorded conversations of IBM's classes (tests/golden/wire): what is read is written again byte for byte.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what is wrong with a recording fails the test")]

use std::path::PathBuf;

use bytes::{Bytes, BytesMut};
use mq_wire::{Body, Call, ControlFlags1, SegmentHeader, SegmentType, Writer, encode_segment};

struct Recorded {
    place: String,
    type_name: String,
    bytes: Bytes,
}

/// The segments of a file.
fn recorded(file: &str) -> Vec<Recorded> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tests/golden/wire").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let segments: Vec<_> = text
        .lines()
        .map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            let hex = value["hex"].as_str().unwrap();
            let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
            let type_name = value["type"].as_str().unwrap().to_owned();
            Recorded { place: format!("{file} {}", value["n"]), type_name, bytes: bytes.collect() }
        })
        .collect();
    assert!(!segments.is_empty(), "{file} is empty");
    segments
}

fn header_of(segment: &Recorded) -> SegmentHeader {
    let peeked =
        SegmentHeader::peek(&segment.bytes, 32_766).unwrap_or_else(|e| panic!("{}: {e}", segment.place));
    let (header, length) = peeked.unwrap_or_else(|| panic!("{}: too short", segment.place));
    assert_eq!(length, segment.bytes.len(), "{}", segment.place);
    assert_eq!(header.segment_type.name(), Some(segment.type_name.as_str()), "{}", segment.place);
    header
}

/// Whether the segment holds a whole call; the others were recorded without the rest of it.
fn is_whole(header: &SegmentHeader) -> bool {
    !header.segment_type.is_call()
        || header.control_flags_1.contains(ControlFlags1::FIRST | ControlFlags1::LAST)
}

/// Decodes a file whole; returns how many segments, and how many of them were parts of calls.
fn whole(file: &str, fap_level: u8) -> (usize, usize) {
    let segments = recorded(file);
    let mut parts = 0;
    for segment in &segments {
        let header = header_of(segment);
        let body = segment.bytes.slice(header.length()..);
        let body = if is_whole(&header) {
            let decoded = Body::decode(&header, &body, fap_level);
            let decoded = decoded.unwrap_or_else(|error| panic!("{}: {error}", segment.place));
            let opaque = matches!(&decoded, Body::Opaque(_) | Body::Call(_, Call::Opaque(_)));
            assert!(!opaque, "{}: {} has no structure", segment.place, segment.type_name);
            let mut out = BytesMut::new();
            decoded.encode(&mut Writer::as_read(&mut out, header.coding()));
            out.freeze()
        } else {
            parts += 1;
            body
        };
        let mut out = BytesMut::new();
        encode_segment(&header, &body, &mut out);
        assert_eq!(out, segment.bytes, "{}: {}", segment.place, segment.type_name);
    }
    (segments.len(), parts)
}

#[test]
fn unshared_conversation_comes_back_whole() {
    // 72 and 76 are the last segments of a long put and a long get.
    assert_eq!(whole("base-fap12-tsh.jsonl", 12), (91, 2));
}

#[test]
fn unshared_conversation_below_command_level_700_comes_back_whole() {
    assert_eq!(whole("base-fap12-tsh-level600.jsonl", 12), (87, 2));
}

#[test]
fn headers_of_the_others_come_back_and_their_bodies_can_be_read() {
    let mut counts = Vec::new();
    for (file, fap_level) in [
        ("base-fap17-tshm-syncget.jsonl", 17),
        ("base-fap13-tshm-bigendian.jsonl", 13),
        ("base-fap13-tshm-async.jsonl", 13),
        ("base-extra.jsonl", 13),
        ("jms-ext.jsonl", 13),
        ("jms-shared.jsonl", 12),
        ("jms-single.jsonl", 13),
        ("jms-syncget.jsonl", 13),
        ("jms-tsh.jsonl", 12),
    ] {
        let segments = recorded(file);
        for segment in &segments {
            let header = header_of(segment);
            let body = segment.bytes.slice(header.length()..);
            let mut out = BytesMut::new();
            encode_segment(&header, &body, &mut out);
            assert_eq!(out, segment.bytes, "{}", segment.place);
            // The credentials of base-extra.jsonl come from several levels: only one of them is 17.
            if is_whole(&header) && header.segment_type != SegmentType::CONAUTH_INFO {
                let decoded = Body::decode(&header, &body, fap_level);
                decoded.unwrap_or_else(|e| panic!("{}: {}: {e}", segment.place, segment.type_name));
            }
        }
        counts.push(segments.len());
    }
    assert_eq!(counts, [89, 89, 94, 146, 241, 225, 239, 212, 350]);
}
