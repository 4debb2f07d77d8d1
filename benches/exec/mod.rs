//! Background runs: how soon they begin, what keeping their output costs, how late one hears of it, and what they cost when
//! nothing happens.

use std::ffi::CString;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::Value;
use tempfile::TempDir;

use crate::measure::{
    Build, against, clock, fifo, finished_runs, median, medians, ms, project, row, store, took, until_stamp,
};

/// The rows whose names are wanted.
pub fn rows(build: &Build, wanted: &dyn Fn(&str) -> bool) {
    if wanted("exec spawn") {
        begins(build);
    }
    if wanted("exec poll") {
        polls(build);
    }
    if wanted("exec output") {
        keeps(build);
    }
    if wanted("exec event") {
        hears(build);
    }
    if wanted("exec claim") {
        claims(build);
    }
    if wanted("exec idle") {
        idles(build);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// `exec spawn` until the command's first instruction, against one durable commit and a plain start.
fn begins(build: &Build) {
    let (ours, least) = (project(build, 0, 1), project(build, 0, 1));
    let (fifos, stamp) = ([fifo(ours.path()), fifo(least.path())], build.program("bench_stamp"));
    let spawn = ["exec", "spawn", "--quiet", "--queue", "", "--", text(&stamp), text(&fifos[0])];
    let mut commands = [
        build.fairway(ours.path(), &spawn),
        build.example("bench_begin", least.path(), &[text(&store(&least)), text(&stamp), text(&fifos[1])]),
    ];
    let mut spans = [Vec::new(), Vec::new()];
    for round in 0..210 {
        for ((command, fifo), spans) in commands.iter_mut().zip(&fifos).zip(&mut spans) {
            let span = until_stamp(command, fifo);
            if round >= 10 {
                spans.push(span);
            }
        }
        // The end of this round's run is not to be paid for by the next one.
        thread::sleep(Duration::from_millis(15));
    }
    let [ours, least] = spans.map(median);
    against(
        "`exec spawn` to the command's first instruction, against one durable commit and a start",
        ours,
        least,
        "≤ 3 ×",
    );
}

/// A command's id in the answer of a `--quiet` spawn.
fn spawn(build: &Build, project: &TempDir, words: &[&str]) -> String {
    let mut all = vec!["exec", "spawn", "--quiet"];
    all.extend(words);
    let output = build.fairway(project.path(), &all).stdout(Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn wait(build: &Build, project: &TempDir, run: &str) {
    took(&mut build.fairway(project.path(), &["exec", "wait", run]));
}

fn polls(build: &Build) {
    let (few, many) = (project(build, 0, 1), project(build, 0, 1));
    let [small, large] = [&few, &many].map(|project| {
        let run = spawn(build, project, &["--", "echo", "done"]);
        wait(build, project, &run);
        run
    });
    finished_runs(build, &many);
    let poll = |project: &TempDir, run: &str| build.fairway(project.path(), &["exec", "poll", run]);
    let [large, small] = medians(200, [poll(&many, &large), poll(&few, &small)]);
    against("`exec poll` with 10,000 finished runs, against one", large, small, "≤ 2 ×");
}

/// A run from its spawn to its end.
fn whole(build: &Build, project: &TempDir, words: &[&str]) -> Duration {
    let start = Instant::now();
    let run = spawn(build, project, words);
    wait(build, project, &run);
    let took = start.elapsed();
    took_away(build, project, &run);
    took
}

fn took_away(build: &Build, project: &TempDir, run: &str) {
    took(&mut build.fairway(project.path(), &["exec", "rm", run]));
}

fn keeps(build: &Build) {
    let project = project(build, 0, 1);
    let lines = build.program("bench_lines");
    let lines = text(&lines);
    let row = |what: &str, rounds: usize, cap: &str, words: &[&str], goal: &str| {
        let (mut ours, mut least) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let spawned = [&["--queue", "", "--max-output", cap, "--", lines], words].concat();
            ours.push(whole(build, &project, &spawned));
            let discard = [&[lines], words].concat();
            least.push(took(&mut build.example("bench_discard", project.path(), &discard)));
        }
        against(&format!("{what}, against a reader that discards"), median(ours), median(least), goal);
    };
    row("a million lines at full speed, all kept", 5, "1000000000", &["1000000"], "≤ 2 ×");
    row("a million lines at full speed, 1 MiB kept", 5, "1048576", &["1000000"], "≤ 2 ×");
    row("3,000 lines at 1,000 a second, all kept", 3, "1000000000", &["3000", "1000"], "≤ 1.05 ×");
}

/// Follows a run: each item as it comes, with its time.
fn follow(build: &Build, project: &TempDir, run: &str, mut see: impl FnMut(&Value, Duration)) {
    let mut command = build.fairway(project.path(), &["exec", "log", run, "--follow", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let now = clock();
        see(&serde_json::from_str(&line.unwrap()).unwrap(), now);
    }
    assert!(child.wait().unwrap().success());
}

/// The span since the time that a line tells: `tick N NANOSECONDS`.
fn since(payload: &str, now: Duration) -> Option<Duration> {
    let told = payload.trim().strip_prefix("tick ")?.split(' ').nth(1)?.parse().ok()?;
    Some(now.saturating_sub(Duration::from_nanos(told)))
}

/// Lines that say when they were printed, watched, and read by one who waits: how late he has them, and how late he has the
/// event of the match.
fn hears(build: &Build) {
    let project = project(build, 0, 1);
    let ticks = build.program("bench_ticks");
    // One for each of the sixteen kinds of line: within its cooldown a watcher says nothing more.
    let watchers: Vec<String> = (0..16).map(|number| format!("^tick {number} =tick-{number}")).collect();
    let mut words = vec!["--queue", ""];
    for watcher in &watchers {
        words.extend(["--watch", watcher]);
    }
    words.extend(["--", text(&ticks), "240", "75"]);
    let run = spawn(build, &project, &words);
    let (mut lines, mut events) = (Vec::new(), Vec::new());
    follow(build, &project, &run, |item, now| {
        let Some(late) = since(item["payload"].as_str().unwrap_or_default(), now) else { return };
        if item["type"] == "event" { events.push(late) } else { lines.push(late) }
    });
    assert!(lines.len() > 200 && events.len() > 200, "{} lines, {} events", lines.len(), events.len());
    let figure = |span: Duration| format!("{:.2} ms", ms(span));
    lines.sort_unstable();
    row("line printed → event row, read by one who waits: median", &figure(median(events)), "≤ 5 ms");
    let p99 = lines[lines.len() * 99 / 100];
    row("line printed → read by one who waits: median", &figure(lines[lines.len() / 2]), "–");
    row("line printed → read by one who waits: p99", &figure(p99), "≤ 2 ms");
}

/// The ninety-ninth of a hundred.
fn p99(build: &Build, project: &TempDir) -> Duration {
    let mut spans: Vec<Duration> =
        (0..300).map(|_| took(&mut build.fairway(project.path(), &["claim", "--quiet"]))).collect();
    spans.sort_unstable();
    spans[spans.len() * 99 / 100]
}

fn claims(build: &Build) {
    let project = project(build, 1_000, 0);
    let lines = build.program("bench_lines");
    let idle = p99(build, &project);
    let run = spawn(build, &project, &["--queue", "", "--", text(&lines), "1000000000"]);
    let busy = p99(build, &project);
    took(&mut build.fairway(project.path(), &["exec", "kill", &run, "--signal", "KILL"]));
    against("`claim`'s p99 while a run streams at full speed, against idle", busy, idle, "≤ 5 ×");
}

/// The ticks of the processor that a process has used.
fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Every process that runs this binary in this project.
fn processes(build: &Build, project: &TempDir) -> Vec<u32> {
    let binary = fs::canonicalize(build.folder.join("fairway")).unwrap();
    let names = |pid: &u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let place = CString::new(project.path().as_os_str().as_bytes()).unwrap();
        fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == binary)
            && (words.windows(place.as_bytes().len()).any(|part| part == place.as_bytes())
                || fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == project.path()))
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(names).collect()
}

fn idles(build: &Build) {
    let project = project(build, 0, 1);
    let runs: Vec<String> = (0..20).map(|_| spawn(build, &project, &["--queue", "", "--", "sleep", "300"])).collect();
    // One waits behind another, so that somebody stands by; one looks on.
    let queued: Vec<String> = (0..2).map(|_| spawn(build, &project, &["--queue", "q", "--", "sleep", "300"])).collect();
    let mut waiting: Child = build.fairway(project.path(), &["exec", "wait", &runs[0]]).spawn().unwrap();
    thread::sleep(Duration::from_secs(2));
    let all = processes(build, &project);
    assert!(all.len() > runs.len(), "{all:?}");
    let sum = || all.iter().map(|pid| ticks(*pid)).sum::<u64>();
    let before = sum();
    thread::sleep(Duration::from_secs(60));
    let used = sum() - before;
    let figure = format!("{used} ticks ({} processes)", all.len());
    row("20 runs that sleep, one that waits for its turn, one who waits: a minute's CPU", &figure, "0");
    for run in queued.iter().rev().chain(&runs) {
        took(&mut build.fairway(project.path(), &["exec", "kill", run, "--grace", "100ms"]));
    }
    // It says that its run did not succeed.
    waiting.wait().unwrap();
}
