//! Whatever bytes come: an error or silence, never a panic, never much memory.

use std::sync::Arc;
use std::time::Instant;

use mq_channel::{
    ChannelTerms, ClientConnection, ClientEvent, ConnectionError, Event, PeerError, Reply, Request,
    ServerConnection,
};
use mq_wire::{
    ApiHeader, Body, Call, CompCode, Mqgmo, Mqmd, Mqpmo, OpenOptions, Reason, SegmentType, StatusCode,
};
use proptest::prelude::*;

use crate::pair::{Pair, client_config, connect_reply, segment, server_config};

/// A server in each of its states, with the name of it.
fn servers() -> Vec<(&'static str, Pair)> {
    let deciding = {
        let mut pair = Pair::new();
        pair.drive();
        pair.server.poll_event();
        pair
    };
    let identifying = {
        let mut pair = Pair::new();
        let ids = |pair: &mut Pair| {
            let bytes = pair.client.poll_output().unwrap();
            pair.server.handle_bytes(pair.time, &bytes).unwrap();
        };
        ids(&mut pair);
        pair.server.poll_event();
        pair.server.channel_accepted(ChannelTerms::default()).unwrap();
        let answer = pair.server.poll_output().unwrap();
        pair.client.handle_bytes(pair.time, &answer).unwrap();
        ids(&mut pair);
        pair
    };
    let calling = {
        let mut pair = Pair::connected();
        pair.client.call(pair.time, Request::Commit).unwrap();
        pair.drive();
        pair
    };
    let disconnected = {
        let mut pair = Pair::connected();
        pair.client.call(pair.time, Request::Disconnect).unwrap();
        pair.drive();
        let (call, _) = pair.called();
        pair.reply(call, Reply::DONE);
        pair
    };
    vec![
        ("start", Pair::new()),
        ("deciding", deciding),
        ("identifying", identifying),
        ("connected", Pair::connected()),
        ("calling", calling),
        ("disconnected", disconnected),
    ]
}

#[test]
fn a_segment_at_the_wrong_time_ends_the_connection() {
    let allowed = |state: &str, segment_type: SegmentType| match state {
        "start" => segment_type == SegmentType::INITIAL_DATA,
        "identifying" => {
            [SegmentType::USERID, SegmentType::CONAUTH_INFO, SegmentType::MQCONN].contains(&segment_type)
        }
        "connected" => {
            segment_type == SegmentType::HEARTBEAT
                || (segment_type.is_call() && !segment_type.is_reply() && segment_type != SegmentType::MQCONN)
                || (0xA1..=0xAA).contains(&segment_type.0)
        }
        "calling" => segment_type == SegmentType::HEARTBEAT,
        "disconnected" => segment_type == SegmentType::STATUS,
        _ => false,
    };
    for code in 0..=255 {
        let segment_type = SegmentType(code);
        let body = if segment_type.is_call() {
            Body::Call(ApiHeader::default(), Call::Empty)
        } else {
            Body::Status(None)
        };
        for (state, mut pair) in servers() {
            if allowed(state, segment_type) {
                continue;
            }
            let error = pair
                .server
                .handle_bytes(pair.time, &segment(segment_type, 0x30, &body))
                .expect_err(&format!("{segment_type} in {state}"));
            while pair.server.poll_event().is_some() {}
            while pair.server.poll_output().is_some() {}
            assert!(pair.server.is_finished(), "{segment_type} in {state}: {error}");
            assert_eq!(pair.server.poll_timeout(), None);
            assert_eq!(pair.server.handle_bytes(pair.time, b"more"), Ok(()), "nothing is read any more");
        }
    }
}

#[test]
fn an_unknown_type_is_answered_by_status_0a_and_the_end() {
    let mut pair = Pair::connected();
    let bytes = segment(SegmentType(0x70), 0x30, &Body::Status(None));
    let error = pair.server.handle_bytes(pair.time, &bytes).unwrap_err();
    assert_eq!(error, ConnectionError::Peer(PeerError::Unknown(SegmentType(0x70))));
    let told = pair.try_drive().unwrap_err();
    assert_eq!(told, ConnectionError::Refused(StatusCode::PROTOCOL_SEGMENT_TYPE));
    assert_eq!(pair.down.last().unwrap().0.control_flags_1.bits(), 0x0A);
}

#[test]
fn calls_that_nobody_serves_get_a_reason() {
    for segment_type in [SegmentType::MQSUB, SegmentType::MQSUBRQ] {
        let mut pair = Pair::connected();
        let call = Body::Call(ApiHeader::default(), Call::Empty);
        pair.server.handle_bytes(pair.time, &segment(segment_type, 0x30, &call)).unwrap();
        assert_eq!(pair.server.poll_event(), None);
        let bytes = pair.server.poll_output().unwrap();
        assert_eq!(Some(SegmentType(bytes[9])), segment_type.reply());
        assert_eq!(bytes[32..40], [2, 0, 0, 0, 0xFA, 8, 0, 0], "CompCode 2, Reason 2298");
    }
}

