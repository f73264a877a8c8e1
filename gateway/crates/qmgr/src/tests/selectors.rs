//! Every selector of mq-objects.md 3.2 and 3.3, asked of every type of object: what MQINQ answers, and what MQSET takes.

use bytes::Bytes;
use mq_wire::*;

use super::harness::*;
use crate::{ConnId, Inquired, Reply, SetRequest, Verb};

/// Selectors of the queue manager (3.2): a number, or characters of this length.
const QUEUE_MANAGER: &[(i32, usize)] = &[
    (2, 0),
    (11, 0),
    (13, 0),
    (14, 0),
    (25, 0),
    (30, 0),
    (31, 0),
    (32, 0),
    (33, 0),
    (34, 0),
    (47, 0),
    (48, 0),
    (49, 0),
    (50, 0),
    (51, 0),
    (52, 0),
    (53, 0),
    (55, 0),
    (56, 0),
    (58, 0),
    (68, 0),
    (73, 0),
    (75, 0),
    (76, 0),
    (92, 0),
    (93, 0),
    (94, 0),
    (97, 0),
    (98, 0),
    (99, 0),
    (119, 0),
    (120, 0),
    (122, 0),
    (123, 0),
    (124, 0),
    (127, 0),
    (128, 0),
    (129, 0),
    (130, 0),
    (131, 0),
    (133, 0),
    (134, 0),
    (135, 0),
    (136, 0),
    (137, 0),
    (138, 0),
    (183, 0),
    (187, 0),
    (192, 0),
    (203, 0),
    (205, 0),
    (206, 0),
    (207, 0),
    (248, 0),
    (250, 0),
    (252, 0),
    (254, 0),
    (2003, 48),
    (2004, 12),
    (2005, 8),
    (2006, 48),
    (2014, 64),
    (2015, 48),
    (2025, 48),
    (2026, 128),
    (2027, 12),
    (2028, 8),
    (2032, 48),
    (2033, 128),
    (2034, 32),
    (2035, 48),
    (2036, 48),
    (2049, 256),
    (2050, 48),
    (2051, 256),
    (2102, 48),
    (2119, 128),
    (2120, 8),
    (2121, 64),
    (2125, 48),
];

/// Selectors of queues (3.3): a number or characters of this length, and which types have it: local, alias, remote. A
/// model queue is never inquired: it becomes a local one when it is opened.
const QUEUES: &[(i32, usize, &str)] = &[
    (3, 0, "L"),
    (4, 0, "L"),
    (5, 0, "LAR"),
    (6, 0, "LAR"),
    (7, 0, "L"),
    (8, 0, "L"),
    (9, 0, "LA"),
    (10, 0, "LAR"),
    (12, 0, "L"),
    (13, 0, "L"),
    (15, 0, "L"),
    (16, 0, "L"),
    (17, 0, "L"),
    (18, 0, "L"),
    (20, 0, "LAR"),
    (21, 0, "L"),
    (22, 0, "L"),
    (23, 0, "L"),
    (24, 0, "L"),
    (26, 0, "L"),
    (28, 0, "L"),
    (29, 0, "L"),
    (34, 0, "L"),
    (40, 0, "L"),
    (41, 0, "L"),
    (42, 0, "L"),
    (43, 0, "L"),
    (44, 0, "L"),
    (45, 0, "LAR"),
    (46, 0, "L"),
    (54, 0, "L"),
    (61, 0, "LAR"),
    (78, 0, "L"),
    (95, 0, "LAR"),
    (96, 0, "LAR"),
    (98, 0, "L"),
    (123, 0, "L"),
    (128, 0, "L"),
    (134, 0, "L"),
    (184, 0, "LAR"),
    (188, 0, "LA"),
    (190, 0, "LA"),
    (193, 0, "A"),
    (2002, 48, "A"),
    (2004, 12, "LAR"),
    (2005, 8, "LAR"),
    (2008, 48, "L"),
    (2012, 48, "L"),
    (2013, 64, "LAR"),
    (2016, 48, "LAR"),
    (2017, 48, "R"),
    (2018, 48, "R"),
    (2019, 48, "L"),
    (2023, 64, "L"),
    (2024, 48, "R"),
    (2027, 12, "LAR"),
    (2028, 8, "LAR"),
    (2029, 48, "LAR"),
    (2030, 48, "LAR"),
];

