//! MQCMIT, MQBACK and MQDISC: done, refused, backed out instead, and the connection lost at the worst moment.

use mq_client::ClientError;
use mq_wire::{Mqmd, Mqpmo, Reason, StatusCode};

use crate::pair::connected;
use crate::setting::Setting;

/// What a peer answers, and what the program must be told.
#[tokio::test]
async fn outcomes() {
    let cases: [((u32, u32), Result<(), u32>); 7] = [
        ((0, 0), Ok(())),
        ((1, 2003), Err(2003)),
        ((1, 2124), Err(2124)),
        ((2, 2003), Err(2003)),
        ((2, 2012), Err(2012)),
        ((2, 2162), Err(2162)),
        ((1, 2344), Ok(())),
    ];
    for (codes, expected) in cases {
        for setting in [Setting::default(), Setting::default().big()] {
            let (mut connection, mut peer) = connected(setting).await;
            let script = async {
                for kind in [0x8A, 0x8B, 0x82] {
                    let call = peer.call(kind).await;
                    peer.reply(&call, codes, 0, &[]).await;
                }
                // Then the end, with or without a last word.
                while peer.segment().await.is_some() {}
            };
            let client = async {
                let reason =
                    |outcome: Result<(), ClientError>| outcome.map_err(|error| error.reason().0 as u32);
                assert_eq!(reason(connection.commit().await), expected, "MQCMIT {codes:?}");
                assert_eq!(reason(connection.back().await), expected, "MQBACK {codes:?}");
                assert_eq!(reason(connection.disconnect().await), expected, "MQDISC {codes:?}");
            };
            tokio::join!(client, script);
        }
    }
}

/// How the connection is lost while a commit is open.
#[derive(Clone, Copy, Debug)]
enum Loss {
    End,
    HalfAnAnswer,
    Status(u32),
    EmptyStatus,
}

#[tokio::test]
async fn a_commit_that_is_lost_is_in_doubt() {
    for loss in [Loss::End, Loss::HalfAnAnswer, Loss::Status(0x05), Loss::Status(0x07), Loss::EmptyStatus] {
        for disconnects in [false, true] {
            let (mut connection, mut peer) = connected(Setting::default()).await;
            let script = async {
                let call = peer.call(if disconnects { 0x82 } else { 0x8A }).await;
                match loss {
                    Loss::End => {}
                    Loss::HalfAnAnswer => {
                        let bytes = peer.reply_segments(&call, (0, 0), 0, &[])[0].bytes();
                        use tokio::io::AsyncWriteExt;
                        peer.socket.write_all(&bytes[..30]).await.unwrap();
                    }
                    Loss::Status(code) => peer.status(code, 0x0A).await,
                    Loss::EmptyStatus => peer.control(crate::segment::STATUS, 0x38, &[]).await,
                }
                peer.hang_up().await;
            };
            let client = async {
                if disconnects {
                    return connection.disconnect().await;
                }
                let outcome = connection.commit().await;
                assert!(!connection.is_usable());
                assert!(matches!(connection.back().await, Err(ClientError::Unusable)));
                outcome
            };
            let (outcome, ()) = tokio::join!(client, script);
            let error = outcome.unwrap_err();
            let call = if disconnects { "MQDISC" } else { "MQCMIT" };
            assert!(
                matches!(error, ClientError::OutcomeUnknown { call: made, .. } if made == call),
                "{error}"
            );
            assert!(error.is_broken() && error.is_in_doubt());
            assert_eq!(error.reason(), Reason::CONNECTION_BROKEN);
            let code = if let Loss::Status(code) = loss { Some(StatusCode(code)) } else { None };
            assert_eq!(error.status(), code, "{loss:?}");
            assert!(error.to_string().contains("not known"), "{error}");
        }
    }
}

/// Not so a back-out: lost or done, it is the same.
#[tokio::test]
async fn a_back_out_that_is_lost_is_no_doubt_about_a_commit() {
    let (mut connection, mut peer) = connected(Setting::default()).await;
    let script = async {
        peer.call(0x8B).await;
        peer.hang_up().await;
    };
    let (outcome, ()) = tokio::join!(connection.back(), script);
    assert!(matches!(outcome.unwrap_err(), ClientError::Broken { call: "MQBACK", .. }));
}

/// The queue manager ends between two calls: if that is known by the time of the commit, it has certainly not been made.
/// The end may be on its way still, so it takes more than one try at times.
#[tokio::test]
async fn a_commit_on_a_connection_that_has_ended_is_not_made() {
    for status in [None, Some(0x05)] {
        let mut tries = 0;
        loop {
            let error = commit_after_the_end(status).await;
            assert!(error.is_broken());
            assert_eq!(error.reason(), Reason::CONNECTION_BROKEN);
            if let ClientError::Ended { call: "MQCMIT", .. } = error {
                assert!(!error.is_in_doubt());
                assert_eq!(error.status(), status.map(StatusCode));
                assert!(error.to_string().contains("was not made"), "{error}");
                break;
            }
            assert!(matches!(error, ClientError::OutcomeUnknown { .. }), "{error}");
            tries += 1;
            assert!(tries < 100, "the end is never seen");
        }
    }
}

async fn commit_after_the_end(status: Option<u32>) -> ClientError {
    let (mut connection, mut peer) = connected(Setting::default()).await;
    let script = async {
        let call = peer.call(0x86).await;
        let put = call.parts(&peer).put();
        let md = put.md.clone();
        peer.answer_put(&call, (0, 0), None, &put, &md).await;
        if let Some(code) = status {
            peer.status(code, 0x0A).await;
        }
        peer.hang_up().await;
    };
    let put = connection.put(2, Mqmd::default(), Mqpmo::default(), "data".into());
    let (outcome, ()) = tokio::join!(put, script);
    outcome.unwrap();
    let error = connection.commit().await.unwrap_err();
    assert!(matches!(connection.commit().await, Err(ClientError::Unusable)));
    error
}
