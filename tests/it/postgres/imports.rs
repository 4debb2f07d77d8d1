//! Large imports: they are written in steps, and others have their turn in between.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::{another_host, wait_for};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, soak};

/// As many as one step writes.
const STEP: usize = 2_000;
const TURN: &str = "SELECT pg_advisory_xact_lock(1717660018, 'project'::regclass::oid::int)";

/// A file with so many tasks, each of which depends on the one before it. `more` is put into the record of one of them.
fn file(world: &TestProject, name: &str, prefix: &str, count: usize, more: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 1..=count {
        let more = more(number);
        let on = if number > 1 { format!(",\"depends_on\":[\"{prefix}-{}\"]", number - 1) } else { String::new() };
        let on = if more.contains("depends_on") { String::new() } else { on };
        writeln!(text, "{{\"id\":\"{prefix}-{number}\",\"title\":\"task {number}\"{on}{more}}}").unwrap();
    }
    let path = world.root().join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Begins an import, and a change of another host that asks for its turn after it. Returns the answers of both.
fn beside(world: &TestProject, other: &TestProject, import: &str, line: &[&str]) -> [CommandOutput; 2] {
    let (server, schema) = world.on_server.as_ref().unwrap();
    let until = |who: &str, wanted: &str| {
        let query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 'project'::regclass::oid";
        wait_for(|| (server.query(schema, &format!("{query} AND {who}")) == [wanted]).then_some(()));
    };
    let mut psql = server.psql(schema).args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut say = psql.stdin.take().unwrap();
    writeln!(say, "BEGIN; {TURN};").unwrap();
    until("granted", "1");
    let start = |world: &TestProject, line: &[&str]| {
        let child = world.fairway(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        thread::spawn(|| CommandOutput::from(child.wait_with_output().unwrap()))
    };
    let import = start(world, &["task", "import", import, "--json"]);
    until("NOT granted", "1");
    let change = start(other, line);
    until("NOT granted", "2");
    writeln!(say, "COMMIT;").unwrap();
    drop(say);
    assert!(psql.wait().unwrap().success());
    [import, change].map(|child| child.join().unwrap())
}

#[test]
fn large_import_gives_others_their_turn_and_goes_on_where_it_stopped() {
    let Some(world) = TestProject::on_postgres() else { return };
    let other = another_host(&world);
    let (server, schema) = world.on_server.as_ref().unwrap();
    let ask = |query: &str| server.query(schema, query);
    let count = |prefix: &str| ask(&format!("SELECT count(*) FROM tasks WHERE id LIKE '{prefix}-%'")).remove(0);

    // The other host adds a task between two steps, and it is one of the file.
    let taken = format!("A-{}", STEP + 1);
    let path = file(&world, "a.jsonl", "A", STEP + 2, |_| String::new());
    let [import, added] = beside(&world, &other, &path, &["task", "add", "--id", &taken, "of the other host"]);
    added.exits(0);
    let report = import.exits(0).json();
    assert_eq!((&report["imported"], &report["unchanged"]), (&(STEP + 1).into(), &1.into()), "{report:#}");
    let place = |kind: &str, which: &str| -> usize {
        let query = format!("SELECT {which}(seq) FROM events WHERE kind = '{kind}' AND task_id LIKE 'A-%'");
        ask(&query).remove(0).parse().unwrap()
    };
    let (first, between, last) =
        (place("task.imported", "min"), place("task.added", "min"), place("task.imported", "max"));
    assert_eq!((between - first, last - between), (STEP, 1));
    assert_eq!(ask(&format!("SELECT title FROM tasks WHERE id = '{taken}'")), ["of the other host"]);
    assert_eq!(ask("SELECT id FROM tasks WHERE open_deps = 0 AND id LIKE 'A-%' ORDER BY id"), ["A-1", &taken]);

    // The other host closes a circle through a task that is still to come: B-1 needs B-2001, which needs x.
    world.run(["task", "add", "--id", "x", "x"]).exits(0);
    let path = file(&world, "b.jsonl", "B", STEP + 1, |number| match number {
        1 => format!(",\"depends_on\":[\"B-{}\"]", STEP + 1),
        number if number > STEP => ",\"depends_on\":[\"x\"]".into(),
        _ => ",\"depends_on\":[]".into(),
    });
    let [import, edited] = beside(&world, &other, &path, &["task", "dep", "add", "x", "B-1"]);
    edited.exits(0);
    let error = import.refuses(5, "cycle").error();
    let message = error["message"].as_str().unwrap();
    assert!(message.ends_with(&format!("; {STEP} of {} tasks are imported", STEP + 1)), "{message}");
    assert_eq!(count("B"), STEP.to_string());
    // A request id that is used again goes on, too.
    world.run(["task", "dep", "rm", "x", "B-1"]).exits(0);
    let again = ["task", "import", &path, "--json", "--request-id", "b"];
    let report = world.run(again).exits(0).json();
    assert_eq!((&report["imported"], &report["unchanged"]), (&1.into(), &STEP.into()));
    assert_eq!(world.run(again).exits(0).json(), report);

    // The server fails in the second step, as when the process ends there. Its first tasks are ready only if they are so in the end.
    ask("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no more''; END'");
    let last = format!("C-{}", STEP + 1);
    ask(&format!(
        "CREATE TRIGGER fail BEFORE INSERT ON tasks FOR EACH ROW WHEN (NEW.id = '{last}') EXECUTE FUNCTION fail()"
    ));
    let path = file(&world, "c.jsonl", "C", STEP + 1, |number| match number {
        1 => format!(",\"depends_on\":[\"{last}\"]"),
        number if number > STEP => ",\"status\":\"done\",\"depends_on\":[]".into(),
        _ => String::new(),
    });
    let error = world.run(["task", "import", &path, "--json"]).refuses(1, "store_failed").error();
    let hint = format!("\nimport the rest: fairway task import {path}");
    assert!(error["hint"].as_str().unwrap().ends_with(&hint), "{error:#}");
    let ready = "SELECT id FROM tasks WHERE open_deps = 0 AND status = 'todo' AND id LIKE 'C-%'";
    assert_eq!((count("C"), ask(ready)), (STEP.to_string(), vec![]));
    let unsettled = || {
        let findings = world.run(["doctor", "--json"]).json()["findings"].clone();
        let of_import = |one: &&serde_json::Value| one["message"].as_str().unwrap().contains("the import of a file");
        findings.as_array().unwrap().iter().find(of_import).cloned()
    };
    assert_eq!(unsettled(), None, "it may be running");
    world.advance_clock(600);
    assert_eq!(unsettled().unwrap()["fix"], "fairway task import FILE");
    ask("DROP TRIGGER fail ON tasks; DROP FUNCTION fail");
    let report = world.json(["task", "import", &path]);
    assert_eq!((&report["imported"], &report["unchanged"], &report["open"]), (&1.into(), &STEP.into(), &0.into()));
    assert_eq!((ask(ready), unsettled()), (vec!["C-1".to_owned()], None));
}

/// `FAIRWAY_SOAK=1`: 100,000 tasks in 15 s, and nobody waits longer than a second.
#[test]
fn import_of_many_tasks_takes_seconds_and_holds_others_up_for_less_than_one() {
    if !soak::is_on() {
        return;
    }
    let Some(world) = TestProject::on_postgres() else { return };
    let other = another_host(&world);
    let path = file(&world, "many.jsonl", "M", 100_000, |_| String::new());
    let start = Instant::now();
    let mut import = world.fairway(["task", "import", &path, "--quiet"]).stdout(Stdio::null()).spawn().unwrap();
    let mut waits = Vec::new();
    while import.try_wait().unwrap().is_none() {
        let start = Instant::now();
        other.run(["task", "add", "meanwhile"]).exits(0);
        waits.push(start.elapsed());
        thread::sleep(Duration::from_millis(50));
    }
    waits.sort();
    println!("{} others: median {:?}, longest {:?}", waits.len(), waits[waits.len() / 2], waits[waits.len() - 1]);
    assert!(import.wait().unwrap().success());
    soak::took(start.elapsed(), ..Duration::from_secs(15), "an import of 100,000 tasks");
    soak::took(waits.pop().unwrap(), ..Duration::from_secs(1), "the longest change of another host meanwhile");
}
