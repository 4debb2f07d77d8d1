//! A project whose runs are looked at from outside: the rows of its stores, its processes, and what its commands did.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use fairway_core::os::process::ProcessKey;
use fairway_core::os::{poll_until, process_tree};
use rusqlite::Connection;
use serde_json::Value;

use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, invariants};

/// How long anything may take that must come.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// A project in a folder of its own, with its home.
pub struct JobProject<'a> {
    pub world: &'a TestProject,
    pub dir: PathBuf,
    /// The home directory of its user.
    pub home: PathBuf,
}

/// The row of a job in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub id: String,
    pub status: String,
    pub attempt: i64,
    pub recovery: String,
    pub pid: Option<i64>,
    pub error: Option<String>,
}

impl Row {
    pub fn is_final(&self) -> bool {
        !["queued", "starting", "running"].contains(&&*self.status)
    }
}

impl<'a> JobProject<'a> {
    /// A project there, not yet initialised.
    pub fn new(world: &'a TestProject, dir: PathBuf) -> Self {
        fs::create_dir_all(dir.join("home")).unwrap();
        fs::write(dir.join(".fairway.toml"), "").unwrap();
        Self { world, home: dir.join("home"), dir }
    }

    /// The project of a world.
    pub fn of_world(world: &'a TestProject) -> Self {
        world.real_time();
        Self { world, home: world.root().join("home"), dir: world.root() }
    }

    /// The binary there, not yet started.
    pub fn fairway<'b>(&self, words: impl IntoIterator<Item = &'b str>) -> Command {
        let mut command = self.world.fairway(words);
        command.env("HOME", &self.home).current_dir(&self.dir);
        command
    }

    /// Runs it.
    #[track_caller]
    pub fn run<'b>(&self, words: impl IntoIterator<Item = &'b str>) -> CommandOutput {
        self.fairway(words).output().unwrap().into()
    }

    /// Runs it with `--json` and demands success.
    #[track_caller]
    pub fn json<'b>(&self, words: impl IntoIterator<Item = &'b str>) -> Value {
        CommandOutput::from(self.fairway(words).arg("--json").output().unwrap()).exits(0).json()
    }

    /// Starts a run; answers its id.
    #[track_caller]
    pub fn spawn<'b>(&self, words: impl IntoIterator<Item = &'b str>) -> String {
        let run = self.run(["exec", "spawn", "--quiet"].into_iter().chain(words)).exits(0);
        run.stdout.trim().to_owned()
    }

    pub fn store(&self) -> Connection {
        let conn = Connection::open(self.dir.join(".fairway/fairway.db")).unwrap();
        conn.busy_timeout(Duration::from_secs(20)).unwrap();
        conn
    }

    /// The output, as it is indexed; `None` before there was any.
    pub fn output(&self) -> Option<Connection> {
        let path = self.dir.join(".fairway/runs.db");
        let conn = path.exists().then(|| Connection::open(path).unwrap())?;
        conn.busy_timeout(Duration::from_secs(20)).unwrap();
        Some(conn)
    }

    /// Every run, in the order of asking; none, while there is no store.
    pub fn rows(&self) -> Vec<Row> {
        if !self.dir.join(".fairway/fairway.db").exists() {
            return Vec::new();
        }
        let conn = self.store();
        let Ok(mut rows) =
            conn.prepare("SELECT id, status, attempt, recovery, pid, error_message FROM exec_runs ORDER BY seq")
        else {
            return Vec::new();
        };
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Row {
                id: row.get(0)?,
                status: row.get(1)?,
                attempt: row.get(2)?,
                recovery: row.get(3)?,
                pid: row.get(4)?,
                error: row.get(5)?,
            })
        };
        rows.query_map([], read).unwrap().map(Result::unwrap).collect()
    }

    /// How often a line stands in a file there: how often a command has got so far.
    pub fn count(&self, file: &str, line: &str) -> i64 {
        let text = fs::read_to_string(self.dir.join(file)).unwrap_or_default();
        i64::try_from(text.lines().filter(|one| *one == line).count()).unwrap()
    }

    /// The processes of a run: its supervisor, and whatever its command has started.
    pub fn job_processes(run: &str) -> Vec<ProcessKey> {
        process_tree::with_env_entry(&format!("FAIRWAY_EXEC_RUN={run}")).unwrap()
    }

    /// Every process with this place in its command line: supervisors, whoever stands by, those who wait.
    pub fn processes(&self) -> Vec<ProcessKey> {
        process_tree::with_command_line_text(self.dir.to_str().unwrap()).unwrap()
    }

    /// The process that looks after a run, by its words.
    pub fn supervisor(&self, run: &str) -> Option<ProcessKey> {
        let is_it = |key: &ProcessKey| {
            let words = fs::read(format!("/proc/{}/cmdline", key.pid)).unwrap_or_default();
            let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
            words.contains(&b"supervise".as_slice()) && words.contains(&run.as_bytes())
        };
        self.processes().into_iter().find(is_it)
    }

    /// Waits until every run is final; fails when that never comes.
    #[track_caller]
    pub fn wait_all_final(&self, about: &str) -> Vec<Row> {
        let done = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(50), || {
            let rows = self.rows();
            rows.iter().all(Row::is_final).then_some(rows)
        });
        done.unwrap_or_else(|| panic!("{about}: never final: {:?}, {:?}", self.rows(), self.processes()))
    }

    /// Waits until no process of any run is left, nor anybody who looked after one; fails when that never comes.
    #[track_caller]
    pub fn wait_no_processes(&self, about: &str) {
        let left = || {
            let mut left = self.processes();
            self.rows().iter().for_each(|row| left.extend(Self::job_processes(&row.id)));
            left
        };
        let gone = poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(20), || left().is_empty().then_some(()));
        let words = |key: &ProcessKey| fs::read_to_string(format!("/proc/{}/cmdline", key.pid)).unwrap_or_default();
        assert!(gone.is_some(), "{about}: left: {:?}", left().iter().map(words).collect::<Vec<_>>());
    }

    /// Both stores are whole, and say nothing that cannot be.
    #[track_caller]
    pub fn assert_stores_valid(&self) {
        invariants::check(&self.dir.join(".fairway/fairway.db"));
        let Some(output) = self.output() else { return };
        let whole: String = output.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(whole, "ok");
        let ahead =
            "SELECT count(*) FROM exec_run_items i JOIN exec_outputs o ON o.run = i.run WHERE i.seq >= o.next_seq";
        let ahead: i64 = output.query_row(ahead, [], |row| row.get(0)).unwrap();
        assert_eq!(ahead, 0, "items beyond the number that the next one gets");
    }

    /// The text of a job's stream, as `log` shows it, page by page.
    #[track_caller]
    pub fn log(&self, run: &str, stream: &str) -> String {
        let (mut text, mut since) = (String::new(), 0);
        loop {
            let page = self.json(["exec", "log", run, "--stream", stream, "--since-seq", &since.to_string()]);
            for item in page["items"].as_array().unwrap() {
                let seq = item["seq"].as_i64().unwrap();
                assert!(seq > since, "{seq} after {since}");
                since = seq;
                text.push_str(item["payload"].as_str().unwrap());
            }
            if page["has_more"] != true {
                return text;
            }
        }
    }
}

/// The folders of runs that are on no record.
pub fn job_dirs_without_row(place: &JobProject<'_>) -> Vec<String> {
    let known: Vec<String> = place.rows().into_iter().map(|row| row.id).collect();
    let Ok(folders) = fs::read_dir(place.dir.join(".fairway/runs")) else { return Vec::new() };
    let names = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !known.contains(name)).collect()
}
