//! One whole session against queue managers of every level, byte order, code page and size: each is a test of its own.

use bytes::Bytes;
use mq_wire::{CloseOptions, GetOptions, Mqgmo, Mqmd, Mqpmo, OpenOptions, PutOptions, Reason, Selector};

use crate::answers::full_md;
use crate::layout::Fields;
use crate::pair::{connected, queue};
use crate::setting::{CONNECTION_ID, QUEUE_MANAGER, Setting};

macro_rules! sessions {
    ($($name:ident: $setting:expr;)+) => {$(
        #[tokio::test]
        async fn $name() {
            session($setting).await;
        }
    )+};
}

fn peer() -> Setting {
    Setting::default()
}

sessions! {
    little_endian_fap_12: peer();
    big_endian_fap_12: peer().big();
    fap_4: peer().fap(4);
    fap_8: peer().fap(8);
    fap_9: peer().fap(9);
    fap_10: peer().fap(10);
    fap_13_is_cut_to_what_was_offered: peer().fap(13);
    fap_14_is_cut_to_what_was_offered: peer().fap(14);
    fap_4_big_endian: peer().fap(4).big();
    fap_9_big_endian: peer().fap(9).big();
    code_page_437: peer().ccsid(437);
    code_page_850: peer().ccsid(850);
    code_page_850_big_endian: peer().ccsid(850).big();
    code_page_1208: peer().ccsid(1208);
    ebcdic_big_endian: peer().ccsid(500).big();
    ebcdic_little_endian: peer().ccsid(500);
    ebcdic_fap_4: peer().ccsid(500).big().fap(4);
    ebcdic_fap_9: peer().ccsid(500).big().fap(9);
    a_channel_that_would_share: peer().shared(10);
    spi_agreed: peer().spi();
    spi_agreed_big_endian: peer().spi().big();
    short_segments: peer().transmission(2048);
    short_messages: peer().message(100);
    frequent_heartbeats: peer().heartbeat(1);
    no_heartbeats: peer().heartbeat(0);
    an_answer_of_160_bytes: Setting { answer_bytes: Some(160), ..peer() };
    an_answer_of_240_bytes: Setting { answer_bytes: Some(240), ..peer() };
    a_connect_reply_of_112_bytes: Setting { connect_body: Some(112), ..peer() };
    a_connect_reply_of_120_bytes: Setting { connect_body: Some(120), ..peer() };
    a_connect_reply_of_260_bytes: Setting { connect_body: Some(260), ..peer() };
    a_connect_reply_of_460_bytes: Setting { connect_body: Some(460), ..peer() };
    a_connect_reply_of_472_bytes: Setting { connect_body: Some(472), ..peer() };
    one_round: Setting { one_round: true, message_bytes_max: u32::MAX, fap: 12, spi: true, ..peer() }.heartbeat(1);
}

