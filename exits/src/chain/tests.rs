//! The chain under exits that behave and exits that do not. What an exit does with a message stands in its payload.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use mq_wire::{Mqxqh, QMgrName, QName, Reason};

use super::*;
use crate::{
    Direction, ExitContext, ExitResponse, InitContext, OnFailure, Origin, ReceiveExit, STOPPED_BY_MSG_EXIT,
};

/// Long enough for the slowest machine; nothing waits that long when all is well.
const DEADLINE: Duration = Duration::from_secs(60);

/// What tests see of the exits, and the way out for those that would never return.
#[derive(Default)]
struct Seen {
    release: AtomicBool,
    made: AtomicUsize,
    inits: AtomicUsize,
    terms: AtomicUsize,
    calls: Mutex<Vec<Call>>,
}

#[derive(Debug, Clone, PartialEq)]
struct Call {
    exit: String,
    number: u64,
    instance: usize,
    payload: String,
    before_on_instance: usize,
}

impl Seen {
    fn of(&self, exit: &str) -> Vec<Call> {
        self.calls.lock().unwrap().iter().filter(|call| call.exit == exit).cloned().collect()
    }
}

/// Does what the payload says; marks what it has seen with `!`.
struct Scripted(Arc<Seen>);

#[async_trait]
impl ReceiveExit for Scripted {
    async fn init(&self, cx: &InitContext) -> Result<(), ExitError> {
        match cx.exit_data() {
            "init panics" => panic!("no start"),
            "init fails" => return Err(ExitError::failed("no table")),
            "init awaits" => std::future::pending().await,
            "init spins" => {
                while !self.0.release.load(SeqCst) {
                    std::hint::spin_loop();
                }
            }
            _ => {}
        }
        self.0.inits.fetch_add(1, SeqCst);
        Ok(())
    }

    async fn receive(
        &self,
        cx: &mut ExitContext,
        message: &mut ExitMessage,
    ) -> Result<ExitResponse, ExitError> {
        let payload = String::from_utf8_lossy(message.payload()?).into_owned();
        let before = cx.user_area().state(|| 0_usize);
        *before += 1;
        let call = Call {
            before_on_instance: *before - 1,
            exit: cx.exit_name().to_owned(),
            number: cx.message_number(),
            instance: cx.instance(),
            payload: payload.clone(),
        };
        self.0.calls.lock().unwrap().push(call);
        message.payload_mut()?.append(b"!");
        // "first: panic" is done by the exit named so.
        let (exit, act) = payload.split_once(": ").unwrap_or((cx.exit_name(), &payload));
        if exit != cx.exit_name() {
            return Ok(ExitResponse::Ok);
        }
        match act.trim_end_matches('!') {
            "panic" => panic!("number {}", 7),
            "panic later" => {
                tokio::task::yield_now().await;
                panic!("later");
            }
            "fail" => return Err(ExitError::Failed { reason: Reason::Q_FULL, why: "no room".into() }),
            "misread" => {
                mq_wire::Mqdlh::decode(&mut mq_wire::Reader::new(&[], message.coding()))?;
            }
            "grow" => message.payload_mut()?.append(&[0; 1000]),
            "behead" => message.bytes_mut().clear(),
            "await" => std::future::pending().await,
            "spin" => {
                while !self.0.release.load(SeqCst) {
                    std::hint::spin_loop();
                }
            }
            "refuse" => return Ok(ExitResponse::suppress("not wanted")),
            "close" => return Ok(ExitResponse::CloseChannel),
            "leave" => return Ok(ExitResponse::SuppressExit),
            text => {
                if let Some(ms) = text.strip_prefix("take ") {
                    // An exit that takes its time, and always the same.
                    let takes = Duration::from_millis(ms.parse().unwrap());
                    let _ = tokio::time::timeout(takes, std::future::pending::<()>()).await;
                }
            }
        }
        Ok(ExitResponse::Ok)
    }

    async fn term(&self) {
        self.0.terms.fetch_add(1, SeqCst);
    }
}

/// Like [`Scripted`], but there may be only one.
struct Serial(Scripted);

#[async_trait]
impl ReceiveExit for Serial {
    async fn receive(&self, cx: &mut ExitContext, m: &mut ExitMessage) -> Result<ExitResponse, ExitError> {
        self.0.receive(cx, m).await
    }
    fn serial(&self) -> bool {
        true
    }
}

