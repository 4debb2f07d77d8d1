//! A snapshot of the store, as a document.

use std::path::PathBuf;

use serde::Serialize;

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SnapshotView {
    /// Its file, which `fairway restore FILE` takes too.
    pub file: PathBuf,
    /// When it was made.
    pub made_at: String,
    /// The newest event in it.
    pub event: i64,
    /// Its length in bytes.
    pub bytes: u64,
}
