//! Old content that lies where nothing reads it: segments kept to be written again, and what a segment held when it was
//! another one. Whatever was written there is dead, but it tells what was ended.
//!
//! Groups that a start has cut off may be among it, and those say nothing. So a group counts only where its own start
//! claims that it is on disk.

use std::collections::{BTreeMap, BTreeSet};

use super::foreseen::Foreseen;
use super::segment::{DIRECTORY, Footer, Payload, Segment, number_of};
use super::source::Source;
use super::walk::Journal;
use crate::format::BLOCK;
use crate::format::group::{GroupHeader, HEADER};
use crate::layout::Spot;
use crate::{Place, StoreError};

/// Groups of old content in one file, each verified.
struct Old {
    segment: Segment,
    groups: Vec<GroupHeader>,
}

/// Reads it all. Gives the numbers of segments that are there as a whole.
pub(crate) fn read(
    source: &Source,
    journal: &Journal,
    foreseen: &mut Foreseen,
) -> Result<BTreeSet<u32>, StoreError> {
    let mut claims: BTreeMap<(u32, u64), Spot> = BTreeMap::new();
    let mut claim = |header: &GroupHeader| {
        let highest = claims.entry((header.start, header.nonce)).or_default();
        *highest = header.claim.max(*highest);
    };
    for segment in journal.segments.values() {
        segment.headers(0, u64::MAX, |header, _| {
            claim(header);
            true
        })?;
    }
    let mut found = Vec::new();
    for entry in source.list(DIRECTORY)?.iter().filter(|entry| !entry.is_directory) {
        let path = format!("{DIRECTORY}/{}", entry.name);
        let Some(input) = source.open(&path)? else { continue };
        let old = groups(journal, Segment { number: 0, input }, number_of(&entry.name))?;
        old.groups.iter().for_each(&mut claim);
        found.push(old);
    }
    let mut whole = BTreeSet::new();
    for Old { mut segment, groups } in found {
        let claimed = |header: &&GroupHeader| {
            claims.get(&(header.start, header.nonce)).is_some_and(|claim| header.end() <= *claim)
        };
        let mut at: BTreeMap<u32, u32> = BTreeMap::new();
        for header in groups.iter().filter(claimed) {
            let Spot { segment: number, offset } = header.spot;
            segment.number = number;
            // One after the other from the beginning on.
            let end = at.entry(number).or_default();
            if *end == offset {
                *end = header.end().offset;
            }
            let Some((bytes, true)) = segment.payload(header)? else { continue };
            let first = Place { segment: number, offset: 0, record: header.first_record };
            let payload = Payload { first, count: header.records, bytes: &bytes, exact: true };
            payload.records(None).good.iter().for_each(|good| foreseen.dropped(&good.parsed));
        }
        for (number, end) in at {
            segment.number = number;
            if matches!(segment.footer()?, Footer::Good(trailer, _) if trailer.end == end) {
                whole.insert(number);
            }
        }
    }
    Ok(whole)
}

/// The groups in a file that are not of the segment with the number `own`.
fn groups(journal: &Journal, mut segment: Segment, own: Option<u32>) -> Result<Old, StoreError> {
    let decode = |segment: &Segment, offset: u64| -> Result<Option<GroupHeader>, StoreError> {
        let bytes = segment.input.read(offset, HEADER as usize)?;
        Ok(GroupHeader::decode(&bytes).map(|decoded| decoded.0))
    };
    // At its beginning can be nothing that somebody else wrote.
    let first = decode(&segment, 0)?.map(|header| (header.start, header.nonce));
    let mut groups = Vec::new();
    let mut offset = 0;
    while offset < segment.input.length {
        let at = offset;
        offset += BLOCK;
        let Some(header) = decode(&segment, at)? else { continue };
        let known = journal.counts(&header) || first == Some((header.start, header.nonce));
        if Some(header.spot.segment) == own || u64::from(header.spot.offset) != at || !known {
            continue;
        }
        segment.number = header.spot.segment;
        if segment.payload(&header)?.is_some_and(|(_, sound)| sound) {
            groups.push(header);
            offset = u64::from(header.end().offset).max(offset);
        }
    }
    Ok(Old { segment, groups })
}