#[test]
fn segments_of_a_call_that_are_out_of_order() {
    let call =
        |segment_type, flags| segment(segment_type, flags, &Body::Call(ApiHeader::default(), Call::Empty));
    let check = |sequence: &[(SegmentType, u8)]| {
        let mut pair = Pair::connected();
        let (last, before) = sequence.split_last().unwrap();
        for (segment_type, flags) in before {
            pair.server.handle_bytes(pair.time, &call(*segment_type, *flags)).unwrap();
        }
        let error = pair.server.handle_bytes(pair.time, &call(last.0, last.1)).unwrap_err();
        assert!(matches!(error, ConnectionError::Peer(PeerError::Continuation(_))), "{sequence:?}: {error}");
    };
    let (put, get) = (SegmentType::MQPUT, SegmentType::MQGET);
    check(&[(put, 0x20)]);
    check(&[(put, 0x00)]);
    check(&[(put, 0x10), (put, 0x30)]);
    check(&[(put, 0x10), (put, 0x10)]);
    check(&[(put, 0x10), (get, 0x20)]);
}

#[test]
fn shared_conversations_and_compression_were_not_agreed() {
    let mut pair = Pair::connected();
    let mut bytes = segment(SegmentType::MQCMIT, 0x30, &Body::Call(ApiHeader::default(), Call::Empty));
    bytes[11] = 0x02;
    let error = pair.server.handle_bytes(pair.time, &bytes).unwrap_err();
    assert_eq!(error, ConnectionError::Peer(PeerError::Compressed(SegmentType::MQCMIT)));
    let mut pair = Pair::connected();
    bytes[3] = b'C';
    let error = pair.server.handle_bytes(pair.time, &bytes).unwrap_err();
    assert_eq!(error, ConnectionError::Peer(PeerError::HeaderKind));
}

#[test]
fn a_long_segment_is_refused_by_its_header() {
    let mut pair = Pair::connected();
    let mut bytes = segment(SegmentType::MQCMIT, 0x30, &Body::Call(ApiHeader::default(), Call::Empty));
    bytes[4..8].copy_from_slice(&1_000_000_u32.to_be_bytes());
    assert!(pair.server.handle_bytes(pair.time, &bytes[..8]).is_err());
}

#[test]
fn a_call_that_is_cut_off_has_the_reason_of_what_is_missing() {
    let mut pair = Pair::connected();
    let request = Request::Get { handle: 1, md: Mqmd::default(), gmo: Mqgmo::default(), buffer_length: 10 };
    pair.client.call(pair.time, request).unwrap();
    let whole = pair.client.poll_output().unwrap();
    let (md, gmo) = (28 + 16, 28 + 16 + 324);
    for length in 28..whole.len() {
        let mut cut = whole[..length].to_vec();
        cut[4..8].copy_from_slice(&(length as u32).to_be_bytes());
        let mut pair = Pair::connected();
        let outcome = pair.server.handle_bytes(pair.time, &cut);
        if length < md {
            // Without an API header it is no call.
            let error = outcome.unwrap_err();
            assert!(matches!(error, ConnectionError::Peer(PeerError::Decode { .. })), "{length}: {error}");
            continue;
        }
        let reason = match length {
            _ if length < gmo => Reason::MD_ERROR,
            _ if length < gmo + 72 => Reason::GMO_ERROR,
            _ => Reason::BUFFER_LENGTH_ERROR,
        };
        outcome.unwrap();
        let answer = pair.server.poll_output().unwrap();
        assert_eq!(answer[36..40], reason.0.to_le_bytes(), "{length}");
        assert_eq!(pair.server.poll_event(), None);
    }
}

#[test]
fn structures_that_are_none_have_their_reasons() {
    let check = |place: usize, reason: Reason| {
        let mut pair = Pair::connected();
        let (md, gmo) = (Mqmd::default(), Mqgmo::default());
        pair.client.call(pair.time, Request::Get { handle: 1, md, gmo, buffer_length: 10 }).unwrap();
        let mut bytes = pair.client.poll_output().unwrap().to_vec();
        bytes[place] = 9;
        pair.server.handle_bytes(pair.time, &bytes).unwrap();
        pair.drive();
        match pair.client.poll_event() {
            Some(ClientEvent::Reply { reply, .. }) => assert_eq!(reply, Reply::failed(reason)),
            other => panic!("{other:?}"),
        }
    };
    // Identifier and version of MQMD and MQGMO.
    check(44, Reason::MD_ERROR);
    check(48, Reason::MD_ERROR);
    check(44 + 324, Reason::GMO_ERROR);
    check(48 + 324, Reason::GMO_ERROR);
}

/// Answers whatever the server asks, so that bytes reach every state.
fn feed(server: &mut ServerConnection, now: Instant, bytes: &[u8]) -> Result<(), ConnectionError> {
    let result = server.handle_bytes(now, bytes);
    while let Some(event) = server.poll_event() {
        match event {
            Event::ChannelRequested(_) => server.channel_accepted(ChannelTerms::default()),
            Event::Call { call, request: Request::Connect(_), .. } => {
                server.reply(now, call, connect_reply())
            }
            Event::Call { call, .. } => server.reply(now, call, Reply::failed(Reason::HOBJ_ERROR)),
            Event::ConversationEnded { .. } | Event::Ended => Ok(()),
        }?;
    }
    while server.poll_output().is_some() {}
    result
}

