//! The operations of the protocol, each as one call.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use super::call::OPERATION_TIMEOUT;
use super::{Adapter, AdapterError, Capabilities, StartConfig, StartReport};
use crate::domain::{RunId, ansi, secrets};
use crate::env::vars;
use crate::os::capture::Captured;

/// How many warnings of a successful start are passed on, in lines.
const MAX_WARNING_LINES: usize = 20;

/// The answer to a yes-or-no question to a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tristate {
    /// `true`.
    Yes,
    /// `false`.
    No,
    /// The script gave no answer, for this reason: the session is neither known to be alive nor dead.
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
    /// Starts a session and returns the script's report; `None` when the script printed no valid report.
    ///
    /// # Errors
    /// [`AdapterError::SessionExists`] when the script says that a live session of that name exists.
    pub fn start(
        &self,
        name: &str,
        config: &StartConfig,
        limit: Duration,
    ) -> Result<Option<StartReport>, AdapterError> {
        self.start_with_callback(name, config, limit, &mut |_| {})
    }

    /// Like [`start`](Self::start). After success, also passes the first lines of the script's stderr to `tell`, with secrets
    /// masked.
    ///
    /// # Errors
    /// [`AdapterError::SessionExists`] when the script says that a live session of that name exists.
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

    /// Stops a session. A session that does not exist is no error.
    pub fn stop(&self, name: &str) -> Result<(), AdapterError> {
        self.run_operation("stop", &[name], b"")
    }

    /// Interrupts the session's program, as Ctrl-C would. A session that does not exist is no error.
    pub fn interrupt(&self, name: &str) -> Result<(), AdapterError> {
        self.run_operation("interrupt", &[name], b"")
    }

    /// Types a text into a session and submits it. A session that does not exist is no error.
    pub fn nudge(&self, name: &str, text: &[u8]) -> Result<(), AdapterError> {
        self.run_operation("nudge", &[name], text)
    }

    /// Like [`nudge`](Self::nudge), but submits nothing while the session's screen shows a question of the agent. A question is
    /// recognized by any of the texts in `signs`. Only the built-in scripts of multiplexers look for questions.
    ///
    /// # Errors
    /// [`AdapterError::Busy`] when the script saw a question.
    pub fn nudge_without_question(&self, name: &str, text: &[u8], signs: &[String]) -> Result<(), AdapterError> {
        let lines: Vec<String> =
            signs.iter().map(|sign| sign.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        self.clone().with_env([(vars::FAIRWAY_QUESTIONS, lines.join("\n").as_str())]).nudge(name, text)
    }

    /// Attaches this process's terminal to a session until the user detaches or the session ends. Returns the script's exit code.
    pub fn attach(&self, name: &str) -> Result<u8, AdapterError> {
        self.call_on_terminal("attach", &[name])
    }

    /// Presses keys in a session, given by names such as `Enter` or `C-c`.
    pub fn send_keys(&self, name: &str, keys: &[&str]) -> Result<(), AdapterError> {
        let args: Vec<&str> = std::iter::once(name).chain(keys.iter().copied()).collect();
        self.run_operation("send-keys", &args, b"")
    }

    /// Whether the session of this name runs.
    ///
    /// # Errors
    /// When the script gives no valid answer. The caller must then treat the session as neither alive nor dead.
    pub fn query_running(&self, name: &str) -> Result<bool, AdapterError> {
        self.query_bool("is-running", name, b"")
    }

    /// Like [`query_running`](Self::query_running), but returns [`Tristate::Unknown`] instead of an error.
    pub fn is_running(&self, name: &str) -> Tristate {
        self.query_running(name).into()
    }

    /// Whether the session runs a program whose base name equals one of `programs`. Without names: whether the session is alive.
    pub fn process_alive(&self, name: &str, programs: &[String]) -> Result<bool, AdapterError> {
        self.query_bool("process-alive", name, programs.join("\n").as_bytes())
    }

    pub fn is_attached(&self, name: &str) -> Result<bool, AdapterError> {
        self.query_bool("is-attached", name, b"")
    }

    /// The names of the script's running sessions that begin with `prefix`.
    ///
    /// # Errors
    /// When the script gives no answer. The caller must then not conclude that a session has ended.
    pub fn list_running(&self, prefix: &str) -> Result<BTreeSet<String>, AdapterError> {
        let said = self.query("list-running", &[prefix])?;
        Ok(String::from_utf8_lossy(&said).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    /// The run id that the script stores for the session of this name; `None` when it stores none.
    ///
    /// # Errors
    /// [`AdapterError::Unsupported`] when the script lacks the operation `get-meta`.
    pub fn session_run(&self, name: &str) -> Result<Option<RunId>, AdapterError> {
        let said = self.get_meta(name, vars::FAIRWAY_RUN_ID)?;
        let named = String::from_utf8_lossy(&said).trim_end().to_owned();
        Ok((!named.is_empty()).then(|| named.into()))
    }

    /// Whether the session of this name belongs to the session run `run`; `None` when the script fails or stores no run id for
    /// it.
    pub fn matches_session_run(&self, name: &str, run: &RunId) -> Option<bool> {
        self.session_run(name).ok().flatten().map(|named| named == *run)
    }

    /// Stores the run id with a session that was just started, unless the script already answers `get-meta` with a run id from
    /// the session's start environment.
    ///
    /// A script without the operations `get-meta` and `set-meta` is no error.
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

    /// Reads a value that was stored with the session, or a variable of its start environment; empty when the key is
    /// unset.
    pub fn get_meta(&self, name: &str, key: &str) -> Result<Vec<u8>, AdapterError> {
        self.query("get-meta", &[name, key])
    }

    /// Stores a value with a session, where [`get_meta`](Self::get_meta) finds it.
    pub fn set_meta(&self, name: &str, key: &str, value: &[u8]) -> Result<(), AdapterError> {
        self.run_operation("set-meta", &[name, key], value)
    }

    pub fn remove_meta(&self, name: &str, key: &str) -> Result<(), AdapterError> {
        self.run_operation("remove-meta", &[name, key], b"")
    }

    /// The last `lines` lines of a session's output; all of them when `lines` is 0.
    pub fn peek(&self, name: &str, lines: u32) -> Result<String, AdapterError> {
        let said = self.query("peek", &[name, &lines.to_string()])?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// The text on a session's screen, with the control sequences that set styles. Returns `None` for a script without the
    /// operation `look`.
    pub fn styled_screen(&self, name: &str) -> Result<Option<String>, AdapterError> {
        let seen = match self.query("look", &[name]) {
            Ok(said) => String::from_utf8_lossy(&said).into_owned(),
            Err(AdapterError::Unsupported { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        // The first line has the cursor's position; another script may use the operation's name for something else.
        let is_cursor =
            |line: &str| line.split(' ').count() == 2 && line.split(' ').all(|part| part.parse::<u32>().is_ok());
        let screen = seen.split_once('\n').filter(|(cursor, _)| is_cursor(cursor));
        Ok(screen.map(|(_, screen)| screen.to_owned()))
    }

    /// The text on a session's screen, without escape sequences. For a script without the operation `look`, the last `lines`
    /// lines of the session's output instead.
    pub fn visible_screen(&self, name: &str, lines: u32) -> Result<String, AdapterError> {
        let screen = match self.styled_screen(name)? {
            Some(screen) => screen,
            None => self.peek(name, lines)?,
        };
        Ok(ansi::strip_escapes(&screen))
    }

    /// When a session last printed something, in RFC 3339; empty when the script cannot tell.
    pub fn last_activity(&self, name: &str) -> Result<String, AdapterError> {
        Ok(String::from_utf8_lossy(&self.query("get-last-activity", &[name])?).trim().to_owned())
    }

    /// Asks the script for its capabilities. A script without the operation `protocol` has none.
    ///
    /// # Errors
    /// When the script fails, or its answer is not a JSON object with capabilities.
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
