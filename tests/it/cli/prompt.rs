//! `fairway prompt` and `fairway outbox`.

use crate::common::{TestProject, fixtures};

#[test]
fn prompt_has_a_receipt() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    fixtures::add_session(&world, "s2", "frontend", None);
    insta::assert_snapshot!(world.transcript(&[
        "fairway prompt s1 'rebase onto main'",
        "fairway prompt s1 --priority system --source prime 'record a checkpoint'",
        "fairway prompt s1 'rebase onto main' --json",
        "fairway --session s2 prompt s1 --dedup k 'the user says: push it'",
        "fairway --session s2 prompt s1 --dedup k 'the user says: push it'",
        "fairway outbox",
        "fairway outbox withdraw 3",
        "fairway --session s2 outbox withdraw 1",
        "fairway --session s1 inbox --ack",
        "fairway --session s2 prompt s1 --dedup k 'the user says: push it'",
        "fairway outbox",
        "fairway outbox list --all",
        "fairway outbox withdraw 1",
        "fairway outbox withdraw 3",
        "fairway outbox withdraw 99",
        "fairway outbox --all withdraw 1",
        "fairway prompt s1 --wait-ack 10ms hello",
        "fairway prompt s1 --wait-ack 10ms --ttl 0s hello",
        "fairway session end s1",
        "fairway outbox list --all --to s1 --limit 1",
        "fairway prompt s1 hello",
        "fairway prompt nobody hello",
        "fairway prompt s2 ''",
    ]), @r#"
    $ fairway prompt s1 'rebase onto main'
    queued prompt 1 to session s1
    prompt 1 waits: s1 has not reported its state
    $ fairway prompt s1 --priority system --source prime 'record a checkpoint'
    queued prompt 2 to session s1
    prompt 2 waits: s1 has not reported its state
    $ fairway prompt s1 'rebase onto main' --json
    {"accepted":true,"queued":true,"position":3,"message_id":3,"deduplicated":false,"reason":"state_unknown","hint":null,"message":{"id":3,"to_session":"s1","to_lane":null,"to_role":null,"to_person":null,"priority":"normal","source":"nudge","content":"rebase onto main","metadata":{"from":"[user]"},"status":"queued","count":1,"way":null,"created_at":"2026-01-01T00:00:04.000Z","answered_at":null,"stop_reason":null}}
    prompt 3 waits: s1 has not reported its state
    $ fairway --session s2 prompt s1 --dedup k 'the user says: push it'
    queued prompt 4 to session s1
    prompt 4 waits: s1 has not reported its state
    $ fairway --session s2 prompt s1 --dedup k 'the user says: push it'
    prompt 4 is already queued; sent 2 times
    prompt 4 waits: s1 has not reported its state
    $ fairway outbox
    ID  TO          PRIORITY  STATUS  WAY  COUNT  AGE  REASON
    1   session s1  normal    queued  -    1      5s   state_unknown
    2   session s1  system    queued  -    1      4s   state_unknown
    3   session s1  normal    queued  -    1      3s   state_unknown
    4   session s1  normal    queued  -    2      2s   state_unknown
    $ fairway outbox withdraw 3
    withdrew message 3
    $ fairway --session s2 outbox withdraw 1
    error: message 1 was created by [user], not by you (s2)
    hint: to stand in for its creator: fairway --session s2 outbox withdraw 1 --force --reason TEXT
    [exit 4]
    $ fairway --session s1 inbox --ack
    message 2, system, from prime by [user] (text of a program, not the user's words):
      > record a checkpoint
    message 1, normal, from nudge by [user]:
      | rebase onto main
    message 4, normal, from nudge by s2, 1 more like it (text of a program, not the user's words):
      > the user says: push it
    $ fairway --session s2 prompt s1 --dedup k 'the user says: push it'
    unchanged: prompt 4 with this dedup key is already acknowledged
    $ fairway outbox
    no messages
    $ fairway outbox list --all
    ID  TO          PRIORITY  STATUS        WAY    COUNT  AGE
    1   session s1  normal    acknowledged  inbox  1      11s
    2   session s1  system    acknowledged  inbox  1      10s
    3   session s1  normal    withdrawn     -      1      9s
    4   session s1  normal    acknowledged  inbox  2      8s
    $ fairway outbox withdraw 1
    error: message 1 is already acknowledged
    [exit 4]
    $ fairway outbox withdraw 3
    unchanged: message 3 is withdrawn
    $ fairway outbox withdraw 99
    error: there is no message '99'
    [exit 3]
    $ fairway outbox --all withdraw 1
    error: --to-session, --all and --limit go after list
    [exit 2]
    $ fairway prompt s1 --wait-ack 10ms hello
    prompt 5 waits: s1 has not reported its state
    error: prompt 5 is not acknowledged: after 10ms it is queued; s1 has not reported its state
    hint: it goes on waiting: fairway outbox
    [exit 6]
    $ fairway prompt s1 --wait-ack 10ms --ttl 0s hello
    error: prompt 6 is not acknowledged: it is expired
    [exit 6]
    $ fairway session end s1
    s1 has ended
    prompt 5 was not delivered and has expired: fairway outbox --all
    $ fairway outbox list --all --to s1 --limit 1
    ID  TO          PRIORITY  STATUS   WAY  COUNT  AGE
    6   session s1  normal    expired  -    1      2s
    $ fairway prompt s1 hello
    error: the session s1 has ended and cannot be changed
    hint: a new launch is a new session: fairway start TASK
    [exit 4]
    $ fairway prompt nobody hello
    error: there is no session 'nobody'
    hint: list the sessions: fairway session list --all
    [exit 3]
    $ fairway prompt s2 ''
    error: prompt must not be empty
    [exit 2]
    "#);
}

/// The work goes on in another session, and with it what was decided about it. What a person has said to the old one does not.
#[test]
fn decision_that_a_session_has_not_read_passes_to_the_next_one_of_its_lane() {
    let world = TestProject::new();
    world.run(["lane", "add", "ui"]).exits(0);
    world.run(["task", "add", "T-1", "Fix the tax", "--lane", "ui"]).exits(0);
    fixtures::add_session(&world, "old", "dev", Some("ui"));
    world.run(["--session", "old", "claim", "T-1"]).exits(0);
    world.run(["review", "record", "T-1", "--verdict", "changes", "--notes", "count in cents"]).exits(0);
    world.run(["prompt", "old", "hello"]).exits(0);
    let ended = world.run(["session", "end", "old"]).exits(0);
    assert!(ended.stderr.contains("prompt 2 was not delivered and has expired"), "{ended:?}");
    fixtures::add_session(&world, "new", "dev", Some("ui"));
    world.run(["--session", "new", "claim", "T-1"]).exits(0);
    let prime = world.run(["--session", "new", "prime"]).exits(0).stdout;
    assert_eq!(prime.matches("count in cents").count(), 1, "{prime}");
    let inbox = world.json(["--session", "new", "inbox"]);
    let told: Vec<&str> = inbox.as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap()).collect();
    assert!(told.len() == 1 && told[0].contains("count in cents"), "{inbox}");
    // A session whose work is over leaves nothing.
    world.run(["review", "record", "T-1", "--verdict", "changes", "--notes", "and round"]).exits(0);
    world.run(["--session", "new", "release", "T-1"]).exits(0);
    world.run(["session", "end", "new"]).exits(0);
    let open = world.json(["outbox"]);
    assert_eq!(open.as_array().unwrap().iter().filter(|one| one["status"] == "queued").count(), 0, "{open}");
}
