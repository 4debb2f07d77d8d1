//! Parts of every command that types a text into a session.

use std::{io, time::Duration};

use crate::{
    adapters::plumbing::SessionDir,
    env::{Env, vars},
    os::lock::FileLock,
};

/// How long to wait while another process types a text.
const LOCK_TIMEOUT: Duration = Duration::from_secs(15);

/// The texts by which the caller's questions are recognized on a screen: nothing is typed into a question.
pub(super) fn questions(env: &Env) -> Vec<String> {
    env.var(vars::FAIRWAY_QUESTIONS).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Acquires the lock for typing into a session.
///
/// # Errors
/// When another process types for too long.
pub(super) fn input_turn(dir: &SessionDir) -> io::Result<FileLock> {
    dir.lock_input(LOCK_TIMEOUT)?.ok_or_else(|| io::Error::other("another text is still being typed into it"))
}
