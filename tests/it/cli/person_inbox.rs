//! The inbox of a person, who has no session.

use std::time::Duration;

use fairway_core::os::poll_until;
use serde_json::Value;

use crate::common::{TestProject, fixtures};

fn me() -> String {
    fairway_core::os::user::name()
}

#[test]
fn person_reads_and_acknowledges_messages() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    let to = format!("person:{}", me());
    assert_eq!(world.run(["inbox"]).exits(0).stdout, "no messages\n");
    assert_eq!(world.json(["status"])["inbox"], 0);
    let sent = world.json(["send", &to, "T-4 needs a decision", "--session", "s1"]);
    let message = &sent[0]["message"];
    assert_eq!((&message["to_person"], &message["to_session"]), (&me().into(), &Value::Null), "{sent}");
    world.run(["send", &to, "the answer is 4"]).exits(0);
    world.run(["send", "person:someone-else", "not yours"]).exits(0);
    assert!(world.run(["outbox"]).exits(0).stdout.contains(&format!("person {}", me())));
    assert_eq!(world.json(["status"])["inbox"], 2);
    let shown = world.run(["status"]).exits(0).stdout;
    assert!(shown.contains("\n2 messages for you: fairway inbox\n"), "{shown}");
    // A session reads no person's messages, and what it sent is marked as a program's text.
    assert_eq!(world.run(["inbox", "--session", "s1"]).exits(0).stdout, "no messages\n");
    assert_eq!(world.json(["status", "--session", "s1"])["inbox"], Value::Null);
    world.run(["inbox", "--session", &to, "--json"]).refuses(3, "not_found");
    let inside = world.fairway(["inbox", "--json"]).env("FAIRWAY_RUN_ID", "run-s1").output().unwrap();
    assert_eq!(inside.status.code(), Some(2), "{inside:?}");
    let text = world.redacted(&world.run(["inbox", "--ack"]).exits(0).stdout);
    assert_eq!(
        text,
        "message 1, normal, from mail by s1 (text of a program, not the user's words):\n  > T-4 needs a decision\n\
         message 2, normal, from mail by [user]:\n  | the answer is 4\n"
    );
    assert_eq!(world.run(["inbox"]).exits(0).stdout, "no messages\n");
    let all = world.json(["outbox", "list", "--all"]);
    let states: Vec<_> = all.as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["acknowledged", "acknowledged", "queued"]);
}

#[test]
fn person_waits_for_a_message() {
    let world = TestProject::new();
    world.real_time();
    world.run(["inbox", "--wait", "20ms", "--json"]).refuses(6, "nothing_arrived");
    let reader = world.fairway(["inbox", "--wait", "30s"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    world.run(["send", &format!("person:{}", me()), "here"]).exits(0);
    let read = reader.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&read.stdout).contains("  | here"), "{read:?}");
}

#[test]
fn person_hears_of_the_own_watchers() {
    let world = TestProject::new();
    world.real_time();
    let spawned =
        world.run(["exec", "spawn", "--watch", "broken=error", "--shell", "echo it is broken; exit 3"]).exits(0);
    assert!(spawned.stderr.contains("you will read its notifications with: fairway inbox"), "{spawned:?}");
    let heard = poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(50), || {
        let open = world.json(["outbox"]);
        (open.as_array().unwrap().len() == 2).then_some(())
    });
    assert!(heard.is_some(), "{}", world.json(["outbox"]));
    let text = world.run(["inbox", "--ack"]).exits(0).stdout;
    assert!(text.contains("from exec (text of a program, not the user's words)"), "{text}");
    assert!(text.contains("matched \"error\"") && text.contains("> it is broken"), "{text}");
    assert!(text.contains("ended: failed") || text.contains("exit code 3"), "{text}");
    // Without watchers nothing is said.
    let plain = world.run(["exec", "spawn", "--shell", "exit 3", "--wait-for", "20s"]).exits(0);
    assert!(!plain.stderr.contains("inbox"), "{plain:?}");
    assert_eq!(world.json(["outbox"]), serde_json::json!([]));
    assert_eq!(world.run(["inbox"]).exits(0).stdout, "no messages\n");
}
