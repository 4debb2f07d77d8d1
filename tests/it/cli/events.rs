//! `fairway events`

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc;

use crate::common::test_project::FAIRWAY;
use crate::common::{TestProject, fixtures};

/// Three tasks, two sessions and a lane, with an event each half hour.
fn history() -> TestProject {
    let world = TestProject::new();
    fixtures::add_lane(&world, "ui", None, None);
    for id in ["m1", "m2"] {
        fixtures::add_session(&world, id, "dev", Some("ui"));
    }
    for line in [
        "task add T-1 one --lane ui",
        "task add T-2 two",
        "--session m1 claim T-1",
        "--session m2 claim T-2",
        "--session m1 checkpoint record T-1 --state active --summary half",
        "--session m1 release T-1",
        "--session m2 claim T-1",
    ] {
        world.advance_clock(1_800);
        world.run(line.split(' ')).exits(0);
    }
    world
}

#[test]
fn conditions_select_events_together() {
    let world = history();
    let seqs = |args: &str| {
        let run = world.run(["events", "--quiet"].into_iter().chain(args.split(' ').filter(|word| !word.is_empty())));
        run.exits(0).stdout.lines().map(|line| line.parse().unwrap()).collect::<Vec<i64>>()
    };
    // 1 the lane, 2 and 3 the sessions; then the lines of the history.
    assert_eq!(seqs(""), (1..=10).collect::<Vec<_>>());
    assert_eq!(seqs("--of-task T-1"), [4, 6, 8, 9, 10]);
    assert_eq!(seqs("--task T-1 --lane ui"), [4, 6, 8, 9, 10]);
    assert_eq!(seqs("--of-session m1"), [2, 6, 8, 9]);
    // The claim of T-2 put it into the lane.
    assert_eq!(seqs("--of-lane ui"), [1, 4, 6, 7, 8, 9, 10]);
    assert_eq!(seqs("--of-task T-1 --of-session m2"), [10]);
    assert_eq!(seqs("--of-session m2 --of-lane ui"), [7, 10]);
    assert_eq!(seqs("--kind task.claimed --kind checkpoint.recorded"), [6, 7, 8, 10]);
    assert_eq!(seqs("--kind task.* --of-session m1"), [6, 9]);
    assert_eq!(seqs("--tail 2"), [9, 10]);
    assert_eq!(seqs("--tail 2 --of-session m1"), [8, 9]);
    assert_eq!(seqs("--tail 99 --kind lane.*"), [1]);
    assert_eq!(seqs("--tail 0"), [0; 0]);
    // A number, a span, a time and a date; each with the others.
    assert_eq!(seqs("--since 8"), [9, 10]);
    assert_eq!(seqs("--since 70m"), [8, 9, 10]);
    assert_eq!(seqs("--since 70m --of-session m1 --tail 1"), [9]);
    assert_eq!(seqs("--since 2026-01-01T02:30:00Z"), [8, 9, 10]);
    assert_eq!(seqs("--since 2026-01-01"), (1..=10).collect::<Vec<_>>());
    assert_eq!(seqs("--since 2026-01-02"), [0; 0]);
    assert_eq!(seqs("--since=-1 --tail 1"), [10]);
    for wrong in ["--since yesterday", "--kind task", "--kind task.claimd", "--tail x"] {
        let run = world.run(["events"].into_iter().chain(wrong.split(' '))).exits(2);
        assert!(
            run.stderr.contains("hint: ") || run.stderr.contains("such as") || run.stderr.contains("1h"),
            "{run:?}"
        );
    }
}

