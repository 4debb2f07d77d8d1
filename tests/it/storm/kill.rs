//! `kill -9` at every call: what was acknowledged is in the store, there is never half of anything, and a retry of the same
//! request has exactly one effect.

use std::{
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use rusqlite::{Connection, OpenFlags};

use super::strace::{self, Point};
use crate::common::{
    World,
    again::{again, part, place},
    invariants,
};

/// A command line that is killed.
struct Line {
    name: &'static str,
    /// What is done before, once.
    before: &'static [&'static str],
    /// The command.
    words: &'static str,
    /// A query for how often it has had its effect.
    effect: &'static str,
    /// How many points the quick set takes of it.
    quick: usize,
    /// Whether `--request-id` makes a repeat have no second effect. Restoring twice is restoring.
    once: bool,
}

const ADD: &str = "task add one --role r --label a --label b --path src/** --check t=true --body text";

/// Every line: add one here, and it is killed.
const LINES: &[Line] = &[
    Line {
        name: "claim",
        before: &["task add one", "task add two --depends-on T-1"],
        words: "claim T-1 --lease 10m",
        effect: "SELECT count(*) FROM claims WHERE task_id = 'T-1'",
        quick: 80,
        once: true,
    },
    Line {
        name: "release",
        before: &["task add one", "claim T-1"],
        words: "release T-1 --reason enough",
        effect: "SELECT count(*) FROM events WHERE kind = 'task.released'",
        quick: 40,
        once: true,
    },
    Line {
        name: "submit",
        before: &["task add one", "claim T-1"],
        words: "task submit T-1 --commit abcdef0",
        effect: "SELECT count(*) FROM events WHERE kind = 'task.submitted'",
        quick: 40,
        once: true,
    },
    Line {
        name: "add",
        before: &["task add one"],
        words: ADD,
        effect: "SELECT count(*) FROM tasks WHERE id <> 'T-1'",
        quick: 50,
        once: true,
    },
    Line { name: "first open", before: &[], words: ADD, effect: "SELECT count(*) FROM tasks", quick: 50, once: true },
    Line {
        name: "restore",
        before: &["task add one", "claim T-1", "backup copy.db", "task add two", "claim T-2"],
        words: "restore copy.db",
        effect: "SELECT count(*) FROM restores",
        quick: 50,
        once: false,
    },
];

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// How often a line has had its effect; never, while there is no store.
fn effects(place: &Path, query: &str) -> i64 {
    let store = place.join(".fairway/fairway.db");
    if !store.exists() {
        return 0;
    }
    invariants::check(&store);
    let conn = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    conn.query_row(query, [], |row| row.get(0)).unwrap()
}

/// What became of the points of one line.
#[derive(Debug, Default)]
struct Tally {
    points: AtomicUsize,
    killed: AtomicUsize,
    acknowledged: AtomicUsize,
    /// Done, but nobody was told: what a retry is for.
    unknown: AtomicUsize,
}

fn kill_everywhere(line: &Line) -> Tally {
    let world = World::bare();
    let template = world.dir().join("template");
    fs::create_dir(&template).unwrap();
    fs::write(template.join(".fairway.toml"), "").unwrap();
    for before in line.before {
        let mut command = world.fairway(words(before));
        assert!(command.current_dir(&template).output().unwrap().status.success(), "{before}");
    }
    let command = || world.fairway(words(line.words).into_iter().chain(["--json", "--request-id", "R-1"]));
    let all = strace::points(&world, &strace::copy(&template, &world.dir().join("all")), &command(), ".fairway.toml");
    let wanted = if std::env::var_os("FAIRWAY_SOAK").is_some() { all.len() } else { line.quick.min(all.len()) };
    // Evenly over the whole run.
    let chosen: Vec<&Point> = (0..wanted).map(|number| &all[number * all.len() / wanted]).collect();

    let (tally, next) = (Tally::default(), Mutex::new(chosen.iter().enumerate()));
    let one = || {
        loop {
            let Some((number, point)) = next.lock().unwrap().next() else { return };
            let place = strace::copy(&template, &world.dir().join(format!("point-{number}")));
            let about = format!("{}, killed at {point:?}", line.name);
            let run = strace::killed_at(&world, &place, &command(), point);
            // The journal outside is what the caller has read.
            let acknowledged = run.stdout.ends_with('\n');
            let done = effects(&place, line.effect);
            assert!((0..=1).contains(&done), "{about}: {done} effects");
            assert!(!acknowledged || done == 1, "{about}: acknowledged and lost: {run:?}");

            let retry = command().current_dir(&place).output().unwrap();
            assert!(retry.status.success(), "{about}: the retry failed: {retry:?}");
            let now = effects(&place, line.effect);
            assert!(now == 1 || (!line.once && now == done + 1), "{about}: {now} effects after the retry");
            let same = run.stdout.as_bytes() == retry.stdout;
            assert!(!acknowledged || !line.once || same, "{about}: another answer: {run:?}, {retry:?}");

            tally.points.fetch_add(1, Relaxed);
            tally.killed.fetch_add(usize::from(run.code.is_none()), Relaxed);
            tally.acknowledged.fetch_add(usize::from(acknowledged), Relaxed);
            tally.unknown.fetch_add(usize::from(!acknowledged && done == 1), Relaxed);
            fs::remove_dir_all(place).unwrap();
        }
    };
    thread::scope(|scope| {
        let workers = [scope.spawn(one), scope.spawn(one)];
        for worker in workers {
            worker.join().unwrap();
        }
    });
    println!("{}: {} of {} calls: {tally:?}", line.name, chosen.len(), all.len());
    tally
}

#[test]
fn killed_anywhere_nothing_acknowledged_is_lost_and_a_retry_has_one_effect() {
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
    let conn = Connection::open(place().join("early.db")).unwrap();
    conn.execute_batch("BEGIN IMMEDIATE; INSERT INTO done VALUES (1)").unwrap();
    println!("acknowledged");
    conn.execute_batch("COMMIT").unwrap();
}

#[test]
fn the_control_that_acknowledges_before_it_commits_loses_what_it_acknowledged() {
    const NAME: &str = "storm::kill::the_control_that_acknowledges_before_it_commits_loses_what_it_acknowledged";
    if part().is_some() {
        return acknowledge_too_early();
    }
    if !strace::is_possible() {
        return;
    }
    let world = World::bare();
    let template = world.dir().join("template");
    fs::create_dir(&template).unwrap();
    let open = |place: &Path| Connection::open(place.join("early.db")).unwrap();
    open(&template).execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE done (x)").unwrap();

    let all = world.dir().join("all");
    strace::copy(&template, &all);
    let points = strace::points(&world, &all, &again(&world, NAME, "early", &all), "early.db");
    let mut lost = 0;
    for (number, point) in points.iter().enumerate().filter(|(_, point)| ["pwrite64", "fsync"].contains(&&*point.call))
    {
        let place = strace::copy(&template, &world.dir().join(format!("point-{number}")));
        let run = strace::killed_at(&world, &place, &again(&world, NAME, "early", &place), point);
        let done: i64 = open(&place).query_row("SELECT count(*) FROM done", [], |row| row.get(0)).unwrap();
        lost += i32::from(run.stdout.contains("acknowledged") && done == 0);
    }
    assert!(lost > 0, "nothing acknowledged was lost at {} points", points.len());
}
