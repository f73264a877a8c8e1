//! Finds what of the journal behind the checkpoint is real, by STORE.md 3 rules 1 and 2: start groups first, then
//! the groups between them, then what is claimed.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::reader::SegmentFile;
use crate::StoreError;
use crate::format::BLOCK;
use crate::format::checkpoint::{Checkpoint, SegmentEntry};
use crate::format::group::{GroupHeader, GroupKind, HEADER};
use crate::layout::Spot;
use crate::planted::{Bug, is_planted};

/// Bytes read at once when looking for headers.
const SCAN_BYTES: usize = 1 << 20;

/// The segments as they were found.
#[derive(Debug)]
pub(crate) struct View {
    segments: BTreeMap<u32, (Arc<SegmentFile>, u64)>,
    /// Starts and their random bits. A header with others is a body that looks like one.
    starts: HashSet<(u32, u64)>,
}

/// A group that verifies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) header: GroupHeader,
    pub(crate) checksum: u32,
}

/// The groups behind the checkpoint.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) groups: Vec<Found>,
    /// Up to where the journal is known synced.
    pub(crate) claim: Spot,
}

/// What begins at P or with a start group, and ends where the next start goes on.
struct Piece {
    begin: Spot,
    limit: Option<Spot>,
}

impl View {
    pub(crate) fn new(
        segments: &BTreeMap<u32, Arc<SegmentFile>>,
        checkpoint: &Checkpoint,
    ) -> Result<Self, StoreError> {
        let mut view = Self { segments: BTreeMap::new(), starts: HashSet::new() };
        view.starts.insert((checkpoint.start, checkpoint.nonce));
        for (number, segment) in segments {
            view.segments.insert(*number, (Arc::clone(segment), segment.length()?));
            // A segment belongs to one start; no body can lie at its beginning.
            if let Some((header, _)) = view.raw_header(Spot { segment: *number, offset: 0 })? {
                view.starts.insert((header.start, header.nonce));
            }
        }
        Ok(view)
    }

    /// The newest start of which anything is known.
    pub(crate) fn newest_start(&self) -> u32 {
        self.starts.iter().map(|s| s.0).max().unwrap_or(0)
    }

    /// What is at this place of a segment.
    pub(crate) fn segment(&self, number: u32) -> Option<&Arc<SegmentFile>> {
        self.segments.get(&number).map(|s| &s.0)
    }

    /// The random bits of the start that wrote a listed segment, which must be those that the list says: a file of
    /// another store may have the same number, and groups that verify.
    pub(crate) fn nonce_of(&self, entry: &SegmentEntry) -> Result<u64, StoreError> {
        let at = Spot { segment: entry.number, offset: 0 };
        let found = self.raw_header(at)?.map(|(header, _)| header.nonce);
        match (found, entry.nonce) {
            // Nothing was written into it yet, or that header is damaged: then the footer or the scan decides.
            (None, _) => Ok(entry.nonce.unwrap_or_default()),
            (Some(found), None) => Ok(found),
            (Some(found), Some(listed)) if found == listed => Ok(found),
            (Some(_), Some(_)) => {
                let what = "the segment is not the one that the checkpoint lists: it is of another store";
                Err(self.damaged(at, what.to_owned()))
            }
        }
    }

    fn raw_header(&self, at: Spot) -> Result<Option<(GroupHeader, u32)>, StoreError> {
        let Some((segment, length)) = self.segments.get(&at.segment) else { return Ok(None) };
        if u64::from(at.offset) + HEADER > *length {
            return Ok(None);
        }
        let bytes = segment.read(u64::from(at.offset), HEADER as usize)?;
        Ok(GroupHeader::decode(&bytes).filter(|(header, _)| header.spot == at))
    }

    /// The header at `at`, if there is one.
    fn header(&self, at: Spot) -> Result<Option<(GroupHeader, u32)>, StoreError> {
        let header = self.raw_header(at)?;
        Ok(header.filter(|(header, _)| self.starts.contains(&(header.start, header.nonce))))
    }

    /// The group at `at`, if all of it verifies, with its payload.
    pub(crate) fn group(&self, at: Spot) -> Result<Option<(Found, Vec<u8>)>, StoreError> {
        let Some((header, checksum)) = self.header(at)? else { return Ok(None) };
        let Some((segment, length)) = self.segments.get(&at.segment) else { return Ok(None) };
        let begin = u64::from(at.offset) + HEADER;
        if begin + u64::from(header.payload_length) > *length {
            return Ok(None);
        }
        // A record has 24 bytes at least, so these numbers cannot be larger than the file: nothing grows by them.
        if u64::from(header.records) * 24 > u64::from(header.payload_length)
            || u64::from(header.first_record) * 24 > u64::from(at.offset)
        {
            return Ok(None);
        }
        let payload = segment.read(begin, header.payload_length as usize)?;
        let whole = payload.len() == header.payload_length as usize
            && crc32fast::hash(&payload) == header.payload_checksum;
        Ok(whole.then_some((Found { header, checksum }, payload)))
    }

    fn valid(&self, at: Spot) -> Result<Option<Found>, StoreError> {
        Ok(self.group(at)?.map(|g| g.0))
    }

    fn damaged(&self, at: Spot, what: String) -> StoreError {
        match self.segments.get(&at.segment) {
            Some((segment, _)) => segment.damaged(at.offset, what),
            None => StoreError::Damaged {
                path: super::reader::path_of(at.segment),
                offset: u64::from(at.offset),
                what,
            },
        }
    }

