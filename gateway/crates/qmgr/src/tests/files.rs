//! Long bodies that are in files already: the record names the file if its end is that of the body.

use bytes::Bytes;
use mq_wire::*;
use store::{BodyFile, Commit, Store};

use super::harness::*;
use crate::{Properties, *};

fn put_file(qm: &mut Qm, conn: ConnId, handle: i32, body: &Bytes, file: &BodyFile) -> Reason {
    let (md, pmo) = (persistent(), Mqpmo::default());
    let put =
        PutRequest { handle, md, pmo, body: body.clone(), passed: None, properties: Properties::default() };
    let verb = Verb::Put(Box::new(put)).with_file(Some(file.clone()));
    reason(&qm.call(conn, verb).reply)
}

/// The file and the body of the only message there is.
fn only(qm: &Qm) -> (Option<BodyFile>, Bytes) {
    let recovered = qm.store().recovered();
    let [message] = recovered.messages[..] else { panic!("{recovered:?}") };
    let record = qm.store().body(message.id, message.place).read().unwrap();
    assert_eq!(record.body.len(), message.body_length as usize);
    (record.file, record.body)
}

#[test]
fn a_put_names_the_file() {
    let mut qm = Qm::new();
    let conn = qm.connect();
    let handle = qm.open_all(conn, "DEV.QUEUE.1");
    let body = Bytes::from(vec![7; 3_000]);
    for in_file in [3_000, 1_000] {
        let file = qm.store().body_files().write(&body[3_000 - in_file..]).unwrap();
        assert_eq!(put_file(&mut qm, conn, handle, &body, &file), Reason::NONE);
        assert_eq!(only(&qm), (Some(file), body.clone()));
        let taken = qm.get(conn, handle, GetOptions::empty()).unwrap();
        assert_eq!((taken.body, taken.got.body_length), (body.clone(), 3_000));
    }
}

/// A file that holds more than the body is not of this one.
#[test]
fn a_file_of_something_else_is_not_named() {
    let mut qm = Qm::new();
    let conn = qm.connect();
    let handle = qm.open_all(conn, "DEV.QUEUE.1");
    let file = qm.store().body_files().write(&[7; 3_001]).unwrap();
    let body = Bytes::from(vec![7; 3_000]);
    assert_eq!(put_file(&mut qm, conn, handle, &body, &file), Reason::NONE);
    assert_eq!(only(&qm), (None, body));
}

/// On a transmission queue a header stands in front: the end is the same.
#[test]
fn a_header_in_front_does_not_matter() {
    let mut qm = Qm::new();
    let conn = qm.connect();
    let body = Bytes::from(vec![7; 3_000]);
    let file = qm.store().body_files().write(&body).unwrap();
    let request = Put1Request {
        od: od("GATE1", "Q%DEV1"),
        md: persistent(),
        pmo: Mqpmo::default(),
        body: body.clone(),
        passed: None,
        properties: Properties::default(),
    };
    let answered = qm.call(conn, Verb::Put1(Box::new(request)).with_file(Some(file.clone())));
    assert_eq!(reason(&answered.reply), Reason::NONE);
    let (named, stored) = only(&qm);
    assert_eq!((named, stored.len()), (Some(file), 3_000 + Mqxqh::LENGTH));
    assert_eq!(stored[Mqxqh::LENGTH..], body);
}

#[test]
fn the_owner_names_a_file_too() {
    let mut qm = Qm::new();
    let body = Bytes::from(vec![7; 3_000]);
    let file = qm.store().body_files().write(&body).unwrap();
    let named = file.clone();
    qm.turn(|qm, now, batch, out| {
        let unit = batch.new_unit();
        let mut commit = Commit { unit: Some(unit), ..Commit::default() };
        let who = Putter {
            user: Chars::BLANK,
            appl_name: Chars::BLANK,
            appl_type: ApplType::USER,
            rights: Rights::Device,
            context: PutContext::Default,
        };
        let queue = QName::new("DEV.QUEUE.1").unwrap();
        let put = UnitPut { queue, q_mgr: QMgrName::BLANK, md: persistent(), body: body.clone() };
        qm.put_in_unit_with_file(now, &who, put, Some(file), &mut commit, batch).unwrap();
        batch.commit(commit);
        qm.unit_is_real(now, unit, batch, out);
    });
    assert_eq!(only(&qm).0, Some(named));
    assert_eq!(qm.depth("DEV.QUEUE.1"), 1);
}

#[test]
fn only_puts_have_a_file() {
    let qm = Qm::new();
    let file = qm.store().body_files().write(b"x").unwrap();
    assert!(matches!(Verb::Commit.with_file(Some(file)), Verb::Commit));
}
