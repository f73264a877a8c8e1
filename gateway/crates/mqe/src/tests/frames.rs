//! Frames: round trip, every prefix, random bytes; records of a device's store; the gateway's end of a connection.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use mq_wire::{QMgrName, QName, Reason};
use proptest::prelude::*;

use super::pair::{IDENTITY, message, name};
use crate::device_end::{DeviceRecord, DeviceState, OutboxPut, Records};
use crate::fields::Fields;
use crate::frame::{
    Decoded, ErrorCode, Frame, FrameError, HELLO_BYTES_MAX, Hello, Limits, MessageHead, Put, PutOutcome,
    Refusal, RejectOutcome, Splitter, Welcome,
};
use crate::gateway_end::{DeviceConnection, DeviceEvent, EndReason};
use crate::{DeviceMessage, Incarnation, RequestId, Sequence, SessionId, Uid};

fn uid(number: u64) -> Uid {
    Uid { store: IDENTITY, id: store::Id::from_u64(number) }
}

fn all_samples() -> Vec<Frame> {
    let envelope = message(1, 3).envelope();
    let payload = Bytes::from_static(b"payload");
    let head = MessageHead { uid: uid(5), deliveries: 2, resent: true, remaining_ms: Some(77) };
    let put = Put {
        sequence: Sequence(9),
        queue: QName::new("Q").unwrap(),
        queue_manager: QMgrName::BLANK,
        envelope: envelope.clone(),
        payload: payload.clone(),
    };
    vec![
        Frame::Hello(Hello {
            version: 1,
            device: name(1),
            incarnation: Incarnation(u32::MAX),
            last_session: SessionId(1 << 40),
            token: Bytes::from_static(b"secret"),
            product: "till".to_owned(),
        }),
        Frame::Resume {
            stored: vec![uid(1), uid(2)],
            refused: vec![(uid(3), Refusal::Rejected(Reason::Q_FULL)), (uid(4), Refusal::Released)],
        },
        Frame::Get { messages: 1, bytes: 2, wait_ms: 3 },
        Frame::Confirm(vec![uid(1)]),
        Frame::Confirm(vec![]),
        Frame::Reject { uid: uid(1), reason: Reason::UNKNOWN_OBJECT_NAME },
        Frame::Release(uid(1)),
        Frame::Put(put.clone()),
        Frame::Put(Put { queue_manager: QMgrName::new("QM1").unwrap(), ..put }),
        Frame::Ping,
        Frame::Welcome(Welcome {
            version: 1,
            gateway: QMgrName::new("GATE1").unwrap(),
            session: SessionId(3),
            incarnation: Incarnation(4),
            limits: Limits::default(),
            waiting: 5,
        }),
        Frame::Resumed { ended: 1 },
        Frame::Message(head, envelope.clone(), payload.clone()),
        Frame::Message(MessageHead { remaining_ms: None, resent: false, ..head }, envelope, Bytes::new()),
        Frame::End { given: 1, waiting: 2, in_doubt: 3 },
        Frame::Confirmed { ended: 1 },
        Frame::Rejected(uid(1), RejectOutcome::DeadLettered),
        Frame::Rejected(uid(1), RejectOutcome::Gone),
        Frame::Released(uid(1)),
        Frame::PutAnswer(Sequence(1), PutOutcome::Taken),
        Frame::PutAnswer(Sequence(1), PutOutcome::Refused(Reason::NOT_AUTHORIZED)),
        Frame::PutAnswer(Sequence(1), PutOutcome::Busy(500)),
        Frame::Pong,
        Frame::Wake { waiting: 1 },
        Frame::error(ErrorCode::LATER, 1000, "später"),
    ]
}

#[test]
fn frames_round_trip() {
    for frame in all_samples() {
        let bytes = frame.to_bytes(RequestId(7));
        let mut splitter = Splitter::new(1 << 20);
        splitter.extend(&bytes);
        let whole = splitter.next_frame().unwrap().unwrap();
        assert_eq!(Frame::decode(&whole), Ok((RequestId(7), Decoded::Frame(frame))));
        assert_eq!(splitter.buffered(), 0);
    }
}

#[test]
fn every_prefix_of_a_stream_is_incomplete() {
    for frame in all_samples() {
        let bytes = frame.to_bytes(RequestId(7));
        for length in 0..bytes.len() {
            let mut splitter = Splitter::new(1 << 20);
            splitter.extend(&bytes[..length]);
            assert_eq!(splitter.next_frame(), Ok(None));
        }
    }
}

