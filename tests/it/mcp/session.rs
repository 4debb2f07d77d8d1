//! The acting session comes from the environment, and from nowhere else.

use serde_json::json;

use super::{Client, at_work};
use crate::common::TestProject;

#[test]
fn without_a_session_reading_tools_answer_and_changing_ones_refuse() {
    let world = at_work();
    let mut client = Client::start(&world);
    client.call("task", json!({ "task": "T-1" })).succeeds();
    client.call("next", json!({ "task": "T-2" })).succeeds();
    client.call("overlap", json!({})).succeeds();
    client.call("run", json!({ "action": "list" })).succeeds();
    let before = world.run(["events"]).exits(0).stdout;
    for (tool, arguments) in [
        ("next", json!({ "claim": true })),
        ("note", json!({ "text": "x", "task": "T-1" })),
        ("verify", json!({ "check": "unit", "task": "T-1" })),
        ("finish", json!({ "how": "done", "task": "T-1" })),
        ("ask", json!({ "question": "x", "task": "T-1" })),
        ("inbox", json!({})),
        ("run", json!({ "command": "touch made" })),
        ("run", json!({ "action": "spawn", "command": "touch made" })),
        ("run", json!({ "action": "kill", "run_id": "x" })),
    ] {
        let refused = client.call(tool, arguments).refuses("no_session");
        assert!(refused.text.contains("\nnext: start the agent with a session: fairway start"), "{}", refused.text);
    }
    assert_eq!(world.run(["events"]).exits(0).stdout, before);
    assert!(!world.root().join("made").exists());
}

#[test]
fn session_is_no_argument_and_no_flag() {
    let world = at_work();
    let mut client = Client::of_session(&world, "s1");
    for name in ["session", "session_id", "as"] {
        client.call("note", json!({ "text": "x", name: "s2" })).refuses("usage");
    }
    // `session_id` of `run` is the key of a job's messages: the acting session stays the one of the environment.
    for name in ["session", "as"] {
        client.call("run", json!({ "action": "list", name: "s2" })).refuses("usage");
    }
    let job = json!({ "action": "spawn", "command": "echo \"$FAIRWAY_SESSION_ID\"", "session_id": "s2", "background": false });
    let ended = client.call("run", job).succeeds().document;
    assert_eq!((&ended["session_id"], &ended["snippet"]), (&json!("s2"), &json!("s1\n")), "{ended}");
    for flags in [["--session", "s1"], ["--as", "dev"]] {
        world.run([["mcp", "--json"], flags].concat()).refuses(2, "usage");
    }
    let mut unknown = Client::of_session(&world, "nobody");
    unknown.call("note", json!({ "text": "x" })).refuses("nothing_claimed");
}

#[test]
fn agent_that_was_started_by_hand_acts_as_the_session_of_its_hooks() {
    let world = at_work();
    let upsert = ["session", "upsert", "--id", "by-hand", "--role", "dev", "--provider", "claude"];
    world.run([&upsert[..], &["--external-session-id", "conversation-1"]].concat()).exits(0);
    let mut command = world.fairway(["mcp"]);
    command.env("CLAUDE_CODE_SESSION_ID", "conversation-1");
    let mut client = Client::of(command);
    let claimed = client.call("next", json!({ "claim": true }));
    // T-1 is claimed by another session, and T-2 waits for it.
    claimed.refuses("nothing_ready");
    world.run(["task", "add", "--id", "T-3", "Third"]).exits(0);
    let claimed = client.call("next", json!({ "claim": true })).succeeds();
    assert_eq!(claimed.document["task"]["claim"]["session_id"], "by-hand", "{claimed:#?}");
}

#[test]
fn server_without_a_project_answers_each_call_with_the_refusal() {
    let world = TestProject::uninitialized();
    let mut client = Client::start(&world);
    assert_eq!(client.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().len(), 9);
    let refused = client.call("next", json!({})).refuses("no_project");
    assert!(refused.text.contains("fairway setup"), "{}", refused.text);
    assert_eq!(std::fs::read_dir(world.root()).unwrap().count(), 0);
    // A project that appears is used by the next call: nothing is kept.
    world.run(["init", "--quiet"]).exits(0);
    client.call("next", json!({})).succeeds();
}

#[test]
fn next_gives_the_notes_of_a_verdict_until_the_task_is_submitted_again() {
    let world = at_work();
    let mut client = Client::of_session(&world, "s1");
    assert!(!client.call("next", json!({})).succeeds().text.contains("asks for changes"));
    world.run(["review", "record", "T-1", "--verdict", "changes", "--notes", "count in cents"]).exits(0);
    let told = client.call("next", json!({})).succeeds().text;
    assert!(told.contains("asks for changes in the domain 'general' (review 1):\n  | count in cents"), "{told}");
    world.run(["--session", "s1", "release", "T-1"]).exits(0);
    let claimed = client.call("next", json!({ "claim": true, "task": "T-1" })).succeeds().text;
    assert!(claimed.contains("count in cents"), "{claimed}");
    world.run(["--session", "s1", "task", "submit", "T-1"]).exits(0);
    assert!(!client.call("next", json!({})).succeeds().text.contains("count in cents"));
}

#[test]
fn task_and_next_say_what_tests_need_to_know_of_the_lane() {
    let world = TestProject::with_git();
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    std::fs::write(world.root().join(".fairway/local.toml"), "[lanes]\nsetup = ['exit 3']\n").unwrap();
    world.run(["trust"]).exits(0);
    world.run(["lane", "setup", "api"]).exits(5);
    world.run(["task", "add", "Work", "--lane", "api"]).exits(0);
    world.add_session("s1");
    let mut client = Client::of_session(&world, "s1");
    for (tool, asked) in [("next", json!({ "claim": true })), ("next", json!({})), ("task", json!({ "task": "T-1" }))] {
        let told = client.call(tool, asked.clone()).succeeds();
        let lines =
            "the lane api is not ready, setup failed: 'exit 3' (exit 3)\nthe lane api has the ports 20000 to 20009";
        assert!(told.text.contains(lines), "{tool}: {}", told.text);
        let lane = &told.document["lane"];
        assert!(asked["claim"] == true || lane["setup"]["state"] == "setup_failed" && lane["port"] == 20_000, "{lane}");
    }
}
