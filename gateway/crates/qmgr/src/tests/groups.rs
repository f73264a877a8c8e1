//! Groups and segments at a get: match options, logical order, what is complete.

use mq_wire::*;

use super::harness::*;
use crate::*;

const PART: u32 = 2;
const LAST_PART: u32 = 4;
const MEMBER: u32 = 8;
const LAST_MEMBER: u32 = 16;

const LOGICAL: GetOptions = GetOptions::LOGICAL_ORDER;
const COMPLETE: GetOptions = GetOptions::COMPLETE_MSG;
const ALL: GetOptions = GetOptions::ALL_MSGS_AVAILABLE;

fn start() -> (Qm, ConnId, i32) {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    (qm, conn, handle)
}

fn member(group: u8, msg_seq_number: i32, offset: i32, flags: u32) -> Mqmd {
    let msg_flags = MessageFlags::from_bits_retain(flags);
    Mqmd { version: 2, group_id: GroupId(id(group)), msg_seq_number, offset, msg_flags, ..persistent() }
}

fn put(qm: &mut Qm, conn: ConnId, handle: i32, md: Mqmd, body: &str) {
    assert_eq!(reason(&qm.put_md(conn, handle, md, PutOptions::empty(), body).reply), Reason::NONE);
}

fn get(qm: &mut Qm, conn: ConnId, handle: i32, options: GetOptions) -> Result<String, u32> {
    qm.get(conn, handle, options).map(|taken| text(&taken.body)).map_err(|reason| reason.0 as u32)
}

fn matching(handle: i32, md: &Mqmd, options: MatchOptions) -> GetRequest {
    let mut request = request(handle, GetOptions::empty(), 0);
    request.gmo.match_options = options;
    (request.group_id, request.msg_seq_number, request.offset) = (md.group_id, md.msg_seq_number, md.offset);
    request
}

/// Segments that overlap may have the right sum of lengths: they are no message, and hold nobody up.
#[test]
fn segments_that_overlap_are_not_put_together() {
    let (mut qm, conn, handle) = start();
    put(&mut qm, conn, handle, member(1, 1, 0, PART), "aaaaaaaaaa");
    put(&mut qm, conn, handle, member(1, 1, 5, PART), "bbbbbbbbbb");
    put(&mut qm, conn, handle, member(1, 1, 20, LAST_PART), "ccccc");
    segments(&mut qm, conn, handle, 3);
    assert_eq!(get(&mut qm, conn, handle, COMPLETE), Ok("aaaabbbbcc".to_owned()));
    assert_eq!(get(&mut qm, conn, handle, COMPLETE), Err(2033));
    assert_eq!(qm.depth("Q"), 3);
}

/// Two groups, one turned round and both interleaved, and a message of none.
fn interleaved(qm: &mut Qm, conn: ConnId, handle: i32) {
    put(qm, conn, handle, member(1, 2, 0, LAST_MEMBER), "a2");
    put(qm, conn, handle, member(2, 1, 0, MEMBER), "b1");
    put(qm, conn, handle, persistent(), "alone");
    put(qm, conn, handle, member(1, 1, 0, MEMBER), "a1");
    put(qm, conn, handle, member(2, 2, 0, LAST_MEMBER), "b2");
}

fn segments(qm: &mut Qm, conn: ConnId, handle: i32, count: usize) {
    let all = [("aaaa", 0, PART), ("bbbb", 4, PART), ("cc", 8, LAST_PART)];
    for (body, offset, flags) in all.into_iter().take(count) {
        put(qm, conn, handle, member(7, 1, offset, flags), body);
    }
}

