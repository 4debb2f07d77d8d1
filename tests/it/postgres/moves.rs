//! The way of a project to a server and back, and the verbs about the store there.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use serde_json::Value;

use crate::common::TestProject;
use crate::common::postgres_server::{self, PostgresServer};

/// The server, and an address of a schema that is not there.
fn server(name: &str) -> Option<(PostgresServer, String, String)> {
    static SCHEMAS: AtomicU32 = AtomicU32::new(0);
    let server = postgres_server::shared()?;
    let schema = format!("{name}_{}_{}", std::process::id(), SCHEMAS.fetch_add(1, Relaxed));
    let address = server.address(&schema);
    Some((server, schema, address))
}

/// Tables with a number for each row, references in both directions, and texts that no format keeps by itself.
fn fill(world: &TestProject) {
    let text = "tab\there, 'quotes\" and \\backslash\\, {\"json\": null}, ümlaut, 日本語\nsecond line";
    world.run(["task", "add", "one", "--body", text, "--label", "a", "--path", "src/**"]).exits(0);
    for line in [
        "task add two --depends-on T-1 --priority 1",
        "lane add ui --role worker",
        "session upsert --id s1 --role worker --lane ui",
        "claim T-1 --session s1",
        "checkpoint record T-1 --state active --summary half --session s1",
        "evidence add T-1 --result pass --session s1",
        "handoff create T-1 --to-role qa --summary please --session s1",
        "message send --to-session s1 hello",
        "task add three",
        "task rm T-3",
    ] {
        world.run(line.split(' ')).exits(0);
    }
}

/// All that a store says, except for what a move changes: epochs and the events of the move.
fn content(world: &TestProject) -> Vec<Value> {
    let documents = [
        &["task", "export"][..],
        &["lane", "list"],
        &["session", "list", "--all"],
        &["checkpoint", "list", "T-1"],
        &["evidence", "list", "T-1"],
    ];
    documents.iter().map(|args| without_epochs(world.json(*args))).collect()
}

fn without_epochs(mut document: Value) -> Value {
    match &mut document {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.contains("epoch") && !name.ends_with("age") && name != "alive");
            fields.values_mut().for_each(|value| *value = without_epochs(value.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_epochs(item.take())),
        _ => {}
    }
    document
}

#[test]
fn project_is_made_on_a_server_and_every_later_command_finds_it() {
    let Some((server, schema, address)) = server("made") else { return };
    let world = TestProject::uninitialized();
    let made = world.json(["init", "--store", &address]);
    assert_eq!(made["store"].as_str(), Some(address.as_str()));
    world.run(["task", "add", "on the server"]).exits(0);
    assert_eq!(server.query(&schema, "SELECT title FROM tasks"), ["on the server"]);
    assert!(!world.store().exists());
    assert!(fs::read_to_string(world.root().join(".fairway.toml")).unwrap().contains("[store]\nengine = \"postgres\""));
    let local = world.root().join(".fairway/local.toml");
    assert_eq!(fs::metadata(&local).unwrap().permissions().mode() & 0o777, 0o600);
    // A repeat, and a second checkout, change nothing there.
    world.run(["init", "--store", &address]).exits(0);
    let other = TestProject::uninitialized();
    other.run(["init", "--store", &address]).exits(0);
    assert_eq!(other.json(["task", "list"]).as_array().unwrap().len(), 1);
    // Without the address nothing takes its place.
    fs::remove_file(local).unwrap();
    world.run(["ready", "--json"]).refuses(3, "no_store_address");
    server.check_invariants(&schema);
}

