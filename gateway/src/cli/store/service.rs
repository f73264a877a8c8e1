//! Asks the running service that has the store: a GET like that of other commands, and a POST that may take long.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use anyhow::Context;

use crate::admin::{read_endpoints, read_token};
use crate::cli::http::ServiceArgs;
use crate::config::Admin;

/// A report is small.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// The body of the answer to a GET that succeeds.
pub(super) fn get(data: &Path, admin: Option<&str>, path: &str) -> anyhow::Result<String> {
    ServiceArgs::at(address(data, admin), data.to_owned()).get_json(path)
}

fn address(data: &Path, admin: Option<&str>) -> String {
    let of_data = || read_endpoints(data).ok().map(|listeners| listeners.admin);
    admin.map(str::to_owned).or_else(of_data).unwrap_or_else(|| Admin::default().listen.to_string())
}

/// The body of the answer to a POST of JSON that succeeds. It comes when the service has done it, however long that
/// takes.
pub(super) fn post(data: &Path, admin: Option<&str>, path: &str, json: &str) -> anyhow::Result<String> {
    let address = address(data, admin);
    let token = match std::env::var("MQE_ADMIN_TOKEN") {
        Ok(token) if !token.is_empty() => token,
        _ => read_token(data).with_context(|| format!("no admin token in {}", data.display()))?,
    };
    // It becomes a header line.
    anyhow::ensure!(
        token.bytes().all(|b| b.is_ascii_graphic()),
        "the admin token has characters that no token has"
    );
    let exchange = || -> anyhow::Result<(u16, String)> {
        let mut stream = TcpStream::connect(&address)?;
        let head = format!(
            "POST {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            json.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(json.as_bytes())?;
        let mut bytes = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes)?;
        answer(&bytes)
    };
    let (status, body) = exchange().with_context(|| {
        format!("no answer from the service at {address} (is it running? --admin, --data)")
    })?;
    anyhow::ensure!(status == 200, "the service refuses: {} (status {status})", body.trim());
    Ok(body)
}

/// Status and body.
fn answer(bytes: &[u8]) -> anyhow::Result<(u16, String)> {
    let text = std::str::from_utf8(bytes).context("the answer is not text")?;
    let (head, body) = text.split_once("\r\n\r\n").context("the answer is not HTTP, or was cut off")?;
    let line = head
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("HTTP/1."))
        .context("the answer is not HTTP")?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.context("the answer is not HTTP")?, body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let check = |text: &str, expected: Option<(u16, &str)>| {
            let read = answer(text.as_bytes()).ok();
            assert_eq!(read.as_ref().map(|(status, body)| (*status, body.as_str())), expected, "{text:?}");
        };
        check("HTTP/1.0 200 OK\r\nx: y\r\n\r\n{}", Some((200, "{}")));
        check("HTTP/1.1 409 Conflict\r\n\r\nbusy\n", Some((409, "busy\n")));
        check("HTTP/1.0 200 OK\r\n", None);
        check("TSH \r\n\r\n", None);
        check("", None);
    }
}
