//! What a get costs inside the core on a short and on a long queue: the first message, one by its MsgId, one by its
//! CorrelId. Each is put back at once. Prints the time of the call alone, the least of several rounds.
//!
//! `cargo bench -p qmgr --bench get [messages ...]`

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a measurement")]

use std::time::{Duration, Instant};

use bytes::Bytes;
use mq_wire::{
    ApplType, Chars, CorrelId, GetOptions, MatchOptions, Mqgmo, Mqmd, Mqod, Mqpmo, MsgId, ObjectName,
    OpenOptions, QMgrName,
};
use qmgr::{
    CallId, ConnId, Connect, Effect, GetRequest, Now, OpenRequest, Properties, PutRequest, QueueManager,
    Reply, Rights, Settings, Verb,
};
use store::Store;
use store::mem::MemStore;

const ROUNDS: usize = 10;
const GETS: u64 = 10_000;

#[derive(Clone, Copy)]
enum By {
    Place,
    MsgId,
    CorrelId,
}

struct Bench {
    qm: QueueManager,
    store: MemStore,
    now: Now,
    calls: u64,
}

impl Bench {
    /// A call, and how long it took.
    fn call(&mut self, verb: Verb) -> (Reply, Duration) {
        self.calls += 1;
        let (mut batch, mut out) = (self.store.begin(), Vec::new());
        let start = Instant::now();
        self.qm.apply(self.now, ConnId(1), CallId(self.calls), verb, &mut batch, &mut out);
        let took = start.elapsed();
        self.store.submit(batch);
        match out.pop() {
            Some(Effect::Answer { reply, .. }) => (reply, took),
            other => panic!("{other:?}"),
        }
    }

    fn put(&mut self, handle: i32, number: u64) {
        let md = Mqmd { msg_id: MsgId(id(1, number)), correl_id: CorrelId(id(2, number)), ..Mqmd::default() };
        let (pmo, body) = (Mqpmo::default(), Bytes::from_static(b"x"));
        let properties = Properties::default();
        let request = PutRequest { handle, md, pmo, body, passed: None, properties };
        assert!(matches!(self.call(Verb::Put(Box::new(request))).0, Reply::Put(_)));
    }
}

fn id(kind: u8, number: u64) -> [u8; 24] {
    let mut id = [kind; 24];
    id[..8].copy_from_slice(&number.to_be_bytes());
    id
}

/// Nanoseconds a get takes.
fn measure(bench: &mut Bench, handle: i32, messages: u64, by: By) -> u128 {
    let (mut least, mut number, mut next) = (Duration::MAX, 1_u64, (0..messages).cycle());
    for _ in 0..ROUNDS {
        let mut sum = Duration::ZERO;
        for _ in 0..GETS {
            // All over the queue, and the same each time.
            number = match by {
                By::Place => next.next().unwrap(),
                _ => number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407),
            };
            let number = number % messages;
            let match_options = match by {
                By::Place => MatchOptions::empty(),
                By::MsgId => MatchOptions::MSG_ID,
                By::CorrelId => MatchOptions::CORREL_ID,
            };
            let options = GetOptions::NO_SYNCPOINT;
            let gmo = Mqgmo { version: 4, options, match_options, ..Mqgmo::default() };
            let request = GetRequest {
                msg_id: MsgId(id(1, number)),
                correl_id: CorrelId(id(2, number)),
                ..GetRequest::new(handle, gmo, 100)
            };
            let (reply, took) = bench.call(Verb::Get(Box::new(request)));
            assert!(matches!(reply, Reply::Got(_)), "{reply:?}");
            sum += took;
            bench.put(handle, number);
        }
        least = least.min(sum);
    }
    least.as_nanos() / u128::from(GETS)
}

fn main() {
    let given: Vec<u64> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let sizes = if given.is_empty() { vec![1_000, 1_000_000] } else { given };
    for messages in sizes {
        let name = QMgrName(Chars::cut("QM1"));
        let settings = Settings {
            hash_key: [1, 2],
            ..Settings::new(name, Chars::cut("QM1_1"), QMgrName(Chars::cut("GATE1")))
        };
        let now = Now { wall_ms: 1_735_689_600_000, instant: Instant::now() };
        let (mut store, recovered) = MemStore::new(None);
        let mut batch = store.begin();
        let qm = QueueManager::new(settings, &recovered, now, &mut batch).unwrap();
        store.submit(batch);
        let mut bench = Bench { qm, store, now, calls: 0 };
        let command = mqsc::read_command("DEFINE QLOCAL(Q) MAXDEPTH(999999999)").unwrap();
        let mut batch = bench.store.begin();
        bench.qm.run(now, &command, &mut batch, &mut Vec::new());
        bench.store.submit(batch);
        let connect = Connect {
            q_mgr: QMgrName::BLANK,
            user: Chars::cut("app"),
            appl_name: Chars::cut("bench"),
            appl_type: ApplType::UNIX,
            rights: Rights::Admin,
        };
        bench.call(Verb::Connect(Box::new(connect)));
        let od = Mqod { object_name: ObjectName(Chars::cut("Q")), ..Mqod::default() };
        let options = OpenOptions::INPUT_SHARED | OpenOptions::OUTPUT;
        let (Reply::Opened(opened), _) = bench.call(Verb::Open(Box::new(OpenRequest { od, options }))) else {
            panic!("not opened");
        };
        let handle = opened.handle;
        (0..messages).for_each(|number| bench.put(handle, number));
        for (what, by) in [("first", By::Place), ("by MsgId", By::MsgId), ("by CorrelId", By::CorrelId)] {
            println!(
                "{messages:>9} messages, {what:<11} {:>6} ns",
                measure(&mut bench, handle, messages, by)
            );
        }
    }
}
