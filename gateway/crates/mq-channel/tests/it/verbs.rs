//! Every verb through both machines: the server is asked what the client said, the client told what the server said.

use bytes::Bytes;
use mq_channel::{
    AsyncPuts, ChannelTerms, OpenDefaults, OwnerError, PutObject, Reply, Request, ServerConfig,
};
use mq_wire::{
    ApiHeader, Body, ByteOrder, Call, Ccsid, CloseOptions, Coding, CompCode, GetOptions, Lpoo, Mqgmo, Mqmd,
    Mqod, Mqpmo, MsgId, OpenBody, OpenOptions, Persistence, PutOptions, Reason, SegmentHeader, SegmentType,
    Selector, SpiBody, SpiCall, SpiHeader, SpiOpen, SpiVerb,
};

use crate::pair::{Pair, client_config, segment, server_config};

const OK: (CompCode, Reason) = (CompCode::OK, Reason::NONE);

fn od() -> Mqod {
    Mqod { object_name: "DEV.QUEUE.1".parse().unwrap(), ..Mqod::default() }
}

#[test]
fn open_and_close() {
    let mut pair = Pair::connected();
    for version in [1, 2, 3, 4] {
        let asked = Mqod { version, ..od() };
        let options = OpenOptions::OUTPUT | OpenOptions::FAIL_IF_QUIESCING;
        let mut resolved = asked.clone();
        if version >= 3 {
            resolved.resolved_q_name = "DEV.QUEUE.1".parse().unwrap();
        }
        // The reply comes in the version of the request, whatever the queue manager gives.
        let given = Box::new(Mqod { version: 4, ..resolved.clone() });
        let defaults = OpenDefaults { persistence: Persistence::PERSISTENT, ..OpenDefaults::default() };
        let reply = Reply::Open { cc: OK.0, reason: OK.1, handle: 4, od: given, defaults };
        let request = Request::Open { od: Box::new(asked.clone()), options };
        let (seen, told) = pair.round(request.clone(), reply);
        assert_eq!(seen, request);
        let expected = Reply::Open { cc: OK.0, reason: OK.1, handle: 4, od: Box::new(resolved), defaults };
        assert_eq!(told, expected);
    }
    let close = Request::Close { handle: 4, options: CloseOptions::DELETE };
    assert_eq!(pair.round(close.clone(), Reply::DONE), (close, Reply::DONE));
}

#[test]
fn a_failed_open_carries_the_whole_body() {
    let mut pair = Pair::connected();
    let request = Request::Open { od: Box::new(od()), options: OpenOptions::BROWSE };
    let (_, told) = pair.round(request, Reply::failed(Reason::UNKNOWN_OBJECT_NAME));
    assert_eq!(told, Reply::failed(Reason::UNKNOWN_OBJECT_NAME));
    // Header, API header, MQOD version 1, options, FOPA.
    assert_eq!(pair.down.last().unwrap().1, 28 + 16 + 168 + 4 + 28);
}

/// SPI OPEN as JMS (88 bytes of LPOO) and base Java (32) send it, and its answers.
#[test]
fn spi_open_is_an_open_and_answered_in_its_form() {
    for length in [Lpoo::LEAST, Lpoo::WHOLE] {
        for fails in [false, true] {
            let lpoo = Lpoo { length, open_options: OpenOptions::BROWSE, lpi_options: 3, ..Lpoo::default() };
            let asked = Mqod { version: 4, ..od() };
            let open = SpiOpen {
                in_out_version: 1,
                version: 1,
                reply: false,
                lpoo,
                od: asked.clone(),
                tail: Bytes::new(),
            };
            let header = SpiHeader { verb: SpiVerb::OPEN, version: 1, max_reply_size: 444 };
            let spi = SpiBody { header, call: SpiCall::Open(Box::new(open.clone())) };
            let api = ApiHeader { object_handle: -1, ..ApiHeader::default() };
            let mut pair = Pair::connected();
            let body = Body::Call(api, Call::Spi(Box::new(spi)));
            pair.server.handle_bytes(pair.time, &segment(SegmentType::SPI, 0x30, &body)).unwrap();
            let (call, request) = pair.called();
            assert_eq!(request, Request::Open { od: Box::new(asked.clone()), options: OpenOptions::BROWSE });
            let mut resolved = asked;
            if fails {
                pair.reply(call, Reply::failed(Reason::UNKNOWN_OBJECT_NAME));
            } else {
                resolved.resolved_q_name = resolved.object_name;
                let (cc, reason, od) = (OK.0, OK.1, Box::new(resolved.clone()));
                pair.reply(
                    call,
                    Reply::Open { cc, reason, handle: 8, od, defaults: OpenDefaults::default() },
                );
            }
            let bytes = pair.server.poll_output().unwrap();
            let (segment, _) = SegmentHeader::peek(&bytes, 40_000).unwrap().unwrap();
            let Body::Call(api, Call::Spi(body)) = Body::decode(&segment, &bytes.slice(28..), 12).unwrap()
            else {
                // A failure may be read as bytes; here it is whole.
                panic!("not an SPI reply");
            };
            assert_eq!(api.reason, if fails { Reason::UNKNOWN_OBJECT_NAME } else { Reason::NONE });
            assert_eq!(api.object_handle, if fails { -1 } else { 8 });
            let SpiCall::Open(answer) = body.call else { panic!("not an open") };
            assert_eq!(body.header, header);
            assert!(answer.reply);
            assert_eq!((answer.lpoo.length, answer.lpoo.version, answer.lpoo.lpi_options), (length, 1, 3));
            assert_eq!((answer.lpoo.def_put_response, answer.lpoo.policy_length), (1, 0));
            assert_eq!((answer.od, answer.tail), (resolved, Bytes::new()));
        }
    }
}

