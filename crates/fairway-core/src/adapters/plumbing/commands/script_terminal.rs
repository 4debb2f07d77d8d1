//! Types into a session through its script: the script shows the screen, pastes and presses Enter, and is told here when to do
//! so.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::{input_turn, questions, read_limited, session_dir};
use crate::adapters::plumbing::submit_text::{self, Submission, Terminal, Timeouts};
use crate::env::Env;
use crate::os::capture::{self, Call};
use crate::os::exit_reason::ExitReason;

/// The longest text, in bytes.
const MAX_TEXT_BYTES: u64 = 4 << 20;
/// How long a script may take for one step.
const STEP_TIMEOUT: Duration = Duration::from_secs(8);

/// A session's terminal, which is operated through its script.
struct ScriptTerminal<'a> {
    script: PathBuf,
    name: &'a str,
    env: &'a BTreeMap<OsString, OsString>,
    cwd: &'a Path,
}

impl ScriptTerminal<'_> {
    fn call(&self, operation: &str, stdin: &[u8]) -> io::Result<Vec<u8>> {
        let args = [operation, self.name].map(OsString::from);
        let call = Call {
            program: &self.script,
            args: &args,
            env: self.env,
            cwd: self.cwd,
            stdin,
            limit: STEP_TIMEOUT,
            ends_group: false,
        };
        let done = capture::capture(&call)?;
        if done.exit == ExitReason::Code(0) {
            return Ok(done.stdout);
        }
        let said = String::from_utf8_lossy(&done.stderr);
        Err(io::Error::other(match said.trim() {
            "" => format!("'{operation}' failed"),
            said => said.to_owned(),
        }))
    }
}

impl Terminal for ScriptTerminal<'_> {
    fn snapshot(&mut self) -> io::Result<Vec<u8>> {
        self.call("look", b"")
    }

    fn paste(&mut self, text: &[u8]) -> io::Result<()> {
        self.call("paste", text).map(drop)
    }

    fn press_enter(&mut self) -> io::Result<()> {
        self.call("press", b"").map(drop)
    }
}

/// Types a text into a session through the session's script and submits it, after any other text that is being typed. When the
/// screen shows a question, nothing is submitted, and the text by which the question was recognized is returned. The caller lists
/// the texts that mark questions in the environment variable `FAIRWAY_QUESTIONS`. A session that does not exist is no error.
///
/// # Errors
/// When another text takes too long to type, the text is too long, or the script fails.
pub fn submit(env: &Env, name: &str, script: &Path, from: impl Read) -> Result<Option<String>> {
    let text = read_limited("the text", from, MAX_TEXT_BYTES)?;
    let dir = session_dir(env, name)?;
    if !dir.path().is_dir() {
        return Ok(None);
    }
    let questions = questions(env);
    let _turn = input_turn(&dir)?;
    let mut terminal = ScriptTerminal { script: env.cwd.join(script), name, env: env.vars(), cwd: &env.cwd };
    match submit_text::submit_text(&mut terminal, &text, &questions, &Timeouts::for_questions(&questions)) {
        Ok(Submission::Question(sign)) => Ok(Some(sign)),
        Ok(Submission::Submitted(_)) => Ok(None),
        // It has ended meanwhile.
        Err(_) if dir.has_exited()? => Ok(None),
        Err(error) => Err(error.into()),
    }
}
