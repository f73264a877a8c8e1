//! Messages: envelopes, and the way from and to MQ's descriptor.

mod fields;

use bytes::Bytes;
use mq_wire::{
    AccountingToken, ApplType, Ccsid, Chars, CorrelId, Encoding, Feedback, GroupId, MessageFlags, Mqmd,
    MsgId, MsgType, Persistence, QMgrName, QName, ReportOptions,
};

use super::{DeviceMessage, ENVELOPE_BYTES_MAX};
use crate::DecodeErrorKind;
use crate::fields::{Fields, Value};

/// Every field of the descriptor has another value than its default.
fn full() -> DeviceMessage {
    let descriptor = Mqmd {
        version: 2,
        report: ReportOptions::from_bits_retain(0x8000_0001),
        msg_type: MsgType::REQUEST,
        expiry: -1,
        feedback: Feedback(300),
        encoding: Encoding::BIG,
        ccsid: Ccsid(1208),
        format: Chars::cut("MQSTR"),
        priority: 7,
        persistence: Persistence::PERSISTENT,
        msg_id: MsgId([1; 24]),
        correl_id: CorrelId([2; 24]),
        backout_count: 3,
        reply_to_q: QName::new("REPLY.HERE").unwrap(),
        reply_to_q_mgr: QMgrName::new("QM9").unwrap(),
        user_identifier: Chars::cut("mueller"),
        accounting_token: AccountingToken([3; 32]),
        appl_identity_data: Chars::from_bytes(*b"identity \xFC of the application   "),
        put_appl_type: ApplType::JAVA,
        put_appl_name: Chars::cut("java"),
        put_date: Chars::cut("20261130"),
        put_time: Chars::cut("16000000"),
        appl_origin_data: Chars::cut("orig"),
        group_id: GroupId([4; 24]),
        msg_seq_number: 5,
        offset: 6,
        msg_flags: MessageFlags::from_bits_retain(8),
        original_length: 9,
    };
    let mut properties = Fields::new();
    properties.set("colour", Value::Unicode("gr\u{fc}n".to_owned())).unwrap();
    DeviceMessage {
        queue: QName::new("ORDERS").unwrap(),
        origin_qmgr: QMgrName::new("QM1").unwrap(),
        via_queue: QName::new("ORDERS%DEV1").unwrap(),
        via_qmgr: QMgrName::new("GATE1").unwrap(),
        expiry_ms: Some(1_700_000_000_000),
        descriptor,
        properties,
        headers: Some(crate::convert::RawHeaders {
            encoding: Encoding::BIG,
            ccsid: Ccsid(500),
            bytes: Bytes::from_static(b"RFH and more"),
        }),
        file: None,
        payload: Bytes::from_static(b"data"),
    }
}

#[test]
fn envelopes_round_trip() {
    let plain = DeviceMessage::new(QName::new("Q").unwrap(), Bytes::new());
    for message in [full(), plain] {
        let again = DeviceMessage::from_envelope(&message.envelope(), message.payload.clone());
        assert_eq!(again, Ok(message));
    }
    assert!(full().envelope().len() < ENVELOPE_BYTES_MAX / 50);
}

/// mqe.md 4.5: only values that are not the default are stored.
#[test]
fn a_plain_message_has_a_short_envelope() {
    let plain = DeviceMessage::new(QName::new("Q").unwrap(), Bytes::new());
    let fields = Fields::from_bytes(&plain.envelope()).unwrap();
    assert_eq!(fields.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["queue"]);
    assert_eq!(Fields::from_bytes(&full().envelope()).unwrap().len(), 35);
}

#[test]
fn wrong_envelopes_are_refused() {
    let check = |name: &str, value: Option<Value>, kind: DecodeErrorKind| {
        let mut fields = Fields::from_bytes(&full().envelope()).unwrap();
        match value {
            Some(value) => fields.set(name, value).unwrap(),
            None => drop(fields.remove(name)),
        }
        let error = DeviceMessage::from_envelope(&fields.to_bytes(), Bytes::new()).unwrap_err();
        assert_eq!(error.kind, kind, "{name}: {error}");
    };
    check("queue", None, DecodeErrorKind::Missing);
    check("queue", Some(Value::Ascii("A B".to_owned())), DecodeErrorKind::Name);
    check("queue", Some(Value::Int(1)), DecodeErrorKind::Missing);
    check("origin", Some(Value::Ascii("A B".to_owned())), DecodeErrorKind::Name);
    check("priority", Some(Value::Int(10)), DecodeErrorKind::TooLarge { found: 10, max: 9 });
    check("persistent", Some(Value::Byte(1)), DecodeErrorKind::Missing);
    check("expires", Some(Value::Long(-1)), DecodeErrorKind::Missing);
    check("ccsid", Some(Value::Boolean(true)), DecodeErrorKind::Missing);
    let long = Value::Bytes(Bytes::from(vec![1; 25]));
    check("message_id", Some(long.clone()), DecodeErrorKind::TooLarge { found: 25, max: 24 });
    check("format", Some(long), DecodeErrorKind::TooLarge { found: 25, max: 8 });
    check("properties", Some(Value::Byte(1)), DecodeErrorKind::Missing);
}

#[test]
fn expiry_is_absolute_and_rounds_up_on_the_way_to_mq() {
    let check = |expiry: i32, passed_ms: u64, expected: Option<i32>| {
        let md = Mqmd { expiry, priority: 4, persistence: Persistence::PERSISTENT, ..Mqmd::default() };
        let queue = QName::new("Q").unwrap();
        let message = DeviceMessage::from_mq(queue, QMgrName::BLANK, &md, Bytes::new(), 1_000);
        assert_eq!(message.descriptor.expiry, -1);
        assert_eq!(message.to_mq(1_000 + passed_ms).map(|md| md.expiry), expected);
    };
    check(-1, 5_000, Some(-1));
    check(10, 0, Some(10));
    check(10, 1, Some(10));
    check(10, 100, Some(9));
    check(10, 999, Some(1));
    check(10, 1_000, None);
    check(10, 5_000, None);
}

#[test]
fn what_was_not_resolved_gets_a_value() {
    let queue = QName::new("Q").unwrap();
    let message = DeviceMessage::from_mq(queue, QMgrName::BLANK, &Mqmd::default(), Bytes::new(), 0);
    assert_eq!((message.priority(), message.is_persistent()), (0, false));
    assert_eq!(message.descriptor.version, 2);
}
