//! Calls of a multiplexer for a script: its server must inherit nothing from the caller, and a frozen server must not block the
//! caller.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::read_limited;
use crate::adapters;
use crate::env::{Env, vars};
use crate::os::capture::{self, Call, Captured};
use crate::os::lock::FileLock;
use crate::os::{exec, executable};

/// The run id in the environment of a multiplexer's server: the end of a session must not end the server.
const SERVER_TAG: &str = "server";

/// The variables that a multiplexer sets in its own panes. A server that is started inside a pane must not get them.
const PANE_VARS: &[&str] = &["TMUX", "TMUX_PANE", "STY", "WINDOW", "ZELLIJ", "ZELLIJ_PANE_ID", "ZELLIJ_SESSION_NAME"];

/// The longest text for a multiplexer's stdin, in bytes.
const MAX_STDIN_BYTES: u64 = 8 << 20;

/// How long to wait while other processes have the lock.
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

/// Replaces this process with a command that starts a multiplexer's server, without the variables of a session and without the
/// caller's descriptors. Returns only when that fails.
pub fn exec_clean(env: &Env, words: &[OsString]) -> Result<()> {
    Err(exec::replace_process(words, &clean_env(env)).into())
}

/// Locks `file` before a call of a multiplexer server that can answer only one caller at a time. `None` when other processes kept
/// it locked for too long.
pub fn acquire_lock(file: &Path) -> io::Result<Option<FileLock>> {
    FileLock::acquire_within(file, LOCK_TIMEOUT)
}

/// Runs a multiplexer's command in an environment without a session's variables, for at most `limit`, and captures its output.
/// `None` when there is no such program. The command does not inherit this process's stdin, stdout and stderr, because a server
/// that it starts could keep them open and so block those who read them.
///
/// # Errors
/// When the program cannot be started, or the text for its stdin is too long.
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