#[test]
fn other_spi_verbs_are_not_supported() {
    let mut pair = Pair::connected();
    let header = SpiHeader { verb: SpiVerb::ACTIVATE, version: 1, max_reply_size: 0 };
    let spi = SpiBody { header, call: SpiCall::Opaque(Bytes::new()) };
    let body = Body::Call(ApiHeader::default(), Call::Spi(Box::new(spi)));
    pair.server.handle_bytes(pair.time, &segment(SegmentType::SPI, 0x30, &body)).unwrap();
    assert_eq!(pair.server.poll_event(), None);
    assert_eq!(pair.server.poll_output().unwrap()[36..40], 2298_u32.to_le_bytes());
}

#[test]
fn distribution_lists_are_not_supported() {
    let mut pair = Pair::connected();
    let asked = Mqod { version: 2, recs_present: 1, object_rec_offset: 200, ..od() };
    let open = OpenBody { od: asked, records: Bytes::from(vec![b' '; 96]), ..OpenBody::default() };
    let body = Body::Call(ApiHeader::default(), Call::Open(Box::new(open)));
    pair.server.handle_bytes(pair.time, &segment(SegmentType::MQOPEN, 0x30, &body)).unwrap();
    assert_eq!(pair.server.poll_event(), None);
    assert_eq!(pair.server.poll_output().unwrap()[36..40], 2044_u32.to_le_bytes());
    assert_eq!(pair.round(Request::Commit, Reply::DONE).1, Reply::DONE, "the connection goes on");
}

#[test]
fn put() {
    let mut pair = Pair::connected();
    for (md_version, pmo_version) in [(1, 1), (1, 2), (2, 3)] {
        let md = Mqmd { version: md_version, ..Mqmd::default() };
        let pmo = Mqpmo { version: pmo_version, options: PutOptions::SYNCPOINT, ..Mqpmo::default() };
        let request =
            Request::Put { handle: 2, md: md.clone(), pmo: pmo.clone(), data: Bytes::from_static(b"hello") };
        let filled = Mqmd { msg_id: MsgId([7; 24]), ..md };
        let (cc, reason) = (CompCode::WARNING, Reason::PRIORITY_EXCEEDS_MAXIMUM);
        let given = Reply::Put {
            cc,
            reason,
            md: Mqmd { version: 2, ..filled.clone() },
            pmo: Mqpmo { version: 3, ..pmo.clone() },
        };
        let (seen, told) = pair.round(request.clone(), given);
        assert_eq!(seen, request);
        assert_eq!(told, Reply::Put { cc, reason, md: filled, pmo });
    }
}

#[test]
fn put1() {
    let mut pair = Pair::connected();
    let (md, pmo) = (Mqmd::default(), Mqpmo::default());
    let request = Request::Put1 {
        od: Box::new(od()),
        md: md.clone(),
        pmo: pmo.clone(),
        data: Bytes::from_static(b"x"),
    };
    let given = Reply::Put1 { cc: OK.0, reason: OK.1, od: Box::new(od()), md: md.clone(), pmo: pmo.clone() };
    assert_eq!(pair.round(request.clone(), given.clone()), (request, given));
}

