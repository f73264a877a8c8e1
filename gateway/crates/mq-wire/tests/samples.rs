//! Every structure and body: round trip in every coding, every truncation refused, and no bytes that make it panic.

use mq_wire::fuzz;
use mq_wire::samples::{Sample, all_samples};
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

/// Structures of messages one behind the other, with a few bytes changed: chains of headers, and what is none.
fn chain() -> impl Strategy<Value = Vec<u8>> {
    let names = [
        "MQMDE",
        "MQXQH",
        "MQDLH",
        "MQTM version 1",
        "MQRFH2",
        "MQRFH",
        "MQRMH",
        "MQDH",
        "MQEPH",
        "PCF",
        "MQCIH",
    ];
    let samples: Vec<_> = all_samples().into_iter().filter(|sample| names.contains(&sample.name)).collect();
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (prop::collection::vec(0..samples.len(), 1..4), changes).prop_map(move |(chosen, changes)| {
        let mut bytes: Vec<u8> = chosen.iter().flat_map(|sample| samples[*sample].bytes.clone()).collect();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        bytes
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
    }

    #[test]
    fn changed_samples_never_panic(bytes in mutated()) {
        fuzz::segment(&bytes);
        fuzz::structures(&bytes);
    }

    #[test]
    fn messages_of_any_headers_never_panic(bytes in chain()) {
        fuzz::conversion(&bytes);
    }

    #[test]
    fn segments_of_any_type_never_panic(bytes in segment()) {
        fuzz::segment(&bytes);
    }
}
