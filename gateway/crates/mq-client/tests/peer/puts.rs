//! MQPUT and MQPUT1: all fields of the descriptor and the options in each version, groups and segments, context,
//! warnings and errors.

use bytes::Bytes;
use mq_client::ClientError;
use mq_wire::{
    AccountingToken, ApplType, Chars, CorrelId, Encoding, Feedback, FormatName, GroupId, MessageFlags, Mqmd,
    Mqod, Mqpmo, MsgId, MsgType, Persistence, PutOptions, Reason, ReportOptions,
};

use crate::answers::full_md;
use crate::layout::Fields;
use crate::pair::{connected, open};
use crate::setting::{QUEUE_MANAGER, Setting};

/// A value of its own in every field.
pub(crate) fn whole_md(version: i32) -> Mqmd {
    Mqmd {
        version,
        report: ReportOptions::from_bits_retain(0x0300_3840),
        msg_type: MsgType(1),
        expiry: 600,
        feedback: Feedback(65_536),
        encoding: Encoding(785),
        ccsid: mq_wire::Ccsid(500),
        format: FormatName::cut("MYFORMAT"),
        priority: 9,
        persistence: Persistence::PERSISTENT,
        msg_id: MsgId(*b"message id of 24 bytes.."),
        correl_id: CorrelId(*b"correlation id, 24 bytes"),
        backout_count: 5,
        reply_to_q: "MY.REPLIES".parse().unwrap(),
        reply_to_q_mgr: "QM.MINE".parse().unwrap(),
        user_identifier: Chars::cut("carol"),
        accounting_token: AccountingToken([0x16; 32]),
        appl_identity_data: Chars::cut("identity"),
        put_appl_type: ApplType(11),
        put_appl_name: Chars::cut("program.exe"),
        put_date: Chars::cut("20251231"),
        put_time: Chars::cut("23595999"),
        appl_origin_data: Chars::cut("abcd"),
        group_id: GroupId(*b"group id with 24 bytes.."),
        msg_seq_number: 3,
        offset: 70_000,
        msg_flags: MessageFlags::from_bits_retain(0x1F),
        original_length: 100_000,
    }
}

/// The same as the peer must see it.
pub(crate) fn check_md(md: &Fields, version: u32) {
    assert_eq!(md.version, version);
    for (name, value) in [
        ("Report", 0x0300_3840),
        ("MsgType", 1),
        ("Expiry", 600),
        ("Feedback", 65_536),
        ("Encoding", 785),
        ("CodedCharSetId", 500),
        ("Priority", 9),
        ("Persistence", 1),
        ("BackoutCount", 5),
        ("PutApplType", 11),
    ] {
        assert_eq!(md.number(name), value, "{name}");
    }
    for (name, value) in [
        ("Format", "MYFORMAT"),
        ("ReplyToQ", "MY.REPLIES"),
        ("ReplyToQMgr", "QM.MINE"),
        ("UserIdentifier", "carol"),
        ("ApplIdentityData", "identity"),
        ("PutApplName", "program.exe"),
        ("PutDate", "20251231"),
        ("PutTime", "23595999"),
        ("ApplOriginData", "abcd"),
    ] {
        assert_eq!(md.text(name), value, "{name}");
    }
    assert_eq!(md.bytes("MsgId"), b"message id of 24 bytes..");
    assert_eq!(md.bytes("CorrelId"), b"correlation id, 24 bytes");
    assert_eq!(md.bytes("AccountingToken"), [0x16; 32]);
    if version == 1 {
        return;
    }
    assert_eq!(md.bytes("GroupId"), b"group id with 24 bytes..");
    let rest = ["MsgSeqNumber", "Offset", "MsgFlags", "OriginalLength"].map(|name| md.number(name));
    assert_eq!(rest, [3, 70_000, 0x1F, 100_000]);
}