#[test]
fn match_options_of_groups() {
    let (mut qm, conn, handle) = start();
    interleaved(&mut qm, conn, handle);
    segments(&mut qm, conn, handle, 3);
    let (group, seq, offset) = (MatchOptions::GROUP_ID, MatchOptions::MSG_SEQ_NUMBER, MatchOptions::OFFSET);
    let mut check = |md: Mqmd, options, expected: Result<&str, Reason>| {
        let mut request = matching(handle, &md, options);
        request.gmo.options = GetOptions::BROWSE_FIRST;
        let found = qm.get_with(conn, request).map(|taken| text(&taken.body));
        assert_eq!(found, expected.map(str::to_owned), "{options:?}");
    };
    let none = Err(Reason::NO_MSG_AVAILABLE);
    check(member(2, 1, 0, 0), group, Ok("b1"));
    check(member(1, 1, 0, 0), group, Ok("a2"));
    check(member(1, 1, 0, 0), group | seq, Ok("a1"));
    check(member(2, 2, 0, 0), group | seq | offset, Ok("b2"));
    check(member(2, 3, 0, 0), group | seq, none);
    check(member(9, 1, 0, 0), group, none);
    check(member(0, 1, 0, 0), group, Ok("a2"));
    check(member(1, 1, 0, 0), seq, Ok("b1"));
    check(member(1, 2, 0, 0), seq, Ok("a2"));
    check(member(7, 1, 4, 0), group | offset, Ok("bbbb"));
    check(member(7, 1, 8, 0), offset, Ok("cc"));
    check(member(7, 1, 5, 0), offset, none);
    let unknown = MatchOptions::from_bits_retain(0x40);
    check(member(1, 1, 0, 0), unknown, Err(Reason::MATCH_OPTIONS_ERROR));
    let mut old = matching(handle, &member(1, 1, 0, 0), group);
    old.md_version = 1;
    assert_eq!(qm.get_with(conn, old).unwrap_err(), Reason::WRONG_MD_VERSION);
    let mut old = request(handle, LOGICAL, 0);
    old.gmo.version = 1;
    assert_eq!(qm.get_with(conn, old).unwrap_err(), Reason::WRONG_GMO_VERSION);
}

#[test]
fn tokens_with_other_options() {
    let (mut qm, conn, handle) = start();
    qm.put(conn, handle, "x");
    let token = qm.get(conn, handle, GetOptions::BROWSE_FIRST).unwrap().got.token;
    let mut wanted = request(handle, GetOptions::empty(), 0);
    wanted.gmo.match_options = MatchOptions::MSG_TOKEN;
    wanted.gmo.msg_token = token;
    let mut waiting = wanted.clone();
    (waiting.gmo.options, waiting.gmo.wait_interval) = (GetOptions::WAIT, 10);
    assert_eq!(qm.get_with(conn, waiting).unwrap_err(), Reason::MSG_TOKEN_ERROR);
    let mut other = wanted.clone();
    other.gmo.match_options |= MatchOptions::CORREL_ID;
    other.correl_id = CorrelId(id(1));
    assert_eq!(qm.get_with(conn, other).unwrap_err(), Reason::NO_MSG_AVAILABLE);
    let mut old = wanted.clone();
    old.gmo.version = 2;
    assert_eq!(qm.get_with(conn, old).unwrap_err(), Reason::WRONG_GMO_VERSION);
    assert_eq!(text(&qm.get_with(conn, wanted.clone()).unwrap().body), "x");
    assert_eq!(qm.get_with(conn, wanted).unwrap_err(), Reason::NO_MSG_AVAILABLE);
}

