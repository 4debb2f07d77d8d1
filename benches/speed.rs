//! How fast the commands are, as ratios: whole processes against the smallest program that does the same, in turns, so that
//! a busy moment hits both. Prints the table of `BENCHMARKS.md`.
//!
//! `just bench` builds everything and runs it; words after `--` choose rows by a part of their name.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a measuring program"
)]

mod api;
mod board;
mod exec;
mod guard;
mod measure;
mod storm;
mod structured;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::{env, fs};

use board::SESSIONS;
use measure::{Build, READS, against, count, median, medians, ms, project, row, store, took, wanted};
use storm::{Storm, best};

const ROUNDS: usize = 300;

fn version(plain: &Build, artefact: Option<&Build>) {
    let here = env::temp_dir();
    let commands = |build: &Build| [build.fairway(&here, &["--version"]), build.example("bench_empty", &here, &[])];
    let [ours, empty] = medians(ROUNDS, commands(plain));
    against("`--version`, plain release build, against an empty `main`", ours, empty, "≤ 1.6 ×");
    if let Some(artefact) = artefact {
        let [ours, empty] = medians(ROUNDS, commands(artefact));
        against("`--version`, release artefact, against an empty `main`", ours, empty, "≤ 1.3 ×");
    }
}

fn ready(name: &str, build: &Build) {
    let project = project(build, 1_000, 0);
    let file = store(&project);
    let file = file.to_str().unwrap();
    let ours = build.fairway(project.path(), &["ready", "--limit", "20"]);
    let [ours, least] = medians(ROUNDS, [ours, build.example("bench_ready", project.path(), &[file])]);
    against(&format!("`ready` (20 of 1,000), {name}, against the smallest program"), ours, least, "≤ 1.4 ×");
}

/// A command that writes, against the smallest program that writes the same rows.
fn write(what: &str, name: &str, build: &Build, words: &[&str], example: &str) {
    let (ours, least) = (project(build, 1_000, 0), project(build, 1_000, 0));
    let file = store(&least);
    let file = file.to_str().unwrap();
    let commands = [build.fairway(ours.path(), words), build.example(example, least.path(), &[file])];
    let [ours, least] = medians(ROUNDS, commands);
    against(&format!("`{what}`, {name}, against the smallest program"), ours, least, "≤ 1.5 ×");
}

fn million(build: &Build) {
    let (few, many) = (project(build, 10, 990), project(build, 10_000, 990_000));
    for words in READS {
        let [large, small] = medians(100, [build.fairway(many.path(), words), build.fairway(few.path(), words)]);
        let what = format!("`{}` at 1,000,000 tasks (990,000 done), against 1,000", words.join(" "));
        against(&what, large, small, "≤ 1.3 ×");
    }
}

fn status(name: &str, build: &Build) {
    let project = board::busy_project(build);
    for command in [["status", "--json"], ["top", "--once"]] {
        let [ours] = medians(50, [build.fairway(project.path(), &command)]);
        let what = format!("`{}` of 10,000 tasks and 200 sessions, {name}", command.join(" "));
        row(&what, &format!("{:.1} ms", ms(ours)), "≤ 100 ms");
    }
}

/// Instructions, which repeat exactly: of the commands, of the programs of comparison, and of a request.
fn counts(name: &str, build: &Build) {
    let of = |what: &str, ours: u64, least: u64| {
        let ratio = ours as f64 / least as f64;
        row(&format!("{what}, {name}"), &format!("{ratio:.2} × ({ours} against {least})"), "–");
    };
    let here = project(build, 1_000, 0);
    let file = store(&here);
    let file = file.to_str().unwrap();
    let record = ["checkpoint", "record", "S-1", "--state", "active", "--summary", "as far as that"];
    let commands: [(&str, &[&str], &str); 4] = [
        ("--version", &["--version"], "bench_empty"),
        ("ready --limit 20", &["ready", "--limit", "20"], "bench_ready"),
        ("claim", &["claim"], "bench_claim"),
        ("checkpoint record", &record, "bench_checkpoint"),
    ];
    for (what, words, example) in commands {
        // The first write makes the log, which the others find.
        took(&mut build.fairway(here.path(), &["task", "add", "one more", "--quiet"]));
        let ours = count(&build.fairway(here.path(), words));
        of(&format!("instructions of `{what}`"), ours, count(&build.example(example, here.path(), &[file])));
    }
    let [ours, raw] = api::instructions_of_a_request(build);
    of("instructions of a request to `POST /authorize`", ours, raw);
}

