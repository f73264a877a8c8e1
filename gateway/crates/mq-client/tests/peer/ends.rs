//! The end of the connection in the middle of each call: before the answer, within it, by a STATUS, by another answer.
//! Whatever it is, the call is told as broken, with 2009, and nothing can be done with the connection any more.

use std::time::Duration;

use bytes::Bytes;
use mq_client::{ClientError, ConnectOptions, Connection};
use mq_wire::{
    CloseOptions, Mqgmo, Mqmd, Mqpmo, MsgId, OpenOptions, PutOptions, Reason, Selector, StatusCode,
};
use tokio::io::AsyncWriteExt;

use crate::pair::{connected, connected_with, queue};
use crate::setting::Setting;

const CALLS: [(u8, &str); 10] = [
    (0x83, "MQOPEN"),
    (0x84, "MQCLOSE"),
    (0x85, "MQGET"),
    (0x86, "MQPUT"),
    (0x87, "MQPUT1"),
    (0x88, "MQSET"),
    (0x89, "MQINQ"),
    (0x8A, "MQCMIT"),
    (0x8B, "MQBACK"),
    (0x8D, "MQSTAT"),
];

async fn call(connection: &mut Connection, kind: u8) -> Result<(), ClientError> {
    let pmo = Mqpmo::default();
    match kind {
        0x83 => connection.open(queue("Q"), OpenOptions::OUTPUT).await.map(drop),
        0x84 => connection.close(2, CloseOptions::empty()).await.map(drop),
        0x85 => connection.get(2, Mqmd::default(), Mqgmo::default(), 10).await.map(drop),
        0x86 => connection.put(2, Mqmd::default(), pmo, Bytes::new()).await.map(drop),
        0x87 => connection.put1(queue("Q"), Mqmd::default(), pmo, Bytes::new()).await.map(drop),
        0x88 => connection.set(2, vec![Selector(9)], vec![0], vec![]).await.map(drop),
        0x89 => connection.inquire(2, vec![Selector(9)], 0).await.map(drop),
        0x8A => connection.commit().await,
        0x8B => connection.back().await,
        _ => connection.stat().await.map(drop),
    }
}

/// What a peer does instead of answering.
#[derive(Clone, Copy, Debug)]
enum Instead {
    Nothing,
    HalfAnAnswer,
    Status(u32),
    WrongReply,
    Rubbish,
    CutBody,
}

#[tokio::test]
async fn every_call_and_every_end() {
    let ends = [
        Instead::Nothing,
        Instead::HalfAnAnswer,
        Instead::Status(0x05),
        Instead::Status(0x07),
        Instead::Status(0x1234),
        Instead::WrongReply,
        Instead::Rubbish,
        Instead::CutBody,
    ];
    for (kind, name) in CALLS {
        for instead in ends {
            // Calls whose good replies have no body cannot have it cut.
            if matches!((kind, instead), (0x84 | 0x88 | 0x8A | 0x8B, Instead::CutBody)) {
                continue;
            }
            let (mut connection, mut peer) = connected(Setting::default().big()).await;
            let script = async {
                let asked = peer.call(kind).await;
                match instead {
                    Instead::Nothing => {}
                    Instead::HalfAnAnswer => {
                        let bytes = peer.reply_segments(&asked, (0, 0), 2, &[])[0].bytes();
                        peer.socket.write_all(&bytes[..43]).await.unwrap();
                    }
                    Instead::Status(code) => peer.status(code, 0x0A).await,
                    Instead::WrongReply => {
                        let mut segment = peer.reply_segments(&asked, (0, 0), 2, &[]).remove(0);
                        segment.segment_type = if kind == 0x8A { 0x9B } else { 0x9A };
                        segment.write(&mut peer.socket).await;
                    }
                    Instead::Rubbish => peer.socket.write_all(&[0xA5; 64]).await.unwrap(),
                    Instead::CutBody => {
                        let body = vec![0; 3];
                        peer.reply(&asked, (0, 0), 2, &body).await;
                    }
                }
                peer.hang_up().await;
            };
            let (outcome, ()) = tokio::join!(call(&mut connection, kind), script);
            let error = outcome.unwrap_err();
            let told = match &error {
                ClientError::OutcomeUnknown { call, .. } if kind == 0x8A => *call,
                ClientError::Broken { call, .. } if kind != 0x8A => *call,
                other => panic!("{name} {instead:?}: {other}"),
            };
            assert_eq!((told, error.reason()), (name, Reason::CONNECTION_BROKEN), "{instead:?}");
            let code = if let Instead::Status(code) = instead { Some(StatusCode(code)) } else { None };
            assert_eq!(error.status(), code, "{name}");
            assert!(error.is_broken() && error.is_in_doubt() && !connection.is_usable());
            assert!(matches!(call(&mut connection, kind).await, Err(ClientError::Unusable)));
        }
    }
}

/// A queue manager that ends the channel while a long message is being sent has said why, and is heard if the system
/// still hands it over.
#[tokio::test]
async fn an_end_while_a_long_message_is_sent() {
    let (mut connection, mut peer) = connected(Setting::default().message(100 << 20)).await;
    let script = async {
        let first = peer.segment().await.unwrap();
        assert_eq!((first.segment_type, first.cf1), (0x86, 0x10));
        peer.status(0x05, 0x0A).await;
        peer.hang_up().await;
    };
    let long = Bytes::from(vec![7; 50 << 20]);
    let put = connection.put(2, Mqmd::default(), Mqpmo::default(), long);
    let (outcome, ()) = tokio::join!(put, script);
    let error = outcome.unwrap_err();
    assert!(matches!(error, ClientError::Broken { call: "MQPUT", .. }), "{error}");
    assert_eq!(error.reason(), Reason::CONNECTION_BROKEN);
    assert!(!connection.is_usable());
}

/// A future that is dropped when the request is out for certain, since the peer has read it: the answer to it must never
/// be taken for that to another call.
#[tokio::test]
async fn every_call_given_up() {
    for (kind, name) in CALLS {
        let (mut connection, mut peer) = connected(Setting::default()).await;
        let asked = tokio::select! {
            outcome = call(&mut connection, kind) => panic!("{name} ended: {outcome:?}"),
            asked = peer.call(kind) => asked,
        };
        assert!(!connection.is_usable(), "{name}");
        peer.reply(&asked, (0, 0), 2, &[]).await;
        for (next, _) in CALLS {
            assert!(matches!(call(&mut connection, next).await, Err(ClientError::Unusable)), "{name}");
        }
        assert!(matches!(connection.disconnect().await, Err(ClientError::Unusable)));
        peer.ended().await;
    }
}

/// A queue manager that reads no more: a put that cannot even be sent does not wait for ever, answered or not.
#[tokio::test]
async fn a_queue_manager_that_stops_reading() {
    for options in [PutOptions::empty(), PutOptions::ASYNC_RESPONSE] {
        let setting = Setting::default().spi().message(100 << 20);
        let hurry = |options: &mut ConnectOptions| options.reply_timeout = Duration::from_millis(100);
        let (mut connection, peer) = connected_with(setting, hurry).await;
        let md = Mqmd { msg_id: MsgId([1; 24]), ..Mqmd::default() };
        let pmo = Mqpmo { options, ..Mqpmo::default() };
        let long = Bytes::from(vec![7; 50 << 20]);
        let error = connection.put(2, md, pmo, long).await.unwrap_err();
        assert!(matches!(error, ClientError::Broken { call: "MQPUT", .. }), "{error}");
        assert!(error.is_in_doubt() && !connection.is_usable());
        drop(peer);
    }
}
