//! MQOPEN and MQCLOSE: every field of the descriptor in each version, resolved names, defaults, errors in each form that
//! queue managers answer them in.

use mq_client::ClientError;
use mq_wire::{CloseOptions, Mqcharv, Mqod, ObjectType, OpenOptions, Persistence, Reason};

use crate::layout::Fields;
use crate::pair::{connected, open, queue};
use crate::setting::{QUEUE_MANAGER, Setting};
use crate::structures::{FOPA, OD};

fn whole_od(version: i32) -> Mqod {
    Mqod {
        version,
        object_type: ObjectType::Q,
        object_name: "MY.MODEL.QUEUE".parse().unwrap(),
        object_q_mgr_name: "QM.OTHER".parse().unwrap(),
        dynamic_q_name: mq_wire::ObjectName(mq_wire::Chars::cut("AMQ.*")),
        alternate_user_id: mq_wire::Chars::cut("bob"),
        alternate_security_id: [0x5A; 40],
        ..Mqod::default()
    }
}

#[tokio::test]
async fn every_version_of_the_descriptor_there_and_back() {
    for setting in [Setting::default(), Setting::default().big().ccsid(500), Setting::default().fap(9).big()]
    {
        let (mut connection, mut peer) = connected(setting).await;
        for version in 1..=4 {
            let options = OpenOptions::from_bits_retain(0x7F_FFFF);
            let script = async {
                let (od, sent) = peer.opened(40).await;
                assert_eq!((od.version, sent), (version as u32, 0x7F_FFFF));
                assert_eq!(od.text("ObjectName"), "MY.MODEL.QUEUE");
                assert_eq!(od.text("ObjectQMgrName"), "QM.OTHER");
                assert_eq!(od.text("DynamicQName"), "AMQ.*");
                assert_eq!(od.text("AlternateUserId"), "bob");
                if version >= 2 {
                    for name in ["RecsPresent", "KnownDestCount", "ObjectRecOffset", "ResponseRecOffset"] {
                        assert_eq!(od.number(name), 0, "{name}");
                    }
                }
                if version >= 3 {
                    assert_eq!(od.bytes("AlternateSecurityId"), [0x5A; 40]);
                }
                if version >= 4 {
                    assert_eq!(od.bytes("ObjectString"), [0; 20]);
                }
            };
            let (opened, ()) = tokio::join!(connection.open(whole_od(version), options), script);
            let opened = opened.unwrap();
            assert_eq!(opened.od.object_name.to_string(), "AMQ.69A1B2C3D4", "the dynamic queue's name");
            assert_eq!(opened.od.version, version);
            if version >= 3 {
                assert_eq!(opened.od.resolved_q_name.to_string(), "MY.MODEL.QUEUE");
                assert_eq!(opened.od.resolved_q_mgr_name.to_string(), QUEUE_MANAGER);
            }
            assert_eq!(opened.defaults.persistence, Persistence::PERSISTENT);
            assert_eq!((opened.defaults.put_response, opened.defaults.read_ahead), (1, 2));
        }
    }
}

#[tokio::test]
async fn versions_that_an_old_level_does_not_know_are_lowered() {
    let (mut connection, mut peer) = connected(Setting::default().fap(8)).await;
    let open = connection.open(whole_od(4), OpenOptions::OUTPUT);
    let (opened, (od, _)) = tokio::join!(open, peer.opened(2));
    assert_eq!((opened.unwrap().od.version, od.version), (3, 3));
}

#[tokio::test]
async fn what_cannot_be_carried_is_not_sent() {
    let (mut connection, peer) = connected(Setting::default()).await;
    let string = Mqcharv { length: 10, ..Mqcharv::default() };
    let check = |od: Mqod, reason: i32| (od, reason);
    for (od, reason) in [
        check(Mqod { version: 2, recs_present: 2, ..Mqod::default() }, 2154),
        check(Mqod { version: 4, object_string: string, ..Mqod::default() }, 2441),
        check(Mqod { version: 4, selection_string: string, ..Mqod::default() }, 2519),
    ] {
        let error = connection.open(od, OpenOptions::OUTPUT).await.unwrap_err();
        assert_eq!(error.reason().0, reason);
        assert!(!error.is_broken() && connection.is_usable());
    }
    let (outcome, ()) = tokio::join!(connection.disconnect(), peer.disconnected());
    outcome.unwrap();
}

