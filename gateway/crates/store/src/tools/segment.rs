//! One segment, read with tolerance: its groups, its footer, and what of a damaged group still verifies.
//!
//! A record has no mark of its own, and a body may hold the image of a record. So after a damaged one the next is
//! looked for only where a footer's line says, where the damaged one says it ends, or where the rest of the group adds
//! up to just the number of records that its header says.

use super::source::{Input, Source};
use crate::files::File;
use crate::format::footer::{self, Trailer};
use crate::format::group::{GroupHeader, HEADER};
use crate::format::record::{self, Head, Parsed};
use crate::format::{BLOCK, Cursor};
use crate::{Place, StoreError};

/// Bytes read at once when looking for headers.
const SCAN_BYTES: usize = 1 << 20;

/// The path of a segment.
pub(crate) fn path_of(number: u32) -> String {
    format!("{DIRECTORY}/{number:08}.seg")
}

/// The segment whose file has this name.
pub(crate) fn number_of(name: &str) -> Option<u32> {
    let digits =
        name.strip_suffix(".seg").filter(|n| n.len() >= 8 && n.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok()
}

/// The directory of the segments.
pub(crate) const DIRECTORY: &str = "journal";

/// The lines of a footer: where each record lies, and its head.
pub(crate) type Lines = Vec<(u32, Head)>;

/// A segment's open file.
#[derive(Debug)]
pub(crate) struct Segment {
    /// The number that groups in it must name.
    pub(crate) number: u32,
    pub(crate) input: Input,
}

/// What stands behind the last group.
#[derive(Debug)]
pub(crate) enum Footer {
    /// Nothing that ends like a footer.
    None,
    /// It ends like a footer of this segment, but it does not count.
    Broken,
    /// One that counts.
    Good(Trailer, Lines),
}

impl Footer {
    pub(crate) fn lines(&self) -> Option<&Lines> {
        match self {
            Self::Good(_, lines) => Some(lines),
            Self::None | Self::Broken => None,
        }
    }
}

impl Segment {
    /// Opens the segment with this number; none if it is not there.
    pub(crate) fn open(source: &Source, number: u32) -> Result<Option<Self>, StoreError> {
        Ok(source.open(&path_of(number))?.map(|input| Self { number, input }))
    }

    /// The header of this very place, if there is one.
    pub(crate) fn header(&self, offset: u64) -> Result<Option<(GroupHeader, u32)>, StoreError> {
        let bytes = self.input.read(offset, HEADER as usize)?;
        Ok(GroupHeader::decode(&bytes).filter(|(header, _)| self.is_at(header, offset)))
    }

    fn is_at(&self, header: &GroupHeader, offset: u64) -> bool {
        header.spot.segment == self.number && u64::from(header.spot.offset) == offset
    }

    /// Headers of this segment at boundaries in `from..to`, until the visitor has enough.
    pub(crate) fn headers(
        &self,
        from: u64,
        to: u64,
        mut visit: impl FnMut(&GroupHeader, u32) -> bool,
    ) -> Result<(), StoreError> {
        let (mut offset, to) = (from, to.min(self.input.length));
        while offset < to {
            let bytes = self.input.read(offset, SCAN_BYTES)?;
            for (block, at) in bytes.chunks(BLOCK as usize).zip((offset..to).step_by(BLOCK as usize)) {
                let Some((header, checksum)) = GroupHeader::decode(block) else { continue };
                if self.is_at(&header, at) && !visit(&header, checksum) {
                    return Ok(());
                }
            }
            offset += SCAN_BYTES as u64;
        }
        Ok(())
    }

    /// The payload of a group, and whether it verifies. None if it does not lie within the file.
    pub(crate) fn payload(&self, header: &GroupHeader) -> Result<Option<(Vec<u8>, bool)>, StoreError> {
        let begin = u64::from(header.spot.offset) + HEADER;
        if begin + u64::from(header.payload_length) > self.input.length {
            return Ok(None);
        }
        let payload = self.input.read(begin, header.payload_length as usize)?;
        let sound = crc32fast::hash(&payload) == header.payload_checksum;
        Ok(Some((payload, sound)))
    }

    /// Whether what is between the end of a group's payload and the next boundary is as it was written.
    pub(crate) fn is_padding_zero(&self, header: &GroupHeader) -> Result<bool, StoreError> {
        let begin = u64::from(header.spot.offset) + HEADER + u64::from(header.payload_length);
        let room = u64::from(header.end().offset).saturating_sub(begin).min(BLOCK);
        Ok(self.input.read(begin, room as usize)?.iter().all(|byte| *byte == 0))
    }

    /// The footer, if there is one.
    pub(crate) fn footer(&self) -> Result<Footer, StoreError> {
        footer_of(self.number, self.input.length, &|offset, length| self.input.read(offset, length))
    }
}

/// The footer of a file that is open elsewhere.
pub(crate) fn footer_of_file(
    number: u32,
    file: &dyn File,
    failed: &dyn Fn(std::io::Error) -> StoreError,
) -> Result<Footer, StoreError> {
    let length = file.length().map_err(failed)?;
    footer_of(number, length, &|offset, length| {
        let mut bytes = vec![0; length];
        let read = file.read_at(&mut bytes, offset).map_err(failed)?;
        bytes.truncate(read);
        Ok(bytes)
    })
}

fn footer_of(
    number: u32,
    length: u64,
    read: &dyn Fn(u64, usize) -> Result<Vec<u8>, StoreError>,
) -> Result<Footer, StoreError> {
    let Some(at) = length.checked_sub(footer::TRAILER) else { return Ok(Footer::None) };
    let bytes = read(at, footer::TRAILER as usize)?;
    let Some(trailer) = Trailer::read(&bytes) else {
        // Steps and blocks that were never used end at a boundary; a footer nearly never does.
        let like = !length.is_multiple_of(BLOCK) && bytes.iter().any(|byte| *byte != 0);
        return Ok(if like { Footer::Broken } else { Footer::None });
    };
    if trailer.segment != number {
        return Ok(Footer::None);
    }
    if u64::from(trailer.end) + u64::from(trailer.lines_length) != at {
        return Ok(Footer::Broken);
    }
    let lines = read(u64::from(trailer.end), trailer.lines_length as usize)?;
    Ok(trailer.lines(&lines).map_or(Footer::Broken, |lines| Footer::Good(trailer, lines)))
}

/// What of a group's payload verifies, and what does not.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) good: Vec<Good>,
    pub(crate) lost: Vec<Lost>,
}