#[test]
fn every_prefix_of_a_body_is_refused_or_shorter_data() {
    for frame in all_samples() {
        let bytes = frame.to_bytes(RequestId(7)).slice(4..);
        for length in 0..bytes.len() {
            match Frame::decode(&bytes.slice(..length)) {
                Err(_) => {}
                // Data that runs to the end of its frame has no length of its own.
                Ok((_, Decoded::Frame(Frame::Message(..) | Frame::Put(_)))) => {
                    assert!(bytes.len() - length <= b"payload".len());
                }
                Ok(other) => panic!("a prefix of {length} of {frame:?} reads as {other:?}"),
            }
        }
    }
}

#[test]
fn lengths_are_checked_before_anything_is_kept() {
    let mut splitter = Splitter::new(100);
    splitter.extend(&101u32.to_be_bytes());
    assert_eq!(splitter.next_frame(), Err(FrameError::TooLong { length: 101, max: 100 }));
    let mut splitter = Splitter::new(100);
    splitter.extend(&4u32.to_be_bytes());
    assert_eq!(splitter.next_frame(), Err(FrameError::TooShort { length: 4 }));
    // A count of uids that are not there.
    let mut bytes = BytesMut::new();
    bytes.extend_from_slice(&[0x04, 0, 0, 0, 1]);
    bytes.extend_from_slice(&u32::MAX.to_be_bytes());
    assert!(Frame::decode(&bytes.freeze()).is_err());
}

#[test]
fn records_of_a_device_survive_and_a_torn_end_is_cut() {
    let records = vec![
        DeviceRecord::Resuming { incarnation: Incarnation(3), session: SessionId(4) },
        DeviceRecord::Noted {
            uid: uid(1),
            envelope: Bytes::from_static(b"e"),
            payload: Bytes::from_static(b"p"),
        },
        DeviceRecord::Noted { uid: uid(2), envelope: Bytes::new(), payload: Bytes::new() },
        DeviceRecord::Forgotten(vec![uid(1)]),
        DeviceRecord::Refused { uid: uid(3), refusal: Refusal::Rejected(Reason::Q_FULL) },
        DeviceRecord::Refused { uid: uid(4), refusal: Refusal::Released },
        DeviceRecord::RefusalAnswered { uid: uid(4) },
        DeviceRecord::Put {
            sequence: Sequence(1),
            put: OutboxPut {
                queue: QName::new("Q").unwrap(),
                queue_manager: QMgrName::BLANK,
                envelope: Bytes::from_static(b"e"),
                payload: Bytes::from_static(b"p"),
            },
        },
        DeviceRecord::PutDecided { sequence: Sequence(1) },
        DeviceRecord::NextSequence(Sequence(9)),
    ];
    let mut file = BytesMut::new();
    let mut ends = vec![0];
    for record in &records {
        record.encode(&mut file);
        ends.push(file.len());
    }
    assert_eq!(Records::new(&file).collect::<Vec<_>>(), records);
    for length in 0..file.len() {
        let whole = ends.iter().filter(|end| **end <= length).count() - 1;
        let mut reader = Records::new(&file[..length]);
        assert_eq!(reader.by_ref().count(), whole);
        assert_eq!(reader.valid_bytes(), ends[whole]);
    }
    let mut state = DeviceState::default();
    records.iter().for_each(|record| state.apply(record));
    let mut again = DeviceState::default();
    state.snapshot().iter().for_each(|record| again.apply(record));
    assert_eq!(state, again);
    file[ends[3] + 9] ^= 1;
    assert_eq!(Records::new(&file).count(), 3, "a flipped bit ends it");
}

fn events(machine: &mut DeviceConnection) -> Vec<DeviceEvent> {
    std::iter::from_fn(|| machine.poll_event()).collect()
}

fn connection() -> (DeviceConnection, Instant) {
    let time = Instant::now();
    (DeviceConnection::new(time, Limits::default(), Duration::from_secs(10)), time)
}

fn said(machine: &mut DeviceConnection) -> Vec<Frame> {
    let mut splitter = Splitter::new(1 << 23);
    while let Some(bytes) = machine.poll_output() {
        splitter.extend(&bytes);
    }
    let frames = std::iter::from_fn(|| splitter.next_frame().unwrap());
    let decoded = frames.map(|bytes| match Frame::decode(&bytes).unwrap().1 {
        Decoded::Frame(frame) => frame,
        Decoded::Unknown(code) => panic!("{code}"),
    });
    decoded.collect()
}

fn code(frames: &[Frame]) -> Option<ErrorCode> {
    frames.iter().find_map(|frame| if let Frame::Error { code, .. } = frame { Some(*code) } else { None })
}

