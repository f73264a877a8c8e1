//! How a channel starts, and every way in which it does not: each STATUS with its reason, refusals of MQCONN, passwords,
//! negotiations that cannot end well, and the connection lost or silent at each step.

use std::time::Duration;

use mq_client::{ClientError, ConnectOptions, Connection, Password};
use mq_wire::{Reason, StatusCode};
use tokio::io::AsyncWriteExt;

use crate::coding::Coding;
use crate::conversation::Peer;
use crate::layout::Fields;
use crate::pair::{connected_with, options, refused};
use crate::segment::{self, Header, Segment};
use crate::setting::Setting;
use crate::structures::{FCNO, ID};

/// The reasons of mq-wire-observed-base.md 5, except that 0x14 is the 2035 of mq-wire.md 3.8.
fn reason_of(code: u32) -> u32 {
    match code {
        0x01 => 2540,
        0x02 | 0x0A..=0x12 => 2539,
        0x14 => 2035,
        0x16 | 0x17 => 2537,
        0x18 | 0x19 | 0x1C => 2397,
        0x20 => 2543,
        0x25 => 2025,
        _ => 2059,
    }
}

#[tokio::test]
async fn every_status_has_its_reason() {
    for code in (0x01..=0x30).chain(0xF0..=0xF4).chain([0x1234_5678]) {
        for (setting, length) in [(Setting::default(), 8), (Setting::default().big(), 12)] {
            let error = refused(
                setting,
                |_| {},
                |peer| async move {
                    let mut socket = peer.socket().await;
                    let first = Segment::read(&mut socket).await.unwrap();
                    let coding = peer.setting.coding;
                    let mut body = coding.u32(length).to_vec();
                    body.extend(coding.u32(code));
                    body.resize(length as usize, 0);
                    let segment_type = segment::STATUS;
                    Segment { coding, segment_type, cf1: 0x0A, body, ..first }.write(&mut socket).await;
                    // Some last word may come, then the end.
                    while Segment::read(&mut socket).await.is_some() {}
                },
            )
            .await;
            assert!(matches!(error, ClientError::Channel { .. }), "{error}");
            assert_eq!(error.status(), Some(StatusCode(code)));
            assert_eq!(error.reason().0 as u32, reason_of(code), "{code:02X}");
            assert!(error.is_broken() && !error.is_in_doubt());
        }
    }
}

/// A queue manager that refuses in the byte order of the client (mq-wire.md 3.8), after the second round, or after the
/// password.
#[tokio::test]
async fn a_status_at_a_later_step() {
    for step in 0..3 {
        let with_password = |options: &mut ConnectOptions| options.password = Some(Password::new("secret"));
        let error = refused(Setting::default(), with_password, |peer| async move {
            let mut conversation = peer.negotiated().await;
            if step > 0 {
                let user = conversation.segment().await.unwrap();
                assert_eq!(user.segment_type, segment::USERID);
            }
            if step > 1 {
                let caut = conversation.segment().await.unwrap();
                assert_eq!(caut.segment_type, segment::CONAUTH_INFO);
            }
            conversation.status(0x14, 0x0A).await;
            while conversation.segment().await.is_some() {}
        })
        .await;
        assert_eq!((error.reason().0, error.status()), (2035, Some(StatusCode(0x14))), "step {step}");
        assert!(!error.to_string().contains("secret"));
    }
}

#[tokio::test]
async fn mqconn_refused_in_every_form() {
    for reason in [2035, 2058, 2059, 2161, 2162, 2025, 2002, 2063, 2577, 2202] {
        for whole in [true, false] {
            let wanted = |options: &mut ConnectOptions| options.qmgr_name = "QM.WANTED".parse().unwrap();
            let error = refused(Setting::default().big(), wanted, |peer| async move {
                let mut conversation = peer.greeted().await;
                let call = conversation.call(0x81).await;
                conversation.check_connect(&call);
                assert_eq!(call.coding.text(&call.body[..48]), "QM.WANTED");
                assert_eq!(call.coding.text(&call.body[48..76]), "demo.Main");
                match whole {
                    true => conversation.answer_connect(&call, 2, reason).await,
                    false => conversation.fail(&call, reason).await,
                }
                let end = conversation.segment().await.unwrap();
                assert_eq!((end.segment_type, end.cf1, end.body.len()), (segment::STATUS, 0x38, 0));
                conversation.ended().await;
            })
            .await;
            assert!(matches!(error, ClientError::Refused { .. }), "{error}");
            assert_eq!(error.reason().0 as u32, reason);
            assert!(error.to_string().contains("QM.WANTED"), "{error}");
        }
    }
}