struct World {
    qm: Qm,
    conn: ConnId,
    q_mgr: i32,
    local: i32,
    alias: i32,
    remote: i32,
}

fn world() -> World {
    let mut qm = Qm::new();
    qm.script("DEFINE QLOCAL(Q)");
    qm.script("DEFINE QALIAS(A) TARGET(Q)");
    qm.script("DEFINE QREMOTE(R) RNAME(THERE) RQMNAME(QM2) XMITQ(GATE1)");
    let conn = qm.connect();
    let od = Mqod { object_type: ObjectType::Q_MGR, ..Mqod::default() };
    let q_mgr = qm.open_od(conn, od, OpenOptions::INQUIRE).unwrap().handle;
    let local = qm.open(conn, "Q", OpenOptions::INQUIRE | OpenOptions::SET | IO);
    let alias = qm.open(conn, "A", OpenOptions::INQUIRE | OpenOptions::SET);
    let remote = qm.open(conn, "R", OpenOptions::INQUIRE);
    World { qm, conn, q_mgr, local, alias, remote }
}

impl World {
    fn inquire(&mut self, handle: i32, selectors: &[i32], room: (u32, u32)) -> Result<Inquired, Reason> {
        let (int_count, char_length) = room;
        let verb = Verb::Inquire { handle, selectors: selectors.to_vec(), int_count, char_length };
        match self.qm.call(self.conn, verb).reply {
            Reply::Inquired(inquired) => Ok(*inquired),
            other => Err(reason(&other)),
        }
    }

    fn set(&mut self, handle: i32, selectors: &[i32], integers: &[i32], characters: &str) -> i32 {
        let characters = Bytes::copy_from_slice(characters.as_bytes());
        let (selectors, integers) = (selectors.to_vec(), integers.to_vec());
        let request = SetRequest { handle, selectors, integers, characters };
        reason(&self.qm.call(self.conn, Verb::Set(Box::new(request))).reply).0
    }
}

#[test]
fn every_selector_of_every_type_of_object() {
    let mut world = world();
    let (q_mgr, room) = (world.q_mgr, (256, 4_096));
    let mut asked = 0;
    for (selector, length) in QUEUE_MANAGER {
        let inquired = world.inquire(q_mgr, &[*selector], room).unwrap();
        assert_eq!(inquired.reason, Reason::NONE, "{selector}");
        let found = (inquired.integers.len(), inquired.characters.len());
        assert_eq!(found, (usize::from(*length == 0), *length), "{selector}");
        asked += 1;
    }
    for (kind, handle) in [("L", world.local), ("A", world.alias), ("R", world.remote)] {
        for (selector, length, kinds) in QUEUES {
            let inquired = world.inquire(handle, &[*selector], room).unwrap();
            let found = (inquired.integers.len(), inquired.characters.len());
            assert_eq!(found, (usize::from(*length == 0), *length), "{kind} {selector}");
            let has = kinds.contains(kind);
            let expected = if has { Reason::NONE } else { Reason::SELECTOR_NOT_FOR_TYPE };
            assert_eq!(inquired.reason, expected, "{kind} {selector}");
            if !has {
                let none = inquired.integers == [-1] || inquired.characters == vec![b'*'; *length];
                assert!(none, "{kind} {selector}: {inquired:?}");
            }
            asked += 1;
        }
    }
    println!(
        "MQINQ: {} selectors of the queue manager, {} of queues, {asked} asked",
        QUEUE_MANAGER.len(),
        QUEUES.len()
    );
    // All at once, in one call.
    let all: Vec<i32> = QUEUES.iter().map(|(selector, ..)| *selector).collect();
    let inquired = world.inquire(world.remote, &all, room).unwrap();
    assert_eq!(inquired.reason, Reason::SELECTOR_NOT_FOR_TYPE);
    let integers = QUEUES.iter().filter(|(_, length, _)| *length == 0).count();
    let characters: usize = QUEUES.iter().map(|(_, length, _)| length).sum();
    assert_eq!((inquired.integers.len(), inquired.characters.len()), (integers, characters));
}

