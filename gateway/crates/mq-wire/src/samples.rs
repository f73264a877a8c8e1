//! One filled-in value of every structure and body, as bytes in every coding: what tests, fuzzers and the tools of other
//! crates start from. A new wire type joins [`all_samples`].

mod calls;
mod segments;
mod structures;

use bytes::BytesMut;

use crate::{ByteOrder, Ccsid, Coding, DecodeError, Writer};

/// A structure or body as bytes.
#[derive(Debug, Clone)]
pub struct Sample {
    /// What it is.
    pub name: &'static str,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How they are coded.
    pub coding: Coding,
    /// Reads bytes as this structure and writes them again, with the padding that was read.
    pub decode: Decode,
    /// Whether a shorter version of so many bytes is legal, so that a sample cut there is not an error.
    pub legal_at: fn(usize) -> bool,
}

/// Reads a structure and writes it again.
pub type Decode = fn(&[u8], Coding) -> Result<Vec<u8>, DecodeError>;

/// Little-endian, big-endian, and big-endian with names in EBCDIC.
pub const CODINGS: [Coding; 3] = [
    Coding::NATIVE,
    Coding { order: ByteOrder::Big, ccsid: Ccsid::UTF_8 },
    Coding { order: ByteOrder::Big, ccsid: Ccsid(500) },
];

/// Every sample in every coding.
pub fn all_samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for coding in CODINGS {
        let list = &mut List { samples: &mut samples, coding };
        structures::add(list);
        segments::add(list);
        calls::add(list);
    }
    samples
}

/// Where samples of one coding are collected.
struct List<'a> {
    samples: &'a mut Vec<Sample>,
    coding: Coding,
}

impl List<'_> {
    /// A sample that must not be shorter.
    fn add(&mut self, name: &'static str, encode: impl FnOnce(&mut Writer<'_>), decode: Decode) {
        self.add_with_shorter(name, encode, decode, |_| false);
    }

    /// A sample of which shorter versions are legal.
    fn add_with_shorter(
        &mut self,
        name: &'static str,
        encode: impl FnOnce(&mut Writer<'_>),
        decode: Decode,
        legal_at: fn(usize) -> bool,
    ) {
        let bytes = written(self.coding, encode);
        self.samples.push(Sample { name, bytes, coding: self.coding, decode, legal_at });
    }
}

fn written(coding: Coding, encode: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = BytesMut::new();
    encode(&mut Writer::as_read(&mut out, coding));
    out.to_vec()
}
