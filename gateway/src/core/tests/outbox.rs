//! Puts of a device to another queue manager that are answered when they are there, on a store that fails at each batch in
//! turn: each is there once and in order, and the device hears "taken" of none that is not (ONCE.md 3).

use std::collections::BTreeMap;

use mqe::area::Counter;
use mqe::frame::{Frame, Hello, PutOutcome, VERSION};
use mqe::outbox::{EntryKind, OutboxEntry};
use mqe::{DeviceMessage, Incarnation, RequestId, Sequence, SessionId};
use store::{Commit, Id, Store};

use super::recovery::{Gone, Live};
use super::*;
use crate::clock;
use crate::core::handle::CoreHandle;
use crate::core::lanes::Lane;
use crate::core::{DevicePut, DevicePutBody, EndedHere, NextEntry, OutboxCommand, ToDevice};

const SOURCE: &str = "hq";
const PUTS: u64 = 6;

/// The other queue manager: what was put, and its sync message.
#[derive(Default)]
struct Hq {
    queue: Vec<String>,
    sync: (u64, Vec<Id>),
}

impl Hq {
    /// One connection of the outbox's task: decides about the last batch, then brings what there is, two at a time. It may be
    /// cut behind MQCMIT.
    async fn connection(&mut self, root: &CoreHandle, cut: bool) -> Result<(), Gone> {
        let core = root.newest().await?;
        let source = || SOURCE.to_owned();
        let connected = OutboxCommand::Connected { source: source(), q_mgr: name("HQ") };
        core.send(Lane::Control, Command::Outbox { command: connected }).await?;
        let state = |answer| Command::Outbox { command: OutboxCommand::State { source: source(), answer } };
        let state = core.ask(Lane::Control, state).await?;
        if state.q_mgr_id.is_empty() {
            let (source, q_mgr_id, number) = (source(), "HQ_1".to_owned(), state.committed);
            let begin = |answer| Command::Outbox {
                command: OutboxCommand::Begin { source, q_mgr_id, number, answer },
            };
            let needs = core.ask(Lane::Complete, begin).await?;
            core.durable(Some(needs)).await.map_err(|_| Gone)?;
        }
        if self.sync.0 == state.committed + 1 {
            end(&core, self.sync.clone()).await?;
        }
        loop {
            let (messages_max, bytes_max) = (2, 1 << 20);
            let next = |answer| Command::Outbox {
                command: OutboxCommand::Next { source: source(), messages_max, bytes_max, answer },
            };
            let batch = core.ask(Lane::Complete, next).await?;
            if batch.entries.is_empty() {
                return Ok(());
            }
            core.durable(Some(batch.needs)).await.map_err(|_| Gone)?;
            let mut ids = Vec::new();
            for NextEntry { id, body, .. } in batch.entries {
                let record = body.read().unwrap();
                let entry = OutboxEntry::from_record(&record.envelope, record.body).unwrap();
                self.queue.push(String::from_utf8(entry.message.payload.to_vec()).unwrap());
                ids.push(id);
            }
            self.sync = (batch.number, ids);
            if cut {
                return Ok(());
            }
            end(&core, self.sync.clone()).await?;
        }
    }
}

async fn end(core: &CoreHandle, (number, ids): (u64, Vec<Id>)) -> Result<(), Gone> {
    let source = SOURCE.to_owned();
    let end = |answer| Command::Outbox { command: OutboxCommand::End { source, number, ids, answer } };
    core.ask(Lane::Complete, end).await?;
    Ok(())
}

/// The device's durable store.
#[derive(Default)]
struct Device {
    incarnation: Incarnation,
    session: SessionId,
    decided: BTreeMap<u64, PutOutcome>,
}

fn hello(device: DeviceName, store: &Device) -> Hello {
    Hello {
        version: VERSION,
        device,
        incarnation: store.incarnation,
        last_session: store.session,
        token: Bytes::new(),
        product: String::new(),
    }
}

/// One connection of the device.
struct Link {
    core: CoreHandle,
    conn: mqe::ConnId,
    answers: mpsc::UnboundedReceiver<ToDevice>,
}

impl Link {
    async fn send(&self, frame: Frame) -> Result<(), Gone> {
        let command = Command::Device { conn: self.conn, request: RequestId(1), frame };
        Ok(self.core.send(Lane::Control, command).await?)
    }

    async fn frame(&mut self) -> Result<Frame, Gone> {
        let answer = tokio::select! {
            biased;
            () = self.core.ended() => return Err(Gone),
            answer = self.answers.recv() => answer.ok_or(Gone)?,
        };
        let ToDevice::Frame { needs, frame, .. } = answer else { panic!("{answer:?}") };
        self.core.durable(needs).await.map_err(|_| Gone)?;
        Ok(frame)
    }
}

