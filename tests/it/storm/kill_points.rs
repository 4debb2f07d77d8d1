//! `kill -9` at every call: what was acknowledged is in the store, there is never half of anything, and a retry of the same
//! request has exactly one effect.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use std::{fs, thread};

use fairway_core::env::{Env, Timestamp};
use fairway_core::os::process::ProcessKey;
use fairway_core::os::{poll_until, process_tree};
use rusqlite::{Connection, OpenFlags};

use super::strace::{self, Point, Reach};
use crate::common::reexec::{part, part_dir, reexec};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, invariants};

/// A command line that is killed.
struct Line {
    name: &'static str,
    /// The commands before, once.
    before: &'static [&'static str],
    /// The command.
    words: &'static str,
    /// A query for how often it has had its effect.
    effect: &'static str,
    /// How many points the quick set takes of it.
    quick: usize,
    /// The effect of a repeat under the same `--request-id`.
    repeat: Repeat,
}

/// The effect of a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeat {
    /// It has no second effect and gets the first answer.
    Once,
    /// It does it again: restoring twice is restoring.
    Again,
    /// It starts nothing twice: what was begun and cut off is told (`request_open`).
    Told,
    /// The first effect, once `reconcile` has settled the interrupted call.
    Settled,
}

const ADD: &str = "task add one --role r --label a --label b --path src/** --check t=true --body text";
const IMPORT: &str = "{\"id\":\"I-1\",\"title\":\"one\"}\n{\"id\":\"I-2\",\"title\":\"two\",\"depends_on\":[\"I-1\"]}\n\
                      {\"id\":\"I-3\",\"title\":\"three\",\"parent\":\"I-1\"}\n";

/// Every line: add one here, and it is killed.
const LINES: &[Line] = &[
    Line {
        name: "claim",
        before: &["task add one", "task add two --depends-on T-1"],
        words: "claim T-1 --lease 10m",
        effect: "SELECT count(*) FROM claims WHERE task_id = 'T-1'",
        quick: 40,
        repeat: Repeat::Once,
    },
    Line {
        name: "release",
        before: &["task add one", "claim T-1"],
        words: "release T-1 --reason enough",
        effect: "SELECT count(*) FROM events WHERE kind = 'task.released'",
        quick: 15,
        repeat: Repeat::Once,
    },
    Line {
        name: "submit",
        before: &["task add one", "claim T-1"],
        words: "task submit T-1 --commit abcdef0",
        effect: "SELECT count(*) FROM events WHERE kind = 'task.submitted'",
        quick: 20,
        repeat: Repeat::Once,
    },
    Line {
        name: "done",
        before: &["task add one", "task add two --depends-on T-1", "claim T-1", "evidence add T-1 --result pass"],
        words: "task done T-1",
        effect: "SELECT count(*) FROM events WHERE kind = 'task.done'",
        quick: 25,
        repeat: Repeat::Once,
    },
    Line {
        name: "add",
        before: &["task add one"],
        words: ADD,
        effect: "SELECT count(*) FROM tasks WHERE id <> 'T-1'",
        quick: 30,
        repeat: Repeat::Once,
    },
    Line {
        name: "import",
        before: &["task add one"],
        words: "task import import.jsonl",
        // Less than all of them counts as much too often.
        effect: "SELECT count(*) / 3 + 10 * (count(*) % 3) FROM tasks WHERE id LIKE 'I-%'",
        quick: 30,
        repeat: Repeat::Once,
    },
    Line {
        name: "evidence add",
        before: &["task add one", "claim T-1"],
        words: "evidence add T-1 --result pass --summary seen",
        effect: "SELECT count(*) FROM evidence",
        quick: 15,
        repeat: Repeat::Once,
    },
    Line {
        name: "evidence run",
        before: &["task add one", "claim T-1"],
        words: "evidence run T-1 -- true",
        effect: "SELECT count(*) FROM evidence",
        quick: 30,
        repeat: Repeat::Told,
    },
    Line {
        name: "handoff accept",
        before: &[
            "task add one",
            "claim T-1",
            "session upsert --id s1 --role r",
            "handoff create T-1 --to r --summary over",
        ],
        words: "handoff accept 1 --claim --session s1",
        effect: "SELECT count(*) FROM claims WHERE claimant = 's1'",
        quick: 25,
        repeat: Repeat::Once,
    },
    Line {
        name: "session event",
        before: &["task add one", "session event --provider p --external-session-id x --state started --role r"],
        words: "session event --provider p --external-session-id x --state completed --task-id T-1 --handoff-to qa",
        // Session, checkpoint and handoff: less than all of them counts as much too often.
        effect: "SELECT count(*) / 3 + 10 * (count(*) % 3) FROM (SELECT state AS it FROM checkpoints \
                 UNION ALL SELECT status FROM handoffs UNION ALL SELECT status FROM agent_sessions WHERE status = 'ended')",
        quick: 20,
        repeat: Repeat::Once,
    },
    Line {
        name: "prompt",
        before: &["session upsert --id s1 --role r"],
        words: "prompt s1 hello --dedup k",
        // The message and its event: one without the other counts as much too often.
        effect: "SELECT count(*) / 2 + 10 * (count(*) % 2) FROM (SELECT id FROM messages \
                 UNION ALL SELECT seq FROM events WHERE kind = 'message.queued')",
        quick: 20,
        repeat: Repeat::Once,
    },
    Line {
        name: "session launch",
        before: &["task add one"],
        words: "session launch --role r --task-id T-1 --name s1 --backend shell -- sleep 60",
        effect: "SELECT count(*) FROM agent_sessions",
        quick: 20,
        repeat: Repeat::Settled,
    },
    Line {
        name: "first open",
        before: &[],
        words: ADD,
        effect: "SELECT count(*) FROM tasks",
        quick: 25,
        repeat: Repeat::Once,
    },
    Line {
        name: "restore",
        before: &["task add one", "claim T-1", "backup copy.db", "task add two", "claim T-2"],
        words: "restore copy.db",
        effect: "SELECT count(*) FROM restores",
        quick: 25,
        repeat: Repeat::Again,
    },
];