fn registry(seen: &Arc<Seen>) -> Registry {
    let mut registry = Registry::with_shipped();
    let (for_scripted, for_serial) = (Arc::clone(seen), Arc::clone(seen));
    registry.register("scripted", move |config| {
        match config.data.as_str() {
            "constructor panics" => panic!("no object"),
            "constructor fails" => return Err(ExitError::option("x", "is bad")),
            _ => {}
        }
        for_scripted.made.fetch_add(1, SeqCst);
        Ok(Arc::new(Scripted(Arc::clone(&for_scripted))))
    });
    registry.register("serial", move |_| Ok(Arc::new(Serial(Scripted(Arc::clone(&for_serial))))));
    registry
}

fn exit(name: &str) -> ExitConfig {
    ExitConfig { name: name.to_owned(), time_limit: DEADLINE, ..ExitConfig::new("scripted") }
}

async fn start(seen: &Arc<Seen>, exits: Vec<ExitConfig>, instances: usize) -> Result<Chain, ExitError> {
    let names = [QMgrName::new("GATE1").unwrap()];
    let registry = registry(seen);
    let start = Chain::start(&registry, exits, names, NonZeroUsize::new(instances));
    tokio::time::timeout(DEADLINE, start).await.expect("starts in time")
}

async fn chain(seen: &Arc<Seen>, exits: Vec<ExitConfig>, instances: usize) -> Chain {
    start(seen, exits, instances).await.unwrap()
}

fn message(payload: &str) -> ExitMessage {
    let header = Mqxqh {
        remote_q_name: QName::new("ORDERS%DEV1").unwrap(),
        remote_q_mgr_name: QMgrName::new("GATE1").unwrap(),
        ..Mqxqh::default()
    };
    ExitMessage::wrap(Origin::new("GATE1.XMITQ", Direction::FromMq), &header, payload.as_bytes())
}

fn payload(message: &ExitMessage) -> String {
    String::from_utf8_lossy(message.payload().unwrap()).into_owned()
}

/// Runs a batch and says it in words: what passed, what did not and why.
async fn run<T: AsRef<str>>(chain: &Chain, payloads: &[T]) -> Vec<String> {
    let batch: Vec<ExitMessage> = payloads.iter().map(|text| message(text.as_ref())).collect();
    let verdicts = tokio::time::timeout(DEADLINE, chain.run(batch)).await.expect("runs in time");
    assert_eq!(verdicts.len(), payloads.len());
    let say = |(verdict, sent): (Verdict, &T)| match verdict {
        Verdict::Pass(message) => payload(&message),
        Verdict::Undelivered { message, reason, why } => {
            assert_eq!(payload(&message), sent.as_ref(), "it is the message as it came");
            format!("undelivered {}: {why}", reason.0)
        }
        Verdict::CloseChannel { why } => format!("closed: {why}"),
        Verdict::Stopped { why } => format!("stopped: {why}"),
    };
    verdicts.into_iter().zip(payloads).map(say).collect()
}

/// Waits for something that happens on another thread.
async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}: not in time");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn without_exits_all_passes() {
    let chain = chain(&Arc::default(), vec![], 2).await;
    assert_eq!(run(&chain, &["a", "b"]).await, ["a", "b"]);
    chain.term().await;
}

#[tokio::test]
async fn exits_run_in_their_order() {
    let seen = Arc::default();
    let chain = chain(&seen, vec![exit("one"), exit("two")], 1).await;
    assert_eq!(run(&chain, &["a"]).await, ["a!!"]);
    assert_eq!((seen.of("one")[0].payload.as_str(), seen.of("two")[0].payload.as_str()), ("a", "a!"));
    chain.term().await;
}

#[tokio::test]
async fn order_holds_whatever_each_message_takes() {
    let seen = Arc::default();
    let chain = chain(&seen, vec![exit("one"), exit("two")], 4).await;
    let payloads: Vec<String> = (0..60_u32).map(|n| format!("take {}", n.wrapping_mul(7919) % 13)).collect();
    for _ in 0..3 {
        let expected: Vec<String> = payloads.iter().map(|text| format!("{text}!!")).collect();
        assert_eq!(run(&chain, &payloads).await, expected);
    }
    let calls = seen.of("one");
    let numbers: BTreeSet<u64> = calls.iter().map(|call| call.number).collect();
    assert_eq!(numbers, (1..=180).collect());
    for call in &calls {
        let text = &payloads[(usize::try_from(call.number).unwrap() - 1) % payloads.len()];
        assert_eq!(&call.payload, text, "numbers are those of arrival");
    }
    chain.term().await;
}

