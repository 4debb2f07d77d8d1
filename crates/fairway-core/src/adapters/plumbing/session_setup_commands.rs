//! Runs the configured commands around a session's start: shell text, each with a time limit. A failure is only a warning.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use crate::domain::secrets;
use crate::os::capture::{self, Call};
use crate::os::exit_reason::ExitReason;
use crate::os::{exec, executable};

/// How long one command may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// How much of a command's output a warning quotes, in characters.
const MAX_REASON_CHARS: usize = 300;

/// The surroundings of the commands.
#[derive(Debug)]
pub struct SetupCommands<'a> {
    /// The session's environment. Processes that a command leaves running end with the session.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// The directory that they run in.
    pub cwd: &'a Path,
}

impl SetupCommands<'_> {
    /// Runs shell commands, one after the other. `warn` gets a message for each command that fails. The message names the
    /// commands by `what`, their field in the start configuration.
    pub fn run_all(&self, what: &str, texts: Option<&[String]>, warn: &mut dyn FnMut(&str)) {
        for text in texts.unwrap_or_default() {
            self.run_one(what, text, Path::new("/bin/sh"), &["-c".into(), text.into()], warn);
        }
    }

    /// Runs the script file at the path `text`, or `text` itself as shell text when there is no such file. A blank text runs
    /// nothing. `warn` gets a message when the script fails, in which `what` names its field in the start configuration.
    pub fn run_script(&self, what: &str, text: Option<&str>, warn: &mut dyn FnMut(&str)) {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return };
        let file = self.cwd.join(text);
        if executable::is_executable(&file) {
            self.run_one(what, text, &file, &[], warn);
        } else if file.is_file() {
            self.run_one(what, text, Path::new("/bin/sh"), &[file.into()], warn);
        } else {
            self.run_one(what, text, Path::new("/bin/sh"), &["-c".into(), text.into()], warn);
        }
    }

    fn run_one(&self, what: &str, text: &str, program: &Path, args: &[OsString], warn: &mut dyn FnMut(&str)) {
        let call =
            Call { program, args, env: self.env, cwd: self.cwd, stdin: b"", limit: COMMAND_TIMEOUT, ends_group: true };
        // Otherwise a process that a command leaves running would keep the caller's locks.
        let why = match exec::close_on_exec().and_then(|()| capture::capture(&call)) {
            Ok(done) => {
                let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
                match done.exit {
                    ExitReason::Code(0) => return,
                    ExitReason::Code(code) => format!("exit code {code} {said}"),
                    ExitReason::Signal(signal) => format!("signal {signal} {said}"),
                    ExitReason::TimedOut => format!("not done after {} s", COMMAND_TIMEOUT.as_secs()),
                }
            }
            Err(error) => error.to_string(),
        };
        let brief: String = secrets::mask(why.trim()).chars().take(MAX_REASON_CHARS).collect();
        let named: String = secrets::mask(text).chars().take(80).collect();
        warn(&format!("{what} failed: {named}: {brief}"));
    }
}
