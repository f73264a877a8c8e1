//! The table of mqe.md 4.5: each field of MQ's descriptor and the field of a device's message that it is, tried alone in both
//! directions.

use bytes::Bytes;
use mq_wire::{
    AccountingToken, ApplType, Ccsid, Chars, CorrelId, Encoding, Feedback, GroupId, MessageFlags, Mqmd,
    MsgId, MsgType, Persistence, QMgrName, QName, ReportOptions,
};

use super::super::plain;
use super::DeviceMessage;
use crate::DecodeErrorKind;
use crate::fields::{Fields, Value};

/// When messages are converted: milliseconds since 1970.
const NOW: u64 = 1_700_000_000_000;

/// A field of the descriptor with a value that is not its default, and what a device has for it.
struct Row {
    field: &'static str,
    set: fn(&mut Mqmd),
    name: &'static str,
    value: Value,
}

fn rows() -> Vec<Row> {
    let ascii = |text: &str| Value::Ascii(text.to_owned());
    let bytes = |bytes: &[u8]| Value::Bytes(Bytes::copy_from_slice(bytes));
    macro_rules! rows {
        ($($field:ident = $set:expr => $name:literal, $value:expr;)+) => {
            vec![$(Row {
                field: stringify!($field),
                set: |md| md.$field = $set,
                name: $name,
                value: $value,
            }),+]
        };
    }
    rows! {
        report = ReportOptions::COD_WITH_FULL_DATA => "report", Value::Int(0x3800);
        msg_type = MsgType::REQUEST => "type", Value::Int(1);
        // A tenth of a second is the unit there, a point in time in milliseconds here.
        expiry = 10 => "expires", Value::Long(NOW as i64 + 1_000);
        feedback = Feedback::COD => "feedback", Value::Int(260);
        encoding = Encoding::BIG => "encoding", Value::Int(273);
        ccsid = Ccsid(500) => "ccsid", Value::Int(500);
        format = Chars::cut("MQSTR") => "format", ascii("MQSTR");
        priority = 9 => "priority", Value::Byte(9);
        persistence = Persistence::PERSISTENT => "persistent", Value::Boolean(true);
        msg_id = MsgId([1; 24]) => "message_id", bytes(&[1; 24]);
        correl_id = CorrelId([2; 24]) => "correlation_id", bytes(&[2; 24]);
        backout_count = 3 => "backouts", Value::Int(3);
        reply_to_q = QName::new("ANSWERS").unwrap() => "reply_to_q", ascii("ANSWERS");
        reply_to_q_mgr = QMgrName::new("QM9").unwrap() => "reply_to_qmgr", ascii("QM9");
        user_identifier = Chars::cut("mueller") => "user", ascii("mueller");
        accounting_token = AccountingToken([3; 32]) => "accounting", bytes(&[3; 32]);
        // What is not ASCII stays what it is, whatever character set it is in.
        appl_identity_data = Chars::from_bytes(*b"gr\xFCn                            ") => "appl_identity", bytes(b"gr\xFCn");
        put_appl_type = ApplType::JAVA => "put_appl_type", Value::Int(28);
        put_appl_name = Chars::cut("orders.jar") => "put_appl_name", ascii("orders.jar");
        put_date = Chars::cut("20261130") => "put_date", ascii("20261130");
        put_time = Chars::cut("16595999") => "put_time", ascii("16595999");
        appl_origin_data = Chars::cut("orig") => "appl_origin", ascii("orig");
        group_id = GroupId([4; 24]) => "group_id", bytes(&[4; 24]);
        msg_seq_number = 5 => "group_seq", Value::Int(5);
        offset = 6 => "offset", Value::Int(6);
        msg_flags = MessageFlags::LAST_MSG_IN_GROUP => "flags", Value::Int(16);
        original_length = 7 => "original_length", Value::Int(7);
    }
}

/// Names of the fields in which descriptors differ. The version is not one of a message.
fn differences(one: &Mqmd, other: &Mqmd) -> Vec<&'static str> {
    macro_rules! fields {
        ($($field:ident)+) => {{
            // A field that is missing here does not compile.
            let Mqmd { version: _, $($field: _),+ } = one;
            let mut found = Vec::new();
            $(if one.$field != other.$field { found.push(stringify!($field)) })+
            found
        }};
    }
    fields! {
        report msg_type expiry feedback encoding ccsid format priority persistence msg_id correl_id backout_count reply_to_q
        reply_to_q_mgr user_identifier accounting_token appl_identity_data put_appl_type put_appl_name put_date put_time
        appl_origin_data group_id msg_seq_number offset msg_flags original_length
    }
}

fn queue() -> QName {
    QName::new("ORDERS").unwrap()
}

/// What a device says that has this field and no other.
fn from_device(name: &str, value: Value) -> Result<Mqmd, DecodeErrorKind> {
    let mut fields = Fields::new();
    fields.set("queue", Value::Ascii(queue().to_string())).unwrap();
    fields.set(name, value).unwrap();
    let message =
        DeviceMessage::from_envelope(&fields.to_bytes(), Bytes::new()).map_err(|error| error.kind)?;
    Ok(message.to_mq(NOW).expect("it has not expired"))
}

#[test]
fn the_table_has_every_field_of_the_descriptor() {
    let mut all = plain();
    let rows = rows();
    rows.iter().for_each(|row| (row.set)(&mut all));
    let named: Vec<&str> = rows.iter().map(|row| row.field).collect();
    assert_eq!(named, differences(&all, &plain()));
}

#[test]
fn each_field_of_mq_becomes_its_field_of_the_device_and_no_other() {
    for Row { field, set, name, value } in rows() {
        let mut md = plain();
        set(&mut md);
        let message = DeviceMessage::from_mq(queue(), QMgrName::BLANK, &md, Bytes::new(), NOW);
        let fields = Fields::from_bytes(&message.envelope()).unwrap();
        let mut found: Vec<&str> = fields.iter().map(|(name, _)| name).collect();
        found.retain(|found| *found != "queue");
        assert_eq!(found, [name], "{field}");
        assert_eq!(fields.get(name), Some(&value), "{field}");
    }
}

#[test]
fn each_field_of_the_device_becomes_its_field_of_mq_and_no_other() {
    for Row { field, set, name, value } in rows() {
        let mut expected = plain();
        set(&mut expected);
        let md = from_device(name, value).unwrap();
        assert_eq!(differences(&md, &plain()), [field], "{name}");
        assert_eq!(differences(&md, &expected), [""; 0], "{name}");
    }
}

/// mqe.md 4.5: a priority may be a byte or an integer, ids are padded; what MQ's fields cannot hold is refused, never cut.
#[test]
fn other_forms_of_a_devices_fields() {
    assert_eq!(from_device("priority", Value::Int(9)).unwrap().priority, 9);
    let short = Value::Bytes(Bytes::from_static(b"\x07"));
    let mut padded = [0; 24];
    padded[0] = 7;
    assert_eq!(from_device("message_id", short.clone()).unwrap().msg_id.0, padded);
    assert_eq!(from_device("correlation_id", short).unwrap().correl_id.0, padded);
    for (name, length, max) in [
        ("correlation_id", 25, 24),
        ("reply_to_q", 49, 48),
        ("reply_to_qmgr", 49, 48),
        ("user", 13, 12),
        ("put_appl_name", 29, 28),
        ("accounting", 33, 32),
    ] {
        let long = Value::Bytes(Bytes::from(vec![b'x'; length]));
        let too_large = DecodeErrorKind::TooLarge { found: length as u64, max };
        assert_eq!(from_device(name, long), Err(too_large), "{name}");
    }
}
