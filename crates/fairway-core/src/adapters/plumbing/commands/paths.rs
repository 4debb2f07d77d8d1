//! The directory of a session and the socket of its multiplexer, for backend scripts.

use std::path::PathBuf;

use anyhow::Result;

use super::session_dir;
pub use super::state_dir;
use crate::adapters::plumbing::server_socket;
use crate::domain::Refusal;
use crate::env::Env;

/// Returns whether the session's root process is alive, and the session's directory; `None` when there is no such session.
pub fn find_session(env: &Env, name: &str) -> Result<Option<(bool, PathBuf)>> {
    let dir = session_dir(env, name)?;
    if !dir.path().is_dir() {
        return Ok(None);
    }
    Ok(Some((dir.is_alive()?, dir.path().to_owned())))
}

/// The path of the socket for the server of `program` that belongs to the current state directory alone. Creates the directory of
/// the socket.
///
/// # Errors
/// `invalid_value` when `program` is not a plain name. An I/O error when the directory cannot be created, is a link or belongs to
/// another user.
pub fn socket_path(env: &Env, program: &str) -> Result<PathBuf> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    if program.is_empty() || program.len() > 32 || !program.chars().all(is_plain) {
        return Err(Refusal::invalid("the program", "must be at most 32 ASCII letters, digits, - and _").into());
    }
    Ok(server_socket::prepare_path(&state_dir(env)?, program)?)
}
