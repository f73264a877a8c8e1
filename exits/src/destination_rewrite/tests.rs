//! Every row of the table of mq-objects.md 10.6, the properties named below it, and the exit around the rule.

use bytes::BytesMut;
use mq_wire::{Ccsid, Chars, Coding, Encoding, Field, Mqmd, Mqxqh, Writer};
use proptest::prelude::*;

use super::*;
use crate::{InitContext, Origin};

const REWRITTEN: Outcome = Outcome::Rewritten { truncated: false };

fn for_all() -> RewriteOptions {
    RewriteOptions { only_if_qmgr: OnlyIfQMgr::Any, ..RewriteOptions::default() }
}

fn header_in(coding: Coding, q: &[u8], q_mgr: &str) -> Vec<u8> {
    let mut out = BytesMut::new();
    let header = Mqxqh { remote_q_mgr_name: QMgrName(Chars::cut(q_mgr)), ..Mqxqh::default() };
    header.encode(&mut Writer::new(&mut out, coding));
    let mut name = BytesMut::new();
    Chars::<48>::BLANK.write(&mut name, coding);
    name[..q.len()].copy_from_slice(q);
    out[8..56].copy_from_slice(&name);
    out.to_vec()
}

fn header(q: &str, q_mgr: &str) -> Vec<u8> {
    header_in(Coding::NATIVE, q.as_bytes(), q_mgr)
}

/// Names of a header, trimmed.
fn names(bytes: &[u8], coding: Coding) -> (String, String) {
    let read = |at: usize| Chars::<48>::read(&bytes[at..at + 48], coding).text();
    (read(8), read(56))
}

/// Rewrites, and holds the properties that hold for every row.
fn rewritten(before: &[u8], options: &RewriteOptions) -> (Outcome, Vec<u8>) {
    let mut after = before.to_vec();
    let outcome = rewrite(&mut after, options, &[]);
    assert_eq!(before.len(), after.len());
    if !matches!(outcome, Outcome::Rewritten { .. }) {
        assert_eq!(before, after, "unchanged is byte-identical");
    }
    (outcome, after)
}

fn check(case: &str, options: &RewriteOptions, q: &str, q_mgr: &str, expected: (Outcome, &str, &str)) {
    let (outcome, after) = rewritten(&header(q, q_mgr), options);
    let (q_after, q_mgr_after) = names(&after, Coding::NATIVE);
    assert_eq!((outcome, q_after.as_str(), q_mgr_after.as_str()), expected, "{case}");
}

