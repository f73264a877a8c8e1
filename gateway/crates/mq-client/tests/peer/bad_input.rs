//! Every segment that a server sent in the recorded conversations (`tests/golden/wire`), whole, cut at every length and
//! with bytes changed, to a client that waits for just that: it goes on, fails, or waits with a deadline; it never
//! panics, and what it holds is bounded by what came.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mq_channel::{ClientConfig, ClientConnection, ClientEvent, Password, Request};
use mq_wire::{CloseOptions, Mqgmo, Mqmd, Mqod, Mqpmo, OpenOptions, Selector};

use crate::coding::Coding;
use crate::layout::Fields;
use crate::segment::{Header, Segment};
use crate::setting::CHANNEL;
use crate::structures::ID;

const FILES: [&str; 11] = [
    "base-extra",
    "base-fap12-tsh",
    "base-fap12-tsh-level600",
    "base-fap13-tshm-async",
    "base-fap13-tshm-bigendian",
    "base-fap17-tshm-syncget",
    "jms-ext",
    "jms-shared",
    "jms-single",
    "jms-syncget",
    "jms-tsh",
];

/// The segments of the servers, as they were recorded.
fn recorded() -> Vec<Vec<u8>> {
    let mut segments = Vec::new();
    for file in FILES {
        let path = format!("{}/../../../tests/golden/wire/{file}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        for line in text.lines().filter(|line| line.contains("\"dir\": \"s>c\"")) {
            let hex = line.split("\"hex\": \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
            let digits: Vec<u8> =
                hex.bytes().map(|digit| char::from(digit).to_digit(16).unwrap() as u8).collect();
            segments.push(digits.chunks(2).map(|pair| 16 * pair[0] + pair[1]).collect());
        }
    }
    segments
}

/// A segment of a shared socket as it would be on one that is not: without the eight bytes of its conversation.
fn unshared(segment: &[u8]) -> Vec<u8> {
    if segment[..3] != *b"TSH" || segment[3] != b'M' {
        return segment.to_vec();
    }
    let length = (segment.len() as u32 - 8).to_be_bytes();
    [b"TSH ", &length[..], &segment[16..]].concat()
}

const LITTLE: Coding = Coding { big: false, ccsid: 819 };

fn segment(segment_type: u8, cf1: u8, body: Vec<u8>) -> Vec<u8> {
    Segment { header: Header::Tsh, coding: LITTLE, segment_type, cf1, cf2: 0, encoding: 546, body }.bytes()
}

/// A client that waits for a segment of this type.
fn waiting_for(segment_type: u8, now: Instant) -> ClientConnection {
    let config = ClientConfig {
        user: "app".to_owned(),
        password: (segment_type == 0x05).then(|| Password::new("secret")),
        offers_unanswered_puts: true,
        max_msg_length: 1 << 20,
        ..ClientConfig::new(CHANNEL.parse().unwrap())
    };
    let mut client = ClientConnection::new(Arc::new(config), now);
    if segment_type == 0x01 {
        return client;
    }
    let id = Fields::new(0)
        .set("FapLevel", 12)
        .set("CapFlags1", 0x26)
        .set("CapFlags2", 0x51)
        .set("MaxTransmissionSize", 32_748)
        .set("MaxMsgSize", 1 << 20)
        .set("HeartbeatInterval", 300)
        .set("ChannelName", CHANNEL);
    client.handle_bytes(now, &segment(0x01, 0x00, ID.write_cut(&id, 208, LITTLE))).unwrap();
    if matches!(segment_type, 0x05 | 0x91) {
        return client;
    }
    client.handle_bytes(now, &segment(0x91, 0x30, [vec![0; 16], vec![0x20; 112]].concat())).unwrap();
    assert!(matches!(client.poll_event(), Some(ClientEvent::Connected { .. })));
    let (md, pmo, gmo) = (Mqmd::default(), Mqpmo::default(), Mqgmo { version: 4, ..Mqgmo::default() });
    let request = match segment_type {
        0x92 => Request::Disconnect,
        0x93 => Request::Open { od: Box::new(Mqod::default()), options: OpenOptions::OUTPUT },
        0x94 => Request::Close { handle: 2, options: CloseOptions::empty() },
        0x95 => Request::Get { handle: 2, md, gmo, buffer_length: 4096 },
        0x96 => Request::Put { handle: 2, md, pmo, data: "data".into() },
        0x97 => Request::Put1 { od: Box::new(Mqod::default()), md, pmo, data: "data".into() },
        0x98 => Request::Set { handle: 2, selectors: vec![Selector(9)], ints: vec![1], chars: vec![] },
        0x99 => Request::Inquire { handle: 2, selectors: vec![Selector(31)], int_count: 1, char_length: 0 },
        0x9B => Request::Back,
        0x9C => Request::Reserve,
        0x9D => Request::Stat { kind: 0 },
        _ => Request::Commit,
    };
    client.call(now, request).unwrap();
    client
}

