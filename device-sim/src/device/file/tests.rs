//! The store in a directory: what was durable is there again, whatever byte the file was cut at.

use mq_wire::{QMgrName, QName};
use mqe::device_end::OutboxPut;
use mqe::frame::Refusal;
use mqe::{DeviceMessage, Incarnation, Sequence, SessionId, Uid};
use proptest::prelude::*;

use super::*;

fn device() -> DeviceName {
    "DEV00001".parse().unwrap()
}

fn uid(number: u64) -> Uid {
    Uid { store: mqe::StoreIdentity([7; 16]), id: store::Id::from_u64(number) }
}

fn queue() -> QName {
    "Q".parse().unwrap()
}

fn noted(number: u64, payload: &[u8]) -> Vec<Entry> {
    let message = DeviceMessage::new(queue(), payload.to_vec().into());
    let (envelope, payload) = (message.envelope(), message.payload);
    let record = DeviceRecord::Noted { uid: uid(number), envelope, payload };
    vec![Entry::Record(record), Entry::Deliveries(uid(number), 3)]
}

fn put(sequence: u64, payload: &[u8]) -> Entry {
    let put = OutboxPut {
        queue: queue(),
        queue_manager: QMgrName::BLANK,
        envelope: DeviceMessage::new(queue(), payload.to_vec().into()).envelope(),
        payload: payload.to_vec().into(),
    };
    Entry::Record(DeviceRecord::Put { sequence: Sequence(sequence), put })
}

/// A life of a device, write by write.
fn life() -> Vec<Vec<Entry>> {
    let resuming = DeviceRecord::Resuming { incarnation: Incarnation(1), session: SessionId(9) };
    vec![
        vec![Entry::Record(resuming)],
        [noted(1, b"one"), noted(2, b"two")].concat(),
        vec![put(1, b"up"), put(2, b"and up"), Entry::Used(vec![uid(1)])],
        vec![Entry::Record(DeviceRecord::Forgotten(vec![uid(1), uid(2)]))],
        noted(3, b"three"),
        vec![Entry::Record(DeviceRecord::Refused { uid: uid(4), refusal: Refusal::Released })],
        vec![Entry::Record(DeviceRecord::PutDecided { sequence: Sequence(1) }), Entry::Used(vec![uid(2)])],
    ]
}

fn content(writes: &[Vec<Entry>]) -> Content {
    let mut content = Content::default();
    writes.iter().flatten().for_each(|entry| content.apply(entry));
    content
}

async fn write_all(directory: &Path, writes: &[Vec<Entry>]) -> FileStore {
    let mut store = FileStore::open(directory, device()).unwrap();
    for entries in writes {
        store.write(entries.clone()).await.unwrap();
    }
    store
}

/// What can be seen of a content: places are its own.
fn seen(content: &Content) -> (mqe::device_end::DeviceState, Vec<crate::device::Kept>) {
    (content.state.clone(), content.unused().cloned().collect())
}

#[tokio::test]
async fn what_was_written_is_there_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = write_all(directory.path(), &life()).await;
    assert_eq!(*store.content(), content(&life()));
    drop(store);
    let store = FileStore::open(directory.path(), device()).unwrap();
    assert_eq!(*store.content(), content(&life()));
    let unused: Vec<_> = store.content().unused().map(|kept| (kept.uid, kept.deliveries)).collect();
    assert_eq!(unused, [(uid(3), 3)]);
}

#[tokio::test]
async fn a_file_that_is_cut_at_any_byte_holds_the_writes_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let life = life();
    // Where each write ends.
    let mut ends = vec![HEAD_BYTES];
    let mut store = FileStore::open(directory.path(), device()).unwrap();
    for entries in &life {
        store.write(entries.clone()).await.unwrap();
        ends.push(store.length());
    }
    drop(store);
    let path = log_path(directory.path());
    let whole = fs::read(&path).unwrap();
    for cut in HEAD_BYTES..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let writes = ends.iter().filter(|end| **end <= cut).count() - 1;
        let mut store = FileStore::open(directory.path(), device()).unwrap();
        assert_eq!(*store.content(), content(&life[..writes]), "cut at {cut}");
        assert_eq!(store.length(), ends[writes], "cut at {cut}");
        // And it goes on from there.
        store.write(noted(99, b"later")).await.unwrap();
        let then = seen(store.content());
        drop(store);
        let store = FileStore::open(directory.path(), device()).unwrap();
        assert_eq!(seen(store.content()), then, "cut at {cut}");
    }
}