#[tokio::test(start_paused = true)]
async fn as_tasks_the_same_exits_do_the_same_by_the_clock_of_their_runtime() {
    let seen = Arc::default();
    let registry = registry(&seen);
    let limited = ExitConfig { time_limit: Duration::from_millis(10), ..exit("one") };
    let builder = Chain::builder(&registry, vec![limited, exit("two")]);
    let chain = builder.instances(NonZeroUsize::new(3)).as_tasks().start().await.unwrap();
    let said = run(&chain, &["a", "one: fail", "one: await", "b"]).await;
    let late = "undelivered 268: exit one: receive was not done after 10ms";
    assert_eq!(said, ["a!!", "undelivered 2053: exit one: no room", late, "b!!"]);
    chain.term().await;
    assert_eq!(seen.terms.load(SeqCst), 6);
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.jsonl");
    let shipped = |kind: &str, data: String| ExitConfig { data, ..ExitConfig::new(kind) };
    let configs = vec![
        shipped("rate-limit", "per_second=1 burst=1 action=refuse".to_owned()),
        shipped("audit", format!("file={}", file.display())),
        shipped("destination-rewrite", String::new()),
    ];
    let names = [QMgrName::new("GATE1").unwrap()];
    let chain = Chain::start(&Registry::with_shipped(), configs, names, NonZeroUsize::new(2)).await.unwrap();
    let to = |origin| {
        let header = Mqxqh {
            remote_q_name: QName::new("ORDERS%DEV1").unwrap(),
            remote_q_mgr_name: names[0],
            ..Mqxqh::default()
        };
        ExitMessage::wrap(origin, &header, b"")
    };
    for _ in 0..3 {
        let dry = to(Origin::dry_run("route", Direction::FromMq));
        let Verdict::Pass(passed) = chain.dry_run(dry).await.unwrap() else { panic!("it passes") };
        assert_eq!(passed.xqh().unwrap().remote_q_name.to_string(), "ORDERS");
    }
    assert!(chain.status().exits.iter().all(|exit| exit.calls == 0));
    assert_eq!(std::fs::read_to_string(&file).unwrap_or_default(), "");
    // The one token is still there.
    let verdicts = chain.run(vec![to(Origin::new("hq", Direction::FromMq))]).await;
    assert!(matches!(verdicts[..], [Verdict::Pass(_)]), "{verdicts:?}");
    chain.term().await;
}

#[tokio::test]
async fn each_instance_has_its_own_object_and_user_area() {
    let seen = Arc::default();
    let chain = chain(&seen, vec![exit("one"), exit("two")], 3).await;
    let payloads = vec!["take 2"; 60];
    run(&chain, &payloads).await;
    run(&chain, &payloads).await;
    for name in ["one", "two"] {
        let mut calls_of_instance = [0; 3];
        for call in seen.of(name) {
            assert_eq!(
                call.before_on_instance, calls_of_instance[call.instance],
                "counts from 0, one by one"
            );
            calls_of_instance[call.instance] += 1;
        }
        assert_eq!(calls_of_instance.iter().sum::<usize>(), 120);
        assert!(calls_of_instance.iter().all(|calls| *calls > 0), "all work: {calls_of_instance:?}");
    }
    assert_eq!((seen.made.load(SeqCst), seen.inits.load(SeqCst)), (6, 6));
    chain.term().await;
    assert_eq!(seen.terms.load(SeqCst), 6);
}

#[tokio::test]
async fn a_serial_exit_sees_all_messages_in_order() {
    let seen = Arc::default();
    let serial = ExitConfig { kind: "serial".into(), ..exit("serial") };
    let chain = chain(&seen, vec![exit("one"), serial], 4).await;
    assert_eq!(chain.status().instances, 1);
    run(&chain, &vec!["take 1"; 20]).await;
    run(&chain, &vec!["quick"; 20]).await;
    let numbers: Vec<u64> = seen.of("serial").iter().map(|call| call.number).collect();
    assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
}

