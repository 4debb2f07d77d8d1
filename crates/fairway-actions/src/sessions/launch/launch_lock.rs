//! The lock of a launch that is in progress. A launch that was killed leaves its lock file behind, unlocked, so that it can be
//! told from one that is in progress.

use std::path::PathBuf;
use std::{fs, io};

use crate::App;
use fairway_core::domain::session::Session;
use fairway_core::os::files;
use fairway_core::os::lock::InheritableLock;

/// The lock, until it is dropped. Its file is removed with it.
#[derive(Debug)]
pub(crate) struct LaunchLock {
    path: PathBuf,
    _lock: InheritableLock,
}

/// The state of a launch, as its lock file shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaunchState {
    InProgress,
    /// The launching process has died.
    Interrupted,
    /// The launch has ended, or it took no lock.
    Unknown,
}

impl LaunchLock {
    /// Takes the lock for the launch of a session. Fails at once when another process has it.
    pub(crate) fn acquire(app: &App, session: &Session) -> io::Result<Self> {
        files::private_dir(&app.project.state)?;
        files::private_dir(&app.project.runtime_dir())?;
        let path = path(app, session);
        let lock = InheritableLock::try_acquire(&path)?;
        let lock = lock.ok_or_else(|| io::Error::other(format!("{} is locked", path.display())))?;
        Ok(Self { path, _lock: lock })
    }
}

impl Drop for LaunchLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Finds out from the lock file whether a launch of the session is in progress. The session must be of this host.
pub(crate) fn state(app: &App, session: &Session) -> LaunchState {
    let path = path(app, session);
    match InheritableLock::is_locked(&path) {
        Ok(false) if path.exists() => LaunchState::Interrupted,
        Ok(false) | Err(_) => LaunchState::Unknown,
        Ok(true) => LaunchState::InProgress,
    }
}

fn path(app: &App, session: &Session) -> PathBuf {
    app.project.runtime_dir().join(format!("launch-{}.lock", session.run_id))
}
