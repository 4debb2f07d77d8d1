//! The operations of the protocol, each as one call.

use std::{collections::BTreeSet, io, time::Duration};

use super::{Adapter, AdapterError, Capabilities, Report, StartConfig, call::LIMIT};
use crate::{domain::secrets, env::vars, os::capture::Captured};

/// How many lines of what a successful start remarked are told on.
const REMARKS: usize = 20;

/// What a question was answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// `true`.
    Yes,
    /// `false`.
    No,
    /// Neither, and why: not dead and not alive.
    Unknown(String),
}

impl From<Result<bool, AdapterError>> for Known {
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
    pub fn start(&self, name: &str, config: &StartConfig, limit: Duration) -> Result<Option<Report>, AdapterError> {
        self.start_and_tell(name, config, limit, &mut |_| {})
    }

    /// The same; `tell` gets what the script remarked on stderr, a line at a time, without what looks like a secret.
    ///
    /// # Errors
    /// By what the script did; `Exists` when it says that a live one of that name is there.
    pub fn start_and_tell(
        &self,
        name: &str,
        config: &StartConfig,
        limit: Duration,
        tell: &mut dyn FnMut(String),
    ) -> Result<Option<Report>, AdapterError> {
        let text = serde_json::to_vec(config)
            .map_err(|error| self.failed("start", format!("the configuration cannot be written: {error}")))?;
        let done = self.call("start", &[name], &text, limit, Some(config.run_id.as_deref().unwrap_or_default()));
        let remarks = done.as_ref().map(|done| done.stderr.clone()).unwrap_or_default();
        let said = self.settled("start", done, limit).map_err(|error| match error {
            AdapterError::Failed { script, why, .. } if why.to_lowercase().contains("already exists") => {
                AdapterError::Exists { script, why: config.hidden(&why) }
            }
            AdapterError::Failed { script, operation, why } => {
                AdapterError::Failed { script, operation, why: config.hidden(&why) }
            }
            AdapterError::Later { script, operation, why } => {
                AdapterError::Later { script, operation, why: config.hidden(&why) }
            }
            error => error,
        })?;
        let remarks = secrets::masked(&config.hidden(&String::from_utf8_lossy(&remarks)));
        for line in remarks.lines().map(str::trim).filter(|line| !line.is_empty()).take(REMARKS) {
            tell(line.to_owned());
        }
        Ok(Report::read(&said))
    }

    /// Stops a session; one that is not there is no failure.
    ///
    /// # Errors
    /// By what the script did.
    pub fn stop(&self, name: &str) -> Result<(), AdapterError> {
        self.told("stop", &[name], b"")
    }

    /// Interrupts what a session does, as Ctrl-C would; one that is not there is no failure.
    ///
    /// # Errors
    /// By what the script did.
    pub fn interrupt(&self, name: &str) -> Result<(), AdapterError> {
        self.told("interrupt", &[name], b"")
    }

    /// Types a text into a session and submits it; one that is not there is no failure.
    ///
    /// # Errors
    /// By what the script did.
    pub fn nudge(&self, name: &str, text: &[u8]) -> Result<(), AdapterError> {
        self.told("nudge", &[name], text)
    }

    /// Brings a session to this process's own terminal until somebody detaches or it ends; answers with the script's exit
    /// code.
    ///
    /// # Errors
    /// When the script cannot be run, or does not know the operation.
    pub fn attach(&self, name: &str) -> Result<u8, AdapterError> {
        self.shown("attach", &[name])
    }

    /// Presses keys in a session, by their names.
    ///
    /// # Errors
    /// By what the script did.
    pub fn send_keys(&self, name: &str, keys: &[&str]) -> Result<(), AdapterError> {
        let args: Vec<&str> = std::iter::once(name).chain(keys.iter().copied()).collect();
        self.told("send-keys", &args, b"")
    }

    /// Asks whether a session runs.
    ///
    /// # Errors
    /// When it cannot be told: not dead and not alive.
    pub fn runs(&self, name: &str) -> Result<bool, AdapterError> {
        self.asked("is-running", name, b"")
    }

    /// The same as a word.
    #[must_use]
    pub fn is_running(&self, name: &str) -> Known {
        self.runs(name).into()
    }

