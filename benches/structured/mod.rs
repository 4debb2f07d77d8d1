//! A structured session: how soon an agent's permission request can be answered, and what its supervisor costs when nothing happens.

use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use crate::measure::{Build, project, row, store, took};

const QUESTIONS: usize = 200;
const IDLE: Duration = Duration::from_secs(60);
const AGENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/acp_agent.py");

/// The rows whose names are wanted.
pub fn rows(build: &Build, wanted: &dyn Fn(&str) -> bool) {
    if !wanted("structured") {
        return;
    }
    let project = session(build);
    questions(build, &project);
    idle(build, &project);
    took(&mut build.fairway(project.path(), &["session", "stop", "s"]));
}

/// A project with a session of the tests' agent.
fn session(build: &Build) -> TempDir {
    let project = project(build, 0, 1);
    let config = format!(
        "[providers.fake.acp]\ncommand = [{AGENT:?}]\n[providers.fake.acp.env]\nFAKE_ACP_LOG = {:?}\n",
        project.path().join("prompts").display().to_string()
    );
    fs::write(project.path().join(".fairway.toml"), config).unwrap();
    took(&mut build.fairway(project.path(), &["trust"]));
    let launch = ["session", "launch", "--role", "r", "--provider", "fake", "--structured", "--id", "s"];
    took(&mut build.fairway(project.path(), &launch));
    project
}

fn json(build: &Build, project: &Path, words: &[&str]) -> Value {
    let output = build.fairway(project, words).stdout(std::process::Stdio::piped()).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// From the moment before the agent writes its question to the time of the approval in the store.
fn questions(build: &Build, project: &TempDir) {
    let here = project.path();
    for _ in 0..QUESTIONS {
        took(&mut build.fairway(here, &["prompt", "s", "RUN[[true]]"]));
        let asked = until(|| json(build, here, &["approvals", "list", "--json"])[0]["id"].as_i64());
        took(&mut build.fairway(here, &["approvals", "answer", &asked.to_string(), "allow"]));
        let activity = || json(build, here, &["session", "show", "s", "--json"])["activity"].clone();
        until(|| (activity() == "idle").then_some(()));
    }
    let asked = fs::read_to_string(here.join("prompts.asked")).unwrap();
    let conn = Connection::open(store(project)).unwrap();
    let mut statement = conn.prepare("SELECT asked_at FROM approvals ORDER BY id").unwrap();
    let stored = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap().map(Result::unwrap);
    let asked = asked.lines().map(|line| line.parse::<i64>().unwrap());
    let mut spans: Vec<i64> = asked.zip(stored).map(|(asked, stored)| stored - asked).collect();
    assert_eq!(spans.len(), QUESTIONS);
    spans.sort_unstable();
    let at = |share: usize| spans[QUESTIONS * share / 100];
    row("a structured agent's permission request → approval: median", &format!("{} ms", at(50)), "< 50 ms");
    row("a structured agent's permission request → approval: 99 of 100", &format!("{} ms", at(99)), "–");
}

fn idle(build: &Build, project: &TempDir) {
    let pid = json(build, project.path(), &["session", "show", "s", "--json"])["pid"].to_string();
    let ticks = || -> u64 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2);
        fields.map(|field| field.parse::<u64>().unwrap()).sum()
    };
    thread::sleep(Duration::from_secs(1));
    let before = ticks();
    thread::sleep(IDLE);
    row("supervisor of an idle structured session: CPU of 60 s", &format!("{} ticks", ticks() - before), "0");
    let smaps = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let kib = |name: &str| -> u64 {
        let fields =
            smaps.lines().filter(|line| line.starts_with(name)).filter_map(|line| line.split_whitespace().nth(1));
        fields.map(|kib| kib.parse::<u64>().unwrap()).sum()
    };
    let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1_024.0);
    row("supervisor of an idle structured session: private memory", &mib(kib("Private_")), "≤ 6 MB");
    row("supervisor of an idle structured session: proportional memory (PSS)", &mib(kib("Pss:")), "–");
}