#[test]
fn acceptance_13_table_of_names() {
    let full = |first: &str, count: usize, rest: &str| format!("{}{rest}", first.repeat(count));
    let bad = Outcome::BadName;
    let (queue_40, queue_48) = (full("Q", 40, ""), full("Q", 48, ""));
    let separator_last = full("Q", 47, "%");
    let inside = full("Q", 40, "%DEVICE7");
    let longest = format!("Q%{}", "D".repeat(46));
    let device_46 = "D".repeat(46);
    let long_device = format!("I%{}", "D".repeat(40));
    let sep = for_all();
    let prefix = RewriteOptions { prefix: "DEV".into(), ..for_all() };
    let long_prefix = RewriteOptions { prefix: "P".repeat(10), ..for_all() };
    let swapped = RewriteOptions { order: Order::QMgrThenQueue, ..for_all() };
    #[rustfmt::skip]
    let rows: &[(&str, &RewriteOptions, &str, &str, Outcome, &str, &str)] = &[
        ("normal", &sep, "INBOX%DEV00042", "GW1", REWRITTEN, "INBOX", "DEV00042"),
        ("no separator", &sep, "INBOX", "GW1", Outcome::NoSeparator, "INBOX", "GW1"),
        ("separator first", &sep, "%DEV1", "GW1", Outcome::EmptyQueue, "%DEV1", "GW1"),
        ("separator last", &sep, "INBOX%", "GW1", Outcome::EmptyQMgr, "INBOX%", "GW1"),
        ("separator at position 48", &sep, &separator_last, "GW1", Outcome::EmptyQMgr, &separator_last, "GW1"),
        ("only separator", &sep, "%", "GW1", Outcome::EmptyQueue, "%", "GW1"),
        ("two separators", &sep, "A%B%C", "GW1", REWRITTEN, "A", "B%C"),
        ("full 48 bytes, separator inside", &sep, &inside, "GW1", REWRITTEN, &queue_40, "DEVICE7"),
        ("full 48, no separator", &sep, &queue_48, "GW1", Outcome::NoSeparator, &queue_48, "GW1"),
        ("longest device", &sep, &longest, "GW1", REWRITTEN, "Q", &device_46),
        ("separator in gateway name only", &sep, "INBOX", "GATE%WAY", Outcome::NoSeparator, "INBOX", "GATE%WAY"),
        ("blank inside device part", &sep, "INBOX%DEV 42", "GW1", bad(Part::QMgr), "INBOX%DEV 42", "GW1"),
        ("blank right after separator", &sep, "INBOX% DEV42", "GW1", bad(Part::QMgr), "INBOX% DEV42", "GW1"),
        ("blank before separator", &sep, "IN BOX%DEV42", "GW1", bad(Part::Queue), "IN BOX%DEV42", "GW1"),
        ("blanks directly before separator", &sep, "INBOX  %DEV42", "GW1", REWRITTEN, "INBOX", "DEV42"),
        ("NUL in field", &sep, "INBOX%D\0JUNK", "GW1", REWRITTEN, "INBOX", "D"),
        ("lower case", &sep, "inbox%dev1", "GW1", REWRITTEN, "inbox", "dev1"),
        ("other separator", &sep, "INBOX/DEV1", "GW1", Outcome::NoSeparator, "INBOX/DEV1", "GW1"),
        ("prefix", &prefix, "INBOX%00042", "GW1", REWRITTEN, "INBOX", "DEV00042"),
        ("prefix is not guessed", &prefix, "INBOX%DEV00042", "GW1", REWRITTEN, "INBOX", "DEVDEV00042"),
        ("prefix too long", &long_prefix, &long_device, "GW1", Outcome::NameTooLong, &long_device, "GW1"),
        ("order option", &swapped, "DEV1%INBOX", "GW1", REWRITTEN, "INBOX", "DEV1"),
    ];
    for (case, options, q, q_mgr, outcome, q_after, q_mgr_after) in rows {
        check(case, options, q, q_mgr, (*outcome, q_after, q_mgr_after));
    }
}

#[test]
fn options_beside_the_table() {
    let missing = RewriteOptions { prefix: "DEV".into(), prefix_if_missing: true, ..for_all() };
    check("prefix there", &missing, "Q%DEV7", "GW1", (REWRITTEN, "Q", "DEV7"));
    check("prefix missing", &missing, "Q%7", "GW1", (REWRITTEN, "Q", "DEV7"));
    let suffix = RewriteOptions { suffix: ".QM".into(), ..for_all() };
    check("suffix", &suffix, "Q%7", "GW1", (REWRITTEN, "Q", "7.QM"));
    let lenient = RewriteOptions { strict: false, ..for_all() };
    check("not strict", &lenient, "IN BOX%DEV 42", "GW1", (REWRITTEN, "IN BOX", "DEV 42"));
    let slash = RewriteOptions { separator: b'/', ..for_all() };
    check("published separator", &slash, "INBOX/DEV1", "GW1", (REWRITTEN, "INBOX", "DEV1"));
    let zeros = RewriteOptions { blank_fill: false, ..for_all() };
    let (outcome, after) = rewritten(&header("Q%D", "GW1"), &zeros);
    assert_eq!((outcome, &after[8..11], &after[56..59]), (REWRITTEN, &b"Q\0\0"[..], &b"D\0\0"[..]));
}

