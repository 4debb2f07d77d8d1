//! Calling a multiplexer for a script: its server must inherit nothing, and must not be waited for when it is frozen.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io::{self, Read},
    path::Path,
    time::Duration,
};

use anyhow::Result;

use super::read_limited;
use crate::{
    adapters,
    env::{Env, vars},
    os::{
        capture::{self, Call, Captured},
        exec, executable,
        lock::FileLock,
    },
};

/// The environment tag of a multiplexer's server; ending a session does not end processes with it.
const SERVER_TAG: &str = "server";

/// The variables that a multiplexer sets in its own panes; a server that is started inside one must not know of it.
const PANE_VARS: &[&str] = &["TMUX", "TMUX_PANE", "STY", "WINDOW", "ZELLIJ", "ZELLIJ_PANE_ID", "ZELLIJ_SESSION_NAME"];

/// The longest text that a multiplexer is given, in bytes.
const MAX_STDIN_BYTES: u64 = 8 << 20;

/// How long others may ask before us.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The caller's environment without anything of a session or a pane.
fn clean_env(env: &Env) -> BTreeMap<OsString, OsString> {
    let mut around = adapters::clean_env(env);
    around.retain(|name, _| {
        !name.to_str().is_some_and(|name| PANE_VARS.contains(&name) || adapters::is_session_var(name))
    });
    around.insert(vars::FAIRWAY_RUN_ID.into(), SERVER_TAG.into());
    around
}

/// Becomes a command that starts a multiplexer's server: nothing of a session in its environment, and no descriptor of the
/// caller. Returns only when that fails.
///
/// # Errors
/// Why it failed.
pub fn exec_clean(env: &Env, words: &[OsString]) -> Result<()> {
    Err(exec::replace_process(words, &clean_env(env)).into())
}

/// The turn to ask a server that answers one at a time only, held until it is dropped; `None` when it did not come.
pub fn acquire_lock(file: &Path) -> io::Result<Option<FileLock>> {
    FileLock::acquire_within(file, LOCK_TIMEOUT)
}

/// Runs a command of a multiplexer, as bare, for at most so long, and keeps what it says; `None` when there is no such
/// program. Its streams are pipes of our own: a server that inherits one and does not answer would block the reader.
///
/// # Errors
/// When it cannot be started, or the text for it is too long.
pub fn call_with_timeout(
    env: &Env,
    words: &[OsString],
    limit: Duration,
    stdin: Option<&mut dyn Read>,
) -> Result<Option<Captured>> {
    let (first, args) = words.split_first().ok_or_else(|| io::Error::other("there is no command"))?;
    let text = stdin.map(|from| read_limited("the text", from, MAX_STDIN_BYTES)).transpose()?.unwrap_or_default();
    let found = executable::find(&first.to_string_lossy(), env.var_os(vars::PATH).map(OsString::as_os_str), &env.cwd);
    let Some(program) = found else { return Ok(None) };
    exec::close_on_exec()?;
    let around = clean_env(env);
    let call =
        Call { program: &program, args, env: &around, cwd: Path::new("/"), stdin: &text, limit, ends_group: false };
    Ok(Some(capture::capture(&call)?))
}
