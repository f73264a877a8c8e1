//! Half-open handshakes, stalled calls, heartbeats, silent peers.

use bytes::Bytes;
use mq_channel::{ChannelTerms, ClientEvent, ConnectionError, Event, Reply, Request};
use mq_wire::{CompCode, GetOptions, Mqgmo, Mqmd, Mqpmo, Reason, SegmentType};

use crate::pair::{Pair, client_config, server_config};

fn waiting_get(wait_interval: i32) -> Request {
    let gmo = Mqgmo { options: GetOptions::WAIT, wait_interval, ..Mqgmo::default() };
    Request::Get { handle: 2, md: Mqmd::default(), gmo, buffer_length: 100 }
}

#[test]
fn a_handshake_that_stops_anywhere_is_ended() {
    let steps: [fn(&mut Pair); 3] = [
        |_| {},
        |pair| {
            pair.drive();
            pair.server.poll_event();
        },
        |pair| {
            pair.drive();
            pair.server.poll_event();
            pair.server.channel_accepted(ChannelTerms::default()).unwrap();
        },
    ];
    for step in steps {
        let mut pair = Pair::new();
        step(&mut pair);
        let at = pair.server.poll_timeout().unwrap();
        assert_eq!(at, pair.time + server_config().handshake_timeout);
        assert_eq!(pair.server.handle_timeout(pair.time), Ok(()), "too early");
        assert!(matches!(pair.server.handle_timeout(at), Err(ConnectionError::Silent(_))));
        while pair.server.poll_output().is_some() {}
        assert!(pair.server.is_finished());
        assert_eq!(pair.server.poll_timeout(), None);
    }
}

#[test]
fn a_trickle_of_bytes_does_not_prolong_the_handshake() {
    let mut pair = Pair::new();
    let first = pair.client.poll_output().unwrap();
    let end = pair.time + server_config().handshake_timeout;
    for byte in &first[..50] {
        pair.pass(1);
        pair.server.handle_bytes(pair.time, &[*byte]).unwrap();
    }
    assert_eq!(pair.server.poll_timeout(), Some(end));
}

#[test]
fn a_client_gives_up_a_handshake_too() {
    let mut pair = Pair::new();
    let at = pair.client.poll_timeout().unwrap();
    assert_eq!(at, pair.time + client_config().handshake_timeout);
    let error = pair.client.handle_timeout(at).unwrap_err();
    assert_eq!(
        (error.reason(), error),
        (Reason::CONNECTION_BROKEN, ConnectionError::Silent("while the channel starts"))
    );
}

#[test]
fn idle_connections_live_for_ever_and_hear_no_heartbeats() {
    let pair = Pair::connected();
    assert_eq!(pair.server.poll_timeout(), None);
    assert_eq!(pair.client.poll_timeout(), None);
}

#[test]
fn half_a_call_must_go_on() {
    let mut pair = Pair::connected();
    let request = Request::Put {
        handle: 2,
        md: Mqmd::default(),
        pmo: Mqpmo::default(),
        data: Bytes::from(vec![0; 100_000]),
    };
    pair.client.call(pair.time, request).unwrap();
    let first = pair.client.poll_output().unwrap();
    pair.server.handle_bytes(pair.time, &first).unwrap();
    let at = pair.server.poll_timeout().unwrap();
    assert_eq!(at, pair.time + server_config().stall_timeout);
    assert!(matches!(pair.server.handle_timeout(at), Err(ConnectionError::Silent("between two calls"))));
}

