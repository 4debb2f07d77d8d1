//! The state directory and the session directories that all commands use.

use std::path::PathBuf;

use crate::adapters;
use crate::adapters::plumbing::SessionDir;
use crate::domain::Refusal;
use crate::env::Env;

/// The directory in which backend scripts keep the state of their sessions. An error when the environment names no home
/// directory.
pub fn state_dir(env: &Env) -> Result<PathBuf, Refusal> {
    let none = || Refusal::invalid("the environment", "names no home directory; set HOME or FAIRWAY_ADAPTER_STATE");
    adapters::state_dir(env).ok_or_else(none)
}

pub fn session_dir(env: &Env, name: &str) -> Result<SessionDir, Refusal> {
    if name.is_empty() {
        return Err(Refusal::invalid("the session's name", "must not be empty"));
    }
    Ok(SessionDir::of(&state_dir(env)?, name))
}
