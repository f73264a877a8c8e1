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

/// Its table of what proves which rule is believed: a test that is gone or has another name now must not stand there.
#[test]
fn every_test_that_the_architecture_names_is_there() {
    let files = workspace().unwrap();
    let document = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../gateway/ARCHITECTURE.md");
    let text = std::fs::read_to_string(document).unwrap();
    let table = text.split("\n## ").find(|chapter| chapter.starts_with("What proves")).expect("the chapter");
    let names: Vec<&str> = table.lines().filter(|line| line.starts_with('|')).flat_map(quoted).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let definition = format!("fn {name}(");
        assert!(files.iter().any(|file| file.is_rust() && file.text.contains(&definition)), "{name}");
    }
}

/// What stands between backticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

#[test]
fn a_planted_violation_of_the_real_tree_is_found() {
    let mut files = workspace().unwrap();
    let before = problems(&files).len();
    files.push(File::new("gateway/crates/qmgr/src/planted.rs", "use std::fs;\nfn f() { todo!() }\n"));
    // No opening, std::fs, todo!.
    assert_eq!(problems(&files).len(), before + 3);
}