#[test]
fn a_half_open_handshake_ends() {
    let (mut machine, time) = connection();
    assert_eq!(machine.poll_timeout(), Some(time + Duration::from_secs(10)));
    machine.handle_timeout(time + Duration::from_secs(9));
    assert_eq!(events(&mut machine), []);
    machine.handle_timeout(time + Duration::from_secs(10));
    assert_eq!(events(&mut machine), [DeviceEvent::Ended(EndReason::HandshakeTimeout)]);
    assert_eq!(code(&said(&mut machine)), Some(ErrorCode::TIMED_OUT));
    assert!(machine.is_ended() && !machine.wants_input());
}

#[test]
fn hello_comes_first_and_is_short() {
    let (mut machine, time) = connection();
    machine.handle_bytes(time, &Frame::Ping.to_bytes(RequestId(1)));
    assert_eq!(events(&mut machine), [DeviceEvent::Ended(EndReason::Unexpected)]);
    let (mut machine, time) = connection();
    machine.handle_bytes(time, &(HELLO_BYTES_MAX as u32 + 1).to_be_bytes());
    assert!(matches!(events(&mut machine)[..], [DeviceEvent::Ended(EndReason::Frame(_))]));
    assert_eq!(code(&said(&mut machine)), Some(ErrorCode::TOO_LONG));
}

#[test]
fn an_open_connection_answers_pings_and_ends_in_silence() {
    let (mut machine, time) = connection();
    let samples = all_samples();
    machine.handle_bytes(time, &samples[0].to_bytes(RequestId(1)));
    assert_eq!(events(&mut machine).len(), 1);
    let welcome = samples.iter().find(|frame| matches!(frame, Frame::Welcome(_))).unwrap();
    machine.send(RequestId(1), welcome);
    said(&mut machine);
    for request in 2..5 {
        machine.handle_bytes(time, &Frame::Ping.to_bytes(RequestId(request)));
    }
    assert_eq!(events(&mut machine), []);
    assert_eq!(said(&mut machine), [Frame::Pong], "one answers all");
    // An unknown type is answered; the connection stays.
    machine.handle_bytes(time, &[0, 0, 0, 5, 0x70, 0, 0, 0, 9]);
    assert_eq!(events(&mut machine), []);
    assert_eq!(code(&said(&mut machine)), Some(ErrorCode::UNKNOWN_TYPE));
    assert!(machine.wants_input());
    machine.handle_timeout(time + Duration::from_secs(179));
    assert!(!machine.is_ended());
    machine.handle_timeout(time + Duration::from_secs(180));
    assert_eq!(events(&mut machine), [DeviceEvent::Ended(EndReason::Silent)]);
}

#[test]
fn a_reader_that_stalls_is_not_read_from() {
    let (mut machine, _) = connection();
    let samples = all_samples();
    let welcome = samples.iter().find(|frame| matches!(frame, Frame::Welcome(_))).unwrap();
    machine.send(RequestId(1), welcome);
    let head = MessageHead { uid: uid(5), deliveries: 1, resent: false, remaining_ms: None };
    let (envelope, payload) = (message(1, 0).envelope(), Bytes::from(vec![7; 300_000]));
    machine.send_message(RequestId(2), head, envelope.clone(), payload.clone());
    assert!(!machine.wants_input());
    let frames = said(&mut machine);
    assert_eq!(frames[1], Frame::Message(head, envelope, payload));
    assert!(machine.wants_input());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), code in any::<u8>()) {
        let _ = Fields::from_bytes(&bytes);
        let _ = DeviceMessage::from_envelope(&bytes, Bytes::new());
        let _ = Records::new(&bytes).count();
        let mut framed = vec![code, 0, 0, 0, 1];
        framed.extend(&bytes);
        let _ = Frame::decode(&Bytes::from(framed));
        let (mut machine, time) = connection();
        machine.handle_bytes(time, &bytes);
        let _ = events(&mut machine);
    }

    #[test]
    fn flipped_samples_never_panic(at in 0usize..100, flip in 1u8..=255, which in 0usize..25) {
        let samples = all_samples();
        let frame = &samples[which % samples.len()];
        let mut bytes = frame.to_bytes(RequestId(7)).slice(4..).to_vec();
        let at = at % bytes.len();
        bytes[at] ^= flip;
        if let Ok((request, Decoded::Frame(frame))) = Frame::decode(&Bytes::from(bytes)) {
            // What can be read can be written and read again.
            let again = frame.to_bytes(request).slice(4..);
            prop_assert_eq!(Frame::decode(&again), Ok((request, Decoded::Frame(frame))));
        }
    }
}
