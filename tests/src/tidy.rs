//! Rules of the house that a program can hold, over the files of the workspace: data in, a list of what is wrong out.
//! `tests/tidy.rs` runs them on the workspace; here each is shown a planted violation.
//!
//! What they mean is in the project's documents; why a rule is there stands beside it. Whatever clippy or rustc can
//! say (`unsafe`, `unwrap`, missing documentation) is left to them.

mod layers;
mod manifests;
mod rust;
mod text;
mod tree;

pub use layers::layers;
pub use manifests::{Package, manifests, members, packages};
pub use rust::{Path, Source};
pub use text::{machine_paths, openings_and_lengths, placeholders};
pub use tree::{File, read_tree};

/// Everything that is wrong, each as `file:line: what`.
pub fn problems(files: &[File]) -> Vec<String> {
    let members = members(files);
    let mut problems = manifests(&members);
    problems.extend(layers(&packages(&members), &members));
    problems.extend(openings_and_lengths(files));
    problems.extend(placeholders(files));
    problems.extend(machine_paths(files));
    problems
}
