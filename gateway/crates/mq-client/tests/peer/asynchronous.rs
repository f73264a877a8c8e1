//! Asynchronous puts: not answered where SPIREQUEST was agreed, with ids from SPI RESERVE, and MQSTAT after them; answered
//! everywhere else (mq-wire-observed-base.md 3.5, 4.2).

use bytes::Bytes;
use mq_wire::{CompCode, CorrelId, MessageFlags, Mqmd, Mqpmo, MsgId, PutOptions, Reason};

use crate::answers::full_md;
use crate::conversation::{Call, Conversation};
use crate::layout::Fields;
use crate::pair::{connected, connected_with, open, queue};
use crate::setting::Setting;
use crate::structures::STS;

const ASYNC: u32 = 0x1_0000;
const SYNC: u32 = 0x2_0000;

fn pmo(options: PutOptions) -> Mqpmo {
    Mqpmo { options, ..Mqpmo::default() }
}

/// SPI RESERVE, answered with a grant.
async fn reserved(peer: &mut Conversation, granted: u32, counter: u32, base: [u8; 24]) {
    let call = peer.call(0x8C).await;
    check_reserve(&call);
    let coding = peer.coding();
    let mut body = call.body[..12].to_vec();
    for (id, length) in [("SPRU", 12), ("SPRO", 44)] {
        body.extend(coding.chars(id, 4));
        body.extend(coding.u32(1));
        body.extend(coding.u32(length));
    }
    body.extend(coding.u32(granted));
    body.extend(coding.u32(counter));
    body.extend(base);
    peer.reply(&call, (0, 0), 0, &body).await;
}

fn check_reserve(call: &Call) {
    let coding = call.coding;
    let number = |at: usize| coding.read_u32(&call.body[at..]);
    assert_eq!([number(0), number(4), number(8)], [6, 1, 44]);
    assert_eq!(coding.text(&call.body[12..16]), "SPRU");
    assert_eq!([number(16), number(20)], [1, 12]);
    assert_eq!(coding.text(&call.body[24..28]), "SPRI");
    assert_eq!([number(28), number(32), number(36), number(40)], [1, 20, 24, 0xFF_FFFF]);
    assert_eq!(call.body.len(), 44);
}