#[tokio::test]
async fn failures_are_contained_and_the_original_is_kept() {
    let seen = Arc::default();
    let limited = ExitConfig { message_bytes_max: 1000, ..exit("one") };
    let chain = chain(&seen, vec![limited, exit("two")], 1).await;
    let said = run(
        &chain,
        &[
            "a",
            "one: panic",
            "two: panic later",
            "one: fail",
            "one: misread",
            "one: grow",
            "one: behead",
            "b",
        ],
    )
    .await;
    assert_eq!(
        said,
        [
            "a!!",
            "undelivered 268: exit one: panicked in receive: number 7",
            "undelivered 268: exit two: panicked in receive: later",
            "undelivered 2053: exit one: no room",
            "undelivered 2260: exit one: the message cannot be read: MQDLH.StrucId at offset 0: needs 4 bytes, \
             0 are left",
            "undelivered 2218: exit one: returned a message of 1438 bytes, message_bytes_max is 1000",
            "undelivered 268: exit one: returned a message without its transmission queue header",
            "b!!",
        ]
    );
    let status = chain.status();
    let one = &status.exits[0];
    assert_eq!((one.calls, one.panics, one.errors, one.timeouts), (8, 1, 4, 0));
    assert_eq!((status.exits[1].panics, status.abandoned), (1, 0));
    assert!((status.exits.iter().map(|exit| exit.share).sum::<f64>() - 1.0).abs() < 1e-9);
    assert!(status.slowest.is_some() && one.max <= one.total);
    chain.term().await;
}

#[tokio::test]
async fn on_failure_pass_goes_on_as_if_the_exit_had_not_been_called() {
    let seen = Arc::default();
    let passing = ExitConfig { on_failure: OnFailure::Pass, message_bytes_max: 1000, ..exit("two") };
    let chain = chain(&seen, vec![exit("one"), passing, exit("three")], 1).await;
    let said = run(&chain, &["a", "two: panic", "two: fail", "two: grow", "two: behead"]).await;
    assert_eq!(said, ["a!!!", "two: panic!!", "two: fail!!", "two: grow!!", "two: behead!!"]);
    assert_eq!((chain.status().exits[1].panics, chain.status().exits[1].errors), (1, 3));
}

#[tokio::test]
async fn on_failure_stop_keeps_this_message_and_all_behind_it() {
    let seen = Arc::default();
    let stopping = ExitConfig { on_failure: OnFailure::Stop, ..exit("one") };
    let chain = chain(&seen, vec![stopping], 2).await;
    let stopped = "stopped: exit one: no room";
    assert_eq!(run(&chain, &["a", "fail", "b", "c"]).await, ["a!", stopped, stopped, stopped]);
    assert_eq!(run(&chain, &["b"]).await, ["b!"], "a source that is started again goes on");
}

#[tokio::test]
async fn an_exit_that_awaits_too_long_is_cancelled_in_place() {
    let seen = Arc::default();
    let quick = ExitConfig { time_limit: Duration::from_millis(20), ..exit("one") };
    let chain = chain(&seen, vec![quick], 1).await;
    assert_eq!(
        run(&chain, &["a", "await", "b"]).await,
        ["a!", "undelivered 268: exit one: receive was not done after 20ms", "b!"]
    );
    let status = chain.status();
    assert_eq!((status.exits[0].timeouts, status.abandoned, status.instances), (1, 0, 1));
    assert_eq!(seen.of("one")[2].before_on_instance, 2, "it is the same instance");
    chain.term().await;
}

#[tokio::test]
async fn an_exit_that_never_returns_is_given_up_and_replaced() {
    let seen = Arc::default();
    let quick = ExitConfig { time_limit: Duration::from_millis(20), ..exit("one") };
    let chain = chain(&seen, vec![quick, exit("two")], 1).await;
    assert_eq!(
        run(&chain, &["a", "one: spin", "b"]).await,
        ["a!!", "undelivered 268: exit one: receive was not done after 20ms", "b!!"]
    );
    let status = chain.status();
    assert_eq!((status.exits[0].timeouts, status.exits[1].timeouts, status.instances), (1, 0, 1));
    assert_eq!((status.abandoned, status.abandoned_now, status.stopped), (1, 1, None));
    let calls = seen.of("one");
    assert_eq!(
        (calls[2].instance, calls[2].before_on_instance),
        (1, 0),
        "another instance with its own memory"
    );
    assert_eq!(run(&chain, &["c"]).await, ["c!!"]);

    seen.release.store(true, SeqCst);
    eventually("the thread returns", || chain.status().abandoned_now == 0).await;
    assert_eq!(seen.terms.load(SeqCst), 2, "its exits are ended all the same");
    assert_eq!(run(&chain, &["d"]).await, ["d!!"], "what it returned too late is nobody's");
    chain.term().await;
    assert_eq!(seen.terms.load(SeqCst), 4);
}

