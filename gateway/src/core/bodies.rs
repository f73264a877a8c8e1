//! Bodies outside of the core: reading of stored ones under a global budget of bytes in flight, and files of long ones.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use qmgr::Part;
use store::{BODY_FILE_BYTES, BodyFile, BodyFiles, BodyRef, Id, Place, Record, Room, StoreError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::handle::CoreHandle;
use crate::system;

/// The budget counts in units of this many bytes.
const UNIT_BYTES: usize = 1024;

/// The longest body that is a short one; less where the budget is small.
const SHORT_BYTES_MAX: usize = 64 * 1024;
/// The part of the budget that short bodies have for themselves, and the part of that which one of them has at most.
const SHORT_PART: u32 = 8;

/// The budget; clones share one.
///
/// Short bodies have an eighth of it for themselves: peers that ask for long messages and take them slowly, or not at all,
/// hold up each other until they are cut, and nobody else.
///
/// Who waits for a share holds none: two that each hold one and wait for more would wait for ever. What needs several
/// bodies at once asks for their sum, or takes further shares with [`Bodies::try_share`] only.
#[derive(Debug, Clone)]
pub(crate) struct Bodies {
    long: Pot,
    short: Pot,
    short_bytes: usize,
}

#[derive(Debug, Clone)]
struct Pot {
    budget: Arc<Semaphore>,
    units: u32,
}

/// A share of the budget, given back when it is dropped: after the bytes went to their peer.
#[derive(Debug)]
pub(crate) struct Share {
    _units: OwnedSemaphorePermit,
}

impl Bodies {
    /// A budget for all readers together.
    pub(crate) fn new(in_flight_bytes_max: u64) -> Self {
        let most = (Semaphore::MAX_PERMITS as u64).min(u64::from(u32::MAX));
        let units = (in_flight_bytes_max / UNIT_BYTES as u64).clamp(1, most) as u32;
        let short = units / SHORT_PART;
        let pot = |units: u32| Pot { budget: Arc::new(Semaphore::new(units as usize)), units };
        let short_bytes = SHORT_BYTES_MAX.min((short / SHORT_PART) as usize * UNIT_BYTES);
        Self { long: pot(units - short), short: pot(short), short_bytes }
    }

    fn pot(&self, bytes: usize) -> &Pot {
        if bytes <= self.short_bytes { &self.short } else { &self.long }
    }

    /// Waits until so many bytes have room. More than there ever is takes all of it.
    pub(crate) async fn share(&self, bytes: usize) -> Option<Share> {
        // The semaphore is never closed: there always is one in the end.
        let pot = self.pot(bytes);
        let units = Arc::clone(&pot.budget).acquire_many_owned(pot.units_of(bytes)).await.ok()?;
        Some(Share { _units: units })
    }

    /// A further share, if there is room now.
    pub(crate) fn try_share(&self, bytes: usize) -> Option<Share> {
        let pot = self.pot(bytes);
        let units = Arc::clone(&pot.budget).try_acquire_many_owned(pot.units_of(bytes)).ok()?;
        Some(Share { _units: units })
    }
}

impl Pot {
    fn units_of(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX).clamp(1, self.units)
    }
}

/// Reads a record, on the blocking pool where it is not in memory. The caller holds a share for it.
pub(crate) async fn read(body: BodyRef) -> Result<Record, StoreError> {
    if body.is_cached() {
        return body.read();
    }
    system::blocking(move || body.read()).await.unwrap_or_else(|panicked| {
        Err(StoreError::Io { action: "read", path: "a record".to_owned(), error: panicked.to_string() })
    })
}

/// The records of one message: descriptor and data are in the first, more data in the others.
#[derive(Debug)]
pub(crate) struct Records {
    pub(crate) first: BodyRef,
    /// Each with the bytes of its data.
    pub(crate) rest: Vec<(BodyRef, u32)>,
}

impl Records {
    /// Those of a message, each as it is found.
    pub(crate) fn of(first: (Id, Place), parts: &[Part], find: impl Fn(Id, Place) -> BodyRef) -> Self {
        let rest = parts.iter().map(|part| (find(part.id, part.place), part.body_length)).collect();
        Self { first: find(first.0, first.1), rest }
    }

    /// Bytes of data that [`Records::read_up_to`] reads, of so many in all.
    pub(crate) fn bytes_up_to(&self, needed: usize, all: usize) -> usize {
        let rest: usize = self.rest.iter().map(|(_, bytes)| *bytes as usize).sum();
        let first = all.saturating_sub(rest);
        first + self.lengths_up_to(needed, first).sum::<usize>()
    }

