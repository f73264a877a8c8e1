//! What the chain costs: messages per second through `destination-rewrite` in batches of 50, beside calling its rule
//! directly on a copy of the same bytes. `cargo bench -p mqe-exits`.
//!
//! What it prints, and does not assert:
//! - what threads, guards, limits, kept originals and statistics add for each message;
//! - what a chain of five shipped exits costs beside one of none, in turns, the median of nine;
//! - the flow through an exit that waits 5 ms for each message, beside K / 5 ms of K instances. The order is asserted.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mq_wire::{Mqxqh, QMgrName, QName};
use mqe_exits::{
    Chain, Direction, ExitConfig, ExitContext, ExitError, ExitMessage, ExitResponse, Origin, Outcome,
    ReceiveExit, Registry, RewriteOptions, Verdict, async_trait, rewrite,
};

const BATCH: usize = 50;
const PAYLOAD_BYTES: usize = 1024;
const ROUND: Duration = Duration::from_secs(1);
const TURNS: usize = 9;
const TURN: Duration = Duration::from_millis(300);
const WAITS: Duration = Duration::from_millis(5);

/// Quick ones as a fleet would have them.
const FIVE: [(&str, &str); 5] = [
    ("destination-rewrite", ""),
    ("access-list", "allow_devices=DEV* deny_queues=ADMIN*|SYSTEM*"),
    ("size-limit", "max=4096"),
    ("header-stamp", "identity=\"VIA GATE1\""),
    ("rate-limit", "per_second=1000000"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let names = [QMgrName::new("GATE1")?];
    let batch = vec![message()?; BATCH];
    let direct = rate(|| call_directly(&batch, &names));
    println!("rule called directly           {direct:>12.0} messages/s");

    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    for (label, instances) in [("chain, 1 instance", NonZeroUsize::new(1)), ("chain, one a core", None)] {
        let configs = vec![ExitConfig::new("destination-rewrite")];
        let registry = Registry::with_shipped();
        let chain = runtime.block_on(Chain::start(&registry, configs, names, instances))?;
        let through = rate(|| runtime.block_on(run(&chain, &batch)));
        let added_us = (1.0 / through - 1.0 / direct) * 1e6;
        println!(
            "{label:<30} {through:>12.0} messages/s   {:.3} of direct, {added_us:.2} us more a message",
            through / direct
        );
        runtime.block_on(chain.term());
    }
    runtime.block_on(none_and_five(&batch, names))?;
    runtime.block_on(one_that_waits(&batch, names))
}

/// In turns, so that whatever else the machine does meets both.
async fn none_and_five(
    batch: &[ExitMessage],
    names: [QMgrName; 1],
) -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::with_shipped();
    let configs = FIVE.map(|(kind, data)| ExitConfig { data: data.to_owned(), ..ExitConfig::new(kind) });
    let none = Chain::start(&registry, Vec::new(), names, None).await?;
    let five = Chain::start(&registry, configs.to_vec(), names, None).await?;
    let (mut of_none, mut of_five) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        of_none.push(turn(&none, batch).await);
        of_five.push(turn(&five, batch).await);
    }
    let (none_us, five_us) = (median(of_none), median(of_five));
    println!(
        "five exits, median of {TURNS}        {five_us:>9.2} us a message, none {none_us:.2} us: {:.2} us more",
        five_us - none_us
    );
    five.term().await;
    Ok(())
}

/// Microseconds for a message.
async fn turn(chain: &Chain, batch: &[ExitMessage]) -> f64 {
    let (start, mut messages) = (Instant::now(), 0_u32);
    while start.elapsed() < TURN {
        run(chain, batch).await;
        messages += BATCH as u32;
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(messages)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

struct Waits;

#[async_trait]
impl ReceiveExit for Waits {
    async fn receive(&self, _: &mut ExitContext, _: &mut ExitMessage) -> Result<ExitResponse, ExitError> {
        // Not tokio's: that rounds 5 ms up to 6.
        std::thread::sleep(WAITS);
        Ok(ExitResponse::Ok)
    }
}

async fn one_that_waits(
    batch: &[ExitMessage],
    names: [QMgrName; 1],
) -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::new();
    registry.register("waits", |_| Ok(Arc::new(Waits)));
    for instances in [1, 2, 4].map(NonZeroUsize::new) {
        let chain = Chain::start(&registry, vec![ExitConfig::new("waits")], names, instances).await?;
        let numbered: Vec<ExitMessage> =
            (0..BATCH as u8).map(|number| message_of(&[number])).collect::<Result<_, _>>()?;
        run(&chain, batch).await;
        let (start, mut messages) = (Instant::now(), 0_u32);
        while start.elapsed() < ROUND {
            let verdicts = chain.run(numbered.clone()).await;
            for (number, verdict) in verdicts.iter().enumerate() {
                let Verdict::Pass(message) = verdict else { return Err("a message did not pass".into()) };
                assert_eq!(message.payload()?, [number as u8], "the order");
            }
            messages += BATCH as u32;
        }
        let flow = f64::from(messages) / start.elapsed().as_secs_f64();
        let count = instances.map_or(0, NonZeroUsize::get);
        let ideal = count as f64 / WAITS.as_secs_f64();
        println!(
            "one that waits 5 ms, K = {count}      {flow:>9.0} messages/s   {:.3} of K / 5 ms, in order",
            flow / ideal
        );
        let call = chain
            .status()
            .exits
            .first()
            .map(|exit| exit.total / u32::try_from(exit.calls).unwrap_or(u32::MAX));
        println!("    a call took {:.2?}", call.unwrap_or_default());
        chain.term().await;
    }
    Ok(())
}

fn message() -> Result<ExitMessage, mq_wire::NameError> {
    message_of(&[b'x'; PAYLOAD_BYTES])
}

fn message_of(payload: &[u8]) -> Result<ExitMessage, mq_wire::NameError> {
    let header = Mqxqh {
        remote_q_name: QName::new("ORDERS%DEV00042")?,
        remote_q_mgr_name: QMgrName::new("GATE1")?,
        ..Mqxqh::default()
    };
    let origin = Origin::new("GATE1.XMITQ", Direction::FromMq);
    Ok(ExitMessage::wrap(origin, &header, payload))
}

fn call_directly(batch: &[ExitMessage], names: &[QMgrName]) {
    let options = RewriteOptions::default();
    for message in batch {
        let mut bytes = message.bytes().to_vec();
        let outcome = rewrite(&mut bytes, &options, names);
        assert!(matches!(outcome, Outcome::Rewritten { .. }), "{outcome}");
        black_box(bytes);
    }
}

async fn run(chain: &Chain, batch: &[ExitMessage]) {
    let verdicts = chain.run(batch.to_vec()).await;
    assert!(verdicts.iter().all(|verdict| matches!(verdict, Verdict::Pass(_))), "{verdicts:?}");
    black_box(verdicts);
}

/// Messages per second of something that does a batch, over a round; a tenth of it warms up.
fn rate(mut batch: impl FnMut()) -> f64 {
    let mut during = |time: Duration| {
        let start = Instant::now();
        let mut messages = 0_u32;
        while start.elapsed() < time {
            batch();
            messages += BATCH as u32;
        }
        f64::from(messages) / start.elapsed().as_secs_f64()
    };
    during(ROUND / 10);
    during(ROUND)
}