/// Feeds the bytes, all at once and one by one at first; says whether something was understood.
fn feed(segment_type: u8, bytes: &[u8], now: Instant) -> bool {
    let mut client = waiting_for(segment_type, now);
    let head = bytes.len().min(40);
    let mut fed = Ok(());
    for byte in &bytes[..head] {
        fed = fed.and_then(|()| client.handle_bytes(now, std::slice::from_ref(byte)));
    }
    fed = fed.and_then(|()| client.handle_bytes(now, &bytes[head..]));
    let mut sent = 0;
    while let Some(output) = client.poll_output() {
        sent += output.len();
    }
    assert!(sent < 100_000, "{sent} bytes in answer to one segment");
    let understood = client.poll_event().is_some();
    while client.poll_event().is_some() {}
    if fed.is_err() {
        assert!(client.poll_timeout().is_none(), "it is over");
        assert!(client.handle_bytes(now, bytes).is_ok() && client.poll_event().is_none());
        return false;
    }
    // Whatever it waits for, it does not wait for ever; between two calls it waits for nothing.
    match client.poll_timeout() {
        Some(at) => assert!(client.handle_timeout(at.max(now) + Duration::from_secs(1)).is_err()),
        None => assert!(understood || client.terms().is_some() || client.is_finished(), "it hangs"),
    }
    understood
}

#[test]
fn recorded_segments_whole_cut_and_changed() {
    let now = Instant::now();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    let (mut seen, mut understood, mut fed) = (std::collections::BTreeSet::new(), 0, 0);
    for original in recorded() {
        let bytes = unshared(&original);
        let segment_type = bytes[9];
        fed += 1;
        understood += usize::from(feed(segment_type, &bytes, now));
        feed(segment_type, &original, now);
        // Conversations repeat themselves: the same form need not be mangled a hundred times.
        if !seen.insert((segment_type, bytes.len(), bytes[8])) {
            continue;
        }
        // Behind the longest structures there is only data.
        for length in (0..bytes.len().min(600)).chain((600..bytes.len()).step_by(29)) {
            feed(segment_type, &bytes[..length], now);
            // The same with a header that says so.
            if length >= 28 {
                let mut cut = bytes[..length].to_vec();
                cut[4..8].copy_from_slice(&(length as u32).to_be_bytes());
                feed(segment_type, &cut, now);
            }
        }
        for _ in 0..100 {
            let mut changed = bytes.clone();
            for _ in 0..=next(3) {
                // The front, where lengths, versions and counts are, more often than the rest.
                let within = if next(2) == 0 { changed.len().min(80) } else { changed.len() };
                let place = next(within);
                changed[place] = [0x00, 0xFF, 0x7F, 0x80, next(256) as u8][next(5)];
            }
            feed(segment_type, &changed, now);
        }
    }
    assert!(fed > 300 && seen.len() > 60, "{fed} segments of {} forms", seen.len());
    assert!(understood > fed / 4, "{understood} of {fed} understood");
    println!("{fed} segments, {understood} understood, {} forms changed and cut", seen.len());
}

/// A segment in every state it can meet.
#[test]
fn recorded_segments_at_the_wrong_time() {
    let now = Instant::now();
    let mut seen = std::collections::BTreeSet::new();
    for original in recorded() {
        let bytes = unshared(&original);
        if !seen.insert((bytes[9], bytes[10])) {
            continue;
        }
        for state in
            [0x01, 0x05, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9A, 0x9B, 0x9C, 0x9D]
        {
            feed(state, &bytes, now);
        }
    }
}
