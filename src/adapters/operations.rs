//! The operations of the protocol, each as one call.

use std::{collections::BTreeSet, io, time::Duration};

use super::{Adapter, AdapterError, Capabilities, StartConfig, StartReport, call::OPERATION_TIMEOUT};
use crate::{
    domain::{RunId, ansi, secrets},
    env::vars,
    os::capture::Captured,
};

/// How many lines of what a successful start remarked are told on.
const MAX_WARNING_LINES: usize = 20;

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tristate {
    /// `true`.
    Yes,
    /// `false`.
    No,
    /// Neither, and why: not dead and not alive.
    Unknown(String),
}

impl From<Result<bool, AdapterError>> for Tristate {
    fn from(answer: Result<bool, AdapterError>) -> Self {
        match answer {
            Ok(true) => Self::Yes,
            Ok(false) => Self::No,
            Err(error) => Self::Unknown(error.to_string()),
        }
    }
}

impl Adapter {
    /// Starts a session.
    ///
    /// # Errors
    /// By what the script did; `Exists` when it says that a live one of that name is there.
    pub fn start(
        &self,
        name: &str,
        config: &StartConfig,
        limit: Duration,
    ) -> Result<Option<StartReport>, AdapterError> {
        self.start_with_callback(name, config, limit, &mut |_| {})
    }

    /// Starts a session; `tell` gets the script's lines on stderr, one at a time, without anything that looks like a secret.
    ///
    /// # Errors
    /// By what the script did; `Exists` when it says that a live one of that name is there.
    pub fn start_with_callback(
        &self,
        name: &str,
        config: &StartConfig,
        limit: Duration,
        tell: &mut dyn FnMut(String),
    ) -> Result<Option<StartReport>, AdapterError> {
        let text = serde_json::to_vec(config)
            .map_err(|error| self.failed("start", format!("the configuration cannot be written: {error}")))?;
        let done = self.call("start", &[name], &text, limit, Some(config.run_id.as_deref().unwrap_or_default()));
        let notes = done.as_ref().map(|done| done.stderr.clone()).unwrap_or_default();
        let said = self.classify("start", done, limit).map_err(|error| match error {
            AdapterError::Failed { script, why, .. } if why.to_lowercase().contains("already exists") => {
                AdapterError::SessionExists { script, why: config.redacted(&why) }
            }
            AdapterError::Failed { script, operation, why } => {
                AdapterError::Failed { script, operation, why: config.redacted(&why) }
            }
            AdapterError::Busy { script, operation, why } => {
                AdapterError::Busy { script, operation, why: config.redacted(&why) }
            }
            error => error,
        })?;
        let notes = secrets::mask(&config.redacted(&String::from_utf8_lossy(&notes)));
        for line in notes.lines().map(str::trim).filter(|line| !line.is_empty()).take(MAX_WARNING_LINES) {
            tell(line.to_owned());
        }
        Ok(StartReport::read(&said))
    }

    /// Stops a session; one that is not there is no failure.
    pub fn stop(&self, name: &str) -> Result<(), AdapterError> {
        self.run_operation("stop", &[name], b"")
    }

    /// Interrupts what a session does, as Ctrl-C would; one that is not there is no failure.
    pub fn interrupt(&self, name: &str) -> Result<(), AdapterError> {
        self.run_operation("interrupt", &[name], b"")
    }

    /// Types a text into a session and submits it; one that is not there is no failure.
    pub fn nudge(&self, name: &str, text: &[u8]) -> Result<(), AdapterError> {
        self.run_operation("nudge", &[name], text)
    }

