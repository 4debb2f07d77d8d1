//! A configured backend.

use serde::{Deserialize, Deserializer};

use super::values::{self, StaleAfter, impl_word};
use crate::domain::string_enum::string_enum;

/// A configured backend.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Backend {
    /// The script; a path relative to the root; a bare name that is no file there is looked up in PATH.
    pub script: Option<String>,
    /// Its own limit of silence.
    pub stale_after: Option<StaleAfter>,
    /// Where its multiplexer listens: `default` for the person's own server, or a path, relative to the root.
    #[serde(deserialize_with = "socket")]
    pub socket: Option<String>,
    /// The runner of a session's setup.
    #[serde(deserialize_with = "values::word")]
    pub setup: Setup,
}

string_enum! {
    /// The runner of `session_setup`, `session_setup_script` and `session_live`, in which the revisions of the protocol differ: the
    /// script, as in the newer revision, or the caller, for scripts of the older one.
    #[derive(Default)]
    Setup { #[default] Script => "script", Caller => "caller" }
}

impl_word!(Setup);

fn socket<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    values::parsed(deserializer, |socket| {
        let is_wrong = socket.is_empty() || socket.contains(char::is_control);
        if is_wrong { Err("must be \"default\" or a path") } else { Ok(Some(socket.to_owned())) }
    })
}
