//! The trigger message, MQTM: one structure, and nothing behind it.

use super::between::{Between, ensure};
use super::layout;
use crate::{Mqtm, Reader, Reason};

/// A whole trigger message.
pub(super) fn message(bytes: &[u8], between: &Between, out: &mut Vec<u8>) -> Result<(), Reason> {
    let mut reader = Reader::new(bytes, between.from.coding());
    let valid = Mqtm::decode(&mut reader).is_ok() && reader.rest().is_empty();
    ensure(valid, Reason::TM_ERROR)?;
    layout::convert(bytes, layout::TM, between, out)
}
