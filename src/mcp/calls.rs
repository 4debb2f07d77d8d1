//! The calls that the server needs from the command line that starts it.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};

use anyhow::{Error, Result};

use crate::{actions::App, wire::Failure};

/// Makes the context of each call, as the command line makes that of a command.
pub trait Calls: Send + Sync + 'static {
    /// The context of one call; nothing is open yet.
    ///
    /// # Errors
    /// `no_project`, a broken configuration, a variable with an invalid value.
    fn app(&self) -> Result<App>;

    /// The failure that the command line would print.
    fn failure(&self, error: &Error) -> Failure;

    /// A command of this program as a child, for commands that run programs.
    fn command(&self) -> OwnCommand;
}

/// The global flags, the environment and the directory of every command of this program as a child.
#[derive(Debug, Clone)]
pub struct OwnCommand {
    /// The global flags.
    pub flags: Vec<OsString>,
    /// The environment.
    pub env: BTreeMap<OsString, OsString>,
    /// The working directory.
    pub cwd: PathBuf,
}
