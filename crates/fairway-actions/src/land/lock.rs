//! The lock of landing: only one landing works on this host at a time.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use crate::App;
use fairway_core::domain::Refusal;
use fairway_core::os::files;
use fairway_core::os::lock::FileLock;
use fairway_core::store::StoreError;

/// How long to wait for another landing, whose checks may take long.
const LOCK_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

fn lock_path(app: &App) -> PathBuf {
    app.project.runtime_dir().join("land.lock")
}

/// Whether a landing is at work on this host; true when that cannot be found out.
pub fn is_at_work(app: &App) -> bool {
    let path = lock_path(app);
    path.exists() && !matches!(FileLock::try_acquire(&path), Ok(Some(_)))
}

/// Acquires the lock, and waits for other landings; `say` gets a line when it has to wait. Fails with `in_use` after a day.
pub(super) fn acquire(app: &App, say: &dyn Fn(&str)) -> Result<FileLock> {
    let runtime = app.project.runtime_dir();
    files::private_dir(&app.project.state).and_then(|()| files::private_dir(&runtime)).map_err(StoreError::from)?;
    let path = lock_path(app);
    if let Some(lock) = FileLock::try_acquire(&path).map_err(StoreError::from)? {
        return Ok(lock);
    }
    say("waiting for another landing");
    let lock = FileLock::acquire_within(&path, LOCK_TIMEOUT).map_err(StoreError::from)?;
    lock.ok_or_else(|| {
        let (id, by) = (app.project.root.display().to_string(), "another landing".to_owned());
        Refusal::InUse { noun: "repository", id, by }.into()
    })
}
