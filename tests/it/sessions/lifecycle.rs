//! Signs of life, leases and the end.

use crate::common::TestProject;
use crate::common::concurrent_start::race;

fn status(world: &TestProject, id: &str) -> String {
    world.json(["session", "show", id])["status"].as_str().unwrap().to_owned()
}

fn kinds(world: &TestProject) -> Vec<String> {
    let lines = world.run(["events", "--json"]).exits(0).stdout;
    lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["kind"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn activity_of_the_same_run_revives_a_stale_session() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    let run = "00000000-0000-7000-8000-00000000000a";
    world.run(["session", "upsert", "--id", "s", "--role", "r", "--run-id", run]).exits(0);
    world.run(["session", "upsert", "--id", "s", "--status", "stale"]).exits(0);
    let old = world
        .fairway(["--session", "s", "claim", "T-1"])
        .env("FAIRWAY_RUN_ID", "00000000-0000-7000-8000-00000000000b")
        .status()
        .unwrap();
    assert!(old.success());
    assert_eq!(status(&world, "s"), "stale");
    world
        .run(["session", "heartbeat", "s", "--run-id", "00000000-0000-7000-8000-00000000000b", "--json"])
        .refuses(4, "session_mismatch");
    assert_eq!(status(&world, "s"), "stale");
    world.run(["--session", "s", "release", "T-1"]).exits(0);
    assert_eq!(status(&world, "s"), "running");
    assert!(kinds(&world).contains(&"session.revived".to_owned()));
}

#[test]
fn heartbeat_that_changes_nothing_is_no_event() {
    let world = TestProject::new();
    world.run(["session", "upsert", "--id", "s", "--role", "r"]).exits(0);
    world.run(["session", "heartbeat", "s", "--activity", "busy"]).exits(0);
    let before = kinds(&world);
    assert_eq!(before, ["session.upserted", "session.activity"]);
    for _ in 0..3 {
        world.run(["session", "heartbeat", "s", "--activity", "busy"]).exits(0);
        world.run(["--session", "s", "session", "heartbeat", "s"]).exits(0);
    }
    assert_eq!(kinds(&world), before);
    let session = world.json(["session", "show", "s"]);
    assert_eq!(session["last_heartbeat_at"], format!("{}", minus(&world, 2)));
}

/// The time that the command before the last `count` ones saw.
fn minus(world: &TestProject, count: i64) -> fairway_core::env::Timestamp {
    fairway_core::env::Timestamp::from_millis(world.now().millis() - count * 1_000)
}

#[test]
fn heartbeat_renews_the_leases_of_its_session_alone() {
    let world = TestProject::new();
    for task in ["T-1", "T-2"] {
        world.run(["task", "add", task, "one"]).exits(0);
    }
    for session in ["a", "b"] {
        world.run(["session", "upsert", "--id", session, "--role", "r"]).exits(0);
    }
    world.run(["--session", "a", "claim", "T-1", "--lease", "1m"]).exits(0);
    world.run(["--session", "b", "claim", "T-2", "--lease", "1m"]).exits(0);
    let lease = |task: &str| world.json(["task", "show", task])["claim"]["lease_until"].clone();
    let (first, second) = (lease("T-1"), lease("T-2"));
    world.advance_clock(30);
    world.run(["session", "heartbeat", "a"]).exits(0);
    assert_ne!(lease("T-1"), first);
    assert_eq!(lease("T-2"), second);
}

#[test]
fn waiting_text_is_kept_only_while_waiting() {
    let world = TestProject::new();
    world.run(["session", "upsert", "--id", "s", "--role", "r"]).exits(0);
    world.run(["session", "heartbeat", "s", "--waiting-for", "what?", "--json"]).refuses(2, "usage");
    world
        .run(["session", "heartbeat", "s", "--activity", "busy", "--waiting-for", "what?", "--json"])
        .refuses(2, "usage");
    let beat = ["session", "heartbeat", "s", "--activity", "requires_action"];
    assert_eq!(world.json(beat.iter().chain(&["--waiting-for", "what?"]))["waiting_for"], "what?");
    assert_eq!(world.json(["session", "heartbeat", "s"])["waiting_for"], "what?");
    assert!(world.json(["session", "heartbeat", "s", "--activity", "busy"])["waiting_for"].is_null());
    for usage in ["-0.1", "1.1", "NaN", "x"] {
        world.run(["session", "heartbeat", "s", "--json", &format!("--context-usage={usage}")]).refuses(2, "usage");
    }
}

#[test]
fn session_end_keeps_its_claims_and_is_recorded_once() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["session", "upsert", "--id", "s", "--role", "r", "--task-id", "T-1"]).exits(0);
    world.run(["--session", "s", "claim", "T-1"]).exits(0);
    let task = || world.json(["task", "list"])[0].clone();
    let claim = |task: &serde_json::Value| (task["status"].clone(), task["claim"].clone(), task["updated_at"].clone());
    let before = claim(&task());
    let ends = race(8, |_| world.fairway(["session", "end", "s", "--exit-code", "0", "--reason", "done"]));
    assert!(ends.iter().all(|end| end.status.success()), "{ends:#?}");
    let after = task();
    assert_eq!(claim(&after), before);
    assert_eq!(after["claimant"]["status"], "ended");
    assert_eq!(kinds(&world).iter().filter(|kind| *kind == "session.ended").count(), 1);
    // It cannot take another one, and a new session can take its place.
    world.run(["task", "add", "T-2", "two"]).exits(0);
    world.run(["--session", "s", "claim", "T-2", "--json"]).refuses(4, "session_final");
    let ended = world.json(["session", "end", "s", "--status", "ended"]);
    assert_eq!((ended["exit_code"].as_i64(), ended["reason"].as_str()), (Some(0), Some("done")));
    world.run(["session", "end", "s", "--status", "failed", "--json"]).refuses(4, "session_final");
}