#[test]
fn the_process_and_the_namelist_that_there_are() {
    let mut world = world();
    let mut asked = 0;
    for (object_type, name, selectors) in [
        (
            ObjectType::PROCESS,
            "SYSTEM.DEFAULT.PROCESS",
            &[(1, 0), (2001, 256), (2007, 128), (2011, 64), (2012, 48), (2021, 128), (2027, 12), (2028, 8)][..],
        ),
        (
            ObjectType::NAMELIST,
            "SYSTEM.DEFAULT.NAMELIST",
            &[(19, 0), (2009, 64), (2010, 48), (2027, 12), (2028, 8)],
        ),
    ] {
        let od = Mqod { object_type, ..od("", name) };
        let handle = world.qm.open_od(world.conn, od, OpenOptions::INQUIRE).unwrap().handle;
        for (selector, length) in selectors {
            let inquired = world.inquire(handle, &[*selector], (9, 999)).unwrap();
            let found = (inquired.reason, inquired.integers.len(), inquired.characters.len());
            assert_eq!(found, (Reason::NONE, usize::from(*length == 0), *length), "{selector}");
            asked += 1;
        }
        for selector in [3, 20, 2016, 2015, 9_999] {
            assert_eq!(world.inquire(handle, &[selector], (9, 99)).err(), Some(Reason::SELECTOR_ERROR));
        }
        assert_eq!(world.set(handle, &[10], &[1], ""), 2040);
    }
    println!("MQINQ: {asked} selectors of the default process and namelist");
}

#[test]
fn what_there_is_no_room_for_is_left_out() {
    let mut world = world();
    let local = world.local;
    let check = |world: &mut World, room, reason: Reason, integers: usize, characters: usize| {
        let inquired = world.inquire(local, &[15, 2013, 2016, 3, 2023], room).unwrap();
        let cc = if reason == Reason::NONE { CompCode::OK } else { CompCode::WARNING };
        assert_eq!((inquired.cc, inquired.reason), (cc, reason), "{room:?}");
        assert_eq!((inquired.integers.len(), inquired.characters.len()), (integers, characters), "{room:?}");
    };
    check(&mut world, (2, 176), Reason::NONE, 2, 176);
    check(&mut world, (1, 176), Reason::INT_ATTR_COUNT_TOO_SMALL, 1, 176);
    check(&mut world, (2, 175), Reason::CHAR_ATTRS_TOO_SHORT, 2, 112);
    check(&mut world, (2, 63), Reason::CHAR_ATTRS_TOO_SHORT, 2, 0);
    check(&mut world, (0, 0), Reason::INT_ATTR_COUNT_TOO_SMALL, 0, 0);
    let inquired = world.inquire(local, &[2018, 15, 2013], (0, 0)).unwrap();
    assert_eq!(inquired.reason, Reason::SELECTOR_NOT_FOR_TYPE, "before the other two");
    assert_eq!(world.inquire(local, &[], (0, 0)).unwrap().reason, Reason::NONE);
    assert_eq!(world.inquire(local, &[15; 256], (256, 0)).unwrap().integers.len(), 256);
    let refused = world.inquire(local, &[15; 257], (257, 0)).unwrap_err();
    assert_eq!(refused, Reason::SELECTOR_LIMIT_EXCEEDED);
}

