//! A question to the admin listener of a running service: address, token, one GET, or an operator's wish.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use crate::admin::{TOKEN_FILE, read_endpoints, read_token};
use crate::config::{Admin, StoreSection};
use crate::report::{Operation, OperationReport};

/// Until somebody accepts.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// Between two pieces of an answer: more than the service takes for a request at most by default.
const READ_TIME_MAX: Duration = Duration::from_secs(60);
/// Bytes of an answer: a hundred thousand devices are about 40 MB.
const ANSWER_BYTES_MAX: u64 = 512 << 20;

/// Where the running service is found.
#[derive(Debug, Args)]
pub(super) struct ServiceArgs {
    /// Address of the admin listener [default: from endpoints.json in the data directory, else 127.0.0.1:9414]
    #[arg(long, value_name = "ADDR")]
    admin: Option<String>,
    /// Data directory of the service, for its address and token; the token can also be in MQE_ADMIN_TOKEN [default: mqe-data]
    #[arg(long, value_name = "DIR", env = "MQE_DATA")]
    data: Option<PathBuf>,
}

/// An answer that is not one of those that were expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
}

impl ServiceArgs {
    /// A service that is known already.
    pub(super) fn at(admin: String, data: PathBuf) -> Self {
        Self { admin: Some(admin), data: Some(data) }
    }

    /// The answer to a GET.
    pub(super) fn get(&self, path: &str) -> anyhow::Result<Answer> {
        self.ask("GET", path, "")
    }

    /// Has something done, and prints what was.
    pub(super) fn operate(&self, operation: &Operation, json: bool) -> anyhow::Result<()> {
        let answer = self.ask("POST", "/operate", &serde_json::to_string(operation)?)?;
        if answer.status != 200 {
            anyhow::bail!("not done: {} (status {})", answer.body.trim(), answer.status);
        }
        let mut out = std::io::stdout().lock();
        if json {
            return Ok(writeln!(out, "{}", answer.body)?);
        }
        let report: OperationReport =
            serde_json::from_str(&answer.body).context("the answer is no report")?;
        for done in report.done {
            writeln!(out, "{done}")?;
        }
        Ok(())
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> anyhow::Result<Answer> {
        let address = self.address();
        let token = self.token()?;
        let exchange = || -> anyhow::Result<Answer> {
            let mut stream = connect(&address)?;
            stream.set_read_timeout(Some(READ_TIME_MAX))?;
            stream.set_write_timeout(Some(READ_TIME_MAX))?;
            // HTTP/1.0: the answer ends with the connection and is never in chunks.
            let head =
                format!("{method} {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}");
            let request = match body {
                "" => format!("{head}\r\n\r\n"),
                body => format!(
                    "{head}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                ),
            };
            stream.write_all(request.as_bytes())?;
            let mut bytes = Vec::new();
            stream.take(ANSWER_BYTES_MAX + 1).read_to_end(&mut bytes)?;
            parse(&bytes)
        };
        exchange().with_context(|| {
            format!("no answer from the service at {address} (is it running? --admin, --data)")
        })
    }

    /// The JSON of a GET that should succeed.
    pub(super) fn get_json(&self, path: &str) -> anyhow::Result<String> {
        let answer = self.get(path)?;
        if answer.status != 200 {
            anyhow::bail!("the service refuses: {} (status {})", answer.body.trim(), answer.status);
        }
        Ok(answer.body)
    }

    fn data(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(|| StoreSection::default().directory)
    }

    fn address(&self) -> String {
        let of_data = || read_endpoints(&self.data()).ok().map(|listeners| listeners.admin);
        self.admin.clone().or_else(of_data).unwrap_or_else(|| Admin::default().listen.to_string())
    }

    fn token(&self) -> anyhow::Result<String> {
        let token = match std::env::var("MQE_ADMIN_TOKEN") {
            Ok(token) if !token.is_empty() => token,
            _ => {
                let data = self.data();
                read_token(&data).with_context(|| {
                    let file = data.join(TOKEN_FILE);
                    format!(
                        "no admin token in {} (give --data DIR of the service, or MQE_ADMIN_TOKEN)",
                        file.display()
                    )
                })?
            }
        };
        // It becomes a header line.
        anyhow::ensure!(
            token.bytes().all(|b| b.is_ascii_graphic()),
            "the admin token has characters that no token has"
        );
        Ok(token)
    }
}

/// A name as a part of a path.
pub(super) fn path_part(name: &str) -> String {
    name.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

fn connect(address: &str) -> anyhow::Result<TcpStream> {
    let addresses: Vec<SocketAddr> = address.to_socket_addrs().context("not an address HOST:PORT")?.collect();
    let mut last = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_TIME_MAX) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or_else(|| anyhow::anyhow!("the name has no address"), anyhow::Error::from))
}

fn parse(bytes: &[u8]) -> anyhow::Result<Answer> {
    anyhow::ensure!(bytes.len() as u64 <= ANSWER_BYTES_MAX, "the answer is too long");
    let text = std::str::from_utf8(bytes).context("the answer is not text")?;
    let (head, body) = text.split_once("\r\n\r\n").context("the answer is not HTTP, or was cut off")?;
    let mut lines = head.lines();
    let status = lines
        .next()
        .and_then(|line| line.strip_prefix("HTTP/1."))
        .and_then(|rest| rest.split(' ').nth(1))
        .and_then(|status| status.parse().ok())
        .context("the answer is not HTTP")?;
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") && value.trim().parse() != Ok(body.len()) {
            anyhow::bail!("the answer was cut off");
        }
    }
    Ok(Answer { status, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let check = |text: &str, status, body: &str| {
            assert_eq!(parse(text.as_bytes()).unwrap(), Answer { status, body: body.to_owned() });
        };
        check("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}", 200, "{}");
        check("HTTP/1.1 401 Unauthorized\r\n\r\nno", 401, "no");
        let refuse = |text: &str, part: &str| {
            let message = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(message.contains(part), "{text:?}: {message}");
        };
        refuse("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n{}", "cut off");
        refuse("HTTP/1.0 200 OK\r\n", "cut off");
        refuse("", "not HTTP");
        refuse("TSH \0\0\r\n\r\n", "not HTTP");
    }

    #[test]
    fn names_in_paths() {
        assert_eq!(path_part("A%B/C.d_1"), "A%25B%2FC%2Ed%5F1");
    }
}
