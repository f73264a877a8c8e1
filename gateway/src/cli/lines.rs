//! Messages as lines: what is read for amqsput, what amqsget prints.

use mq_wire::{Mqmd, Persistence};
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// Bytes of MQ's longest message (MAXMSGL of a queue).
pub(super) const MESSAGE_BYTES_MAX: u64 = 104_857_600;

/// The next line without its end; none at the end of the input.
pub(super) async fn next_line(input: &mut (impl AsyncBufRead + Unpin)) -> anyhow::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    // The end of the line may follow the longest message.
    if input.take(MESSAGE_BYTES_MAX + 2).read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
    anyhow::ensure!(
        line.len() as u64 <= MESSAGE_BYTES_MAX,
        "a line is longer than a message can be, {MESSAGE_BYTES_MAX} bytes"
    );
    Ok(Some(line))
}

/// A message as an object: what identifies and describes it, and its data.
pub(super) fn as_json(md: &Mqmd, data: &[u8]) -> Value {
    let (payload, name) = match std::str::from_utf8(data) {
        Ok(text) => (text.to_owned(), "payload"),
        Err(_) => (base64(data), "payload_base64"),
    };
    let mut object = json!({
        "message_id": md.msg_id.to_string(),
        "correlation_id": md.correl_id.to_string(),
        "priority": md.priority,
        "persistent": md.persistence == Persistence::PERSISTENT,
        "format": md.format.text(),
        "ccsid": md.ccsid.0,
        "reply_to": md.reply_to_q.to_string(),
        "reply_to_qmgr": md.reply_to_q_mgr.to_string(),
    });
    object[name] = payload.into();
    object
}

/// RFC 4648 section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().chain(&[0; 2]).take(3).fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        for index in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * index)) as usize & 63];
            out.push(if index <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines() {
        let mut input: &[u8] = b"one\r\n\ntwo\n\xff";
        let mut found = Vec::new();
        while let Some(line) = next_line(&mut input).await.unwrap() {
            found.push(line);
        }
        assert_eq!(found, [&b"one"[..], b"", b"two", b"\xff"]);
    }

    #[test]
    fn base64_of_the_standard() {
        let check = |text: &str, expected: &str| assert_eq!(base64(text.as_bytes()), expected);
        check("", "");
        check("f", "Zg==");
        check("fo", "Zm8=");
        check("foo", "Zm9v");
        check("foobar", "Zm9vYmFy");
    }

    #[test]
    fn data_that_is_not_text() {
        let object = as_json(&Mqmd::default(), b"\xff\xfe");
        assert_eq!((object.get("payload"), &object["payload_base64"]), (None, &json!("//4=")));
        assert_eq!(as_json(&Mqmd::default(), b"hi")["payload"], "hi");
    }
}
