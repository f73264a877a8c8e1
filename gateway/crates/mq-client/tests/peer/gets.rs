//! MQGET: matching, browsing with cursor, locks and marks, groups and segments, truncation and the growing buffer.

use std::time::Duration;

use bytes::Bytes;
use mq_client::{ClientError, Got};
use mq_wire::{GetOptions, GroupId, MatchOptions, Mqgmo, Mqmd, MsgToken, Reason};

use crate::answers::full_md;
use crate::layout::Fields;
use crate::pair::{connected, open};
use crate::puts::{check_full_md, check_md, whole_md};
use crate::setting::Setting;

const TOKEN: [u8; 16] = *b"\x01a token of 16b\xFF";

/// What a queue manager gives back in the options, in this version.
fn answered(gmo: &Fields) -> Fields {
    let gmo = gmo.clone().set("ResolvedQName", "BASE.QUEUE");
    let gmo = if gmo.version < 2 {
        gmo
    } else {
        gmo.set("GroupStatus", "L").set("SegmentStatus", "S").set("Segmentation", "A")
    };
    if gmo.version < 3 { gmo } else { gmo.set("MsgToken", TOKEN).set("ReturnedLength", 4) }
}

fn check_answered(got: &Got, version: i32) {
    assert_eq!(got.gmo.version, version);
    assert_eq!(got.gmo.resolved_q_name.to_string(), "BASE.QUEUE");
    let status = (got.gmo.group_status, got.gmo.segment_status, got.gmo.segmentation);
    assert_eq!(status, if version < 2 { (b' ', b' ', b' ') } else { (b'L', b'S', b'A') });
    let token = (got.gmo.msg_token, got.gmo.returned_length);
    assert_eq!(token, if version < 3 { (MsgToken::NONE, -1) } else { (MsgToken(TOKEN), 4) });
}

#[tokio::test]
async fn every_field_in_every_version() {
    let plain = Setting::default();
    for setting in
        [plain.clone(), plain.clone().big(), plain.clone().big().ccsid(500), plain.fap(9).ccsid(850)]
    {
        let (mut connection, mut peer) = connected(setting).await;
        let handle = open(&mut connection, &mut peer, 2).await;
        for (md_version, gmo_version) in [(1, 1), (2, 1), (1, 2), (2, 2), (2, 3), (2, 4)] {
            let gmo = Mqgmo {
                version: gmo_version,
                options: GetOptions::from_bits_retain(0x1FF7_FF76),
                wait_interval: 123,
                match_options: MatchOptions::from_bits_retain(0x3F),
                msg_token: MsgToken([0xAB; 16]),
                ..Mqgmo::default()
            };
            let script = async {
                let call = peer.call(0x85).await;
                let mut parts = call.parts(&peer);
                let (md, gmo, length) = (parts.md(), parts.gmo(), parts.number());
                parts.end();
                check_md(&md, md_version as u32);
                assert_eq!((gmo.version, gmo.number("Options")), (gmo_version as u32, 0x1FF7_FF76));
                assert_eq!(gmo.number("WaitInterval"), 123);
                if gmo_version >= 2 {
                    assert_eq!(gmo.number("MatchOptions"), 0x3F);
                }
                if gmo_version >= 3 {
                    assert_eq!(gmo.bytes("MsgToken"), [0xAB; 16]);
                }
                assert_eq!((call.handle, length), (2, 99));
                let body = peer.got(&full_md(md.version), &answered(&gmo), 4, b"\x00\xFFab");
                peer.reply(&call, (0, 0), 2, &body).await;
            };
            let (outcome, ()) = tokio::join!(connection.get(handle, whole_md(md_version), gmo, 99), script);
            let got = outcome.unwrap().unwrap();
            check_full_md(&got.md, md_version);
            check_answered(&got, gmo_version);
            assert_eq!((&got.data[..], got.total_length), (&b"\x00\xFFab"[..], 4));
        }
    }
}

