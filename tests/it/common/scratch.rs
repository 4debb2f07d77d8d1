//! Where test projects are made. A `.git` or a `.fairway.toml` in a directory above a project changes what git and Fairway
//! find there, so the root of all test projects has neither above it, whatever else lies in the temporary directory.

use std::env;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The files that make a directory a project or a repository for everything below it.
const MARKERS: [&str; 2] = [".git", ".fairway.toml"];

/// A new directory below a root without a marker above it. It is removed with the value.
pub fn directory(prefix: &str) -> TempDir {
    tempfile::Builder::new().prefix(prefix).tempdir_in(root()).unwrap()
}

/// The temporary directory where nothing above it is a project or a repository, else another one.
pub fn root() -> PathBuf {
    let candidates = [env::temp_dir(), "/tmp".into(), "/var/tmp".into(), "/dev/shm".into()];
    let found = candidates.iter().find(|candidate| candidate.is_dir() && marker_above(candidate).is_none());
    found.cloned().unwrap_or_else(|| panic!("a .git or .fairway.toml lies above each of {candidates:?}: set TMPDIR"))
}

/// The nearest marker in this directory or above it, also above the directory that a link leads to.
pub fn marker_above(directory: &Path) -> Option<PathBuf> {
    let real = directory.canonicalize().ok();
    let above = directory.ancestors().chain(real.iter().flat_map(|real| real.ancestors()));
    above.flat_map(|above| MARKERS.map(|name| above.join(name))).find(|marker| marker.symlink_metadata().is_ok())
}
