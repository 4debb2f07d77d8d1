//! `host list` and `host renew` with a store in a file.

use crate::common::{TestProject, fixtures};

#[test]
fn host_list_of_a_file_has_this_host_and_those_of_the_records() {
    let world = TestProject::new();
    let listed = world.json(["host", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed:#}");
    let here = &listed[0];
    assert_eq!(
        (here["here"].as_bool(), here["sessions"].as_i64(), here["seen_at"].as_str()),
        (Some(true), Some(0), None)
    );
    assert_eq!(here["version"], env!("CARGO_PKG_VERSION"));

    world.run(["session", "upsert", "--id", "s1", "--role", "worker"]).exits(0);
    // A session of an earlier version names its host only.
    fixtures::add_session(&world, "s2", "worker", None);
    let listed = world.json(["host", "list"]);
    let short: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|host| (host["name"] == "elsewhere", host["id"].is_null(), host["sessions"].as_i64().unwrap()))
        .collect();
    assert_eq!(short, [(false, false, 1), (true, true, 1)]);
    assert_eq!(listed[0]["id"], here["id"]);
    assert_eq!(world.run(["host", "list", "--quiet"]).exits(0).stdout.lines().nth(1), Some("elsewhere"));
    let shown = world.transcript(&["fairway host list"]);
    let rows: Vec<Vec<&str>> = shown.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["HOST", "HERE", "SESSIONS", "JOBS", "LANES", "VERSION", "SEEN", "ROOT"]);
    assert_eq!((rows[1][1], rows[2][..5].join(" ")), ("yes", "elsewhere - 1 0 0".to_owned()));
}

#[test]
fn sessions_of_the_old_id_are_another_machines_after_host_renew() {
    let world = TestProject::new();
    world.run(["session", "upsert", "--id", "s1", "--role", "worker"]).exits(0);
    let renewed = world.transcript(&["fairway host renew --yes"]);
    assert!(renewed.contains("this host has the id "), "{renewed}");
    assert!(renewed.contains("1 session, 0 jobs and 0 lanes are recorded under the old id"), "{renewed}");
    let listed = world.json(["host", "list"]);
    assert_eq!(listed[0]["sessions"], 0, "{listed:#}");
    assert_eq!(listed[1]["sessions"], 1, "{listed:#}");
    let skipped = world.json(["session", "reconcile", "--dry-run"]);
    assert_eq!(skipped["skipped"][0]["session_id"], "s1", "{skipped:#}");
    // A second one is another id again.
    let again = world.json(["host", "renew", "--yes"]);
    assert_eq!(again["before"], listed[0]["id"]);
    assert_ne!(again["id"], again["before"]);
}

#[test]
fn host_renew_inside_a_session_is_refused() {
    let world = TestProject::new();
    world.add_session("s1");
    let inside = world.fairway(["host", "renew", "--yes", "--json"]).env("FAIRWAY_SESSION_ID", "s1").output().unwrap();
    crate::common::test_project::CommandOutput::from(inside).refuses(5, "inside_session");
}
