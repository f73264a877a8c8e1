//! Transport segments: the header in its three forms, and cutting them out of a stream of bytes (mq-wire.md 1).
//!
//! What a body holds is in the modules below and in [`crate::call`]; [`crate::Body`] puts them together. Joining the
//! segments of one call (mq-wire.md 1.5) is left to the channel.

mod conn_auth;
mod initial_data;
mod socket_action;
mod status;
mod types;
mod user_id;

use bytes::BytesMut;

use crate::codec::{ByteOrder, Ccsid, Coding, DecodeError, DecodeErrorKind, Encoding, Reader, Writer};

pub use conn_auth::ConnAuth;
pub use initial_data::{CapFlags1, CapFlags2, CapFlags3, ErrFlags1, ErrFlags2, InitialData};
pub use socket_action::{SocketAction, SocketActionType};
pub use status::{Status, StatusCode};
pub use types::{ControlFlags1, ControlFlags2, SegmentType};
pub use user_id::UserIdData;

const TITLE: &str = "TSH";

/// The first three characters of every eye-catcher.
const ASCII: [u8; 3] = *b"TSH";
/// The same in EBCDIC.
const EBCDIC: [u8; 3] = [0xE3, 0xE2, 0xC8];

/// Which of the transport headers a segment has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SegmentKind {
    /// `TSH `: the only one on unshared connections, the first one on all.
    Tsh,
    /// `TSHM`: of one conversation of a shared socket.
    Tshm,
    /// `TSHC`: about the shared socket as a whole.
    Tshc,
}

impl SegmentKind {
    /// Length of the header.
    pub const fn header_length(self) -> usize {
        match self {
            Self::Tsh | Self::Tshc => 28,
            Self::Tshm => 36,
        }
    }

    /// The last character of the eye-catcher in ASCII and EBCDIC.
    const fn letter(self) -> (u8, u8) {
        match self {
            Self::Tsh => (b' ', 0x40),
            Self::Tshm => (b'M', 0xD4),
            Self::Tshc => (b'C', 0xC3),
        }
    }
}

/// The header of a transport segment, without its length, which belongs to the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Which header.
    pub kind: SegmentKind,
    /// Whether the eye-catcher is EBCDIC, as z/OS sends it.
    pub ebcdic: bool,
    /// Conversation; on the wire in [`SegmentKind::Tshm`] only.
    pub conversation_id: u32,
    /// Request, which the reply repeats; on the wire in [`SegmentKind::Tshm`] only.
    pub request_id: u32,
    /// Order of the integers of this segment. Nothing else says it.
    pub order: ByteOrder,
    /// What the segment is.
    pub segment_type: SegmentType,
    /// First flags.
    pub control_flags_1: ControlFlags1,
    /// Second flags.
    pub control_flags_2: ControlFlags2,
    /// Unit of work of a batch on message channels; zeros on MQI channels.
    pub luwid: [u8; 8],
    /// Encoding of the sender: information only, the high half may be anything.
    pub encoding: Encoding,
    /// Character set of the names in this segment.
    pub ccsid: u16,
    /// Zero, so far.
    pub reserved: [u8; 2],
}

impl SegmentHeader {
    /// A header as our side writes it: little-endian, first and last, outside of any conversation.
    pub const fn new(kind: SegmentKind, segment_type: SegmentType) -> Self {
        Self {
            kind,
            ebcdic: false,
            conversation_id: 0,
            request_id: 0,
            order: ByteOrder::Little,
            segment_type,
            control_flags_1: ControlFlags1::FIRST.union(ControlFlags1::LAST),
            control_flags_2: ControlFlags2::empty(),
            luwid: [0; 8],
            encoding: Encoding::NATIVE,
            ccsid: 819,
            reserved: [0; 2],
        }
    }

    /// Length of the header on the wire.
    pub const fn length(&self) -> usize {
        self.kind.header_length()
    }

    /// How the fields of the body are coded. An EBCDIC eye-catcher decides for the names too when the CCSID is not
    /// one that is known as EBCDIC (mq-wire.md 0.3: replies of z/OS).
    pub const fn coding(&self) -> Coding {
        let ccsid = Ccsid(self.ccsid as i32);
        let ccsid = if self.ebcdic && !ccsid.is_ebcdic() { Ccsid(500) } else { ccsid };
        Coding { order: self.order, ccsid }
    }