/// A record that verifies.
#[derive(Debug)]
pub(crate) struct Good {
    pub(crate) place: Place,
    pub(crate) length: u32,
    pub(crate) parsed: Parsed,
}

/// A record that does not, or several.
#[derive(Debug, Clone)]
pub(crate) struct Lost {
    pub(crate) place: Place,
    /// How many it is, those within it included.
    pub(crate) count: u32,
    /// What the footer says of it.
    pub(crate) head: Option<Head>,
}

impl Lost {
    /// Which records of the segment, for people: neighbours are told as one range.
    pub(crate) fn numbers(lost: &[Self]) -> String {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for Self { place, count, .. } in lost {
            let end = place.record.saturating_add((*count).max(1));
            match ranges.last_mut() {
                Some((_, last)) if *last == place.record => *last = end,
                _ => ranges.push((place.record, end)),
            }
        }
        let show = |(first, end): &(u32, u32)| match end - first {
            1 => first.to_string(),
            _ => format!("{first} to {}", end - 1),
        };
        ranges.iter().map(show).collect::<Vec<_>>().join(", ")
    }
}

/// The bytes of one or several groups: which records must be in them, and where they begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Payload<'a> {
    /// Where the first record lies.
    pub(crate) first: Place,
    /// How many there must be.
    pub(crate) count: u32,
    pub(crate) bytes: &'a [u8],
    /// Whether the bytes end just where the last record does.
    pub(crate) exact: bool,
}

