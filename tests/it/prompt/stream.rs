//! The items of a runtime's stream.

use fairway_actions::sessions::prompt::deliver_by_stream;
use fairway_core::domain::RunId;
use fairway_core::domain::message::Channel;
use serde_json::{Value, json};

use super::{hook, session_of, set_activity, status, take_deliverable};
use crate::common::{TestProject, fixtures};

fn next(world: &TestProject, after: Option<i64>, connected: bool) -> Vec<i64> {
    let app = hook(world, "s1");
    let sent: &[i64] = &[];
    deliver_by_stream::next_batch(&app, &session_of(&app), after, connected.then_some(sent))
        .unwrap()
        .iter()
        .map(|message| message.id)
        .collect()
}

fn ack(world: &TestProject, ids: &[i64]) -> Value {
    deliver_by_stream::ack(&hook(world, "s1"), &RunId::parse("run-s1"), ids).unwrap().document
}

fn world() -> TestProject {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "frontend", None);
    set_activity(&world, "s1", "idle");
    for (text, priority) in [("one", "normal"), ("two", "normal"), ("three", "urgent")] {
        world.run(["prompt", "s1", text, "--priority", priority]).exits(0);
    }
    world
}

#[test]
fn prompt_is_resent_until_acknowledged() {
    let world = world();
    assert_eq!(next(&world, None, true), [3, 1, 2]);
    assert!(next(&world, None, false).is_empty());
    assert_eq!(take_deliverable(&hook(&world, "s1"), Channel::TurnEnd), None, "the stream has them");
    assert_eq!(ack(&world, &[3, 3, 99]), json!({ "acknowledged": [3, 3], "unknown": [99] }));
    assert_eq!(ack(&world, &[3])["acknowledged"], json!([3]), "a repeat is harmless");
    // One that connects anew has seen up to 1; that one comes when its offer lapses.
    assert_eq!(next(&world, Some(1), true), [2]);
    assert!(next(&world, Some(1), false).is_empty());
    world.advance_clock(60);
    assert_eq!(next(&world, Some(2), false), [1, 2]);
    assert_eq!(ack(&world, &[1, 2])["unknown"], json!([]));
    assert_eq!([1, 2, 3].map(|id| status(&world, id)), ["acknowledged", "acknowledged", "acknowledged"]);
    world.advance_clock(60);
    assert!(next(&world, None, true).is_empty());
}

#[test]
fn reconnect_resumes_after_the_last_received_prompt() {
    let world = world();
    set_activity(&world, "s1", "busy");
    assert_eq!(next(&world, None, true), [3]);
    world.advance_clock(1);
    set_activity(&world, "s1", "idle");
    assert_eq!(next(&world, None, false), [1, 2]);
    // The connection broke after 3: 1 and 2 are smaller, and were not seen.
    assert_eq!(next(&world, Some(3), true), [1, 2]);
    assert_eq!(ack(&world, &[1])["acknowledged"], json!([1]));
    // The place of what is acknowledged is not known any more: all that is not comes again.
    assert_eq!(next(&world, Some(1), true), [3, 2]);
}

#[test]
fn busy_session_gets_only_urgent_prompts() {
    let world = world();
    set_activity(&world, "s1", "busy");
    assert_eq!(next(&world, None, true), [3]);
    set_activity(&world, "s1", "requires_action");
    assert!(next(&world, None, false).is_empty());
    set_activity(&world, "s1", "idle");
    assert_eq!(next(&world, None, false), [1, 2]);
}

#[test]
fn session_of_unknown_state_gets_what_goes_now() {
    let world = world();
    set_activity(&world, "s1", "unknown");
    assert_eq!(next(&world, None, true), [3]);
    let sent = world.json(["prompt", "s1", "four", "--now"]);
    assert_eq!(sent["reason"], Value::Null);
    assert_eq!(next(&world, None, false), [4]);
    set_activity(&world, "s1", "idle");
    assert_eq!(next(&world, None, false), [1, 2]);
}

#[test]
fn foreign_prompt_cannot_be_acknowledged() {
    let world = world();
    fixtures::add_session(&world, "s2", "frontend", None);
    assert_eq!(next(&world, None, true), [3, 1, 2]);
    let other = deliver_by_stream::ack(&hook(&world, "s2"), &RunId::parse("run-s2"), &[1, 2, 3]).unwrap().document;
    assert_eq!(other, json!({ "acknowledged": [], "unknown": [1, 2, 3] }));
    assert_eq!(status(&world, 1), "offered");
    assert!(deliver_by_stream::ack(&hook(&world, "s2"), &RunId::parse("run-s3"), &[1]).is_err());
}