    /// The header at the start of `bytes` and the length of its segment, header included; `None` if more bytes have
    /// to arrive first. Nothing is allocated and a length outside its bounds is refused as soon as it is there; what
    /// cannot become an eye-catcher is refused with its first wrong byte.
    pub fn peek(
        bytes: &[u8],
        segment_bytes_max: usize,
    ) -> Result<Option<(SegmentHeader, usize)>, DecodeError> {
        let Some((kind, ebcdic)) = eye_catcher(bytes)? else { return Ok(None) };
        let at = |field, offset, kind| DecodeError { structure: TITLE, field, offset, kind };
        let Some(length) = bytes.get(4..8) else { return Ok(None) };
        let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]);
        let min = kind.header_length();
        let length = match usize::try_from(length) {
            Ok(length) if (min..=segment_bytes_max).contains(&length) => length,
            _ => {
                let (min, max) = (min as i64, i64::try_from(segment_bytes_max).unwrap_or(i64::MAX));
                let out_of_range = DecodeErrorKind::Range { found: i64::from(length), min, max };
                return Err(at("SegmentLength", 4, out_of_range));
            }
        };
        let Some(header) = bytes.get(..min) else { return Ok(None) };
        let order_offset = min - 20;
        let order = match header[order_offset] {
            1 => ByteOrder::Big,
            2 => ByteOrder::Little,
            found => {
                let kind = DecodeErrorKind::Range { found: i64::from(found), min: 1, max: 2 };
                return Err(at("ByteOrder", order_offset, kind));
            }
        };
        // Ids are big-endian whatever the order of the segment (mq-wire.md 0.3).
        let mut ids =
            Reader::new(&header[8..order_offset], Coding { order: ByteOrder::Big, ..Coding::NATIVE });
        let (conversation_id, request_id) = match kind {
            SegmentKind::Tshm => (ids.field(TITLE, "ConversationId")?, ids.field(TITLE, "RequestId")?),
            SegmentKind::Tsh | SegmentKind::Tshc => (0, 0),
        };
        let mut rest = Reader::new(&header[order_offset + 1..], Coding { order, ..Coding::NATIVE });
        let header = SegmentHeader {
            kind,
            ebcdic,
            conversation_id,
            request_id,
            order,
            segment_type: rest.field(TITLE, "SegmentType")?,
            control_flags_1: rest.field(TITLE, "ControlFlags1")?,
            control_flags_2: rest.field(TITLE, "ControlFlags2")?,
            luwid: rest.field(TITLE, "LUWID")?,
            encoding: rest.field(TITLE, "Encoding")?,
            ccsid: rest.field(TITLE, "CCSID")?,
            reserved: rest.field(TITLE, "Reserved")?,
        };
        Ok(Some((header, length)))
    }

    /// Appends the header of a segment whose body has `body_length` bytes.
    fn encode(&self, body_length: usize, out: &mut BytesMut) {
        let (ascii, ebcdic) = self.kind.letter();
        let mut writer = Writer::new(out, Coding { order: ByteOrder::Big, ..Coding::NATIVE });
        if self.ebcdic {
            writer.raw(&EBCDIC);
            writer.raw(&[ebcdic]);
        } else {
            writer.raw(&ASCII);
            writer.raw(&[ascii]);
        }
        // A segment is at most as long as the two sides agreed, which is far from 4 GB.
        writer.field(&u32::try_from(self.length() + body_length).unwrap_or(u32::MAX));
        if self.kind == SegmentKind::Tshm {
            writer.field(&self.conversation_id);
            writer.field(&self.request_id);
        }
        let mut writer = Writer::new(out, Coding { order: self.order, ..Coding::NATIVE });
        writer.raw(&[match self.order {
            ByteOrder::Big => 1,
            ByteOrder::Little => 2,
        }]);
        writer.field(&self.segment_type);
        writer.field(&self.control_flags_1);
        writer.field(&self.control_flags_2);
        writer.field(&self.luwid);
        writer.field(&self.encoding);
        writer.field(&self.ccsid);
        writer.field(&self.reserved);
    }
}

