//! Fairway's background runs beside pueue, task-spooler and nq: how fast they are, as whole processes in turns, and what is
//! told of a run whose keeper was killed.
//!
//! `just peers` builds everything and runs it; the words `speed` and `killed` choose a half. What is not there is said and
//! left out.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::panic,
    reason = "a measuring program"
)]

mod beside;
#[expect(dead_code, reason = "what the other program measures with")]
mod measure;

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use beside::{FINISHED, PEERS, Peer, Places, text};
use measure::{Build, fifo, median, ms, took, until_stamp};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

const ROUNDS: usize = 100;

/// A row: the median of each, and how many times Fairway's that is.
fn row(places: &Places, what: &str, mut once: impl FnMut(Peer) -> Option<Duration>) {
    let mut spans: Vec<(Peer, Vec<Duration>)> =
        PEERS.iter().filter(|peer| places.has(**peer)).map(|peer| (*peer, Vec::new())).collect();
    for round in 0..ROUNDS + 5 {
        for (peer, spans) in &mut spans {
            if let Some(span) = once(*peer)
                && round >= 5
            {
                spans.push(span);
            }
            // The next call must not pay for the processes that this one started.
            thread::sleep(Duration::from_millis(15));
        }
    }
    let medians: Vec<(Peer, Duration)> =
        spans.into_iter().filter(|(_, spans)| !spans.is_empty()).map(|(peer, spans)| (peer, median(spans))).collect();
    let ours = medians.iter().find(|(peer, _)| *peer == Peer::Fairway).unwrap().1;
    let figure = |wanted: &Peer| {
        let found = medians.iter().find(|(peer, _)| peer == wanted);
        let told = |(_, span): &(Peer, Duration)| {
            format!("{:.2} ms ({:.2} ×)", ms(*span), span.as_secs_f64() / ours.as_secs_f64())
        };
        found.map_or_else(|| "–".to_owned(), told)
    };
    println!("| {what} | {} |", PEERS.iter().map(figure).collect::<Vec<_>>().join(" | "));
}

fn speed(places: &mut Places) {
    println!(
        "| medians of {ROUNDS}, in brackets against Fairway | Fairway | pueue | task-spooler | nq | `setsid -f` |"
    );
    println!("|---|---|---|---|---|---|");
    let (stamp, fifo) = (places.build.program("bench_stamp"), fifo(&places.folder("tsp")));
    row(places, "spawn of `true`, until the call returns", |peer| Some(took(&mut places.spawn(peer, &["true"]))));
    row(places, "spawn, until the command's first instruction", |peer| {
        Some(until_stamp(&mut places.spawn(peer, &[text(&stamp), text(&fifo)]), &fifo))
    });
    places.finish_one();
    row(places, "status of one run", |peer| Some(took(&mut places.status(peer)?)));
    places.finish_many();
    row(places, &format!("the same with {FINISHED} finished"), |peer| Some(took(&mut places.status(peer)?)));
    row(places, &format!("spawn of `true` with {FINISHED} finished"), |peer| {
        Some(took(&mut places.spawn(peer, &["true"])))
    });
}

/// A shell's words that say in a file that they began and that they came to their end.
fn work(file: &Path) -> String {
    format!("echo began >>{0}; sleep 2; echo ended >>{0}", file.display())
}

/// How often a word stands in that file.
fn count(file: &Path, word: &str) -> usize {
    fs::read_to_string(file).unwrap_or_default().lines().filter(|line| *line == word).count()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn tell(when: &str, what: &str) {
    println!("| {when} | {what} |");
}

fn tell_counts(file: &Path) {
    tell("the command began, came to its end", &format!("{} ×, {} ×", count(file, "began"), count(file, "ended")));
}

fn fairway_killed(places: &Places, policy: &str) {
    let fairway = |words: &[&str]| places.build.fairway(places.project.path(), words);
    let file = places.folder(policy);
    println!("\n| Fairway, `--recovery {policy}` | shown |\n|---|---|");
    let words = ["exec", "spawn", "--quiet", "--recovery", policy, "--shell", &work(&file)];
    let run = Places::asked(fairway(&words));
    let seen =
        || -> Value { serde_json::from_str(&Places::asked(fairway(&["exec", "poll", &run, "--json"]))).unwrap() };
    let told = |run: &Value| {
        let keeper = if run["supervised"] == false { "nobody looks after it" } else { "supervised" };
        let keeper = if run["finished_at"].is_null() { format!(", {keeper}") } else { String::new() };
        let why = run["error_message"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
        format!("`{}`{keeper}, attempt {}{why}", run["status"].as_str().unwrap(), run["attempt"])
    };
    until("the command begins", || count(&file, "began") == 1);
    let before = seen();
    tell("before", &told(&before));
    let pid = before["pid"].as_i64().unwrap();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let keeper: i32 = stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    kill(Pid::from_raw(keeper), Signal::SIGKILL).unwrap();
    until("the supervisor is gone", || seen()["supervised"] == false);
    tell("after the kill", &told(&seen()));
    took(&mut fairway(&["session", "reconcile"]));
    tell("after `session reconcile`", &told(&seen()));
    let left = fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    tell("the process that was left behind", if left { "goes on" } else { "gone" });
    let _ = fairway(&["exec", "wait", &run]).status();
    tell("in the end", &told(&seen()));
    tell_counts(&file);
}

/// A line without what colours it.
fn plain(line: &str) -> &str {
    line.split('\u{1b}').find(|part| part.contains("os error")).unwrap_or(line).trim()
}

fn pueue_killed(places: &mut Places) {
    let file = places.folder("ran");
    println!("\n| pueue | shown |\n|---|---|");
    let told = |places: &Places| {
        let text = Places::asked(places.command("pueue", &["--color", "never", "status", "--json"]));
        match serde_json::from_str::<Value>(&text) {
            Ok(state) => {
                let tasks = state["tasks"].as_object().unwrap();
                let task =
                    tasks.values().find(|task| task["command"].as_str().is_some_and(|text| text.contains("began")));
                let (status, facts) = task.unwrap()["status"].as_object().unwrap().iter().next().unwrap();
                facts["result"]
                    .as_str()
                    .map_or_else(|| format!("`{status}`"), |result| format!("`{status}`: `{result}`"))
            }
            Err(_) => {
                format!("no answer: {}", text.lines().find(|line| line.contains("os error")).map_or(&*text, plain))
            }
        }
    };
    took(&mut places.command("pueue", &["add", "--", &work(&file)]));
    until("the command begins", || count(&file, "began") == 1);
    tell("before", &told(places));
    places.end_daemon();
    tell("after the kill", &told(places));
    places.start_daemon();
    tell("after the daemon was started again", &told(places));
    let left = count(&file, "ended") == 0 && {
        thread::sleep(Duration::from_millis(2_500));
        count(&file, "ended") == 1
    };
    tell("the process that was left behind", if left { "went on to its end" } else { "gone" });
    thread::sleep(Duration::from_secs(2));
    tell("in the end", &told(places));
    tell_counts(&file);
}

fn main() {
    let chosen: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wanted = |name: &str| chosen.is_empty() || chosen.iter().any(|word| word == name);
    // target/release/deps/peers-…
    let build = Build::own();
    let mut places = Places::new(build);
    if wanted("killed") {
        fairway_killed(&places, "lost");
        fairway_killed(&places, "requeue");
        if places.has(Peer::Pueue) {
            pueue_killed(&mut places);
        }
        println!();
    }
    if wanted("speed") {
        speed(&mut places);
    }
}
