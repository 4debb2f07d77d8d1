//! The turnstile: a queue in front of every write, for fairness only. SQLite's own lock is what keeps writes apart: when
//! the turnstile takes too long, the write goes on without it.

use std::{io, path::Path, time::Duration};

use crate::os::lock_queue::{self, QueuedLock};

/// How long a turn is waited for, when nothing else waits meanwhile.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Takes a turn; `None` when patience ran out.
///
/// # Errors
/// When the queue's file cannot be opened.
pub(super) fn acquire(store: &Path, patience: Duration) -> io::Result<Option<QueuedLock>> {
    lock_queue::acquire(&sibling_path(store, "-turn"), patience)
}

/// A file beside the store, by the suffix to its name.
#[must_use]
pub fn sibling_path(store: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
