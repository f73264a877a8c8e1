//! A message as JSON: what `pull` prints.

use mqe::DeviceName;
use mqe::fields::{Fields, Value as Field};
use serde::Serialize;
use serde_json::{Value, json};

use crate::device::Received;

/// A message, as one object. Ids are in hexadecimal.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    device: String,
    queue: String,
    origin_qmgr: String,
    uid: String,
    message_id: Option<String>,
    correlation_id: Option<String>,
    priority: u8,
    persistent: bool,
    /// When it expires: wall clock milliseconds since 1970.
    expiry_ms: Option<u64>,
    deliveries: u8,
    /// `QUEUE` or `QUEUE@QMGR`.
    reply_to: Option<String>,
    format: String,
    encoding: i32,
    ccsid: i32,
    properties: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
}

/// What `pull` prints of a message that this device got.
pub(crate) fn line(device: DeviceName, received: &Received) -> Line {
    let Received { uid, deliveries, message, .. } = received;
    let md = &message.descriptor;
    let reply_to = match (md.reply_to_q.is_blank(), md.reply_to_q_mgr.is_blank()) {
        (true, _) => None,
        (false, true) => Some(md.reply_to_q.to_string()),
        (false, false) => Some(format!("{}@{}", md.reply_to_q, md.reply_to_q_mgr)),
    };
    let payload = String::from_utf8(message.payload.to_vec()).ok();
    Line {
        device: device.to_string(),
        queue: message.queue.to_string(),
        origin_qmgr: message.origin_qmgr.to_string(),
        uid: uid.to_string(),
        message_id: hex(&md.msg_id.0),
        correlation_id: hex(&md.correl_id.0),
        priority: message.priority(),
        persistent: message.is_persistent(),
        expiry_ms: message.expiry_ms,
        deliveries: *deliveries,
        reply_to,
        format: md.format.text(),
        encoding: md.encoding.0,
        ccsid: md.ccsid.0,
        properties: fields(&message.properties),
        payload_base64: payload.is_none().then(|| base64(&message.payload)),
        payload,
    }
}

/// None for an id of zeros.
fn hex(id: &[u8]) -> Option<String> {
    let is_none = id.iter().all(|byte| *byte == 0);
    (!is_none).then(|| id.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn fields(fields: &Fields) -> Value {
    Value::Object(fields.iter().map(|(name, value)| (name.to_owned(), field(value))).collect())
}

fn field(value: &Field) -> Value {
    match value {
        Field::Bytes(bytes) => json!({ "base64": base64(bytes) }),
        Field::Ascii(text) | Field::Unicode(text) => text.as_str().into(),
        Field::Boolean(value) => (*value).into(),
        Field::Byte(value) => (*value).into(),
        Field::Short(value) => (*value).into(),
        Field::Int(value) => (*value).into(),
        Field::Long(value) => (*value).into(),
        Field::Float(value) => f64::from(*value).into(),
        Field::Double(value) => (*value).into(),
        Field::Array(values) => values.iter().map(field).collect(),
        Field::Fields(nested) => fields(nested),
    }
}

/// Base64 with padding (RFC 4648 4).
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut three = [0; 3];
        three[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from(three[0]) << 16 | u32::from(three[1]) << 8 | u32::from(three[2]);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use mqe::{DeviceMessage, StoreIdentity, Uid};

    use super::*;

    #[test]
    fn a_line_says_what_users_were_promised() {
        let mut message = DeviceMessage::new("ORDERS".parse().unwrap(), vec![0xFF].into());
        message.descriptor.reply_to_q = "R".parse().unwrap();
        message.descriptor.reply_to_q_mgr = "QM1".parse().unwrap();
        message.descriptor.correl_id.0[23] = 0xAB;
        let uid = Uid { store: StoreIdentity([1; 16]), id: store::Id::from_u64(7) };
        let received = Received { uid, deliveries: 2, again: false, message };
        let text = serde_json::to_string(&line("DEV00001".parse().unwrap(), &received)).unwrap();
        let names = [
            "device",
            "queue",
            "origin_qmgr",
            "uid",
            "message_id",
            "correlation_id",
            "priority",
            "persistent",
            "expiry_ms",
            "deliveries",
            "reply_to",
            "format",
            "encoding",
            "ccsid",
            "properties",
            "payload_base64",
        ];
        // In this order.
        let places: Vec<_> = names.iter().map(|name| text.find(&format!("\"{name}\":")).unwrap()).collect();
        assert!(places.is_sorted(), "{text}");
        for part in ["\"message_id\":null", "ab\"", "\"deliveries\":2", "\"reply_to\":\"R@QM1\"", "\"/w==\""]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("\"payload\":"), "{text}");
    }

    #[test]
    fn base64_pads() {
        let check = |bytes: &[u8], text: &str| assert_eq!(base64(bytes), text);
        // RFC 4648 10.
        check(b"", "");
        check(b"f", "Zg==");
        check(b"fo", "Zm8=");
        check(b"foo", "Zm9v");
        check(b"foob", "Zm9vYg==");
        check(b"fooba", "Zm9vYmE=");
        check(b"foobar", "Zm9vYmFy");
        check(&[0xFF, 0xFE], "//4=");
    }
}