impl Device {
    /// Connects, and puts again all that was not answered, the lowest first.
    async fn connect(&mut self, root: &CoreHandle) -> Result<Link, Gone> {
        let core = root.newest().await?;
        let conn = mqe::ConnId(core.conn().0);
        let (out, answers) = mpsc::unbounded_channel();
        core.send(Lane::Control, Command::DeviceOpened { conn, out }).await?;
        let mut link = Link { core, conn, answers };
        link.send(Frame::Hello(hello(DeviceName::new("DEV1").unwrap(), self))).await?;
        let Frame::Welcome(welcome) = link.frame().await? else { panic!("no WELCOME") };
        (self.incarnation, self.session) = (welcome.incarnation, welcome.session);
        link.send(Frame::Resume { stored: Vec::new(), refused: Vec::new() }).await?;
        assert!(matches!(link.frame().await?, Frame::Resumed { .. }));
        for sequence in (1..=PUTS).filter(|sequence| !self.decided.contains_key(sequence)) {
            put(&link, sequence).await?;
        }
        // Behind them in the lane: they have come to the core.
        let depths = |answer| Command::Outbox { command: OutboxCommand::Depths { answer } };
        link.core.ask(Lane::Intake, depths).await?;
        Ok(link)
    }

    /// Hears what is said, until nothing is left to be heard.
    async fn hear(&mut self, link: &mut Link) -> Result<(), Gone> {
        while self.decided.len() < PUTS as usize {
            match link.frame().await? {
                Frame::PutAnswer(sequence, PutOutcome::Busy(_)) => panic!("{sequence} is told BUSY"),
                Frame::PutAnswer(sequence, outcome) => drop(self.decided.insert(sequence.0, outcome)),
                frame => panic!("{frame:?}"),
            }
        }
        Ok(())
    }
}

/// What the task of a connection does with PUT, with exits that change nothing.
async fn put(link: &Link, sequence: u64) -> Result<(), Gone> {
    let (conn, request, sequence) = (link.conn, RequestId(10 + sequence as u32), Sequence(sequence));
    let puts = vec![(request, sequence)];
    let arrived = |answer| Command::DevicePutsArrived { conn, puts, answer };
    let Some(device) = link.core.ask(Lane::Intake, arrived).await?.pop().flatten() else { return Ok(()) };
    let queue = QName::new("ORDERS").unwrap();
    let message = DeviceMessage::new(queue, Bytes::from(sequence.0.to_string()));
    let body = Ok(DevicePutBody { queue, q_mgr: name("HQ"), token: None, message });
    let puts = vec![DevicePut { request, sequence, device, body }];
    Ok(link.core.send(Lane::Intake, Command::DevicePuts { conn, puts }).await?)
}

/// Plays until each put has its answer, over whatever breaks: by turns MQCMIT is cut off, with the device, and all goes well.
async fn play(root: &CoreHandle) -> (Hq, Device) {
    let (mut hq, mut device) = (Hq::default(), Device::default());
    // The name of its queue manager is known from then on.
    while hq.connection(root, false).await.is_err() {}
    for round in 0..100 {
        let Ok(mut link) = device.connect(root).await else { continue };
        if round % 2 == 0 {
            // What breaks is seen in the next round.
            let _ = hq.connection(root, true).await;
            continue;
        }
        let bring = async {
            while hq.connection(root, false).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            heard = device.hear(&mut link) => drop(heard),
            () = bring => {}
        }
        for (sequence, outcome) in &device.decided {
            assert_eq!(*outcome, PutOutcome::Taken);
            assert!(hq.queue.contains(&sequence.to_string()), "{sequence} was told before it was there");
        }
        if device.decided.len() == PUTS as usize {
            return (hq, device);
        }
    }
    panic!("it does not come to an end");
}

#[tokio::test]
async fn row_a_put_that_waits_is_there_once_and_answered_then_wherever_the_journal_fails() {
    let live = Live::new().await;
    let begun = live.disk.batches();
    play(&live.root).await;
    let total = live.disk.batches();
    live.end().await;
    assert!(total > begun + 8, "{begun} {total}");
    let expected: Vec<String> = (1..=PUTS).map(|number| number.to_string()).collect();
    for fail_at in begun + 1..=total {
        let live = Live::new().await;
        live.disk.fail_at([fail_at]);
        let (hq, device) = play(&live.root).await;
        assert_eq!(hq.queue, expected, "failure at {fail_at}");
        assert_eq!(device.decided.len(), PUTS as usize, "failure at {fail_at}");
        assert_eq!(live.disk.messages(), [], "failure at {fail_at}");
        live.end().await;
    }
}

