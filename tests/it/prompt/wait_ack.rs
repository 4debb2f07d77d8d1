//! `--wait-ack` and `--dedup`: what counts as proof.

use std::process::{Child, Stdio};

use super::{hook, session_of, status, take_deliverable};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, fixtures};
use fairway_actions::sessions::prompt;
use fairway_core::domain::message::Channel;
use fairway_core::os::poll_until;
use std::fs;
use std::time::Duration;

fn world() -> TestProject {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "frontend", None);
    world
}

/// A prompt that waits for its receipt, once it is queued and waits.
fn waiting(world: &TestProject, words: &[&str]) -> Child {
    let mut command = world.fairway(["prompt", "s1", "--json", "--wait-ack", "30s"].iter().chain(words));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let queued = || {
        let count: i64 = conn.query_row("SELECT count(*) FROM messages", [], |row| row.get(0)).unwrap();
        let folder = world.root().join(".fairway/runtime/wake");
        (count == 1 && fs::read_dir(folder).into_iter().flatten().count() == 1).then_some(())
    };
    poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(5), queued).expect("it is queued");
    child
}

fn ended(child: Child) -> CommandOutput {
    child.wait_with_output().unwrap().into()
}

#[test]
fn wait_ends_with_the_acknowledgement() {
    let world = world();
    let mut child = waiting(&world, &["hello"]);
    let app = hook(&world, "s1");
    let carried = take_deliverable(&app, Channel::TurnEnd).unwrap();
    // Being offered wakes it, and is none.
    assert!(child.try_wait().unwrap().is_none());
    prompt::confirm_delivered(&app, &session_of(&app), &carried).unwrap();
    let answer = ended(child).exits(0).json();
    assert_eq!(
        (answer["message"]["status"].as_str(), answer["message"]["way"].as_str()),
        (Some("acknowledged"), Some("turn_end"))
    );
    assert_eq!((answer["queued"].as_bool(), answer["position"].is_null()), (Some(false), true));
}

#[test]
fn wait_ends_when_no_receipt_can_come() {
    let world = world();
    let child = waiting(&world, &["hello"]);
    world.run(["outbox", "withdraw", "1"]).exits(0);
    let refused = ended(child).refuses(6, "not_acknowledged");
    assert_eq!(refused.error()["details"]["status"], "withdrawn");
    // With a clock that goes.
    world.real_time();
    let refused = world
        .run(["prompt", "s1", "short", "--ttl", "10ms", "--wait-ack", "30s", "--json"])
        .refuses(6, "not_acknowledged");
    assert_eq!(refused.error()["details"]["status"], "expired");
}

#[test]
fn late_receipt_names_the_delivery_state() {
    let world = world();
    let refused = world.run(["prompt", "s1", "x", "--wait-ack", "10ms", "--json"]).refuses(6, "not_acknowledged");
    assert_eq!(
        (refused.error()["details"]["status"].as_str(), refused.error()["details"]["way"].as_str()),
        (Some("queued"), None)
    );
    assert_eq!(take_deliverable(&hook(&world, "s1"), Channel::Tool), None);
    take_deliverable(&hook(&world, "s1"), Channel::TurnStart).unwrap();
    // The same request is the same prompt, and is waited for again.
    let again = ["prompt", "s1", "y", "--wait-ack", "10ms", "--json", "--request-id", "R-1"];
    for _ in 0..2 {
        let refused = world.run(again).refuses(6, "not_acknowledged");
        assert_eq!(refused.error()["details"]["message_id"], 2);
    }
}

#[test]
fn dedup_key_counts_acknowledged_and_offered_messages_only() {
    let world = world();
    let send = || world.json(["prompt", "s1", "once", "--dedup", "k"]);
    let first = send();
    assert_eq!((first["message_id"].as_i64(), first["deduplicated"].as_bool()), (Some(1), Some(false)));
    assert_eq!(send()["message"]["count"], 2);
    // Withdrawn, it was never said.
    world.run(["outbox", "withdraw", "1"]).exits(0);
    assert_eq!(send()["message_id"], 2);
    let app = hook(&world, "s1");
    let carried = take_deliverable(&app, Channel::TurnEnd).unwrap();
    // While somebody shows it, it is on its way: no second one is sent after it.
    assert_eq!(send()["message_id"], 2);
    prompt::confirm_delivered(&app, &session_of(&app), &carried).unwrap();
    for _ in 0..2 {
        let known = send();
        assert_eq!((known["message_id"].as_i64(), known["deduplicated"].as_bool()), (Some(2), Some(true)));
        assert_eq!(known["message"]["status"], "acknowledged");
    }
    assert_eq!(world.json(["prompt", "s1", "once", "--dedup", "k", "--wait-ack", "1ms"])["message_id"], 2);
    // Another session has not heard it.
    fixtures::add_session(&world, "s2", "frontend", None);
    assert_eq!(world.json(["prompt", "s2", "once", "--dedup", "k"])["message_id"], 3);
    assert_eq!(status(&world, 3), "queued");
}
