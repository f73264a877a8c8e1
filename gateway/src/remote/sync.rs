//! The sync message: one for each store, source and direction on the queue manager's sync queue, replaced in each unit of
//! work. After a cut the number in it says whether the last unit of work was committed (ONCE.md 3 and 4).
//!
//! It is found by its CorrelId, and says in clear whose it is. The new one is put before the old one is taken away: the
//! depth of a queue counts puts that are not committed and leaves out such gets (IBM MQ reference, CurrentQDepth), so a unit
//! of work that is not finished shows as a depth above what can be browsed.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use mq_wire::{
    CorrelId, FormatName, GetOptions, MatchOptions, Mqgmo, Mqmd, Mqpmo, MsgId, OpenOptions, Persistence,
    PutOptions, QName, Selector,
};
use mqe::digest;
use store::Id;

use super::link::{Failed, Link};

/// What the unit of work moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncDirection {
    /// Messages from its transmission queue.
    Source,
    /// Messages of the outbox.
    Outbox,
}

/// Whose sync message it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyncKey {
    /// Identity of the store.
    pub(crate) store: [u8; 16],
    /// Name of the source.
    pub(crate) source: String,
    pub(crate) direction: SyncDirection,
}

const VERSION: u8 = 1;

impl SyncKey {
    fn tag(&self) -> [u8; 4] {
        match self.direction {
            SyncDirection::Source => *b"MQES",
            SyncDirection::Outbox => *b"MQEO",
        }
    }

    /// What it is found by: names its kind, and a digest of the rest.
    pub(crate) fn correl_id(&self) -> CorrelId {
        let mut id = [0; 24];
        id[..4].copy_from_slice(&self.tag());
        id[4..12].copy_from_slice(&digest(&self.store).to_be_bytes());
        let both = [&self.store[..], self.source.as_bytes()].concat();
        id[12..20].copy_from_slice(&digest(&both).to_be_bytes());
        id[20..].copy_from_slice(&self.store[..4]);
        CorrelId(id)
    }

    fn body(&self, number: u64, entries: &[Id]) -> Bytes {
        let mut out = BytesMut::with_capacity(40 + self.source.len() + 8 * entries.len());
        out.put_slice(&self.tag());
        out.put_u8(VERSION);
        out.put_slice(&self.store);
        out.put_u64(number);
        out.put_u16(self.source.len() as u16);
        out.put_slice(self.source.as_bytes());
        out.put_u32(entries.len() as u32);
        for entry in entries {
            out.put_u64(entry.as_u64());
        }
        out.freeze()
    }

    /// Number and entries, if it is this one's.
    fn read(&self, body: &[u8]) -> Option<(u64, Vec<Id>)> {
        let mut rest = body.strip_prefix(&self.tag())?.strip_prefix(&[VERSION])?.strip_prefix(&self.store)?;
        let number = rest.try_get_u64().ok()?;
        let length = usize::from(rest.try_get_u16().ok()?);
        let mut rest = rest.split_at_checked(length).filter(|(name, _)| *name == self.source.as_bytes())?.1;
        let count = rest.try_get_u32().ok()? as usize;
        if rest.len() != 8 * count {
            return None;
        }
        Some((number, (0..count).map(|_| Id::from_u64(rest.get_u64())).collect()))
    }
}

/// What was found on the sync queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// The sync message: its number, and the entries that it names.
    Message { number: u64, entries: Vec<Id> },
    /// None, and something on the queue is uncommitted: it may be an old unit of work that has the message.
    Unsettled,
    /// None: it never was, or it was cleared.
    None,
    /// One with its CorrelId that is not its own.
    Foreign,
}

/// The sync queue, opened, and the message that is on it.
#[derive(Debug)]
pub(crate) struct SyncQueue {
    handle: i32,
    key: SyncKey,
    /// The committed message.
    current: Option<MsgId>,
    /// The one that the open unit of work has put.
    next: Option<MsgId>,
}

impl SyncQueue {
    /// Opens it: other stores and the other direction have it too.
    pub(crate) async fn open(link: &mut Link, queue: QName, key: SyncKey) -> Result<Self, Failed> {
        let options =
            OpenOptions::INPUT_SHARED | OpenOptions::OUTPUT | OpenOptions::BROWSE | OpenOptions::INQUIRE;
        let handle = link.open(queue, options).await?;
        Ok(Self { handle, key, current: None, next: None })
    }

    fn matching(options: GetOptions) -> Mqgmo {
        Mqgmo {
            version: 2,
            options: options | GetOptions::FAIL_IF_QUIESCING,
            match_options: MatchOptions::CORREL_ID,
            ..Mqgmo::default()
        }
    }

