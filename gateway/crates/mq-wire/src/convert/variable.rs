//! The headers of which more follows the fixed part: MQRFH, MQRFH2, MQRMH, MQDH. (That of an embedded command is in
//! `pcf`.) `bytes` is the whole header as StrucLength says, and its fixed part is converted already where a function
//! here is called; `out` from `start` on is the converted header.

use super::between::{Between, ensure};
use crate::{Ccsid, Reason};

const STRUC_LENGTH: usize = 8;

/// MQRFH: the string is text in the form of the header.
pub(super) fn rfh(bytes: &[u8], between: &Between, out: &mut Vec<u8>, start: usize) -> Result<(), Reason> {
    between.text(&bytes[32..], out).map_err(|_| Reason::RFH_STRING_ERROR)?;
    if out.len() - start != bytes.len() {
        between.pad(start + (out.len() - start).next_multiple_of(4), out);
    }
    finish(between, out, start)
}

/// MQRFH2: the folders stay in their own character set; UTF-16 has the byte order of the header's integers.
pub(super) fn rfh2(bytes: &[u8], between: &Between, out: &mut Vec<u8>) -> Result<(), Reason> {
    let is_utf_16 = between.integer(bytes, 32).is_some_and(|ccsid| Ccsid(ccsid).is_utf_16());
    let mut at = 36;
    while at < bytes.len() {
        let length = between.count(bytes, at).ok_or(Reason::RFH_ERROR)?;
        let folder = at.checked_add(4 + length).and_then(|end| bytes.get(at + 4..end));
        let folder = folder.ok_or(Reason::RFH_ERROR)?;
        ensure(length % 4 == 0, Reason::RFH_ERROR)?;
        between.numbers(&bytes[at..at + 4], 4, out);
        if is_utf_16 {
            between.numbers(folder, 2, out);
        } else {
            out.extend_from_slice(folder);
        }
        at += 4 + length;
    }
    Ok(())
}

/// MQRMH: four strings wherever their lengths and offsets say. Where one of them changes its length, all four are laid
/// out anew behind the fixed part.
pub(super) fn rmh(bytes: &[u8], between: &Between, out: &mut Vec<u8>, start: usize) -> Result<(), Reason> {
    const FIXED: usize = 108;
    /// SrcEnvLength; its offset, and three more pairs, follow.
    const PAIRS: usize = 64;
    let mut strings = Vec::with_capacity(4);
    for pair in 0..4 {
        let at = PAIRS + 8 * pair;
        let length = between.count(bytes, at).ok_or(Reason::RMH_ERROR)?;
        let offset = between.count(bytes, at + 4).ok_or(Reason::RMH_ERROR)?;
        if length == 0 {
            continue;
        }
        let end = offset.checked_add(length).filter(|_| offset >= FIXED).ok_or(Reason::RMH_ERROR)?;
        let mut text = Vec::new();
        between.text(bytes.get(offset..end).ok_or(Reason::RMH_ERROR)?, &mut text)?;
        strings.push((at, offset, length, text));
    }
    if strings.iter().all(|(_, _, length, text)| text.len() == *length) {
        out.extend_from_slice(&bytes[FIXED..]);
        for (_, offset, length, text) in strings {
            out[start + offset..start + offset + length].copy_from_slice(&text);
        }
        return Ok(());
    }
    for (at, _, _, text) in strings {
        let offset = out.len() - start;
        between.put_at(size(text.len()), out, start + at);
        between.put_at(size(offset), out, start + at + 4);
        out.extend_from_slice(&text);
    }
    between.pad(start + (out.len() - start).next_multiple_of(4), out);
    finish(between, out, start)
}

/// MQDH: arrays of object records (two names each) and of put message records (fields as PutMsgRecFields says).
pub(super) fn dh(bytes: &[u8], between: &Between, out: &mut Vec<u8>, start: usize) -> Result<(), Reason> {
    const FIXED: usize = 48;
    const FEEDBACK: i32 = 0x8;
    out.extend_from_slice(&bytes[FIXED..]);
    let value = |offset| between.count(bytes, offset).ok_or(Reason::DH_ERROR);
    let (fields, count) = (between.integer(bytes, 32).ok_or(Reason::DH_ERROR)?, value(36)?);
    let range = |offset: usize, record: usize| {
        let end = count.checked_mul(record).and_then(|length| offset.checked_add(length));
        end.filter(|end| offset >= FIXED && *end <= bytes.len()).ok_or(Reason::DH_ERROR)
    };
    let objects = value(40)?;
    if objects != 0 {
        let end = range(objects, 96)?;
        let mut names = Vec::with_capacity(end - objects);
        for name in bytes[objects..end].chunks(48) {
            between.fixed_text(name, &mut names)?;
        }
        out[start + objects..start + end].copy_from_slice(&names);
    }
    // MQPMRF_*: MsgId, CorrelId, GroupId, Feedback, AccountingToken, in this order.
    let (mut record, mut feedback) = (0, None);
    for (bit, length) in [(1, 24), (2, 24), (4, 24), (FEEDBACK, 4), (0x10, 32)] {
        if fields & bit != 0 {
            feedback = if bit == FEEDBACK { Some(record) } else { feedback };
            record += length;
        }
    }
    let records = value(44)?;
    if records != 0 && record != 0 {
        let end = range(records, record)?;
        for at in (records..end).step_by(record) {
            let Some(place) = feedback.map(|feedback| at + feedback) else { break };
            let value = between.integer(bytes, place).ok_or(Reason::DH_ERROR)?;
            between.put_at(value, out, start + place);
        }
    }
    Ok(())
}

/// Writes the length that the structure has now.
pub(super) fn finish(between: &Between, out: &mut [u8], start: usize) -> Result<(), Reason> {
    let length = out.len() - start;
    between.put_at(size(length), out, start + STRUC_LENGTH);
    Ok(())
}

/// A length as an integer. Nothing that came in a message is longer than fits, and nothing grows by more than four times.
pub(super) fn size(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}