#[tokio::test]
async fn behind_an_exit_that_never_returns_a_message_may_pass() {
    let seen = Arc::default();
    let passing =
        ExitConfig { time_limit: Duration::from_millis(20), on_failure: OnFailure::Pass, ..exit("two") };
    let chain = chain(&seen, vec![exit("one"), passing, exit("three")], 2).await;
    assert_eq!(run(&chain, &["a", "two: spin", "b"]).await, ["a!!!", "two: spin!!", "b!!!"]);
    assert_eq!(seen.of("one").len(), 3, "exits before it are not called again");
    seen.release.store(true, SeqCst);
    chain.term().await;
}

#[tokio::test]
async fn too_many_that_never_return_stop_the_chain() {
    let seen = Arc::default();
    let quick = ExitConfig { time_limit: Duration::from_millis(20), ..exit("one") };
    let chain = chain(&seen, vec![quick], 1).await;
    let max = chain.status().abandoned_max;
    let late = "undelivered 268: exit one: receive was not done after 20ms";
    for _ in 0..max {
        assert_eq!(run(&chain, &["spin"]).await, [late]);
    }
    let stopped = format!("stopped: exits do not return: {} threads of them had to be given up", max + 1);
    assert_eq!(run(&chain, &["spin", "a"]).await, [late, &stopped]);
    assert_eq!(run(&chain, &["b", "c"]).await, [stopped.clone(), stopped.clone()]);
    assert!(chain.status().stopped.is_some_and(|why| stopped.ends_with(&why)));
    seen.release.store(true, SeqCst);
    chain.term().await;
}

#[tokio::test]
async fn one_that_never_returns_does_not_hold_up_other_batches() {
    let seen = Arc::default();
    let chain = chain(&seen, vec![exit("one")], 2).await;
    let (stuck, other) = tokio::join!(run(&chain, &["spin"]), async {
        let other = run(&chain, &["a", "b"]).await;
        seen.release.store(true, SeqCst);
        other
    });
    assert_eq!((stuck, other), (vec!["spin!".to_owned()], vec!["a!".to_owned(), "b!".to_owned()]));
}

#[tokio::test]
async fn answers_of_exits() {
    let seen = Arc::default();
    let chain = chain(&seen, vec![exit("one"), exit("two")], 1).await;
    assert_eq!(
        run(&chain, &["two: refuse", "one: leave", "a"]).await,
        ["undelivered 268: exit two: not wanted", "one: leave!!", "a!"],
        "an exit that leaves is not called again"
    );
    assert_eq!((seen.of("one").len(), seen.of("two").len()), (2, 3));
    let status = chain.status();
    assert!(status.exits[0].suppressed && !status.exits[1].suppressed);
    assert_eq!((status.exits[1].refused, status.exits[1].errors), (1, 0));
    chain.term().await;
    assert_eq!(seen.terms.load(SeqCst), 2, "also that of the exit that left");
}

#[tokio::test]
async fn close_channel_keeps_this_message_and_all_behind_it() {
    let seen = Arc::default();
    let chain = chain(&seen, vec![exit("one")], 3).await;
    let closed = "closed: exit one closed the channel";
    let said = run(&chain, &["a", "take 30", "close", "b", "c", "d", "panic", "e", "f"]).await;
    assert_eq!(said[..3], ["a!", "take 30!", closed]);
    assert!(said[3..].iter().all(|text| text == closed), "{said:?}");
    assert_eq!(run(&chain, &["b"]).await, ["b!"]);
}

async fn start_error(kind: &str, data: &str) -> String {
    let seen: Arc<Seen> = Arc::default();
    let bad = ExitConfig {
        kind: kind.into(),
        start_limit: Duration::from_millis(50),
        ..exit("two").with_data(data)
    };
    let error = start(&seen, vec![exit("one"), bad], 2).await.unwrap_err().to_string();
    // Those of the first instance that were started are ended.
    eventually("the end", || seen.terms.load(SeqCst) >= seen.inits.load(SeqCst)).await;
    error
}

#[tokio::test]
async fn exits_that_cannot_start_are_named() {
    let failed = |why: &str| format!("exit two could not be started: {why}");
    assert_eq!(start_error("scripted", "init panics").await, failed("panicked in init: no start"));
    assert_eq!(start_error("scripted", "init fails").await, failed("no table"));
    assert_eq!(start_error("scripted", "init awaits").await, failed("init was not done after 50ms"));
    assert_eq!(
        start_error("scripted", "constructor panics").await,
        failed("panicked in its constructor: no object")
    );
    assert_eq!(
        start_error("scripted", "constructor fails").await,
        failed("option x of the exit's data: is bad")
    );
    assert_eq!(
        start_error("rewrite", "").await,
        failed(
            "no exit is of kind \"rewrite\"; known kinds are access-list, audit, decompress, destination-from, destination-rewrite, header-stamp, rate-limit, scripted, serial, size-limit"
        )
    );
}