impl Payload<'_> {
    /// Finds the records, by the lines of the footer if there is one.
    pub(crate) fn records(&self, lines: Option<&Lines>) -> Records {
        let range = self.first.record as usize..self.first.record as usize + self.count as usize;
        match lines.and_then(|lines| lines.get(range)) {
            Some(lines) => self.by_lines(lines),
            None => self.by_themselves(),
        }
    }

    fn place(&self, at: usize, record: u32) -> Place {
        Place { offset: self.first.offset.saturating_add(at as u32), record, ..self.first }
    }

    /// The record at `at` of the payload.
    fn record(&self, at: usize, number: u32) -> Option<(usize, Parsed)> {
        let record = record::split(self.bytes.get(at..)?)?;
        Some((record.len(), record::parse(record, self.place(at, number))?))
    }

    fn by_lines(&self, lines: &[(u32, Head)]) -> Records {
        let mut records = Records::default();
        let mut whole_until = 0;
        for ((offset, head), number) in lines.iter().zip(self.first.record..) {
            if number < whole_until {
                continue;
            }
            let at = offset.checked_sub(self.first.offset).map(|at| at as usize);
            let found = at.and_then(|at| self.record(at, number));
            let found = found.filter(|(length, _)| *length == head.length as usize);
            let place = Place { segment: self.first.segment, offset: *offset, record: number };
            match found {
                Some((length, parsed)) => {
                    whole_until = number + record::records_of(&parsed);
                    records.good.push(Good { place, length: length as u32, parsed });
                }
                None => {
                    records.lost.push(Lost { place, count: 1, head: Some(*head) });
                }
            }
        }
        records
    }

    fn by_themselves(&self) -> Records {
        let mut records = Records::default();
        let (mut at, mut number) = (0, self.first.record);
        let end = self.first.record.saturating_add(self.count);
        while number < end {
            if let Some((length, parsed)) = self.record(at, number) {
                let place = self.place(at, number);
                number = number.saturating_add(record::records_of(&parsed));
                records.good.push(Good { place, length: length as u32, parsed });
                at += length;
                continue;
            }
            let place = self.place(at, number);
            let Some((next, count)) = self.behind(at, end - number) else {
                records.lost.push(Lost { place, count: end - number, head: None });
                break;
            };
            records.lost.push(Lost { place, count, head: None });
            (at, number) = (next, number + count);
        }
        records
    }

    /// Where the records go on behind the damaged one at `at`, with which `left` are to come, and how many records
    /// that one is.
    fn behind(&self, at: usize, left: u32) -> Option<(usize, u32)> {
        if !self.exact {
            return None;
        }
        let damaged = self.bytes.get(at..)?;
        let length = damaged.get(..4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes)? as usize;
        let ends = |next: usize| self.chain(next).filter(|count| *count < left).map(|c| (next, left - c));
        let by_itself = at.checked_add(length).filter(|next| length > 0 && *next <= self.bytes.len());
        by_itself.and_then(ends).or_else(|| {
            // One record is damaged, its length too, and it holds no others.
            let candidates = at + record::SHORT_HEAD as usize..self.bytes.len();
            candidates
                .filter(|next| looks_like_a_record(&self.bytes[*next..]))
                .find_map(|next| ends(next).filter(|(_, count)| *count == 1))
        })
    }

    /// The number of records from `at` on, if they all verify up to just the end.
    fn chain(&self, mut at: usize) -> Option<u32> {
        let mut count = 0_u32;
        while at < self.bytes.len() {
            let (length, parsed) = self.record(at, 0)?;
            at += length;
            count = count.checked_add(record::records_of(&parsed))?;
        }
        Some(count)
    }
}

/// Whether it is worth looking at the checksum.
fn looks_like_a_record(bytes: &[u8]) -> bool {
    let mut cursor = Cursor::new(bytes);
    let length = cursor.u32();
    let kind = cursor.bytes(5).map(|b| b[4]);
    length.is_some_and(|length| u64::from(length) >= record::SHORT_HEAD && length as usize <= bytes.len())
        && kind.is_some_and(|kind| (1..=record::KINDS as u8).contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_range() {
        let lost = |record, count| Lost { place: Place { record, ..Place::default() }, count, head: None };
        let check = |lost: &[Lost], expected: &str| assert_eq!(Lost::numbers(lost), expected);
        check(&[], "");
        check(&[lost(3, 1)], "3");
        check(&[lost(3, 1), lost(4, 2), lost(9, 1)], "3 to 5, 9");
        check(&[lost(u32::MAX - 1, 5)], &(u32::MAX - 1).to_string());
    }

    #[test]
    fn names_of_segments() {
        let check = |name: &str, expected| assert_eq!(number_of(name), expected, "{name}");
        check("00000007.seg", Some(7));
        check("123456789.seg", Some(123_456_789));
        check("7.seg", None);
        check("+0000007.seg", None);
        check("99999999999.seg", None);
        check("00000007.seg-1", None);
    }
}
