//! Calls of XA (mq-wire.md 4.13): none is served, each is answered.

use bytes::{BufMut, Bytes, BytesMut};
use mq_wire::{Coding, Reader, SegmentType, Writer};

use crate::link::Arrived;

/// XAER_RMERR: the resource manager cannot be opened.
const RESOURCE_MANAGER_ERROR: i32 = -3;
/// XAER_PROTO: nothing was opened, so nothing else was to be called.
const PROTOCOL_ERROR: i32 = -6;

/// Length, ReturnValue, TMFlags, RMId.
const FIELDS: usize = 16;

/// Whether a segment is a call of XA.
pub(crate) fn is_call(segment_type: SegmentType) -> bool {
    (SegmentType::XA_START.0..=SegmentType::XA_COMPLETE.0).contains(&segment_type.0)
}

/// The body of the answer; flags and RMId go back as they came.
pub(crate) fn refused(arrived: &Arrived, out: Coding) -> Bytes {
    let segment_type = arrived.header.segment_type;
    let code = if segment_type == SegmentType::XA_OPEN { RESOURCE_MANAGER_ERROR } else { PROTOCOL_ERROR };
    // A list of no branches.
    let branches = (segment_type == SegmentType::XA_RECOVER).then_some(0_u32);
    let mut given = [0; FIELDS];
    let length = arrived.body.len().min(FIELDS);
    given[..length].copy_from_slice(&arrived.body[..length]);
    let mut body = BytesMut::with_capacity(FIELDS + 4);
    // Counted as if the header had 28 bytes, in every byte order (mq-wire.md 4.1, 4.13).
    body.put_u32((28 + FIELDS + if branches.is_some() { 4 } else { 0 }) as u32);
    let mut writer = Writer::new(&mut body, out);
    writer.field(&code);
    let reader = &mut Reader::new(&given[8..], arrived.header.coding());
    for field in ["TMFlags", "RMId"] {
        writer.field(&reader.field::<u32>("XA", field).unwrap_or_default());
    }
    if let Some(branches) = branches {
        writer.field(&branches);
    }
    body.freeze()
}