    /// Nudges, unless a question with one of these signs is on the screen. The built-in script of a multiplexer that shows its
    /// screen looks right before each key.
    ///
    /// # Errors
    /// By what the script did; `Busy` when it saw a question.
    pub fn nudge_without_question(&self, name: &str, text: &[u8], signs: &[String]) -> Result<(), AdapterError> {
        let lines: Vec<String> =
            signs.iter().map(|sign| sign.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        self.clone().with_env([(vars::FAIRWAY_QUESTIONS, lines.join("\n").as_str())]).nudge(name, text)
    }

    /// Brings a session to this process's own terminal until the user detaches or it ends; answers with the script's exit
    /// code.
    pub fn attach(&self, name: &str) -> Result<u8, AdapterError> {
        self.call_on_terminal("attach", &[name])
    }

    /// Presses keys in a session, by their names.
    pub fn send_keys(&self, name: &str, keys: &[&str]) -> Result<(), AdapterError> {
        let args: Vec<&str> = std::iter::once(name).chain(keys.iter().copied()).collect();
        self.run_operation("send-keys", &args, b"")
    }

    /// Asks whether a session runs.
    ///
    /// # Errors
    /// When it cannot be determined: not dead and not alive.
    pub fn query_running(&self, name: &str) -> Result<bool, AdapterError> {
        self.query_bool("is-running", name, b"")
    }

    /// Whether the session runs, as a word.
    pub fn is_running(&self, name: &str) -> Tristate {
        self.query_running(name).into()
    }

    /// Asks whether one of these programs, by exact base name, runs in a session; with no names, whether it lives.
    pub fn process_alive(&self, name: &str, programs: &[String]) -> Result<bool, AdapterError> {
        self.query_bool("process-alive", name, programs.join("\n").as_bytes())
    }

    /// Asks whether a terminal is attached to a session.
    pub fn is_attached(&self, name: &str) -> Result<bool, AdapterError> {
        self.query_bool("is-attached", name, b"")
    }

    /// The sessions that this script started and that run, by the beginning of their names.
    ///
    /// # Errors
    /// When it cannot be determined: no name may then be taken for absent.
    pub fn list_running(&self, prefix: &str) -> Result<BTreeSet<String>, AdapterError> {
        let said = self.query("list-running", &[prefix])?;
        Ok(String::from_utf8_lossy(&said).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    /// The session run that the session of this name belongs to; `None` when the script holds none.
    ///
    /// # Errors
    /// By what the script did; `Unsupported` by a script without meta.
    pub fn session_run(&self, name: &str) -> Result<Option<RunId>, AdapterError> {
        let said = self.get_meta(name, vars::FAIRWAY_RUN_ID)?;
        let named = String::from_utf8_lossy(&said).trim_end().to_owned();
        Ok((!named.is_empty()).then(|| named.into()))
    }

    /// Whether the session of this name is the one of this run; `None` when the script does not tell.
    pub fn matches_session_run(&self, name: &str, run: &RunId) -> Option<bool> {
        self.session_run(name).ok().flatten().map(|named| named == *run)
    }

    /// Stores the session run with a session that was just started, where the script does not answer `get-meta` with the start
    /// environment.
    ///
    /// # Errors
    /// By what the script did. A script without meta is no error.
    pub fn store_session_run(&self, name: &str, run: &RunId) -> Result<(), AdapterError> {
        let stored = match self.session_run(name) {
            Ok(None) => self.set_meta(name, vars::FAIRWAY_RUN_ID, run.as_str().as_bytes()),
            known => known.map(drop),
        };
        match stored {
            Err(AdapterError::Unsupported { .. }) => Ok(()),
            stored => stored,
        }
    }

    /// A value that a session holds, or one of its start environment; empty when it is unset.
    pub fn get_meta(&self, name: &str, key: &str) -> Result<Vec<u8>, AdapterError> {
        self.query("get-meta", &[name, key])
    }

    /// Keeps a value with a session.
    pub fn set_meta(&self, name: &str, key: &str, value: &[u8]) -> Result<(), AdapterError> {
        self.run_operation("set-meta", &[name, key], value)
    }

    /// Forgets a value.
    pub fn remove_meta(&self, name: &str, key: &str) -> Result<(), AdapterError> {
        self.run_operation("remove-meta", &[name, key], b"")
    }

    /// The last lines that a session shows; all of them for 0 lines.
    pub fn peek(&self, name: &str, lines: u32) -> Result<String, AdapterError> {
        let said = self.query("peek", &[name, &lines.to_string()])?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// The screen of a session's terminal, as text: exactly the screen where the script can tell, as that of tmux, else the last
    /// `lines` lines.
    pub fn visible_screen(&self, name: &str, lines: u32) -> Result<String, AdapterError> {
        let seen = match self.query("look", &[name]) {
            Ok(said) => String::from_utf8_lossy(&said).into_owned(),
            Err(AdapterError::Unsupported { .. }) => String::new(),
            Err(error) => return Err(error),
        };
        // The first line is the cursor's place; another script may take the operation for something else.
        let is_cursor =
            |line: &str| line.split(' ').count() == 2 && line.split(' ').all(|part| part.parse::<u32>().is_ok());
        match seen.split_once('\n').filter(|(cursor, _)| is_cursor(cursor)) {
            Some((_, screen)) => Ok(ansi::strip_escapes(screen)),
            None => Ok(ansi::strip_escapes(&self.peek(name, lines)?)),
        }
    }

    /// When a session last printed something, RFC 3339; empty when the script cannot tell.
    pub fn last_activity(&self, name: &str) -> Result<String, AdapterError> {
        Ok(String::from_utf8_lossy(&self.query("get-last-activity", &[name])?).trim().to_owned())
    }

    /// The capabilities by the script's own answer. A script that does not know the question can nothing beyond the protocol's
    /// floor.
    ///
    /// # Errors
    /// By what the script did, also when its answer is no such document.
    pub fn capabilities(&self) -> Result<Capabilities, AdapterError> {
        match self.query("protocol", &[]) {
            Ok(said) => Capabilities::read(&said).map_err(|error| self.failed("protocol", error.to_string())),
            Err(AdapterError::Unsupported { .. }) => Ok(Capabilities::default()),
            Err(error) => Err(error),
        }
    }

    fn query(&self, operation: &'static str, args: &[&str]) -> Result<Vec<u8>, AdapterError> {
        self.classify_operation(operation, self.call(operation, args, b"", OPERATION_TIMEOUT, None))
    }

    fn run_operation(&self, operation: &'static str, args: &[&str], stdin: &[u8]) -> Result<(), AdapterError> {
        self.classify_operation(operation, self.call(operation, args, stdin, OPERATION_TIMEOUT, None)).map(drop)
    }

    fn query_bool(&self, operation: &'static str, name: &str, stdin: &[u8]) -> Result<bool, AdapterError> {
        match self
            .classify_operation(operation, self.call(operation, &[name], stdin, OPERATION_TIMEOUT, None))?
            .trim_ascii()
        {
            b"true" => Ok(true),
            b"false" => Ok(false),
            _ => Err(self.failed(operation, "it answered neither true nor false".to_owned())),
        }
    }

    fn classify_operation(&self, operation: &'static str, done: io::Result<Captured>) -> Result<Vec<u8>, AdapterError> {
        self.classify(operation, done, OPERATION_TIMEOUT)
    }
}
