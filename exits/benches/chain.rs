//! What the chain costs: messages per second through `destination-rewrite` in batches of 50, beside calling its rule
//! directly on a copy of the same bytes. `cargo bench -p mqe-exits`.
//!
//! The figure to look at is the last one: what threads, guards, limits, kept originals and statistics add for each
//! message. It is printed, not asserted.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use mq_wire::{Mqxqh, QMgrName, QName};
use mqe_exits::{
    Chain, Direction, ExitConfig, ExitMessage, Origin, Outcome, Registry, RewriteOptions, Verdict, rewrite,
};

const BATCH: usize = 50;
const PAYLOAD_BYTES: usize = 1024;
const ROUND: Duration = Duration::from_secs(1);

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
    Ok(())
}

fn message() -> Result<ExitMessage, mq_wire::NameError> {
    let header = Mqxqh {
        remote_q_name: QName::new("ORDERS%DEV00042")?,
        remote_q_mgr_name: QMgrName::new("GATE1")?,
        ..Mqxqh::default()
    };
    let origin = Origin::new("GATE1.XMITQ", Direction::FromMq);
    Ok(ExitMessage::wrap(origin, &header, &[b'x'; PAYLOAD_BYTES]))
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