/// Queue managers on z/OS answer MQCONN in EBCDIC and big-endian whatever the header says (mq-wire.md 0.3).
#[tokio::test]
async fn an_mqconn_reply_of_z_os() {
    let (header, truth) = (Coding { big: false, ccsid: 819 }, Coding { big: true, ccsid: 500 });
    for (length, comp_code, reason) in
        [(260, 0, 0), (120, 0, 0), (332, 2, 2035), (0, 2, 2058), (112, 1, 2002)]
    {
        let peer = Peer::listen(Setting::default()).await;
        let options = options(&peer);
        let script = async {
            let mut conversation = peer.greeted().await;
            let call = conversation.call(0x81).await;
            let mut body = truth.chars("CSQ1", 48);
            body.extend(truth.chars("demo.Main", 28));
            body.extend([0; 36 + 8]);
            body.extend(FCNO.write(&Fields::new(2).set("ConnTag", CONNECTION_TAG), truth));
            body.truncate(length);
            let mut segment = conversation.reply_segments(&call, (0, 0), 0, &body).remove(0);
            assert_eq!(segment.coding, header);
            segment.body[4..8].copy_from_slice(&truth.u32(comp_code));
            segment.body[8..12].copy_from_slice(&truth.u32(reason));
            segment.write(&mut conversation.socket).await;
            while conversation.segment().await.is_some() {}
        };
        let client = async {
            match Connection::connect(&options).await {
                Ok(connection) => {
                    assert_ne!(comp_code, 2);
                    assert_eq!(connection.qmgr_name().to_string(), "CSQ1");
                    let tagged =
                        if length >= 260 { CONNECTION_TAG[..24].try_into().unwrap() } else { [0; 24] };
                    assert_eq!(connection.connection_id(), tagged);
                }
                Err(error) => assert_eq!((comp_code, error.reason().0 as u32), (2, reason), "{error}"),
            }
        };
        tokio::join!(client, script);
    }
}

const CONNECTION_TAG: [u8; 128] = [0x77; 128];

#[tokio::test]
async fn user_and_password_in_clear() {
    let plain = Setting::default();
    for setting in
        [plain.clone(), plain.clone().big().ccsid(500), plain.clone().ccsid(1208), plain.fap(10).ccsid(850)]
    {
        let change = |options: &mut ConnectOptions| {
            options.user = "ren\u{e9}e".to_owned();
            options.password = Some(Password::new("Pass w0rd, a longer one than twelve {}"));
        };
        let (connection, peer) = connected_with(setting, change).await;
        let (user, password) = peer.credentials.clone().unwrap();
        assert_eq!(user, "renée", "CCSID {}", peer.setting.coding.ccsid);
        assert_eq!(password, "Pass w0rd, a longer one than twelve {}");
        assert_eq!(peer.user.as_ref().unwrap().text("Password"), "", "not there, too");
        drop(connection);
        peer.ended().await;
    }
}

/// Consent has the forms of mq-wire-observed-base.md 3.3; everything else is none.
#[tokio::test]
async fn consent_to_a_password_and_what_is_none() {
    for (cf1, good) in [(0x00, true), (0x30, true), (0x40, true), (0x02, false), (0x0A, false)] {
        let peer = Peer::listen(Setting::default()).await;
        let options = ConnectOptions { password: Some(Password::new("x")), ..options(&peer) };
        let script = async {
            let mut conversation = peer.negotiated().await;
            for expected in [segment::USERID, segment::CONAUTH_INFO] {
                assert_eq!(conversation.segment().await.unwrap().segment_type, expected);
            }
            conversation.control(segment::STATUS, cf1, &[]).await;
            if good {
                let call = conversation.call(0x81).await;
                conversation.answer_connect(&call, 0, 0).await;
            } else {
                while conversation.segment().await.is_some() {}
            }
        };
        let (outcome, ()) = tokio::join!(Connection::connect(&options), script);
        assert_eq!(outcome.is_ok(), good, "{cf1:02X}: {:?}", outcome.err());
    }
}

/// Answers to the first initial data that no client can live with.
#[tokio::test]
async fn negotiations_that_cannot_end_well() {
    type Fault = fn(Fields) -> Fields;
    let faults: [(&str, Fault); 5] = [
        ("FAP level", |id| id.set("FapLevel", 1)),
        ("MaxTransmissionSize", |id| id.set("MaxTransmissionSize", 100)),
        ("MaxTransmissionSize", |id| id.set("MaxTransmissionSize", 0)),
        ("ConvPerSocket", |id| id.set("ConvPerSocket", 10)),
        ("rounds", |id| id.set("ErrFlags1", 0xFF)),
    ];
    for (what, fault) in faults {
        let error = refused(
            Setting::default(),
            |_| {},
            |peer| async move {
                let mut socket = peer.socket().await;
                let mut rounds = 0;
                while let Some(asked) = Segment::read(&mut socket).await {
                    if asked.segment_type == segment::STATUS {
                        continue;
                    }
                    rounds += 1;
                    assert!(rounds < 10, "it goes on for ever");
                    let id = fault(ID.read_cut(&asked.body, 0, asked.coding));
                    let body = ID.write_cut(&id, asked.body.len(), asked.coding);
                    Segment { cf1: 0x02, body, ..asked }.write(&mut socket).await;
                }
            },
        )
        .await;
        assert!(error.to_string().contains(what), "{what}: {error}");
        assert_eq!(error.reason(), Reason::CHANNEL_CONFIG_ERROR);
    }
}

