//! A configured backend.

use serde::Deserialize;

use super::values::{StaleAfter, unknown_value};

/// A configured backend.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backend {
    /// The script; a path with a slash is relative to the root, a bare name is looked up in PATH.
    pub script: Option<String>,
    /// Its own limit of silence.
    pub stale_after: Option<StaleAfter>,
    /// Where its multiplexer listens: `default` for the person's own server, or a path, relative to the root.
    pub socket: Option<String>,
    /// The runner of a session's setup.
    pub setup: Setup,
}

/// The runner of `session_setup`, `session_setup_script` and `session_live`: the revisions of the protocol differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Setup {
    /// The script, as the newer revision has it.
    #[default]
    Script,
    /// The caller, for scripts of the older revision.
    Caller,
}

/// A section as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Raw {
    pub(super) script: Option<String>,
    pub(super) stale_after: Option<String>,
    pub(super) socket: Option<String>,
    pub(super) setup: Option<String>,
}

impl Raw {
    /// The backend, with its limit of silence as it was read.
    ///
    /// # Errors
    /// The key and what is wrong with its value.
    pub(super) fn into_backend(self, stale_after: Option<StaleAfter>) -> Result<Backend, (&'static str, String)> {
        let setup = match self.setup.as_deref() {
            None | Some("script") => Setup::Script,
            Some("caller") => Setup::Caller,
            Some(word) => return Err(("setup", unknown_value(word, &["script", "caller"]))),
        };
        if self.socket.as_ref().is_some_and(|socket| socket.is_empty() || socket.contains(char::is_control)) {
            return Err(("socket", "must be \"default\" or a path".to_owned()));
        }
        Ok(Backend { script: self.script, stale_after, socket: self.socket, setup })
    }
}
