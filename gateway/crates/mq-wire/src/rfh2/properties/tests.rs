//! Messages with properties: read, written, and without them.

use proptest::prelude::*;

use super::*;

const TEXT: Described =
    Described { format: FormatName::STRING, encoding: Encoding::BIG, ccsid: Ccsid::UTF_8 };
const EBCDIC: Described =
    Described { format: FormatName::RF_HEADER_2, encoding: Encoding::BIG, ccsid: Ccsid(500) };

fn header(folders: &[&str], next: Described) -> Mqrfh2 {
    let folders = folders.iter().map(|&folder| folder.to_owned()).collect();
    Mqrfh2 { encoding: next.encoding, ccsid: next.ccsid, format: next.format, folders, ..Mqrfh2::default() }
}

fn written(of: Described, headers: &[Mqrfh2], body: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    for header in headers {
        header.encode(&mut Writer::new(&mut out, Coding::of(of.encoding, of.ccsid)));
    }
    out.extend_from_slice(body);
    out.freeze()
}

const JMS: [&str; 3] = [
    "<mcd><Msd>jms_text</Msd></mcd>",
    "<jms><Dst>queue:///Q1</Dst><Pri>4</Pri></jms>",
    "<usr><size dt='i8'>7</size><dim><w dt='r4'>1.5</w></dim></usr>",
];

#[test]
fn folders_of_properties_have_to_be_read() {
    let check = |folder: &str| check_folders(EBCDIC, &written(EBCDIC, &[header(&[folder], TEXT)], b"body"));
    for right in ["<usr><a>1</a></usr>", "<usr/>", "<psc>anything <goes</psc>", "<users><a></users>"] {
        assert_eq!(check(right), Ok(()), "{right}");
    }
    for wrong in ["<usr><a>1</usr>", "<jms", "<mcd><Msd>jms_text</Msd>", "<usr >a & b</usr>"] {
        assert_eq!(check(wrong), Err(Reason::RFH_FORMAT_ERROR), "{wrong}");
    }
}

#[test]
fn properties_of_a_jms_message() {
    let data = written(EBCDIC, &[header(&JMS, TEXT)], b"body");
    let properties = properties_of(EBCDIC, &data);
    assert_eq!(properties.len(), 5);
    for (name, value) in [
        ("mcd.Msd", PropertyValue::String("jms_text".to_owned())),
        ("jms.Pri", PropertyValue::String("4".to_owned())),
        ("size", PropertyValue::Int64(7)),
        ("usr.size", PropertyValue::Int64(7)),
        ("dim.w", PropertyValue::Float32(1.5)),
    ] {
        assert_eq!(properties.get(name), Some(&value), "{name}");
    }
    assert_eq!(properties.get("none"), None);
    assert!(has_compatible(EBCDIC, &data));
    assert!(!has_compatible(EBCDIC, &written(EBCDIC, &[header(&["<usr/>"], TEXT)], b"body")));
    assert_eq!(properties_length(EBCDIC, &data), data.len() - 4);
    let (of, rest) = without_properties(EBCDIC, &data);
    assert_eq!((of, &rest[..]), (TEXT, &b"body"[..]));
    // No copy.
    assert_eq!(rest.as_ptr(), data[data.len() - 4..].as_ptr());
}

#[test]
fn what_is_inherited_stays_what_it_was() {
    let next = Described { ccsid: Ccsid::INHERIT, ..TEXT };
    let data = written(EBCDIC, &[header(&JMS, next)], b"\x82");
    let (of, rest) = without_properties(EBCDIC, &data);
    assert_eq!((of, &rest[..]), (Described { ccsid: Ccsid(500), ..TEXT }, &b"\x82"[..]));
}

#[test]
fn folders_that_are_no_properties_stay() {
    let commands = "<psc><Command>RegPub</Command></psc> ";
    let data = written(EBCDIC, &[header(&[JMS[0], commands, JMS[2]], TEXT)], b"body");
    assert_eq!(properties_length(EBCDIC, &data), 0);
    assert_eq!(properties_of(EBCDIC, &data).len(), 3);
    let (of, rest) = without_properties(EBCDIC, &data);
    assert_eq!((of, rest), (EBCDIC, written(EBCDIC, &[header(&[commands], TEXT)], b"body")));
    for folders in [&[commands][..], &[], &["<own><a>1</a></own>"]] {
        let data = written(EBCDIC, &[header(folders, TEXT)], b"body");
        let (of, rest) = without_properties(EBCDIC, &data);
        assert_eq!((of, rest.as_ptr()), (EBCDIC, data.as_ptr()));
        assert_eq!((properties_length(EBCDIC, &data), properties_of(EBCDIC, &data).is_empty()), (0, true));
    }
}

#[test]
fn several_headers_one_behind_the_other() {
    let commands = "<psc><Command>RegPub</Command></psc> ";
    let own = "<own content='properties'><a>1</a></own>";
    let chain = [header(&JMS, EBCDIC), header(&[commands], EBCDIC), header(&[own], TEXT)];
    let data = written(EBCDIC, &chain, b"body");
    assert_eq!(properties_of(EBCDIC, &data).len(), 6);
    let first = written(EBCDIC, &chain[..1], b"").len();
    assert_eq!(properties_length(EBCDIC, &data), first);
    // The one in the middle is left, and describes the data.
    let (of, rest) = without_properties(EBCDIC, &data);
    assert_eq!((of, rest), (EBCDIC, written(EBCDIC, &[header(&[commands], TEXT)], b"body")));
    let chain = [header(&JMS, EBCDIC), header(&[own], TEXT)];
    let data = written(EBCDIC, &chain, b"body");
    assert_eq!(properties_length(EBCDIC, &data), data.len() - 4);
    assert_eq!(without_properties(EBCDIC, &data), (TEXT, Bytes::from_static(b"body")));
}