/// The options of one browse after the other, and what comes back: each option is one bit that must not get lost.
#[tokio::test]
async fn a_browse_with_cursor_lock_and_marks() {
    let (mut connection, mut peer) = connected(Setting::default().big()).await;
    let handle = open(&mut connection, &mut peer, 2).await;
    let steps: [(GetOptions, u32, (u32, u32)); 9] = [
        (GetOptions::BROWSE_FIRST | GetOptions::LOCK, 0x210, (0, 0)),
        (GetOptions::BROWSE_NEXT, 0x20, (0, 0)),
        (GetOptions::BROWSE_MSG_UNDER_CURSOR, 0x800, (0, 0)),
        (GetOptions::UNLOCK, 0x400, (1, 2209)),
        (GetOptions::BROWSE_NEXT | GetOptions::MARK_BROWSE_HANDLE, 0x10_0020, (0, 0)),
        (
            GetOptions::BROWSE_FIRST | GetOptions::UNMARKED_BROWSE_MSG | GetOptions::MARK_BROWSE_CO_OP,
            0x120_0010,
            (0, 0),
        ),
        (GetOptions::UNMARK_BROWSE_CO_OP | GetOptions::UNMARK_BROWSE_HANDLE, 0xC0_0000, (0, 0)),
        (GetOptions::MSG_UNDER_CURSOR | GetOptions::SYNCPOINT, 0x102, (0, 0)),
        (GetOptions::BROWSE_NEXT, 0x20, (2, 2033)),
    ];
    for (options, bits, codes) in steps {
        let script = async {
            let call = peer.call(0x85).await;
            let mut parts = call.parts(&peer);
            let (md, gmo) = (parts.md(), parts.gmo());
            assert_eq!(gmo.number("Options"), bits);
            let body = peer.got(&md, &answered(&gmo), 1, b"x");
            // A 2033 has no DataLength (mq-wire-observed-base.md 4.1).
            let end = if codes.0 == 2 { body.len() - 5 } else { body.len() };
            peer.reply(&call, codes, 2, &body[..end]).await;
        };
        let gmo = Mqgmo { version: 3, options, ..Mqgmo::default() };
        let (outcome, ()) = tokio::join!(connection.get(handle, Mqmd::default(), gmo, 10), script);
        match outcome.unwrap() {
            Some(got) => assert_eq!((got.gmo.msg_token, got.reason.0 as u32), (MsgToken(TOKEN), codes.1)),
            None => assert_eq!(codes, (2, 2033)),
        }
    }
}

#[tokio::test]
async fn a_message_of_a_group_by_group_sequence_and_offset() {
    let (mut connection, mut peer) = connected(Setting::default()).await;
    let handle = open(&mut connection, &mut peer, 2).await;
    let script = async {
        let call = peer.call(0x85).await;
        let mut parts = call.parts(&peer);
        let (md, gmo) = (parts.md(), parts.gmo());
        assert_eq!((gmo.number("MatchOptions"), gmo.number("Options")), (0x1C, 0x7_8002));
        assert_eq!((md.bytes("GroupId"), md.number("MsgSeqNumber")), (&[7; 24][..], 3));
        assert_eq!(md.number("Offset"), 512);
        let body = peer.got(&full_md(2), &answered(&gmo), 0, b"");
        peer.reply(&call, (0, 0), 2, &body).await;
    };
    let md =
        Mqmd { version: 2, group_id: GroupId([7; 24]), msg_seq_number: 3, offset: 512, ..Mqmd::default() };
    let options = GetOptions::LOGICAL_ORDER
        | GetOptions::COMPLETE_MSG
        | GetOptions::ALL_MSGS_AVAILABLE
        | GetOptions::ALL_SEGMENTS_AVAILABLE
        | GetOptions::SYNCPOINT;
    let match_options = MatchOptions::from_bits_retain(0x1C);
    let gmo = Mqgmo { version: 2, options, match_options, ..Mqgmo::default() };
    let (outcome, ()) = tokio::join!(connection.get(handle, md, gmo, 10), script);
    let got = outcome.unwrap().unwrap();
    check_full_md(&got.md, 2);
    assert_eq!((got.total_length, got.data), (0, Bytes::new()));
}

