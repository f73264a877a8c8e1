//! Fields: canonical bytes, golden bytes, what is refused.

use bytes::Bytes;
use proptest::prelude::*;

use super::{DEPTH_MAX, FieldError, Fields, VALUES_MAX, Value};
use crate::DecodeErrorKind;

fn sample() -> Fields {
    let mut inner = Fields::new();
    inner.set("x", Value::Int(-2)).unwrap();
    let mut fields = Fields::new();
    let values = [
        ("bytes", Value::Bytes(Bytes::from_static(&[0, 255]))),
        ("ascii", Value::Ascii("text".to_owned())),
        ("unicode", Value::Unicode("gr\u{fc}n \u{1F600}".to_owned())),
        ("boolean", Value::Boolean(true)),
        ("byte", Value::Byte(200)),
        ("short", Value::Short(-1)),
        ("int", Value::Int(i32::MIN)),
        ("long", Value::Long(i64::MAX)),
        ("float", Value::Float(1.5)),
        ("double", Value::Double(-0.25)),
        ("array", Value::Array(vec![Value::Ascii("a".to_owned()), Value::Ascii(String::new())])),
        ("empty", Value::Array(vec![])),
        ("objects", Value::Array(vec![Value::Fields(inner.clone()), Value::Fields(Fields::new())])),
        ("inner", Value::Fields(inner)),
    ];
    for (name, value) in values {
        fields.set(name, value).unwrap();
    }
    fields
}

fn refused(bytes: &[u8], expected: &DecodeErrorKind) {
    let error = Fields::from_bytes(bytes).unwrap_err();
    assert_eq!(&error.kind, expected, "{error}");
}

#[test]
fn fields_round_trip_and_every_prefix_is_refused() {
    let bytes = sample().to_bytes();
    assert_eq!(Fields::from_bytes(&bytes), Ok(sample()));
    for length in 0..bytes.len() {
        assert!(Fields::from_bytes(&bytes[..length]).is_err(), "a prefix of {length}");
    }
    let longer = [&bytes[..], &[0]].concat();
    refused(&longer, &DecodeErrorKind::Trailing { left: 1 });
}

/// The layout of mqe.md 8.4, byte by byte.
#[test]
fn golden_bytes() {
    let mut fields = Fields::new();
    fields.set("b", Value::Short(258)).unwrap();
    fields.set("a", Value::Ascii("hi".to_owned())).unwrap();
    fields.set("c", Value::Array(vec![Value::Byte(1), Value::Byte(2)])).unwrap();
    let expected = [
        &[0, 3][..],                              // three fields, in the order of their names
        &[1, b'a', 0xC1, 0, 0, 0, 2, b'h', b'i'], // ascii behind its length
        &[1, b'b', 0xC5, 1, 2],                   // short as it stands
        &[1, b'c', 0xCA, 0, 0, 0, 2, 0xC4, 1, 2], // array: count, type of the elements, elements
    ]
    .concat();
    assert_eq!(fields.to_bytes(), expected);
}

#[test]
fn equal_objects_have_equal_bytes() {
    let mut names: Vec<String> = sample().iter().map(|(name, _)| name.to_owned()).collect();
    names.reverse();
    let mut other = Fields::new();
    for name in names {
        other.set(&name, sample().get(&name).unwrap().clone()).unwrap();
    }
    assert_eq!(other.to_bytes(), sample().to_bytes());
}

#[test]
fn what_is_not_canonical_is_refused() {
    let boolean = |name: u8| [1, name, 0xC3, 1];
    let two = |first, second| [&[0, 2][..], &boolean(first), &boolean(second)].concat();
    refused(&two(b'a', b'a'), &DecodeErrorKind::Order);
    refused(&two(b'b', b'a'), &DecodeErrorKind::Order);
    refused(&[0, 1, 1, b' ', 0xC3, 1], &DecodeErrorKind::Name);
    refused(&[0, 1, 1, b'=', 0xC3, 1], &DecodeErrorKind::Name);
    refused(&[0, 1, 0, 0xC3, 1], &DecodeErrorKind::Name);
    refused(&[0, 1, 1, b'a', 0xC3, 2], &DecodeErrorKind::Code { found: 2 });
    refused(&[0, 1, 1, b'a', 0xCC, 2], &DecodeErrorKind::Code { found: 0xCC });
    refused(&[0, 1, 1, b'a', 0xC1, 0, 0, 0, 1, 0x80], &DecodeErrorKind::Text);
    refused(&[0, 1, 1, b'a', 0xC2, 0, 0, 0, 1, 0], &DecodeErrorKind::Text);
    refused(&[0, 1, 1, b'a', 0xC2, 0, 0, 0, 2, 0xD8, 0], &DecodeErrorKind::Text);
    refused(&[0, 1, 1, b'a', 0xCA, 0, 0, 0, 0, 0xC4], &DecodeErrorKind::Code { found: 0xC4 });
    refused(&[0, 1, 1, b'a', 0xCA, 0, 0, 0, 1, 0xCA], &DecodeErrorKind::Code { found: 0xCA });
}

