//! A configured backend.

use super::{
    section::section,
    values::{StaleAfter, impl_word, reader},
};
use crate::domain::string_enum::string_enum;

section! {
    /// A configured backend.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Backend {
        /// A backend script that implements the exec session protocol.
        #[sample("/usr/local/bin/my-backend")]
        pub script: Option<String>,
        /// Where its multiplexer listens: "default" for your own server, or a path; a private one when it is not set.
        #[sample("default")]
        pub socket: Option<String> as Option<Socket>,
        /// Who runs session_setup and its like: script, or caller for scripts of the older protocol.
        #[sample("script")]
        pub setup: Option<Setup>,
        /// Overrides sessions.stale_after.
        #[sample("10m")]
        pub stale_after: Option<StaleAfter>,
    }
}

string_enum! {
    /// The runner of `session_setup`, `session_setup_script` and `session_live`, in which the revisions of the protocol differ: the
    /// script, as in the newer revision, or the caller, for scripts of the older one.
    #[derive(Default)]
    Setup { #[default] Script => "script", Caller => "caller" }
}

impl_word!(Setup);

reader! {
    Socket(String) -> String;
    |socket: &String| {
        let is_wrong = socket.is_empty() || socket.contains(char::is_control);
        if is_wrong { Err("must be \"default\" or a path") } else { Ok(socket.clone()) }
    }
}
