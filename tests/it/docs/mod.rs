//! The documentation is true: its commands run, its reference pages match the sources, its links lead somewhere.
//!
//! `UPDATE_DOCS=1` rewrites outputs and generated parts. Run it, then read the difference.

mod commands;
mod links;
mod markdown;
mod names;
mod reference;
mod schemas;
mod sentences;
mod style;

use std::fs;
use std::path::{Path, PathBuf};

/// The repository's root.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a file, by its path from the root.
fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Whether this run rewrites the documentation instead of failing.
fn is_update() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

/// Every document for users and contributors, by its path from the root, sorted.
fn pages() -> Vec<String> {
    fn walk(dir: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path.strip_prefix(root()).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    let mut found: Vec<String> =
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "BENCHMARKS.md"].map(str::to_owned).to_vec();
    walk(&root().join("docs"), &mut found);
    walk(&root().join("examples"), &mut found);
    found.sort();
    found
}