#[test]
fn logical_order_goes_group_by_group() {
    let (mut qm, conn, handle) = start();
    interleaved(&mut qm, conn, handle);
    let texts: Vec<String> = (0..5)
        .map(|_| {
            let taken = qm.get(conn, handle, LOGICAL).unwrap();
            format!("{}{}", text(&taken.body), char::from(taken.got.gmo.group_status))
        })
        .collect();
    assert_eq!(texts, ["b1G", "b2L", "alone ", "a1G", "a2L"]);
    interleaved(&mut qm, conn, handle);
    let browse = |qm: &mut Qm, options| get(qm, conn, handle, options | LOGICAL);
    let mut texts = vec![browse(&mut qm, GetOptions::BROWSE_FIRST).unwrap()];
    texts.extend(std::iter::from_fn(|| browse(&mut qm, GetOptions::BROWSE_NEXT).ok()));
    assert_eq!(texts, ["b1", "b2", "alone", "a1", "a2"]);
    assert_eq!(browse(&mut qm, GetOptions::BROWSE_FIRST).unwrap(), "b1");
    assert_eq!(browse(&mut qm, GetOptions::BROWSE_NEXT).unwrap(), "b2");
    assert_eq!(browse(&mut qm, GetOptions::BROWSE_MSG_UNDER_CURSOR).unwrap(), "b2");
    assert_eq!(browse(&mut qm, GetOptions::BROWSE_NEXT).unwrap(), "alone", "a second look changes nothing");
    assert_eq!(get(&mut qm, conn, handle, GetOptions::BROWSE_NEXT), Err(2259));
    assert_eq!(get(&mut qm, conn, handle, GetOptions::BROWSE_FIRST).unwrap(), "a2");
    assert_eq!(browse(&mut qm, GetOptions::BROWSE_NEXT), Err(2259));
}

#[test]
fn the_next_of_a_group_is_waited_for() {
    let (mut qm, conn, handle) = start();
    put(&mut qm, conn, handle, member(1, 2, 0, MEMBER), "2");
    assert_eq!(get(&mut qm, conn, handle, LOGICAL), Err(2033), "the first is missing");
    put(&mut qm, conn, handle, member(1, 1, 0, MEMBER), "1");
    assert_eq!(get(&mut qm, conn, handle, LOGICAL).unwrap(), "1");
    assert_eq!(get(&mut qm, conn, handle, LOGICAL).unwrap(), "2");
    put(&mut qm, conn, handle, persistent(), "other");
    assert_eq!(get(&mut qm, conn, handle, LOGICAL), Err(2033));
    let call = qm.send(conn, Verb::Get(Box::new(request(handle, LOGICAL | GetOptions::WAIT, -1))));
    put(&mut qm, conn, handle, member(2, 1, 0, LAST_MEMBER), "another group");
    assert!(qm.answers.is_empty());
    put(&mut qm, conn, handle, member(1, 3, 0, LAST_MEMBER), "3");
    assert_eq!(text(&qm.taken(call).unwrap().body), "3");
    assert_eq!(get(&mut qm, conn, handle, LOGICAL).unwrap(), "other");
}

#[test]
fn what_is_not_consistent_in_logical_order() {
    let (mut qm, conn, handle) = start();
    interleaved(&mut qm, conn, handle);
    let wanted = |group, seq, options| {
        let mut request = matching(handle, &member(group, seq, 0, 0), options);
        request.gmo.options = LOGICAL;
        request
    };
    let in_no_group = wanted(1, 2, MatchOptions::MSG_SEQ_NUMBER);
    assert_eq!(qm.get_with(conn, in_no_group).unwrap_err(), Reason::MATCH_OPTIONS_ERROR);
    let begun = qm.get_with(conn, wanted(1, 1, MatchOptions::GROUP_ID)).unwrap();
    assert_eq!(text(&begun.body), "a1");
    let other = wanted(2, 2, MatchOptions::GROUP_ID);
    assert_eq!(qm.get_with(conn, other).unwrap_err(), Reason::MATCH_OPTIONS_ERROR);
    let mut by_id = wanted(1, 2, MatchOptions::MSG_ID);
    by_id.msg_id = MsgId(id(9));
    assert_eq!(qm.get_with(conn, by_id).unwrap_err(), Reason::MATCH_OPTIONS_ERROR);
    assert_eq!(get(&mut qm, conn, handle, LOGICAL | GetOptions::SYNCPOINT), Err(2245));
    let warned = qm.get(conn, handle, GetOptions::NO_SYNCPOINT).unwrap();
    assert_eq!((text(&warned.body).as_str(), warned.got.reason), ("a2", Reason::INCOMPLETE_GROUP));
    assert_eq!(warned.got.cc, CompCode::WARNING);
    let again = qm.get(conn, handle, GetOptions::NO_SYNCPOINT).unwrap();
    assert_eq!((text(&again.body).as_str(), again.got.reason), ("b1", Reason::NONE), "once");
    // From where it is, logical order is taken up again.
    assert_eq!(get(&mut qm, conn, handle, LOGICAL).unwrap(), "b2");
    segments(&mut qm, conn, handle, 3);
    assert_eq!(get(&mut qm, conn, handle, LOGICAL).unwrap(), "alone");
    assert_eq!(get(&mut qm, conn, handle, LOGICAL).unwrap(), "aaaa");
    assert_eq!(qm.close(conn, handle, CloseOptions::empty()), Reason::INCOMPLETE_MSG);
}

