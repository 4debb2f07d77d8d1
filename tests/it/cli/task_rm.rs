//! `fairway task rm`: what may be removed, and what is left of it.

use std::fs;

use serde_json::{Value, json};

use crate::common::TestProject;

fn events_of(world: &TestProject, task: &str) -> Vec<String> {
    let lines = world.run(["events", "--json"]).exits(0).stdout;
    let events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["task_id"] == task).map(|event| event["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn unused_task_is_removed_and_its_history_stays() {
    let world = TestProject::new();
    let lists = ["--label", "a", "--path", "src/**", "--check", "t=true", "--review-domain", "data"];
    world.run([&["task", "add", "T-1", "typo"], &lists[..]].concat()).exits(0);
    world.run(["task", "add", "T-2", "real"]).exits(0);
    world.run(["task", "add", "T-3", "waits", "--depends-on", "T-2"]).exits(0);
    insta::assert_snapshot!(world.transcript(&[
        "fairway task rm T-1",
        "fairway task show T-1",
        "fairway claim T-1",
        "fairway task rm T-1",
        "fairway task add --id T-1 again",
        "fairway task list --all",
    ]), @"
    $ fairway task rm T-1
    removed T-1
    $ fairway task show T-1
    error: there is no task 'T-1': it was removed
    hint: see its history: fairway events --of-task T-1
    [exit 3]
    $ fairway claim T-1
    error: there is no task 'T-1': it was removed
    hint: see its history: fairway events --of-task T-1
    [exit 3]
    $ fairway task rm T-1
    error: there is no task 'T-1': it was removed
    hint: see its history: fairway events --of-task T-1
    [exit 3]
    $ fairway task add --id T-1 again
    error: the id 'T-1' was the id of a task that was removed; an id is not given out again
    hint: let the id be generated: fairway task add 'TITLE'
    [exit 4]
    $ fairway task list --all
    ID   P  STATUS  ROLE  LANE  HELD BY  TITLE
    T-2  2  todo    -     -     -        real
    T-3  2  todo    -     -     -        waits
    ");
    assert_eq!(events_of(&world, "T-1"), ["task.added", "task.removed"]);
    assert_eq!(world.json(["task", "rm", "T-3"])["removed"][0]["title"], "waits");
    world.run(["doctor"]).exits(0);
}

#[test]
fn task_that_others_need_is_not_removed() {
    let world = TestProject::new();
    world.add_session("s1");
    for id in ["T-1", "T-2", "T-3", "T-4", "T-5", "T-6"] {
        world.run(["task", "add", id, "title"]).exits(0);
    }
    world.run(["claim", "T-1"]).exits(0);
    world.run(["release", "T-1"]).exits(0);
    world.run(["task", "dep", "add", "T-3", "T-2"]).exits(0);
    world.run(["task", "edit", "T-3", "--parent", "T-4"]).exits(0);
    world.run(["checkpoint", "record", "T-5", "--state", "active", "--summary", "s"]).exits(0);
    world.run(["evidence", "add", "T-5", "--result", "pass"]).exits(0);
    world.run(["session", "upsert", "--id", "s2", "--role", "r", "--task-id", "T-6"]).exits(0);
    insta::assert_snapshot!(world.transcript(&[
        "fairway task rm T-1",
        "fairway task rm T-2",
        "fairway task rm T-4",
        "fairway task rm T-5",
        "fairway task rm T-6",
        "fairway task rm T-3 T-9",
    ]), @"
    $ fairway task rm T-1
    error: T-1 cannot be removed: it has 1 claim
    hint: cancel it, and it stays in the history: fairway task cancel T-1 --reason TEXT
    [exit 4]
    $ fairway task rm T-2
    error: T-2 cannot be removed: T-3 depends on it
    hint: cancel it, and it stays in the history: fairway task cancel T-2 --reason TEXT
    [exit 4]
    $ fairway task rm T-4
    error: T-4 cannot be removed: T-3 is a part of it
    hint: cancel it, and it stays in the history: fairway task cancel T-4 --reason TEXT
    [exit 4]
    $ fairway task rm T-5
    error: T-5 cannot be removed: it has 1 checkpoint, 1 evidence record
    hint: cancel it, and it stays in the history: fairway task cancel T-5 --reason TEXT
    [exit 4]
    $ fairway task rm T-6
    error: T-6 cannot be removed: it has 1 session
    hint: cancel it, and it stays in the history: fairway task cancel T-6 --reason TEXT
    [exit 4]
    $ fairway task rm T-3 T-9
    error: there is no task 'T-9'
    hint: did you mean T-1, T-2, T-3?
    [exit 3]
    ");
    // Nothing of a refused removal is done, and tasks that need only each other go together.
    assert_eq!(world.json(["task", "list"]).as_array().unwrap().len(), 6);
    world.run(["task", "rm", "T-2", "T-3", "T-4", "T-2"]).exits(0);
    world.run(["task", "cancel", "T-1", "--reason", "r"]).exits(0);
    let closed = world.run(["task", "rm", "T-1", "--json"]).refuses(4, "in_use").error();
    assert_eq!(closed["details"]["by"], "it has 1 claim");
    assert!(closed["hint"].as_str().unwrap().contains("fairway task show T-1"), "{closed}");
    world.run(["doctor"]).exits(0);
}

#[test]
fn repeat_by_request_id_gets_the_first_answer() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "title"]).exits(0);
    let remove = ["task", "rm", "T-1", "--json", "--request-id", "R-1"];
    let first = world.run(remove).exits(0).stdout;
    assert_eq!(world.run(remove).exits(0).stdout, first);
    world.run(["task", "rm", "T-1", "--json"]).refuses(3, "not_found");
    assert_eq!(events_of(&world, "T-1"), ["task.added", "task.removed"]);
}

