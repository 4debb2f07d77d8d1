//! The Rust sources of a directory, and of the whole program.

use std::fs;
use std::path::{Path, PathBuf};

/// The sources of the program and of the crates below it, by their paths from the root.
pub const SOURCES: [&str; 3] = ["src", "crates/fairway-actions/src", "crates/fairway-core/src"];

/// Every Rust file of the program and of its crates.
pub fn sources() -> Vec<PathBuf> {
    SOURCES.iter().flat_map(|folder| rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))).collect()
}

/// Every Rust file below a directory.
pub fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}
