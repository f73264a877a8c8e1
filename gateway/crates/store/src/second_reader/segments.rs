//! Segments, groups and footers: FORMAT.md 2 and 4. What lies in the groups is the business of `records`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::raw::{Cursor, crc32};
use super::records::{self, Record};

pub(super) const HEADER_BYTES: u32 = 80;
const BLOCK: u32 = 4096;
const TRAILER: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) segment: u32,
    pub(super) offset: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    start: u32,
    pub(super) spot: Spot,
    kind: u32,
    bits: u64,
    /// The checksum of the group before.
    pub(super) before: u32,
    payload_checksum: u32,
    length: u32,
    pub(super) first_record: u32,
    pub(super) records: u32,
    pub(super) claim: Spot,
    goes_on_from: Spot,
    /// Its own, by which the next group names it.
    pub(super) checksum: u32,
}

impl Header {
    pub(super) fn is_mark(&self) -> bool {
        self.kind == 1
    }

    pub(super) fn is_start_group(&self) -> bool {
        self.kind == 2
    }

    pub(super) fn is_of_known_kind(&self) -> bool {
        self.kind <= 2
    }

    /// At this place, with a checksum that is right.
    fn read(file: &[u8], spot: Spot) -> Option<Self> {
        let bytes = file.get(usize::try_from(spot.offset).ok()?..)?;
        let covered = bytes.get(..76)?;
        let mut cursor = Cursor::over(bytes);
        if cursor.take(8)? != b"MQEGRP01" {
            return None;
        }
        let a_spot = |cursor: &mut Cursor<'_>| Some(Spot { segment: cursor.u32()?, offset: cursor.u32()? });
        let header = Self {
            start: cursor.u32()?,
            spot: a_spot(&mut cursor)?,
            kind: cursor.u32()?,
            bits: cursor.u64()?,
            before: cursor.u32()?,
            payload_checksum: cursor.u32()?,
            length: cursor.u32()?,
            first_record: cursor.u32()?,
            records: cursor.u32()?,
            claim: a_spot(&mut cursor)?,
            goes_on_from: a_spot(&mut cursor)?,
            checksum: {
                cursor.take(8)?;
                cursor.u32()?
            },
        };
        (header.spot == spot && header.checksum == crc32(covered)).then_some(header)
    }
}

/// A group that verifies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group<'a> {
    pub(super) header: Header,
    pub(super) payload: &'a [u8],
    /// Where the next one begins.
    pub(super) next: Spot,
}

#[derive(Debug)]
pub(super) struct Segments {
    files: BTreeMap<u32, Vec<u8>>,
    /// Number and random bits of each start that is known.
    starts: BTreeSet<(u32, u64)>,
}

impl Segments {
    pub(super) fn new(files: BTreeMap<u32, Vec<u8>>, start: (u32, u64)) -> Self {
        let mut starts = BTreeSet::from([start]);
        // Chosen: an old header, which names another segment, makes no start known.
        let first =
            |(segment, file): (&u32, &Vec<u8>)| Header::read(file, Spot { segment: *segment, offset: 0 });
        starts.extend(files.iter().filter_map(first).map(|header| (header.start, header.bits)));
        Self { files, starts }
    }

    pub(super) fn file(&self, number: u32) -> Option<&[u8]> {
        self.files.get(&number).map(Vec::as_slice)
    }

    /// The random bits in the header at the beginning of a segment.
    pub(super) fn first_bits(&self, number: u32) -> Option<u64> {
        Header::read(self.file(number)?, Spot { segment: number, offset: 0 }).map(|header| header.bits)
    }

    fn counts(&self, spot: Spot) -> Option<Header> {
        let header = Header::read(self.file(spot.segment)?, spot)?;
        self.starts.contains(&(header.start, header.bits)).then_some(header)
    }

