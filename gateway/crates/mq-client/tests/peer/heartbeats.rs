//! Signs of life: answered whenever they come, asked for by nobody on an unshared socket, missed when they do not come
//! (mq-wire-observed-base.md 7).

use std::time::Duration;

use mq_client::ClientError;
use mq_wire::{GetOptions, Mqgmo, Mqmd, Reason};

use crate::answers::full_md;
use crate::pair::{connected, connected_with};
use crate::segment;
use crate::setting::Setting;

fn waiting() -> Mqgmo {
    Mqgmo { options: GetOptions::WAIT, wait_interval: -1, ..Mqgmo::default() }
}

#[tokio::test]
async fn heartbeats_in_a_wait_are_answered() {
    for setting in [Setting::default(), Setting::default().big().ccsid(500), Setting::default().fap(4)] {
        let (mut connection, mut peer) = connected(setting).await;
        let script = async {
            let call = peer.call(0x85).await;
            for _ in 0..3 {
                peer.heartbeat(0x01).await;
                peer.heartbeat_answer().await;
            }
            // One that asks for no answer gets none: the next segment is the next call.
            peer.heartbeat(0x30).await;
            let mut parts = call.parts(&peer);
            let (_, gmo) = (parts.md(), parts.gmo());
            let body = peer.got(&full_md(1), &gmo, 2, b"ok");
            peer.reply(&call, (0, 0), 2, &body).await;
            assert_eq!(peer.heartbeats_answered, 3);
            let call = peer.call(0x8A).await;
            peer.reply(&call, (0, 0), 0, &[]).await;
        };
        let client = async {
            let got = connection.get(2, Mqmd::default(), waiting(), 10).await.unwrap().unwrap();
            assert_eq!(&got.data[..], b"ok");
            connection.commit().await.unwrap();
        };
        tokio::join!(client, script);
    }
}

/// A queue manager should not (mq-wire-observed-base.md 7), but one that comes between two calls does no harm: it is
/// answered with the next of them, before or after the request.
#[tokio::test]
async fn heartbeats_between_calls_do_no_harm() {
    let (mut connection, mut peer) = connected(Setting::default()).await;
    let script = async {
        let call = peer.call(0x8B).await;
        peer.reply(&call, (0, 0), 0, &[]).await;
        peer.heartbeat(0x01).await;
        let mut seen = Vec::new();
        while seen.len() < 2 {
            let segment = peer.segment().await.unwrap();
            seen.push(segment.segment_type);
            if segment.segment_type == 0x8B {
                peer.reply(&call, (0, 0), 0, &[]).await;
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, [segment::HEARTBEAT, 0x8B]);
        let call = peer.call(0x8A).await;
        peer.reply(&call, (0, 0), 0, &[]).await;
    };
    let client = async {
        connection.back().await.unwrap();
        connection.back().await.unwrap();
        connection.commit().await.unwrap();
    };
    tokio::join!(client, script);
}

#[tokio::test]
async fn a_queue_manager_that_never_answers_is_given_up() {
    for (kind, name) in [(0x83, "MQOPEN"), (0x8A, "MQCMIT"), (0x85, "MQGET")] {
        let change =
            |options: &mut mq_client::ConnectOptions| options.reply_timeout = Duration::from_millis(60);
        let (mut connection, mut peer) = connected_with(Setting::default(), change).await;
        let script = async {
            peer.call(kind).await;
            // The client ends, with or without a last word, and the peer sees it.
            while peer.segment().await.is_some() {}
        };
        let client = async {
            let error = match kind {
                0x83 => {
                    connection.open(crate::pair::queue("Q"), mq_wire::OpenOptions::INPUT_SHARED).await.err()
                }
                0x8A => connection.commit().await.err(),
                _ => connection.get(2, Mqmd::default(), Mqgmo::default(), 10).await.err(),
            };
            let error = error.unwrap();
            assert_eq!(error.reason(), Reason::CONNECTION_BROKEN);
            assert!(error.to_string().contains(name) && error.to_string().contains("in time"), "{error}");
            assert_eq!(matches!(error, ClientError::OutcomeUnknown { .. }), kind == 0x8A);
            drop(connection);
        };
        tokio::join!(client, script);
    }
}
