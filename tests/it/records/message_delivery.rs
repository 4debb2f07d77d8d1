//! Messages and their receipts.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use fairway_core::os::poll_until;
use serde_json::{Value, json};

use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, fixtures};

fn inbox(world: &TestProject, session: &str) -> Value {
    world.json(["--session", session, "inbox"])
}

fn contents(messages: &Value) -> Vec<&str> {
    messages.as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect()
}

fn world() -> TestProject {
    let world = TestProject::new();
    fixtures::add_lane(&world, "ui", None, None);
    fixtures::add_session(&world, "s1", "frontend", Some("ui"));
    fixtures::add_session(&world, "s2", "frontend", Some("ui"));
    world
}

fn status(world: &TestProject, id: i64) -> String {
    world.value(&format!("SELECT status FROM messages WHERE id = {id}"))
}

#[test]
fn next_reading_acknowledges_what_the_last_one_printed() {
    let world = world();
    world.run(["message", "send", "--to-session", "s1", "hello"]).exits(0);
    let first = inbox(&world, "s1");
    assert_eq!((first[0]["content"].as_str(), first[0]["status"].as_str()), (Some("hello"), Some("offered")));
    assert_eq!(status(&world, 1), "offered");
    assert_eq!(inbox(&world, "s1"), json!([]));
    assert_eq!(status(&world, 1), "acknowledged");
}

#[test]
fn unacknowledged_offer_returns_to_one_reader() {
    let world = world();
    world.run(["message", "send", "--to-lane", "ui", "one of you"]).exits(0);
    assert_eq!(contents(&inbox(&world, "s1")), ["one of you"]);
    assert_eq!(inbox(&world, "s2"), json!([]));
    world.advance_clock(60);
    assert_eq!(contents(&inbox(&world, "s2")), ["one of you"]);
    assert_eq!(inbox(&world, "s2"), json!([]));
    assert_eq!(status(&world, 1), "acknowledged");
    assert_eq!(inbox(&world, "s1"), json!([]));
}

#[test]
fn checkpoint_and_ack_acknowledge_like_an_inbox_read() {
    let world = world();
    world.run(["task", "add", "T-1", "t"]).exits(0);
    world.run(["message", "send", "--to-role", "frontend", "--priority", "urgent", "stop that"]).exits(0);
    let record = |session: &str| {
        world.json(["--session", session, "checkpoint", "record", "T-1", "--state", "active", "--summary", "on it"])
    };
    let turn = record("s1");
    assert_eq!(turn["checkpoint"]["state"], "active");
    assert_eq!(contents(&turn["messages"]), ["stop that"]);
    assert_eq!(record("s1")["messages"], json!([]));
    assert_eq!(status(&world, 1), "acknowledged");

    world.run(["message", "send", "--to-session", "s1", "again"]).exits(0);
    let acknowledged = world.json(["--session", "s1", "inbox", "--ack"]);
    assert_eq!(acknowledged[0]["status"], "acknowledged");
    assert_eq!(status(&world, 2), "acknowledged");
}

#[test]
fn repeats_are_counted_while_they_wait_and_never_swallowed() {
    let world = world();
    let send = |text: &str| world.json(["message", "send", "--to-session", "s1", "--dedup", "k", text]);
    assert_eq!(send("first")["count"], 1);
    assert_eq!(send("second")["count"], 2);
    let read = inbox(&world, "s1");
    assert_eq!((contents(&read), read[0]["count"].as_i64()), (vec!["first"], Some(2)));
    // A message that is being read cannot take another one with it.
    assert_eq!(send("third")["id"], 2);
    assert_eq!(contents(&inbox(&world, "s1")), ["third"]);
}

#[test]
fn reader_comes_from_variables_or_role() {
    let mut world = world();
    world.run(["message", "send", "--to-role", "lead", "to the lead"]).exits(0);
    world.run(["message", "send", "--to-lane", "ui", "to the lane"]).exits(0);
    assert_eq!(contents(&world.json(["--as", "lead", "inbox"])), ["to the lead"]);
    world.set("FAIRWAY_SESSION_ID", "s1");
    assert_eq!(contents(&world.json(["inbox"])), ["to the lane"]);
}

#[test]
fn late_messages_expire_and_old_ones_are_deleted() {
    let world = world();
    world.run(["message", "send", "--to-session", "s1", "--ttl", "10s", "soon"]).exits(0);
    world.advance_clock(10);
    assert_eq!(inbox(&world, "s1"), json!([]));
    world.run(["message", "send", "--to-session", "s2", "other"]).exits(0);
    assert_eq!(status(&world, 1), "expired");
    let log = world.run(["events"]).exits(0).stdout;
    assert!(log.contains("message.expired") && !log.contains("soon"), "{log}");

    world.advance_clock(8 * 24 * 60 * 60);
    world.run(["message", "send", "--to-session", "s2", "new"]).exits(0);
    assert_eq!(world.value("SELECT count(*) FROM messages"), "2", "the expired one is gone, the unread one is not");
}

#[test]
fn waiting_ends_with_the_message_or_with_exit_6() {
    let world = world();
    world.run(["--session", "s1", "inbox", "--json", "--wait", "50ms"]).refuses(6, "nothing_arrived");

    let mut command = world.fairway(["--session", "s1", "inbox", "--json", "--wait", "30s"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let folder = world.root().join(".fairway/runtime/wake");
    let bound = || fs::read_dir(&folder).into_iter().flatten().count();
    let there = || (bound() == 1).then_some(());
    poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(5), there)
        .expect("the waiter binds its socket");
    world.run(["message", "send", "--to-session", "s2", "not for you"]).exits(0);
    world.run(["message", "send", "--to-session", "s1", "for you"]).exits(0);
    let run = CommandOutput::from(child.wait_with_output().unwrap()).exits(0);
    assert_eq!(contents(&run.json()), ["for you"]);
    assert_eq!(bound(), 0);
}

#[test]
fn eight_racing_readers_get_one_message_once() {
    let world = world();
    for number in 0..8 {
        fixtures::add_session(&world, &format!("r{number}"), "frontend", Some("ui"));
    }
    world.run(["message", "send", "--to-lane", "ui", "once"]).exits(0);
    let outputs = crate::common::concurrent_start::race(8, |number| {
        world.fairway(["--session", &format!("r{number}"), "inbox", "--json"])
    });
    let got = outputs.iter().filter(|output| String::from_utf8_lossy(&output.stdout).contains("once")).count();
    assert_eq!(got, 1, "{outputs:?}");
}
