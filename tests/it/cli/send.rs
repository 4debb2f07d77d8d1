//! `fairway send`: who gets a text, and how one is told apart from many.

use serde_json::{Value, json};

use crate::common::{TestProject, fixtures};

/// s1 and s2 in the lane api, s3 outside; s4 has ended. `qa` is a session, a lane and a role.
fn crew() -> TestProject {
    let world = TestProject::new();
    fixtures::add_lane(&world, "api", None, None);
    fixtures::add_lane(&world, "qa", None, None);
    fixtures::add_session(&world, "s1", "backend", Some("api"));
    fixtures::add_session(&world, "s2", "backend", Some("api"));
    fixtures::add_session(&world, "s3", "qa", None);
    fixtures::add_session(&world, "s4", "backend", Some("api"));
    world.run(["session", "end", "s4"]).exits(0);
    world
}

fn recipients(answer: &Value) -> Vec<&str> {
    answer.as_array().unwrap().iter().map(|one| one["message"]["to_session"].as_str().unwrap()).collect()
}

#[test]
fn text_reaches_a_session_a_lane_a_role_or_all() {
    let world = crew();
    for (who, expected) in [
        (&["s1"][..], &["s1"][..]),
        (&["session:s3"], &["s3"]),
        (&["lane:api"], &["s1", "s2"]),
        (&["role:backend"], &["s1", "s2"]),
        (&["role:qa"], &["s3"]),
        (&["--all"], &["s1", "s2", "s3"]),
        (&["--all", "--session", "s2"], &["s1", "s3"]),
        (&["lane:api", "--session", "s2"], &["s1"]),
    ] {
        let answer = world.json([&["send"], who, &["main is frozen"]].concat());
        assert_eq!(recipients(&answer), expected, "{who:?}");
        assert!(answer[0]["message"]["content"] == "main is frozen", "{answer}");
    }
    let inbox = world.json(["inbox", "--session", "s3", "--ack"]);
    assert_eq!(inbox.as_array().or(inbox["messages"].as_array()).map(Vec::len), Some(4), "{inbox}");
}

#[test]
fn recipient_that_is_not_one_session_is_refused_with_what_it_may_be() {
    let world = crew();
    fixtures::add_session(&world, "qa", "tester", None);
    insta::assert_snapshot!(world.transcript(&[
        "fairway send qa hello",
        "fairway send api hello",
        "fairway send s9 hello",
        "fairway send s4 hello",
        "fairway send lane:ui hello",
        "fairway send lane:qa hello",
        "fairway send role:nobody hello",
        "fairway --session s3 send role:qa hello",
        "fairway send room:1 hello",
        "fairway send person:a@b hello",
        "fairway send s1",
        "fairway send --all s1 hello",
        "fairway send s1 ''",
        "fairway send",
        "fairway outbox",
    ]), @"
    $ fairway send qa hello
    error: recipient 'qa' is ambiguous: it fits session:qa, lane:qa, role:qa
    [exit 3]
    $ fairway send api hello
    error: there is no session 'api'
    hint: did you mean lane:api?
    [exit 3]
    $ fairway send s9 hello
    error: there is no session 's9'
    hint: list the sessions: fairway session list --all
    [exit 3]
    $ fairway send s4 hello
    error: the session s4 has ended and cannot be changed
    hint: a new launch is a new session: fairway start TASK
    [exit 4]
    $ fairway send lane:ui hello
    error: there is no lane 'ui'
    hint: did you mean api, qa?
    [exit 3]
    $ fairway send lane:qa hello
    error: the lane qa has no live session
    hint: leave it for the next session: fairway send lane:qa TEXT --later
    [exit 3]
    $ fairway send role:nobody hello
    error: the role nobody has no live session
    hint: leave it for the next session: fairway send role:nobody TEXT --later
    [exit 3]
    $ fairway --session s3 send role:qa hello
    error: the role qa has no live session
    hint: leave it for the next session: fairway send role:qa TEXT --later
    [exit 3]
    $ fairway send room:1 hello
    error: session id 'room:1' must start with a-z, A-Z or 0-9 and contain only these, '_' and '-', at most 64 characters
    [exit 2]
    $ fairway send person:a@b hello
    error: person 'a@b' must start with a-z, A-Z, 0-9 or '_' and contain only these, '.' and '-', at most 64 characters
    [exit 2]
    $ fairway send s1
    error: the text is missing: give TEXT or --text-file FILE
    [exit 2]
    $ fairway send --all s1 hello
    error: --all takes no WHO: send --all TEXT
    [exit 2]
    $ fairway send s1 ''
    error: prompt must not be empty
    [exit 2]
    $ fairway send
    error: the following required arguments were not provided: <WHO>
    hint: write it as: fairway send <WHO> [TEXT]
    [exit 2]
    $ fairway outbox
    no messages
    ");
}

#[test]
fn text_for_one_recipient_fails_without_the_others() {
    let world = TestProject::populated();
    // s1 runs elsewhere, s2 has ended, and s4's backend takes everything.
    let typed = world.run(["send", "--all", "--type", "hello", "--json"]);
    let typed = typed.exits(4).json();
    let codes: Vec<_> = typed.as_array().unwrap().iter().map(|one| (&one["id"], &one["error"]["code"])).collect();
    assert!(codes.contains(&(&json!("s1"), &json!("session_mismatch"))), "{typed}");
    assert!(codes.contains(&(&json!("s4"), &Value::Null)), "{typed}");
    world.run(["send", "--all", "--type", "hello", "--ttl", "1h", "--json"]).refuses(2, "usage");
    world.run(["send", "s4", "hello", "--force", "--json"]).refuses(2, "usage");
    world.run(["send", "person:ann", "hello", "--type", "--json"]).exits(2);
}

#[test]
fn repeat_of_a_request_sends_nothing_twice() {
    let world = crew();
    let send = ["send", "lane:api", "main is frozen", "--json", "--request-id", "R-1"];
    let first = world.run(send).exits(0).stdout;
    assert_eq!(world.run(send).exits(0).stdout, first);
    assert_eq!(world.json(["outbox"]).as_array().unwrap().len(), 2);
}

#[test]
fn acknowledgement_is_awaited_for_each_session() {
    let world = crew();
    world.real_time();
    let unread = world.run(["send", "lane:api", "one", "--wait-ack", "50ms", "--json"]).exits(6).json();
    assert!(unread.as_array().unwrap().iter().all(|one| one["error"]["code"] == "not_acknowledged"), "{unread}");
    // Two sessions read while the sender waits.
    let mut sender = world.fairway(["send", "lane:api", "two", "--wait-ack", "30s", "--json"]);
    let sender = sender.stdout(std::process::Stdio::piped()).spawn().unwrap();
    for session in ["s1", "s2"] {
        loop {
            let inbox = world.run(["inbox", "--session", session, "--wait", "20s", "--ack"]).exits(0).stdout;
            if inbox.contains("two") {
                break;
            }
        }
    }
    let output = sender.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(recipients(&answer), ["s1", "s2"]);
    assert!(answer.as_array().unwrap().iter().all(|one| one["message"]["status"] == json!("acknowledged")));
}