#[tokio::test]
async fn puts_that_are_not_answered() {
    for setting in [Setting::default().spi(), Setting::default().spi().big().ccsid(500)] {
        let (mut connection, mut peer) = connected(setting).await;
        let handle = open(&mut connection, &mut peer, 2).await;
        let mut base = [0x41; 24];
        base[21..].copy_from_slice(&[0x77, 0xFF, 0x00]);
        let script = async {
            // Two are granted: the third put needs a new reservation.
            reserved(&mut peer, 2, 22, base).await;
            for number in 0..4_u8 {
                if number == 2 {
                    reserved(&mut peer, 0x7F_FFFF, 21, [0x42; 24]).await;
                }
                let call = peer.call(0x86).await;
                let put = call.parts(&peer).put();
                assert_eq!((call.handle, put.pmo.number("Options")), (2, ASYNC | 0x2));
                assert_eq!(put.data, [number; 100]);
                let id = put.md.bytes("MsgId");
                assert_eq!(id[20], if number < 2 { 0x41 } else { 0x42 });
                assert_eq!(put.md.bytes("CorrelId"), [0; 24]);
            }
            // One that brings its own id, and one by MQPUT1 that wants a new CorrelId too.
            let call = peer.call(0x86).await;
            assert_eq!(call.parts(&peer).put().md.bytes("MsgId"), [9; 24]);
            let call = peer.call(0x87).await;
            assert_eq!(call.handle, u32::MAX);
            let mut parts = call.parts(&peer);
            let od = parts.od();
            let put = parts.put();
            assert_eq!((od.text("ObjectName"), put.pmo.number("Options")), ("ONE", ASYNC));
            assert_ne!(put.md.bytes("MsgId"), [9; 24], "a new one was asked for");
            assert_ne!(put.md.bytes("CorrelId"), [0; 24]);
            // A put that wants its answer says so, and gets it.
            let call = peer.call(0x86).await;
            let put = call.parts(&peer).put();
            assert_eq!(put.pmo.number("Options"), SYNC | 0x4);
            peer.answer_put(&call, (0, 0), None, &put, &full_md(1)).await;
            answer_stat(&mut peer).await;
            let call = peer.call(0x8A).await;
            peer.reply(&call, (0, 0), 0, &[]).await;
        };
        let client = async {
            let options = PutOptions::ASYNC_RESPONSE | PutOptions::SYNCPOINT;
            let mut ids = Vec::new();
            for number in 0..4_u8 {
                let data = Bytes::from(vec![number; 100]);
                let put = connection.put(handle, Mqmd::default(), pmo(options), data).await.unwrap();
                assert!(!put.answered);
                ids.push(put.md.msg_id.0);
            }
            assert_eq!(ids[0], base);
            assert_eq!(ids[1][21..], [0x77, 0x00, 0x01], "counted with carry to the right");
            assert_eq!(
                ids[2..],
                [[0x42; 24], {
                    let mut next = [0x42; 24];
                    next[21] = 0x43;
                    next
                }]
            );
            let own = Mqmd { msg_id: MsgId([9; 24]), ..Mqmd::default() };
            let put = connection.put(handle, own.clone(), pmo(options), Bytes::new()).await.unwrap();
            assert_eq!(put.md.msg_id, own.msg_id);
            let news = PutOptions::ASYNC_RESPONSE | PutOptions::NEW_MSG_ID | PutOptions::NEW_CORREL_ID;
            let put = connection.put1(queue("ONE"), own, pmo(news), Bytes::new()).await.unwrap();
            assert!(!put.answered && put.md.msg_id != MsgId([9; 24]) && put.md.correl_id != CorrelId::NONE);
            let put = connection.put(handle, Mqmd::default(), pmo(PutOptions::NO_SYNCPOINT), Bytes::new());
            assert!(put.await.unwrap().answered);
            check_stat(connection.stat().await.unwrap());
            connection.commit().await.unwrap();
        };
        tokio::join!(client, script);
    }
}

async fn answer_stat(peer: &mut Conversation) {
    let call = peer.call(0x8D).await;
    assert_eq!((call.handle, call.body.len()), (0, 228));
    let mut parts = call.parts(peer);
    let (kind, sts) = (parts.number(), parts.sts());
    parts.end();
    assert_eq!((kind, sts.version), (0, 1));
    let sts = Fields::new(1)
        .set("CompCode", 2)
        .set("Reason", 2053)
        .set("PutSuccessCount", 10)
        .set("PutWarningCount", 2)
        .set("PutFailureCount", 3)
        .set("ObjectType", 1)
        .set("ObjectName", "FULL.QUEUE")
        .set("ObjectQMgrName", "QM.A")
        .set("ResolvedObjectName", "FULL.BASE")
        .set("ResolvedQMgrName", "QM.B");
    let body = [peer.coding().u32(0).to_vec(), STS.write(&sts, peer.coding())].concat();
    peer.reply(&call, (0, 0), 0, &body).await;
}

fn check_stat(puts: mq_client::AsyncPuts) {
    assert_eq!((puts.cc, puts.reason), (CompCode::FAILED, Reason::Q_FULL));
    assert_eq!((puts.successes, puts.warnings, puts.failures), (10, 2, 3));
    let object = puts.object;
    let names = [object.name.to_string(), object.resolved_name.to_string()];
    assert_eq!(names, ["FULL.QUEUE", "FULL.BASE"]);
    let managers = [object.q_mgr_name.to_string(), object.resolved_q_mgr_name.to_string()];
    assert_eq!(managers, ["QM.A", "QM.B"]);
}

