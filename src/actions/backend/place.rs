//! Where a session and its multiplexer are, for the scripts.

use std::{ffi::OsString, path::PathBuf};

use anyhow::Result;

use super::plumbing::{folder, state};
use crate::{
    adapters::{
        self,
        plumbing::{Field, TRANSCRIPT, socket},
    },
    domain::Refusal,
    env::{Env, vars},
    os::exec,
};

/// The largest terminal that multiplexers take.
const LARGEST: u16 = 10_000;

/// The fields asked for, one each; nothing when there is no such session.
///
/// # Errors
/// When what was kept cannot be read, or it cannot be told whether the session lives.
pub fn fields(env: &Env, name: &str, fields: &[Field]) -> Result<Vec<String>> {
    let folder = folder(env, name)?;
    let Some(path) = folder.path() else { return Ok(Vec::new()) };
    let start = folder.start()?.unwrap_or_default();
    let size = start.terminal.unwrap_or_default();
    let work_dir = env.cwd.join(start.work_dir.as_deref().unwrap_or_default());
    let one = |field: &Field| {
        Ok(match field {
            Field::Folder => path.display().to_string(),
            Field::State => folder.state().display().to_string(),
            Field::Token => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            Field::Transcript => {
                let stated = start.transcript.as_ref().map(|stated| work_dir.join(stated));
                stated.unwrap_or_else(|| folder.file(TRANSCRIPT)).display().to_string()
            }
            Field::Rows => size.rows.clamp(1, LARGEST).to_string(),
            Field::Cols => size.cols.clamp(1, LARGEST).to_string(),
            Field::Run => start.var(vars::FAIRWAY_RUN_ID).unwrap_or_default().to_owned(),
            Field::Alive => folder.is_alive()?.to_string(),
        })
    };
    fields.iter().map(one).collect()
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