/// What the peer answers with [`full_md`], as the program must see it.
pub(crate) fn check_full_md(md: &Mqmd, version: i32) {
    let mut expected = Mqmd {
        version,
        report: ReportOptions::from_bits_retain(0x0100_0840),
        msg_type: MsgType(1),
        expiry: 1234,
        feedback: Feedback(275),
        encoding: Encoding(785),
        ccsid: mq_wire::Ccsid(850),
        format: FormatName::cut("MQSTR"),
        priority: 7,
        persistence: Persistence::PERSISTENT,
        msg_id: MsgId(*b"AMQ QM.PEER     \x11\x12\x13\x14\x15\x16\x17\x18"),
        correl_id: CorrelId(*b"\xFEthe correlation id....."),
        backout_count: 3,
        reply_to_q: "REPLY.Q".parse().unwrap(),
        reply_to_q_mgr: "QM.REPLY".parse().unwrap(),
        user_identifier: Chars::cut("alice"),
        accounting_token: AccountingToken(*b"\x16\x01\x05accounting token of the app\x00\x0B"),
        appl_identity_data: Chars::cut("identity data"),
        put_appl_type: ApplType(28),
        put_appl_name: Chars::cut("demo.Main"),
        put_date: Chars::cut("20260102"),
        put_time: Chars::cut("03040567"),
        appl_origin_data: Chars::cut("ORIG"),
        ..Mqmd::default()
    };
    if version == 2 {
        expected.group_id = GroupId(*b"the group id of 24 bytes");
        (expected.msg_seq_number, expected.offset) = (4, 8192);
        (expected.msg_flags, expected.original_length) = (MessageFlags::from_bits_retain(0x1B), 100_000);
    }
    assert_eq!(*md, expected);
}

fn settings() -> [Setting; 4] {
    let plain = Setting::default();
    [plain.clone(), plain.clone().big(), plain.clone().big().ccsid(500), plain.fap(9).ccsid(850)]
}

#[tokio::test]
async fn every_field_of_put_in_every_version() {
    for setting in settings() {
        let (mut connection, mut peer) = connected(setting).await;
        let handle = open(&mut connection, &mut peer, 2).await;
        for (md_version, pmo_version) in [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3)] {
            let pmo = Mqpmo {
                version: pmo_version,
                options: PutOptions::from_bits_retain(0x1FFC_FFFE),
                timeout: -1,
                context: 77,
                original_msg_handle: 0x0102_0304_0506_0708,
                ..Mqpmo::default()
            };
            let data = Bytes::from_static(b"\x00\x01\xFE\xFFdata");
            let script = async {
                let call = peer.call(0x86).await;
                let put = call.parts(&peer).put();
                assert_eq!(call.handle, 2);
                check_md(&put.md, md_version as u32);
                assert_eq!(put.pmo.version, pmo_version as u32);
                assert_eq!(put.pmo.number("Options"), 0x1FFC_FFFE, "every bit goes through");
                assert_eq!((put.pmo.number("Timeout"), put.pmo.number("Context")), (u32::MAX, 77));
                assert_eq!(put.data, b"\x00\x01\xFE\xFFdata");
                if pmo_version >= 2 {
                    assert_eq!(put.pmo.number("RecsPresent"), 0);
                }
                peer.answer_put(&call, (0, 0), None, &put, &full_md(put.md.version)).await;
            };
            let put = connection.put(handle, whole_md(md_version), pmo, data);
            let (outcome, ()) = tokio::join!(put, script);
            let put = outcome.unwrap();
            check_full_md(&put.md, md_version);
            assert_eq!((put.pmo.known_dest_count, put.pmo.unknown_dest_count), (1, 0));
            assert_eq!(put.pmo.resolved_q_name.to_string(), "RESOLVED.Q");
            assert_eq!(put.pmo.resolved_q_mgr_name.to_string(), "QM.RESOLVED");
            assert_eq!((put.od, put.answered, put.reason), (None, true, Reason::NONE));
        }
    }
}

#[tokio::test]
async fn every_field_of_put1() {
    for setting in settings() {
        let (mut connection, mut peer) = connected(setting).await;
        for version in 1..=4 {
            let od = Mqod { version, object_name: "ONE.QUEUE".parse().unwrap(), ..Mqod::default() };
            let script = async {
                let call = peer.call(0x87).await;
                assert_eq!(call.handle, u32::MAX, "no handle (mq-wire-observed-base.md 2.2)");
                let mut parts = call.parts(&peer);
                let od = parts.od();
                assert_eq!((od.version, od.text("ObjectName")), (version as u32, "ONE.QUEUE"));
                let put = parts.put();
                check_md(&put.md, 2);
                let resolved = match version {
                    1 => od,
                    2 => od.set("KnownDestCount", 1),
                    _ => od.set("ResolvedQName", "XMIT.QUEUE").set("ResolvedQMgrName", QUEUE_MANAGER),
                };
                peer.answer_put(&call, (0, 0), Some(&resolved), &put, &full_md(2)).await;
            };
            let put = connection.put1(od, whole_md(2), Mqpmo::default(), "data".into());
            let (outcome, ()) = tokio::join!(put, script);
            let put = outcome.unwrap();
            check_full_md(&put.md, 2);
            let od = put.od.unwrap();
            assert_eq!(od.version, version);
            if version >= 3 {
                assert_eq!(od.resolved_q_name.to_string(), "XMIT.QUEUE");
                assert_eq!(od.resolved_q_mgr_name.to_string(), QUEUE_MANAGER);
            }
        }
    }
}

