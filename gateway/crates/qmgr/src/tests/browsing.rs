//! Browsing: cursors, what is under them, what does not move them.

use mq_wire::*;

use super::harness::*;
use crate::*;

fn start() -> (Qm, ConnId, i32) {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    for body in ["a", "b", "c"] {
        qm.put(conn, handle, body);
    }
    (qm, conn, handle)
}

fn browse(qm: &mut Qm, conn: ConnId, handle: i32, options: GetOptions) -> Result<String, Reason> {
    qm.get(conn, handle, options).map(|taken| {
        assert!(!taken.got.taken || options.contains(GetOptions::MSG_UNDER_CURSOR));
        text(&taken.body)
    })
}

#[test]
fn first_next_and_the_end() {
    let (mut qm, conn, handle) = start();
    assert_eq!(
        browse(&mut qm, conn, handle, GetOptions::BROWSE_NEXT).unwrap(),
        "a",
        "next begins at the first"
    );
    assert_eq!(browse(&mut qm, conn, handle, GetOptions::BROWSE_NEXT).unwrap(), "b");
    assert_eq!(browse(&mut qm, conn, handle, GetOptions::BROWSE_MSG_UNDER_CURSOR).unwrap(), "b");
    assert_eq!(browse(&mut qm, conn, handle, GetOptions::BROWSE_NEXT).unwrap(), "c");
    assert_eq!(browse(&mut qm, conn, handle, GetOptions::BROWSE_NEXT), Err(Reason::NO_MSG_AVAILABLE));
    assert_eq!(browse(&mut qm, conn, handle, GetOptions::BROWSE_FIRST).unwrap(), "a");
    assert_eq!(qm.depth("Q"), 3);
    let other = qm.open_all(conn, "Q");
    assert_eq!(
        browse(&mut qm, conn, other, GetOptions::BROWSE_NEXT).unwrap(),
        "a",
        "each handle has a cursor"
    );
}

#[test]
fn what_is_under_the_cursor_can_be_taken_once() {
    let (mut qm, conn, handle) = start();
    let none = Err(Reason::NO_MSG_UNDER_CURSOR);
    assert_eq!(browse(&mut qm, conn, handle, GetOptions::MSG_UNDER_CURSOR), none);
    browse(&mut qm, conn, handle, GetOptions::BROWSE_FIRST).unwrap();
    browse(&mut qm, conn, handle, GetOptions::BROWSE_NEXT).unwrap();
    let taken = browse(&mut qm, conn, handle, GetOptions::MSG_UNDER_CURSOR | GetOptions::SYNCPOINT);
    assert_eq!(taken.unwrap(), "b");
    assert_eq!(browse(&mut qm, conn, handle, GetOptions::MSG_UNDER_CURSOR), none);
    assert_eq!(browse(&mut qm, conn, handle, GetOptions::BROWSE_MSG_UNDER_CURSOR), none);
    assert_eq!(browse(&mut qm, conn, handle, GetOptions::BROWSE_NEXT).unwrap(), "c", "the place is kept");
    qm.back(conn);
    assert_eq!(qm.drain(conn, handle), ["a", "b", "c"]);
}

#[test]
fn a_browse_that_ends_in_2080_does_not_move_the_cursor() {
    let (mut qm, conn, handle) = start();
    browse(&mut qm, conn, handle, GetOptions::BROWSE_FIRST).unwrap();
    let mut small = request(handle, GetOptions::BROWSE_NEXT, 0);
    small.buffer_length = 0;
    assert_eq!(qm.get_with(conn, small.clone()).unwrap().got.reason, Reason::TRUNCATED_MSG_FAILED);
    assert_eq!(browse(&mut qm, conn, handle, GetOptions::BROWSE_NEXT).unwrap(), "b");
    small.gmo.options |= GetOptions::ACCEPT_TRUNCATED_MSG;
    assert_eq!(qm.get_with(conn, small).unwrap().got.reason, Reason::TRUNCATED_MSG_ACCEPTED);
    assert_eq!(browse(&mut qm, conn, handle, GetOptions::BROWSE_NEXT), Err(Reason::NO_MSG_AVAILABLE));
}

#[test]
fn a_browse_selects_too() {
    let (mut qm, conn, handle) = start();
    for body in ["x", "y"] {
        let md = Mqmd { correl_id: CorrelId(id(5)), ..persistent() };
        qm.put_md(conn, handle, md, PutOptions::empty(), body);
        qm.put(conn, handle, "between");
    }
    let mut wanted = request(handle, GetOptions::BROWSE_NEXT, 0);
    wanted.correl_id = CorrelId(id(5));
    let mut found = Vec::new();
    while let Ok(taken) = qm.get_with(conn, wanted.clone()) {
        found.push(text(&taken.body));
    }
    assert_eq!(found, ["x", "y"]);
}
