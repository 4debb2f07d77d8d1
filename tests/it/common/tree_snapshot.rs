//! Every file below a folder with its bytes, to see whether a command touched anything.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Names and bytes of all files; folders and links by name. SQLite's `-shm` is left out: it is memory, not content.
pub fn capture(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    walk(folder, &mut found);
    found
}

fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.insert(path.clone(), Vec::new());
            walk(&path, found);
        } else if !path.to_string_lossy().ends_with("-shm") {
            let bytes = if kind.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            found.insert(path, bytes);
        }
    }
}

/// Fails unless every file of `before` is there with the same bytes; others may have come.
#[track_caller]
pub fn assert_unchanged(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) {
    for (path, bytes) in before {
        let now = after.get(path).unwrap_or_else(|| panic!("{} is gone", path.display()));
        assert!(now == bytes, "{} has changed", path.display());
    }
}