    /// Reads all of them, the data one behind the other.
    pub(crate) async fn read(self) -> Result<Record, StoreError> {
        self.read_up_to(usize::MAX).await
    }

    /// Reads as many of them as hold so many bytes of data, or all if they hold less.
    pub(crate) async fn read_up_to(self, needed: usize) -> Result<Record, StoreError> {
        let record = read(self.first.clone()).await?;
        let first = record.body.len();
        let further = self.lengths_up_to(needed, first);
        let (count, length) = further.fold((0, first), |(count, sum), bytes| (count + 1, sum + bytes));
        if count == 0 {
            return Ok(record);
        }
        let mut body = BytesMut::with_capacity(length);
        body.extend_from_slice(&record.body);
        for (further, _) in self.rest.into_iter().take(count) {
            body.extend_from_slice(&read(further).await?.body);
        }
        Ok(Record { body: body.freeze(), file: None, ..record })
    }

    /// The lengths of those behind the first that are needed.
    fn lengths_up_to(&self, needed: usize, first: usize) -> impl Iterator<Item = usize> + use<'_> {
        let mut before = first;
        self.rest.iter().map(|(_, bytes)| *bytes as usize).take_while(move |bytes| {
            let is_needed = before < needed;
            before += bytes;
            is_needed
        })
    }
}

/// Writes a long body into a file, before the command that puts it (STORE.md 5). None where it is short; or where
/// there is no room, since the core refuses it then.
pub(crate) async fn write_long(core: &CoreHandle, body: &Bytes) -> Result<Option<BodyFile>, StoreError> {
    if body.len() <= BODY_FILE_BYTES || core.room() == Room::Short {
        return Ok(None);
    }
    let (files, body): (BodyFiles, Bytes) = (core.body_files().clone(), body.clone());
    let written = system::blocking(move || files.write(&body)).await;
    written
        .unwrap_or_else(|panicked| {
            Err(StoreError::Io { action: "write", path: "a body".to_owned(), error: panicked.to_string() })
        })
        .map(Some)
}

/// Whether `body` ends with what the file holds, which is the end of `original`: then a record of it can name the file
/// again.
pub(crate) fn has_same_end(body: &[u8], original: &[u8], file: &BodyFile) -> bool {
    let Ok(length) = usize::try_from(file.length()) else { return false };
    let (Some(at), Some(original_at)) = (body.len().checked_sub(length), original.len().checked_sub(length))
    else {
        return false;
    };
    let (body, original) = (&body[at..], &original[original_at..]);
    // Where no exit has changed anything it is the same memory: then there is nothing to compare.
    std::ptr::eq(body, original) || body == original
}

#[cfg(test)]
mod tests {
    use store::Store;
    use store::mem::MemStore;

    use super::*;

    #[test]
    fn a_body_with_the_same_end_can_name_the_same_file() {
        let (store, _) = MemStore::new(None);
        let file = store.body_files().write(b"payload").unwrap();
        let stored = Bytes::from_static(b"header payload");
        let check =
            |body: &Bytes, expected| assert_eq!(has_same_end(body, &stored, &file), expected, "{body:?}");
        check(&stored, true);
        check(&stored.slice(7..), true);
        check(&Bytes::from_static(b"other header payload"), true);
        check(&stored.slice(8..), false);
        check(&stored.slice(..13), false);
        check(&Bytes::from_static(b"header Payload"), false);
    }

    #[tokio::test]
    async fn who_wants_more_than_there_is_gets_all_of_it_and_no_more() {
        let bodies = Bodies::new(80 * 1024);
        let all = bodies.share(1 << 30).await.unwrap();
        assert!(bodies.try_share(1025).is_none());
        drop(all);
        let half = bodies.share(35 * 1024).await.unwrap();
        assert!(bodies.try_share(36 * 1024).is_none());
        assert!(bodies.try_share(35 * 1024).is_some());
        drop(half);
    }

    #[tokio::test]
    async fn long_bodies_do_not_hold_up_short_ones() {
        let bodies = Bodies::new(256 << 20);
        let long: Vec<Share> = std::iter::from_fn(|| bodies.try_share(4 << 20)).collect();
        assert_eq!(long.len(), 56);
        let short: Vec<Share> = std::iter::from_fn(|| bodies.try_share(64 << 10)).collect();
        assert_eq!(short.len(), 512, "an eighth of the budget");
        assert!(bodies.try_share(65 << 10).is_none());
    }
}