    /// Pieces, newest first found: each start group says where the piece before it ends.
    fn pieces(&self, p: Spot) -> Result<Vec<Piece>, StoreError> {
        let mut pieces = Vec::new();
        let mut limit: Option<Spot> = None;
        loop {
            let newest = limit.map_or(u32::MAX, |l| l.segment);
            let mut found = None;
            for number in self.segments.range(..=newest).rev().map(|(n, _)| *n).take_while(|n| *n > p.segment)
            {
                let group = self.valid(Spot { segment: number, offset: 0 })?;
                if let Some(Found { header: GroupHeader { kind: GroupKind::Start { from }, .. }, .. }) = group
                {
                    found = Some((number, from));
                    break;
                }
            }
            let Some((number, from)) = found else { break };
            let begin = Spot { segment: number, offset: 0 };
            if from < p || from.segment >= number {
                let what = format!("its start group goes on from {from}, and the checkpoint's place is {p}");
                return Err(self.damaged(begin, what));
            }
            pieces.push(Piece { begin, limit });
            limit = Some(from);
        }
        pieces.push(Piece { begin: p, limit });
        pieces.reverse();
        Ok(pieces)
    }

    /// The segment behind `at` into which the journal rolled, if the group before was `last`.
    fn rolled(&self, at: Spot, limit: Option<Spot>, last: u32) -> Result<Option<Spot>, StoreError> {
        let newest = limit.map_or(u32::MAX, |l| l.segment);
        if at.segment >= newest {
            return Ok(None);
        }
        for (number, _) in self.segments.range(at.segment + 1..=newest) {
            let next = Spot { segment: *number, offset: 0 };
            let Some((header, _)) = self.header(next)? else { continue };
            if header.previous == last && !header.is_start() {
                let real = limit.is_some_and(|l| l > next) || self.valid(next)?.is_some();
                return Ok(real.then_some(next));
            }
        }
        Ok(None)
    }

    /// The groups behind the checkpoint, or what is damaged. In a process that has served, those up to where its last
    /// sync that returned has come: all of them must be there, and nothing behind counts.
    pub(crate) fn chain(&self, checkpoint: &Checkpoint, cut: Option<Spot>) -> Result<Chain, StoreError> {
        let p = checkpoint.position;
        let (mut groups, mut claim, mut last) = (Vec::new(), p, checkpoint.previous);
        let mut end = p;
        for Piece { begin, limit } in self.pieces(p)? {
            end = begin;
            let mut fresh = begin != p;
            while limit != Some(end) {
                let found = self.valid(end)?.filter(|g| {
                    (fresh || !g.header.is_start())
                        && g.header.previous == last
                        && limit.is_none_or(|l| g.header.end() <= l || l.segment > end.segment)
                });
                if cut.is_some_and(|cut| end >= cut) {
                    break;
                }
                if fresh && found.is_none() {
                    let what = "its start group does not go on from the group before".to_owned();
                    return Err(self.damaged(end, what));
                }
                if let Some(found) = found {
                    groups.push(found);
                    last = found.checksum;
                    fresh = false;
                    claim = claim.max(found.header.claim);
                    end = found.header.end();
                } else if let Some(next) = self.rolled(end, limit, last)? {
                    end = next;
                } else if let Some(limit) = limit {
                    let what = format!("the group does not verify, and the journal goes on from {limit}");
                    return Err(self.damaged(end, what));
                } else {
                    break;
                }
            }
        }
        if let Some(cut) = cut {
            if end != cut {
                let what = format!("the group does not verify, and the journal was synced up to {cut}");
                return Err(self.damaged(end, what));
            }
            return Ok(Chain { groups, claim: cut });
        }
        self.each_header(end, |header| {
            if header.claim > end && !is_planted(Bug::NothingClaims) {
                let what =
                    format!("the group does not verify, and {} claims that it was synced", header.spot);
                return Err(self.damaged(end, what));
            }
            claim = claim.max(header.claim);
            Ok(())
        })?;
        Ok(Chain { groups, claim })
    }

    /// Every header from `from` on, at boundaries only.
    fn each_header(
        &self,
        from: Spot,
        mut visit: impl FnMut(&GroupHeader) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for (number, (segment, length)) in self.segments.range(from.segment..) {
            let mut offset = if *number == from.segment { u64::from(from.offset) } else { 0 };
            while offset < *length {
                let bytes = segment.read(offset, SCAN_BYTES)?;
                for (block, at) in bytes.chunks(BLOCK as usize).zip((offset..).step_by(BLOCK as usize)) {
                    let Some((header, _)) = GroupHeader::decode(block) else { continue };
                    let spot = Spot { segment: *number, offset: at as u32 };
                    if header.spot == spot && self.starts.contains(&(header.start, header.nonce)) {
                        visit(&header)?;
                    }
                }
                offset += SCAN_BYTES as u64;
            }
        }
        Ok(())
    }

    /// Visits the groups of a segment without a footer, from its beginning up to where a checkpoint says that it
    /// ends.
    pub(crate) fn scan(
        &self,
        number: u32,
        end: u32,
        mut visit: impl FnMut(&GroupHeader, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut at = Spot { segment: number, offset: 0 };
        while at.offset < end {
            let Some((found, payload)) = self.group(at)? else {
                return Err(self.damaged(at, "a group before the checkpoint does not verify".to_owned()));
            };
            visit(&found.header, &payload)?;
            at = found.header.end();
        }
        Ok(())
    }
}
