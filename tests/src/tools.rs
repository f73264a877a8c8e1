//! What a test needs from outside of the workspace, and how long it may take.

use std::path::PathBuf;

/// Whether the full counts are wanted (`MQE_TESTS=full`).
pub fn full() -> bool {
    std::env::var("MQE_TESTS").is_ok_and(|tests| tests == "full")
}

/// The full count, or the short one.
pub fn count<T>(full_count: T, short_count: T) -> T {
    if full() { full_count } else { short_count }
}

/// Where a program is, or `None` after a sentence on standard error. With `CI=true` a missing one fails the test: what
/// the gate does not run, nobody runs.
#[track_caller]
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    if found.is_none() {
        missing(&format!("the program {name} is not on the PATH"));
    }
    found
}

/// Says that a test is skipped and why; with `CI=true` it fails.
#[track_caller]
pub fn missing(what: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{what}: the gate needs it");
    eprintln!("skipped: {what}");
}