/// 64 processes claim 5,000 tasks from one queue.
fn claims(build: &Build, how: &str) -> Storm {
    const WORKERS: u32 = 64;
    const TASKS: u32 = 5_000;
    let project = project(build, TASKS, 0);
    let worker = |number| build.example("bench_storm", project.path(), &[how, &format!("worker-{number}")]);
    storm::run((0..WORKERS).map(worker), TASKS as usize)
}

fn storms(build: &Build) {
    // In turns, the best of three.
    let (mut ours, mut plain, mut turns) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..3 {
        ours.push(claims(build, "fairway"));
        plain.push(claims(build, "plain"));
        turns.push(claims(build, "turns"));
    }
    let (ours, plain, turns) = (best(ours), best(plain), best(turns));
    row("claims by 64 processes, against plain IMMEDIATE", &ours.rate(&plain), "≥ 0.8 ×");
    row("claims by 64 processes, against plain IMMEDIATE in the same queue", &ours.rate(&turns), "–");
    row("plain IMMEDIATE in the same queue, against plain IMMEDIATE", &turns.rate(&plain), "–");
    let others = [(" (plain IMMEDIATE, for comparison)", &plain), (" (plain IMMEDIATE in the same queue)", &turns)];
    for (what, storm) in [("", &ours)].into_iter().chain(others) {
        let times = storm.worst.as_secs_f64() / storm.median.as_secs_f64().max(1e-6);
        let figure = format!("{times:.1} × ({:.0} ms against {:.1} ms)", ms(storm.worst), ms(storm.median));
        row(
            &format!("their worst wait, against the median{what}"),
            &figure,
            if what.is_empty() { "≤ 5 ×" } else { "–" },
        );
        let goal = if what.is_empty() { "≥ 0.95" } else { "–" };
        row(&format!("their fairness (Jain){what}"), &format!("{:.3}", storm.fairness), goal);
    }
}

fn log(build: &Build) {
    const CALLS: usize = 1_500;
    let project = project(build, 0, 1);
    let wal = project.path().join(".fairway/fairway.db-wal");
    let (mut spans, mut largest) = (Vec::new(), 0);
    for _ in 0..CALLS {
        spans.push(took(&mut build.fairway(project.path(), &["task", "add", "one more", "--quiet"])));
        largest = largest.max(fs::metadata(&wal).map_or(0, |found| found.len()));
    }
    row(
        "the log after 1,500 one-shot writes, at its largest",
        &format!("{:.2} MiB", largest as f64 / 1_048_576.0),
        "≤ 1.5 MiB",
    );
    let last = spans.split_off(CALLS - 100);
    spans.truncate(100);
    against("the last 100 of them, against the first 100", median(last), median(spans), "≤ 1.2 ×");
}

/// A tmux server on a socket of its own, gone with its handle.
struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", "/").arg("-S").arg(&self.socket).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).status();
    }
}

