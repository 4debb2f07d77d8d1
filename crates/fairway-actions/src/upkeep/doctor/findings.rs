//! Parts of a finding that every check of `doctor` uses.

use std::io;
use std::path::Path;

use crate::App;
use fairway_core::store::StoreError;

/// The command that repairs a finding which `doctor` can repair itself.
pub(super) const FIX_COMMAND: &str = "fairway doctor --fix";

/// Returns the part of a path below the project's root, and any other path unchanged.
pub(super) fn display_path(app: &App, path: &Path) -> String {
    path.strip_prefix(&app.project.root).unwrap_or(path).display().to_string()
}

pub(super) fn io_error(path: &Path, error: io::Error) -> anyhow::Error {
    StoreError::io(path.display().to_string(), error).into()
}
