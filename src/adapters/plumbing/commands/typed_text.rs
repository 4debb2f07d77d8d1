//! Parts of every command that types a text into a session.

use std::{io, time::Duration};

use crate::{
    adapters::plumbing::SessionDir,
    env::{Env, vars},
    os::lock::FileLock,
};

/// How long another one's text is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(15);

/// The signs of the questions that the caller names: a text is not typed into them.
pub(super) fn questions(env: &Env) -> Vec<String> {
    env.var(vars::FAIRWAY_QUESTIONS).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The right to type into a session, until it is dropped.
///
/// # Errors
/// When another text is being typed for too long.
pub(super) fn input_turn(dir: &SessionDir) -> io::Result<FileLock> {
    dir.lock_input(LOCK_TIMEOUT)?.ok_or_else(|| io::Error::other("another text is still being typed into it"))
}
