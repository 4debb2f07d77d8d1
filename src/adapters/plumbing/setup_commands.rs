//! What a person wrote to be run around a session's start: shell text, each with a limit, none of it fatal.

use std::{collections::BTreeMap, ffi::OsString, path::Path, time::Duration};

use crate::{
    domain::secrets,
    os::{
        capture::{self, Call, End},
        exec, executable,
    },
};

/// How long one may take.
const LIMIT: Duration = Duration::from_secs(30);
/// How much of what one said is told on, in letters.
const TOLD: usize = 300;

/// Where they run.
#[derive(Debug)]
pub struct Steps<'a> {
    /// The session's environment: what one leaves running is ended with the session.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// The folder that they run in.
    pub cwd: &'a Path,
}

impl Steps<'_> {
    /// Runs shell texts, one after the other; `warn` is told of each that fails.
    pub fn run(&self, what: &str, texts: Option<&[String]>, warn: &mut dyn FnMut(&str)) {
        for text in texts.unwrap_or_default() {
            self.call(what, text, Path::new("/bin/sh"), &["-c".into(), text.into()], warn);
        }
    }

    /// Runs a script's file, or shell text when it is none.
    pub fn run_script(&self, what: &str, text: Option<&str>, warn: &mut dyn FnMut(&str)) {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return };
        let file = self.cwd.join(text);
        if executable::can_run(&file) {
            self.call(what, text, &file, &[], warn);
        } else if file.is_file() {
            self.call(what, text, Path::new("/bin/sh"), &[file.into()], warn);
        } else {
            self.call(what, text, Path::new("/bin/sh"), &["-c".into(), text.into()], warn);
        }
    }

    fn call(&self, what: &str, text: &str, program: &Path, args: &[OsString], warn: &mut dyn FnMut(&str)) {
        let call = Call { program, args, env: self.env, cwd: self.cwd, stdin: b"", limit: LIMIT, ends_group: true };
        // What one leaves running would else hold the caller's locks.
        let why = match exec::close_on_exec().and_then(|()| capture::capture(&call)) {
            Ok(done) => {
                let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
                match done.end {
                    End::Exit(0) => return,
                    End::Exit(code) => format!("exit code {code} {said}"),
                    End::Signal(signal) => format!("signal {signal} {said}"),
                    End::TimedOut => format!("not done after {} s", LIMIT.as_secs()),
                }
            }
            Err(error) => error.to_string(),
        };
        let brief: String = secrets::masked(why.trim()).chars().take(TOLD).collect();
        let named: String = secrets::masked(text).chars().take(80).collect();
        warn(&format!("{what} failed: {named}: {brief}"));
    }
}