/// A whole conversation of our client, segment by segment.
fn conversation() -> Vec<Vec<u8>> {
    let mut pair = Pair::new();
    let mut sent = Vec::new();
    let requests = [
        Request::Open { od: Box::default(), options: OpenOptions::INQUIRE },
        Request::Put { handle: 1, md: Mqmd::default(), pmo: Mqpmo::default(), data: vec![1; 40_000].into() },
        Request::Inquire { handle: 1, selectors: vec![], int_count: 1, char_length: 1 },
        Request::Disconnect,
    ];
    let mut requests = requests.into_iter();
    loop {
        while let Some(bytes) = pair.client.poll_output() {
            feed_pair(&mut pair, &bytes);
            sent.push(bytes.to_vec());
        }
        pair.client.poll_event();
        match requests.next() {
            Some(request) => pair.client.call(pair.time, request).unwrap(),
            None => return sent,
        };
    }
}

fn feed_pair(pair: &mut Pair, bytes: &[u8]) {
    pair.server.handle_bytes(pair.time, bytes).unwrap();
    while let Some(event) = pair.server.poll_event() {
        match event {
            Event::ChannelRequested(_) => pair.server.channel_accepted(ChannelTerms::default()).unwrap(),
            Event::Call { call, request: Request::Connect(_), .. } => pair.reply(call, connect_reply()),
            Event::Call { call, request: Request::Disconnect, .. } => pair.reply(call, Reply::DONE),
            Event::Call { call, .. } => pair.reply(call, Reply::failed(Reason::HOBJ_ERROR)),
            Event::ConversationEnded { .. } | Event::Ended => {}
        }
    }
    while let Some(bytes) = pair.server.poll_output() {
        pair.client.handle_bytes(pair.time, &bytes).unwrap();
    }
}

proptest! {
    #[test]
    fn garbage_to_a_server(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let now = Instant::now();
        let mut server = ServerConnection::new(Arc::new(server_config()), now);
        let _ = feed(&mut server, now, &bytes);
    }

    #[test]
    fn garbage_to_a_client(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let now = Instant::now();
        let mut client = ClientConnection::new(Arc::new(client_config()), now);
        let _ = client.handle_bytes(now, &bytes);
    }

    /// One to four bytes of a good conversation are changed, and its segments come in pieces of any size.
    #[test]
    fn a_conversation_with_wrong_bytes(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..5),
        piece in 1_usize..5000,
    ) {
        let mut segments = conversation();
        // Most of it is message data; the structures are what is worth hitting.
        let places: Vec<(usize, usize)> = segments
            .iter()
            .enumerate()
            .flat_map(|(index, bytes)| (0..bytes.len().min(600)).map(move |place| (index, place)))
            .collect();
        for (index, value) in changes {
            let (segment, place) = *index.get(&places);
            segments[segment][place] = value;
        }
        let now = Instant::now();
        let mut server = ServerConnection::new(Arc::new(server_config()), now);
        for part in segments.iter().flat_map(|segment| segment.chunks(piece)) {
            if feed(&mut server, now, part).is_err() {
                break;
            }
        }
    }

    /// The answers of a queue manager with wrong bytes.
    #[test]
    fn answers_with_wrong_bytes(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut pair = Pair::connected();
        let request = Request::Get {
            handle: 1,
            md: Mqmd::default(),
            gmo: Mqgmo::default(),
            buffer_length: 100,
        };
        pair.client.call(pair.time, request).unwrap();
        pair.drive();
        let (call, _) = pair.called();
        pair.reply(call, Reply::Get {
            cc: CompCode::OK,
            reason: Reason::NONE,
            md: Mqmd::default(),
            gmo: Mqgmo::default(),
            total_length: 5,
            data: bytes::Bytes::from_static(b"hello"),
        });
        let mut bytes = pair.server.poll_output().unwrap().to_vec();
        for (index, value) in changes {
            let place = index.index(bytes.len());
            bytes[place] = value;
        }
        let _ = pair.client.handle_bytes(pair.time, &bytes);
    }
}

#[test]
fn a_good_conversation_cut_at_every_place_is_a_broken_connection() {
    let segments = conversation();
    let now = Instant::now();
    // All but the STATUS at the end, and MQDISC whole: then it is over.
    let end = segments.iter().map(Vec::len).sum::<usize>() - 28;
    for cut in (0..2500).chain(end - 500..end) {
        let mut server = ServerConnection::new(Arc::new(server_config()), now);
        let mut left = cut;
        for segment in &segments {
            let here = left.min(segment.len());
            feed(&mut server, now, &segment[..here]).unwrap();
            left -= here;
        }
        assert!(matches!(server.handle_end_of_stream(), Err(ConnectionError::Closed(_))), "cut at {cut}");
    }
}