#[test]
fn only_when_all_is_there() {
    let (mut qm, conn, handle) = start();
    let other = qm.connect();
    let its = qm.open_all(other, "Q");
    put(&mut qm, conn, handle, member(1, 1, 0, MEMBER), "1");
    put(&mut qm, conn, handle, member(1, 2, 0, MEMBER), "2");
    put(&mut qm, conn, handle, persistent(), "alone");
    assert_eq!(get(&mut qm, conn, handle, ALL | LOGICAL).unwrap(), "alone");
    let call = qm.send(other, Verb::Get(Box::new(request(its, ALL | LOGICAL | GetOptions::WAIT, -1))));
    let last = member(1, 3, 0, LAST_MEMBER);
    qm.put_md(conn, handle, last, PutOptions::SYNCPOINT, "3");
    assert!(qm.answers.is_empty(), "not committed");
    qm.commit(conn);
    assert_eq!(text(&qm.taken(call).unwrap().body), "1", "what is got is not what came");
    assert_eq!(get(&mut qm, conn, handle, ALL | LOGICAL), Err(2033), "it was begun by another");
    assert_eq!(get(&mut qm, other, its, ALL | LOGICAL).unwrap(), "2");
    assert_eq!(get(&mut qm, other, its, ALL | LOGICAL).unwrap(), "3");
    segments(&mut qm, conn, handle, 2);
    let segments = GetOptions::ALL_SEGMENTS_AVAILABLE;
    assert_eq!(get(&mut qm, conn, handle, segments), Err(2033));
    put(&mut qm, conn, handle, member(7, 1, 8, LAST_PART), "cc");
    assert_eq!(get(&mut qm, conn, handle, segments | GetOptions::SYNCPOINT).unwrap(), "aaaa");
    qm.back(conn);
    assert_eq!(get(&mut qm, conn, handle, segments | LOGICAL).unwrap(), "aaaa", "they are all back");
    assert_eq!(get(&mut qm, conn, handle, segments | LOGICAL).unwrap(), "bbbb");
}

#[test]
fn segments_are_put_together() {
    let (mut qm, conn, handle) = start();
    segments(&mut qm, conn, handle, 2);
    assert_eq!(get(&mut qm, conn, handle, COMPLETE), Err(2033));
    assert_eq!(qm.depth("Q"), 2);
    put(&mut qm, conn, handle, member(7, 1, 8, LAST_PART), "cc");
    put(&mut qm, conn, handle, persistent(), "after");
    assert_eq!(get(&mut qm, conn, handle, COMPLETE | GetOptions::BROWSE_FIRST).unwrap(), "aaaabbbbcc");
    assert_eq!(get(&mut qm, conn, handle, COMPLETE | GetOptions::BROWSE_NEXT).unwrap(), "after");
    let mut small = request(handle, COMPLETE | GetOptions::SYNCPOINT, 0);
    small.buffer_length = 6;
    let failed = qm.get_with(conn, small.clone()).unwrap();
    assert_eq!((failed.got.reason, failed.got.body_length), (Reason::TRUNCATED_MSG_FAILED, 10));
    small.gmo.options |= GetOptions::ACCEPT_TRUNCATED_MSG;
    assert_eq!(text(&qm.get_with(conn, small).unwrap().body), "aaaabb");
    assert_eq!(qm.depth("Q"), 1);
    qm.back(conn);
    qm.compact();
    let taken = qm.get(conn, handle, COMPLETE).unwrap();
    let (both, md) = (MessageFlags::SEGMENT | MessageFlags::LAST_SEGMENT, &taken.md);
    assert_eq!((text(&taken.body).as_str(), md.offset, md.original_length), ("aaaabbbbcc", 0, -1));
    assert!(md.msg_flags.contains(both), "it is its only segment");
    assert_eq!((taken.got.backout_count, taken.got.gmo.segment_status), (1, b'L'));
    assert_eq!(qm.depth("Q"), 1);
    let mut qm = qm.restart();
    assert_eq!(qm.depth("Q"), 1, "all of them are gone");
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    assert_eq!(get(&mut qm, conn, handle, COMPLETE).unwrap(), "after");
}

