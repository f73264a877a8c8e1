//! STATUS, a code or plain consent (mq-wire.md 3.8, mq-wire-observed-base.md 5).

use bytes::Bytes;

use crate::{DecodeError, DecodeErrorKind, Reader, Writer};

constants! {
    /// Why a channel is refused or ends.
    pub struct StatusCode(u32), "" {
        NONE = 0x00, "nothing to say";
        NO_CHANNEL = 0x01, "there is no channel of that name: define it at this end";
        CHANNEL_WRONG_TYPE = 0x02, "the channel exists with a type that does not fit the partner's";
        QM_UNAVAILABLE = 0x03, "the queue manager is not available";
        MSG_SEQUENCE_ERROR = 0x04, "the sequence numbers of the two ends differ: resolve, then RESET CHANNEL";
        QM_TERMINATING = 0x05, "the queue manager ends";
        CAN_NOT_STORE = 0x06, "a message could be stored neither on its queue nor on the dead-letter queue";
        USER_CLOSED = 0x07, "an operator stopped the channel";
        TIMEOUT_EXPIRED = 0x08, "the partner was silent for too long";
        TARGET_Q_UNKNOWN = 0x09, "the queue of a message is not known";
        PROTOCOL_SEGMENT_TYPE = 0x0A, "a segment of a type that was not expected";
        PROTOCOL_LENGTH = 0x0B, "a segment with a wrong length";
        PROTOCOL_INVALID_DATA = 0x0C, "a segment with wrong content";
        PROTOCOL_SEGMENT = 0x0D, "a segment that does not fit here";
        PROTOCOL_ID = 0x0E, "initial data that cannot be read";
        PROTOCOL_MSH = 0x0F, "a message segment header that cannot be read";
        PROTOCOL_GENERAL = 0x10, "an error of the protocol";
        BATCH_FAILURE = 0x11, "the batch was backed out";
        MESSAGE_LENGTH = 0x12, "a message with a wrong length";
        SEGMENT_NUMBER = 0x13, "a segment of a message is missing";
        SECURITY_FAILURE = 0x14, "the partner may not do that";
        WRAP_VALUE = 0x15, "SEQWRAP differs: set it alike at both ends";
        CHANNEL_UNAVAILABLE = 0x16, "the channel is stopped or busy";
        CLOSED_BY_EXIT = 0x17, "an exit closed the channel";
        CIPHER_SPEC = 0x18, "the cipher does not fit: set SSLCIPH alike at both ends";
        PEER_NAME = 0x19, "the certificate's name is not the one expected";
        SSL_CLIENT_CERTIFICATE = 0x1A, "the partner has no certificate";
        RMT_RSRCS_IN_RECOVERY = 0x1B, "the partner is recovering";
        SSL_REFRESHING = 0x1C, "the TLS environment is being refreshed";
        INVALID_HOBJ = 0x1D, "there is no such handle";
        CONV_ID_ERROR = 0x1E, "there is no such conversation";
        SOCKET_ACTION_TYPE = 0x1F, "a socket action that is not known";
        STANDBY_Q_MGR = 0x20, "the queue manager is a standby instance";
        CONNECTION_LIMIT = 0x25, "the channel has as many instances as it allows";
        CCSID_NOT_SUPPORTED = 0xF0, "the character set is not supported";
        ENCODING_INVALID = 0xF1, "the encoding is not supported";
        FAP_LEVEL = 0xF2, "the level of the protocol is not supported";
        NEGOTIATION_FAILED = 0xF3, "the two ends cannot agree";
    }
}

const TITLE: &str = "STATUS";

/// A status with a code. A segment without a body is the plain consent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// The code.
    pub code: StatusCode,
    /// A value that goes with some codes.
    pub value: Option<u32>,
    /// What newer partners add.
    pub tail: Bytes,
}

impl Status {
    /// A status with a code and nothing else.
    pub const fn new(code: StatusCode) -> Self {
        Self { code, value: None, tail: Bytes::new() }
    }

    /// Reads the rest of a segment; `None` is the plain consent.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Option<Self>, DecodeError> {
        if reader.rest().is_empty() {
            return Ok(None);
        }
        let at_length = reader.clone();
        let length: u32 = reader.field(TITLE, "Length")?;
        if length < 8 {
            let kind = DecodeErrorKind::Range { found: length.into(), min: 8, max: u32::MAX.into() };
            return Err(at_length.error(TITLE, "Length", kind));
        }
        let code = reader.field(TITLE, "Code")?;
        let value = if length >= 12 { Some(reader.field(TITLE, "Value")?) } else { None };
        // Length is never more than the field above could hold; take() compares it with what is there.
        let more = length as usize - if value.is_some() { 12 } else { 8 };
        let tail = Bytes::copy_from_slice(reader.take(TITLE, "tail", more)?);
        Ok(Some(Self { code, value, tail }))
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        let length = if self.value.is_some() { 12 } else { 8 };
        writer.field(&(length + self.tail.len() as u32));
        writer.field(&self.code);
        if let Some(value) = &self.value {
            writer.field(value);
        }
        writer.raw(&self.tail);
    }
}
