//! Crashes from a seed: random work on a simulated disk, stopped inside any file operation, also during a start and
//! several in a row; after each the journal must hold a state that its order allows, with everything acknowledged in
//! it and nothing in part, and never take back what it has shown (STORE.md 8).

mod world;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::{Journal, OpenOptions};
use crate::files::sim::{Lie, Random, SimFiles};
use crate::planted::{Bug, plant};
use crate::{Position, Store, StoreError, Watch};
use world::{Checked, Seen, World, body_of, state_of};

/// Remembers what it was told.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) durable: Mutex<Position>,
    pub(super) failed: Mutex<Vec<StoreError>>,
    pub(super) turns: AtomicU32,
}

impl Watch for Told {
    fn durable(&self, position: Position) {
        *self.durable.lock().unwrap() = position;
    }

    fn failed(&self, error: StoreError) {
        self.failed.lock().unwrap().push(error);
    }

    fn turn_wanted(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }
}

fn run(seed: u64, lie: Option<Lie>) -> (Checked, Seen) {
    let mut world = World::new(seed);
    world.files.set_lie(lie);
    // A long life now and then, so that there is something to compact.
    let steps = if seed.is_multiple_of(4) { 400 } else { 80 };
    (world.run(steps), world.seen)
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(default)
}

/// STORE_CRASH_SEEDS says how many seeds, STORE_CRASH_FROM the first one.
#[test]
fn crashes_in_every_file_operation_lose_nothing_acknowledged() {
    let (first, seeds) = (number("STORE_CRASH_FROM", 1), number("STORE_CRASH_SEEDS", 60));
    let mut all = Seen::default();
    for seed in first..first + seeds {
        let (checked, seen) = run(seed, None);
        if let Err(error) = checked {
            panic!("seed {seed}: {error}");
        }
        all.add(seen);
    }
    println!("{all:?}");
    // What never happened was not tested.
    assert!(seeds < 50 || all.is_everything(), "{all:?}");
}

/// Each is found within 2,000 seeds; PLANTED names one to be looked for alone.
#[test]
fn each_planted_bug_is_found() {
    let wanted = std::env::var("PLANTED").ok();
    let bugs = Bug::ALL.iter().filter(|bug| wanted.as_ref().is_none_or(|name| format!("{bug:?}") == *name));
    let mut missed = Vec::new();
    for bug in bugs {
        match seed_that_finds(*bug) {
            Some(seed) => println!("{bug:?}: seed {seed}"),
            None => missed.push(*bug),
        }
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}

fn seed_that_finds(bug: Bug) -> Option<u64> {
    plant(Some(bug));
    let found = (1..2000).find(|seed| {
        // What breaks may also show as a failed assertion of the simulation itself.
        let outcome = std::panic::catch_unwind(|| match bug {
            Bug::NothingClaims => flipped_bytes(*seed),
            _ => run(*seed, None).0,
        });
        !matches!(outcome, Ok(Ok(())))
    });
    plant(None);
    found
}

#[test]
fn each_broken_rule_of_the_disk_is_found() {
    for lie in [
        Lie::Directory("journal"),
        Lie::Directory(""),
        Lie::Files(".seg"),
        Lie::Files("checkpoint.new"),
        Lie::Lengths,
        Lie::FailedSync,
    ] {
        let found = (1..3000).find(|seed| {
            // What breaks may also show as a failed assertion of the test itself.
            let outcome = std::panic::catch_unwind(|| run(*seed, Some(lie)).0);
            !matches!(outcome, Ok(Ok(())))
        });
        assert!(found.is_some(), "{lie:?} was not found");
    }
}

#[test]
fn a_flipped_byte_is_reported_or_harmless() {
    for seed in 1..60 {
        if let Err(error) = flipped_bytes(seed) {
            panic!("seed {seed}: {error}");
        }
    }
}

/// Flips bytes of a store in which everything is claimed, one at a time.
fn flipped_bytes(seed: u64) -> Checked {
    let mut world = World::new(seed);
    world.run_until_claimed()?;
    let base = world.base.clone();
    world.journal = None;
    for flip in 0..12 {
        let files = world.files.fork(flip);
        let Some((path, offset)) = pick_byte(&files, &mut world.random) else { continue };
        files.flip(&path, offset, 1 << world.random.below(8));
        let watch = Arc::new(Told::default());
        let options = OpenOptions { index: false, segment_bytes: 0, ..OpenOptions::new("", watch) };
        let Ok((journal, recovered)) = Journal::open_inline(Arc::new(files), &options) else { continue };
        if state_of(&recovered) != base {
            return Err(format!("{path} at {offset}: {:?} instead of {base:?}", state_of(&recovered)));
        }
        for message in &recovered.messages {
            match journal.body(message.id, message.place).read() {
                Ok(record) if record.body == body_of(world.content(message.id)) => {}
                Err(StoreError::Damaged { .. } | StoreError::NotThere { .. }) => {}
                other => return Err(format!("{path} at {offset}: {} is {other:?}", message.id)),
            }
        }
    }
    Ok(())
}

/// A byte that was written: not a hole of a segment, not the lock.
fn pick_byte(files: &SimFiles, random: &mut Random) -> Option<(String, usize)> {
    use crate::files::Files;
    let mut paths: Vec<String> =
        files.list("journal").unwrap().iter().map(|name| format!("journal/{name}")).collect();
    paths.push("checkpoint".to_owned());
    let path = paths.swap_remove(random.below(paths.len() as u32) as usize);
    let content = files.content(&path)?;
    let written: Vec<usize> = (0..content.len()).filter(|at| content[*at] != 0).collect();
    let offset = *written.get(random.below(written.len() as u32) as usize)?;
    Some((path, offset))
}