/// Higher values than were proposed are not taken over.
#[tokio::test]
async fn an_answer_cannot_raise_what_was_proposed() {
    let peer = Peer::listen(Setting::default()).await;
    let options = ConnectOptions { max_msg_length: 5000, heartbeat_s: 1, ..options(&peer) };
    let script = async {
        let mut socket = peer.socket().await;
        let mut replies = 0;
        while let Some(asked) = Segment::read(&mut socket).await {
            if asked.segment_type == segment::INITIAL_DATA {
                let id = ID.read_cut(&asked.body, 0, asked.coding);
                assert_eq!((id.number("FapLevel"), id.number("MaxMsgSize")), (12, 5000));
                assert_eq!(id.number("MaxTransmissionSize"), 32748);
                let raised = id.set("FapLevel", 17).set("MaxMsgSize", u32::MAX);
                let raised = raised.set("MaxTransmissionSize", 1_000_000).set("CapFlags3", 0xFF);
                let body = ID.write_cut(&raised, asked.body.len(), asked.coding);
                let cf1 = if replies == 0 { 0x02 } else { 0x00 };
                replies += 1;
                Segment { cf1, body, ..asked }.write(&mut socket).await;
            } else if asked.segment_type == 0x81 {
                Segment { segment_type: 0x91, ..asked }.write(&mut socket).await;
            }
        }
    };
    let client = async {
        let connection = Connection::connect(&options).await.unwrap();
        let terms = connection.terms();
        assert_eq!((terms.fap_level, terms.max_msg_length, terms.segment_bytes_max), (12, 5000, 32748));
    };
    tokio::join!(client, script);
}

/// Where in the handshake something happens.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Accepted,
    FirstRead,
    HalfAnswered,
    Negotiated,
    User,
    Connecting,
    HalfConnected,
}

const STEPS: [Step; 7] = [
    Step::Accepted,
    Step::FirstRead,
    Step::HalfAnswered,
    Step::Negotiated,
    Step::User,
    Step::Connecting,
    Step::HalfConnected,
];

/// Plays the handshake up to a step; gives back the socket, so that the caller keeps it or drops it.
async fn up_to(step: Step, peer: &Peer) -> tokio::net::TcpStream {
    if step <= Step::HalfAnswered {
        let mut socket = peer.socket().await;
        if step > Step::Accepted {
            let first = Segment::read(&mut socket).await.unwrap();
            if step == Step::HalfAnswered {
                socket.write_all(&first.bytes()[..100]).await.unwrap();
            }
        }
        return socket;
    }
    let mut conversation = peer.negotiated().await;
    if step > Step::Negotiated {
        conversation.user_id().await;
    }
    if step > Step::User {
        let call = conversation.call(0x81).await;
        if step > Step::Connecting {
            let bytes = conversation.reply_segments(&call, (0, 0), 0, &call.body.clone())[0].bytes();
            conversation.socket.write_all(&bytes[..200]).await.unwrap();
        }
    }
    conversation.socket
}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Step) -> Option<std::cmp::Ordering> {
        (*self as usize).partial_cmp(&(*other as usize))
    }
}

#[tokio::test]
async fn the_connection_is_lost_at_every_step() {
    for step in STEPS {
        let error = refused(
            Setting::default(),
            |_| {},
            |peer| async move {
                let mut socket = up_to(step, &peer).await;
                socket.shutdown().await.unwrap();
                // What is still under way is read, so that the end is not overtaken by a reset.
                while Segment::read(&mut socket).await.is_some() {}
            },
        )
        .await;
        assert_eq!(error.reason(), Reason::CONNECTION_BROKEN, "{step:?}: {error}");
        assert!(error.is_broken() && error.status().is_none());
    }
}

#[tokio::test]
async fn the_queue_manager_falls_silent_at_every_step() {
    for step in STEPS {
        let hurry = |options: &mut ConnectOptions| options.connect_timeout = Duration::from_millis(100);
        let error = refused(Setting::default(), hurry, |peer| async move {
            let mut socket = up_to(step, &peer).await;
            while Segment::read(&mut socket).await.is_some() {}
        })
        .await;
        assert_eq!(error.reason(), Reason::CONNECTION_BROKEN, "{step:?}: {error}");
        assert!(error.to_string().contains("in time"), "{step:?}: {error}");
    }
}

/// Segments that make no sense where they come.
#[tokio::test]
async fn the_wrong_segment_at_the_start() {
    for segment_type in [0x02, 0x04, 0x07, 0x08, 0x0D, 0x0F, 0x91, 0x95, 0xB1, 0xFF] {
        let error = refused(
            Setting::default(),
            |_| {},
            |peer| async move {
                let mut socket = peer.socket().await;
                let first = Segment::read(&mut socket).await.unwrap();
                Segment { segment_type, cf1: 0x30, header: Header::Tsh, ..first }.write(&mut socket).await;
                while Segment::read(&mut socket).await.is_some() {}
            },
        )
        .await;
        assert!(matches!(error, ClientError::Channel { .. }), "{segment_type:02X}: {error}");
        assert_eq!(error.reason(), Reason::CONNECTION_BROKEN);
    }
}