/// Two hundred panes that were there before, made known, and looked at.
fn panes(build: &Build) {
    let project = project(build, 0, 1);
    let tmux = Tmux { socket: project.path().join("tmux.sock") };
    took(&mut tmux.command(&["-f", "/dev/null", "new-session", "-d", "sleep 600"]));
    for _ in 1..SESSIONS {
        took(&mut tmux.command(&["new-window", "-d", "sleep 600"]));
    }
    let socket = tmux.socket.to_str().unwrap();
    let listed = tmux.command(&["list-panes", "-a", "-F", "#{pane_id} #{pane_pid}"]).stdout(Stdio::piped()).output();
    for line in String::from_utf8(listed.unwrap().stdout).unwrap().lines() {
        let (pane, pid) = line.split_once(' ').unwrap();
        let words =
            ["session", "upsert", "--role", "r", "--backend", "tmux", "--socket", socket, "--pane", pane, "--pid", pid];
        took(&mut build.fairway(project.path(), &words));
    }
    let call = tmux.command(&["list-panes", "-a", "-F", "#{pid} #{pane_id} #{pane_dead}"]);
    let [ours, alone] = medians(ROUNDS, [build.fairway(project.path(), &["session", "reconcile"]), call]);
    against("`session reconcile` over 200 panes, against the one tmux call that it makes", ours, alone, "≤ 3 ×");
}

/// Two hundred sessions that were launched in tmux, looked at by their script.
fn launched(name: &str, build: &Build) {
    let project = project(build, 0, 1);
    let tmux = Tmux { socket: project.path().join("state/tmux.sock") };
    let fairway = |words: &[&str]| {
        let mut command = build.fairway(project.path(), words);
        command.env("FAIRWAY_ADAPTER_STATE", project.path().join("state"));
        command
    };
    for round in 0..SESSIONS / 4 {
        let start = |number| {
            let name = format!("s-{round}-{number}");
            fairway(&["session", "launch", "--role", "r", "--backend", "tmux", "--name", &name, "--", "sleep", "600"])
                .spawn()
        };
        let started: Vec<Child> = (0..4).map(|number| start(number).unwrap()).collect();
        assert!(started.into_iter().all(|mut child| child.wait().unwrap().success()));
    }
    // The launches left a long log; the next write folds it back.
    took(&mut fairway(&["session", "heartbeat", "s-0-0"]));
    let call = tmux.command(&["list-panes", "-a", "-F", "#{pid}.#{start_time}.#{pane_id} #{pane_dead} #{@fairway}"]);
    let [ours, alone] = medians(ROUNDS, [fairway(&["session", "reconcile"]), call]);
    let what =
        format!("`session reconcile` over 200 sessions in tmux, {name}, against the one tmux call that it makes");
    against(&what, ours, alone, "≤ 3 ×");
}

fn main() {
    let plain = Build::own();
    let artefact = env::var_os("FAIRWAY_BENCH_ARTEFACT").map(|folder| Build::installed(folder.as_ref()));
    println!("| what | measured | goal |\n|---|---|---|");
    if wanted("version") {
        version(&plain, artefact.as_ref());
    }
    for (name, build) in [("plain release build", Some(&plain)), ("release artefact", artefact.as_ref())] {
        let Some(build) = build else { continue };
        if wanted("ready") {
            ready(name, build);
        }
        if wanted("instructions") {
            counts(name, build);
        }
        if wanted("status") {
            status(name, build);
        }
        if wanted("claim") {
            write("claim", name, build, &["claim"], "bench_claim");
        }
        if wanted("checkpoint") {
            let words = ["checkpoint", "record", "S-1", "--state", "active", "--summary", "as far as that"];
            write("checkpoint record", name, build, &words, "bench_checkpoint");
        }
    }
    if wanted("million") {
        million(&plain);
    }
    if wanted("storm") {
        storms(&plain);
    }
    if wanted("log") {
        log(&plain);
    }
    for (name, build) in [("plain release build", Some(&plain)), ("release artefact", artefact.as_ref())] {
        if let Some(build) = build {
            board::rows(name, build, &wanted);
        }
    }
    exec::rows(&plain, &wanted);
    api::rows(&plain, &wanted);
    guard::rows(&plain, &wanted);
    structured::rows(&plain, &wanted);
    if wanted("reconcile") {
        panes(&plain);
        launched("plain release build", &plain);
        if let Some(artefact) = &artefact {
            launched("release artefact", artefact);
        }
    }
}