/// How many points of a line are wanted: as many as it says, or its share of `FAIRWAY_SOAK`.
fn wanted(line: &Line, all: usize) -> usize {
    let quick: usize = LINES.iter().map(|line| line.quick).sum();
    let soak = std::env::var("FAIRWAY_SOAK").ok().and_then(|count| count.parse::<usize>().ok());
    soak.map_or(line.quick, |soak| (soak * line.quick).div_ceil(quick)).min(all)
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// A command in a place of its own: with its home there, and so with its adapters' state.
fn in_place<'a>(world: &TestProject, place: &Path, words: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = world.fairway(words);
    command.env("HOME", place.join("home")).current_dir(place);
    command
}

/// The command that is killed and repeated.
fn killed(world: &TestProject, place: &Path, line: &Line) -> Command {
    let (before, after) = line.words.split_once(" -- ").map_or((line.words, None), |(a, b)| (a, Some(b)));
    let tail = after.map(|after| [vec!["--"], words(after)].concat()).unwrap_or_default();
    in_place(world, place, words(before).into_iter().chain(["--json", "--request-id", "R-1"]).chain(tail))
}

fn open(place: &Path) -> Option<Connection> {
    let store = place.join(".fairway/fairway.db");
    store.exists().then(|| Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap())
}

/// How often a line has had its effect; never, while there is no store.
fn effects(place: &Path, query: &str) -> i64 {
    let Some(conn) = open(place) else { return 0 };
    invariants::check(&place.join(".fairway/fairway.db"));
    conn.query_row(query, [], |row| row.get(0)).unwrap()
}

/// The processes of sessions that were launched in this place.
fn launched(place: &Path) -> Vec<ProcessKey> {
    process_tree::with_env_entry(&format!("FAIRWAY_ROOT={}", place.display())).unwrap()
}