/// A group of three, the second message in two segments, put in logical order: the queue manager fills in group, number
/// and offset (mq-objects.md 1), and the program gets them back.
#[tokio::test]
async fn a_group_with_segments_in_logical_order() {
    let (mut connection, mut peer) = connected(Setting::default().big()).await;
    let handle = open(&mut connection, &mut peer, 2).await;
    let group = b"made by the other end...";
    // Flags of the message; number and offset that the queue manager makes of it.
    for (flags, number, offset) in [(0x08, 1, 0), (0x0A, 2, 0), (0x0E, 2, 5), (0x18, 3, 0)] {
        let md = Mqmd { version: 2, msg_flags: MessageFlags::from_bits_retain(flags), ..Mqmd::default() };
        let options = PutOptions::LOGICAL_ORDER | PutOptions::SYNCPOINT;
        let pmo = Mqpmo { version: 2, options, ..Mqpmo::default() };
        let script = async {
            let call = peer.call(0x86).await;
            let put = call.parts(&peer).put();
            assert_eq!(put.pmo.number("Options"), 0x8002);
            assert_eq!((put.md.number("MsgFlags"), put.md.bytes("GroupId")), (flags, &[0; 24][..]));
            let md = put.md.clone().set("GroupId", *group).set("MsgSeqNumber", number).set("Offset", offset);
            peer.answer_put(&call, (0, 0), None, &put, &md).await;
        };
        let (outcome, ()) = tokio::join!(connection.put(handle, md, pmo, "five!".into()), script);
        let md = outcome.unwrap().md;
        assert_eq!((md.group_id, md.msg_seq_number, md.offset), (GroupId(*group), number, offset));
    }
}

#[tokio::test]
async fn warnings_are_told_and_errors_are_errors() {
    for setting in [Setting::default(), Setting::default().big().ccsid(500)] {
        let (mut connection, mut peer) = connected(setting).await;
        let handle = open(&mut connection, &mut peer, 2).await;
        for (comp_code, reason) in
            [(1, 2049), (1, 2104), (1, 2241), (2, 2053), (2, 2051), (2, 2030), (2, 2192), (2, 2016)]
        {
            let script = async {
                let call = peer.call(0x86).await;
                match comp_code {
                    1 => {
                        let put = call.parts(&peer).put();
                        peer.answer_put(&call, (1, reason), None, &put, &full_md(1)).await;
                    }
                    _ => peer.fail(&call, reason).await,
                }
            };
            let put = connection.put(handle, Mqmd::default(), Mqpmo::default(), Bytes::new());
            let (outcome, ()) = tokio::join!(put, script);
            match outcome {
                Ok(put) => assert_eq!((1, put.reason.0 as u32), (comp_code, reason)),
                Err(error) => {
                    assert!(matches!(error, ClientError::Call { call: "MQPUT", .. }), "{error}");
                    assert_eq!((2, error.reason().0 as u32), (comp_code, reason));
                }
            }
        }
        assert!(connection.is_usable());
    }
}

#[tokio::test]
async fn what_is_too_long_or_cannot_be_carried_is_not_sent() {
    let (mut connection, mut peer) = connected(Setting::default().message(1000)).await;
    let handle = open(&mut connection, &mut peer, 2).await;
    let long = connection.put(handle, Mqmd::default(), Mqpmo::default(), vec![0; 1001].into()).await;
    let error = long.unwrap_err();
    assert!(matches!(error, ClientError::TooLongForChannel { length: 1001, max: 1000 }), "{error}");
    assert_eq!(error.reason(), Reason::MSG_TOO_BIG_FOR_CHANNEL);
    let list = Mqpmo { version: 2, recs_present: 1, ..Mqpmo::default() };
    let error = connection.put(handle, Mqmd::default(), list, Bytes::new()).await.unwrap_err();
    assert_eq!((error.reason().0, error.is_broken()), (2154, false));
    let (outcome, ()) = tokio::join!(connection.disconnect(), peer.disconnected());
    outcome.unwrap();
}
