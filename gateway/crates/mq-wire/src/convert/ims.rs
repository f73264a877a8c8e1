//! Text for IMS: pieces of a length in two bytes that counts itself, two bytes that stay, and text (the IBM MQ reference,
//! MQFMT_IMS_VAR_STRING).

use super::between::{Between, ensure};
use crate::{ByteOrder, Field, Reason};

/// A whole message of pieces.
pub(super) fn message(bytes: &[u8], between: &Between, out: &mut Vec<u8>) -> Result<(), Reason> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let length = rest.get(..2).ok_or(Reason::FORMAT_ERROR)?;
        let length = usize::from(<u16 as Field>::read(length, between.from.coding()));
        ensure(length >= 4, Reason::FORMAT_ERROR)?;
        let (piece, more) = rest.split_at_checked(length).ok_or(Reason::FORMAT_ERROR)?;
        let start = out.len();
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&piece[2..4]);
        between.text(&piece[4..], out)?;
        let length = i16::try_from(out.len() - start).map_err(|_| Reason::CONVERTED_STRING_TOO_BIG)?;
        let mut number = Vec::with_capacity(2);
        // In the order of the target, from that of the source.
        let source = match between.from.encoding.byte_order() {
            ByteOrder::Big => length.to_be_bytes(),
            ByteOrder::Little => length.to_le_bytes(),
        };
        between.numbers(&source, 2, &mut number);
        out[start..start + 2].copy_from_slice(&number);
        rest = more;
    }
    Ok(())
}