/// What a peer answers to an MQOPEN, and what the client makes of it.
#[tokio::test]
async fn errors_in_every_form() {
    for setting in [Setting::default(), Setting::default().big().ccsid(500)] {
        let (mut connection, mut peer) = connected(setting).await;
        for reason in [2085, 2035, 2042, 2045, 2046, 2052, 2057, 2082, 2086, 2087, 2017, 2100, 2189, 9999] {
            for form in 0..4 {
                let script = async {
                    let call = peer.call(0x83).await;
                    // Whole (mq-wire-observed-base.md 4.1), header alone, cut in the middle, and with rubbish.
                    let body = match form {
                        0 => call.body.clone(),
                        1 => Vec::new(),
                        2 => call.body[..50].to_vec(),
                        _ => vec![0xEE; 90],
                    };
                    peer.reply(&call, (2, reason), 0, &body).await;
                };
                let open = connection.open(queue("NO.SUCH"), OpenOptions::OUTPUT);
                let (outcome, ()) = tokio::join!(open, script);
                let error = outcome.unwrap_err();
                assert!(matches!(error, ClientError::Call { call: "MQOPEN", .. }), "{error}");
                assert_eq!(error.reason(), Reason(reason as i32));
            }
        }
    }
}

#[tokio::test]
async fn a_warning_opens_the_queue() {
    let (mut connection, mut peer) = connected(Setting::default()).await;
    let script = async {
        let call = peer.call(0x83).await;
        // FOPA of 84 bytes, as a 9.1.2 queue manager answers (mq-wire.md 4.4), where 28 were sent.
        let mut body = call.body[..172].to_vec();
        let fopa = Fields::new(1).set("Length", 84).set("DefPersistence", 1).set("DefPutResponseType", 2);
        body.extend(FOPA.write(&fopa, peer.coding()));
        body.extend([0x20; 48]);
        body.extend([peer.coding().u32(84), peer.coding().u32(0)].concat());
        peer.reply(&call, (1, 2330), 6, &body).await;
    };
    let (outcome, ()) = tokio::join!(connection.open(queue("Q"), OpenOptions::OUTPUT), script);
    let opened = outcome.unwrap();
    assert_eq!((opened.handle, opened.reason.0), (6, 2330));
    assert_eq!((opened.defaults.persistence, opened.defaults.put_response), (Persistence::PERSISTENT, 2));
}

#[tokio::test]
async fn a_good_reply_without_fopa_or_with_a_longer_descriptor() {
    let (mut connection, mut peer) = connected(Setting::default()).await;
    for version in [1, 2, 3, 4] {
        let script = async {
            let call = peer.call(0x83).await;
            let od = Fields::new(version).set("ObjectType", 1).set("ObjectName", "Q");
            let body = [OD.write(&od, peer.coding()), peer.coding().u32(0x10).to_vec()].concat();
            peer.reply(&call, (0, 0), 8, &body).await;
        };
        let (outcome, ()) = tokio::join!(connection.open(queue("Q"), OpenOptions::OUTPUT), script);
        assert_eq!(outcome.unwrap().od.version, version as i32);
    }
}

#[tokio::test]
async fn closing_with_every_option_and_answer() {
    let (mut connection, mut peer) = connected(Setting::default().big()).await;
    for (options, codes, body, expected) in [
        (0x00, (0, 0), 0, Ok(0)),
        (0x01, (0, 0), 4, Ok(0)),
        (0x02, (1, 2241), 0, Ok(2241)),
        (0x04, (2, 2046), 0, Err(2046)),
        (0x08, (2, 2019), 4, Err(2019)),
        (0x20, (0, 0), 0, Ok(0)),
    ] {
        let handle = open(&mut connection, &mut peer, 4).await;
        let script = async {
            let call = peer.call(0x84).await;
            let mut parts = call.parts(&peer);
            assert_eq!((call.handle, parts.number()), (4, options));
            parts.end();
            peer.reply(&call, codes, u32::MAX, &vec![0; body]).await;
        };
        let close = connection.close(handle, CloseOptions::from_bits_retain(options));
        let (outcome, ()) = tokio::join!(close, script);
        assert_eq!(outcome.map(|reason| reason.0).map_err(|error| error.reason().0), expected);
    }
}