/// Appends a segment: the header with the right length, then the body.
pub fn encode_segment(header: &SegmentHeader, body: &[u8], out: &mut BytesMut) {
    out.reserve(header.length() + body.len());
    header.encode(body.len(), out);
    out.extend_from_slice(body);
}

/// Kind and character set told by the first bytes; `None` if they are too few but right so far.
fn eye_catcher(bytes: &[u8]) -> Result<Option<(SegmentKind, bool)>, DecodeError> {
    let start = &bytes[..bytes.len().min(4)];
    for kind in [SegmentKind::Tsh, SegmentKind::Tshm, SegmentKind::Tshc] {
        let (ascii, ebcdic) = kind.letter();
        for (id, is_ebcdic) in [
            ([ASCII[0], ASCII[1], ASCII[2], ascii], false),
            ([EBCDIC[0], EBCDIC[1], EBCDIC[2], ebcdic], true),
        ] {
            if start == id {
                return Ok(Some((kind, is_ebcdic)));
            }
            if id.starts_with(start) {
                return Ok(None);
            }
        }
    }
    let mut found = [0; 4];
    found[..start.len()].copy_from_slice(start);
    let kind = DecodeErrorKind::StrucId { found };
    Err(DecodeError { structure: TITLE, field: "StrucId", offset: 0, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tshm() -> SegmentHeader {
        SegmentHeader {
            conversation_id: 3,
            request_id: 7,
            ..SegmentHeader::new(SegmentKind::Tshm, SegmentType::MQCMIT)
        }
    }

    #[test]
    fn every_form_comes_back_and_every_cut_asks_for_more() {
        for kind in [SegmentKind::Tsh, SegmentKind::Tshm, SegmentKind::Tshc] {
            for (order, ebcdic) in
                [(ByteOrder::Big, false), (ByteOrder::Little, false), (ByteOrder::Big, true)]
            {
                let ids = if kind == SegmentKind::Tshm { (3, 7) } else { (0, 0) };
                let (conversation_id, request_id) = ids;
                let header = SegmentHeader {
                    kind,
                    order,
                    ebcdic,
                    conversation_id,
                    request_id,
                    luwid: [9; 8],
                    ..tshm()
                };
                let mut out = BytesMut::new();
                encode_segment(&header, b"body", &mut out);
                let length = kind.header_length() + 4;
                assert_eq!(out.len(), length);
                for cut in 0..kind.header_length() {
                    assert_eq!(SegmentHeader::peek(&out[..cut], 32_766), Ok(None), "{kind:?} cut at {cut}");
                }
                assert_eq!(SegmentHeader::peek(&out, 32_766), Ok(Some((header, length))));
            }
        }
    }

    #[test]
    fn what_is_no_segment_is_refused_at_its_first_wrong_byte() {
        for bytes in [&b"G"[..], b"TX", b"TSHX", &[0x16, 3, 1], &[0xE3, 0xE2, 0xC8, 0]] {
            let error = SegmentHeader::peek(bytes, 32_766).unwrap_err();
            assert_eq!((error.structure, error.field, error.offset), ("TSH", "StrucId", 0), "{bytes:?}");
        }
    }

    #[test]
    fn a_length_is_refused_before_the_rest_is_there() {
        for length in [0_u32, 27, 32_767, u32::MAX] {
            let mut bytes = b"TSH ".to_vec();
            bytes.extend(length.to_be_bytes());
            let error = SegmentHeader::peek(&bytes, 32_766).unwrap_err();
            assert_eq!((error.field, error.offset), ("SegmentLength", 4));
        }
    }

    #[test]
    fn an_unknown_byte_order_is_refused() {
        let mut out = BytesMut::new();
        encode_segment(&tshm(), &[], &mut out);
        out[16] = 3;
        let error = SegmentHeader::peek(&out, 32_766).unwrap_err();
        assert_eq!((error.field, error.offset), ("ByteOrder", 16));
    }

    #[test]
    fn an_ebcdic_eye_catcher_decides_for_the_names() {
        let header = SegmentHeader { ebcdic: true, ..tshm() };
        assert!(header.coding().ccsid.is_ebcdic());
        assert_eq!(tshm().coding().ccsid, Ccsid::LATIN_1);
    }
}