#[test]
fn only_for_the_names_that_are_looked_at() {
    let own = [QMgrName::new("GATE1").unwrap(), QMgrName::new("GATE1.ALIAS").unwrap()];
    let run = |q_mgr: &str, options: &RewriteOptions| rewrite(&mut header("Q%D", q_mgr), options, &own);
    let default = RewriteOptions::default();
    assert_eq!(run("GATE1", &default), REWRITTEN);
    assert_eq!(run("GATE1.ALIAS", &default), REWRITTEN);
    assert_eq!(run("gate1", &default), Outcome::NotAddressed);
    assert_eq!(run("DEV7", &default), Outcome::NotAddressed);
    let named = RewriteOptions::from_data("only_if_qmgr=GW8|GW9").unwrap();
    assert_eq!(run("GW9", &named), REWRITTEN);
    assert_eq!(run("GATE1", &named), Outcome::NotAddressed);
    let mut ebcdic = header_in(EBCDIC, &[0xD8, 0x6C, 0xC4], "GATE1");
    assert_eq!(rewrite(&mut ebcdic, &default, &own), REWRITTEN);
}

const EBCDIC: Coding = Coding { order: mq_wire::ByteOrder::Big, ccsid: Ccsid(500) };

#[test]
fn ebcdic_header() {
    // INBOX 6C DEV1
    let name = [0xC9, 0xD5, 0xC2, 0xD6, 0xE7, 0x6C, 0xC4, 0xC5, 0xE5, 0xF1];
    let before = header_in(EBCDIC, &name, "GW1");
    assert_eq!(before[..4], [0xE7, 0xD8, 0xC8, 0x40]);
    let (outcome, after) = rewritten(&before, &for_all());
    assert_eq!(outcome, REWRITTEN);
    assert_eq!(after[8..14], [0xC9, 0xD5, 0xC2, 0xD6, 0xE7, 0x40]);
    assert_eq!(after[56..61], [0xC4, 0xC5, 0xE5, 0xF1, 0x40]);
    assert!(after[13..56].iter().chain(&after[60..104]).all(|b| *b == 0x40), "padded with EBCDIC blanks");
    let prefixed = RewriteOptions { prefix: "az.9".into(), ..for_all() };
    let (_, after) = rewritten(&before, &prefixed);
    assert_eq!(names(&after, EBCDIC), ("INBOX".into(), "az.9DEV1".into()));
    let blank_inside = [0xC9, 0x6C, 0xC4, 0x40, 0xC5];
    let (outcome, _) = rewritten(&header_in(EBCDIC, &blank_inside, "GW1"), &for_all());
    assert_eq!(outcome, Outcome::BadName(Part::QMgr));
}

#[test]
fn byte_order_of_the_version_and_other_versions() {
    for (version, expected) in [
        ([1, 0, 0, 0], REWRITTEN),
        ([0, 0, 0, 1], REWRITTEN),
        ([2, 0, 0, 0], Outcome::NotXqh),
        ([0, 0, 0, 2], Outcome::NotXqh),
        ([0, 1, 0, 0], Outcome::NotXqh),
    ] {
        let mut before = header("INBOX%DEV1", "GW1");
        before[4..8].copy_from_slice(&version);
        assert_eq!(rewritten(&before, &for_all()).0, expected, "{version:?}");
    }
}

#[test]
fn what_is_no_header() {
    for identifier in [b"XQH\0", b"xqh ", b" HQX", b"DLH ", b"RFH ", b"data", b"\0X\0Q"] {
        let mut before = header("INBOX%DEV1", "GW1");
        before[..4].copy_from_slice(identifier);
        assert_eq!(rewritten(&before, &for_all()).0, Outcome::NotXqh, "{identifier:?}");
    }
    let mut behind_dlh = b"DLH ".to_vec();
    behind_dlh.resize(172, 0);
    behind_dlh.extend(header("INBOX%DEV1", "GW1"));
    assert_eq!(rewritten(&behind_dlh, &for_all()).0, Outcome::NotXqh);
}