#[test]
fn get() {
    let mut pair = Pair::connected();
    for (md_version, gmo_version) in [(1, 1), (2, 2), (2, 3), (1, 4)] {
        let md = Mqmd { version: md_version, ..Mqmd::default() };
        let gmo = Mqgmo { version: gmo_version, options: GetOptions::BROWSE_NEXT, ..Mqgmo::default() };
        let request = Request::Get { handle: 2, md: md.clone(), gmo: gmo.clone(), buffer_length: 4096 };
        let data = Bytes::from_static(b"hello");
        let given = Reply::Get {
            cc: OK.0,
            reason: OK.1,
            md: Mqmd { version: 2, ..md.clone() },
            gmo: Mqgmo { version: 4, ..gmo.clone() },
            total_length: 5,
            data: data.clone(),
        };
        let (seen, told) = pair.round(request.clone(), given);
        assert_eq!(seen, request);
        assert_eq!(told, Reply::Get { cc: OK.0, reason: OK.1, md, gmo, total_length: 5, data });
    }
}

#[test]
fn single_characters_are_converted_too() {
    let coding = Coding { order: ByteOrder::Big, ccsid: Ccsid(500) };
    let mut pair = Pair::with(ServerConfig { coding, ..server_config() }, client_config())
        .connect(ChannelTerms::default());
    let (md, gmo) = (Mqmd::default(), Mqgmo { version: 2, ..Mqgmo::default() });
    let request = Request::Get { handle: 2, md: md.clone(), gmo: gmo.clone(), buffer_length: 10 };
    pair.client.call(pair.time, request).unwrap();
    pair.drive();
    let (call, _) = pair.called();
    let gmo = Mqgmo { group_status: b'G', segment_status: b'L', segmentation: b'A', ..gmo };
    let (cc, reason, data) = (OK.0, OK.1, Bytes::new());
    pair.reply(call, Reply::Get { cc, reason, md, gmo, total_length: 0, data });
    let bytes = pair.server.poll_output().unwrap();
    // Behind header, API header, MQMD and the first version of MQGMO with MatchOptions.
    let at = 28 + 16 + 324 + 72 + 4;
    assert_eq!(bytes[at..at + 3], [0xC7, 0xD3, 0xC1]);

    let asked = Request::Inquire { handle: 2, selectors: vec![], int_count: 0, char_length: 3 };
    pair.client.handle_bytes(pair.time, &bytes).unwrap();
    pair.client.poll_event();
    pair.client.call(pair.time, asked).unwrap();
    pair.drive();
    let (call, _) = pair.called();
    pair.reply(call, Reply::Inquire { cc, reason, ints: vec![], chars: b"QM1".to_vec() });
    let bytes = pair.server.poll_output().unwrap();
    assert_eq!(bytes[bytes.len() - 3..], [0xD8, 0xD4, 0xF1]);
}

#[test]
fn an_unlock_brings_no_message() {
    let mut pair = Pair::connected();
    for (cc, reason) in [OK, (CompCode::WARNING, Reason::NO_MSG_LOCKED)] {
        let md = Mqmd { msg_id: MsgId([3; 24]), ..Mqmd::default() };
        let gmo = Mqgmo { version: 2, options: GetOptions::UNLOCK, ..Mqgmo::default() };
        let request = Request::Get { handle: 2, md: md.clone(), gmo: gmo.clone(), buffer_length: 0 };
        let (_, told) = pair.round(request, Reply::Plain { cc, reason });
        let data = Bytes::new();
        assert_eq!(told, Reply::Get { cc, reason, md, gmo, total_length: 0, data });
    }
}

#[test]
fn a_truncated_message_keeps_its_total_length() {
    let mut pair = Pair::connected();
    let (md, gmo) = (Mqmd::default(), Mqgmo::default());
    let request = Request::Get { handle: 2, md: md.clone(), gmo: gmo.clone(), buffer_length: 3 };
    let (cc, reason) = (CompCode::WARNING, Reason::TRUNCATED_MSG_FAILED);
    let given = Reply::Get { cc, reason, md, gmo, total_length: 100_000, data: Bytes::from_static(b"abc") };
    assert_eq!(pair.round(request, given.clone()).1, given);
}

