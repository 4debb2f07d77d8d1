//! Where a session and its multiplexer are, for the scripts.

use std::path::PathBuf;

use anyhow::Result;

use super::session_dir;
pub use super::state_dir;
use crate::{adapters::plumbing::server_socket, domain::Refusal, env::Env};

/// Whether a session's root process lives, and its folder; `None` when there is no such session. A script keeps there what
/// goes with the session.
///
/// # Errors
/// When it cannot be told whether it lives.
pub fn find_session(env: &Env, name: &str) -> Result<Option<(bool, PathBuf)>> {
    let folder = session_dir(env, name)?;
    if !folder.path().is_dir() {
        return Ok(None);
    }
    Ok(Some((folder.is_alive()?, folder.path().to_owned())))
}

/// The socket of this state folder's private server of a program.
///
/// # Errors
/// When its folder cannot be made or is not this user's alone.
pub fn socket_path(env: &Env, program: &str) -> Result<PathBuf> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if program.is_empty() || program.len() > 32 || !program.chars().all(is_plain) {
        return Err(Refusal::invalid("the program", "is a word of letters, digits, - and _").into());
    }
    Ok(server_socket::prepare_path(&state_dir(env)?, program)?)
}