    /// Asks whether one of these programs, by exact base name, runs in a session; with no names, whether it lives.
    ///
    /// # Errors
    /// When it cannot be told.
    pub fn process_alive(&self, name: &str, programs: &[String]) -> Result<bool, AdapterError> {
        self.asked("process-alive", name, programs.join("\n").as_bytes())
    }

    /// Asks whether somebody's terminal is attached to a session.
    ///
    /// # Errors
    /// When it cannot be told.
    pub fn is_attached(&self, name: &str) -> Result<bool, AdapterError> {
        self.asked("is-attached", name, b"")
    }

    /// The sessions that this script started and that run, by the beginning of their names.
    ///
    /// # Errors
    /// When it cannot be told: no name may then be taken for absent.
    pub fn list_running(&self, prefix: &str) -> Result<BTreeSet<String>, AdapterError> {
        let said = self.said("list-running", &[prefix])?;
        Ok(String::from_utf8_lossy(&said).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    /// Whether the session of this name is the one of this run; `None` when the script does not tell.
    #[must_use]
    pub fn is_of_run(&self, name: &str, run: &str) -> Option<bool> {
        let said = self.get_meta(name, vars::FAIRWAY_RUN_ID).ok()?;
        let named = String::from_utf8_lossy(&said).trim_end().to_owned();
        (!named.is_empty()).then(|| named == run)
    }

    /// A value that a session holds, or one of its start environment; empty when it is unset.
    ///
    /// # Errors
    /// By what the script did.
    pub fn get_meta(&self, name: &str, key: &str) -> Result<Vec<u8>, AdapterError> {
        self.said("get-meta", &[name, key])
    }

    /// Keeps a value with a session.
    ///
    /// # Errors
    /// By what the script did.
    pub fn set_meta(&self, name: &str, key: &str, value: &[u8]) -> Result<(), AdapterError> {
        self.told("set-meta", &[name, key], value)
    }

    /// Forgets a value.
    ///
    /// # Errors
    /// By what the script did.
    pub fn remove_meta(&self, name: &str, key: &str) -> Result<(), AdapterError> {
        self.told("remove-meta", &[name, key], b"")
    }

    /// The last lines that a session shows; all of them for 0 lines.
    ///
    /// # Errors
    /// By what the script did.
    pub fn peek(&self, name: &str, lines: u32) -> Result<String, AdapterError> {
        let said = self.said("peek", &[name, &lines.to_string()])?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// When a session last printed something, RFC 3339; empty when the script cannot tell.
    ///
    /// # Errors
    /// By what the script did.
    pub fn last_activity(&self, name: &str) -> Result<String, AdapterError> {
        Ok(String::from_utf8_lossy(&self.said("get-last-activity", &[name])?).trim().to_owned())
    }

    /// What the script says that it can do. One that does not know the question can nothing beyond the protocol's floor.
    ///
    /// # Errors
    /// By what the script did, also when its answer is no such document.
    pub fn capabilities(&self) -> Result<Capabilities, AdapterError> {
        match self.said("protocol", &[]) {
            Ok(said) => Capabilities::read(&said).map_err(|error| self.failed("protocol", error.to_string())),
            Err(AdapterError::Unsupported { .. }) => Ok(Capabilities::default()),
            Err(error) => Err(error),
        }
    }

    fn said(&self, operation: &'static str, args: &[&str]) -> Result<Vec<u8>, AdapterError> {
        self.within_limit(operation, self.call(operation, args, b"", LIMIT, None))
    }

    fn told(&self, operation: &'static str, args: &[&str], stdin: &[u8]) -> Result<(), AdapterError> {
        self.within_limit(operation, self.call(operation, args, stdin, LIMIT, None)).map(drop)
    }

    fn asked(&self, operation: &'static str, name: &str, stdin: &[u8]) -> Result<bool, AdapterError> {
        match self.within_limit(operation, self.call(operation, &[name], stdin, LIMIT, None))?.trim_ascii() {
            b"true" => Ok(true),
            b"false" => Ok(false),
            _ => Err(self.failed(operation, "it answered neither true nor false".to_owned())),
        }
    }

    fn within_limit(&self, operation: &'static str, done: io::Result<Captured>) -> Result<Vec<u8>, AdapterError> {
        self.settled(operation, done, LIMIT)
    }
}
