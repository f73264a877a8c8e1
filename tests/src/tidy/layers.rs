//! The layering of DESIGN.md 3: which package may use which, where the outside world may be named, who reads a clock.

use crate::tidy::{File, Package, Path, Source};

/// Which packages of ours the product of each may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("mq-wire", &[]),
    ("store", &[]),
    ("mq-channel", &["mq-wire"]),
    ("mqsc", &["mq-wire"]),
    ("mqe-exits", &["mq-wire"]),
    ("mq-client", &["mq-channel", "mq-wire"]),
    // Only the batch and key types of the store.
    ("mqe", &["mq-wire", "store"]),
    ("qmgr", &["mq-wire", "mqsc", "store"]),
    ("device-sim", &["mq-client", "mq-wire", "mqe"]),
    // The demo runs a fleet of simulated devices.
    (
        "mqe-gateway",
        &["device-sim", "mq-channel", "mq-client", "mq-wire", "mqe", "mqe-exits", "mqsc", "qmgr", "store"],
    ),
];

/// What the packages of exits that are written as examples may use.
const EXAMPLES: (&str, &[&str]) = ("exits/examples/", &["mq-wire", "mqe-exits", "mqe-gateway"]);

/// The package that sees all.
const TESTS: &str = "integration-tests";

/// Packages without I/O, clock and randomness.
const PURE: &[&str] = &["mq-channel", "mq-wire", "mqe", "mqsc", "qmgr"];

/// What pure packages must not name: paths that begin like this.
const IMPURE: &[&str] = &[
    "axum",
    "getrandom",
    "mio",
    "rand",
    "rustix",
    "sled",
    "socket2",
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "tokio",
    "tokio_util",
];

/// Types whose `now` reads a clock.
const CLOCKS: &[&str] = &["Instant", "SystemTime", "Timestamp", "Zoned"];

/// The one file of the gateway that reads a clock.
const CLOCK: &str = "gateway/src/clock.rs";

/// The package that may name sled.
const SLED: &str = "store";

/// What is wrong with the layers, over manifests and what the sources name.
pub fn layers(packages: &[Package], files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for package in packages {
        problems.extend(of_manifest(package, packages));
    }
    for file in files.iter().filter(|file| file.is_rust()) {
        // The innermost: packages nest.
        let owner = packages.iter().filter(|package| file.path.starts_with(&package.folder));
        if let Some(owner) = owner.max_by_key(|package| package.folder.len()) {
            problems.extend(of_source(owner, packages, file));
        }
    }
    problems
}

fn allowed(package: &Package) -> Option<&'static [&'static str]> {
    if package.folder.starts_with(EXAMPLES.0) {
        return Some(EXAMPLES.1);
    }
    MAY_USE.iter().find(|(name, _)| *name == package.name).map(|(_, allowed)| *allowed)
}

fn of_manifest(package: &Package, packages: &[Package]) -> Vec<String> {
    let Package { name, folder, dependencies } = package;
    if name == TESTS {
        return Vec::new();
    }
    let Some(allowed) = allowed(package) else {
        return vec![format!("{folder}Cargo.toml: {name} has no place in the layers yet: give it one")];
    };
    let mut problems = Vec::new();
    for dependency in dependencies {
        let ours = packages.iter().any(|other| other.name == *dependency);
        let impure = PURE.contains(&name.as_str()) && IMPURE.contains(&dependency.replace('-', "_").as_str());
        if (ours && !allowed.contains(&dependency.as_str())) || impure {
            problems.push(format!("{folder}Cargo.toml: {name} must not depend on {dependency}"));
        }
        if dependency == "sled" && name != SLED {
            problems.push(format!("{folder}Cargo.toml: sled is named in {SLED} alone"));
        }
    }
    problems
}

fn of_source(owner: &Package, packages: &[Package], file: &File) -> Vec<String> {
    let source = Source::of(file);
    let mut problems = Vec::new();
    let mut wrong = |path: &Path, why: &str| {
        problems.push(format!("{}:{}: {} {why}", file.path, path.line, path.path));
    };
    let product = Source::paths(&source.product);
    let test = Source::paths(&source.tests);
    for path in product.iter().chain(&test).filter(|path| begins(&path.path, "sled")) {
        if owner.name != SLED {
            wrong(path, "is named in the store alone");
        }
    }
    let pure = PURE.contains(&owner.name.as_str());
    for path in &product {
        let first = path.path.split("::").next().unwrap_or_default();
        let used =
            packages.iter().find(|other| other.name.replace('-', "_") == first && other.name != owner.name);
        let allowed = allowed(owner).unwrap_or_default();
        if let Some(used) = used
            && owner.name != TESTS
            && !allowed.contains(&used.name.as_str())
        {
            wrong(path, &format!("is of a layer that {} does not see", owner.name));
        }
        if pure && IMPURE.iter().any(|impure| begins(&path.path, impure)) {
            wrong(path, "has no place in a package without I/O, clock and randomness");
        }
        let clocked = pure || file.path.starts_with("gateway/src/");
        if clocked && reads_clock(&path.path) && file.path != CLOCK {
            wrong(path, &format!("reads a clock: time is a parameter, {CLOCK} reads it"));
        }
    }
    problems
}