#[test]
fn selectors_of_nothing_here() {
    let mut world = world();
    for handle in [world.q_mgr, world.local, world.alias, world.remote] {
        for selector in [0, -5, 1, 1999, 2001, 2011, 3501, 5000] {
            let refused = world.inquire(handle, &[20, selector], (9, 99)).err();
            assert_eq!(refused, Some(Reason::SELECTOR_ERROR), "{selector}");
        }
    }
    for selector in [25, 33, 2006, 2015] {
        assert_eq!(world.inquire(world.local, &[selector], (9, 99)).err(), Some(Reason::SELECTOR_ERROR));
    }
    for selector in [3, 20, 2016] {
        assert_eq!(world.inquire(world.q_mgr, &[selector], (9, 99)).err(), Some(Reason::SELECTOR_ERROR));
    }
}

#[test]
fn what_can_be_set_and_what_not() {
    let mut world = world();
    let (local, alias) = (world.local, world.alias);
    // Every attribute that MQSET may change: values that are good, and the reason for one that is not.
    let settable: [(i32, &[i32], i32, i32); 7] = [
        (9, &[1, 0], 2, 2020),
        (10, &[1, 0], -1, 2020),
        (24, &[1, 0], 2, 2075),
        (26, &[0, 9], 10, 2077),
        (28, &[0, 1, 2, 3], 4, 2078),
        (29, &[1, 999_999_999], 0, 2076),
        (34, &[1, 0], 2, 2067),
    ];
    for (selector, good, wrong, refusal) in settable {
        for value in good {
            assert_eq!(world.set(local, &[selector], &[*value], ""), 0, "{selector}");
            assert_eq!(world.inquire(local, &[selector], (1, 0)).unwrap().integers, [*value]);
        }
        assert_eq!(world.set(local, &[selector], &[wrong], ""), refusal, "{selector}");
        assert_eq!(world.set(local, &[selector], &[], ""), 2021, "{selector}");
    }
    assert_eq!(world.set(local, &[2023], &[], &format!("{:64}", "data")), 0);
    assert_eq!(world.set(local, &[2023], &[], &format!("{:63}", "data")), 2006);
    let all: Vec<i32> = QUEUES.iter().map(|(selector, ..)| *selector).collect();
    for selector in all.iter().filter(|s| !matches!(s, 9 | 10 | 24 | 26 | 28 | 29 | 34 | 2023)) {
        assert_eq!(world.set(local, &[*selector], &[0], &" ".repeat(64)), 2067, "{selector}");
    }
    assert_eq!(world.set(alias, &[9, 10], &[1, 1], ""), 0);
    for selector in [24, 34, 2023] {
        assert_eq!(world.set(alias, &[selector], &[0], &" ".repeat(64)), 2067, "an alias has it not");
    }
    assert_eq!(world.inquire(local, &[9], (1, 0)).unwrap().integers, [0], "an alias is set itself");
    assert_eq!(world.set(world.remote, &[10], &[1], ""), 2040);
    assert_eq!(world.set(world.q_mgr, &[10], &[1], ""), 2040);
}

#[test]
fn all_is_set_or_nothing() {
    let mut world = world();
    let local = world.local;
    let data = format!("{:64}", "data");
    for (selectors, integers, characters, expected) in [
        (&[10, 28][..], &[1, 9][..], "", 2078),
        (&[10, 15], &[1, 1], "", 2067),
        (&[10, 9], &[1], "", 2021),
        (&[10, 2023], &[1], "short", 2006),
        (&[2023, 15], &[], "", 2067),
        (&[10, 2023], &[], "", 2021),
    ] {
        assert_eq!(world.set(local, selectors, integers, characters), expected, "{selectors:?}");
        let inquired = world.inquire(local, &[10, 2023], (1, 64)).unwrap();
        assert_eq!((&inquired.integers[..], text(&inquired.characters)), (&[0][..], " ".repeat(64)));
    }
    assert_eq!(world.set(local, &[], &[], ""), 0);
    assert_eq!(world.set(local, &[10; 257], &[1; 257], ""), 2066);
    assert_eq!(world.set(local, &[2023, 10], &[1], &data), 0, "in whatever order");
    assert_eq!(world.inquire(local, &[10], (1, 0)).unwrap().integers, [1]);
}
