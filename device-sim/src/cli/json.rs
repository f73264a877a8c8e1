//! A message as JSON: what `pull` prints.

use mqe::DeviceName;
use mqe::fields::{Fields, Value as Field};
use serde_json::{Map, Value, json};

use crate::device::Received;

/// A message, as one object. Ids are in hexadecimal, `null` where there is none; `expiry_ms` is the wall clock time
/// at which it expires, in milliseconds since 1970.
pub(crate) fn received(device: DeviceName, received: &Received) -> Value {
    let Received { uid, deliveries, message, .. } = received;
    let md = &message.descriptor;
    let reply_to = match (md.reply_to_q.is_blank(), md.reply_to_q_mgr.is_blank()) {
        (true, _) => Value::Null,
        (false, true) => md.reply_to_q.to_string().into(),
        (false, false) => format!("{}@{}", md.reply_to_q, md.reply_to_q_mgr).into(),
    };
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("device", device.to_string().into());
    put("queue", message.queue.to_string().into());
    put("origin_qmgr", message.origin_qmgr.to_string().into());
    put("uid", uid.to_string().into());
    put("message_id", hex(&md.msg_id.0));
    put("correlation_id", hex(&md.correl_id.0));
    put("priority", message.priority().into());
    put("persistent", message.is_persistent().into());
    put("expiry_ms", message.expiry_ms.into());
    put("deliveries", (*deliveries).into());
    put("reply_to", reply_to);
    put("format", md.format.text().into());
    put("encoding", md.encoding.0.into());
    put("ccsid", md.ccsid.0.into());
    put("properties", fields(&message.properties));
    match std::str::from_utf8(&message.payload) {
        Ok(text) => put("payload", text.into()),
        Err(_) => put("payload_base64", base64(&message.payload).into()),
    };
    Value::Object(object)
}

/// Null for an id of zeros.
fn hex(id: &[u8]) -> Value {
    if id.iter().all(|byte| *byte == 0) {
        return Value::Null;
    }
    id.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
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
    use super::*;

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
