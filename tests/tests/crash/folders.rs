//! Data directories from outside: copied, and checked.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use integration_tests::process::Process;

use crate::GATEWAY;

/// The folder of the data directory that can be lost.
pub(crate) const INDEX: &str = "index";
/// A check reads everything.
const TIME: Duration = Duration::from_secs(120);

/// A copy with everything in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// `store check` of a stopped data directory finds nothing.
#[track_caller]
pub(crate) fn assert_clean(data: &Path, folder: &Path) {
    let mut command = Command::new(GATEWAY);
    command.args(["store", "check", "--data"]).arg(data);
    let checked = Process::run("check", command, folder, TIME).succeeded();
    eprintln!("{}", checked.stdout.lines().next().unwrap_or_default());
}
