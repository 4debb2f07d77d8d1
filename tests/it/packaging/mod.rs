//! Packages: the installer, the Debian package, the files of a release, the GitHub action.

mod action;
mod deb;
mod installer;
mod release_files;
mod release_server;

use std::path::PathBuf;

/// A path from the root of the repository.
fn root(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}