fn begins(path: &str, beginning: &str) -> bool {
    path.strip_prefix(beginning).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn reads_clock(path: &str) -> bool {
    let Some(of) = path.strip_suffix("::now") else { return false };
    let of = of.rsplit("::").next().unwrap_or_default();
    CLOCKS.iter().any(|clock| of.ends_with(clock))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, folder: &str, dependencies: &[&str]) -> Package {
        let dependencies = dependencies.iter().map(|name| (*name).to_owned()).collect();
        Package { name: name.to_owned(), folder: folder.to_owned(), dependencies }
    }

    /// Package, file and code in, whether something is wrong out.
    fn check(path: &str, code: &str, expected: Option<&str>) {
        let packages = [
            package("qmgr", "gateway/crates/qmgr/", &[]),
            package("mq-client", "gateway/crates/mq-client/", &[]),
            package("store", "gateway/crates/store/", &[]),
            package("mqe-exits", "exits/", &[]),
            package("mqe-gateway", "gateway/", &[]),
            package(TESTS, "tests/", &[]),
        ];
        let problems = layers(&packages, &[File::new(path, code)]);
        match expected {
            None => assert!(problems.is_empty(), "{code}: {problems:?}"),
            Some(expected) => {
                assert_eq!(problems.len(), 1, "{code}: {problems:?}");
                assert!(problems[0].contains(expected), "{problems:?}");
            }
        }
    }

    #[test]
    fn sources_keep_to_their_layer() {
        const QMGR: &str = "gateway/crates/qmgr/src/a.rs";
        check(QMGR, "use store::Batch;", None);
        check(QMGR, "use mq_client::Client;", Some("a.rs:1: mq_client::Client is of a layer"));
        check(
            "exits/src/a.rs",
            "fn f() {\n qmgr::Queue::new() }",
            Some("a.rs:2: qmgr::Queue::new is of a layer"),
        );
        check("gateway/crates/store/src/a.rs", "use qmgr as q;", Some("is of a layer"));
        check(QMGR, "#[cfg(test)] mod tests { use mq_client::Client; }", None);
        check("tests/src/a.rs", "use qmgr::Queue;", None);
        check("gateway/src/a.rs", "use qmgr::Queue;", None);
    }

    #[test]
    fn pure_packages_stay_pure() {
        const QMGR: &str = "gateway/crates/qmgr/src/a.rs";
        check(QMGR, "use tokio::net::TcpStream;", Some("tokio::net::TcpStream has no place"));
        check(QMGR, "use std::{collections::BTreeMap, fs};", Some("std::fs has no place"));
        check(QMGR, "fn f() { std::net::TcpStream::connect(a) }", Some("std::net"));
        check(QMGR, "let now = Instant::now();", Some("reads a clock"));
        check(QMGR, "let now = std::time::SystemTime::now();", Some("reads a clock"));
        check(QMGR, "use std::time::Instant; // tokio::net, std::fs\nlet s = \"std::fs::read\";", None);
        check(QMGR, "#[cfg(test)]\nmod tests { fn f() { std::fs::read(a); Instant::now(); } }", None);
        check("exits/src/a.rs", "use tokio::time::timeout;", None);
    }

    #[test]
    fn one_file_reads_the_clock() {
        check("gateway/src/core.rs", "tokio::time::Instant::now()", Some("gateway/src/clock.rs reads it"));
        check("gateway/src/core.rs", "TokioInstant::now()", Some("reads a clock"));
        check(CLOCK, "Instant::now()", None);
        check("gateway/src/core.rs", "clock::now()", None);
    }

    #[test]
    fn sled_is_named_in_the_store_alone() {
        check("gateway/src/a.rs", "use sled::Db;", Some("store alone"));
        check("tests/tests/a.rs", "sled::open(a)", Some("store alone"));
        check("gateway/crates/store/src/a.rs", "use sled::Db;", None);
        check("gateway/src/a.rs", "// sled::Db is behind the store", None);
    }

    #[test]
    fn manifests_keep_to_their_layer() {
        let check = |name: &str, folder: &str, dependencies: &[&str], expected: Option<&str>| {
            let packages = [
                package(name, folder, dependencies),
                package("mq-client", "x/", &[]),
                package("qmgr", "y/", &[]),
            ];
            let problems = of_manifest(&packages[0], &packages);
            assert_eq!(problems.is_empty(), expected.is_none(), "{problems:?}");
            assert!(
                problems.iter().all(|problem| problem.contains(expected.unwrap_or_default())),
                "{problems:?}"
            );
        };
        check("mqsc", "m/", &["mq-wire", "thiserror"], None);
        check("mqsc", "m/", &["qmgr"], Some("mqsc must not depend on qmgr"));
        check("mqsc", "m/", &["tokio"], Some("mqsc must not depend on tokio"));
        check("mq-wire", "m/", &["tokio-util"], Some("tokio-util"));
        check("mqe-exits", "exits/", &["tokio", "sled"], Some("sled is named"));
        check("mqe-exits", "exits/", &["mq-client"], Some("mq-client"));
        check("new", "new/", &[], Some("no place in the layers"));
        check("stamp", "exits/examples/stamp/", &["mqe-exits"], None);
        check("stamp", "exits/examples/stamp/", &["qmgr"], Some("qmgr"));
        check(TESTS, "tests/", &["qmgr", "mq-client"], None);
    }
}