#[test]
fn columns_are_aligned_and_the_actor_has_one() {
    let world = history();
    let printed = world.run(["events", "--since", "3"]).exits(0).stdout;
    let lines: Vec<&str> = printed.lines().collect();
    // Number, local time, kind, actor, what it is about, and the rest.
    let user = world.json(["events", "--kind", "task.added", "--task", "T-1"])["actor"].as_str().unwrap().to_owned();
    assert_eq!(world.redacted(&user), "[user]");
    let width = user.len();
    let row = |number: &str, time: &str, kind: &str, actor: &str, rest: &str| {
        format!("{number:>2}  2026-01-01 {time}  {kind:<19}  {actor:<width$}  {rest}")
    };
    assert_eq!(lines[0], row("4", "00:30:02", "task.added", &user, "T-1 ui  title=one priority=2"));
    assert_eq!(lines[1], row("5", "01:00:03", "task.added", &user, "T-2     title=two priority=2"));
    assert_eq!(lines[4], row("8", "02:30:06", "checkpoint.recorded", "m1", "T-1 ui  id=1 state=active summary=half"));
    assert_eq!(lines[5], row("9", "03:00:07", "task.released", "m1", "T-1 ui  from=in_progress to=todo epoch=1"));
    assert_eq!(lines.len(), 7);
    let last = world.run(["events", "--tail", "1"]).exits(0).stdout;
    let text = "10  2026-01-01 03:30:08  task.claimed  m2  T-1 ui  epoch=2 claimant=m2 role=dev takeover=fresh\n";
    assert_eq!(last, text);
}

#[test]
fn follow_after_an_empty_tail_begins_at_the_end() {
    let world = history();
    let newest = world.json(["events", "--tail", "1"])["seq"].as_i64().unwrap();
    let mut command = world.fairway(["events", "--follow", "--tail", "0", "--of-task", "T-2", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let (line, first) = mpsc::channel();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|one| line.send(one)));
    // Nothing tells from outside when it has found where the end is: something happens until it has.
    let mut number = 0;
    let first: serde_json::Value = loop {
        number += 1;
        for id in ["T-1", "T-2"] {
            world.run(["task", "edit", id, "--title", &format!("another {number}")]).exits(0);
        }
        match first.recv_timeout(std::time::Duration::from_millis(200)) {
            Ok(line) => break serde_json::from_str(&line).unwrap(),
            Err(mpsc::RecvTimeoutError::Timeout) => assert!(child.try_wait().unwrap().is_none(), "it ended"),
            Err(error) => panic!("it ended: {error}"),
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((&first["task_id"], &first["kind"]), (&"T-2".into(), &"task.edited".into()), "{first}");
    assert!(first["seq"].as_i64().unwrap() > newest, "{first}");
}

/// A large log is read by its indexes and in pieces.
#[test]
fn filters_read_a_log_of_100_000_events() {
    let world = history();
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    conn.execute_batch(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
         INSERT INTO events (at, kind, session_id, run_id, actor, data)
         SELECT 1767225600000 + 10800000 + i, 'session.activity', 'm1', 'run-m1', 'm1', '{\"to\":\"busy\"}' FROM n;",
    )
    .unwrap();
    drop(conn);
    let count = |args: &[&str]| world.run(["events", "--quiet"].iter().chain(args)).exits(0).stdout.lines().count();
    assert_eq!(count(&["--of-session", "m1", "--tail", "3000"]), 3_000);
    assert_eq!(count(&["--kind", "task.*"]), 6);
    assert_eq!(count(&["--of-task", "T-1"]), 5);
    // The address space of the whole program, of which the events are the least part.
    let mut limited = world.command("sh");
    limited.args(["-c", "ulimit -v 400000; exec \"$0\" events --json", FAIRWAY]);
    let run = crate::common::test_project::CommandOutput::from(limited.output().unwrap()).exits(0);
    assert_eq!(run.stdout.lines().count(), 100_010);
}

/// A name that somebody left, killed or in a container of their own, keeps nobody from following.
#[test]
fn follow_replaces_a_stale_socket_of_the_same_pid() {
    let world = TestProject::new();
    world.run(["task", "add", "one"]).exits(0);
    let mut command = world.command("sh");
    command.args([
        "-c",
        "mkdir -p -m 700 .fairway/runtime/wake && : >.fairway/runtime/wake/events-$$ && exec \"$0\" \"$@\"",
    ]);
    command.args([FAIRWAY, "events", "--follow", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().expect("it ended").unwrap();
    assert!(next().contains("task.added"));
    world.run(["task", "add", "two"]).exits(0);
    assert!(next().contains("T-2"));
    child.kill().unwrap();
    child.wait().unwrap();
}