#[test]
fn lengths_and_counts_are_not_believed() {
    let long = [0, 1, 1, b'a', 0xC0, 255, 255, 255, 255, 1];
    refused(&long, &DecodeErrorKind::Truncated { needed: u32::MAX as usize, left: 1 });
    let mut many = vec![0, 1, 1, b'a', 0xCA, 0, 0, 255, 255, 0xC4];
    many.extend(vec![0; 65_535]);
    let max = VALUES_MAX as u64;
    refused(&many, &DecodeErrorKind::TooLarge { found: max + 1, max });
    // Objects in objects, deeper than any that can be set.
    let mut deep = vec![0, 0];
    for _ in 0..DEPTH_MAX {
        let length = u32::try_from(deep.len()).unwrap().to_be_bytes();
        deep = [&[0, 1, 1, b'a', 0xCB][..], &length, &deep].concat();
    }
    let max = DEPTH_MAX as u64;
    refused(&deep, &DecodeErrorKind::TooLarge { found: max + 1, max });
}

#[test]
fn what_cannot_be_encoded_cannot_be_set() {
    let mut fields = Fields::new();
    assert!(matches!(fields.set("a b", Value::Boolean(true)), Err(FieldError::Name { .. })));
    assert!(matches!(fields.set("", Value::Boolean(true)), Err(FieldError::Name { .. })));
    assert!(matches!(fields.set("a", Value::Ascii("\u{fc}".to_owned())), Err(FieldError::NotAscii { .. })));
    let mixed = Value::Array(vec![Value::Byte(1), Value::Short(1)]);
    assert!(matches!(fields.set("a", mixed), Err(FieldError::Mixed { .. })));
    let nested = Value::Array(vec![Value::Array(vec![])]);
    assert!(matches!(fields.set("a", nested), Err(FieldError::Mixed { .. })));
    let many = Value::Array(vec![Value::Byte(1); VALUES_MAX]);
    assert!(matches!(fields.set("a", many), Err(FieldError::TooLarge { .. })));
    let mut deep = Fields::new();
    for _ in 1..DEPTH_MAX {
        let mut outer = Fields::new();
        outer.set("a", Value::Fields(deep)).unwrap();
        deep = outer;
    }
    assert_eq!(Fields::from_bytes(&deep.to_bytes()), Ok(deep.clone()));
    assert!(matches!(fields.set("a", Value::Fields(deep)), Err(FieldError::TooLarge { .. })));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..8).prop_map(|bytes| Value::Bytes(bytes.into())),
        "[ -~]{0,8}".prop_map(Value::Ascii),
        "\\PC{0,8}".prop_map(Value::Unicode),
        any::<bool>().prop_map(Value::Boolean),
        any::<i64>().prop_map(Value::Long),
        proptest::collection::vec(any::<i32>().prop_map(Value::Int), 0..4).prop_map(Value::Array),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        proptest::collection::btree_map("[A-Za-z_.]{1,6}", inner, 0..4).prop_map(|map| {
            let mut fields = Fields::new();
            map.into_iter().for_each(|(name, value)| fields.set(&name, value).unwrap());
            Value::Fields(fields)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn any_fields_round_trip(value in value()) {
        let mut fields = Fields::new();
        fields.set("v", value).unwrap();
        prop_assert_eq!(Fields::from_bytes(&fields.to_bytes()), Ok(fields));
    }

    /// What is read is canonical: written again it is the same bytes.
    #[test]
    fn what_is_read_is_canonical(at in 0usize..300, flip in 1u8..=255) {
        let mut bytes = sample().to_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] ^= flip;
        if let Ok(fields) = Fields::from_bytes(&bytes) {
            prop_assert_eq!(&fields.to_bytes()[..], &bytes[..]);
        }
    }
}
