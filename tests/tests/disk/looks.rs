//! What the tests of disks look at again and again.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use integration_tests::process::{Finished, Process};
use integration_tests::service::Service;
use serde_json::Value;

use crate::GATEWAY;

/// The service does within this what it should do soon.
pub(crate) const TIME: Duration = Duration::from_secs(60);

/// Whether status says that there is no room, in its figures and to people.
#[track_caller]
pub(crate) fn is_short(service: &Service) -> bool {
    let status = service.status();
    let short = status["store"]["short_of_room"].as_bool().unwrap();
    assert_eq!(has_problem(&status, "the disk is full"), short, "{status:#}");
    short
}

/// Whether status names a problem with these words.
pub(crate) fn has_problem(status: &Value, words: &str) -> bool {
    let problems = status["problems"].as_array().unwrap();
    problems.iter().any(|problem| problem.as_str().unwrap().contains(words))
}

/// Whether no message is left anywhere.
#[track_caller]
pub(crate) fn is_drained(service: &Service) -> bool {
    let status = service.status();
    let depths = status["queues"].as_array().unwrap().iter().map(|queue| queue["depth"].as_u64().unwrap());
    status["area"]["messages"] == 0 && depths.sum::<u64>() == 0
}

/// A command of the gateway, run to its end.
#[track_caller]
pub(crate) fn command(args: &[&str], folder: &Path) -> Finished {
    let mut command = Command::new(GATEWAY);
    command.args(args).current_dir(folder);
    Process::run("command", command, folder, TIME)
}

/// `store check` of a stopped directory or a backup finds nothing.
#[track_caller]
pub(crate) fn assert_clean(directory: &Path, folder: &Path) {
    let checked = command(&["store", "check", "--json", "--data", &directory.display().to_string()], folder);
    let checked = checked.succeeded();
    let report: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!(report["damaged"], false, "{report:#}");
}
