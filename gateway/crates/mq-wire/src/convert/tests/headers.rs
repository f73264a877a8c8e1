//! Headers: each of them, chains of them, and what they say of what could not be converted.

use super::*;
use crate::Mqmde;

/// A header whose following data is MQSTR in its own form, given by these parts after the common 28 bytes.
fn common(id: &'static str, version: i32, rest: Vec<Part<'static>>) -> Vec<Part<'static>> {
    let length: usize = rest
        .iter()
        .map(|part| match part {
            I(_) => 4,
            T(text) => text.chars().count(),
            B(bytes) => bytes.len(),
        })
        .sum();
    let mut parts = vec![T(id), I(version), I(28 + length as i32)];
    parts.extend([I(0x111), I(-2), T("MQSTR   ")]);
    parts.extend(rest);
    parts
}

/// The parts with text behind them, converted as a whole. Encoding becomes 546 in the expected ones.
#[track_caller]
fn check(format: FormatName, parts: &[Part<'_>]) {
    let (mut big, mut little) = both(parts);
    big.extend(ebcdic("Grüße"));
    little.extend(b"Gr\xFC\xDFe");
    little[12..16].copy_from_slice(&0x222_i32.to_le_bytes());
    let found = converted(format, &big);
    assert_eq!(found.warning, Reason::NONE, "{format}");
    assert_eq!(found.described, described(format, LITTLE, L));
    assert_eq!(found.data, little, "{format}");
    // Every proper prefix is returned as it was, or cut within the text.
    let header = big.len() - 5;
    for length in 1..header {
        let found = converted(format, &big[..length]);
        assert_ne!(found.warning, Reason::NONE, "{format} cut at {length}");
        assert_eq!(found.data, big[..length]);
        assert_eq!(found.described, described(format, BIG, E));
    }
}

#[test]
fn a_dead_letter_and_its_data() {
    let header = dlh(BIG, E, FormatName::STRING);
    let mut data = written(coding(BIG, E), |writer| header.encode(writer));
    data.extend(ebcdic("ab"));
    let found = converted(FormatName::DEAD_LETTER_HEADER, &data);
    let expected = dlh(LITTLE, L, FormatName::STRING);
    let mut whole = written(Coding::NATIVE, |writer| expected.encode(writer));
    whole.extend(b"ab");
    assert_eq!((&found.data[..], found.warning), (&whole[..], Reason::NONE));
    assert_eq!(found.described, described(FormatName::DEAD_LETTER_HEADER, LITTLE, L));
}

#[test]
fn data_that_cannot_be_converted_is_described_by_the_header_before_it() {
    for (ccsid, format, reason) in [
        (E, FormatName::NONE, Reason::FORMAT_ERROR),
        (Ccsid(943), FormatName::STRING, Reason::SOURCE_CCSID_ERROR),
        (Ccsid::INHERIT, FormatName::cut("MINE"), Reason::FORMAT_ERROR),
    ] {
        let header = dlh(BIG, ccsid, format);
        let mut data = written(coding(BIG, E), |writer| header.encode(writer));
        data.extend(b"\x01\x02");
        let found = converted(FormatName::DEAD_LETTER_HEADER, &data);
        // Inherited from a header that is not in that set any more.
        let ccsid = if ccsid == Ccsid::INHERIT { E } else { ccsid };
        let expected = dlh(BIG, ccsid, format);
        let mut whole = written(Coding::NATIVE, |writer| expected.encode(writer));
        whole.extend(b"\x01\x02");
        assert_eq!((&found.data[..], found.warning), (&whole[..], reason), "{ccsid:?}");
        assert_eq!(found.described, described(FormatName::DEAD_LETTER_HEADER, LITTLE, L));
    }
}

#[test]
fn only_the_data_may_need_it() {
    let header = dlh(BIG, E, FormatName::STRING);
    let mut data = written(Coding::NATIVE, |writer| header.encode(writer));
    data.extend(ebcdic("ab"));
    let of = described(FormatName::DEAD_LETTER_HEADER, LITTLE, L);
    let found = convert_message(of, &Bytes::from(data), &wanted(LITTLE, L));
    let expected = dlh(LITTLE, L, FormatName::STRING);
    let mut whole = written(Coding::NATIVE, |writer| expected.encode(writer));
    whole.extend(b"ab");
    assert_eq!((&found.data[..], found.warning, found.described), (&whole[..], Reason::NONE, of));
}

#[test]
fn a_broken_header_is_not_of_its_format() {
    for format in [
        FormatName::MD_EXTENSION,
        FormatName::DEAD_LETTER_HEADER,
        FormatName::XMIT_Q_HEADER,
        FormatName::RF_HEADER,
        FormatName::RF_HEADER_2,
        FormatName::IMS,
        FormatName::CICS,
        FormatName::WORK_INFO_HEADER,
        FormatName::REF_MSG_HEADER,
        FormatName::DIST_HEADER,
        FormatName::EMBEDDED_PCF,
        FormatName::TRIGGER,
        FormatName::ADMIN,
        FormatName::EVENT,
        FormatName::PCF,
        FormatName::IMS_VAR_STRING,
    ] {
        for data in [&[0; 1][..], &[0x55; 700], &[0xFF; 700]] {
            let found = converted(format, data);
            assert_eq!((found.warning, &found.data[..]), (Reason::FORMAT_ERROR, data), "{format}");
            assert_eq!(found.described, described(format, BIG, E));
        }
    }
}

#[test]
fn a_chain_of_headers() {
    let inner =
        Mqmde { encoding: BIG, ccsid: Ccsid::INHERIT, format: FormatName::STRING, ..Mqmde::default() };
    let outer = dlh(BIG, E, FormatName::MD_EXTENSION);
    let mut data = written(coding(BIG, E), |writer| outer.encode(writer));
    data.extend(written(coding(BIG, E), |writer| inner.encode(writer)));
    data.extend(ebcdic("x"));
    let found = converted(FormatName::DEAD_LETTER_HEADER, &data);
    let mut whole = written(Coding::NATIVE, |writer| dlh(LITTLE, L, FormatName::MD_EXTENSION).encode(writer));
    whole
        .extend(written(Coding::NATIVE, |writer| Mqmde { encoding: LITTLE, ..inner.clone() }.encode(writer)));
    whole.extend(b"x");
    assert_eq!((&found.data[..], found.warning), (&whole[..], Reason::NONE));
    // The second is broken: the first describes it as it was.
    data[172] = 0;
    let found = converted(FormatName::DEAD_LETTER_HEADER, &data);
    let mut whole = written(Coding::NATIVE, |writer| outer.encode(writer));
    whole.extend(&data[172..]);
    assert_eq!((&found.data[..], found.warning), (&whole[..], Reason::FORMAT_ERROR));
}

#[test]
fn a_transmission_queue_header_describes_by_its_descriptor() {
    let md = |encoding, ccsid| Mqmd {
        encoding,
        ccsid,
        format: FormatName::STRING,
        msg_id: crate::MsgId([0xC1; 24]),
        reply_to_q: QName::new("REPLY").unwrap(),
        ..Mqmd::default()
    };
    let xqh = |encoding, ccsid| Mqxqh {
        remote_q_name: QName::new("ORDERS.IN").unwrap(),
        msg_desc: md(encoding, ccsid),
        ..Mqxqh::default()
    };
    let mut data = written(coding(BIG, E), |writer| xqh(BIG, Ccsid(37)).encode(writer));
    data.extend(b"\xBA\xBB");
    let found = converted(FormatName::XMIT_Q_HEADER, &data);
    let mut whole = written(Coding::NATIVE, |writer| xqh(LITTLE, L).encode(writer));
    whole.extend(b"[]");
    assert_eq!((&found.data[..], found.warning), (&whole[..], Reason::NONE));
}

#[test]
fn headers_of_fixed_length() {
    let blank = "        ";
    check(
        FormatName::WORK_INFO_HEADER,
        &common(
            "WIH ",
            1,
            vec![
                I(7),
                T("service.name.of.32.characters..."),
                T("step    "),
                B(&[0xC1; 16]),
                T(blank),
                T(blank),
                T(blank),
                T("reserved"),
            ],
        ),
    );
    let names =
        vec![I(0), T("LTERM   "), T("MFSMAP  "), T("MQSTR   "), T("PASSWORD"), B(&[0xC1; 16]), T(" 0C ")];
    let (big, mut little) = both(&common("IIH ", 1, names));
    let found = converted(FormatName::IMS, &[&big[..], &ebcdic("x")].concat());
    // What follows has the form of the header; the fields that would say so are reserved.
    little.extend(b"x");
    assert_eq!((&found.data[..], found.warning), (&little[..], Reason::NONE));
    for (version, more) in [(1, vec![]), (2, vec![I(1), I(2), I(3), I(0)])] {
        let mut parts = vec![I(1)];
        parts.extend((0..11).map(I));
        parts.extend([B(&[0xC1; 8]), T("MQPUABCDAUTHENTI"), T(blank), T("MQSTR   ")]);
        parts.extend([T("SYS1TRA1TRA2LIKEATTNSD  CANCNEXT"), T(blank), T(blank)]);
        parts.extend(more);
        let (big, mut little) = both(&common("CIH ", version, parts));
        assert_eq!(big.len(), if version == 1 { 164 } else { 180 });
        let found = converted(FormatName::CICS, &[&big[..], &ebcdic("x")].concat());
        little.extend(b"x");
        assert_eq!((&found.data[..], found.warning), (&little[..], Reason::NONE), "version {version}");
    }
}

#[test]
fn a_header_that_cannot_describe_what_follows_stays_with_it() {
    let names =
        vec![I(0), T("LTERM   "), T("MFSMAP  "), T("MQSTR   "), T("PASSWORD"), B(&[0xC1; 16]), T(" 0C ")];
    let (mut iih, _) = both(&common("IIH ", 1, names));
    iih[20..28].copy_from_slice(&ebcdic("MINE    "));
    iih.extend(b"\x01\x02");
    let found = converted(FormatName::IMS, &iih);
    let expected = described(FormatName::IMS, BIG, E);
    assert_eq!((&found.data[..], found.warning, found.described), (&iih[..], Reason::FORMAT_ERROR, expected));
    let header = dlh(BIG, E, FormatName::IMS);
    let data = [written(coding(BIG, E), |writer| header.encode(writer)), iih.clone()].concat();
    let found = converted(FormatName::DEAD_LETTER_HEADER, &data);
    let whole = [written(Coding::NATIVE, |writer| header.encode(writer)), iih].concat();
    assert_eq!((&found.data[..], found.warning), (&whole[..], Reason::FORMAT_ERROR));
}

#[test]
fn headers_with_more_behind_their_fixed_part() {
    check(FormatName::RF_HEADER, &common("RFH ", 1, vec![I(0), T("MQPSCommand RegPub  ")]));
    let rfh2 = vec![I(0), I(1208), I(8), B(b"<usr/>  "), I(4), B(b"\x01\x02\x03\x04")];
    check(FormatName::RF_HEADER_2, &common("RFH ", 2, rfh2));
    let rmh = vec![
        I(0),
        T("FLATFILE"),
        B(&[0xC1; 24]),
        I(3),
        I(108),
        I(4),
        I(112),
        I(0),
        I(0),
        I(2),
        I(116),
        I(0),
        I(0),
        I(0),
        T("env"),
        B(&[0]),
        T("name"),
        T("ds"),
        B(&[0, 0]),
    ];
    check(FormatName::REF_MSG_HEADER, &common("RMH ", 1, rmh));
    let dh = vec![
        // Two objects at 48, records of MsgId and feedback at 240.
        I(0),
        I(9),
        I(2),
        I(48),
        I(240),
        T("Q1                                              "),
        T("QM1                                             "),
        T("Q2                                              "),
        T("QM2                                             "),
        B(&[0xC1; 24]),
        I(5),
        B(&[0xC2; 24]),
        I(6),
    ];
    check(FormatName::DIST_HEADER, &common("DH  ", 1, dh));
    let eph = vec![
        I(0),
        I(1),
        I(36),
        I(3),
        I(1),
        I(1),
        I(1),
        I(0),
        I(0),
        I(1),
        I(4),
        I(24),
        I(2016),
        I(0),
        I(4),
        T("QQQ1"),
    ];
    check(FormatName::EMBEDDED_PCF, &common("EPH ", 1, eph));
}

#[test]
fn strings_behind_the_fixed_part_grow() {
    let (big, _) = both(&common("RFH ", 1, vec![I(0), T("Größe 1 ")]));
    let of = described(FormatName::RF_HEADER, BIG, E);
    let found =
        convert_message(of, &Bytes::from([&big[..], &ebcdic("ä")].concat()), &wanted(LITTLE, Ccsid::UTF_8));
    assert_eq!(found.warning, Reason::NONE);
    assert_eq!(found.data[8..12], 44_i32.to_le_bytes());
    assert_eq!(found.data[32..], *"Größe 1   ä".as_bytes());
    let rmh = vec![
        I(0),
        T("FLATFILE"),
        B(&[0xC1; 24]),
        I(3),
        I(108),
        I(0),
        I(0),
        I(1),
        I(111),
        I(0),
        I(0),
        I(0),
        I(0),
        I(0),
        T("äbc"),
        T("z"),
    ];
    let (big, _) = both(&common("RMH ", 1, rmh));
    let of = described(FormatName::REF_MSG_HEADER, BIG, E);
    let found = convert_message(of, &Bytes::from(big), &wanted(LITTLE, Ccsid::UTF_8));
    assert_eq!(found.warning, Reason::NONE);
    assert_eq!(found.data[8..12], 116_i32.to_le_bytes());
    assert_eq!(found.data[64..72], [4, 0, 0, 0, 108, 0, 0, 0]);
    assert_eq!(found.data[80..88], [1, 0, 0, 0, 112, 0, 0, 0]);
    assert_eq!(found.data[108..], *"äbcz   ".as_bytes());
}

#[test]
fn a_fixed_field_gives_up_blanks_and_no_more() {
    let mut header = dlh(LITTLE, L, FormatName::STRING);
    header.put_appl_name = crate::Chars::cut("Größe");
    let data = written(Coding::NATIVE, |writer| header.encode(writer));
    let of = described(FormatName::DEAD_LETTER_HEADER, LITTLE, L);
    let found = convert_message(of, &Bytes::from(data), &wanted(LITTLE, Ccsid::UTF_8));
    assert_eq!((found.data.len(), found.warning), (172, Reason::NONE));
    assert_eq!(found.data[128..156], *"Größe                     ".as_bytes());
    header.put_appl_name = crate::Chars::cut(&"ä".repeat(28));
    let data = Bytes::from(written(Coding::NATIVE, |writer| header.encode(writer)));
    let found = convert_message(of, &data, &wanted(LITTLE, Ccsid::UTF_8));
    assert_eq!(found, Converted { described: of, data, warning: Reason::CONVERTED_STRING_TOO_BIG });
}

#[test]
fn headers_do_not_go_to_utf_16() {
    let header = dlh(BIG, E, FormatName::STRING);
    let mut data = written(coding(BIG, E), |writer| header.encode(writer));
    data.extend(ebcdic("a"));
    let of = described(FormatName::DEAD_LETTER_HEADER, BIG, E);
    let found = convert_message(of, &Bytes::from(data.clone()), &wanted(BIG, Ccsid(1200)));
    let mut whole =
        written(Coding::NATIVE, |writer| dlh(BIG, Ccsid(1200), FormatName::STRING).encode(writer));
    whole.extend(b"\0a");
    assert_eq!((&found.data[..], found.warning), (&whole[..], Reason::PARTIALLY_CONVERTED));
    assert_eq!(found.described, described(FormatName::DEAD_LETTER_HEADER, LITTLE, L));
    let of = described(FormatName::DEAD_LETTER_HEADER, BIG, Ccsid(1200));
    let found = convert_message(of, &Bytes::from(data), &wanted(LITTLE, L));
    assert_eq!((found.described, found.warning), (of, Reason::SOURCE_CCSID_ERROR));
}

#[test]
fn folders_keep_their_set_and_follow_the_byte_order() {
    let parts = common("RFH ", 2, vec![I(0), I(1200), I(4), B(b"\0<\0/")]);
    let (mut big, _) = both(&parts);
    big.extend(ebcdic("a"));
    let found = converted(FormatName::RF_HEADER_2, &big);
    assert_eq!((&found.data[40..], found.warning), (&b"<\0/\0a"[..], Reason::NONE));
}
