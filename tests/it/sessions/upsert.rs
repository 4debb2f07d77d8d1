//! How `session upsert` finds its row, and what it changes.

use std::process;

use serde_json::Value;

use crate::common::TestProject;
use crate::common::concurrent_start::race;

fn upsert(world: &TestProject, args: &[&str]) -> Value {
    world.json(["session", "upsert"].iter().chain(args))
}

fn id(session: &Value) -> String {
    session["id"].as_str().unwrap().to_owned()
}

#[test]
fn explicit_id_takes_precedence_over_the_acting_session() {
    let mut world = TestProject::new();
    upsert(&world, &["--id", "a", "--role", "r"]);
    upsert(&world, &["--id", "b", "--role", "r", "--provider", "acme", "--external-session-id", "x1"]);
    world.set("FAIRWAY_SESSION_ID", "a");
    assert_eq!(id(&upsert(&world, &["--id", "b", "--branch", "t"])), "b");
    // Then the acting session, also against the provider's id.
    assert_eq!(id(&upsert(&world, &["--branch", "t"])), "a");
    world
        .run(["session", "upsert", "--provider", "acme", "--external-session-id", "x1", "--json"])
        .refuses(4, "session_mismatch");
    // An acting session that nobody knows may register itself, but not others.
    world.set("FAIRWAY_SESSION_ID", "c");
    world.run(["session", "upsert", "--id", "b", "--branch", "u", "--json"]).refuses(3, "not_found");
    assert_eq!(id(&upsert(&world, &["--role", "r"])), "c");
}

#[test]
fn environment_applies_only_to_the_acting_session() {
    let mut world = TestProject::new();
    let run = "00000000-0000-7000-8000-00000000000a";
    world.set("FAIRWAY_SESSION_ID", "me").set("FAIRWAY_RUN_ID", run).set("FAIRWAY_ROLE", "lead");
    let me = upsert(&world, &[]);
    assert_eq!((me["role"].as_str(), me["run_id"].as_str()), (Some("lead"), Some(run)));
    world.run(["session", "upsert", "--id", "other", "--json"]).refuses(2, "usage");
    let other = upsert(&world, &["--id", "other", "--role", "r"]);
    assert_ne!(other["run_id"].as_str(), Some(run));
    // An older process of the same name is not this run.
    world.set("FAIRWAY_RUN_ID", "00000000-0000-7000-8000-00000000000b");
    world.run(["session", "upsert", "--branch", "t", "--json"]).refuses(4, "session_mismatch");
    world
        .run(["session", "upsert", "--id", "third", "--role", "r", "--run-id", run, "--json"])
        .refuses(4, "session_mismatch");
}

#[test]
fn provider_and_external_id_find_it_until_it_is_final() {
    let world = TestProject::new();
    let args = ["--role", "r", "--provider", "acme", "--external-session-id", "x1"];
    let first = upsert(&world, &args);
    assert_eq!(id(&first), "r-acme-".to_owned() + id(&first).rsplit('-').next().unwrap());
    assert_eq!(upsert(&world, &args)["run_id"], first["run_id"]);
    assert_ne!(id(&upsert(&world, &["--role", "r", "--provider", "acme", "--external-session-id", "x2"])), id(&first));
    assert_ne!(id(&upsert(&world, &["--role", "r", "--provider", "other", "--external-session-id", "x1"])), id(&first));
    world.run(["session", "end", &id(&first)]).exits(0);
    let second = upsert(&world, &args);
    assert_ne!(id(&second), id(&first));
    // The old one stays as it ended.
    world.run(["session", "upsert", "--id", &id(&first), "--status", "running", "--json"]).refuses(4, "session_final");
    world.run(["session", "upsert", "--id", &id(&first), "--branch", "t", "--json"]).refuses(4, "session_final");
    let ended = world.json(["session", "show", &id(&first)]);
    assert_eq!((ended["status"].as_str(), ended["branch"].is_null()), (Some("ended"), true));
}

#[test]
fn pane_goes_before_name_on_the_same_socket() {
    let world = TestProject::new();
    let pane = upsert(&world, &["--role", "r", "--backend", "tmux", "--socket", "/s", "--pane", "%1", "--name", "n"]);
    let find = |args: &[&str]| id(&upsert(&world, &[&["--role", "r", "--backend", "tmux"], args].concat()));
    assert_eq!(find(&["--socket", "/s", "--pane", "%1"]), id(&pane));
    assert_eq!(find(&["--socket", "/s", "--name", "n"]), id(&pane));
    assert_ne!(find(&["--socket", "/t", "--pane", "%1"]), id(&pane));
    assert_ne!(find(&["--pane", "%1"]), id(&pane));
    assert_ne!(find(&["--socket", "/s", "--pane", "%2"]), id(&pane));
    // Without a name of its own it goes by its id.
    upsert(&world, &["--id", "plain", "--role", "r", "--backend", "shell"]);
    assert_eq!(id(&upsert(&world, &["--backend", "shell", "--name", "plain"])), "plain");
    // Several of one name: nobody guesses.
    upsert(&world, &["--id", "twin", "--role", "r", "--backend", "shell", "--name", "plain"]);
    world.run(["session", "upsert", "--backend", "shell", "--name", "plain", "--json"]).refuses(3, "ambiguous");
}