#[test]
fn groups_survive_a_restart() {
    let (mut qm, conn, handle) = start();
    segments(&mut qm, conn, handle, 3);
    interleaved(&mut qm, conn, handle);
    let mut qm = qm.restart();
    let conn = qm.connect();
    let handle = qm.open_all(conn, "Q");
    assert_eq!(get(&mut qm, conn, handle, COMPLETE | LOGICAL | ALL).unwrap(), "aaaabbbbcc");
    let texts: Vec<_> = (0..5).map(|_| get(&mut qm, conn, handle, LOGICAL | ALL).unwrap()).collect();
    assert_eq!(texts, ["b1", "b2", "alone", "a1", "a2"]);
    assert!(qm.restart().store().recovered().messages.is_empty());
}

#[test]
fn segments_that_differ_are_not_put_together() {
    let (mut qm, conn, handle) = start();
    put(&mut qm, conn, handle, member(7, 1, 0, PART), "aaaa");
    put(&mut qm, conn, handle, Mqmd { ccsid: Ccsid(850), ..member(7, 1, 4, PART) }, "bbbb");
    put(
        &mut qm,
        conn,
        handle,
        Mqmd { encoding: Encoding(273), ccsid: Ccsid(850), ..member(7, 1, 8, LAST_PART) },
        "c",
    );
    let taken = qm.get(conn, handle, COMPLETE | LOGICAL).unwrap();
    assert_eq!((text(&taken.body).as_str(), taken.got.reason), ("aaaa", Reason::INCONSISTENT_CCSIDS));
    assert_eq!(taken.got.gmo.segment_status, b'S');
    assert_eq!(get(&mut qm, conn, handle, LOGICAL).unwrap(), "bbbb", "the rest is there");
    assert_eq!(get(&mut qm, conn, handle, LOGICAL).unwrap(), "c");
}

#[test]
fn units_of_work_and_complete_messages() {
    let (mut qm, conn, handle) = start();
    segments(&mut qm, conn, handle, 3);
    qm.script("DEFINE QLOCAL(OTHER)");
    let other = qm.open_all(conn, "OTHER");
    qm.put_sync(conn, other, "a unit");
    assert_eq!(get(&mut qm, conn, handle, COMPLETE), Err(2255));
    assert_eq!(qm.depth("Q"), 3);
    qm.script("ALTER QMGR MAXUMSGS(3)");
    assert_eq!(get(&mut qm, conn, handle, COMPLETE | GetOptions::SYNCPOINT), Err(2024));
    qm.commit(conn);
    assert_eq!(get(&mut qm, conn, handle, COMPLETE | GetOptions::SYNCPOINT).unwrap(), "aaaabbbbcc");
    qm.commit(conn);
    assert_eq!(qm.depth("Q"), 0);
}

