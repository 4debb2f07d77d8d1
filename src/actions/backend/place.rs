//! Where a session and its multiplexer are, for the scripts.

use std::{ffi::OsString, path::PathBuf};

use anyhow::Result;

use super::plumbing::{folder, state};
use crate::{
    adapters::{self, plumbing::socket},
    domain::Refusal,
    env::{Env, vars},
    os::exec,
};

/// Whether a session's root process lives, and its folder; `None` when there is no such session. A script keeps there what
/// goes with the session.
///
/// # Errors
/// When it cannot be told whether it lives.
pub fn find(env: &Env, name: &str) -> Result<Option<(bool, PathBuf)>> {
    let folder = folder(env, name)?;
    if !folder.path().is_dir() {
        return Ok(None);
    }
    Ok(Some((folder.is_alive()?, folder.path().to_owned())))
}

/// The socket of this state folder's private server of a program.
///
/// # Errors
/// When its folder cannot be made or is not this user's alone.
pub fn socket(env: &Env, program: &str) -> Result<PathBuf> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if program.is_empty() || program.len() > 32 || !program.chars().all(is_plain) {
        return Err(Refusal::invalid("the program", "is a word of letters, digits, - and _").into());
    }
    Ok(socket::place(&state(env)?, program)?)
}

/// The mark of a multiplexer's server: whoever ends a session around it passes it by.
const SERVER: &str = "server";

/// What a multiplexer puts around its own panes; a server that is started inside one must not know of it.
const PANES: &[&str] = &["TMUX", "TMUX_PANE", "STY", "WINDOW", "ZELLIJ", "ZELLIJ_PANE_ID", "ZELLIJ_SESSION_NAME"];

/// Becomes a command that starts a multiplexer's server: nothing of a session in its environment, and no descriptor of the
/// caller. Returns only when that fails.
///
/// # Errors
/// Why it failed.
pub fn bare(env: &Env, words: &[OsString]) -> Result<()> {
    let mut around = adapters::bare(env);
    around.retain(|name, _| !name.to_str().is_some_and(|name| PANES.contains(&name) || adapters::names_ours(name)));
    around.insert(vars::FAIRWAY_RUN_ID.into(), SERVER.into());
    Err(exec::become_program(words, &around).into())
}
