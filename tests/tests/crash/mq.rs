//! IBM's classes put and get numbered persistent messages in units of work while the service is killed: nothing lost,
//! nothing doubled, order kept.

use std::path::Path;
use std::time::{Duration, Instant};

use integration_tests::java::Java;
use integration_tests::process::Process;
use integration_tests::seed::Seed;
use integration_tests::service::Service;
use integration_tests::{tools, wait};
use rand::RngExt;

use crate::GATEWAY;

/// Messages of one unit of work, and bytes of a message.
const UNIT: u64 = 10;
const SIZE: u64 = 256;
/// Progress comes within this, after each kill.
const PROGRESS: Duration = Duration::from_secs(90);

#[test]
fn every_message_once_and_in_order_through_kills() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop-crash");
    std::fs::create_dir_all(&folder).unwrap();
    let Some(java) = Java::prepare(&folder) else { return };
    let seed = Seed::new("crash_mq");
    let mut rng = seed.rng();
    let (messages, kills): (u64, u64) = tools::count((10_000, 50), (1_000, 5));
    let mut service = Service::start(GATEWAY);
    let args = [service.mq().port().to_string(), "DEV.APP.SVRCONN".to_owned()]
        .into_iter()
        .chain([messages, UNIT, SIZE].map(|number| number.to_string()))
        .collect::<Vec<_>>();
    let begun = Instant::now();
    let mut ledger = java.start("KillLedger", &args, service.folder());
    let mut got = 0;
    for kill in 0..kills {
        // Somewhere within this kill's share of the messages, and then at any moment within a few units of work.
        let share = messages * 9 / 10 / kills;
        let at = kill * share + rng.random_range(0..share);
        while got < at.max(1) {
            got = progress(&mut ledger, PROGRESS);
        }
        wait::pause(Duration::from_micros(rng.random_range(0..30_000)));
        service.kill();
        service.restart();
    }
    let ended = ledger.wait(PROGRESS * 4);
    let report = ended.stdout.lines().last().unwrap_or_default().to_owned();
    eprintln!("crash_mq: {kills} kills in {:?}: {report}", begun.elapsed());
    assert!(ended.status.success(), "{report}\n{}", ended.stderr);
    assert!(report.contains("\"exact\": true"), "{report}");
    assert_eq!(u64::from(service.starts()), kills + 1);
}

/// The newest number of messages that were got and committed.
#[track_caller]
fn progress(ledger: &mut Process, within: Duration) -> u64 {
    let line = ledger.line(within);
    let line = line.unwrap_or_else(|| panic!("the ledger ended early:\n{}", ledger.log()));
    let mut got = number(&line);
    while let Some(line) = ledger.line_now() {
        got = number(&line);
    }
    got
}

#[track_caller]
fn number(line: &str) -> u64 {
    line.strip_prefix("got ")
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("not progress: {line}"))
}
