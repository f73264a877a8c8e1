//! How channels start, how clients say who they are, how both are refused, and how connections end.

use std::sync::Arc;
use std::time::Instant;

use mq_channel::{
    ChannelTerms, ClientConfig, ClientEvent, ConnectionError, Event, Password, PeerError, Reply, Request,
    ServerConfig, ServerConnection,
};
use mq_wire::{
    Body, ByteOrder, CapFlags1, CapFlags2, CapFlags3, Ccsid, Coding, Encoding, ErrFlags1, GetOptions,
    InitialData, Mqgmo, Mqmd, Reason, SegmentHeader, SegmentKind, SegmentType, StatusCode,
};

use crate::pair::{Pair, client_config, connect_reply, segment, segment_with, server_config};

#[test]
fn a_channel_starts_in_two_rounds() {
    let mut pair = Pair::new();
    pair.drive();
    let Some(Event::ChannelRequested(request)) = pair.server.poll_event() else { panic!() };
    assert_eq!(request.channel.to_string(), "DEV.APP.SVRCONN");
    assert_eq!(request.fap_level, 12);
    pair.server
        .channel_accepted(ChannelTerms { max_msg_length: 1000, heartbeat_s: 300, ..ChannelTerms::default() })
        .unwrap();
    pair.drive();
    let flags: Vec<_> =
        pair.down.iter().map(|(header, _)| (header.segment_type, header.control_flags_1.bits())).collect();
    assert_eq!(flags, [(SegmentType::INITIAL_DATA, 0x02), (SegmentType::INITIAL_DATA, 0x00)]);
    let types: Vec<_> = pair.up.iter().map(|(header, _)| header.segment_type).collect();
    let (id, uid, conn) = (SegmentType::INITIAL_DATA, SegmentType::USERID, SegmentType::MQCONN);
    assert_eq!(types, [id, id, uid, conn], "no answer is awaited after USERID");
    let (call, request) = pair.called();
    let Request::Connect(connect) = request else { panic!() };
    assert_eq!((connect.user.as_str(), &connect.password), ("app", &None));
    assert_eq!(connect.appl_name.to_string(), "demo.Main");
    pair.reply(call, connect_reply());
    pair.drive();
    match pair.client.poll_event() {
        Some(ClientEvent::Connected { qmgr_name, connection_id, max_msg_length }) => {
            assert_eq!((qmgr_name.to_string().as_str(), max_msg_length), ("QM1", 1000));
            assert_eq!(&connection_id[..4], b"AMQC");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_password_is_answered_by_a_bare_status_and_judged_in_reply_to_mqconn() {
    let client = ClientConfig { password: Some(Password::new("passw0rd")), ..client_config() };
    let mut pair = Pair::with(server_config(), client);
    pair.drive();
    pair.server.poll_event();
    pair.server.channel_accepted(ChannelTerms::default()).unwrap();
    pair.drive();
    let (status, length) = pair.down.last().unwrap();
    assert_eq!((status.segment_type, status.control_flags_1.bits(), *length), (SegmentType::STATUS, 0, 28));
    let (call, request) = pair.called();
    let Request::Connect(connect) = request else { panic!() };
    assert_eq!(connect.user, "app");
    assert_eq!(connect.password.as_ref().unwrap().as_bytes(), b"passw0rd");
    assert!(!format!("{connect:?}").contains("passw0rd"));
    pair.reply(call, Reply::failed(Reason::NOT_AUTHORIZED));
    pair.drive();
    assert_eq!(pair.client.poll_event(), Some(ClientEvent::Refused(Reason::NOT_AUTHORIZED)));
    assert!(pair.client.is_finished());
    assert_eq!(pair.server.poll_event(), Some(Event::Ended), "the client's STATUS has come");
    assert!(pair.server.is_finished());
}

#[test]
fn an_unknown_channel_is_refused_with_its_status() {
    let check = |code: StatusCode, reason: Reason| {
        let mut pair = Pair::new();
        pair.drive();
        pair.server.poll_event();
        pair.server.channel_refused(code).unwrap();
        let error = pair.try_drive().unwrap_err();
        assert_eq!((error.reason(), error), (reason, ConnectionError::Refused(code)));
        let (status, length) = pair.down.last().unwrap();
        assert_eq!((status.control_flags_1.bits(), *length), (0x0A, 36));
        assert!(pair.server.is_finished());
    };
    check(StatusCode::NO_CHANNEL, Reason::UNKNOWN_CHANNEL_NAME);
    check(StatusCode::CHANNEL_WRONG_TYPE, Reason::CHANNEL_CONFIG_ERROR);
    check(StatusCode::QM_UNAVAILABLE, Reason::Q_MGR_NOT_AVAILABLE);
    check(StatusCode::CONNECTION_LIMIT, Reason::MAX_CONNS_LIMIT_REACHED);
    check(StatusCode::CHANNEL_UNAVAILABLE, Reason::CHANNEL_NOT_AVAILABLE);
}

#[test]
fn an_unknown_queue_manager_is_a_reason() {
    let mut pair = Pair::new();
    pair.drive();
    pair.server.poll_event();
    pair.server.channel_accepted(ChannelTerms::default()).unwrap();
    pair.drive();
    let (call, _) = pair.called();
    pair.reply(call, Reply::failed(Reason::Q_MGR_NAME_ERROR));
    pair.drive();
    assert_eq!(pair.client.poll_event(), Some(ClientEvent::Refused(Reason::Q_MGR_NAME_ERROR)));
}

#[test]
fn both_ends_speak_the_byte_order_of_the_queue_manager() {
    for (order, encoding) in [(ByteOrder::Big, Encoding::BIG), (ByteOrder::Little, Encoding::LITTLE)] {
        let coding = Coding { order, ccsid: Ccsid(437) };
        let mut pair = Pair::with(ServerConfig { coding, ..server_config() }, client_config())
            .connect(ChannelTerms::default());
        let (_, reply) = pair.round(Request::Commit, Reply::DONE);
        assert_eq!(reply, Reply::DONE);
        for (header, _) in pair.down.iter().chain(&pair.up[1..]) {
            assert_eq!((header.order, header.encoding, header.ccsid), (order, encoding, 437));
        }
    }
}

#[test]
fn every_cut_of_the_stream_gives_the_same_conversation() {
    for chop in [1, 2, 3, 7, 28, 29, 100] {
        let mut pair = Pair { chop, ..Pair::new() }.connect(ChannelTerms::default());
        assert_eq!(pair.round(Request::Back, Reply::DONE), (Request::Back, Reply::DONE), "{chop}");
    }
}

#[test]
fn mqdisc_and_a_status_end_it() {
    let mut pair = Pair::connected();
    assert_eq!(pair.round(Request::Disconnect, Reply::DONE), (Request::Disconnect, Reply::DONE));
    let (status, length) = pair.up.last().unwrap();
    assert_eq!(
        (status.segment_type, status.control_flags_1.bits(), *length),
        (SegmentType::STATUS, 0x38, 28)
    );
    assert!(pair.client.is_finished());
    assert_eq!(pair.server.poll_event(), Some(Event::Ended));
    assert!(pair.server.is_finished());
    assert_eq!(pair.server.handle_end_of_stream(), Ok(()));
    assert_eq!(pair.client.handle_end_of_stream(), Ok(()));
}

#[test]
fn a_socket_closed_after_mqdisc_is_an_end_and_before_it_a_break() {
    let mut pair = Pair::connected();
    let sent = pair.client.call(pair.time, Request::Disconnect).unwrap();
    pair.drive();
    let (call, _) = pair.called();
    pair.reply(call, Reply::DONE);
    assert_eq!(pair.server.handle_end_of_stream(), Ok(()));
    assert_eq!(pair.server.poll_event(), Some(Event::Ended));
    let _ = sent;

    let mut pair = Pair::connected();
    assert!(matches!(pair.server.handle_end_of_stream(), Err(ConnectionError::Closed(_))));
    assert_eq!(pair.server.poll_event(), None);
    let error = pair.client.handle_end_of_stream().unwrap_err();
    assert_eq!(error.reason(), Reason::CONNECTION_BROKEN);
}

#[test]
fn a_queue_manager_that_ends_breaks_the_connection() {
    let mut pair = Pair::connected();
    pair.server.terminate();
    let error = pair.try_drive().unwrap_err();
    assert_eq!(error, ConnectionError::Refused(StatusCode::QM_TERMINATING));
    assert!(pair.server.is_finished());
}

#[test]
fn a_get_that_waits_when_the_queue_manager_ends_is_told() {
    let mut pair = Pair::connected();
    let gmo = Mqgmo { options: GetOptions::WAIT, wait_interval: -1, ..Mqgmo::default() };
    let request = Request::Get { handle: 2, md: Mqmd::default(), gmo, buffer_length: 10 };
    let call = pair.client.call(pair.time, request).unwrap();
    pair.drive();
    pair.server.terminate();
    pair.drive();
    let reply = Reply::failed(Reason::Q_MGR_STOPPING);
    assert_eq!(pair.client.poll_event(), Some(ClientEvent::Reply { call, reply }));
    assert!(pair.server.is_finished());
}

/// The server's answers to one hand-made proposal after the other, on a channel without sharing.
fn negotiate(proposals: &[InitialData]) -> Result<Vec<InitialData>, ConnectionError> {
    negotiate_on(ChannelTerms { conversations: 0, ..ChannelTerms::default() }, proposals)
}

fn negotiate_on(terms: ChannelTerms, proposals: &[InitialData]) -> Result<Vec<InitialData>, ConnectionError> {
    let now = Instant::now();
    let mut server = ServerConnection::new(Arc::new(server_config()), now);
    let mut answers: Vec<InitialData> = Vec::new();
    for proposal in proposals {
        let body = Body::InitialData(Box::new(proposal.clone()));
        let shared = answers.last().is_some_and(|answer| answer.conv_per_socket != 0);
        let kind = if shared && proposal.conv_per_socket != 0 { SegmentKind::Tshm } else { SegmentKind::Tsh };
        let header = SegmentHeader {
            conversation_id: if kind == SegmentKind::Tshm { 1 } else { 0 },
            ..SegmentHeader::new(kind, SegmentType::INITIAL_DATA)
        };
        server.handle_bytes(now, &segment_with(header, 0x31, &body))?;
        if let Some(Event::ChannelRequested(_)) = server.poll_event() {
            server.channel_accepted(terms).unwrap();
        }
        let bytes = server.poll_output().unwrap();
        let (answered, _) = SegmentHeader::peek(&bytes, 40_000).unwrap().unwrap();
        assert_eq!((answered.kind, answered.conversation_id), (header.kind, header.conversation_id));
        let body = bytes.slice(answered.length()..);
        let Body::InitialData(answer) = Body::decode(&answered, &body, 0).unwrap() else { panic!() };
        answers.push(*answer);
    }
    Ok(answers)
}

/// What IBM's client proposes (mq-wire-observed-base.md 2.1).
fn java() -> InitialData {
    InitialData {
        fap_level: 17,
        cap_flags_1: CapFlags1::from_bits_retain(0x26),
        cap_flags_2: CapFlags2::from_bits_retain(0x51),
        cap_flags_3: CapFlags3::from_bits_retain(0x28),
        max_transmission_size: 32_748,
        max_msg_size: 104_857_600,
        heartbeat_interval: 1,
        conv_per_socket: 10,
        channel_name: "A".parse().unwrap(),
        ..InitialData::default()
    }
}

#[test]
fn what_differs_is_changed_and_flagged() {
    let first = &negotiate(&[java()]).unwrap()[0];
    assert_eq!((first.fap_level, first.max_msg_size, first.heartbeat_interval), (12, 4_194_304, 300));
    assert_eq!((first.conv_per_socket, first.length), (0, 240));
    assert_eq!(
        first.err_flags_1,
        ErrFlags1::FAP_LEVEL | ErrFlags1::MAX_MSG_SIZE | ErrFlags1::HEARTBEAT_INTERVAL
    );
    assert_eq!((first.cap_flags_2.bits(), first.ecap_flags_2.bits()), (0x51, 0));
    assert_eq!((first.cap_flags_3.bits(), first.ecap_flags_3.bits()), (0x20, 0x08));
    assert_eq!(first.q_mgr_name.to_string(), "QM1");
}

#[test]
fn sharing_is_agreed_with_all_that_belongs_to_it() {
    let algorithms = [1, 0, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF];
    let java = InitialData { password_algorithms: algorithms, random: [7; 12], ..java() };
    let terms = ChannelTerms { conversations: 3, ..ChannelTerms::default() };
    let first = negotiate_on(terms, std::slice::from_ref(&java)).unwrap().remove(0);
    assert_eq!((first.fap_level, first.conv_per_socket), (14, 3));
    assert_eq!((first.cap_flags_3.bits(), first.ecap_flags_3.bits()), (0x28, 0));
    assert_eq!((first.cap_flags_2.bits(), first.ecap_flags_2.bits()), (0x51, 0));
    // The client's own algorithms, and random bytes of ours.
    assert_eq!((first.password_algorithms, first.random), (algorithms, [0; 12]));
    let again = |change: fn(&mut InitialData)| {
        let mut second = first.clone();
        change(&mut second);
        negotiate_on(terms, &[java.clone(), second]).map(|answers| answers[1].clone())
    };
    let answer = again(|_| {}).unwrap();
    assert_eq!((answer.fap_level, answer.conv_per_socket, answer.err_flags_1.bits()), (14, 3, 0));
    // A client may still take less, even no sharing at all.
    let alone = again(|id| (id.conv_per_socket, id.fap_level) = (0, 12)).unwrap();
    assert_eq!((alone.conv_per_socket, alone.cap_flags_3.bits()), (0, 0x20));
    assert_eq!(again(|id| id.conv_per_socket = 1).unwrap().conv_per_socket, 1);
    assert!(again(|id| id.conv_per_socket = 4).is_err());
    assert!(again(|id| id.fap_level = 15).is_err());
    // With these it would read by REQUEST_MSGS.
    assert!(again(|id| id.fap_level = 12).is_err());
    assert!(again(|id| id.cap_flags_3 = CapFlags3::GEN_CONNTAG_CAP).is_err());
}

#[test]
fn the_shortest_initial_data_are_read_and_low_levels_refused() {
    let short = InitialData { length: 44, fap_level: 4, ..java() };
    assert_eq!(negotiate(&[short]).unwrap()[0].length, 44);
    let old = InitialData { length: 44, fap_level: 1, ..java() };
    assert!(matches!(
        negotiate(&[old]),
        Err(ConnectionError::Negotiation { what: "FAP level", ours: 4, theirs: 1 })
    ));
}

#[test]
fn a_second_proposal_that_takes_nothing_over_is_refused() {
    let again = |change: fn(&mut InitialData)| {
        let mut second = negotiate(&[java()]).unwrap()[0].clone();
        change(&mut second);
        negotiate(&[java(), second]).map(|answers| answers[1].clone())
    };
    let answer = again(|_| {}).unwrap();
    assert_eq!(
        (answer.err_flags_1.bits(), answer.ecap_flags_2.bits(), answer.ecap_flags_3.bits()),
        (0, 0, 0)
    );
    assert!(again(|id| id.fap_level = 13).is_err());
    assert!(again(|id| id.max_msg_size += 1).is_err());
    assert!(again(|id| id.max_transmission_size += 1).is_err());
    assert!(again(|id| id.conv_per_socket = 1).is_err());
    assert!(again(|id| id.channel_name = "B".parse().unwrap()).is_err());
    let without = InitialData { cap_flags_2: CapFlags2::from_bits_retain(0x11), ..java() };
    let with = InitialData { fap_level: 12, conv_per_socket: 0, ..java() };
    assert!(negotiate(&[without, with]).is_err(), "SPIREQUEST comes too late");
    assert_eq!(again(|id| id.max_transmission_size = 4096).unwrap().max_transmission_size, 4096);
}

#[test]
fn a_sender_channel_is_told_that_the_type_is_wrong() {
    let sender = InitialData { cap_flags_1: CapFlags1::from_bits_retain(0x07), ..java() };
    assert_eq!(negotiate(&[sender]), Err(ConnectionError::Peer(PeerError::NotAClient)));
}

/// A queue manager by hand: its answer to the proposal, then what the client sends next.
fn old_queue_manager(change: fn(&mut InitialData), flags: u8) -> Vec<(SegmentType, usize)> {
    let mut pair = Pair::new();
    let bytes = pair.client.poll_output().unwrap();
    let (header, _) = SegmentHeader::peek(&bytes, 40_000).unwrap().unwrap();
    let Body::InitialData(mut id) = Body::decode(&header, &bytes.slice(28..), 0).unwrap() else { panic!() };
    change(&mut id);
    for flags in [flags, 0x00] {
        let answer = segment(SegmentType::INITIAL_DATA, flags, &Body::InitialData(id.clone()));
        pair.client.handle_bytes(pair.time, &answer).unwrap();
        if flags == 0x00 {
            break;
        }
    }
    std::iter::from_fn(|| pair.client.poll_output())
        .map(|bytes| (SegmentType(bytes[9]), bytes.len()))
        .collect()
}

#[test]
fn the_client_goes_down_to_the_level_of_the_queue_manager() {
    let (id, uid, conn) = (SegmentType::INITIAL_DATA, SegmentType::USERID, SegmentType::MQCONN);
    // Lengths of mq-wire-observed-base.md 2.2: initial data 128, 160, 208; MQCONN 260 and 332.
    let sent = old_queue_manager(|id| id.fap_level = 8, 0x02);
    assert_eq!(sent, [(id, 28 + 128), (uid, 28 + 132), (conn, 28 + 16 + 260)]);
    let sent = old_queue_manager(|id| id.fap_level = 9, 0x02);
    assert_eq!(sent, [(id, 28 + 160), (uid, 28 + 132), (conn, 28 + 16 + 260)]);
    let sent = old_queue_manager(|id| id.max_msg_size = 4_194_304, 0x02);
    assert_eq!(sent, [(id, 28 + 208), (uid, 28 + 132), (conn, 28 + 16 + 332)]);
    // Consent at once: the proposal stands.
    let sent = old_queue_manager(|_| {}, 0x00);
    assert_eq!(sent, [(uid, 28 + 132), (conn, 28 + 16 + 332)]);
}

#[test]
fn the_client_ends_a_start_that_comes_to_nothing() {
    let answer = |change: fn(&mut InitialData)| {
        let mut pair = Pair::new();
        let mut id = java();
        change(&mut id);
        let answer = segment(SegmentType::INITIAL_DATA, 0x02, &Body::InitialData(Box::new(id)));
        (0..10).find_map(|_| pair.client.handle_bytes(pair.time, &answer).err())
    };
    let what = |error| match error {
        Some(ConnectionError::Negotiation { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(what(answer(|_| {})), "ConvPerSocket");
    assert_eq!(what(answer(|id| (id.conv_per_socket, id.fap_level) = (0, 3))), "FAP level");
    assert_eq!(
        what(answer(|id| (id.conv_per_socket, id.max_transmission_size) = (0, 100))),
        "MaxTransmissionSize"
    );
    assert_eq!(what(answer(|id| id.conv_per_socket = 0)), "the number of rounds");
}

#[test]
fn what_is_shown_of_the_machines_has_no_passwords() {
    let client = ClientConfig { password: Some(Password::new("passw0rd")), ..client_config() };
    let mut pair = Pair::with(server_config(), client);
    let mut shown = String::new();
    for _ in 0..4 {
        while let Some(bytes) = pair.client.poll_output() {
            let (first, second) = bytes.split_at(bytes.len() - 1);
            pair.server.handle_bytes(pair.time, first).unwrap();
            shown += &format!("{:?} {:?}", pair.client, pair.server);
            pair.server.handle_bytes(pair.time, second).unwrap();
        }
        if let Some(Event::ChannelRequested(_)) = pair.server.poll_event() {
            pair.server.channel_accepted(ChannelTerms::default()).unwrap();
        }
        while let Some(bytes) = pair.server.poll_output() {
            pair.client.handle_bytes(pair.time, &bytes).unwrap();
        }
        shown += &format!("{:?} {:?}", pair.client, pair.server);
    }
    assert!(shown.contains("Calling"), "it came to MQCONN");
    assert!(!shown.contains("passw0rd"));
}
