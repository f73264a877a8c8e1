//! SPI OPEN, how clients open queues from command level 700 on (mq-wire.md 4.12.6, mq-wire-observed-base.md 3.5).

use bytes::{Bytes, BytesMut};

use super::Parts;
use crate::call::take_slice;
use crate::{Chars, DecodeError, DecodeErrorKind, Mqod, OpenOptions, Reader, Writer};

sized_struct! {
    /// The open options of the SPI; 32 bytes, 88 with message protection. A reply has as many as its request, else
    /// the client refuses it.
    pub struct Lpoo, "LPOO", id b"LPOO", least 32, whole 88 {
        /// 1 with 32 bytes.
        version: u32 = 1,
        /// How to open the object.
        open_options: OpenOptions = OpenOptions::empty(),
        /// Which context to save: 1 identity, 2 origin, 4 user.
        lpi_options: u32 = 0,
        /// Default persistence; -1 unknown.
        def_persistence: i32 = -1,
        /// Default put response, 1 synchronous.
        def_put_response: i32 = -1,
        /// Default read-ahead, 2 disabled.
        def_read_ahead: i32 = -1,
        /// Property control.
        property_control: i32 = -1,
        /// Queue for what message protection refuses.
        protection_error_queue: Chars<48> = Chars::BLANK,
        /// Offset of the policy from the start of SPOO.
        policy_offset: u32 = 0,
        /// Not understood.
        policy_length: u32 = 0,
    }
}

impl Lpoo {
    /// The short form, without message protection.
    pub fn short() -> Self {
        Self { length: Self::LEAST, ..Self::default() }
    }
}

/// Request and reply of OPEN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpiOpen {
    /// Version of SPOU.
    pub in_out_version: u32,
    /// Version of SPOI or SPOO.
    pub version: u32,
    /// Whether it is the reply.
    pub reply: bool,
    /// The options.
    pub lpoo: Lpoo,
    /// What to open; the reply has the resolved names.
    pub od: Mqod,
    /// What follows: strings, or a policy of message protection.
    pub tail: Bytes,
}

const LETTER: u8 = b'O';

impl SpiOpen {
    /// Reads it.
    pub fn decode(reader: &mut Reader<'_>, body: &Bytes) -> Result<Self, DecodeError> {
        let Parts { in_out_version, version, reply, more } = Parts::decode(reader, LETTER)?;
        let start = reader.position();
        // LPOO does not say its length; what follows it does (mq-wire.md 4.12.6 guesses by the length of the rest).
        let mut behind_short = reader.clone();
        let short = behind_short.take(Lpoo::TITLE, "open_options", Lpoo::LEAST).is_err()
            || behind_short.at_struc_id(Mqod::ID)
            || behind_short.rest().len() < Lpoo::WHOLE - Lpoo::LEAST;
        let lpoo = Lpoo::decode(reader, if short { Lpoo::LEAST } else { Lpoo::WHOLE })?;
        let od = Mqod::decode(reader)?;
        let taken = reader.position() - start;
        let length = more.checked_sub(taken).ok_or_else(|| {
            let kind = DecodeErrorKind::Range {
                found: more as i64,
                min: taken as i64,
                max: (taken + reader.rest().len()) as i64,
            };
            reader.error("SPxI", "Length", kind)
        })?;
        let tail = take_slice(reader, body, "SPxI", "tail", length)?;
        Ok(Self { in_out_version, version, reply, lpoo, od, tail })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        let mut inner =
            BytesMut::with_capacity(Lpoo::WHOLE + Mqod::length(self.od.version) + self.tail.len());
        let inner_writer = &mut writer.beside(&mut inner);
        self.lpoo.encode(inner_writer);
        self.od.encode(inner_writer);
        inner_writer.raw(&self.tail);
        let (in_out_version, version, reply) = (self.in_out_version, self.version, self.reply);
        Parts { in_out_version, version, reply, more: inner.len() }.encode(writer, LETTER);
        writer.raw(&inner);
    }
}
