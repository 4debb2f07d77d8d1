//! The turnstile: two lock files in front of every write, for fairness only. Whoever waits for the main lock holds the
//! next one, so that the others queue in the kernel instead of racing. SQLite's own lock is what keeps writes apart: when
//! the turnstile takes too long, the write goes on without it.

use std::{io, path::Path, time::Duration};

use crate::os::lock::FileLock;

const PATIENCE: Duration = Duration::from_secs(5);

/// Takes a turn; `None` when patience ran out.
///
/// # Errors
/// When a lock file cannot be opened.
pub(super) fn enter(store: &Path) -> io::Result<Option<FileLock>> {
    let Some(next) = FileLock::acquire_within(&beside(store, "-next"), PATIENCE)? else { return Ok(None) };
    let main = FileLock::acquire_within(&beside(store, "-turn"), PATIENCE)?;
    drop(next);
    Ok(main)
}

/// A file beside the store, by the suffix to its name.
pub(super) fn beside(store: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