#[test]
fn import_does_not_bring_a_removed_task_back() {
    let world = TestProject::new();
    fs::write(
        world.root().join("tasks.jsonl"),
        r#"{"id": "A-1", "title": "one"}
{"id": "A-2", "title": "two"}
"#,
    )
    .unwrap();
    world.run(["task", "import", "tasks.jsonl"]).exits(0);
    world.run(["task", "rm", "A-1"]).exits(0);
    let report = world.json(["task", "import", "tasks.jsonl"]);
    assert_eq!((&report["imported"], &report["unchanged"], &report["skipped"]), (&json!(0), &json!(1), &json!(1)));
    assert_eq!(report["ignored"][0]["task_id"], "A-1");
    world.run(["task", "show", "A-1", "--json"]).refuses(3, "not_found");
}

/// A backup from before a removal has the task again; one from before its addition still does not give its id away.
#[test]
fn restore_brings_back_what_the_backup_had_and_no_used_id() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "kept in the backup"]).exits(0);
    world.run(["backup", "b.db"]).exits(0);
    world.run(["task", "add", "T-2", "added later"]).exits(0);
    world.run(["task", "rm", "T-1", "T-2"]).exits(0);
    world.run(["restore", "b.db"]).exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["title"], "kept in the backup");
    world.run(["claim", "T-1"]).exits(0);
    world.run(["task", "show", "T-2", "--json"]).refuses(3, "not_found");
    assert_eq!(world.json(["task", "add", "next"])["id"], "T-3");
    world.run(["doctor"]).exits(0);
}

/// An id that is both removed and there is a fault, which `doctor --fix` mends in favour of the task.
#[test]
fn doctor_finds_a_task_that_is_recorded_as_removed() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "title"]).exits(0);
    let store = rusqlite::Connection::open(world.store()).unwrap();
    store.execute("INSERT INTO removed_tasks (id, removed_at) VALUES ('T-1', 0)", []).unwrap();
    let found = world.run(["doctor"]);
    assert!(found.stdout.contains("removed_present"), "{}", found.stdout);
    world.run(["doctor", "--fix"]).exits(0);
    assert!(!world.run(["doctor"]).exits(0).stdout.contains("removed_present"));
    assert_eq!(world.json(["task", "show", "T-1"])["status"], "todo");
}
