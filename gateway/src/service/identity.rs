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
            let mut identity = Self {
                store: store[..]
                    .try_into()
                    .map_err(|_| anyhow::anyhow!("the store's identity is damaged"))?,
                qmgr_id: Chars::cut(&String::from_utf8_lossy(&qmgr_id)),
                hash_key: [word(0..8)?, word(8..16)?],
            };
            if recovered.restored {
                // What was handed out after the backup was made is not known here, and its numbers come again: uids
                // of the new store must not be taken for those (ONCE.md 1). The area keeps the old identity for the
                // messages of older starts; the queue manager stays the same one.
                identity.store = random()?;
                tracing::warn!("a restored backup: the store goes on under a new identity");
                let mut commit = Commit::default();
                commit.set(IDENTITY, identity.store.to_vec());
                batch.commit(commit);
            }
            return Ok(identity);
        }
        let [one, two] = [random::<8>()?, random::<8>()?].map(u64::from_be_bytes);
        let made = Timestamp::from_millisecond(i64::try_from(now.wall_ms)?)?;
        let identity = Self {
            store: random()?,
            qmgr_id: Chars::cut(&format!("{name}_{}", made.strftime("%Y-%m-%d_%H.%M.%S"))),
            hash_key: [one, two],
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

fn random<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    crate::system::random(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use mq_wire::QName;
    use mqe::StoreIdentity;
    use mqe::area::{Area, AreaSettings, MessageState, Onboarding};
    use mqe::{DeviceMessage, DeviceName};
    use store::Store;
    use store::mem::MemStore;

    use super::*;

    /// A start: identity and area, and what the area then names its messages.
    fn start(store: &mut MemStore, recovered: &Recovered) -> (Identity, Area) {
        let (now, name) = (crate::clock::now(), QMgrName::new("GATE1").unwrap());
        let mut batch = store.begin();
        let identity = Identity::recover(recovered, name, now, &mut batch).unwrap();
        let settings = AreaSettings {
            onboarding: Onboarding { patterns: vec!["DEV*".to_owned()], devices_max: 10 },
            ..AreaSettings::new(name, StoreIdentity(identity.store))
        };
        let now = mqe::Now { wall_ms: now.wall_ms, instant: now.instant };
        let mut area = Area::new(settings, recovered, now, &mut batch).unwrap();
        let unit = batch.new_unit();
        let device = DeviceName::new("DEV1").unwrap();
        let message = DeviceMessage::new(QName::new("ORDERS").unwrap(), "one".into());
        area.accept(now, &device, &message, unit, &mut batch).unwrap();
        let mut commit = Commit { unit: Some(unit), ..Commit::default() };
        area.seal_unit(now, unit, &mut commit);
        batch.commit(commit);
        area.unit_is_real(now, unit, &mut batch, &mut Vec::new());
        store.submit(batch);
        (identity, area)
    }

    fn identities(area: &Area) -> Vec<[u8; 16]> {
        let device = DeviceName::new("DEV1").unwrap();
        let named = area.messages(&device).unwrap();
        named
            .inspect(|view| assert_eq!(view.state, MessageState::Waiting))
            .map(|view| view.uid.store.0)
            .collect()
    }

    #[test]
    fn a_restored_store_has_a_new_identity_and_its_older_messages_keep_theirs() {
        let (mut store, recovered) = MemStore::new(None);
        let (first, _) = start(&mut store, &recovered);
        let (mut store, recovered) = store.restart();
        let (again, area) = start(&mut store, &recovered);
        assert_eq!(again.store, first.store);
        assert_eq!(identities(&area), [first.store; 2]);
        let (mut store, mut recovered) = store.restart();
        recovered.restored = true;
        let (restored, area) = start(&mut store, &recovered);
        assert_ne!(restored.store, first.store);
        assert_eq!((restored.qmgr_id, restored.hash_key), (first.qmgr_id, first.hash_key));
        assert_eq!(identities(&area), [first.store, first.store, restored.store]);
        // The next start is none of a restored backup, and stays with what was given.
        let (mut store, recovered) = store.restart();
        let (after, area) = start(&mut store, &recovered);
        assert_eq!(after.store, restored.store);
        assert_eq!(identities(&area), [first.store, first.store, restored.store, restored.store]);
    }
}
