//! The inputs of a process: time, ids, variables, directories and terminals. They are read once, in `main`, and handed down;
//! nothing below asks the operating system for the time or for a variable again.

mod clock;
pub mod debug_log;
pub mod git_hooks;
mod ids;
pub mod vars;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::PathBuf;

#[cfg(feature = "schemas")]
pub(crate) use clock::text_schema;
pub use clock::{Clock, Timestamp};
pub use ids::IdSource;

use crate::os;

/// Everything that a command may know about the process and machine that it runs in.
#[derive(Debug, Clone)]
pub struct Env {
    pub clock: Clock,
    pub ids: IdSource,
    /// Which of the standard streams are terminals, and how wide.
    pub terminal: Terminal,
    /// The working directory, as the caller sees it; `/` when it cannot be determined.
    pub cwd: PathBuf,
    /// Why the working directory cannot be determined, as when it was deleted.
    pub cwd_error: Option<String>,
    /// The user's home: `HOME`, else the passwd entry (cron gives none).
    pub home: Option<PathBuf>,
    vars: BTreeMap<OsString, OsString>,
}

impl Env {
    /// Reads the environment of this process.
    pub fn from_process() -> Self {
        // The one place that reads the process environment.
        let vars: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let (cwd, cwd_error) = match std::env::current_dir() {
            Ok(cwd) => (cwd, None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (PathBuf::from("/"), Some("it was deleted".into()))
            }
            Err(error) => (PathBuf::from("/"), Some(error.to_string())),
        };
        let home =
            vars.get(OsStr::new(vars::HOME)).filter(|home| !home.is_empty()).map(PathBuf::from).or_else(os::user::home);
        let clock = Clock::from_setting(vars.get(OsStr::new(vars::FAIRWAY_TEST_TIME)));
        let ids = IdSource::from_setting(vars.get(OsStr::new(vars::FAIRWAY_TEST_SEED)));
        let env = Self { clock, ids, terminal: Terminal::detect(), cwd, cwd_error, home, vars };
        if let Some(dir) = env.state_dir() {
            os::host::set_state_dir(&dir);
        }
        if env.var_os(vars::FAIRWAY_NETWORK_STORE).is_some() {
            os::file_system::allow_network();
        }
        env
    }

    /// A variable's text. Empty counts as unset, as it does in a shell's `${X:-}`; text that is not UTF-8 is absent.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.var_os(name)?.to_str()
    }

    /// A variable as a path or other raw bytes; empty counts as unset.
    pub fn var_os(&self, name: &str) -> Option<&OsString> {
        self.vars.get(OsStr::new(name)).filter(|value| !value.is_empty())
    }

    /// Every variable, for programs that inherit them.
    pub fn vars(&self) -> &BTreeMap<OsString, OsString> {
        &self.vars
    }

    /// The directory for state that outlives a project: `$XDG_STATE_HOME/fairway`, else `~/.local/state/fairway`.
    /// `None` when there is no home.
    pub fn state_dir(&self) -> Option<PathBuf> {
        // XDG says that a relative path there is to be ignored.
        let stated = self.var_os(vars::XDG_STATE_HOME).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = stated.or_else(|| Some(self.home.as_ref()?.join(".local/state")))?;
        Some(base.join("fairway"))
    }

    /// Panics, crashes or hangs when a test asks for that by `FAIRWAY_TEST_FAULT`. The callers are places where a failure must
    /// deny.
    ///
    /// # Panics
    /// When the test asks for `panic`.
    #[expect(clippy::panic, reason = "what a test asks for")]
    pub fn inject_test_fault(&self) {
        match self.var(vars::FAIRWAY_TEST_FAULT) {
            Some("panic") => panic!("as asked"),
            Some("crash") => std::process::abort(),
            Some("hang") => loop {
                std::thread::park();
            },
            _ => {}
        }
    }

    /// Whether a test asks for this fault by `FAIRWAY_TEST_FAULT`.
    pub fn has_test_fault(&self, name: &str) -> bool {
        self.var(vars::FAIRWAY_TEST_FAULT) == Some(name)
    }

    /// This environment with further variables, as a program that is started with them sees it. An empty value unsets a variable.
    #[must_use]
    pub fn with_vars(&self, other: &BTreeMap<String, String>) -> Self {
        let mut env = self.clone();
        for (name, value) in other {
            if value.is_empty() {
                env.vars.remove(OsStr::new(name));
            } else {
                env.vars.insert(name.into(), value.into());
            }
        }
        if let Some(home) = other.get(vars::HOME).filter(|home| !home.is_empty()) {
            env.home = Some(home.into());
        }
        env
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// Which of the standard streams are terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
}

impl Terminal {
    /// Asks the operating system which of the standard streams are terminals.
    pub fn detect() -> Self {
        Self {
            stdin: io::stdin().is_terminal(),
            stdout: io::stdout().is_terminal(),
            stderr: io::stderr().is_terminal(),
        }
    }
}
