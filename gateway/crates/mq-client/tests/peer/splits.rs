//! Messages longer than a segment, both ways, at every length around the borders (mq-wire.md 1.5).

use bytes::Bytes;
use mq_client::{ClientError, Connection};
use mq_wire::{Mqgmo, Mqmd, Mqpmo};

use crate::answers::full_md;
use crate::conversation::{Conversation, Peer};
use crate::layout::Fields;
use crate::pair::{connected, options};
use crate::segment::{Header, Segment};
use crate::setting::Setting;
use crate::structures::ID;

fn data(length: usize) -> Bytes {
    (0..length).map(|place| (place % 251) as u8).collect()
}

/// Header 28, API header 16, MQMD 324, MQPMO 128, DataLength 4; with MQGMO 72 instead.
const PUT_OVERHEAD: usize = 500;
const GET_OVERHEAD: usize = 444;

async fn there_and_back(connection: &mut Connection, peer: &mut Conversation, length: usize) {
    let sent = data(length);
    let script = async {
        let call = peer.call(0x86).await;
        let segments = peer.segments_in;
        let put = call.parts(peer).put();
        assert_eq!(put.data, sent);
        peer.answer_put(&call, (0, 0), None, &put, &full_md(1)).await;
        let most = peer.setting.transmission_bytes_max as usize;
        let rest = (PUT_OVERHEAD + length).saturating_sub(most);
        assert_eq!(segments, 1 + rest.div_ceil(most - 28), "{length} bytes in segments of {most}");

        let call = peer.call(0x85).await;
        let mut parts = call.parts(peer);
        let (md, gmo) = (parts.md(), parts.gmo());
        let body = peer.got(&md, &gmo, length, &sent);
        peer.reply(&call, (0, 0), 2, &body).await;
        let rest = (GET_OVERHEAD + length).saturating_sub(most);
        assert_eq!(peer.segments_out, 1 + rest.div_ceil(most - 28));
    };
    let client = async {
        connection.put(2, Mqmd::default(), Mqpmo::default(), sent.clone()).await.unwrap();
        let got = connection.get(2, Mqmd::default(), Mqgmo::default(), length as u32).await.unwrap().unwrap();
        assert!(got.data == sent, "{length} bytes differ");
        assert_eq!(got.total_length as usize, length);
    };
    tokio::join!(client, script);
}

#[tokio::test]
async fn around_every_border() {
    for setting in [
        Setting::default().transmission(2048),
        Setting::default().transmission(4096).big(),
        Setting::default().transmission(2049).big().ccsid(500),
        Setting::default().fap(4).transmission(3001),
        Setting::default(),
    ] {
        let most = setting.transmission_bytes_max as usize;
        let (mut connection, mut peer) = connected(setting).await;
        for segments in 1..=3 {
            let full = most + (segments - 1) * (most - 28);
            for overhead in [PUT_OVERHEAD, GET_OVERHEAD] {
                for length in full - overhead - 1..=full - overhead + 1 {
                    there_and_back(&mut connection, &mut peer, length).await;
                }
            }
        }
        there_and_back(&mut connection, &mut peer, 0).await;
        there_and_back(&mut connection, &mut peer, 1_000_003).await;
    }
}

#[tokio::test]
async fn the_longest_message_that_was_agreed() {
    let (mut connection, mut peer) = connected(Setting::default().message(4_194_304).big()).await;
    there_and_back(&mut connection, &mut peer, 4_194_304).await;
}

/// Where SPLIT_MESSAGE is refused a put of more than one segment is not even begun (mq-wire-observed-base.md 3.2).
#[tokio::test]
async fn without_splitting_a_put_has_to_fit_one_segment() {
    let peer = Peer::listen(Setting::default()).await;
    let options = options(&peer);
    let script = async {
        let mut socket = peer.socket().await;
        // The first round by hand, since the peer of the other tests never refuses this.
        let first = Segment::read(&mut socket).await.unwrap();
        let id = ID.read_cut(&first.body, 0, first.coding);
        let refused = id.set("CapFlags1", 0x22).set("ECapFlags1", 0x04);
        let body = ID.write_cut(&refused, first.body.len(), peer.setting.coding);
        let answer = Segment { coding: peer.setting.coding, cf1: 0x02, body, ..first };
        answer.write(&mut socket).await;
        let second = Segment::read(&mut socket).await.unwrap();
        assert_eq!(ID.read_cut(&second.body, 0, second.coding).number("CapFlags1"), 0x22);
        Segment { cf1: 0x00, ..second }.write(&mut socket).await;
        let _user = Segment::read(&mut socket).await.unwrap();
        let connect = Segment::read(&mut socket).await.unwrap();
        assert_eq!((connect.segment_type, connect.header), (0x81, Header::Tsh));
        Segment { segment_type: 0x91, ..connect }.write(&mut socket).await;
        let put = Segment::read(&mut socket).await.unwrap();
        assert_eq!((put.segment_type, put.cf1, put.body.len() + 28), (0x86, 0x30, 32748));
        let mut body = put.body[..16 + 324 + 128 + 4].to_vec();
        let length = body.len() as u32 + 28;
        body[..4].copy_from_slice(&length.to_be_bytes());
        Segment { segment_type: 0x96, body, ..put }.write(&mut socket).await;
        socket
    };
    let client = async {
        let mut connection = Connection::connect(&options).await.unwrap();
        assert!(!connection.terms().splits_messages);
        let most = 32748 - PUT_OVERHEAD;
        let long = connection.put(2, Mqmd::default(), Mqpmo::default(), data(most + 1)).await.unwrap_err();
        assert!(matches!(long, ClientError::TooLongForChannel { max, .. } if max as usize == most), "{long}");
        connection.put(2, Mqmd::default(), Mqpmo::default(), data(most)).await.unwrap();
    };
    tokio::join!(client, script);
}

/// Segments of a reply that do not fit together, or that promise too much.
#[tokio::test]
async fn replies_whose_segments_do_not_fit() {
    for fault in 0..6 {
        let (mut connection, mut peer) =
            connected(Setting::default().transmission(2048).message(10_000)).await;
        let script = async {
            let call = peer.call(0x85).await;
            let gmo = Fields::new(1);
            let body = peer.got(&full_md(1), &gmo, 5000, &data(5000));
            let mut segments = peer.reply_segments(&call, (0, 0), 2, &body);
            match fault {
                0 => segments[1].cf1 = 0x10,
                1 => segments[0].cf1 = 0x00,
                2 => segments[1].segment_type = 0x96,
                3 => segments[1].header = Header::Tshm { conversation: 1, request: 0 },
                4 => segments[1].body.extend([0; 100]),
                // More and more, and never the last.
                _ => {
                    segments.truncate(2);
                    let more = segments[1].clone();
                    segments.extend(std::iter::repeat_n(more, 40));
                }
            }
            for segment in segments {
                use tokio::io::AsyncWriteExt;
                // The client may have given up already.
                if peer.socket.write_all(&segment.bytes()).await.is_err() {
                    break;
                }
            }
            peer
        };
        let (outcome, _peer) =
            tokio::join!(connection.get(2, Mqmd::default(), Mqgmo::default(), 6000), script);
        let error = outcome.unwrap_err();
        assert!(matches!(error, ClientError::Broken { call: "MQGET", .. }), "{fault}: {error}");
        assert!(!error.to_string().contains("in time"), "{fault} is noticed at once: {error}");
        assert!(!connection.is_usable());
    }
}
