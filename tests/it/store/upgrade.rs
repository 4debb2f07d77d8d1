//! Stores that earlier versions wrote: each is kept as a dump, and opens with what it held.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rusqlite::Connection;

use crate::common::TestProject;

/// Puts the store of a schema's version in place of a world's own.
fn world_of(version: u32) -> TestProject {
    let world = TestProject::new();
    let dump = fs::read_to_string(format!("{}/tests/data/store-v{version}.sql", env!("CARGO_MANIFEST_DIR"))).unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let mut path = world.store().into_os_string();
        path.push(suffix);
        let _ = fs::remove_file(path);
    }
    let conn = Connection::open(world.store()).unwrap();
    conn.execute_batch(&dump).unwrap();
    conn.pragma_update(None, "journal_mode", "wal").unwrap();
    fs::set_permissions(world.store(), fs::Permissions::from_mode(0o600)).unwrap();
    world
}

#[test]
fn store_of_the_first_schema_opens_whole() {
    let world = world_of(1);
    let tasks = world.json(["task", "list", "--status", "done", "--status", "in_progress"]);
    let tasks = tasks.as_array().unwrap();
    assert_eq!(tasks.len(), 2);
    assert_eq!((tasks[0]["status"].as_str(), tasks[1]["status"].as_str()), (Some("done"), Some("in_progress")));
    let session = world.json(["session", "show", "s1"]);
    assert_eq!((session["pane"].as_str(), session["backend"].as_str()), (Some("%1"), Some("tmux")));
    // It is written to as well, and afterwards it is of the newest schema.
    world.run(["session", "heartbeat", "s1"]).exits(0);
    assert_newest(&world);
}

#[test]
fn store_of_the_second_schema_keeps_the_server_of_a_pane() {
    let world = world_of(2);
    world.run(["session", "heartbeat", "s1"]).exits(0);
    let conn = Connection::open(world.store()).unwrap();
    let server: (i64, i64) = conn
        .query_row("SELECT server_pid, server_started FROM agent_sessions WHERE id = 's1'", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(server, (4711, 12345));
    assert_newest(&world);
}

#[test]
fn store_of_the_third_schema_keeps_its_messages_and_runs() {
    let world = world_of(3);
    let waiting = world.json(["inbox", "--session", "s1"]);
    assert_eq!((waiting[0]["content"].as_str(), waiting[0]["way"].as_str()), (Some("hello"), Some("inbox")));
    let runs = world.json(["exec", "list"]);
    // Its output was not kept with the dump.
    world.run(["exec", "rm", runs[0]["run_id"].as_str().unwrap()]).exits(0);
    assert_newest(&world);
}

#[test]
fn store_of_the_fourth_schema_keeps_what_its_renamed_columns_hold() {
    let world = world_of(4);
    assert_eq!(world.json(["guard", "log"])[0]["door"], "hook");
    assert_eq!(world.json(["outbox", "list"])[0]["way"], "inbox");
    world.run(["session", "heartbeat", "s1"]).exits(0);
    let conn = Connection::open(world.store()).unwrap();
    let read = |query: &str| conn.query_row(query, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(read("SELECT channel FROM messages"), "inbox");
    assert_eq!(read("SELECT entry_point FROM guard_decisions"), "hook");
    assert_eq!(
        read("SELECT status FROM exec_runs WHERE supervisor_pid IS NULL AND supervisor_started IS NULL"),
        "succeeded"
    );
    // The constraints follow the new names.
    for invalid in [
        "UPDATE exec_runs SET supervisor_pid = 1",
        "UPDATE guard_decisions SET entry_point = 'window'",
        "UPDATE messages SET channel = 'window'",
    ] {
        let refused = conn.execute(invalid, []).unwrap_err().to_string();
        assert!(refused.contains("CHECK constraint failed"), "{invalid}: {refused}");
    }
    assert_newest(&world);
}

fn assert_newest(world: &TestProject) {
    let version: i64 =
        Connection::open(world.store()).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 25);
    // The dumps hold the rows of jobs and no directories of theirs.
    let findings = world.run(["doctor", "--json"]).json();
    let problems = findings["findings"].as_array().unwrap().iter().filter(|one| one["severity"] != "note");
    let codes: Vec<&str> = problems.map(|one| one["code"].as_str().unwrap()).collect();
    assert!(codes.iter().all(|code| *code == "run_folder_missing"), "{findings}");
}
