//! The environment of a session's program: that of the process which started the session (never a multiplexer server's), then the
//! pane's own variables, then the variables of the start configuration.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;

use super::SessionDir;
use crate::adapters::StartConfig;
use crate::env::Env;

/// The variables that describe the pane in which a program runs. Another pane's must not reach it.
const PANE_VARS: &[&str] = &["TMUX", "TMUX_PANE", "STY", "WINDOW", "TERMCAP"];
/// The common beginning of the variables of a multiplexer with many.
const PANE_VAR_PREFIX: &[u8] = b"ZELLIJ";
/// The variables that describe the program's terminal: the pane's, where there is one.
const TERMINAL_VARS: &[&str] = &["TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"];
const PWD: &str = "PWD";

/// Returns the environment for the session's program: that of the process that started the session, changed by the start
/// configuration. `pane` is the environment of a process inside the multiplexer's pane, from which the variables of the pane and
/// its terminal are taken; `None` for a session without a terminal of its own.
pub fn program_env(
    dir: &SessionDir,
    start: &StartConfig,
    pane: Option<&Env>,
) -> io::Result<BTreeMap<OsString, OsString>> {
    let mut around = dir.caller_env()?;
    around.retain(|name, _| !(is_pane_var(name) || pane.is_some() && is_terminal_var(name)));
    if let Some(pane) = pane {
        let own = pane.vars().iter().filter(|(name, _)| is_pane_var(name) || is_terminal_var(name));
        around.extend(own.map(|(name, value)| (name.clone(), value.clone())));
    }
    // A shell between the caller and this process may have set it to the caller's directory.
    if let Some(place) = around.get_mut(&OsString::from(PWD)) {
        *place = dir.work_dir()?.into();
    }
    start.apply_env(&mut around);
    Ok(around)
}

fn is_pane_var(name: &OsString) -> bool {
    PANE_VARS.iter().any(|one| name == one) || name.as_bytes().starts_with(PANE_VAR_PREFIX)
}

fn is_terminal_var(name: &OsString) -> bool {
    TERMINAL_VARS.iter().any(|one| name == one)
}