#[test]
fn heartbeats_flow_inside_a_waiting_get_and_nowhere_else() {
    let mut pair = Pair::new().connect(ChannelTerms { heartbeat_s: 100, ..ChannelTerms::default() });
    pair.client.call(pair.time, Request::Commit).unwrap();
    pair.drive();
    assert_eq!(pair.server.poll_timeout(), None, "no heartbeat in MQCMIT");
    let (call, _) = pair.called();
    pair.reply(call, Reply::DONE);
    pair.drive();
    pair.client.poll_event();

    pair.client.call(pair.time, waiting_get(-1)).unwrap();
    pair.drive();
    let (call, _) = pair.called();
    for _ in 0..3 {
        assert_eq!(pair.server.poll_timeout(), Some(pair.time + std::time::Duration::from_secs(100)));
        pair.pass(100);
        pair.server.handle_timeout(pair.time).unwrap();
        let (beat, length) = {
            pair.drive();
            *pair.down.last().unwrap()
        };
        let seen = (beat.segment_type, beat.control_flags_1.bits(), length);
        assert_eq!(seen, (SegmentType::HEARTBEAT, 0x01, 28));
        let (answer, _) = pair.up.last().unwrap();
        assert_eq!((answer.segment_type, answer.control_flags_1.bits()), (SegmentType::HEARTBEAT, 0x30));
        assert_eq!(pair.server.poll_event(), None, "the answer is swallowed");
        // Whatever came at the moment of sending is not yet an answer; a little later it is.
        pair.server.handle_bytes(pair.time + std::time::Duration::from_millis(1), &[]).unwrap();
    }
    pair.reply(call, Reply::failed(Reason::NO_MSG_AVAILABLE));
    pair.drive();
    assert!(matches!(pair.client.poll_event(), Some(ClientEvent::Reply { .. })));
    assert_eq!(pair.server.poll_timeout(), None);
}

#[test]
fn a_client_that_answers_no_heartbeat_is_dead() {
    let mut pair = Pair::new().connect(ChannelTerms { heartbeat_s: 100, ..ChannelTerms::default() });
    pair.client.call(pair.time, waiting_get(-1)).unwrap();
    pair.drive();
    pair.pass(100);
    pair.server.handle_timeout(pair.time).unwrap();
    let at = pair.server.poll_timeout().unwrap();
    assert_eq!(at, pair.time + std::time::Duration::from_secs(60));
    assert!(matches!(pair.server.handle_timeout(at), Err(ConnectionError::Silent(_))));
}

#[test]
fn a_client_waits_as_long_as_its_get_and_a_grace() {
    let mut pair = Pair::new().connect(ChannelTerms { heartbeat_s: 0, ..ChannelTerms::default() });
    pair.client.call(pair.time, waiting_get(5000)).unwrap();
    let at = pair.client.poll_timeout().unwrap();
    assert_eq!(at, pair.time + std::time::Duration::from_secs(5) + client_config().reply_timeout);
    assert!(matches!(pair.client.handle_timeout(at), Err(ConnectionError::Silent("MQGET"))));

    let mut pair = Pair::new().connect(ChannelTerms { heartbeat_s: 0, ..ChannelTerms::default() });
    pair.client.call(pair.time, waiting_get(-1)).unwrap();
    assert_eq!(pair.client.poll_timeout(), None, "for ever is for ever");
}

#[test]
fn a_silent_queue_manager_is_found_out_by_its_missing_heartbeats() {
    let mut pair = Pair::new().connect(ChannelTerms { heartbeat_s: 100, ..ChannelTerms::default() });
    pair.client.call(pair.time, waiting_get(-1)).unwrap();
    let at = pair.client.poll_timeout().unwrap();
    assert_eq!(at, pair.time + std::time::Duration::from_secs(160));
    assert!(pair.client.handle_timeout(at).is_err());
}

#[test]
fn a_client_that_does_not_hang_up_after_mqdisc_is_hung_up_on() {
    let mut pair = Pair::connected();
    pair.client.call(pair.time, Request::Disconnect).unwrap();
    pair.drive();
    let (call, _) = pair.called();
    pair.reply(call, Reply::Plain { cc: CompCode::OK, reason: Reason::NONE });
    while pair.server.poll_output().is_some() {}
    let at = pair.server.poll_timeout().unwrap();
    assert_eq!(pair.server.handle_timeout(at), Ok(()));
    assert_eq!(pair.server.poll_event(), Some(Event::Ended));
    assert!(pair.server.is_finished());
}