#[test]
fn short_buffers() {
    let whole = header("INBOX%DEV1", "GW1");
    for length in 0..104 {
        assert_eq!(rewritten(&whole[..length], &for_all()).0, Outcome::TooShort, "{length}");
    }
    for length in 104..428 {
        let (outcome, after) = rewritten(&whole[..length], &for_all());
        assert_eq!(outcome, Outcome::Rewritten { truncated: true }, "{length}");
        assert_eq!(names(&after, Coding::NATIVE), ("INBOX".into(), "DEV1".into()));
    }
}

fn name_like() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(b"AZaz09./_%  %\0\xff".to_vec()), 0..=48)
}

proptest! {
    #[test]
    fn properties(
        name in name_like(),
        tail in prop::collection::vec(any::<u8>(), 0..400),
        ebcdic: bool,
        strict: bool,
    ) {
        let options = RewriteOptions { strict, ..for_all() };
        let charset_coding = if ebcdic { EBCDIC } else { Coding::NATIVE };
        let raw: Vec<u8> = if ebcdic {
            let text: String = name.iter().map(|b| char::from(b & 0x7f)).collect();
            let mut out = BytesMut::new();
            Chars::<48>::cut(&text).write(&mut out, EBCDIC);
            out.to_vec()
        } else {
            name
        };
        let mut before = header_in(charset_coding, &raw, "GW1");
        before.truncate(104);
        before.extend(&tail);
        let (outcome, after) = rewritten(&before, &options);
        // (a); (b) is in `rewritten`.
        prop_assert_eq!(&before[..8], &after[..8]);
        prop_assert_eq!(&before[104..], &after[104..]);
        if let Outcome::Rewritten { truncated } = outcome {
            prop_assert_eq!(truncated, before.len() < 428);
            // (c)
            let blank = if ebcdic { 0x40 } else { b' ' };
            let trim = |field: &[u8]| {
                let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
                let end = field[..end].iter().rposition(|b| *b != blank).map_or(0, |last| last + 1);
                field[..end].to_vec()
            };
            let (q, q_mgr) = (trim(&after[8..56]), trim(&after[56..104]));
            prop_assert!(!q.is_empty() && !q_mgr.is_empty());
            prop_assert!(after[8 + q.len()..56].iter().chain(&after[56 + q_mgr.len()..104]).all(|b| *b == blank));
            let separator = if ebcdic { 0x6C } else { b'%' };
            let input = trim(&before[8..56]);
            let at = input.iter().position(|b| *b == separator).unwrap();
            let joined = [trim(&input[..at]), vec![separator], input[at + 1..].to_vec()].concat();
            prop_assert_eq!([q, vec![separator], q_mgr].concat(), joined);
            // (d)
            prop_assert_eq!(rewritten(&after, &options).0, Outcome::NoSeparator);
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600), strict: bool) {
        rewritten(&bytes, &RewriteOptions { strict, ..for_all() });
        let mut headed = bytes;
        if headed.len() >= 8 {
            headed[..8].copy_from_slice(b"XQH \0\0\0\x01");
        }
        rewritten(&headed, &RewriteOptions { strict, ..for_all() });
    }
}

