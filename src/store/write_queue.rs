//! A queue in front of every write, for fairness only. SQLite's own lock serializes writes: when the queue takes too long,
//! the write proceeds without it.

use std::{io, path::Path, time::Duration};

use crate::os::lock_queue::{self, QueuedLock};

/// How long to wait in the queue by default.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Waits for a turn in the queue; `None` after the timeout.
pub(super) fn acquire(store: &Path, timeout: Duration) -> io::Result<Option<QueuedLock>> {
    lock_queue::acquire(&sibling_path(store, "-turn"), timeout)
}

/// A file beside the store: its name plus a suffix.
pub fn sibling_path(store: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