#[tokio::test]
async fn truncation_accepted_and_refused() {
    for setting in [Setting::default(), Setting::default().big().ccsid(500)] {
        let (mut connection, mut peer) = connected(setting).await;
        let handle = open(&mut connection, &mut peer, 2).await;
        for (reason, total) in [(2079, 500_u32), (2080, 500), (2080, 200_000_000)] {
            let script = async {
                let call = peer.call(0x85).await;
                let mut parts = call.parts(&peer);
                let (_, gmo) = (parts.md(), parts.gmo());
                let body = peer.got(&full_md(1), &answered(&gmo), total as usize, b"begi");
                peer.reply(&call, (1, reason), 2, &body).await;
            };
            let gmo = Mqgmo { version: 3, ..Mqgmo::default() };
            let (outcome, ()) = tokio::join!(connection.get(handle, Mqmd::default(), gmo, 4), script);
            match outcome {
                Ok(got) => {
                    let got = got.unwrap();
                    assert_eq!((reason, got.reason, got.total_length), (2079, Reason(2079), total));
                    assert_eq!(got.data, Bytes::from("begi"));
                }
                Err(ClientError::TooLongForBuffer { total_length, start }) => {
                    assert_eq!((reason, total_length, start.data), (2080, 500, Bytes::from("begi")));
                    check_full_md(&start.md, 1);
                    assert_eq!(start.gmo.msg_token, MsgToken(TOKEN), "with which it can be asked for again");
                }
                Err(error) => {
                    assert_eq!((reason, total), (2080, 200_000_000));
                    assert_eq!(error.reason(), Reason::MSG_TOO_BIG_FOR_CHANNEL);
                }
            }
            assert!(connection.is_usable());
        }
    }
}

/// A queue manager may pad what it cut, but never send more than there is room for without saying so.
#[tokio::test]
async fn more_data_than_room_is_no_answer() {
    let (mut connection, mut peer) = connected(Setting::default()).await;
    let script = async {
        let call = peer.call(0x85).await;
        let gmo = Fields::new(1).set("Options", 0);
        let body = peer.got(&full_md(1), &gmo, 5, b"12345");
        peer.reply(&call, (0, 0), 2, &body).await;
    };
    let (outcome, ()) = tokio::join!(connection.get(2, Mqmd::default(), Mqgmo::default(), 4), script);
    assert!(matches!(outcome.unwrap_err(), ClientError::Broken { call: "MQGET", .. }));
}

#[tokio::test]
async fn warnings_of_conversion_come_with_the_message() {
    let (mut connection, mut peer) = connected(Setting::default()).await;
    for reason in [2110, 2111, 2112, 2113, 2115, 2119, 2120, 2150, 2190, 2243, 2245] {
        let script = async {
            let call = peer.call(0x85).await;
            let mut parts = call.parts(&peer);
            let (_, gmo) = (parts.md(), parts.gmo());
            let body = peer.got(&full_md(1), &gmo, 3, b"abc");
            peer.reply(&call, (1, reason), 2, &body).await;
        };
        let (outcome, ()) = tokio::join!(connection.get(2, Mqmd::default(), Mqgmo::default(), 10), script);
        let got = outcome.unwrap().unwrap();
        assert_eq!((got.reason.0 as u32, &got.data[..]), (reason, &b"abc"[..]));
    }
}

#[tokio::test]
async fn errors_of_a_get() {
    let (mut connection, mut peer) = connected(Setting::default().big()).await;
    for reason in [2016, 2019, 2024, 2034, 2036, 2037, 2046, 2052, 2090, 2161, 2186, 2202, 2256, 2331] {
        let script = async {
            let call = peer.call(0x85).await;
            peer.fail(&call, reason).await;
        };
        let (outcome, ()) = tokio::join!(connection.get(2, Mqmd::default(), Mqgmo::default(), 10), script);
        let error = outcome.unwrap_err();
        assert_eq!((error.reason().0 as u32, error.is_broken()), (reason, false));
    }
    assert!(connection.is_usable());
}

