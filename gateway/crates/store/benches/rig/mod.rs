//! What the benches of the store share: a directory on a real disk, medians, the store driven as the gateway's core
//! drives it, and the floor. What is measured is for each bench to say.

#![allow(dead_code, reason = "each bench uses a part of it")]

mod core;
pub(crate) mod floor;

use std::path::{Path, PathBuf};

use bytes::Bytes;
use store::{NewMessage, OwnerId};

pub(crate) use self::core::Core;

/// What the gateway says of a message beside its body, about.
pub(crate) const ENVELOPE_BYTES: usize = 64;

/// Where to measure, and how long.
#[derive(Debug)]
pub(crate) struct Args {
    /// An empty folder, removed at the end.
    folder: PathBuf,
    /// Runs of which the median is taken.
    pub(crate) runs: usize,
    /// Fewer and smaller: shows that the bench works, and no more.
    pub(crate) short: bool,
    /// The size that a budget names, where that takes minutes.
    pub(crate) long: bool,
}

impl Args {
    /// `[--short] [--long] [--runs N] [--directory PATH]`. None, after a sentence, where nothing can be measured.
    pub(crate) fn parse(bench: &str) -> Option<Self> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let has = |word: &str| words.iter().any(|w| w == word);
        let value = |word: &str| words.iter().skip_while(|w| *w != word).nth(1);
        let short = has("--short");
        let runs = value("--runs").map_or(if short { 3 } else { 9 }, |runs| runs.parse().unwrap());
        let target = option_env!("CARGO_TARGET_TMPDIR").unwrap_or(".");
        let directory = value("--directory").map_or(target, String::as_str);
        if in_memory(Path::new(directory)) {
            println!(
                "{directory} is in memory, where a sync costs nothing: name another one with --directory"
            );
            return None;
        }
        let folder = Path::new(directory).join(format!("{bench}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        println!(
            "{bench}: medians of {runs} runs, in {directory}{}",
            if short { ", short: not for comparison" } else { "" }
        );
        Some(Self { folder, runs, short, long: has("--long") })
    }

    /// A name in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The first, or in a short run the second.
    pub(crate) fn pick<T>(&self, usual: T, short: T) -> T {
        if self.short { short } else { usual }
    }
}

impl Drop for Args {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            eprintln!("{} stays: {error}", self.folder.display());
        }
    }
}

/// Whether a directory is in a file system without a disk (statfs(2)).
fn in_memory(directory: &Path) -> bool {
    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58F6;
    rustix::fs::statfs(directory).is_ok_and(|fs| [TMPFS, RAMFS].contains(&(fs.f_type as u64)))
}

/// A persistent message that is real by itself.
pub(crate) fn message(owner: u64, body: &Bytes) -> NewMessage {
    NewMessage {
        unit: None,
        owner: OwnerId(owner),
        order: None,
        priority: 4,
        persistent: true,
        expiry_ms: 0,
        tags: [owner, 0],
        envelope: Bytes::from_static(&[b'e'; ENVELOPE_BYTES]),
        body: body.clone(),
        file: None,
    }
}

/// A body of so many bytes.
pub(crate) fn body(bytes: usize) -> Bytes {
    Bytes::from(vec![b'b'; bytes])
}

/// The middle one.
pub(crate) fn median(values: &[f64]) -> f64 {
    percentile(values, 50)
}

/// The value that so many percent do not exceed; 0 of none.
pub(crate) fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(index).copied().unwrap_or_default()
}

/// The median of the ratios that the runs have given.
pub(crate) fn ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    median(&ratios)
}

/// The same numbers in another order, the same each time.
pub(crate) fn shuffled(count: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for index in (1..count).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        numbers.swap(index, (state >> 33) as usize % (index + 1));
    }
    numbers
}

/// Bytes that the files of a directory take on disk.
pub(crate) fn disk_bytes(directory: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    // A folder that is not made yet takes nothing either.
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        // A file that has just been removed takes nothing.
        let Ok(metadata) = entry.metadata() else { continue };
        bytes += if metadata.is_dir() { disk_bytes(&entry.path()) } else { metadata.blocks() * 512 };
    }
    bytes
}