/// Every process that was launched belongs to a run that is on record, and after `reconcile` the record says what is so.
fn settle(world: &TestProject, place: &Path, about: &str) {
    let recorded = || -> Vec<(String, String)> {
        let Some(conn) = open(place) else { return Vec::new() };
        let mut rows = conn.prepare("SELECT run_id, status FROM agent_sessions").unwrap();
        rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    };
    let settled = || {
        // Later than any launch may take.
        let later = Timestamp::from_millis(Env::from_process().now().millis() + 120_000).to_string();
        let run = in_place(world, place, ["session", "reconcile"]).env("FAIRWAY_TEST_TIME", later).output().unwrap();
        assert!(run.status.success(), "{about}: {run:?}");
        let recorded = recorded();
        for process in launched(place) {
            let environ = fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
            let mut runs = environ.split(|byte| *byte == 0).filter_map(|entry| entry.strip_prefix(b"FAIRWAY_RUN_ID="));
            let known = runs.all(|run| run.is_empty() || recorded.iter().any(|(id, _)| id.as_bytes() == run));
            assert!(known, "{about}: {process:?} is on no record: {recorded:?}");
        }
        let runs = |run: &str| !process_tree::with_env_entry(&format!("FAIRWAY_RUN_ID={run}")).unwrap().is_empty();
        // Processes of the killed launch may still be at work.
        let so = recorded.iter().all(|(run, status)| match status.as_str() {
            "running" => runs(run),
            "stale" | "ended" | "failed" => !runs(run),
            _ => false,
        });
        so.then_some(())
    };
    let done = poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(50), settled);
    assert!(done.is_some(), "{about}: never settled: {:?}, {:?}", recorded(), launched(place));
}

/// Ends what was launched, by the command where there is a session.
fn stop(world: &TestProject, place: &Path, about: &str) {
    let run = in_place(world, place, ["session", "stop", "s1"]).output().unwrap();
    assert!(run.status.success(), "{about}: {run:?}");
    let left = launched(place);
    assert!(left.is_empty(), "{about}: a stop has left {left:?}");
    let query = "SELECT count(*) FROM agent_sessions WHERE ended_at IS NULL";
    assert_eq!(effects(place, query), 0, "{about}: it was stopped and is not final");
}

/// The results of the points of one line.
#[derive(Debug, Default)]
struct Tally {
    points: AtomicUsize,
    killed: AtomicUsize,
    acknowledged: AtomicUsize,
    /// Done, but nobody was told: what a retry is for.
    unknown: AtomicUsize,
}

fn kill_at(world: &TestProject, place: &Path, line: &Line, point: &Point, tally: &Tally) {
    let about = format!("{}, killed at {point:?}", line.name);
    let run = strace::killed_at(world, place, Reach::Process, &killed(world, place, line), point);
    // The journal outside is what the caller has read.
    let acknowledged = run.stdout.ends_with('\n');
    let done = effects(place, line.effect);
    assert!((0..=1).contains(&done), "{about}: {done} effects");
    assert!(!acknowledged || done == 1, "{about}: acknowledged and lost: {run:?}");
    if line.repeat == Repeat::Settled {
        settle(world, place, &about);
    }

    let retry = CommandOutput::from(killed(world, place, line).output().unwrap());
    let now = effects(place, line.effect);
    let told = line.repeat == Repeat::Told && done == 0 && retry.code == Some(4);
    let cut_off = line.repeat == Repeat::Settled && retry.code == Some(7);
    if cut_off {
        // Killed after its intention and before anything ran: the repeat says so, and starts nothing under a settled name.
        assert_eq!(retry.error()["code"], "launch_failed", "{about}: {retry:?}");
        let ran = effects(place, "SELECT count(*) FROM events WHERE kind IN ('session.running', 'session.revived')");
        assert_eq!((now, ran), (done, 0), "{about}: it ran, and the repeat denies it: {retry:?}");
        assert!(!acknowledged && launched(place).is_empty(), "{about}: {retry:?}");
    } else if told {
        assert_eq!(retry.error()["code"], "request_open", "{about}: {retry:?}");
        assert_eq!(now, 0, "{about}: told, and done all the same");
    } else {
        assert_eq!(retry.code, Some(0), "{about}: the retry failed: {retry:?}");
        let again = line.repeat == Repeat::Again && now == done + 1;
        assert!(now == 1 || again, "{about}: {now} effects after the retry");
        let same = run.stdout == retry.stdout;
        assert!(!acknowledged || line.repeat == Repeat::Again || same, "{about}: another answer: {run:?}, {retry:?}");
    }
    if line.repeat == Repeat::Settled {
        stop(world, place, &about);
    }

    tally.points.fetch_add(1, Relaxed);
    tally.killed.fetch_add(usize::from(run.code.is_none()), Relaxed);
    tally.acknowledged.fetch_add(usize::from(acknowledged), Relaxed);
    tally.unknown.fetch_add(usize::from(!acknowledged && done == 1), Relaxed);
}