    pub(super) fn verifies(&self, spot: Spot) -> Option<Group<'_>> {
        let header = self.counts(spot)?;
        let mut cursor = Cursor::over(self.file(spot.segment)?);
        cursor.take_u32(spot.offset)?;
        cursor.take_u32(HEADER_BYTES)?;
        let payload = cursor.take_u32(header.length).filter(|it| crc32(it) == header.payload_checksum)?;
        // A segment whose offsets do not fit has no such group.
        let end = spot.offset.checked_add(HEADER_BYTES)?.checked_add(header.length)?;
        let next = Spot { segment: spot.segment, offset: end.checked_next_multiple_of(BLOCK)? };
        Some(Group { header, payload, next })
    }

    /// The highest segment above `above`, and not above `highest`, that begins with a start group that verifies:
    /// where that lies, and where it goes on from.
    pub(super) fn highest_start_group(&self, above: u32, highest: u32) -> Option<(Spot, Spot)> {
        self.between(above, highest).rev().find_map(|spot| {
            let header = self.verifies(spot)?.header;
            header.is_start_group().then_some((spot, header.goes_on_from))
        })
    }

    /// Where the journal goes on in a segment above `above`, and not above `highest`, behind the group with this
    /// checksum. The group there may still not verify.
    pub(super) fn rolled_over(&self, above: u32, highest: u32, before: u32) -> Option<Spot> {
        let follows = |header: Header| !header.is_start_group() && header.before == before;
        self.between(above, highest).find(|spot| self.counts(*spot).is_some_and(follows))
    }

    /// The beginnings of those segments.
    fn between(&self, above: u32, highest: u32) -> impl DoubleEndedIterator<Item = Spot> {
        // An empty range must not be given the wrong way round.
        let range = (Bound::Excluded(above), Bound::Included(highest.max(above)));
        self.files.range(range).map(|(segment, _)| Spot { segment: *segment, offset: 0 })
    }

    /// Every header that counts at a block boundary from this spot on.
    pub(super) fn counting_from(&self, end: Spot) -> impl Iterator<Item = Header> {
        self.files.range(end.segment..).flat_map(move |(segment, file)| {
            let segment = *segment;
            let first = if segment == end.segment { end.offset.div_ceil(BLOCK) } else { 0 };
            let behind = u32::try_from(file.len()).unwrap_or(u32::MAX).div_ceil(BLOCK);
            (first..behind)
                .filter_map(move |block| self.counts(Spot { segment, offset: block.checked_mul(BLOCK)? }))
        })
    }

    /// The footer of this segment, if it counts.
    pub(super) fn footer(&self, number: u32) -> Option<Footer<'_>> {
        let file = self.file(number)?;
        let (before, trailer) = file.split_at_checked(file.len().checked_sub(TRAILER)?)?;
        let mut cursor = Cursor::over(trailer);
        if cursor.take(8)? != b"MQEFOOT1" || cursor.u32()? != number {
            return None;
        }
        let (_start, begin, count) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let (length, checksum, _zero, own) = (cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let lines = before.get(usize::try_from(begin).ok()?..)?;
        let reaches = u32::try_from(lines.len()) == Ok(length);
        if !reaches || crc32(lines) != checksum || crc32(trailer.get(..36)?) != own {
            return None;
        }
        // Chosen: a footer whose lines are not as many as it says does not count.
        let mut cursor = Cursor::over(lines);
        let mut lines = Vec::new();
        while !cursor.rest.is_empty() {
            let (offset, length) = (cursor.u32()?, cursor.u32()?);
            let is_message = cursor.rest.first() == Some(&records::MESSAGE);
            let bytes = cursor.take(if is_message { 64 } else { 16 })?;
            lines.push(Line { offset, length, bytes });
        }
        (u32::try_from(lines.len()) == Ok(count)).then_some(Footer { begin, lines })
    }
}

/// A footer that counts.
#[derive(Debug)]
pub(super) struct Footer<'a> {
    begin: u32,
    pub(super) lines: Vec<Line<'a>>,
}

#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) offset: u32,
    length: u32,
    bytes: &'a [u8],
}

impl Footer<'_> {
    /// The record of a line, which must be what the line says, and lie before the lines.
    pub(super) fn record<'b>(&self, file: &'b [u8], line: &Line<'_>) -> Result<Record<'b>, String> {
        let end = line.offset.checked_add(line.length).filter(|end| *end <= self.begin);
        let place = end.and_then(|end| Some(usize::try_from(line.offset).ok()?..usize::try_from(end).ok()?));
        let bytes = place.and_then(|place| file.get(place)).ok_or("a record reaches into the footer")?;
        let record = records::one(bytes, line.offset).map_err(|fault| fault.what)?;
        if bytes.get(8..).is_none_or(|rest| !rest.starts_with(line.bytes)) {
            return Err("a record is not what its line in the footer says".to_owned());
        }
        Ok(record)
    }
}
