//! Every structure and body: round trip in every coding, every truncation refused, and no bytes that make it panic.

use bytes::{Bytes, BytesMut};
use mq_wire::samples::{Sample, all_samples};
use mq_wire::{
    ByteOrder, Ccsid, Coding, Described, EbcdicNewline, Encoding, FormatName, Mqrfh2, Reason, Wanted, Writer,
    convert_message, fuzz,
};
use proptest::prelude::*;

#[test]
fn every_sample_comes_back() {
    let samples = all_samples();
    assert!(samples.len() > 150, "{} samples are too few", samples.len());
    for Sample { name, bytes, coding, decode, .. } in samples {
        assert_eq!(decode(&bytes, coding), Ok(bytes), "{name} in {coding:?}");
    }
}

#[test]
fn every_proper_prefix_is_refused_or_a_legal_shorter_version() {
    for Sample { name, bytes, coding, decode, legal_at } in all_samples() {
        for length in 0..bytes.len() {
            match decode(&bytes[..length], coding) {
                Ok(shorter) => {
                    assert!(legal_at(length), "{name} cut at {length} in {coding:?}");
                    assert_eq!(shorter, bytes[..length], "{name} cut at {length} in {coding:?}");
                }
                Err(error) => {
                    assert!(!legal_at(length), "{name} cut at {length} in {coding:?}: {error}");
                    assert!(!error.structure.is_empty() && !error.field.is_empty(), "{name}: {error:?}");
                    assert!(error.offset <= length, "{name} cut at {length}: {error}");
                }
            }
        }
    }
}

#[test]
fn the_first_byte_decides_about_structures_with_an_identifier() {
    for Sample { name, mut bytes, coding, decode, .. } in all_samples() {
        if !name.starts_with("MQ") && !["ID", "UID", "CAUT"].contains(&name) {
            continue;
        }
        let versioned = name.contains("version") || ["MQMDE", "MQXQH", "MQDLH"].contains(&name);
        if versioned || !name.starts_with("MQ") {
            bytes[0] ^= 0xFF;
            let error = decode(&bytes, coding).unwrap_err();
            assert_eq!((error.field, error.offset), ("StrucId", 0), "{name}");
        }
    }
}

/// How a message is wanted in little-endian Latin-1, or big-endian EBCDIC.
fn wanted(ebcdic: bool) -> Wanted {
    let (encoding, ccsid) =
        if ebcdic { (Encoding::BIG, Ccsid(500)) } else { (Encoding::LITTLE, Ccsid::LATIN_1) };
    let (q_mgr_ccsid, newline) = (Ccsid::LATIN_1, EbcdicNewline::Table);
    Wanted { encoding, ccsid, q_mgr_ccsid, buffer_length: usize::MAX, accept_truncated: false, newline }
}

#[test]
fn every_message_is_converted_and_comes_back() {
    for (format, coding, bytes) in fuzz::messages() {
        let ebcdic = coding.ccsid.is_ebcdic();
        let encoding = if coding.order == ByteOrder::Big { Encoding::BIG } else { Encoding::LITTLE };
        let of = Described { format, encoding, ccsid: coding.ccsid };
        let there = convert_message(of, &Bytes::from(bytes.clone()), &wanted(!ebcdic));
        assert_eq!(there.warning, Reason::NONE, "{format} in {coding:?}");
        let back = Wanted { encoding, ccsid: coding.ccsid, ..wanted(ebcdic) };
        let back = convert_message(there.described, &there.data, &back);
        assert_eq!(
            (back.warning, back.described, &back.data[..]),
            (Reason::NONE, of, &bytes[..]),
            "{format} in {coding:?}"
        );
    }
}

#[test]
fn every_cut_of_a_message_is_refused_or_harmless() {
    for (format, _, bytes) in fuzz::messages() {
        for length in 0..bytes.len() {
            fuzz::conversion_of(format, &bytes[..length]);
        }
        fuzz::conversion_of(format, &bytes);
    }
}

