//! A caller of the protocol that knows nothing of Fairway but its script, and has no project.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::eventually;
use crate::common::TestProject;
use crate::common::test_project::{CommandOutput, FAIRWAY};

/// With a world of its own; the sessions end with it.
pub struct Caller {
    pub world: TestProject,
    pub script: PathBuf,
}

impl Caller {
    pub fn new() -> Self {
        let world = TestProject::uninitialized();
        world.real_time();
        let folder = world.dir().join("scripts");
        let run = world.run(["adapter", "install", &folder.display().to_string()]).exits(0);
        assert!(run.stdout.contains("/shell.sh"), "{run:?}");
        Self { script: folder.join("shell.sh"), world }
    }

    /// The script, not yet called.
    pub fn command<T: AsRef<OsStr>>(&self, args: &[T]) -> Command {
        let mut command = self.world.command(&self.script);
        command.args(args).env("FAIRWAY_BIN", FAIRWAY).env("GC_EXEC_STATE_DIR", self.state());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Where it keeps its state.
    pub fn state(&self) -> PathBuf {
        self.world.dir().join("state")
    }

    /// Where sessions start unless they say otherwise.
    pub fn work(&self) -> PathBuf {
        self.world.root()
    }

    /// Calls the script with bytes on its stdin.
    #[track_caller]
    pub fn call(&self, args: &[&str], stdin: impl AsRef<[u8]>) -> CommandOutput {
        finish(self.command(args), stdin.as_ref())
    }

    /// Starts a session, which must come up, and answers with its report.
    #[track_caller]
    pub fn start(&self, name: &str, config: &Value) -> Value {
        self.call(&["start", name], config.to_string()).exits(0).json()
    }

    /// Calls an operation that must succeed, and answers with what it printed.
    #[track_caller]
    pub fn ask(&self, args: &[&str]) -> String {
        self.call(args, "").exits(0).stdout
    }

    /// Waits for a file below the working directory, and reads it.
    #[track_caller]
    pub fn file(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let path = self.work().join(&name);
        eventually(&format!("{} is written", path.display()), || fs::read(&path).ok().filter(|seen| !seen.is_empty()))
    }

    /// Nothing is left of any session.
    #[track_caller]
    pub fn is_empty(&self) {
        let left: Vec<_> = fs::read_dir(self.state()).unwrap().flatten().map(|one| one.file_name()).collect();
        assert_eq!(left, [".lock"]);
    }
}

/// Runs a command with bytes on its stdin. One that refuses before it reads closes the pipe: that is its answer.
#[track_caller]
pub fn finish(mut command: Command, stdin: &[u8]) -> CommandOutput {
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(stdin);
    child.wait_with_output().unwrap().into()
}

impl Drop for Caller {
    fn drop(&mut self) {
        // Whatever a failing test left.
        let plumbing = |words: &[&str]| {
            self.world.fairway(words).env("GC_EXEC_STATE_DIR", self.state()).output().map(|done| done.stdout)
        };
        let left = plumbing(&["adapter", "list-running"]).unwrap_or_default();
        for name in String::from_utf8_lossy(&left).lines() {
            let _ = plumbing(&["adapter", "kill-tree", "--", name]);
        }
    }
}