/// Connects, opens, puts, gets, inquires, sets, commits, closes and disconnects.
async fn session(setting: Setting) {
    let (mut connection, mut peer) = connected(setting.clone()).await;
    assert_eq!(connection.qmgr_name().to_string(), QUEUE_MANAGER);
    let named = peer.setting.connect_body.unwrap_or(260) >= 260 && peer.fap() >= 7;
    assert_eq!(connection.connection_id(), if named { CONNECTION_ID } else { [0; 24] });
    let terms = connection.terms();
    assert_eq!(u32::from(terms.fap_level), peer.settled.number("FapLevel"));
    assert_eq!(terms.max_msg_length, peer.settled.number("MaxMsgSize"));
    assert_eq!(terms.segment_bytes_max, peer.settled.number("MaxTransmissionSize"));
    assert_eq!(terms.unanswered_puts, setting.spi);
    let user = peer.user.clone().unwrap();
    assert_eq!(user.text("UserId"), "ALEXANDRA.LO", "the first twelve, in upper case");
    assert_eq!(user.text("Password"), "");
    if peer.fap() >= 5 {
        assert_eq!(user.text("LongUserId"), "Alexandra.Long-Name");
        assert_eq!((user.number("SidLength"), user.bytes("Sid")), (0, &[0; 38][..]));
    }
    assert_eq!(peer.credentials, None);

    let script = async {
        let call = peer.call(0x83).await;
        let (od, options) = peer.answer_open(&call, 2).await;
        assert_eq!((od.number("ObjectType"), od.text("ObjectName"), options), (1, "APP.QUEUE", 0x2031));
        assert_eq!(call.body.len(), if peer.fap() < 9 { 172 } else { 200 }, "FOPA from FAP 9 on");

        let call = peer.call(0x86).await;
        assert_eq!(call.handle, 2);
        let put = call.parts(&peer).put();
        assert_eq!((put.md.version, put.md.text("Format"), put.md.number("Expiry")), (1, "", u32::MAX));
        let sync = if setting.spi { 0x2_0000 } else { 0 };
        assert_eq!((put.pmo.version, put.pmo.number("Options")), (1, 0x2 | sync));
        assert_eq!(put.data, b"hello");
        peer.answer_put(&call, (0, 0), None, &put, &full_md(1)).await;

        let call = peer.call(0x85).await;
        let mut parts = call.parts(&peer);
        let (md, gmo, length) = (parts.md(), parts.gmo(), parts.number());
        parts.end();
        assert_eq!((call.handle, length), (2, 1000.min(setting.message_bytes_max)));
        assert_eq!((md.version, gmo.version), (1, 1));
        assert_eq!((gmo.number("Options"), gmo.number("WaitInterval")), (0x3, 5000));
        let gmo = gmo.set("ResolvedQName", "APP.QUEUE");
        let body = peer.got(&full_md(1), &gmo, 7, b"welcome");
        peer.reply(&call, (0, 0), 2, &body).await;

        let call = peer.call(0x89).await;
        let mut parts = call.parts(&peer);
        let asked = parts.selectors();
        parts.end();
        assert_eq!((asked.selectors.as_slice(), asked.integers, asked.chars), (&[3, 2016][..], 1, 48));
        let mut body = asked.echo(peer.coding());
        body.extend(peer.coding().u32(17));
        body.extend(peer.coding().chars("APP.QUEUE", 48));
        peer.reply(&call, (0, 0), 2, &body).await;

        let call = peer.call(0x88).await;
        let mut parts = call.parts(&peer);
        let asked = parts.selectors();
        assert_eq!((asked.selectors.as_slice(), asked.integers, asked.chars), (&[10, 2023][..], 1, 64));
        assert_eq!((parts.number(), parts.text(64)), (1, "some data".to_owned()));
        parts.end();
        peer.reply(&call, (0, 0), 2, &[]).await;

        for kind in [0x8A, 0x8B] {
            let call = peer.call(kind).await;
            assert!(call.body.is_empty());
            peer.reply(&call, (0, 0), 0, &[]).await;
        }
        let call = peer.call(0x84).await;
        let mut parts = call.parts(&peer);
        assert_eq!((call.handle, parts.number()), (2, 1));
        parts.end();
        peer.reply(&call, (0, 0), u32::MAX, &[]).await;
        peer.disconnected().await;
    };
    let client = async {
        let options = OpenOptions::INPUT_AS_Q_DEF
            | OpenOptions::OUTPUT
            | OpenOptions::INQUIRE
            | OpenOptions::FAIL_IF_QUIESCING;
        let queue = connection.open(queue("APP.QUEUE"), options).await.unwrap();
        assert_eq!((queue.handle, queue.reason), (2, Reason::NONE));
        let pmo = Mqpmo { options: PutOptions::SYNCPOINT, ..Mqpmo::default() };
        let put = connection.put(2, Mqmd::default(), pmo, "hello".into()).await.unwrap();
        assert!(put.answered);
        assert_eq!(put.md.put_appl_name.to_string(), "demo.Main");
        assert_eq!(put.pmo.resolved_q_name.to_string(), "RESOLVED.Q");
        assert_eq!(put.pmo.resolved_q_mgr_name.to_string(), "QM.RESOLVED");
        let gmo = Mqgmo {
            options: GetOptions::WAIT | GetOptions::SYNCPOINT,
            wait_interval: 5000,
            ..Mqgmo::default()
        };
        let got = connection.get(2, Mqmd::default(), gmo, 1000).await.unwrap().unwrap();
        assert_eq!((got.data, got.total_length), (Bytes::from("welcome"), 7));
        assert_eq!(got.gmo.resolved_q_name.to_string(), "APP.QUEUE");
        assert_eq!(got.md.reply_to_q.to_string(), "REPLY.Q");
        let selectors = vec![Selector::IA_CURRENT_Q_DEPTH, Selector::CA_Q_NAME];
        let found = connection.inquire(2, selectors, 48).await.unwrap();
        assert_eq!((found.ints, found.chars), (vec![17], format!("{:48}", "APP.QUEUE").into_bytes()));
        let selectors = vec![Selector(10), Selector(2023)];
        let data = format!("{:64}", "some data").into_bytes();
        connection.set(2, selectors, vec![1], data).await.unwrap();
        connection.commit().await.unwrap();
        connection.back().await.unwrap();
        connection.close(2, CloseOptions::DELETE).await.unwrap();
        connection.disconnect().await.unwrap();
    };
    tokio::join!(client, script);
}

#[tokio::test]
async fn what_the_client_proposes() {
    let (_connection, peer) = connected(Setting::default()).await;
    let id: &Fields = &peer.proposed;
    assert_eq!(id.number("FapLevel"), 12);
    assert_eq!(id.number("CapFlags1"), 0x26);
    assert_eq!(id.number("CapFlags2"), 0x51, "as IBM's client: lists, XA, SPI");
    assert_eq!(id.number("CapFlags3"), 0);
    assert_eq!(id.number("MaxTransmissionSize"), 32748);
    assert_eq!(id.number("MaxMsgSize"), 104_857_600);
    assert_eq!(id.number("ConvPerSocket"), 0);
    assert_eq!(id.text("QMgrName"), "");
    assert_eq!(id.number("EFLLength"), 0x6A);
}
