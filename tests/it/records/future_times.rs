//! Times that a clock which was ahead has written count from now.

use std::time::Duration;

use crate::common::TestProject;

const YEAR: i64 = 365 * 24 * 60 * 60;

/// Runs a command under a clock that is a year ahead.
#[track_caller]
fn a_year_ahead(world: &TestProject, words: &[&str]) {
    world.advance_clock(YEAR);
    world.run(words).exits(0);
    world.advance_clock(-YEAR);
}

#[test]
fn message_offered_by_a_clock_that_was_ahead_is_read_now() {
    let world = TestProject::new();
    world.add_session("s1");
    world.run(["message", "send", "--to-session", "s1", "look here"]).exits(0);
    a_year_ahead(&world, &["inbox", "--session", "s1"]);
    let read = world.run(["inbox", "--session", "s1"]).exits(0).stdout;
    assert!(read.contains("look here"), "{read}");
    // An offer of now holds.
    let again = world.run(["inbox", "--as", "worker", "--session", "s1"]).exits(0).stdout;
    assert_eq!(again, "no messages\n");
}

#[test]
fn lease_of_a_clock_that_was_ahead_ends_after_its_span() {
    let world = TestProject::new();
    world.run(["task", "add", "one"]).exits(0);
    a_year_ahead(&world, &["claim", "T-1", "--lease", "30m"]);
    // It is shown as it will end.
    let shown = world.json(["task", "show", "T-1"])["claim"]["lease_until"].as_str().unwrap().to_owned();
    assert_eq!(shown, world.now().plus(Duration::from_secs(30 * 60)).to_string());
    world.add_session("s2");
    let claim = || world.run(["claim", "--session", "s2", "--any-role", "--json"]);
    claim().refuses(6, "nothing_ready");
    world.advance_clock(29 * 60);
    claim().refuses(6, "nothing_ready");
    world.advance_clock(2 * 60);
    claim().exits(0);
}

#[test]
fn heartbeat_of_a_clock_that_was_ahead_keeps_no_session_alive() {
    let world = TestProject::new();
    world.add_session("s1");
    a_year_ahead(&world, &["session", "heartbeat", "s1"]);
    world.run(["session", "reconcile"]).exits(0);
    assert_eq!(world.json(["session", "show", "s1"])["status"], "running");
    world.advance_clock(24 * 60 * 60);
    world.run(["session", "reconcile"]).exits(0);
    assert_eq!(world.json(["session", "show", "s1"])["status"], "stale");
}
