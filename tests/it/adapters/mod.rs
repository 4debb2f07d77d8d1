//! The built-in scripts in the hands of another caller, with real multiplexers on sockets of their own.

mod caller_contract;
mod conformance;
mod recorded_terminals;
mod shared_checks;
mod tmux;
mod tmux_nudge;
mod tmux_server;
mod tmux_start;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fairway_core::os::process::{self, ProcStat, ProcessKey};
use fairway_core::os::{poll_until, process_tree};

use crate::common::TestProject;
use crate::common::test_project::{CommandOutput, FAIRWAY};

/// A caller that knows nothing of Fairway but one script. What a failing test leaves is ended with it.
struct Caller {
    world: TestProject,
    script: PathBuf,
    state: PathBuf,
}

impl Caller {
    /// A caller of the built-in script of this name.
    fn of(backend: &str) -> Self {
        let world = TestProject::uninitialized();
        world.real_time();
        let (folder, state) = (world.dir().join("scripts"), world.dir().join("state"));
        world.run(["adapter", "install", &folder.display().to_string()]).exits(0);
        Self { script: folder.join(format!("{backend}.sh")), state, world }
    }

    /// The script with these arguments, not yet started.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(&self.script);
        command.args(args).env("FAIRWAY_BIN", FAIRWAY).env("GC_EXEC_STATE_DIR", &self.state);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The script, started and given its stdin.
    fn begin(&self, args: &[&str], stdin: &[u8]) -> Child {
        given(self.command(args), stdin)
    }

    /// Calls the script.
    #[track_caller]
    fn call(&self, args: &[&str], stdin: impl AsRef<[u8]>) -> CommandOutput {
        self.begin(args, stdin.as_ref()).wait_with_output().unwrap().into()
    }

    /// Calls the script, demands success and answers with what it printed.
    #[track_caller]
    fn said(&self, args: &[&str]) -> String {
        self.call(args, "").exits(0).stdout
    }

    /// Starts a session of a command, with fields of the configuration beside it.
    #[track_caller]
    fn start(&self, name: &str, command: &str, more: serde_json::Value) -> serde_json::Value {
        let mut start = more;
        start["command"] = command.into();
        self.call(&["start", name], start.to_string()).exits(0).json()
    }

    /// A folder in the world, made.
    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.world.dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// A program of the world's own, before others of its name.
    fn program(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.folder("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let found = |name: &str| {
            let folders = fs::read_dir(&self.state).into_iter().flatten().flatten();
            folders.filter_map(|folder| fs::read(folder.path().join(name)).ok()).collect::<Vec<_>>()
        };
        for text in found("start.json") {
            let start: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
            if let Some(run) = start["env"]["FAIRWAY_RUN_ID"].as_str() {
                let mark = format!("FAIRWAY_RUN_ID={run}");
                let _ = process_tree::terminate(Duration::from_millis(100), || process_tree::with_env_entry(&mark));
            }
        }
        // Servers are known by the socket in their command line; one that was frozen does not hear TERM.
        let _ = process_tree::terminate(Duration::from_millis(100), || Ok(naming(self.world.dir())));
    }
}

/// Every process that has a path below this one in its command line.
fn naming(folder: &Path) -> Vec<ProcessKey> {
    let folder = format!("{}/", folder.display());
    let names = |pid: i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&folder)
    };
    let found = process::all().unwrap_or_default();
    found.iter().filter(|one| !one.is_zombie() && names(one.pid)).map(ProcStat::key).collect()
}

/// A command, started and given its stdin.
fn given(mut command: Command, stdin: &[u8]) -> Child {
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let text = stdin.to_vec();
    // Whoever does not read must not hold up the test.
    std::thread::spawn(move || {
        let _ = pipe.write_all(&text);
    });
    child
}

/// Waits for a fact.
#[track_caller]
fn eventually<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(20), ask)
        .unwrap_or_else(|| panic!("never: {what}"))
}

/// Waits until a file holds exactly this, and fails when it comes to hold something else.
#[track_caller]
fn holds(path: &Path, expected: &[u8]) {
    let read = || fs::read(path).unwrap_or_default();
    let came = poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(20), || {
        (read() == expected).then_some(())
    });
    let found = read();
    let differs = found.iter().zip(expected).position(|(one, other)| one != other);
    assert!(came.is_some(), "{} bytes for {}, first difference at {differs:?}", found.len(), expected.len());
}