#[tokio::test]
async fn an_exit_whose_start_never_returns_does_not_hold_up_the_caller() {
    let seen: Arc<Seen> = Arc::default();
    let spinning =
        ExitConfig { start_limit: Duration::from_millis(20), ..exit("one").with_data("init spins") };
    let error = start(&seen, vec![spinning], 2).await.unwrap_err();
    assert!(matches!(error, ExitError::Late { .. }), "{error}");
    seen.release.store(true, SeqCst);
    eventually("the end", || seen.terms.load(SeqCst) == 1).await;
}

#[tokio::test]
async fn a_reload_lets_batches_end_and_the_next_one_sees_the_new_exits() {
    let (old, new) = (Arc::new(Seen::default()), Arc::new(Seen::default()));
    let chain = Arc::new(chain(&old, vec![exit("old")], 2).await);
    // A batch is at work while the exits are started anew.
    let running = tokio::spawn({
        let chain = Arc::clone(&chain);
        async move { run(&chain, &["sleep 50", "a", "b"]).await }
    });
    eventually("the batch is at work", || !old.of("old").is_empty()).await;
    chain.reload(start(&new, vec![exit("new")], 1).await.unwrap()).await;
    assert_eq!(running.await.unwrap().len(), 3);
    assert_eq!((old.of("old").len(), old.terms.load(SeqCst)), (3, 2));
    assert_eq!(run(&chain, &["c"]).await.len(), 1);
    assert_eq!((old.of("old").len(), new.of("new").len(), new.terms.load(SeqCst)), (3, 1, 0));
    assert_eq!(chain.status().exits[0].calls, 1);
    // One that cannot be started is none to go on with.
    assert!(start(&new, vec![exit("new").with_data("init fails")], 1).await.is_err());
    assert_eq!(run(&chain, &["d"]).await.len(), 1);
}

#[tokio::test]
async fn a_chain_that_is_dropped_ends_its_exits() {
    let seen = Arc::default();
    let chain = chain(&seen, vec![exit("one")], 2).await;
    run(&chain, &["a"]).await;
    drop(chain);
    eventually("the end", || seen.terms.load(SeqCst) == 2).await;
}

#[tokio::test]
async fn a_batch_that_nobody_waits_for_is_left() {
    let seen: Arc<Seen> = Arc::default();
    let chain = chain(&seen, vec![exit("one")], 1).await;
    let batch = vec![message("take 1"); 10_000];
    let first_call = eventually("the first call", || !seen.of("one").is_empty());
    tokio::select! {
        _ = chain.run(batch) => panic!("10,000 messages were quicker than one"),
        () = first_call => {}
    }
    assert_eq!(run(&chain, &["a"]).await, ["a!"]);
    assert!(seen.of("one").len() < 10_000);
}

#[tokio::test]
async fn shipped_exits_in_a_chain() {
    let exits = vec![ExitConfig::new("destination-rewrite"), ExitConfig::new("header-stamp")];
    let chain = chain(&Arc::default(), exits, 2).await;
    let mut wrong = message("bad");
    wrong.xqh_mut().unwrap().remote_q_name = QName::new("ORDERS%").unwrap();
    let verdicts = chain.run(vec![message("good"), wrong]).await;
    let [Verdict::Pass(good), Verdict::Undelivered { message: bad, reason, .. }] = verdicts.as_slice() else {
        panic!("{verdicts:?}");
    };
    let header = good.xqh().unwrap();
    assert_eq!(
        (header.remote_q_name.trimmed(), header.remote_q_mgr_name.trimmed()),
        (&b"ORDERS"[..], &b"DEV1"[..])
    );
    assert_eq!(
        (header.msg_desc.appl_identity_data.text().as_str(), payload(good).as_str()),
        ("GATE1", "good")
    );
    assert_eq!(*reason, Reason::UNKNOWN_OBJECT_Q_MGR);
    assert_ne!(*reason, STOPPED_BY_MSG_EXIT);
    assert_eq!(bad.xqh().unwrap().remote_q_name.trimmed(), b"ORDERS%");
    chain.term().await;
}
