//! The environment of a session's program: that of whoever started it, never a multiplexer server's, with what the pane says
//! about itself and, above all, what the session was started with.

use std::{collections::BTreeMap, ffi::OsString, io, os::unix::ffi::OsStrExt};

use super::Folder;
use crate::{adapters::StartConfig, env::Env};

/// What tells a program about the pane that it runs in. Another pane's must not reach it.
const PANE: &[&str] = &["TMUX", "TMUX_PANE", "STY", "WINDOW", "TERMCAP"];
/// The same of a multiplexer with many such names.
const PANE_PREFIX: &[u8] = b"ZELLIJ";
/// What tells a program about its terminal: the pane's, where there is one.
const TERMINAL: &[&str] = &["TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION"];
const PWD: &str = "PWD";

/// The environment of the session's program. `pane` is the environment of the process inside the pane; without one the
/// session has no terminal of its own.
///
/// # Errors
/// When the folder cannot be read.
pub fn of(folder: &Folder, start: &StartConfig, pane: Option<&Env>) -> io::Result<BTreeMap<OsString, OsString>> {
    let mut around = folder.around()?;
    around.retain(|name, _| !(is_panes(name) || pane.is_some() && is_terminals(name)));
    if let Some(pane) = pane {
        let own = pane.vars().iter().filter(|(name, _)| is_panes(name) || is_terminals(name));
        around.extend(own.map(|(name, value)| (name.clone(), value.clone())));
    }
    // A shell between the caller and us sets it, to the caller's.
    if let Some(place) = around.get_mut(&OsString::from(PWD)) {
        *place = folder.directory()?.into();
    }
    start.lay_over(&mut around);
    Ok(around)
}

fn is_panes(name: &OsString) -> bool {
    PANE.iter().any(|one| name == one) || name.as_bytes().starts_with(PANE_PREFIX)
}

fn is_terminals(name: &OsString) -> bool {
    TERMINAL.iter().any(|one| name == one)
}
