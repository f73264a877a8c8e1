//! Cutting a message that is longer than its queue takes into segments (MQMF_SEGMENTATION_ALLOWED; IBM MQ reference,
//! MsgFlags and the reasons 2030, 2031). All of them are put at once, or none.
//!
//! Each piece is as long as fits, a multiple of 16. MQ headers stay whole and together in the first. The first keeps
//! the MsgId; the others get ids of their own, since each is a physical message.

use bytes::Bytes;
use mq_wire::{MessageFlags, Mqmd, MsgId, MsgType};

use crate::headers::{Headers, may_be_cut};

/// What the length of a segment is a multiple of, the last apart.
const UNIT: usize = 16;

/// The segments of a message, each of at most `max` bytes; none if it cannot be cut so. The descriptor has its place
/// in group and logical message already. `new_id` makes an id that was never given.
pub(crate) fn cut(
    md: &Mqmd,
    data: &Bytes,
    max: usize,
    mut new_id: impl FnMut() -> MsgId,
) -> Option<Vec<(Mqmd, Bytes)>> {
    let headers = Headers::of(md, data);
    let step = max / UNIT * UNIT;
    let first = headers.length + max.checked_sub(headers.length)? / UNIT * UNIT;
    if !may_be_cut(headers.format) || step == 0 || first == headers.length {
        return None;
    }
    let was_segment = md.msg_flags.contains(MessageFlags::SEGMENT);
    let was_last = md.msg_flags.contains(MessageFlags::LAST_SEGMENT);
    let mut segments = Vec::with_capacity(data.len() / step + 1);
    let mut at = 0;
    while at < data.len() {
        let length = if at == 0 { first } else { step }.min(data.len() - at);
        let end = at + length == data.len();
        let mut part = md.clone();
        part.msg_flags.insert(MessageFlags::SEGMENT);
        part.msg_flags.set(MessageFlags::LAST_SEGMENT, end && (was_last || !was_segment));
        part.offset = md.offset.checked_add(i32::try_from(at).ok()?)?;
        if md.msg_type != MsgType::REPORT || !was_segment {
            part.original_length = i32::try_from(length).ok()?;
        }
        if at > 0 {
            part.msg_id = new_id();
            (part.format, part.encoding, part.ccsid) = (headers.format, headers.encoding, headers.ccsid);
        }
        segments.push((part, data.slice(at..at + length)));
        at += length;
    }
    Some(segments)
}

#[cfg(test)]
mod tests {
    use mq_wire::Chars;

    use super::*;

    /// Each segment as `offset length last`.
    fn check(md: Mqmd, length: usize, max: usize, expected: Option<&[(i32, usize, bool)]>) -> Vec<Mqmd> {
        let data: Bytes = (0..length).map(|byte| byte as u8).collect();
        let mut ids = 0;
        let new_id = || {
            ids += 1;
            MsgId([ids; 24])
        };
        let segments = cut(&md, &data, max, new_id);
        let shown = segments.as_ref().map(|segments| {
            let one = |(md, data): &(Mqmd, Bytes)| {
                assert_eq!(md.original_length as usize, data.len());
                assert!(md.msg_flags.contains(MessageFlags::SEGMENT));
                (md.offset, data.len(), md.msg_flags.contains(MessageFlags::LAST_SEGMENT))
            };
            segments.iter().map(one).collect::<Vec<_>>()
        });
        assert_eq!(shown.as_deref(), expected);
        let segments = segments.unwrap_or_default();
        if expected.is_some() {
            assert_eq!(segments.iter().flat_map(|(_, data)| data.to_vec()).collect::<Vec<_>>(), data);
        }
        segments.into_iter().map(|(md, _)| md).collect()
    }

    #[test]
    fn pieces_are_multiples_of_16() {
        let md = Mqmd { msg_id: MsgId([9; 24]), ..Mqmd::default() };
        let parts = check(
            md.clone(),
            100,
            40,
            Some(&[(0, 32, false), (32, 32, false), (64, 32, false), (96, 4, true)]),
        );
        assert_eq!(parts.iter().map(|md| md.msg_id.0[0]).collect::<Vec<_>>(), [9, 1, 2, 3]);
        check(md.clone(), 64, 32, Some(&[(0, 32, false), (32, 32, true)]));
        check(md.clone(), 17, 16, Some(&[(0, 16, false), (16, 1, true)]));
        check(md, 17, 15, None);
    }

    #[test]
    fn a_segment_is_cut_further() {
        let msg_flags = MessageFlags::SEGMENT;
        let md = Mqmd { version: 2, msg_flags, offset: 1_000, ..Mqmd::default() };
        check(md.clone(), 40, 32, Some(&[(1_000, 32, false), (1_032, 8, false)]));
        let msg_flags = msg_flags | MessageFlags::LAST_SEGMENT;
        check(Mqmd { msg_flags, ..md }, 40, 32, Some(&[(1_000, 32, false), (1_032, 8, true)]));
    }

    #[test]
    fn what_has_an_inner_form_is_not_cut() {
        for (format, may) in
            [("MQSTR", true), ("", true), ("MINE", true), ("MQADMIN", false), ("MQHRF2", false)]
        {
            let md = Mqmd { format: Chars::cut(format), ..Mqmd::default() };
            let expected: Option<&[_]> = if may { Some(&[(0, 32, false), (32, 8, true)]) } else { None };
            check(md, 40, 32, expected);
        }
    }

    #[test]
    fn headers_stay_in_the_first() {
        let mut header = Vec::from(*b"RFH \x02\0\0\0\x24\0\0\0\x11\x01\0\0\xB8\x04\0\0MQSTR   ");
        header.extend([0; 8]);
        let data = Bytes::from([&header[..], &[7; 60]].concat());
        let md = Mqmd { format: Chars::cut("MQHRF2"), ..Mqmd::default() };
        let segments = cut(&md, &data, 60, || MsgId([1; 24])).unwrap();
        let lengths: Vec<_> = segments.iter().map(|(_, data)| data.len()).collect();
        assert_eq!(lengths, [36 + 16, 44]);
        let formats: Vec<_> = segments.iter().map(|(md, _)| md.format.text()).collect();
        assert_eq!(formats, ["MQHRF2", "MQSTR"]);
        assert_eq!(segments[1].0.ccsid.0, 1208);
        assert!(cut(&md, &data, 50, || MsgId([1; 24])).is_none());
    }
}