/// Else its device would wait for ever: the messages of a salvaged store have new ids.
#[test]
fn a_put_whose_entry_is_not_known_any_more_counts_as_taken() {
    let (mut store, recovered) = MemStore::new(None);
    let mut batch = store.begin();
    let Machines { mut area, .. } = PLAIN.machines(&recovered, clock::now(), &mut batch).unwrap();
    let (device, conn) = (DeviceName::new("DEV1").unwrap(), mqe::ConnId(1));
    let (mut out, request) = (Vec::new(), RequestId(1));
    area.hello(conn, request, &hello(device, &Device::default()), &mut batch, &mut out);
    area.resume(conn, request, &[], &[], &mut batch, &mut out);
    let mut commit = Commit::default();
    area.put_in_unit_with_entry(conn, Sequence(1), Id::from_u64(1 << 40), &mut commit).unwrap();
    batch.commit(commit);
    store.submit(batch);
    assert_eq!(area.puts_waiting(), 1);
    let (store, recovered) = store.restart();
    let area = Made::of(Box::new(store), recovered, &PLAIN).unwrap().machines.area;
    assert_eq!(area.puts_waiting(), 0);
    assert_eq!(area.device(&device).unwrap().counters.get(Counter::PutTaken), 1);
}

/// An entry for DEV1 in the outbox.
fn entered(harness: &mut Harness, md: Mqmd) -> Id {
    let core = &mut harness.core;
    let mut turn = core.begin();
    let unit = turn.batch.new_unit();
    let device = DeviceName::new("DEV1").unwrap();
    let message = DeviceMessage::from_mq(QName::new("ORDERS").unwrap(), QMgrName::BLANK, &md, "x".into(), 0);
    let entry = OutboxEntry { kind: EntryKind::Put, device: Some(device), q_mgr: QMgrName::BLANK, message };
    let id = core.enter(SOURCE, Some(&device), &entry, unit, &mut turn).unwrap();
    let mut commit = Commit { unit: Some(unit), ..Commit::default() };
    // What stands for the mark.
    commit.set(b"x".to_vec(), b"".to_vec());
    core.make_real(commit, &mut turn);
    core.submit(turn);
    id
}

/// It is told that it can never be put.
fn undelivered(harness: &mut Harness, id: Id) -> (Result<EndedHere, Reason>, Vec<Op>) {
    let core = &mut harness.core;
    let place = core.outbox.next_batch(now(), SOURCE, 1, 1 << 20, &mut Commit::default()).1[0].1;
    let record = core.store().body(id, place).read().unwrap();
    let entry = Box::new(OutboxEntry::from_record(&record.envelope, record.body).unwrap());
    let (answer, mut answered) = oneshot::channel();
    let (source, reason) = (SOURCE.to_owned(), Reason::MSG_TOO_BIG_FOR_CHANNEL);
    let command = OutboxCommand::Undelivered { source, id, reason, entry, answer };
    let ops = harness.turn(Command::Outbox { command });
    (answered.try_recv().unwrap(), ops)
}

fn now() -> mqe::Now {
    let now = clock::now();
    mqe::Now { wall_ms: now.wall_ms, instant: now.instant }
}

#[test]
fn what_can_never_be_put_becomes_a_dead_letter_in_the_unit_of_its_end() {
    let mut harness = Harness::new();
    let id = entered(&mut harness, Mqmd::default());
    let (ended, ops) = undelivered(&mut harness, id);
    assert_eq!(ended, Ok(EndedHere::DeadLettered));
    let commits: Vec<&Commit> =
        ops.iter().filter_map(|op| if let Op::Commit(commit) = op { Some(commit) } else { None }).collect();
    let ends = commits.iter().filter(|commit| commit.kills.iter().any(|kill| kill.id == id)).count();
    assert_eq!((commits.len(), ends), (1, 1), "one record");
    let header = dead_letter(&harness.get("DEV.DEAD.LETTER.QUEUE").unwrap());
    assert_eq!(
        (header.reason, header.dest_q_name.to_string()),
        (Reason::MSG_TOO_BIG_FOR_CHANNEL, "ORDERS".into())
    );
    assert_eq!(harness.core.outbox.depth(SOURCE).messages, 0);
    // Its report options are heard.
    let discard = Mqmd { report: ReportOptions::DISCARD_MSG, ..Mqmd::default() };
    let id = entered(&mut harness, discard);
    assert_eq!(undelivered(&mut harness, id).0, Ok(EndedHere::Discarded));
    assert_eq!((harness.depth("DEV.DEAD.LETTER.QUEUE"), harness.core.outbox.depth(SOURCE).messages), (0, 0));
}