#[test]
fn failures_are_reasons_for_every_verb() {
    let (md, pmo, gmo) = (Mqmd::default(), Mqpmo::default(), Mqgmo::default());
    let requests = [
        Request::Close { handle: 1, options: CloseOptions::empty() },
        Request::Put { handle: 1, md: md.clone(), pmo: pmo.clone(), data: Bytes::new() },
        Request::Put1 { od: Box::new(od()), md: md.clone(), pmo, data: Bytes::new() },
        Request::Get { handle: 1, md, gmo, buffer_length: 0 },
        Request::Inquire { handle: 1, selectors: vec![], int_count: 0, char_length: 0 },
        Request::Set { handle: 1, selectors: vec![], ints: vec![], chars: vec![] },
        Request::Commit,
        Request::Back,
        Request::Stat { kind: 0 },
        Request::Disconnect,
    ];
    let mut pair = Pair::connected();
    for request in requests {
        let failed = Reply::failed(Reason::HOBJ_ERROR);
        assert_eq!(pair.round(request.clone(), failed.clone()), (request, failed));
    }
}

#[test]
fn inquire_fills_up_what_the_client_has_room_for() {
    let mut pair = Pair::connected();
    let selectors = vec![Selector::IA_MAX_Q_DEPTH, Selector::CA_Q_NAME];
    let request = Request::Inquire { handle: 2, selectors, int_count: 3, char_length: 6 };
    let given = Reply::Inquire { cc: OK.0, reason: OK.1, ints: vec![5000], chars: b"NAME".to_vec() };
    let (seen, told) = pair.round(request.clone(), given);
    assert_eq!(seen, request);
    let expected =
        Reply::Inquire { cc: OK.0, reason: OK.1, ints: vec![5000, 0, 0], chars: b"NAME  ".to_vec() };
    assert_eq!(told, expected);
}

#[test]
fn set_stat_commit_back() {
    let mut pair = Pair::connected();
    let set = Request::Set {
        handle: 2,
        selectors: vec![Selector::IA_INHIBIT_PUT],
        ints: vec![1],
        chars: b"x".to_vec(),
    };
    assert_eq!(pair.round(set.clone(), Reply::DONE), (set, Reply::DONE));
    let puts = AsyncPuts {
        cc: CompCode::FAILED,
        reason: Reason::Q_FULL,
        successes: 3,
        warnings: 2,
        failures: 1,
        object: PutObject::default(),
    };
    let stat = Reply::Stat { cc: OK.0, reason: OK.1, puts };
    assert_eq!(pair.round(Request::Stat { kind: 0 }, stat.clone()), (Request::Stat { kind: 0 }, stat));
    let backed_out = Reply::failed(Reason::BACKED_OUT);
    assert_eq!(pair.round(Request::Commit, backed_out.clone()), (Request::Commit, backed_out));
    assert_eq!(pair.round(Request::Back, Reply::DONE), (Request::Back, Reply::DONE));
}

#[test]
fn mistakes_of_the_owners_are_theirs() {
    let mut pair = Pair::connected();
    pair.client.call(pair.time, Request::Commit).unwrap();
    let twice = pair.client.call(pair.time, Request::Commit).unwrap_err();
    assert_eq!(twice, OwnerError::CallNotPossible("while another one is open"));
    pair.drive();
    let (call, _) = pair.called();
    let wrong = Reply::Inquire { cc: OK.0, reason: OK.1, ints: vec![], chars: vec![] };
    let error = pair.server.reply(pair.time, call, wrong).unwrap_err();
    assert_eq!(error, OwnerError::WrongReply("MQCMIT").into());
    assert!(pair.try_drive().is_err(), "the client finds the connection broken");
    assert_eq!(pair.server.reply(pair.time, call, Reply::DONE), Ok(()), "too late, and no harm");

    let mut pair = Pair::connected();
    let request = Request::Get { handle: 2, md: Mqmd::default(), gmo: Mqgmo::default(), buffer_length: 2 };
    pair.client.call(pair.time, request).unwrap();
    pair.drive();
    let (call, _) = pair.called();
    let long = Reply::Get {
        cc: OK.0,
        reason: OK.1,
        md: Mqmd::default(),
        gmo: Mqgmo::default(),
        total_length: 3,
        data: Bytes::from_static(b"abc"),
    };
    let error = pair.server.reply(pair.time, call, long).unwrap_err();
    assert_eq!(error, OwnerError::TooMuchData { length: 3, buffer_length: 2 }.into());
    assert!(pair.client.call(pair.time, Request::Connect(Box::default())).is_err());
}
