//! What a store is given once, at its first start, and keeps: its identity, the queue manager's id, the key of hashes.

use jiff::Timestamp;
use mq_wire::{Chars, QMgrName};
use store::{Batch, Commit, Recovered};

use crate::clock::Moment;

/// Keyed state of the gateway itself begins with `g`.
const IDENTITY: &[u8] = b"gidentity";
const QMGR_ID: &[u8] = b"gqmid";
const HASH_KEY: &[u8] = b"ghash";

/// What a store is given once.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// Names the store in uids (ONCE.md 1).
    pub(crate) store: [u8; 16],
    /// QMID of the queue manager: its name and when it was made.
    pub(crate) qmgr_id: Chars<48>,
    /// Key of the hashes of MsgId and CorrelId.
    pub(crate) hash_key: [u64; 2],
}

impl Identity {
    /// The identity that was recovered, or a new one that is written into the batch.
    pub(crate) fn recover(
        recovered: &Recovered,
        name: QMgrName,
        now: Moment,
        batch: &mut Batch,
    ) -> anyhow::Result<Self> {
        let found = |key: &[u8]| {
            let index =
                recovered.keyed.binary_search_by(|(candidate, _)| candidate.as_slice().cmp(key)).ok()?;
            recovered.keyed.get(index).map(|(_, value)| value.clone())
        };
        if let (Some(store), Some(qmgr_id), Some(hash_key)) =
            (found(IDENTITY), found(QMGR_ID), found(HASH_KEY))
        {
            let word = |range: std::ops::Range<usize>| -> anyhow::Result<u64> {
                let bytes = hash_key.get(range).and_then(|bytes| bytes.try_into().ok());
                Ok(u64::from_be_bytes(
                    bytes.ok_or_else(|| anyhow::anyhow!("the store's hash key is damaged"))?,
                ))
            };
            return Ok(Self {
                store: store[..]
                    .try_into()
                    .map_err(|_| anyhow::anyhow!("the store's identity is damaged"))?,
                qmgr_id: Chars::cut(&String::from_utf8_lossy(&qmgr_id)),
                hash_key: [word(0..8)?, word(8..16)?],
            });
        }
        let mut random = [0; 32];
        getrandom::fill(&mut random)?;
        let mut store = [0; 16];
        store.copy_from_slice(&random[..16]);
        let word = |at: usize| random[at..at + 8].iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let made = Timestamp::from_millisecond(i64::try_from(now.wall_ms)?)?;
        let identity = Self {
            store,
            qmgr_id: Chars::cut(&format!("{name}_{}", made.strftime("%Y-%m-%d_%H.%M.%S"))),
            hash_key: [word(16), word(24)],
        };
        let mut commit = Commit::default();
        commit.set(IDENTITY, identity.store.to_vec());
        commit.set(QMGR_ID, identity.qmgr_id.text().into_bytes());
        commit
            .set(HASH_KEY, identity.hash_key.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>());
        batch.commit(commit);
        Ok(identity)
    }
}