#[test]
fn tasks_in_a_file_are_not_left_behind_by_init() {
    let Some((_, _, address)) = server("left") else { return };
    let world = TestProject::new();
    world.run(["task", "add", "in the file"]).exits(0);
    let answer = world.run(["init", "--store", &address, "--json"]).refuses(4, "in_use");
    assert!(answer.error()["hint"].as_str().unwrap().contains("fairway store copy --to"), "{answer:?}");
    assert_eq!(world.json(["task", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn store_moves_to_a_server_and_back_with_every_row() {
    let Some((server, schema, address)) = server("moved") else { return };
    let world = TestProject::new();
    fill(&world);
    let (before, epoch) = (content(&world), world.json(["task", "show", "T-1"])["claim"]["epoch"].as_i64().unwrap());
    let count = |world: &TestProject| world.run(["events", "--json"]).exits(0).stdout.lines().count();
    let events = count(&world);

    let moved = world.json(["store", "copy", "--yes", "--to", &address]);
    assert_eq!(moved["tasks"], 2, "{moved}");
    assert_eq!(content(&world), before);
    assert!(!world.store().exists());
    let kept = world.root().join(".fairway/fairway.db.moved");
    assert!(kept.is_file(), "{moved}");
    assert!(!kept.with_file_name("fairway.db.moved-wal").exists(), "the file is whole without its log");
    server.check_invariants(&schema);
    // The claim stays, and its old epoch does not count.
    let raised = world.json(["task", "show", "T-1"])["claim"]["epoch"].as_i64().unwrap();
    assert!(raised > epoch);
    world
        .run([
            "checkpoint",
            "record",
            "T-1",
            "--state",
            "active",
            "--summary",
            "x",
            "--session",
            "s1",
            "--epoch",
            &epoch.to_string(),
            "--json",
        ])
        .refuses(4, "stale_claim");
    // Numbers go on: the one of a removed task does not come again, and no event is missing.
    assert_eq!(world.json(["task", "add", "four"])["id"], "T-4");
    let numbers = server.query(&schema, "SELECT count(*), max(seq) FROM events");
    let (rows, newest) = numbers[0].split_once('|').unwrap();
    assert_eq!(rows, newest);
    assert!(rows.parse::<usize>().unwrap() > events);

    // A target with records is left alone.
    let other = TestProject::new();
    other.run(["task", "add", "mine"]).exits(0);
    other.run(["store", "copy", "--yes", "--to", &address, "--json"]).refuses(4, "store_not_empty");
    assert_eq!(other.json(["task", "list"])[0]["title"], "mine");

    let on_server = content(&world);
    world.run(["store", "copy", "--yes", "--to", "sqlite"]).exits(0);
    assert_eq!(content(&world), on_server);
    assert!(!world.root().join(".fairway/local.toml").exists(), "it would say nothing");
    assert_eq!(world.json(["store", "show"])["engine"], "sqlite");
    assert_eq!(world.json(["task", "add", "five"])["id"], "T-5");
    assert_eq!(server.query("public", &format!("SELECT count(*) FROM {schema}_moved.tasks")), ["3"]);
    assert_eq!(server.query("public", &format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'")), ["0"]);

    // There and back once more: each schema that is left has a name of its own.
    world.run(["store", "copy", "--yes", "--to", &address]).exits(0);
    world.run(["store", "copy", "--yes", "--to", "sqlite"]).exits(0);
    assert_eq!(server.query("public", &format!("SELECT count(*) FROM {schema}_moved_2.tasks")), ["4"]);
}

/// Another host must not begin an empty store because the queue has moved.
#[test]
fn store_that_was_moved_to_a_file_is_named_to_the_other_hosts() {
    let Some(world) = TestProject::on_postgres() else { return };
    world.run(["task", "add", "one"]).exits(0);
    let other = super::another_host(&world);
    other.run(["ready"]).exits(0);
    world.run(["store", "copy", "--yes", "--to", "sqlite"]).exits(0);
    let (server, schema) = world.on_server.as_ref().unwrap();
    for verb in [&["ready", "--json"][..], &["task", "add", "two", "--json"]] {
        let error = other.run(verb).refuses(3, "store_missing").error();
        assert!(error["message"].as_str().unwrap().contains(&format!("the schema {schema}_moved")), "{error}");
        let back = format!("ALTER SCHEMA {schema}_moved RENAME TO {schema}");
        assert!(error["hint"].as_str().unwrap().contains(&back), "{error}");
    }
    server.query("public", &format!("ALTER SCHEMA {schema}_moved RENAME TO {schema}"));
    assert_eq!(other.json(["task", "list"])[0]["title"], "one");
}

#[test]
fn copy_to_a_file_that_is_there_names_the_file() {
    let Some(world) = TestProject::on_postgres() else { return };
    fs::write(world.store(), "").unwrap();
    let left = TestProject::new();
    left.run(["task", "add", "mine"]).exits(0);
    fs::copy(left.store(), world.store()).unwrap();
    let error = world.run(["store", "copy", "--yes", "--to", "sqlite", "--json"]).refuses(4, "store_not_empty").error();
    assert!(error["hint"].as_str().unwrap().starts_with("move that file away: mv "), "{error}");
    fs::remove_file(world.store()).unwrap();
}

#[test]
fn migration_of_a_newer_schema_is_refused_and_the_reason_of_a_failed_one_is_told() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    server.query(schema, "UPDATE project SET schema_version = 99");
    world.run(["store", "migrate", "--json"]).refuses(1, "store_newer");
    world.run(["init", "--json"]).refuses(1, "store_newer");
    // The newest migration meets its own tables.
    server.query(
        schema,
        "UPDATE project SET schema_version = 10; DELETE FROM refinery_schema_history WHERE version > 10",
    );
    let error = world.run(["store", "migrate", "--json"]).refuses(1, "store_failed").error();
    assert!(error["message"].as_str().unwrap().contains("already exists; nothing was changed"), "{error}");
}

/// A process that has the file open would write where nobody reads.
#[test]
fn open_process_learns_that_the_store_has_moved() {
    let Some((_, _, address)) = server("learns") else { return };
    let world = TestProject::new();
    world.real_time();
    world.run(["task", "add", "one"]).exits(0);
    let mut follower =
        world.fairway(["events", "--follow", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    world.run(["store", "copy", "--yes", "--to", &address]).exits(0);
    let ended = follower.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && said.contains("store_replaced"), "{said}");
}

#[test]
fn store_on_a_server_is_shown_without_its_password() {
    let Some(world) = TestProject::on_postgres() else { return };
    let shown = world.json(["store", "show"]);
    assert_eq!(shown["engine"], "postgres");
    assert_eq!(shown["schema_version"], shown["needed_schema"]);
    assert!(
        shown["connections"].as_i64().unwrap() >= 1 && shown["max_connections"].as_i64().unwrap() >= 100,
        "{shown}"
    );
    assert!(shown["path"].is_null() && shown["encryption"].is_null(), "{shown}");
    let text = world.run(["store", "show"]).exits(0).stdout;
    assert!(text.contains("\naddress     postgres://fairway@/") && text.contains("\nencryption  none\n"), "{text}");
}

#[test]
fn doctor_names_the_server_and_what_copies_it() {
    let Some(world) = TestProject::on_postgres() else { return };
    let found = world.run(["doctor"]).exits(0).stdout;
    assert!(found.contains("PostgreSQL 1") && found.contains("pg_dump copies it"), "{found}");
    assert!(!found.contains("SQLite"), "{found}");
}

#[test]
fn older_schema_is_shown_and_brought_up_to_date_by_migrate() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    let newest = world.json(["store", "show"])["needed_schema"].as_i64().unwrap();
    server.query(schema, "UPDATE project SET schema_version = 9");
    let answer = world.run(["ready", "--json"]).refuses(1, "store_older");
    assert!(answer.error()["hint"].as_str().unwrap().contains("fairway store migrate"), "{answer:?}");
    assert_eq!(world.json(["store", "show"])["schema_version"], 9);
    assert_eq!(world.json(["store", "migrate"])["schema_version"], newest);
    world.run(["ready"]).exits(0);
}

#[test]
fn older_schema_that_many_migrate_at_once_is_migrated_once_and_keeps_its_rows() {
    let Some(world) = TestProject::on_postgres() else { return };
    world.run(["task", "add", "one"]).exits(0);
    let (server, schema) = world.on_server.as_ref().unwrap();
    // The newest migration is taken back.
    server.query(
        schema,
        "DROP TABLE hosts, seen_work, review_comments, pull_request_facts, pull_requests, raised_budgets; DROP INDEX usage_turns_task; \
         ALTER TABLE lanes DROP host, DROP host_id, DROP sandbox; \
         ALTER TABLE landings DROP host, DROP host_id, DROP push_to; \
         ALTER TABLE agent_sessions DROP questions, DROP sandbox, DROP parked_until, DROP parked_why; ALTER TABLE lane_snapshots DROP runs_later, DROP work; \
         ALTER TABLE messages DROP answered_at, DROP stop_reason; \
         ALTER TABLE session_reports DROP program_missing_at, DROP agent, DROP agent_mode, DROP unguarded, DROP can_steer, \
         DROP last_message; \
         UPDATE project SET schema_version = 10; DELETE FROM refinery_schema_history WHERE version > 10",
    );
    let migrating: Vec<_> = (0..6).map(|_| world.fairway(["store", "migrate", "--quiet"]).spawn().unwrap()).collect();
    for mut child in migrating {
        assert!(child.wait().unwrap().success());
    }
    let applied = "SELECT count(*), max(version) FROM refinery_schema_history";
    assert_eq!(server.query(schema, applied), ["16|25"]);
    assert_eq!(world.json(["task", "list"])[0]["title"], "one");
    world.run(["lane", "add", "api"]).exits(0);
    assert_eq!(world.json(["host", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn dump_that_was_loaded_gives_out_neither_epochs_nor_events_again() {
    let Some(world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.as_ref().unwrap();
    world.run(["task", "add", "one"]).exits(0);
    let epoch = world.json(["claim", "T-1"])["task"]["claim"]["epoch"].as_i64().unwrap();
    let before: i64 = server.query(schema, "SELECT max(seq) FROM events")[0].parse().unwrap();
    // A reader that had seen more.
    let since = (before + 3).to_string();
    let read = ["events", "--since", &since, "--json"];
    let error = world.run(read).refuses(4, "store_rewound").error();
    assert!(error["message"].as_str().unwrap().starts_with(&format!("the store has no event {since}: ")), "{error:#}");
    let lifted = world.json(["store", "restored", "--yes"]);
    assert!(world.run(read).exits(0).stdout.contains("store.restored"));
    assert_eq!(lifted["epoch"].as_i64().unwrap(), epoch + 1_000_000);
    assert!(lifted["event"].as_i64().unwrap() > before + 1_000_000, "{lifted}");
    world.run(["done", "T-1", "--epoch", &epoch.to_string(), "--json"]).refuses(4, "stale_claim");
    // The leap stays: the next event has the next number.
    world.run(["task", "add", "two"]).exits(0);
    let next: i64 = server.query(schema, "SELECT max(seq) FROM events")[0].parse().unwrap();
    assert_eq!(next, lifted["event"].as_i64().unwrap() + 1);
}

/// A program in a job or session reads the address where every command does: no variable passes a password on.
#[test]
fn job_gets_the_address_without_a_password() {
    let Some(mut world) = TestProject::on_postgres() else { return };
    let (server, schema) = world.on_server.clone().unwrap();
    let spawn = ["exec", "spawn", "--foreground", "--", "sh", "-c", "echo \"<$FAIRWAY_STORE_URL>\""];
    world.set("FAIRWAY_STORE_URL", server.address(&schema).replace("fairway@", "fairway:s3cret@"));
    // The local file names the same store.
    assert_eq!(world.run(spawn).exits(0).stdout, "<>\n");
    let local = world.root().join(".fairway/local.toml");
    fs::remove_file(local).unwrap();
    assert_eq!(world.run(spawn).exits(0).stdout, format!("<{}>\n", server.address(&schema)));
}