    /// Looks for the message.
    pub(crate) async fn find(&mut self, link: &mut Link) -> Result<Found, Failed> {
        match self.find_now(link).await? {
            Found::None if !self.is_settled(link).await? => Ok(Found::Unsettled),
            // An old unit of work may have been committed since the first look. None can bring it after this one: it
            // would have shown as unsettled.
            Found::None => self.find_now(link).await,
            found => Ok(found),
        }
    }

    /// Browsed: a message that a unit of work has got cannot be. It is not got here, as that unit of work, left open by a cut,
    /// would look like a queue that was cleared.
    async fn find_now(&mut self, link: &mut Link) -> Result<Found, Failed> {
        let md = Mqmd { correl_id: self.key.correl_id(), ..Mqmd::default() };
        let gmo = Self::matching(GetOptions::BROWSE_FIRST);
        let got = link.connection.get_whole(self.handle, md, gmo).await?;
        let Some(got) = got else { return Ok(Found::None) };
        Ok(match self.key.read(&got.data) {
            Some((number, entries)) => {
                self.current = Some(got.md.msg_id);
                Found::Message { number, entries }
            }
            None => Found::Foreign,
        })
    }

    /// Puts the message with this number into the open unit of work, and takes the old one away. False if that was not
    /// there: the unit of work must be backed out.
    pub(crate) async fn replace(
        &mut self,
        link: &mut Link,
        number: u64,
        entries: &[Id],
    ) -> Result<bool, Failed> {
        let md = Mqmd {
            format: FormatName::NONE,
            persistence: Persistence::PERSISTENT,
            expiry: -1,
            correl_id: self.key.correl_id(),
            ..Mqmd::default()
        };
        let options = PutOptions::SYNCPOINT | PutOptions::NEW_MSG_ID | PutOptions::FAIL_IF_QUIESCING;
        let pmo = Mqpmo { options, ..Mqpmo::default() };
        let put = link.connection.put(self.handle, md, pmo, self.key.body(number, entries)).await?;
        self.next = Some(put.md.msg_id);
        let Some(current) = self.current else { return Ok(true) };
        let md = Mqmd { msg_id: current, ..Mqmd::default() };
        let mut gmo = Self::matching(GetOptions::SYNCPOINT | GetOptions::ACCEPT_TRUNCATED_MSG);
        gmo.match_options = MatchOptions::MSG_ID;
        Ok(link.connection.get(self.handle, md, gmo, 0).await?.is_some())
    }

    /// The unit of work with the last [`Self::replace`] was committed.
    pub(crate) fn committed(&mut self) {
        if let Some(next) = self.next.take() {
            self.current = Some(next);
        }
    }

    /// It was backed out.
    pub(crate) fn backed_out(&mut self) {
        self.next = None;
    }

    /// Whether nothing on the queue is uncommitted: as many messages can be browsed as it has, before and after.
    async fn is_settled(&self, link: &mut Link) -> Result<bool, Failed> {
        let before = self.depth(link).await?;
        let mut found = 0;
        let mut options = GetOptions::BROWSE_FIRST;
        loop {
            let mut gmo = Self::matching(options | GetOptions::ACCEPT_TRUNCATED_MSG);
            gmo.match_options = MatchOptions::empty();
            if link.connection.get(self.handle, Mqmd::default(), gmo, 0).await?.is_none() {
                break;
            }
            found += 1;
            options = GetOptions::BROWSE_NEXT;
        }
        Ok(before == found && self.depth(link).await? == found)
    }

    /// Messages on the queue, of everybody.
    pub(crate) async fn depth(&self, link: &mut Link) -> Result<i32, Failed> {
        let selectors = vec![Selector::IA_CURRENT_Q_DEPTH];
        let inquired = link.connection.inquire(self.handle, selectors, 0).await?;
        Ok(inquired.ints.first().copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(source: &str, direction: SyncDirection) -> SyncKey {
        SyncKey { store: [7; 16], source: source.to_owned(), direction }
    }

    #[test]
    fn each_store_source_and_direction_has_its_own() {
        let hq = key("hq", SyncDirection::Source);
        let others = [
            key("hq", SyncDirection::Outbox),
            key("branch", SyncDirection::Source),
            SyncKey { store: [8; 16], ..hq.clone() },
        ];
        for other in others {
            assert_ne!(hq.correl_id(), other.correl_id());
            assert_eq!(other.read(&hq.body(7, &[])), None);
        }
    }

    #[test]
    fn bodies_say_number_and_entries_and_nothing_cut_is_read() {
        let key = key("hq", SyncDirection::Outbox);
        let entries = [Id::new(1, 2), Id::new(3, 4)];
        let body = key.body(42, &entries);
        assert_eq!(key.read(&body), Some((42, entries.to_vec())));
        for length in 0..body.len() {
            assert_eq!(key.read(&body[..length]), None, "{length}");
        }
        assert_eq!(key.read(&[&body[..], b"x"].concat()), None);
    }
}
