//! Commands, trigger messages and strings for IMS.

use super::*;
use crate::Mqtm;

#[test]
fn a_trigger_message() {
    let tm = Mqtm {
        q_name: QName::new("Q1").unwrap(),
        trigger_data: crate::Chars::cut("data"),
        appl_type: crate::ApplType::UNIX,
        appl_id: crate::Chars::cut("/bin/true"),
        ..Mqtm::default()
    };
    let found = converted(FormatName::TRIGGER, &written(coding(BIG, E), |writer| tm.encode(writer)));
    assert_eq!(
        (&found.data[..], found.warning),
        (&written(Coding::NATIVE, |writer| tm.encode(writer))[..], Reason::NONE)
    );
}

#[test]
fn strings_for_ims() {
    let data = [b"\0\x06\0\0".to_vec(), ebcdic("ab"), b"\0\x05\x01\x02".to_vec(), ebcdic("ü")].concat();
    let found = converted(FormatName::IMS_VAR_STRING, &data);
    assert_eq!((&found.data[..], found.warning), (&b"\x06\0\0\0ab\x05\0\x01\x02\xFC"[..], Reason::NONE));
    let of = described(FormatName::IMS_VAR_STRING, BIG, E);
    let found = convert_message(of, &Bytes::from(data.clone()), &wanted(BIG, Ccsid::UTF_8));
    assert_eq!(found.data[6..], *"\0\x06\x01\x02ü".as_bytes());
    for length in [1, 5, 7, 9, 10] {
        let found = converted(FormatName::IMS_VAR_STRING, &data[..length]);
        assert_eq!((found.data.len(), found.warning), (length, Reason::FORMAT_ERROR), "{length}");
    }
}

/// A command of these parameters.
fn command(count: i32, parameters: &[Part<'_>]) -> (Vec<u8>, Vec<u8>) {
    let (mut big, mut little) = both(&[I(1), I(36), I(3), I(13), I(1), I(1), I(0), I(0), I(count)]);
    let (more_big, more_little) = both(parameters);
    big.extend(more_big);
    little.extend(more_little);
    (big, little)
}

#[test]
fn every_kind_of_parameter() {
    let parts = [
        I(3),
        I(16),
        I(20),
        I(-1),
        I(4),
        I(24),
        I(2016),
        I(0),
        I(3),
        T("Q1*"),
        B(&[0]),
        I(5),
        I(24),
        I(1002),
        I(2),
        I(7),
        I(8),
        I(6),
        I(32),
        I(3011),
        I(0),
        I(2),
        I(4),
        T("Q1  Q2  "),
        I(9),
        I(20),
        I(7001),
        I(4),
        B(b"\xC1\x01\x02\x03"),
        // Filters.
        I(13),
        I(20),
        I(3),
        I(4),
        I(10),
        I(14),
        I(28),
        I(2016),
        I(18),
        I(0),
        I(3),
        T("Q* "),
        B(&[0]),
        I(15),
        I(24),
        I(7001),
        I(2),
        I(2),
        B(b"\xC1\xC2\0\0"),
        // A group of one, within a group of two.
        I(20),
        I(16),
        I(8001),
        I(2),
        I(3),
        I(16),
        I(20),
        I(1),
        I(20),
        I(16),
        I(8002),
        I(1),
        I(3),
        I(16),
        I(20),
        I(2),
    ];
    let (mut big, mut little) = command(11, &parts);
    // Numbers of eight bytes.
    for (out, order) in [(&mut big, BIG), (&mut little, LITTLE)] {
        let number = |value: i64| if order == BIG { value.to_be_bytes() } else { value.to_le_bytes() };
        let (head_big, head_little) = both(&[I(23), I(24), I(755), I(0)]);
        out.extend(if order == BIG { head_big } else { head_little });
        out.extend(number(1 << 40));
        let (head_big, head_little) = both(&[I(25), I(32), I(756), I(2)]);
        out.extend(if order == BIG { head_big } else { head_little });
        out.extend([number(-1), number(1)].concat());
    }
    for format in [FormatName::ADMIN, FormatName::EVENT, FormatName::PCF] {
        let found = converted(format, &big);
        assert_eq!((&found.data[..], found.warning), (&little[..], Reason::NONE), "{format}");
    }
    for length in 1..big.len() {
        let found = converted(FormatName::ADMIN, &big[..length]);
        assert_eq!((found.data.len(), found.warning), (length, Reason::FORMAT_ERROR), "cut at {length}");
    }
    big.push(0);
    assert_eq!(converted(FormatName::ADMIN, &big).warning, Reason::FORMAT_ERROR);
}

#[test]
fn strings_of_commands_grow_and_name_their_set() {
    let (big, _) = command(
        2,
        &[
            I(4),
            I(24),
            I(2016),
            I(500),
            I(3),
            T("aä "),
            B(&[0]),
            I(6),
            I(28),
            I(3011),
            I(0),
            I(2),
            I(2),
            T("üüab"),
        ],
    );
    let of = described(FormatName::ADMIN, BIG, E);
    let found = convert_message(of, &Bytes::from(big.clone()), &wanted(BIG, Ccsid::UTF_8));
    let mut expected = big[..36].to_vec();
    let (string, _) = both(&[I(4), I(24), I(2016), I(1208), I(4), B("aä ".as_bytes())]);
    let (list, _) = both(&[I(6), I(32), I(3011), I(0), I(2), I(4), B("üüab  ".as_bytes())]);
    expected.extend([string, list].concat());
    assert_eq!((&found.data[..], found.warning), (&expected[..], Reason::NONE));
    // Every string has to say it where the message does not.
    let of = described(FormatName::ADMIN, BIG, Ccsid::EMBEDDED);
    let data = Bytes::from(big);
    let found = convert_message(of, &data, &wanted(BIG, Ccsid::UTF_8));
    assert_eq!(found, Converted { described: of, data, warning: Reason::SOURCE_CCSID_ERROR });
    let (big, _) = command(1, &[I(4), I(24), I(2016), I(500), I(3), T("aä "), B(&[0])]);
    let found = convert_message(of, &Bytes::from(big), &wanted(BIG, Ccsid::UTF_8));
    assert_eq!((&found.data[36..], found.warning), (&expected[36..60], Reason::NONE));
    assert_eq!(found.described.ccsid, Ccsid::UTF_8);
}
