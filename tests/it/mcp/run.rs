//! `run` takes the document of `exec call`, whole.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Client, at_work};
use crate::common::{TestProject, json_schema};

/// The names that a reader of the protocol lists when it meets an unknown one.
fn names_read(world: &TestProject, document: &Value) -> BTreeSet<String> {
    let refused = world.run_with_stdin(["exec", "call"], document.to_string().as_bytes()).refuses(2, "usage");
    let message = refused.error()["message"].as_str().unwrap().to_owned();
    let (_, names) = message.split_once("; there are ").unwrap_or_else(|| panic!("{message}"));
    names.split(", ").map(str::to_owned).collect()
}

fn names(schema: &Value) -> BTreeSet<String> {
    schema["properties"].as_object().unwrap_or_else(|| panic!("{schema}")).keys().cloned().collect()
}

fn schema_of_run(client: &mut Client) -> Value {
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == "run").unwrap()["inputSchema"].clone()
}

#[test]
fn schema_has_the_fields_and_words_that_exec_call_reads() {
    let world = at_work();
    let schema = schema_of_run(&mut Client::start(&world));
    assert_eq!(names(&schema), names_read(&world, &json!({ "zzzzzzzz": 1 })));
    let watch = json!({ "action": "spawn", "command": "a", "watch": [{ "zzzzzzzz": 1 }] });
    assert_eq!(names(&schema["properties"]["watch"]["items"]), names_read(&world, &watch));
    let size = json!({ "action": "spawn", "command": "a", "pty": true, "size": { "zzzzzzzz": 1 } });
    assert_eq!(names(&schema["properties"]["size"]), names_read(&world, &size));
    // The documents that the reader is tested with, and words that it refuses.
    for line in include_str!("../../fixtures/call.jsonl").lines() {
        let document: Value = serde_json::from_str(line).unwrap();
        assert_eq!(json_schema::violation(&schema, &document), None, "{document}");
    }
    for (field, word) in [("action", "spwan"), ("recovery", "never"), ("until", "end"), ("stream", "both")] {
        assert!(json_schema::violation(&schema, &json!({ field: word })).is_some(), "{field}");
    }
}

#[test]
fn every_field_of_exec_call_arrives_through_the_tool() {
    let world = at_work();
    let mut client = Client::of_session(&world, "s1");
    let spawned = client.call(
        "run",
        json!({
            "action": "spawn", "command": "stty size; echo \"$ADDED$EDITOR\"; echo 'FAILED: cart'; seq 1 9999; pwd",
            "background": false, "pty": true, "size": { "rows": 33, "cols": 77 }, "max_output_bytes": 4096,
            "watch": [{ "regex": "^FAILED", "event": "broken", "once": true, "scope": "both" }],
            "queue": "slow", "cwd": "/", "env": { "ADDED": "yes", "EDITOR": null }, "recovery": "lost",
            "timeout_secs": 50, "session_id": null, "run_id": null, "since_seq": null, "wait_ms": null, "until": null,
            "limit": null, "stream": null, "signal": null, "grace_ms": null, "keys": null, "argv": null,
            "stdin": null, "yield_ms": null, "run_ids": null, "unfinished": null, "dry_run": null,
        }),
    );
    let job = spawned.succeeds().document;
    for (field, value) in [("status", "succeeded"), ("recovery", "lost"), ("queue", "slow"), ("cwd", "/")] {
        assert_eq!(job[field], value, "{job}");
    }
    assert_eq!(
        (&job["truncated"], &job["background"], &job["session_id"]),
        (&json!(true), &json!(false), &json!("s1"))
    );
    let items = job["items"].as_array().unwrap().iter().filter(|item| item["type"] == "stdout");
    let output: String = items.filter_map(|item| item["payload"].as_str()).collect();
    assert!(output.starts_with("33 77\r\nyes\r\nFAILED: cart"), "{output}");
    let log = json!({ "action": "log", "run_id": job["run_id"], "stream": "event", "since_seq": 1, "limit": 1 });
    let events = client.call("run", log).succeeds().document;
    assert_eq!(events["items"][0]["meta"]["event"], "broken", "{events}");
    // The match and the end are messages to the session.
    let told = client.call("inbox", json!({ "wait_seconds": 5 })).succeeds();
    assert!(told.text.contains("matched \"broken\""), "{}", told.text);

    let deaf = "trap '' TERM; echo up; read -r line; echo got $line; sleep 600";
    let spawn = json!({ "action": "spawn", "command": deaf, "pty": true, "session_id": "team/7", "queue": "" });
    let other = client.call("run", spawn).succeeds().document;
    let run = &other["run_id"];
    assert_eq!(other["session_id"], "team/7");
    let of_key = client.call("run", json!({ "action": "list", "session_id": "team/7", "unfinished": true })).succeeds();
    assert_eq!(of_key.document["items"].as_array().map_or(0, Vec::len), 1, "{}", of_key.document);
    client.call("run", json!({ "action": "poll", "run_id": run, "until": "output", "wait_ms": 20_000 })).succeeds();
    let typed = json!({ "action": "send_keys", "run_id": run, "keys": [{ "text": "ab" }, { "key": "Enter" }] });
    assert_eq!(client.call("run", typed).succeeds().document["bytes"], 3);
    let kill = json!({ "action": "kill", "run_id": run, "signal": 15, "grace_ms": 1 });
    assert_eq!(client.call("run", kill).succeeds().document["status"], "canceled");
    client.call("run", json!({ "action": "gc", "dry_run": true })).succeeds();
    client.call("run", json!({ "action": "rm", "run_ids": [run] })).succeeds();
    client.call("run", json!({ "action": "poll", "run_id": run })).refuses("not_found");
}

#[test]
fn command_without_an_action_takes_the_unused_fields_as_exec_call_does() {
    let world = at_work();
    let mut client = Client::of_session(&world, "s1");
    let flat = json!({
        "command": "seq 1 9999", "timeout_secs": 5, "max_output_bytes": 100, "session_id": "s1", "background": true,
        "watch": [{ "regex": "x" }], "pty": false, "env": null, "run_id": "r", "since_seq": 0, "cwd": "/",
    });
    let answer = client.call("run", flat).succeeds().document;
    assert_eq!(answer["success"], true, "{answer}");
    assert!(answer["output"].as_str().unwrap().len() < 300, "{answer}");
    for action in [json!({ "action": "rm", "run_id": "x" }), json!({ "action": "gc" })] {
        Client::start(&world).call("run", action).refuses("no_session");
    }
}
