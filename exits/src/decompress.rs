//! `decompress`: unpacks the data of messages that an application has packed, so that small devices need not.
//!
//! | option | values |
//! |---|---|
//! | `format` | `gzip` (RFC 1952; the default), `zlib` (RFC 1950), `deflate` (RFC 1951) |
//! | `max` | bytes of the unpacked data at most, 1 to 104857600; the default is 4194304, what a device takes |
//! | `other` | `pass` (what is not packed like that goes on as it is; the default), `fail` (it is undelivered with 2110) |
//!
//! The data behind an MQRFH2 with properties is unpacked, the properties stay. More than `max` is undelivered with 2030; nothing
//! longer than that is ever made.

use std::io::Read;

use async_trait::async_trait;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use mq_wire::{Described, Reason, properties_length};

use crate::{DataOptions, ExitContext, ExitError, ExitMessage, ExitResponse, ReceiveExit};

/// The exit; see the head of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decompress {
    format: Format,
    max: u64,
    fail: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Gzip,
    Zlib,
    Deflate,
}

impl Decompress {
    /// Its kind in the configuration.
    pub const KIND: &'static str = "decompress";

    /// From the data string.
    pub fn from_data(data: &str) -> Result<Self, ExitError> {
        let mut options = DataOptions::parse(data)?;
        let formats = [("gzip", Format::Gzip), ("zlib", Format::Zlib), ("deflate", Format::Deflate)];
        let exit = Self {
            format: options.take_choice("format", &formats)?,
            max: options.take_number("max", 1, 104_857_600)?.unwrap_or(4_194_304),
            fail: options.take_choice("other", &[("pass", false), ("fail", true)])?,
        };
        options.finish(&["format", "max", "other"])?;
        Ok(exit)
    }

    /// The unpacked data; one byte more than allowed if there is more.
    fn unpack(&self, data: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut unpacked = Vec::new();
        let limit = self.max + 1;
        match self.format {
            Format::Gzip => MultiGzDecoder::new(data).take(limit).read_to_end(&mut unpacked)?,
            Format::Zlib => ZlibDecoder::new(data).take(limit).read_to_end(&mut unpacked)?,
            Format::Deflate => DeflateDecoder::new(data).take(limit).read_to_end(&mut unpacked)?,
        };
        Ok(unpacked)
    }
}

#[async_trait]
impl ReceiveExit for Decompress {
    async fn receive(
        &self,
        _: &mut ExitContext,
        message: &mut ExitMessage,
    ) -> Result<ExitResponse, ExitError> {
        let described = Described::by(&message.xqh()?.msg_desc);
        let payload = message.payload()?;
        let properties = properties_length(described, payload);
        let (head, data) = payload.split_at_checked(properties).unwrap_or((&[], payload));
        let unpacked = match self.unpack(data) {
            Ok(unpacked) if unpacked.len() as u64 > self.max => {
                let why = format!("unpacked it has more than {} bytes", self.max);
                return Ok(ExitResponse::SuppressFunction { reason: Reason::MSG_TOO_BIG_FOR_Q, why });
            }
            Ok(unpacked) => unpacked,
            Err(_) if !self.fail => return Ok(ExitResponse::Ok),
            Err(error) => {
                let why = format!("its data cannot be unpacked: {error}");
                return Ok(ExitResponse::SuppressFunction { reason: Reason::FORMAT_ERROR, why });
            }
        };
        let whole = [head, &unpacked].concat();
        message.payload_mut()?.replace(&whole);
        Ok(ExitResponse::Ok)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;
    use crate::testing::{Harness, TestMessage};

    fn packed(format: Format, data: &[u8]) -> Vec<u8> {
        let level = Compression::default();
        match format {
            Format::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), level);
                encoder.write_all(data).unwrap();
                encoder.finish().unwrap()
            }
            Format::Zlib => {
                let mut encoder = ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(data).unwrap();
                encoder.finish().unwrap()
            }
            Format::Deflate => {
                let mut encoder = DeflateEncoder::new(Vec::new(), level);
                encoder.write_all(data).unwrap();
                encoder.finish().unwrap()
            }
        }
    }

    async fn run(data: &str, payload: Vec<u8>) -> Result<Vec<u8>, Reason> {
        let mut harness = Harness::new(Decompress::from_data(data).unwrap());
        let mut message = TestMessage::to("Q", "DEV1").payload(payload).build();
        match harness.run(&mut message).await.unwrap() {
            ExitResponse::Ok => Ok(message.payload().unwrap().to_vec()),
            ExitResponse::SuppressFunction { reason, .. } => Err(reason),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn every_format_is_unpacked() {
        let data = b"the same again, the same again, the same again".to_vec();
        for (name, format) in [("gzip", Format::Gzip), ("zlib", Format::Zlib), ("deflate", Format::Deflate)] {
            let unpacked = run(&format!("format={name}"), packed(format, &data)).await;
            assert_eq!(unpacked, Ok(data.clone()), "{name}");
        }
    }

    #[tokio::test]
    async fn a_bomb_and_what_is_not_packed() {
        let bomb = packed(Format::Gzip, &vec![0; 10_000_000]);
        assert!(bomb.len() < 20_000);
        assert_eq!(run("max=1000000", bomb.clone()).await, Err(Reason::MSG_TOO_BIG_FOR_Q));
        assert_eq!(run("max=10000000", bomb.clone()).await.map(|data| data.len()), Ok(10_000_000));
        assert_eq!(run("", b"plain".to_vec()).await, Ok(b"plain".to_vec()));
        assert_eq!(run("other=fail", b"plain".to_vec()).await, Err(Reason::FORMAT_ERROR));
        assert_eq!(run("other=fail", bomb[..bomb.len() / 2].to_vec()).await, Err(Reason::MSG_TOO_BIG_FOR_Q));
    }
}