/// Where it was not agreed, or not offered, the option stays and the answer is awaited.
#[tokio::test]
async fn puts_that_are_answered_all_the_same() {
    let not_offered = |options: &mut mq_client::ConnectOptions| options.asynchronous_puts = false;
    for offered in [true, false] {
        let setting = if offered { Setting::default() } else { Setting::default().spi() };
        let (mut connection, mut peer) =
            if offered { connected(setting).await } else { connected_with(setting, not_offered).await };
        assert!(!connection.terms().unanswered_puts);
        let script = async {
            let call = peer.call(0x86).await;
            let put = call.parts(&peer).put();
            assert_eq!((put.pmo.number("Options"), put.md.bytes("MsgId")), (ASYNC, &[0; 24][..]));
            peer.answer_put(&call, (0, 0), None, &put, &full_md(1)).await;
            answer_stat(&mut peer).await;
        };
        let client = async {
            let options = pmo(PutOptions::ASYNC_RESPONSE);
            let put = connection.put(2, Mqmd::default(), options, Bytes::new()).await.unwrap();
            assert!(put.answered && !put.md.msg_id.is_none());
            check_stat(connection.stat().await.unwrap());
        };
        tokio::join!(client, script);
    }
}

/// Neither ids that nobody reserves nor a group id that only the queue manager can make can be had without an answer.
#[tokio::test]
async fn puts_whose_ids_must_come_back_are_answered() {
    let (mut connection, mut peer) = connected(Setting::default().spi()).await;
    let script = async {
        for refusal in [2298, 2195] {
            let call = peer.call(0x8C).await;
            peer.fail(&call, refusal).await;
            let call = peer.call(0x86).await;
            let put = call.parts(&peer).put();
            assert_eq!(put.pmo.number("Options"), SYNC);
            peer.answer_put(&call, (0, 0), None, &put, &full_md(1)).await;
        }
        for _ in 0..2 {
            let call = peer.call(0x86).await;
            let put = call.parts(&peer).put();
            assert_eq!(put.pmo.number("Options") & (SYNC | ASYNC), SYNC);
            peer.answer_put(&call, (0, 0), None, &put, &full_md(2)).await;
        }
    };
    let client = async {
        let asynchronous = PutOptions::ASYNC_RESPONSE;
        for _ in 0..2 {
            let put = connection.put(2, Mqmd::default(), pmo(asynchronous), Bytes::new()).await.unwrap();
            assert!(put.answered);
        }
        let md = Mqmd { version: 2, ..Mqmd::default() };
        let logical = pmo(asynchronous | PutOptions::LOGICAL_ORDER);
        assert!(connection.put(2, md.clone(), logical, Bytes::new()).await.unwrap().answered);
        let grouped = Mqmd { msg_flags: MessageFlags::MSG_IN_GROUP, ..md };
        assert!(connection.put(2, grouped, pmo(asynchronous), Bytes::new()).await.unwrap().answered);
    };
    tokio::join!(client, script);
}

/// A queue manager whose grant cannot be used has broken the protocol: ids made of it would not be unique.
#[tokio::test]
async fn grants_that_cannot_be_used() {
    for (granted, counter) in [(0, 22), (5, 0), (5, 24), (5, u32::MAX)] {
        let (mut connection, mut peer) = connected(Setting::default().spi()).await;
        let script = async {
            reserved(&mut peer, granted, counter, [1; 24]).await;
        };
        let put = connection.put(2, Mqmd::default(), pmo(PutOptions::ASYNC_RESPONSE), Bytes::new());
        let (outcome, ()) = tokio::join!(put, script);
        assert_eq!(outcome.unwrap_err().reason(), Reason::CONNECTION_BROKEN, "{granted} from {counter}");
        assert!(!connection.is_usable());
    }
}

/// Long ones go out in segments like others, and the next call follows them in order.
#[tokio::test]
async fn many_long_ones_in_a_row() {
    let (mut connection, mut peer) = connected(Setting::default().spi().transmission(2048)).await;
    let script = async {
        reserved(&mut peer, 1000, 23, [3; 24]).await;
        for number in 0..50_u8 {
            let call = peer.call(0x86).await;
            let put = call.parts(&peer).put();
            assert!(put.data == vec![number; 50_000], "{number}");
        }
        let call = peer.call(0x8A).await;
        peer.reply(&call, (0, 0), 0, &[]).await;
    };
    let client = async {
        for number in 0..50_u8 {
            let options = pmo(PutOptions::ASYNC_RESPONSE | PutOptions::SYNCPOINT);
            let data = Bytes::from(vec![number; 50_000]);
            connection.put(2, Mqmd::default(), options, data).await.unwrap();
        }
        connection.commit().await.unwrap();
    };
    tokio::join!(client, script);
}
