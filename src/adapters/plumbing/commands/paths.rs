//! Where a session and its multiplexer are, for the scripts.

use std::path::PathBuf;

use anyhow::Result;

use super::session_dir;
pub use super::state_dir;
use crate::{adapters::plumbing::server_socket, domain::Refusal, env::Env};

/// Whether a session's root process lives, and its directory; `None` when there is no such session. A script keeps there what
/// goes with the session.
///
/// # Errors
/// When it cannot be told whether it lives.
pub fn find_session(env: &Env, name: &str) -> Result<Option<(bool, PathBuf)>> {
    let dir = session_dir(env, name)?;
    if !dir.path().is_dir() {
        return Ok(None);
    }
    Ok(Some((dir.is_alive()?, dir.path().to_owned())))
}

/// The socket of this state directory's private server of a program.
///
/// # Errors
/// When its directory cannot be made or is not this user's alone.
pub fn socket_path(env: &Env, program: &str) -> Result<PathBuf> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if program.is_empty() || program.len() > 32 || !program.chars().all(is_plain) {
        return Err(Refusal::invalid("the program", "is a word of letters, digits, - and _").into());
    }
    Ok(server_socket::prepare_path(&state_dir(env)?, program)?)
}
