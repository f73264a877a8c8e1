//! The rules of the house, held on the workspace as it is. What they are is in the library of this package.

use std::io;
use std::path::PathBuf;

use integration_tests::tidy::{File, packages, problems, read_tree};

fn workspace() -> io::Result<Vec<File>> {
    read_tree(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(".."))
}

#[test]
fn the_workspace_is_tidy() {
    let problems = problems(&workspace().unwrap());
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn every_package_is_seen() {
    let files = workspace().unwrap();
    let names: Vec<_> = packages(&files).into_iter().map(|package| package.name).collect();
    for name in ["device-sim", "integration-tests", "mq-wire", "mqe-exits", "mqe-gateway", "qmgr", "store"] {
        assert!(names.iter().any(|found| found == name), "{name} is not among {names:?}");
    }
    assert!(files.iter().filter(|file| file.is_rust()).count() > 40);
}

#[test]
fn a_planted_violation_of_the_real_tree_is_found() {
    let mut files = workspace().unwrap();
    let before = problems(&files).len();
    files.push(File::new("gateway/crates/qmgr/src/planted.rs", "use std::fs;\nfn f() { todo!() }\n"));
    // No opening, std::fs, todo!.
    assert_eq!(problems(&files).len(), before + 3);
}
