//! Sessions of another host, and hosts that fall silent. Both hosts run on this machine, so that a wrong look at a process would
//! find it.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use super::another_host;
use crate::common::TestProject;

/// Longer than `sessions.stale_after`, in seconds.
const LONG: i64 = 3_600;

fn sleeper() -> Child {
    Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap()
}

fn upsert(world: &TestProject, id: &str, more: &[&str]) {
    world.run([&["session", "upsert", "--id", id, "--role", "worker"], more].concat()).exits(0);
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["session_id"].as_str().unwrap()).collect()
}

fn statuses(world: &TestProject) -> Vec<String> {
    let sessions = world.json(["session", "list", "--all"]);
    sessions.as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn other_host_is_never_the_one_to_say_that_a_session_is_gone() {
    let Some(world) = TestProject::on_postgres() else { return };
    let owner = another_host(&world);
    let (mut alive, mut dead) = (sleeper(), sleeper());
    upsert(&owner, "alive", &["--pid", &alive.id().to_string()]);
    upsert(&owner, "dead", &["--pid", &dead.id().to_string()]);
    // A tmux server that does not answer, and a session that nothing is known of.
    upsert(&owner, "unreachable", &["--backend", "tmux", "--pane", "%1", "--socket", "/nowhere/socket"]);
    upsert(&owner, "unseen", &[]);
    dead.kill().unwrap();
    dead.wait().unwrap();
    for dry_run in [true, false] {
        let report = world.json([&["session", "reconcile"][..], if dry_run { &["--dry-run"] } else { &[] }].concat());
        assert_eq!(ids(&report["skipped"]), ["alive", "dead", "unreachable", "unseen"], "{report:#}");
        assert_eq!((ids(&report["stale"]), ids(&report["unknown"])), (vec![], vec![]), "{report:#}");
    }
    assert_eq!(statuses(&world), ["running"; 4]);
    world.run(["task", "add", "one"]).exits(0);
    owner.run(["claim", "T-1", "--session", "dead"]).exits(0);
    world.run(["claim", "T-1", "--json"]).refuses(4, "already_claimed");
    let released = world.run(["release", "--dead"]).exits(0).stdout;
    assert!(released.contains("no claim of a dead session"), "{released}");

    let report = owner.json(["session", "reconcile"]);
    assert_eq!(ids(&report["stale"]), ["dead"], "{report:#}");
    alive.kill().unwrap();
    alive.wait().unwrap();
}

#[test]
fn sessions_of_a_silent_host_are_marked_and_the_brake_counts_the_others() {
    let Some(world) = TestProject::on_postgres() else { return };
    let other = another_host(&world);
    upsert(&world, "here", &[]);
    for number in 0..4 {
        upsert(&other, &format!("there-{number}"), &[]);
    }
    let stale = |world: &TestProject| {
        let run = world.run(["session", "reconcile", "--dry-run", "--json"]).exits(0);
        let is_braked = run.stderr.contains("the clock may be wrong");
        (ids(&run.json()["stale"]).len(), is_braked)
    };
    let items = |world: &TestProject| -> Vec<Value> {
        let board = world.json(["status"]);
        let all = board["needs_you"].as_array().unwrap();
        all.iter().filter(|need| need["kind"] == "host_silent").cloned().collect()
    };
    assert_eq!(items(&world), [Value::Null; 0]);
    let id = other.json(["host", "list"])[0]["id"].as_str().unwrap().to_owned();
    world.advance_clock(LONG);
    // As after a time without the server: this host was silent too. The note says that, and not that a clock is wrong.
    let run = world.run(["session", "reconcile", "--json"]).exits(0);
    let report = run.json();
    assert_eq!(ids(&report["stale"]), ["here"], "its own sessions alone: {report:#}");
    assert!(run.stderr.contains("this host was not heard of for 1h") && !run.stderr.contains("clock"), "{run:?}");
    let reasons = report["unknown"].as_array().unwrap();
    assert_eq!(reasons.len(), 4, "{report:#}");
    assert!(reasons.iter().all(|one| one["reason"].as_str().unwrap().ends_with("from the next look on")), "{report:#}");
    // The board needs no command for it.
    let item = items(&world);
    assert_eq!(item.len(), 1, "{item:#?}");
    assert!(item[0]["line"].as_str().unwrap().ends_with("more than 30m: 4 sessions, 0 claims, 0 jobs"), "{item:#?}");
    let command = item[0]["commands"][0]["command"].as_str().unwrap();
    assert!(command.starts_with("fairway host retire ") && command.ends_with(" --reason TEXT"), "{command}");
    // That look counted: the next one judges.
    world.run(["session", "heartbeat", "here"]).exits(0);
    assert_eq!(stale(&world), (4, false));
    let report = world.run(["doctor", "--json"]).json();
    let silent = report["findings"].as_array().unwrap().iter().find(|one| one["code"] == "host_silent");
    let message = silent.expect("no finding")["message"].as_str().unwrap();
    assert!(message.contains("has not written for 1h") && message.contains("4 of its sessions are live"), "{message}");

    // The host is there: its sessions alone are silent, and most sessions are.
    other.advance_clock(LONG);
    other.run(["task", "add", "one"]).exits(0);
    assert_eq!(stale(&world), (0, true));
    let report = world.json(["session", "reconcile"]);
    assert!(report["unknown"][0]["reason"].as_str().unwrap().contains("the clock is suspect"), "{report:#}");
    assert_eq!(statuses(&world), ["running"; 5]);
    assert_eq!(items(&world), [Value::Null; 0], "it was heard of");

    // Silent again, and given up in one write.
    world.advance_clock(2 * LONG);
    world.run(["session", "heartbeat", "here"]).exits(0);
    let name = item[0]["commands"][0]["command"].as_str().unwrap().split(' ').nth(3).unwrap().to_owned();
    assert_eq!(name, world.json(["host", "list"])[1]["name"].as_str().unwrap());
    let retired = world.json(["host", "retire", &id, "--reason", "it is gone"]);
    assert_eq!(retired["sessions"].as_array().unwrap().len(), 4, "{retired:#}");
    assert_eq!(items(&world), [Value::Null; 0]);
}

/// A look takes as many exchanges with the server as its statements depend on each other, whatever is held and submitted.
#[test]
fn number_of_exchanges_of_a_look_does_not_grow_with_the_held_tasks() {
    const LOOKS: [&[&str]; 4] = [&["status"], &["session", "list"], &["explain", "T-1"], &["explain", "s1"]];
    /// Begin and end of a transaction are exchanges of their own.
    const AROUND: usize = 2;
    /// A long list comes in blocks of up to 256 rows, again for statements that depend on what it says.
    const BLOCKS: [usize; 4] = [3, 3, 3, 6];
    let Some(world) = TestProject::on_postgres() else { return };
    let exchanges = |line: &[&str]| {
        let output = world.fairway(line).env("FAIRWAY_LOG", "trace").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap().lines().filter(|line| line.contains("sql=")).count()
    };
    let hold = |from: usize, to: usize| {
        for number in from..to {
            let (session, task) = (format!("s{number}"), format!("T-{number}"));
            upsert(&world, &session, &[]);
            world.run(["task", "add", &task, "title"]).exits(0);
            world.run(["--session", &session, "claim", &task]).exits(0);
            let summary = format!("work {number}");
            world.run(["--session", &session, "note", &summary]).exits(0);
            if number % 2 == 0 {
                world.run(["--session", &session, "task", "submit", &task]).exits(0);
            }
        }
    };
    hold(0, 4);
    let few = LOOKS.map(exchanges);
    hold(4, 12);
    let many = LOOKS.map(exchanges);
    println!("exchanges of {LOOKS:?}: {many:?}");
    assert!(few.iter().all(|count| *count > 1), "the log has no statements: {few:?}");
    assert_eq!(few, many);
    assert!(many.iter().all(|count| count + AROUND <= 6), "{many:?}");
    // Copies of the last one, up to 400 held tasks.
    let (server, schema) = world.on_server.as_ref().unwrap();
    let copy = |table: &str, row: &str, changes: &str| {
        let new = format!("jsonb_populate_record(old, jsonb_build_object({changes}))");
        server.query(
            schema,
            &format!("INSERT INTO {table} SELECT ({new}).* FROM {table} old, generate_series(13, 400) n WHERE {row}"),
        );
    };
    copy("tasks", "id = 'T-11'", "'id', 'M-' || n");
    copy("claims", "task_id = 'T-11' AND ended_at IS NULL", "'task_id', 'M-' || n");
    copy("checkpoints", "task_id = 'T-11' AND origin IS NULL", "'id', 100000 + n, 'task_id', 'M-' || n");
    let blocks = LOOKS.map(exchanges);
    println!("exchanges with 400 held tasks: {blocks:?}");
    let most = |place: usize| many[place] + BLOCKS[place];
    assert!((0..4).all(|place| blocks[place] <= most(place)), "{blocks:?} after {many:?}");
    let start = Instant::now();
    let board = world.json(["status"]);
    println!("status with 400 held tasks: {} ms", start.elapsed().as_millis());
    assert_eq!(board["counts"]["held"], 400);
    // The copies have no history, which every store must have at its end.
    for (table, id) in [("checkpoints", "task_id"), ("claims", "task_id"), ("tasks", "id")] {
        server.query(schema, &format!("DELETE FROM {table} WHERE {id} LIKE 'M-%'"));
    }
    // They say the same as those that were read one by one.
    let listed = world.json(["session", "list"]);
    for (number, one) in listed.as_array().unwrap().iter().enumerate() {
        assert_eq!(one["doing"]["text"], format!("work {number}"), "{one:#}");
    }
}
