//! Other programs that run commands in the background, each in a place of its own: what there is of pueue, task-spooler and
//! nq, and Fairway among them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use serde_json::Value;
use tempfile::TempDir;

use crate::measure::{Build, finished_runs, project};

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Fairway,
    Pueue,
    TaskSpooler,
    Nq,
    /// None at all: `setsid -f`.
    Plain,
}

pub const PEERS: [Peer; 5] = [Peer::Fairway, Peer::Pueue, Peer::TaskSpooler, Peer::Nq, Peer::Plain];

/// So many runs have finished when it is asked how that slows anything down.
pub const FINISHED: u32 = 10_000;

/// The places of all of them.
pub struct Places {
    pub build: Build,
    pub project: TempDir,
    other: TempDir,
    /// pueue's daemon.
    daemon: Option<Child>,
    there: Vec<Peer>,
    /// A run of each that has finished.
    done: Vec<(Peer, String)>,
}

/// The program of this name: in PATH, or where `benches/peers.sh` has built it.
fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    folders.extend(env::var_os("FAIRWAY_PEERS").map(PathBuf::from));
    folders.into_iter().map(|folder| folder.join(program)).find(|path| path.is_file())
}

impl Places {
    /// Finds what there is, and says of what is not that it is not.
    pub fn new(build: Build) -> Self {
        let project = project(&build, 0, 1);
        let other = tempfile::Builder::new().prefix("fairway-peers").tempdir().unwrap();
        for name in ["pueue", "tsp", "nq"] {
            fs::create_dir(other.path().join(name)).unwrap();
        }
        let mut places = Self { build, project, other, daemon: None, there: vec![Peer::Fairway], done: Vec::new() };
        if find("pueue").is_some() && find("pueued").is_some() {
            let folder = places.folder("pueue");
            let text = format!(
                "shared:\n  pueue_directory: {0}\n  runtime_directory: {0}\n  use_unix_socket: true\nclient: {{}}\n\
                 daemon: {{}}\nprofiles: {{}}\n",
                folder.display()
            );
            fs::write(folder.join("pueue.yml"), text).unwrap();
            places.start_daemon();
            assert!(places.command("pueue", &["parallel", "64"]).status().unwrap().success());
            places.there.push(Peer::Pueue);
        }
        for (peer, program) in [(Peer::TaskSpooler, "tsp"), (Peer::Nq, "nq"), (Peer::Plain, "setsid")] {
            if find(program).is_some() {
                places.there.push(peer);
            }
        }
        for peer in PEERS.iter().filter(|peer| !places.has(**peer)) {
            eprintln!("{peer:?} is not there: `benches/peers.sh --install`");
        }
        places
    }

    pub fn has(&self, peer: Peer) -> bool {
        self.there.contains(&peer)
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        self.other.path().join(name)
    }

    /// One of their programs, in its place.
    pub fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(find(program).unwrap());
        command.env_clear().env("HOME", self.other.path()).env("PATH", "/usr/bin:/bin").current_dir(self.other.path());
        match program {
            "pueue" | "pueued" => command.arg("-c").arg(self.folder("pueue/pueue.yml")),
            "tsp" => command
                .env("TMPDIR", self.folder("tsp"))
                .env("TS_SOCKET", self.folder("tsp/socket"))
                .env("TS_SLOTS", "64")
                .env("TS_MAXFINISHED", "20000"),
            _ => command.env("NQDIR", self.folder("nq")),
        };
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Asks a command for its words.
    pub fn asked(mut command: Command) -> String {
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
        let text = if output.status.success() { output.stdout } else { output.stderr };
        String::from_utf8_lossy(&text).trim().to_owned()
    }

    /// A background run of these words, in no queue where there is a choice.
    pub fn spawn(&self, peer: Peer, words: &[&str]) -> Command {
        let with = |first: &[&'static str]| [first, words].concat();
        match peer {
            Peer::Fairway => {
                self.build.fairway(self.project.path(), &with(&["exec", "spawn", "--quiet", "--queue", "", "--"]))
            }
            Peer::Pueue => self.command("pueue", &with(&["add", "--print-task-id", "--escape", "--"])),
            Peer::TaskSpooler => self.command("tsp", words),
            Peer::Nq => self.command("nq", words),
            Peer::Plain => self.command("setsid", &with(&["-f"])),
        }
    }

    /// Asks how the run stands that has finished.
    pub fn status(&self, peer: Peer) -> Option<Command> {
        let (_, run) = self.done.iter().find(|(one, _)| *one == peer)?;
        Some(match peer {
            Peer::Fairway => self.build.fairway(self.project.path(), &["exec", "poll", run]),
            Peer::Pueue => self.command("pueue", &["log", run]),
            Peer::TaskSpooler => self.command("tsp", &["-s", run]),
            Peer::Nq => self.command("nq", &["-t", run]),
            Peer::Plain => return None,
        })
    }

    /// Lets a run of each of them finish.
    pub fn finish_one(&mut self) {
        for peer in self.there.clone() {
            let run = Self::asked(self.spawn(peer, &["true"]));
            self.done.push((peer, run));
        }
        thread::sleep(Duration::from_millis(500));
    }

    /// Makes it ten thousand.
    pub fn finish_many(&mut self) {
        for peer in self.there.clone() {
            match peer {
                Peer::Fairway => finished_runs(&self.build, &self.project),
                Peer::Pueue => self.many_tasks(),
                Peer::TaskSpooler => {
                    for _ in 0..FINISHED {
                        assert!(self.command("tsp", &["-n", "true"]).status().unwrap().success());
                    }
                }
                Peer::Nq => {
                    for number in 0..FINISHED {
                        let name = format!(",{:x}.{}", 0x190_0000_0000_u64 + u64::from(number), 2 + number % 30_000);
                        fs::write(self.folder("nq").join(name), "exec nq true\n\n[exited with status 0.]\n").unwrap();
                    }
                }
                Peer::Plain => {}
            }
        }
    }

    /// pueue's whole state is one document: so many copies of a task that is done, while the daemon is down.
    fn many_tasks(&mut self) {
        self.end_daemon();
        let path = self.folder("pueue/state.json");
        let mut state: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let tasks = state["tasks"].as_object_mut().unwrap();
        let done = tasks.values().find(|task| task["status"].get("Done").is_some()).unwrap().clone();
        for number in 1_000_000..1_000_000 + FINISHED {
            let mut task = done.clone();
            task["id"] = number.into();
            tasks.insert(number.to_string(), task);
        }
        fs::write(&path, serde_json::to_vec(&state).unwrap()).unwrap();
        self.start_daemon();
    }

    /// Starts pueue's daemon, and waits until it answers.
    pub fn start_daemon(&mut self) {
        let log = File::create(self.folder("pueue/log")).unwrap();
        self.daemon = Some(self.command("pueued", &[]).stderr(log).spawn().unwrap());
        let begun = Instant::now();
        while !self.command("pueue", &["status"]).status().unwrap().success() {
            let log = || fs::read_to_string(self.folder("pueue/log")).unwrap();
            assert!(begun.elapsed() < Duration::from_secs(30), "pueue's daemon does not answer: {}", log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it as an accident would.
    pub fn end_daemon(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            daemon.kill().unwrap();
            daemon.wait().unwrap();
        }
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        if self.has(Peer::Pueue) {
            let _ = self.command("pueue", &["kill", "--all"]).status();
        }
        if self.has(Peer::TaskSpooler) {
            let _ = self.command("tsp", &["-K"]).status();
        }
        self.end_daemon();
    }
}

/// A path as text.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
