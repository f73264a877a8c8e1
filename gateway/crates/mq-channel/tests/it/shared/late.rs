//! What comes late or stays half done on a shared socket, and what is forgotten with a handle.

use mq_wire::CloseBody;

use super::*;

#[test]
fn a_conversation_that_is_not_connected_in_time_is_given_up_alone() {
    let mut socket = Socket::connected(ChannelTerms { heartbeat_s: 0, ..ChannelTerms::default() });
    let waits = socket.waiting_get(1);
    socket.start(3);
    let at = socket.time + server_config().handshake_timeout;
    assert_eq!(socket.server.poll_timeout(), Some(at));
    assert_eq!(socket.server.handle_timeout(at), Ok(()));
    assert_eq!(socket.server.poll_event(), Some(Event::ConversationEnded { conversation: 3 }));
    assert_eq!(socket.server.poll_timeout(), None);
    // The client is late, and hears so; it says who it is before as if nothing was wrong.
    let caut = ConnAuth::new(Bytes::from_static(b"app"), Bytes::from_static(b"secret"), 14);
    socket.control(3, SegmentType::CONAUTH_INFO, &Body::ConnAuth(caut)).unwrap();
    assert_eq!(socket.sent().1, Body::Status(None));
    socket.call(3, SegmentType::MQCONN, Call::Connect(Box::default()));
    let (segment, cc, reason, _) = socket.answer(3);
    assert_eq!(
        (segment, cc, reason),
        (SegmentType::MQCONN_REPLY, CompCode::FAILED, Reason::CONNECTION_BROKEN)
    );
    socket.action(3, SocketActionType::END).unwrap();
    // The other one goes on, and there is room for a new one.
    socket.reply(waits, Reply::failed(Reason::NO_MSG_AVAILABLE));
    assert_eq!(socket.answer(1).2, Reason::NO_MSG_AVAILABLE);
    socket.server.poll_event();
    socket.start(3);
    socket.connect(3);
}

#[test]
fn the_only_conversation_that_is_not_connected_in_time_ends_the_socket() {
    let mut socket = Socket::identifying(ChannelTerms { heartbeat_s: 0, ..ChannelTerms::default() });
    let at = socket.server.poll_timeout().unwrap();
    assert_eq!(socket.server.handle_timeout(at), Err(ConnectionError::Silent("before MQCONN")));
    // Two that are both late have nobody to wait for either.
    let mut socket = Socket::identifying(ChannelTerms { heartbeat_s: 0, ..ChannelTerms::default() });
    socket.start(3);
    let at = socket.server.poll_timeout().unwrap();
    assert_eq!(socket.server.handle_timeout(at), Err(ConnectionError::Silent("before MQCONN")));
}

#[test]
fn half_a_call_is_not_kept_by_what_others_do() {
    let mut socket = Socket::connected(ChannelTerms { heartbeat_s: 0, ..ChannelTerms::default() });
    socket.start(3);
    socket.connect(3);
    let header =
        SegmentHeader { conversation_id: 3, ..SegmentHeader::new(SegmentKind::Tshm, SegmentType::MQPUT) };
    let begun =
        segment_with(header, 0x10, &Body::Call(ApiHeader::default(), async_put(PutOptions::empty(), 100)));
    socket.send(&begun).unwrap();
    let at = socket.time + server_config().stall_timeout;
    assert_eq!(socket.server.poll_timeout(), Some(at));
    for _ in 0..3 {
        socket.pass(30);
        socket.commit(1);
    }
    assert_eq!(socket.server.poll_timeout(), Some(at), "the other one is busy");
    assert_eq!(socket.server.handle_timeout(socket.time), Ok(()));
    assert_eq!(socket.server.handle_timeout(at), Err(ConnectionError::Silent("on a shared socket")));
}

#[test]
fn a_handle_closed_with_a_warning_names_no_object_any_more() {
    let name_of_a_failed_put = |close: Reply| {
        let mut socket = Socket::connected(ChannelTerms::default());
        let od = Mqod { object_name: "DEV.QUEUE.1".parse().unwrap(), ..Mqod::default() };
        let open = OpenBody { od: od.clone(), options: OpenOptions::OUTPUT, ..OpenBody::default() };
        let ask = |socket: &mut Socket, segment, call, reply| {
            let header =
                SegmentHeader { conversation_id: 1, ..SegmentHeader::new(SegmentKind::Tshm, segment) };
            let body = Body::Call(ApiHeader { object_handle: 2, ..ApiHeader::default() }, call);
            socket.send(&segment_with(header, 0x30, &body)).unwrap();
            let (_, call, _) = socket.asked();
            socket.reply(call, reply);
        };
        let (cc, reason, defaults) = (CompCode::OK, Reason::NONE, OpenDefaults::default());
        let opened = Reply::Open { cc, reason, handle: 2, od: Box::new(od), defaults };
        ask(&mut socket, SegmentType::MQOPEN, Call::Open(Box::new(open)), opened);
        ask(&mut socket, SegmentType::MQCLOSE, Call::Close(CloseBody::default()), close);
        let put = async_put(PutOptions::NO_SYNCPOINT, 3);
        ask(&mut socket, SegmentType::MQPUT, put, Reply::failed(Reason::HOBJ_ERROR));
        while socket.server.poll_output().is_some() {}
        ask(&mut socket, SegmentType::MQSTAT, stat(0), Reply::DONE);
        let Call::Stat(body) = socket.answer(1).3 else { panic!() };
        body.sts.object_name.to_string()
    };
    let warning = Reply::Plain { cc: CompCode::WARNING, reason: Reason(2241) };
    assert_eq!(name_of_a_failed_put(warning), "");
    assert_eq!(name_of_a_failed_put(Reply::failed(Reason(2045))), "DEV.QUEUE.1", "it is open still");
}