fn kill_everywhere(line: &Line) -> Tally {
    let world = TestProject::uninitialized();
    // With real ids: processes are found by their run, and another test's must not be.
    world.real_time();
    let template = world.dir().join("template");
    fs::create_dir_all(template.join("home")).unwrap();
    fs::write(template.join(".fairway.toml"), "").unwrap();
    fs::write(template.join("import.jsonl"), IMPORT).unwrap();
    for before in line.before {
        let run = in_place(&world, &template, words(before)).output().unwrap();
        assert!(run.status.success(), "{before}: {run:?}");
    }
    let begun = Instant::now();
    let place = strace::copy(&template, &world.dir().join("all"));
    let all = strace::points(&world, &place, Reach::Process, &killed(&world, &place, line), ".fairway.toml");
    if line.repeat == Repeat::Settled {
        stop(&world, &place, line.name);
    }
    let wanted = wanted(line, all.len());
    // Evenly over the whole run.
    let chosen: Vec<&Point> = (0..wanted).map(|number| &all[number * all.len() / wanted]).collect();

    let (tally, next) = (Tally::default(), Mutex::new(chosen.iter().enumerate()));
    let one = || {
        loop {
            let Some((number, point)) = next.lock().unwrap().next() else { return };
            let place = strace::copy(&template, &world.dir().join(format!("point-{number}")));
            kill_at(&world, &place, line, point, &tally);
            fs::remove_dir_all(place).unwrap();
        }
    };
    thread::scope(|scope| {
        let workers = [scope.spawn(one), scope.spawn(one)];
        for worker in workers {
            worker.join().unwrap();
        }
    });
    println!("{}: {} of {} calls in {:?}: {tally:?}", line.name, chosen.len(), all.len(), begun.elapsed());
    tally
}

#[test]
fn killed_command_loses_no_acknowledged_write() {
    if !strace::is_possible() {
        return;
    }
    let tallies: Vec<Tally> = LINES.iter().map(kill_everywhere).collect();
    let sum = |what: fn(&Tally) -> &AtomicUsize| tallies.iter().map(|tally| what(tally).load(Relaxed)).sum::<usize>();
    let points = sum(|tally| &tally.points);
    assert!(points >= 300, "only {points} points");
    // A few calls vary from run to run, so that the last points may miss; more than a few would prove nothing.
    let killed = sum(|tally| &tally.killed);
    assert!(killed * 20 >= points * 19, "only {killed} of {points} were killed");
    assert!(sum(|tally| &tally.unknown) > 0, "no point lies between the commit and its acknowledgement");
    assert!(sum(|tally| &tally.acknowledged) > 0, "no point lies behind the acknowledgement");
}

/// A writer that says that it is done before it is.
fn acknowledge_too_early() {
    let conn = Connection::open(part_dir().join("early.db")).unwrap();
    conn.execute_batch("BEGIN IMMEDIATE; INSERT INTO done VALUES (1)").unwrap();
    println!("acknowledged");
    conn.execute_batch("COMMIT").unwrap();
}

#[test]
fn control_that_acknowledges_early_loses_writes() {
    const NAME: &str = "storm::kill_points::control_that_acknowledges_early_loses_writes";
    if part().is_some() {
        return acknowledge_too_early();
    }
    if !strace::is_possible() {
        return;
    }
    let world = TestProject::uninitialized();
    let template = world.dir().join("template");
    fs::create_dir(&template).unwrap();
    let early = |place: &Path| Connection::open(place.join("early.db")).unwrap();
    early(&template).execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE done (x)").unwrap();

    let all = world.dir().join("all");
    strace::copy(&template, &all);
    let points = strace::points(&world, &all, Reach::Tree, &reexec(&world, NAME, "early", &all), "early.db");
    let mut lost = 0;
    for (number, point) in points.iter().enumerate().filter(|(_, point)| ["pwrite64", "fsync"].contains(&&*point.call))
    {
        let place = strace::copy(&template, &world.dir().join(format!("point-{number}")));
        let run = strace::killed_at(&world, &place, Reach::Tree, &reexec(&world, NAME, "early", &place), point);
        let done: i64 = early(&place).query_row("SELECT count(*) FROM done", [], |row| row.get(0)).unwrap();
        lost += i32::from(run.stdout.contains("acknowledged") && done == 0);
    }
    assert!(lost > 0, "nothing acknowledged was lost at {} points", points.len());
}
