//! Long payloads whose end lies in a file of the store already.

use bytes::Bytes;
use store::{BodyFile, Op, Store, mem::MemStore};

use super::pair::{Pair, message, name};
use crate::DeviceMessage;

/// What the record of a message says of its file.
fn stored(message: &DeviceMessage) -> (Bytes, Option<u64>) {
    let mut pair = Pair::new();
    pair.turn(|area, now, batch, _| {
        let unit = batch.new_unit();
        area.accept(now, &name(0), message, unit, batch).unwrap();
        let record = batch.ops().iter().find_map(|op| match op {
            Op::Message(_, new) => Some((new.body.clone(), new.file.as_ref().map(BodyFile::length))),
            _ => None,
        });
        batch.back_out(unit, area.unit_dropped(unit));
        record.unwrap()
    })
}

#[test]
fn the_record_names_the_file_of_the_payload() {
    let (store, _) = MemStore::new(None);
    let plain = DeviceMessage { payload: Bytes::from(vec![7; 5_000]), ..message(1, 0) };
    let file = store.body_files().write(&plain.payload[1_000..]).unwrap();
    assert_eq!(stored(&plain), (plain.payload.clone(), None));
    let long = plain.clone().with_file(Some(file));
    assert_eq!(stored(&long), (plain.payload.clone(), Some(4_000)), "the body is whole, the file its end");
    // It is no part of what a device gets.
    let again = DeviceMessage::from_envelope(&long.envelope(), long.payload.clone()).unwrap();
    assert_eq!((again.envelope(), again.file), (plain.envelope(), None));
    // A file that is longer than the payload is not of this payload.
    let cut = DeviceMessage { payload: long.payload.slice(..3_000), ..long };
    assert_eq!(stored(&cut), (cut.payload.clone(), None));
}