/// A sample with a few bytes changed, cut or lengthened.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let samples = all_samples();
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8);
    (0..samples.len(), changes, any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..8))
        .prop_map(move |(sample, changes, cut, more)| {
            let mut bytes = samples[sample].bytes.clone();
            for (place, value) in changes {
                let place = place.index(bytes.len());
                bytes[place] = value;
            }
            bytes.truncate(bytes.len() - cut.index(bytes.len()) / 2);
            bytes.extend(more);
            bytes
        })
}

/// Messages with headers one behind the other, with a few bytes changed.
fn chain() -> impl Strategy<Value = Vec<u8>> {
    let messages = fuzz::messages();
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (prop::collection::vec(0..messages.len(), 1..4), changes).prop_map(move |(chosen, changes)| {
        let mut bytes = Vec::new();
        for (at, chosen) in chosen.iter().enumerate() {
            let (_, _, message) = &messages[*chosen];
            // The text behind a header gives way to the next one.
            bytes.truncate(if at == 0 { 0 } else { bytes.len() - 8 });
            bytes.extend(message);
        }
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        bytes
    })
}

/// Something like folders, in two headers.
fn folder() -> impl Strategy<Value = Vec<u8>> {
    let token = prop::sample::select(vec![
        "<usr>",
        "</usr>",
        "<a>",
        "</a>",
        "<a dt='i4'>",
        "<b dt=\"r8\">",
        "</b>",
        "<c xsi:nil='true'/>",
        "<psc>",
        "</psc>",
        "<own content='properties'>",
        "</own>",
        "1",
        "x",
        " ",
        "&lt;",
        "&#65;",
        "&",
        "<",
        ">",
        "'",
        "ä",
    ]);
    let inner = prop_oneof![
        prop::collection::vec(token.clone(), 0..8).prop_map(|tokens| tokens.concat()),
        prop::collection::vec(token, 0..4).prop_map(|tokens| format!("<usr>{}</usr>", tokens.concat())),
        Just("<own content='properties'><a dt='i4'>1</a></own>".to_owned()),
        Just("<psc><Command>RegPub</Command></psc>".to_owned()),
    ];
    (prop::collection::vec(inner, 0..4), any::<bool>()).prop_map(|(folders, utf_16)| {
        let name_value_ccsid = if utf_16 { Ccsid::UTF_16 } else { Ccsid::UTF_8 };
        let header =
            Mqrfh2 { name_value_ccsid, folders, format: FormatName::RF_HEADER_2, ..Mqrfh2::default() };
        let mut out = BytesMut::new();
        header.encode(&mut Writer::new(&mut out, Coding::NATIVE));
        [&out[..], &out[..]].concat()
    })
}

/// A whole segment of any type with any body: random, or a sample after the API header.
fn segment() -> impl Strategy<Value = Vec<u8>> {
    let body = prop_oneof![prop::collection::vec(any::<u8>(), 0..600), mutated()];
    (any::<u8>(), 1..3_u8, any::<bool>(), body).prop_map(|(segment_type, order, call, body)| {
        let mut bytes = b"TSH \0\0\0\0".to_vec();
        bytes.extend([order, segment_type, 0x30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x22, 2, 0, 0, 0x33, 3, 0, 0]);
        if call {
            bytes.extend([0; 16]);
        }
        bytes.extend(body);
        let length = bytes.len() as u32;
        bytes[4..8].copy_from_slice(&length.to_be_bytes());
        bytes
    })
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        fuzz::segment(&bytes);
        fuzz::structures(&bytes);
        fuzz::text(&bytes);
        fuzz::conversion(&bytes);
        fuzz::properties(&bytes);
    }

    #[test]
    fn changed_samples_never_panic(bytes in mutated()) {
        fuzz::segment(&bytes);
        fuzz::structures(&bytes);
    }

    #[test]
    fn messages_of_any_headers_never_panic(bytes in chain()) {
        fuzz::conversion(&bytes);
        fuzz::properties(&bytes);
    }

    #[test]
    fn folders_of_any_text_never_panic(bytes in folder()) {
        fuzz::properties(&bytes);
        fuzz::conversion_of(FormatName::RF_HEADER_2, &bytes);
    }

    #[test]
    fn segments_of_any_type_never_panic(bytes in segment()) {
        fuzz::segment(&bytes);
    }
}