/// A back-out takes handles back to where they were in their groups, at gets and at puts.
#[test]
fn after_a_back_out_a_group_goes_on_where_it_was() {
    let (mut qm, conn, handle) = start();
    interleaved(&mut qm, conn, handle);
    let sync = LOGICAL | GetOptions::SYNCPOINT;
    assert_eq!(get(&mut qm, conn, handle, sync).unwrap(), "b1");
    qm.commit(conn);
    assert_eq!(get(&mut qm, conn, handle, sync).unwrap(), "b2");
    assert_eq!(get(&mut qm, conn, handle, sync).unwrap(), "alone");
    qm.back(conn);
    assert_eq!(get(&mut qm, conn, handle, sync).unwrap(), "b2");
    qm.commit(conn);
    let output = qm.open(conn, "Q", OpenOptions::OUTPUT);
    let put = |qm: &mut Qm, flags| {
        let options = PutOptions::LOGICAL_ORDER | PutOptions::SYNCPOINT;
        match qm.put_md(conn, output, member(0, 1, 0, flags), options, "x").reply {
            Reply::Put(put) => put.md.msg_seq_number,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(put(&mut qm, MEMBER), 1);
    qm.commit(conn);
    assert_eq!((put(&mut qm, MEMBER), put(&mut qm, MEMBER)), (2, 3));
    qm.back(conn);
    assert_eq!(put(&mut qm, LAST_MEMBER), 2);
}

#[test]
fn under_the_cursor() {
    let (mut qm, conn, handle) = start();
    segments(&mut qm, conn, handle, 3);
    get(&mut qm, conn, handle, GetOptions::BROWSE_FIRST).unwrap();
    get(&mut qm, conn, handle, GetOptions::BROWSE_NEXT).unwrap();
    assert_eq!(get(&mut qm, conn, handle, COMPLETE | GetOptions::MSG_UNDER_CURSOR), Err(2246));
    assert_eq!(get(&mut qm, conn, handle, COMPLETE | GetOptions::BROWSE_MSG_UNDER_CURSOR), Err(2246));
    get(&mut qm, conn, handle, GetOptions::BROWSE_FIRST).unwrap();
    let taken = get(&mut qm, conn, handle, COMPLETE | GetOptions::MSG_UNDER_CURSOR);
    assert_eq!(taken.unwrap(), "aaaabbbbcc");
}

#[test]
fn a_descriptor_of_version_1_says_it_in_an_extension() {
    let (mut qm, conn, handle) = start();
    interleaved(&mut qm, conn, handle);
    let mut old = request(handle, GetOptions::empty(), 0);
    old.md_version = 1;
    let taken = qm.get_with(conn, old.clone()).unwrap();
    assert_eq!((taken.got.extension_length, taken.got.body_length), (72, 74));
    qm.get(conn, handle, GetOptions::empty()).unwrap();
    let taken = qm.get_with(conn, old).unwrap();
    assert_eq!((text(&taken.body).as_str(), taken.got.extension_length), ("alone", 0));
}

/// Groups that cannot be had cost a get nothing, however many there are.
#[test]
fn what_is_not_complete_is_not_stepped_over() {
    let (mut qm, conn, handle) = start();
    qm.script("ALTER QLOCAL(Q) MAXDEPTH(100000)");
    for number in 0..2_000 {
        let md = Mqmd { persistence: Persistence::NOT_PERSISTENT, ..member(1, number + 2, 0, MEMBER) };
        put(&mut qm, conn, handle, md, "x");
    }
    for number in 0..200 {
        put(&mut qm, conn, handle, Mqmd::default(), &number.to_string());
    }
    let number = qm.qm.directory.number(QName::new("Q").unwrap()).unwrap();
    let steps = |qm: &Qm| qm.qm.directory.local(number).unwrap().index.steps;
    get(&mut qm, conn, handle, ALL | LOGICAL).unwrap();
    let before = steps(&qm);
    for _ in 1..100 {
        get(&mut qm, conn, handle, ALL | LOGICAL).unwrap();
    }
    assert_eq!(get(&mut qm, conn, handle, LOGICAL).unwrap(), "100");
    assert!(steps(&qm) - before <= 300, "{}", steps(&qm) - before);
}