#[test]
fn a_header_that_cannot_be_read_is_data() {
    let data = written(EBCDIC, &[header(&JMS, TEXT)], b"");
    for length in 0..data.len() {
        let cut = data.slice(..length);
        assert_eq!(properties_length(EBCDIC, &cut), 0, "{length}");
        assert!(properties_of(EBCDIC, &cut).is_empty(), "{length}");
        assert_eq!(without_properties(EBCDIC, &cut), (EBCDIC, cut.clone()), "{length}");
    }
    for folder in ["<usr><a dt='i4'>x</a></usr>", "<usr>", "usr", ""] {
        let data = written(EBCDIC, &[header(&[folder], TEXT)], b"body");
        assert_eq!(without_properties(EBCDIC, &data), (EBCDIC, data.clone()), "{folder}");
    }
    // Another format, or a header in another form than is said.
    assert_eq!(properties_length(TEXT, &data), 0);
    assert_eq!(properties_length(Described { encoding: Encoding::LITTLE, ..EBCDIC }, &data), 0);
    assert_eq!(properties_length(Described { ccsid: Ccsid::LATIN_1, ..EBCDIC }, &data), 0);
}

#[test]
fn what_is_written() {
    let mut properties = Properties::default();
    properties.set("a", PropertyValue::String("<1>".to_owned())).unwrap();
    properties.set("usr.d", PropertyValue::Bytes(vec![1, 0xAB])).unwrap();
    properties.set("app.b.c", PropertyValue::Null).unwrap();
    properties.set("a", PropertyValue::Boolean(true)).unwrap();
    let (of, data) = rfh2_of(&properties, TEXT, &Bytes::from_static(b"body"));
    assert_eq!(
        of,
        Described { format: FormatName::RF_HEADER_2, encoding: Encoding::LITTLE, ccsid: Ccsid::UTF_8 }
    );
    let nil = "xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'";
    let own = format!("<app {nil} content='properties'><b><c xsi:nil='true'></c></b></app>");
    let expected = header(&["<usr><a dt='boolean'>1</a><d dt='bin.hex'>01AB</d></usr>", &own], TEXT);
    assert_eq!(data, written(of, &[expected], b"body"));
    assert_eq!(properties_of(of, &data), properties);
    assert_eq!(without_properties(of, &data), (TEXT, Bytes::from_static(b"body")));
    let none = rfh2_of(&Properties::default(), TEXT, &data);
    assert_eq!(none, (TEXT, data));
}

#[test]
fn names_of_properties() {
    for name in ["a", "colour", "Größe", "_a", "$a", "a1", "app.b.c", "jms.Pri", "inside", "usr.a"] {
        assert_eq!(check_property_name(name), Ok(()), "{name}");
    }
    use PropertyNameError::{Character, Empty, Keyword, Reserved};
    for (name, error) in [
        ("", Empty),
        ("a.", Empty),
        (".a", Empty),
        ("a..b", Empty),
        ("1a", Character { found: '1' }),
        ("a b", Character { found: ' ' }),
        ("a<", Character { found: '<' }),
        ("not", Keyword),
        ("Like", Keyword),
        ("JMSPriority", Reserved),
        ("usr.JMSXGroupID", Reserved),
        ("MQa", Reserved),
        ("mq.a", Reserved),
    ] {
        assert_eq!(check_property_name(name), Err(error), "{name}");
    }
    assert_eq!(check_property_name(&"a".repeat(4095)), Ok(()));
    assert!(check_property_name(&"a".repeat(4096)).is_err());
    assert!(Properties::default().set("a b", PropertyValue::Null).is_err());
}

fn value() -> impl Strategy<Value = PropertyValue> {
    prop_oneof![
        Just(PropertyValue::Null),
        any::<bool>().prop_map(PropertyValue::Boolean),
        any::<i8>().prop_map(PropertyValue::Int8),
        any::<i16>().prop_map(PropertyValue::Int16),
        any::<i32>().prop_map(PropertyValue::Int32),
        any::<i64>().prop_map(PropertyValue::Int64),
        any::<f32>().prop_map(PropertyValue::Float32),
        any::<f64>().prop_map(PropertyValue::Float64),
        prop::collection::vec(any::<u8>(), 0..8).prop_map(PropertyValue::Bytes),
        any::<String>().prop_map(PropertyValue::String),
    ]
}

proptest! {
    #[test]
    fn properties_come_back(
        list in prop::collection::vec(("(app\\.|own\\.|usr\\.)?[a-l][a-zA-Z0-9_]{0,4}(\\.x[a-z]{0,2}){0,2}", value()), 0..8),
        ccsid in prop::sample::select(vec![819, 1208, 500, 1200, 943]),
        body in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut properties = Properties::default();
        for (name, value) in list {
            // A short name may be a word of selectors.
            _ = properties.set(&name, value);
        }
        let of = Described { ccsid: Ccsid(ccsid), ..TEXT };
        let body = Bytes::from(body);
        let (described, data) = rfh2_of(&properties, of, &body);
        let found = properties_of(described, &data);
        prop_assert_eq!(found.len(), properties.len());
        for property in properties.iter() {
            prop_assert_eq!(found.get(&property.full_name()), Some(&property.value), "{}", property.full_name());
        }
        prop_assert_eq!(without_properties(described, &data), (of, body));
    }
}