#[tokio::test]
async fn damage_in_the_middle_is_no_torn_end() {
    let directory = tempfile::tempdir().unwrap();
    drop(write_all(directory.path(), &life()).await);
    let path = log_path(directory.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[HEAD_BYTES + GROUP_HEAD_BYTES + 1] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = FileStore::open(directory.path(), device()).unwrap_err();
    assert!(matches!(error, StateError::Damaged { offset: HEAD_BYTES, .. }), "{error}");
    // So is a head that is not one.
    fs::write(&path, b"something else").unwrap();
    let error = FileStore::open(directory.path(), device()).unwrap_err();
    assert!(matches!(error, StateError::Damaged { offset: 0, .. }), "{error}");
}

#[tokio::test]
async fn one_owner_and_one_device() {
    let directory = tempfile::tempdir().unwrap();
    let store = FileStore::open(directory.path(), device()).unwrap();
    let error = FileStore::open(directory.path(), device()).unwrap_err();
    assert!(matches!(error, StateError::InUse { .. }), "{error}");
    drop(store);
    let error = FileStore::open(directory.path(), "DEV00002".parse().unwrap()).unwrap_err();
    assert!(error.to_string().contains("DEV00001"), "{error}");
}

#[tokio::test]
async fn a_file_that_grew_is_written_anew() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = write_all(directory.path(), &life()).await;
    let payload = vec![b'x'; 100_000];
    for number in 100..150 {
        store.write(noted(number, &payload)).await.unwrap();
        let uids = vec![uid(number)];
        store
            .write(vec![Entry::Record(DeviceRecord::Forgotten(uids.clone())), Entry::Used(uids)])
            .await
            .unwrap();
        assert!(store.length() <= COMPACT_BYTES_MIN + payload.len() + 1024, "{}", store.length());
    }
    let then = seen(store.content());
    drop(store);
    let mut store = FileStore::open(directory.path(), device()).unwrap();
    assert_eq!(seen(store.content()), then);
    store.write(noted(200, b"more")).await.unwrap();
    let then = seen(store.content());
    drop(store);
    // A crash while it was written anew leaves a part of a new file: the old one counts.
    fs::write(new_path(directory.path()), b"MQEDE").unwrap();
    let store = FileStore::open(directory.path(), device()).unwrap();
    assert_eq!(seen(store.content()), then);
}

fn entry() -> impl Strategy<Value = Vec<Entry>> {
    prop_oneof![
        (1_u64..20).prop_map(|number| noted(number, b"payload")),
        (1_u64..20).prop_map(|number| vec![Entry::Record(DeviceRecord::Forgotten(vec![uid(number)]))]),
        (1_u64..20).prop_map(|number| vec![Entry::Used(vec![uid(number)])]),
        (1_u64..20).prop_map(|sequence| vec![put(sequence, b"up")]),
        (1_u64..20)
            .prop_map(|number| vec![Entry::Record(DeviceRecord::PutDecided { sequence: Sequence(number) })]),
    ]
}

proptest! {
    #[test]
    fn a_snapshot_says_the_same(writes in proptest::collection::vec(entry(), 0..40)) {
        let content = content(&writes);
        prop_assert_eq!(seen(&self::content(&[content.snapshot()])), seen(&content));
    }

    #[test]
    fn groups_round_trip(writes in proptest::collection::vec(entry(), 1..10)) {
        let entries = writes.concat();
        let mut bytes = BytesMut::new();
        encode_group(&entries, &mut bytes);
        prop_assert_eq!(decode_group(&bytes), Some((entries, bytes.len())));
    }
}