#[test]
fn data_string() {
    assert_eq!(RewriteOptions::from_data("").unwrap(), RewriteOptions::default());
    let all = "sep=/ order=qmgr-queue prefix=DEV suffix=.X prefix_if_missing=yes only_if_qmgr=GW1|GW2 strict=no \
               blank_fill=no on_error=pass";
    let expected = RewriteOptions {
        separator: b'/',
        order: Order::QMgrThenQueue,
        prefix: "DEV".into(),
        suffix: ".X".into(),
        prefix_if_missing: true,
        only_if_qmgr: OnlyIfQMgr::Names(vec![QMgrName::new("GW1").unwrap(), QMgrName::new("GW2").unwrap()]),
        strict: false,
        blank_fill: false,
        on_error: OnError::Pass,
    };
    assert_eq!(RewriteOptions::from_data(all).unwrap(), expected);
    assert_eq!(RewriteOptions::from_data("only_if_qmgr=none").unwrap(), for_all());
    for (data, option) in [
        ("sep=%%", "sep"),
        ("sep=#", "sep"),
        ("sep=", "sep"),
        ("order=random", "order"),
        ("prefix=\"A B\"", "prefix"),
        ("suffix=ä", "suffix"),
        ("only_if_qmgr=GW1|", "only_if_qmgr"),
        ("strict=maybe", "strict"),
        ("on_error=ignore", "on_error"),
        ("separator=%", "separator"),
    ] {
        let error = RewriteOptions::from_data(data).unwrap_err().to_string();
        assert!(error.starts_with(&format!("option {option} of the exit's data: ")), "{data}: {error}");
    }
}

async fn received(
    exit: &DestinationRewrite,
    q: &str,
    direction: Direction,
    format: &str,
) -> (ExitResponse, String, String) {
    let origin = Origin::new("XMITQ", direction);
    let mut cx = ExitContext::new(InitContext::new("", &[QMgrName::new("GW1").unwrap()]), origin.clone());
    let descriptor = Mqmd {
        encoding: Encoding::NATIVE,
        ccsid: Ccsid::LATIN_1,
        format: Chars::cut(format),
        ..Mqmd::default()
    };
    let mut message = ExitMessage::new(origin, descriptor, header(q, "GW1"));
    let response = exit.receive(&mut cx, &mut message).await.unwrap();
    let header = message.xqh().unwrap();
    (response, header.remote_q_name.to_string(), header.remote_q_mgr_name.to_string())
}

#[tokio::test]
async fn exit_rewrites_passes_and_refuses() {
    let ok = |q: &str, q_mgr: &str| (ExitResponse::Ok, q.to_owned(), q_mgr.to_owned());
    let exit = DestinationRewrite::default();
    exit.init(&InitContext::new("", &[])).await.unwrap();
    let run = |q: &'static str| received(&exit, q, Direction::FromMq, "MQXMIT");
    assert_eq!(run("INBOX%DEV1").await, ok("INBOX", "DEV1"));
    assert_eq!(run("INBOX").await, ok("INBOX", "GW1"));
    for (q, expected) in [
        ("%DEV1", Reason::UNKNOWN_OBJECT_NAME),
        ("IN BOX%DEV1", Reason::UNKNOWN_OBJECT_NAME),
        ("INBOX%", Reason::UNKNOWN_OBJECT_Q_MGR),
        ("INBOX%DEV 1", Reason::UNKNOWN_OBJECT_Q_MGR),
    ] {
        match received(&exit, q, Direction::FromMq, "MQXMIT").await {
            (ExitResponse::SuppressFunction { reason, .. }, q_after, _) => {
                assert_eq!((reason, q_after.as_str()), (expected, q));
            }
            other => panic!("{q}: {other:?}"),
        }
        let passing = DestinationRewrite::from_data("on_error=pass").unwrap();
        assert_eq!(received(&passing, q, Direction::FromMq, "MQXMIT").await, ok(q, "GW1"));
    }
    exit.term().await;
}

/// The row "segment of another type": on whole messages that is another format, and a device's message.
#[tokio::test]
async fn exit_leaves_other_data_alone() {
    let exit = DestinationRewrite::default();
    let untouched = (ExitResponse::Ok, "INBOX%DEV1".to_owned(), "GW1".to_owned());
    assert_eq!(received(&exit, "INBOX%DEV1", Direction::FromMq, "MQSTR").await, untouched);
    assert_eq!(received(&exit, "INBOX%DEV1", Direction::FromDevice, "MQXMIT").await, untouched);
}
