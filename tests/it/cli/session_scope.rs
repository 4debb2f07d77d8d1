//! `--session` brings the session's role and lane along, wherever they are asked for.

use crate::common::{TestProject, fixtures};

fn ids(world: &TestProject, args: &[&str]) -> Vec<String> {
    let found = world.json(args);
    found.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn session_brings_its_role_and_lane_along() {
    let mut world = TestProject::new();
    fixtures::add_lane(&world, "api", None, None);
    fixtures::add_lane(&world, "ui", None, None);
    fixtures::add_session(&world, "b1", "backend", Some("api"));
    fixtures::add_session(&world, "w1", "writer", None);
    world.run(["task", "add", "T-1", "one", "--role", "backend", "--lane", "api"]).exits(0);
    world.run(["task", "add", "T-2", "two", "--role", "backend", "--lane", "ui"]).exits(0);
    world.run(["task", "add", "T-3", "three", "--role", "writer"]).exits(0);
    assert_eq!(ids(&world, &["ready", "--session", "b1"]), ["T-1"]);
    assert_eq!(ids(&world, &["ready", "--session", "w1"]), ["T-3"]);
    assert_eq!(ids(&world, &["ready", "--session", "b1", "--lane", "ui"]), ["T-2"]);
    assert_eq!(ids(&world, &["ready", "--session", "unknown"]).len(), 3, "an unregistered session implies nothing");

    world.run(["message", "send", "hello lane", "--to-lane", "api"]).exits(0);
    world.run(["message", "send", "hello role", "--to-role", "writer"]).exits(0);
    assert!(world.run(["--session", "b1", "inbox"]).exits(0).stdout.contains("hello lane"));
    assert!(world.run(["--session", "w1", "inbox"]).exits(0).stdout.contains("hello role"));
    assert!(world.run(["--session", "b1", "prime"]).exits(0).stdout.contains("backend"));

    world.run(["handoff", "create", "T-3", "--to-role", "writer", "--summary", "x"]).exits(0);
    world.run(["--session", "b1", "handoff", "accept", "1", "--json"]).refuses(5, "role_mismatch");
    assert_eq!(world.json(["--session", "w1", "handoff", "accept", "1"])["claimant"], "w1");

    // The variables describe the session around the caller, and not another one that a flag names.
    world.set("FAIRWAY_SESSION_ID", "w1").set("FAIRWAY_ROLE", "writer").set("FAIRWAY_LANE", "ui");
    assert_eq!(ids(&world, &["ready", "--session", "b1"]), ["T-1"]);
    assert_eq!(ids(&world, &["ready", "--session", "b1", "--as", "writer"]), [""; 0]);
}
