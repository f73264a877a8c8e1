//! Every segment of the recorded conversations, with wrong bytes, cut, left out, doubled or exchanged: an error, an answer
//! or silence, never a panic, and never a machine that waits without a deadline for what will not come.

use std::sync::Arc;
use std::time::Instant;

use mq_channel::{ChannelTerms, Event, Request, ServerConfig, ServerConnection};

use crate::recorded::{is_whole, lines, recorded_config, say};

const FILES: [&str; 6] = [
    "base-fap12-tsh.jsonl",
    "base-fap12-tsh-level600.jsonl",
    "base-fap17-tshm-syncget.jsonl",
    "base-fap13-tshm-bigendian.jsonl",
    "base-fap13-tshm-async.jsonl",
    "base-extra.jsonl",
];

/// What the client sent in a recording.
fn sent(file: &str) -> Vec<Vec<u8>> {
    let lines = lines(file);
    lines
        .into_iter()
        .filter(|line| line.from_client && is_whole(&line.bytes))
        .map(|line| line.bytes)
        .collect()
}

fn config(file: &str) -> Arc<ServerConfig> {
    Arc::new(recorded_config(file))
}

/// Feeds a server until it has enough; every request is answered.
fn feed<'a>(config: &Arc<ServerConfig>, segments: impl IntoIterator<Item = &'a [u8]>) {
    let now = Instant::now();
    let mut server = ServerConnection::new(Arc::clone(config), now);
    for bytes in segments {
        let outcome = server.handle_bytes(now, bytes);
        while let Some(event) = server.poll_event() {
            let answered = match event {
                Event::ChannelRequested(_) => server.channel_accepted(ChannelTerms::default()),
                Event::Call { call, request, .. } => match request {
                    Request::Set { .. } => server.reply(now, call, mq_channel::Reply::DONE),
                    request => server.reply(now, call, say(&request).1),
                },
                Event::ConversationEnded { .. } | Event::Ended => Ok(()),
            };
            answered.unwrap();
        }
        while server.poll_output().is_some() {}
        if outcome.is_err() {
            assert!(server.is_finished(), "what is wrong ends the connection");
            assert_eq!(server.poll_timeout(), None);
            return;
        }
    }
    // Whatever it waits for, it does not wait for ever.
    let _ = server.handle_end_of_stream();
    assert!(server.is_finished() && server.poll_timeout().is_none());
}

#[test]
fn every_byte_of_every_segment_wrong() {
    for file in FILES {
        let (config, segments) = (config(file), sent(file));
        for index in 0..segments.len() {
            // Headers and structures; behind them is message data.
            let places = segments[index].len().min(260);
            for place in (0..places).step_by(if places > 120 { 5 } else { 2 }) {
                for value in [0x00, 0xFF, segments[index][place] ^ 0x01] {
                    let mut wrong = segments[index].clone();
                    wrong[place] = value;
                    let (before, after) = (&segments[..index], segments.get(index + 1));
                    // The start, what is wrong, and what follows it.
                    let start = before.iter().take(5).chain(before.iter().skip(5).rev().take(1));
                    feed(&config, start.map(|b| &b[..]).chain([&wrong[..]]).chain(after.map(|b| &b[..])));
                }
            }
        }
    }
}

#[test]
fn every_segment_cut_and_its_length_told() {
    for file in FILES {
        let (config, segments) = (config(file), sent(file));
        for index in 0..segments.len() {
            let start = segments[..index].iter().take(5);
            for length in (8..segments[index].len()).step_by(5) {
                let mut cut = segments[index][..length].to_vec();
                cut[4..8].copy_from_slice(&(length as u32).to_be_bytes());
                feed(&config, start.clone().map(|b| &b[..]).chain([&cut[..]]));
            }
        }
    }
}

#[test]
fn every_segment_left_out_doubled_or_exchanged() {
    for file in FILES {
        let (config, segments) = (config(file), sent(file));
        for index in 0..segments.len() {
            let all = || segments.iter().map(|bytes| &bytes[..]);
            feed(&config, all().take(index).chain(all().skip(index + 1)));
            feed(&config, all().take(index + 1).chain(all().skip(index)));
            let mut exchanged: Vec<&[u8]> = all().collect();
            exchanged.swap(index, (index + 1) % segments.len());
            feed(&config, exchanged);
        }
    }
}

#[test]
fn a_recording_of_one_shape_played_to_the_other() {
    for file in FILES {
        for other in FILES {
            let (config, first, rest) = (config(file), sent(file), sent(other));
            feed(&config, first.iter().take(3).chain(rest.iter().skip(2)).map(|bytes| &bytes[..]));
        }
    }
}
