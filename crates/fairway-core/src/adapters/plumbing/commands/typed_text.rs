//! Parts of every command that types a text into a session.

use std::io;
use std::time::Duration;

use crate::adapters::plumbing::SessionDir;
use crate::env::{Env, vars};
use crate::os::lock::FileLock;

/// How long to wait while another process types a text.
const LOCK_TIMEOUT: Duration = Duration::from_secs(15);

/// The texts by which a question of the program is recognized on its screen, from the variable `FAIRWAY_QUESTIONS`, one per line.
/// A text must not be submitted while such a question is shown.
pub(super) fn questions(env: &Env) -> Vec<String> {
    env.var(vars::FAIRWAY_QUESTIONS).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Acquires the lock that lets only one process at a time type into a session.
///
/// # Errors
/// When another process keeps the lock for too long.
pub(super) fn input_turn(dir: &SessionDir) -> io::Result<FileLock> {
    dir.lock_input(LOCK_TIMEOUT)?.ok_or_else(|| io::Error::other("another text is still being typed into it"))
}
