//! Calls and replies longer than a segment.

use bytes::Bytes;
use mq_channel::{ChannelTerms, ClientEvent, ConnectionError, OwnerError, PeerError, Reply, Request};
use mq_wire::{CompCode, ControlFlags1, Mqgmo, Mqmd, Mqpmo, Reason, SegmentType};

use crate::pair::{Pair, Seen, client_config, server_config};

fn data(length: usize) -> Bytes {
    (0..length).map(|i| (i % 251) as u8).collect()
}

fn put(data: Bytes) -> Request {
    Request::Put { handle: 2, md: Mqmd::default(), pmo: Mqpmo::default(), data }
}

fn put_reply() -> Reply {
    Reply::Put { cc: CompCode::OK, reason: Reason::NONE, md: Mqmd::default(), pmo: Mqpmo::default() }
}

/// FIRST on the first, LAST on the last, all but the last of the agreed length exactly.
fn assert_split(seen: &[Seen], segment_type: SegmentType, segment_bytes: usize) {
    let call: Vec<_> = seen.iter().filter(|(header, _)| header.segment_type == segment_type).collect();
    for (index, (header, length)) in call.iter().enumerate() {
        let (is_first, is_last) = (index == 0, index == call.len() - 1);
        let mut flags = ControlFlags1::empty();
        flags.set(ControlFlags1::FIRST, is_first);
        flags.set(ControlFlags1::LAST, is_last);
        assert_eq!(header.control_flags_1, flags, "segment {index}");
        assert!(if is_last { *length <= segment_bytes } else { *length == segment_bytes }, "segment {index}");
    }
}

#[test]
fn messages_of_every_length_around_the_segment() {
    // Structures before the data: 16 + 324 + 128 + 4 and 16 + 324 + 72 + 4.
    for segment_bytes in [2048_u32, 4096, 32_748] {
        let room = segment_bytes as usize - 28;
        for length in
            [0, 1, room - 473, room - 472, room - 471, room - 416, 2 * room - 472, 2 * room - 471, 100_000]
        {
            let mut server = server_config();
            server.max_transmission = segment_bytes;
            let mut pair = Pair::with(server, client_config()).connect(ChannelTerms::default());
            let (seen, told) = pair.round(put(data(length)), put_reply());
            assert_eq!((seen, told), (put(data(length)), put_reply()), "{length} in {segment_bytes}");
            assert_split(&pair.up, SegmentType::MQPUT, segment_bytes as usize);
            round_get(&mut pair, length);
            assert_split(&pair.down, SegmentType::MQGET_REPLY, segment_bytes as usize);
        }
    }
}

#[test]
fn four_mebibytes_in_pieces_of_any_size() {
    for chop in [0, 1000, 65_536] {
        let mut pair = Pair { chop, ..Pair::new() }.connect(ChannelTerms::default());
        let length = 4 * 1024 * 1024;
        let (seen, _) = pair.round(put(data(length)), put_reply());
        assert_eq!(seen, put(data(length)));
        round_get(&mut pair, length);
    }
}

fn round_get(pair: &mut Pair, length: usize) {
    let (md, gmo) = (Mqmd::default(), Mqgmo::default());
    let request =
        Request::Get { handle: 2, md: md.clone(), gmo: gmo.clone(), buffer_length: 4 * 1024 * 1024 };
    let (cc, reason) = (CompCode::OK, Reason::NONE);
    let reply = Reply::Get { cc, reason, md, gmo, total_length: length as u32, data: data(length) };
    assert_eq!(pair.round(request.clone(), reply.clone()), (request, reply));
}

#[test]
fn a_message_longer_than_the_channel_is_refused_by_the_client_itself() {
    let terms = ChannelTerms { max_msg_length: 1000, heartbeat_s: 0, ..ChannelTerms::default() };
    let mut pair = Pair::new().connect(terms);
    let error = pair.client.call(pair.time, put(data(1001))).unwrap_err();
    assert_eq!(error, OwnerError::MessageLength { length: 1001, max: 1000 });
    pair.round(put(data(1000)), put_reply());
}

#[test]
fn a_message_longer_than_the_channel_is_refused_by_the_server_too() {
    for length in [1001, 9000, 1_000_000] {
        let mut pair = Pair::connected();
        // Another client, which has not agreed to the 1000 bytes, takes over the connection.
        let terms = ChannelTerms { max_msg_length: 1000, heartbeat_s: 0, ..ChannelTerms::default() };
        let mut small = Pair::new().connect(terms);
        let mut refused = |request: Request| {
            pair.client.call(pair.time, request).unwrap();
            while let Some(bytes) = pair.client.poll_output() {
                small.server.handle_bytes(small.time, &bytes).unwrap();
            }
            assert_eq!(small.server.poll_event(), None, "the owner is not asked");
            while let Some(bytes) = small.server.poll_output() {
                pair.client.handle_bytes(pair.time, &bytes).unwrap();
            }
            match pair.client.poll_event() {
                Some(ClientEvent::Reply { reply, .. }) => {
                    assert_eq!(reply, Reply::failed(Reason::MSG_TOO_BIG_FOR_CHANNEL), "{length}");
                }
                other => panic!("{other:?}"),
            }
        };
        let data = data(length);
        refused(put(data.clone()));
        let (md, pmo) = (Mqmd::default(), Mqpmo::default());
        refused(Request::Put1 { od: Box::default(), md, pmo, data });
    }
}

#[test]
fn what_is_no_put_and_too_long_ends_the_connection() {
    let mut pair = Pair::connected();
    let terms = ChannelTerms { max_msg_length: 1000, heartbeat_s: 0, ..ChannelTerms::default() };
    let mut small = Pair::new().connect(terms);
    let request = Request::Set { handle: 1, selectors: vec![], ints: vec![7; 10_000], chars: vec![] };
    pair.client.call(pair.time, request).unwrap();
    let mut result = Ok(());
    while let (Some(bytes), Ok(())) = (pair.client.poll_output(), &result) {
        result = small.server.handle_bytes(small.time, &bytes);
    }
    let (segment, max) = (SegmentType::MQSET, 1000 + 8192);
    assert_eq!(result, Err(ConnectionError::Peer(PeerError::CallLength { segment, max })));
}
