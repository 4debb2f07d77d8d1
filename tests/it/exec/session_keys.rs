//! Keys of sessions that Fairway does not know, flat tool calls, and the runs that events carry.

use serde_json::{Value, json};

use super::job_project::JobProject;
use crate::common::TestProject;

fn call(world: &TestProject, document: &Value) -> Value {
    world.run_with_stdin(["exec", "call"], document.to_string().as_bytes()).exits(0).json()
}

fn events(world: &TestProject, kind: &str) -> Vec<Value> {
    let all = world.run(["events", "--json"]).exits(0).stdout;
    all.lines().map(|line| serde_json::from_str(line).unwrap()).filter(|event: &Value| event["kind"] == kind).collect()
}

#[test]
fn notifications_wait_under_a_key_with_colons_and_slashes() {
    let world = TestProject::new();
    let project = JobProject::of_world(&world);
    let key = "agent:main/7";
    let spawn = json!({ "action": "spawn", "command": "exit 3", "session_id": key });
    let job = call(&world, &spawn)["run_id"].as_str().unwrap().to_owned();
    project.run(["exec", "wait", &job]).exits(7);
    let waits = || world.run(["inbox", "--session", key, "--wait", "20s", "--ack"]).exits(0).stdout;
    assert!(waits().contains("ended: failed: exit code 3"));
    assert_eq!(world.run(["inbox", "--session", key]).exits(0).stdout, "no messages\n");
    let listed = call(&world, &json!({ "action": "list", "session_id": key }));
    assert_eq!((&listed[0]["session_id"], &listed[0]["queue"]), (&json!(key), &json!(key)));
    assert_eq!(world.json(["exec", "list", "--of-session", key]), listed);
    assert_eq!(events(&world, "exec.finished")[0]["data"]["session_key"], key);
    // It is a key for jobs only.
    world.run(["inbox", "--session", "agent:other", "--json"]).refuses(3, "not_found");
    world.run(["ready", "--session", key, "--json"]).refuses(2, "invalid_value");
    let long = format!("a:{}", "b".repeat(127));
    let too_long = json!({ "action": "list", "session_id": long }).to_string();
    world.run_with_stdin(["exec", "call"], too_long.as_bytes()).refuses(2, "usage");
}

/// A tool call that always sends every field.
#[test]
fn flat_tool_call_with_fields_of_other_actions_runs() {
    let world = TestProject::new();
    let project = JobProject::of_world(&world);
    let flat = |action: Value, used: Value| {
        let mut document = json!({
            "action": action, "command": null, "argv": null, "background": true, "pty": false, "timeout_secs": null,
            "max_output_bytes": null, "watch": [], "session_id": "agent:main", "run_id": null, "since_seq": 0, "keys": null,
            "signal": null, "until": null, "limit": 5,
        });
        document.as_object_mut().unwrap().extend(used.as_object().unwrap().clone());
        call(&world, &document)
    };
    let hello = json!({ "success": true, "output": "hello\n", "error": null });
    assert_eq!(flat(Value::Null, json!({ "command": "echo hello" })), hello);
    let cut = flat(Value::Null, json!({ "command": "printf 0123456789", "max_output_bytes": 4 }));
    assert_eq!(cut["output"], "01\n[6 bytes left out]\n89");
    let job = flat(json!("spawn"), json!({ "command": "echo started; sleep 600" }))["run_id"].clone();
    let polled = flat(json!("poll"), json!({ "run_id": job, "wait_ms": 20000, "until": "output" }));
    assert_eq!(polled["items"][0]["payload"], "started\n");
    assert_eq!(flat(json!("kill"), json!({ "run_id": job, "command": "ignored" }))["status"], "canceled");
    assert_eq!(flat(json!("wait"), json!({ "run_id": job }))[0]["run_id"], job);
    project.run(["exec", "rm", job.as_str().unwrap()]).exits(0);
}

#[test]
fn events_of_jobs_and_messages_carry_the_run_of_their_session() {
    let world = TestProject::new();
    let project = JobProject::of_world(&world);
    world.run(["session", "upsert", "--id", "s1", "--role", "r"]).exits(0);
    let run = world.json(["session", "show", "s1"])["run_id"].clone();
    let job = project.spawn(["--notify", "s1", "--", "true"]);
    project.run(["exec", "wait", &job]).exits(0);
    world.run(["message", "send", "--to-session", "s1", "hello"]).exits(0);
    project.run(["exec", "rm", &job]).exits(0);
    for kind in ["exec.queued", "exec.started", "exec.finished", "exec.removed"] {
        let event = events(&world, kind).pop().unwrap();
        assert_eq!((&event["session_id"], &event["run_id"]), (&json!("s1"), &run), "{event}");
        assert_eq!((&event["data"]["exec_run_id"], &event["data"]["run"]), (&json!(job), &json!(job)), "{event}");
    }
    let queued = events(&world, "message.queued");
    assert!(!queued.is_empty() && queued.iter().all(|event| event["run_id"] == run), "{queued:?}");
    // Without a session there is no run.
    let alone = project.spawn(["--", "true"]);
    project.run(["exec", "wait", &alone]).exits(0);
    assert_eq!(events(&world, "exec.finished").pop().unwrap()["run_id"], Value::Null);
}
