//! The command line of `store`, and what it does to a directory.

use std::sync::Arc;

use clap::Parser;
use store::{Journal, OpenOptions, Position, Store, Watch};

use super::*;
use crate::cli::{Cli, Command, PROGRAM};

/// Does what the command line says; its words have no spaces.
fn command(line: &str) -> anyhow::Result<()> {
    let cli = Cli::try_parse_from(std::iter::once(PROGRAM).chain(line.split(' ')))?;
    match cli.command {
        Command::Store(args) => run(&args),
        other => panic!("{other:?}"),
    }
}

#[derive(Debug)]
struct Deaf;

impl Watch for Deaf {
    fn durable(&self, _position: Position) {}
    fn failed(&self, error: StoreError) {
        panic!("{error}");
    }
}

fn open(directory: &Path) -> Box<Journal> {
    let options = OpenOptions { index: false, ..OpenOptions::new(directory, Arc::new(Deaf)) };
    Box::new(Journal::open(options).unwrap().0)
}

#[test]
fn what_is_wrong_usage() {
    for (line, part) in [
        ("store", "salvage"),
        ("store backup", "<TO>"),
        ("store restore", "<FROM>"),
        ("store salvage from", "<TO>"),
        ("store check extra", "extra"),
    ] {
        let error = Cli::try_parse_from(std::iter::once(PROGRAM).chain(line.split(' '))).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{line}");
        assert!(error.to_string().contains(part), "{line}: {error}");
    }
}

#[test]
fn from_a_store_to_a_backup_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (data, backup, again, saved) = (path("data"), path("backup"), path("again"), path("saved"));
    let journal = open(Path::new(&data));
    // Nothing answers at that address, so what is asked of the service fails and says so.
    let part = format!("store check --data {data}");
    let error = format!("{:#}", command(&part).unwrap_err());
    assert!(error.contains("needs a stopped service") && error.contains("in use"), "{error}");
    for line in ["backup TO", "stat"] {
        let line = line.replace("TO", &backup);
        let error = command(&format!("store {line} --data {data} --admin 127.0.0.1:1")).unwrap_err();
        assert!(format!("{error:#}").contains("admin"), "{error:#}");
    }
    assert!(command(&format!("store salvage {data} {saved}")).is_err());
    journal.close().unwrap();
    for line in [
        format!("store check --data {data}"),
        format!("store check --json --data {data}"),
        format!("store stat --data {data}"),
        format!("store stat --json --data {data}"),
        format!("store backup {backup} --data {data}"),
        format!("store backup {backup} --incremental --json --data {data}"),
        format!("store check --data {backup}"),
        format!("store restore {backup} --data {again}"),
        format!("store salvage {data} {saved} --json"),
    ] {
        command(&line).unwrap_or_else(|error| panic!("{line}: {error:#}"));
    }
    for refused in [
        format!("store backup {backup} --data {data}"),
        format!("store restore {backup} --data {again}"),
        format!("store salvage {data} {saved}"),
        format!("store stat --data {}", path("nowhere")),
    ] {
        assert!(command(&refused).is_err(), "{refused}");
    }
    open(Path::new(&again)).close().unwrap();
    open(Path::new(&saved)).close().unwrap();
    std::fs::write(folder.path().join("data/checkpoint"), "x").unwrap();
    let error = command(&format!("store check --data {data}")).unwrap_err();
    assert!(error.downcast_ref::<Said>().is_some(), "what is wrong was said already: {error:#}");
}