#[tokio::test]
async fn the_buffer_grows_to_the_message() {
    let (mut connection, mut peer) = connected(Setting::default()).await;
    let script = async {
        // Two messages too long, the first taken by another program meanwhile, then one that fits.
        let mut intervals = Vec::new();
        for (buffer, total) in [(4096, 5000_usize), (5000, 9000), (9000, 9000)] {
            let call = peer.call(0x85).await;
            let mut parts = call.parts(&peer);
            let (md, gmo, length) = (parts.md(), parts.gmo(), parts.number());
            assert_eq!((length, gmo.number("Options"), md.number("Priority")), (buffer, 0x21, u32::MAX));
            assert_eq!(md.bytes("MsgId"), [0; 24], "not what the last answer brought");
            intervals.push(gmo.number("WaitInterval"));
            let data = vec![buffer as u8; total.min(buffer as usize)];
            let codes = if total > buffer as usize { (1, 2080) } else { (0, 0) };
            let body = peer.got(&full_md(1), &gmo, total, &data);
            peer.reply(&call, codes, 2, &body).await;
        }
        assert_eq!(intervals[0], 600_000);
        assert!(intervals.is_sorted_by(|earlier, later| earlier >= later), "{intervals:?}");
    };
    let options = GetOptions::BROWSE_NEXT | GetOptions::WAIT;
    let gmo = Mqgmo { options, wait_interval: 600_000, ..Mqgmo::default() };
    let (outcome, ()) = tokio::join!(connection.get_whole(2, Mqmd::default(), gmo), script);
    let got = outcome.unwrap().unwrap();
    assert_eq!((got.data.len(), got.total_length, got.reason), (9000, 9000, Reason::NONE));
}

#[tokio::test]
async fn a_growing_buffer_has_its_ends() {
    let (mut connection, mut peer) = connected(Setting::default().message(6000)).await;
    let gmo = || Mqgmo { options: GetOptions::WAIT, wait_interval: -1, ..Mqgmo::default() };
    // Longer than the channel; a queue manager that contradicts itself; nothing any more.
    for (total, expected) in [(6001, Some(2218)), (4096, Some(2080)), (0, None)] {
        let script = async {
            let call = peer.call(0x85).await;
            let mut parts = call.parts(&peer);
            let (_, gmo) = (parts.md(), parts.gmo());
            assert_eq!(gmo.number("WaitInterval"), u32::MAX, "no end is no end");
            if total == 0 {
                return peer.fail(&call, 2033).await;
            }
            let body = peer.got(&full_md(1), &gmo, total, b"");
            peer.reply(&call, (1, 2080), 2, &body).await;
        };
        let (outcome, ()) = tokio::join!(connection.get_whole(2, Mqmd::default(), gmo()), script);
        match outcome {
            Ok(got) => assert_eq!((got.is_none(), expected), (true, None)),
            Err(error) => assert_eq!(Some(error.reason().0), expected),
        }
    }
}

#[tokio::test]
async fn a_get_that_is_given_up_leaves_no_usable_connection() {
    let (mut connection, mut peer) = connected(Setting::default()).await;
    let gmo = Mqgmo { options: GetOptions::WAIT, wait_interval: -1, ..Mqgmo::default() };
    // It is dropped when the request is out for certain: the peer has read it.
    let call = tokio::select! {
        outcome = connection.get(2, Mqmd::default(), gmo, 10) => panic!("{outcome:?}"),
        call = peer.call(0x85) => call,
    };
    assert!(!connection.is_usable());
    let body = peer.got(&full_md(1), &Fields::new(1), 4, b"late");
    peer.reply(&call, (0, 0), 2, &body).await;
    let error = connection.get(2, Mqmd::default(), Mqgmo::default(), 10).await.unwrap_err();
    assert!(matches!(error, ClientError::Unusable), "the late answer is not taken for this one's: {error}");
    assert!(matches!(connection.commit().await, Err(ClientError::Unusable)));
    drop(connection);
    peer.ended().await;
}

#[tokio::test]
async fn a_wait_is_awaited_longer_than_other_calls() {
    let change = |options: &mut mq_client::ConnectOptions| options.reply_timeout = Duration::from_millis(80);
    let (mut connection, mut peer) = crate::pair::connected_with(Setting::default(), change).await;
    let script = async {
        let call = peer.call(0x85).await;
        tokio::time::timeout(Duration::from_millis(160), std::future::pending::<()>()).await.unwrap_err();
        peer.fail(&call, 2033).await;
        peer.call(0x8A).await;
    };
    let client = async {
        let gmo = Mqgmo { options: GetOptions::WAIT, wait_interval: 10_000, ..Mqgmo::default() };
        assert_eq!(connection.get(2, Mqmd::default(), gmo, 10).await.unwrap(), None);
        let error = connection.commit().await.unwrap_err();
        assert!(matches!(error, ClientError::OutcomeUnknown { call: "MQCMIT", .. }), "{error}");
        assert!(error.to_string().contains("in time"), "{error}");
    };
    tokio::join!(client, script);
}
