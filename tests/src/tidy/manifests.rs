//! Rules over manifests: versions stand in the root alone, every package takes the workspace's lints.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::tidy::File;

/// A package of the workspace, as far as layers are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its folder, with `/` at the end.
    pub folder: String,
    /// What its product, not its tests, depends on.
    pub dependencies: BTreeSet<String>,
}

/// The packages; a manifest that cannot be read is reported by [`manifests`].
pub fn packages(files: &[File]) -> Vec<Package> {
    let packages = files.iter().filter(|file| file.is_manifest()).filter_map(|file| {
        let table: Table = file.text.parse().ok()?;
        let name = table.get("package")?.get("name")?.as_str()?.to_owned();
        let product =
            dependency_tables(&table).into_iter().filter(|(table, _)| !table.ends_with("dev-dependencies"));
        let dependencies = product.flat_map(|(_, table)| table.keys().cloned()).collect();
        let folder = file.path.strip_suffix("Cargo.toml")?.to_owned();
        Some(Package { name, folder, dependencies })
    });
    packages.collect()
}

/// The files without those of folders that the root manifest excludes: these are for somebody to copy, and no part of the
/// workspace.
pub fn members(files: &[File]) -> Vec<File> {
    let root = files.iter().find(|file| file.path == "Cargo.toml");
    let excluded = root.and_then(|root| {
        let table: Table = root.text.parse().ok()?;
        let folders = table.get("workspace")?.get("exclude")?.as_array()?.clone();
        Some(folders.iter().filter_map(|folder| Some(format!("{}/", folder.as_str()?))).collect::<Vec<_>>())
    });
    let excluded = excluded.unwrap_or_default();
    let member = |file: &&File| !excluded.iter().any(|folder| file.path.starts_with(folder));
    files.iter().filter(member).cloned().collect()
}

/// What is wrong with the manifests.
pub fn manifests(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_manifest() && file.path != "Cargo.toml") {
        let path = &file.path;
        let table: Table = match file.text.parse() {
            Ok(table) => table,
            Err(error) => {
                problems.push(format!("{path}: {}", error.to_string().trim_end()));
                continue;
            }
        };
        for (name, dependencies) in dependency_tables(&table) {
            let foreign = dependencies.iter().filter(|(_, dependency)| !from_workspace(dependency));
            problems.extend(foreign.map(|(dependency, _)| {
                format!("{path}: {dependency} in [{name}] must be taken from the workspace: versions stand in the root manifest")
            }));
        }
        if !table.get("lints").is_some_and(from_workspace) {
            problems.push(format!("{path}: [lints] workspace = true is missing"));
        }
    }
    problems
}

/// Whether an entry says `workspace = true` and names no source of its own.
fn from_workspace(entry: &Value) -> bool {
    let own = ["version", "path", "git", "registry"].iter().any(|key| entry.get(key).is_some());
    entry.get("workspace").and_then(Value::as_bool) == Some(true) && !own
}

/// Every table of dependencies with its name, those of targets too.
fn dependency_tables(manifest: &Table) -> Vec<(String, &Table)> {
    const KINDS: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];
    let mut tables = Vec::new();
    for kind in KINDS {
        tables.extend(manifest.get(*kind).and_then(Value::as_table).map(|table| ((*kind).to_owned(), table)));
    }
    for (target, table) in manifest.get("target").and_then(Value::as_table).into_iter().flatten() {
        for kind in KINDS {
            let found = table.get(kind).and_then(Value::as_table);
            tables.extend(found.map(|table| (format!("target.{target}.{kind}"), table)));
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn violations_are_found() {
        let check = |manifest: &str, expected: &[&str]| {
            let text = format!("[package]\nname = \"x\"\n{manifest}");
            let problems =
                manifests(&[File::new("x/Cargo.toml", &text), File::new("Cargo.toml", "[workspace]")]);
            assert_eq!(problems.len(), expected.len(), "{problems:?}");
            for (problem, expected) in problems.iter().zip(expected) {
                assert!(problem.contains(expected), "{problem}");
            }
        };
        const LINTS: &str = "[lints]\nworkspace = true\n";
        check(LINTS, &[]);
        check("", &["[lints]"]);
        check("[lints.rust]\nunsafe_code = \"allow\"", &["[lints]"]);
        check(
            &format!(
                "{LINTS}[dependencies]\na.workspace = true\nb = {{ workspace = true, features = [\"c\"] }}"
            ),
            &[],
        );
        check(&format!("{LINTS}[dependencies]\na = \"1\""), &["a in [dependencies]"]);
        check(&format!("{LINTS}[dev-dependencies]\na = {{ path = \"../a\" }}"), &["a in [dev-dependencies]"]);
        check(&format!("{LINTS}[build-dependencies]\na = {{ git = \"u\" }}"), &["a in [build-dependencies]"]);
        check(
            &format!("{LINTS}[target.'cfg(unix)'.dependencies]\na = \"1\""),
            &["target.cfg(unix).dependencies"],
        );
        check("[lints", &["x/Cargo.toml"]);
    }

    #[test]
    fn packages_have_their_product_dependencies() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\n[dev-dependencies]\nb.workspace = true\n[target.'cfg(unix)'.dependencies]\nc.workspace = true";
        let found = packages(&[File::new("x/Cargo.toml", manifest), File::new("Cargo.toml", "[workspace]")]);
        let dependencies = ["a", "c"].into_iter().map(str::to_owned).collect();
        assert_eq!(found, [Package { name: "x".to_owned(), folder: "x/".to_owned(), dependencies }]);
    }

    #[test]
    fn what_the_workspace_excludes_is_no_part_of_it() {
        let root = File::new("Cargo.toml", "[workspace]\nexclude = [\"a/template\"]");
        let files = [root, File::new("a/template/Cargo.toml", ""), File::new("a/templates/x.rs", "")];
        let paths: Vec<String> = members(&files).into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["Cargo.toml", "a/templates/x.rs"]);
    }
}