#[test]
fn another_conversation_in_the_same_pane_is_another_session() {
    let world = TestProject::new();
    let pane = ["--role", "r", "--provider", "acme", "--backend", "tmux", "--pane", "%1", "--external-session-id"];
    let first = upsert(&world, &[&pane[..], &["x1"]].concat());
    assert_eq!(id(&upsert(&world, &["--backend", "tmux", "--pane", "%1"])), id(&first));
    let second = upsert(&world, &[&pane[..], &["x2"]].concat());
    assert_ne!(id(&second), id(&first));
    assert_eq!(world.json(["session", "show", &id(&first)])["external_session_id"], "x1");
}

#[test]
fn upsert_changes_the_given_fields_only() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    let pid = process::id().to_string();
    let all = [
        "--id",
        "s",
        "--role",
        "r",
        "--task-id",
        "T-1",
        "--provider",
        "p",
        "--backend",
        "b",
        "--name",
        "n",
        "--external-session-id",
        "x",
        "--pid",
        &pid,
        "--pane",
        "%1",
        "--socket",
        "/s",
        "--transcript",
        "logs/t",
        "--worktree",
        "w",
        "--branch",
        "topic",
        "--activity",
        "busy",
        "--status",
        "starting",
        "--started-at",
        "2025-12-31T23:00:00+01:00",
        "--run-id",
        "00000000-0000-7000-8000-00000000000a",
    ];
    let made = upsert(&world, &all);
    assert_eq!(made["started_at"], "2025-12-31T22:00:00.000Z");
    let root = world.root().display().to_string();
    assert_eq!(made["transcript"], format!("{root}/logs/t"));
    assert_eq!(made["worktree"], format!("{root}/w"));
    let mut after = upsert(&world, &["--id", "s", "--branch", "other"]);
    assert_eq!(after["branch"], "other");
    after["branch"] = made["branch"].clone();
    after["last_heartbeat_at"] = made["last_heartbeat_at"].clone();
    assert_eq!(after, made);
    let mut same = upsert(&world, &all);
    same["branch"] = made["branch"].clone();
    same["last_heartbeat_at"] = made["last_heartbeat_at"].clone();
    assert_eq!(same, made);
}

#[test]
fn invalid_upsert_is_refused_and_writes_nothing() {
    let world = TestProject::new();
    for (args, exit, code) in [
        (&["--role", "r", "--pid", "-1"][..], 2, "invalid_value"),
        (&["--role", "r", "--pid", "0"], 2, "invalid_value"),
        (&["--role", "r", "--pid", "99999999999"], 2, "invalid_value"),
        (&["--role", "r", "--status", "ended"], 2, "usage"),
        (&["--role", "r", "--activity", "sleeping"], 2, "usage"),
        (&["--role", "r", "--run-id", "run"], 2, "usage"),
        (&["--role", "r", "--started-at", "yesterday"], 2, "usage"),
        (&["--role", "r", "--name", "a\nb"], 2, "invalid_value"),
        (&["--role", "r", "--name", "a\u{1b}b"], 2, "invalid_value"),
        (&["--role", "a;b"], 2, "usage"),
        (&["--role", "r", "--lane", "none"], 3, "not_found"),
        (&["--role", "r", "--task-id", "T-9"], 3, "not_found"),
        (&["--provider", "p"], 2, "usage"),
    ] {
        world.run(["session", "upsert", "--json"].iter().chain(args)).refuses(exit, code);
    }
    assert_eq!(world.json(["session", "list", "--all"]), serde_json::json!([]));
    assert_eq!(world.run(["events", "--quiet"]).stdout, "");
}

#[test]
fn eight_at_once_make_one_session() {
    let world = TestProject::new();
    world.real_time();
    let made = race(8, |_| {
        world.fairway(["session", "upsert", "--role", "r", "--provider", "acme", "--external-session-id", "x1"])
    });
    assert!(made.iter().all(|one| one.status.success()), "{made:#?}");
    assert_eq!(world.json(["session", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn repeated_request_makes_one_session() {
    let world = TestProject::new();
    let args = ["--role", "r", "--request-id", "once"];
    let first = upsert(&world, &args);
    assert_eq!(upsert(&world, &args), first);
    assert_eq!(world.json(["session", "list"]).as_array().unwrap().len(), 1);
}

/// Every write that carries the session renews its leases, this one too.
#[test]
fn own_upsert_renews_the_leases() {
    let world = TestProject::new();
    world.add_session("s1");
    world.run(["task", "add", "T-1", "t"]).exits(0);
    let lease = |task: &Value| task["claim"]["lease_until"].as_str().unwrap().to_owned();
    let before = lease(&world.json(["claim", "T-1", "--lease", "30m", "--session", "s1"])["task"]);
    world.run(["session", "upsert", "--activity", "busy", "--session", "s1"]).exits(0);
    assert!(lease(&world.json(["task", "show", "T-1"])) > before);
}
