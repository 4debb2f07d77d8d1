//! Which session a hook speaks of, and what it tells of it.

use std::fs;

use serde_json::{Value, json};

use super::{command, denied, event, silent};
use crate::common::TestProject;

fn start(source: &str, external: &str) -> Value {
    event("SessionStart", external, json!({ "source": source }))
}

/// External id, status and activity of every session, in the order of their start.
#[track_caller]
fn stand(world: &TestProject) -> Vec<String> {
    let word = |session: &Value, name: &str| session[name].as_str().unwrap_or("-").to_owned();
    let sessions = world.sessions();
    let stands = sessions.iter().map(|session| {
        format!("{} {} {}", word(session, "external_session_id"), word(session, "status"), word(session, "activity"))
    });
    stands.collect()
}

#[test]
fn unknown_session_is_registered() {
    let world = TestProject::new();
    let mut begins = start("startup", "conversation-1");
    begins["transcript_path"] = "/home/dev/record.jsonl".into();
    begins["cwd"] = world.root().join("src").to_str().unwrap().into();
    fs::create_dir(world.root().join(".git")).unwrap();
    world.hook("claude", &begins).exits(0);
    let session = world.session();
    assert_eq!(
        (&session["role"], &session["provider"], &session["external_session_id"], &session["transcript"]),
        (&json!("person"), &json!("claude"), &json!("conversation-1"), &json!("/home/dev/record.jsonl")),
    );
    assert_eq!(session["worktree"], json!(world.root()));
    fs::remove_dir(world.root().join(".git")).unwrap();
    // It is the same one from whatever folder, and another conversation is another.
    world.hook("claude", &start("startup", "conversation-2")).exits(0);
    world.hook("codex", &start("startup", "conversation-1")).exits(0);
    silent(&world.hook("claude", &event("Stop", "conversation-1", json!({}))));
    assert_eq!(world.sessions().len(), 3);
}

#[test]
fn launched_session_learns_its_conversation_and_follows_it() {
    let world = TestProject::new();
    world.run(["session", "upsert", "--id", "s-1", "--role", "backend"]).exits(0);
    world.hook_inside("s-1", "claude", &start("startup", "a")).exits(0);
    let session = world.session();
    assert_eq!((&session["external_session_id"], &session["provider"]), (&json!("a"), &json!("claude")));
    assert_eq!((&session["role"], &session["status"]), (&json!("backend"), &json!("running")));
    // The person empties the conversation: the same program goes on with another one.
    silent(&world.hook_inside("s-1", "claude", &event("SessionEnd", "a", json!({ "reason": "clear" }))));
    assert_eq!(stand(&world), ["a running idle"]);
    world.hook_inside("s-1", "claude", &start("clear", "b")).exits(0);
    silent(&world.hook_inside("s-1", "claude", &event("UserPromptSubmit", "b", json!({ "prompt": "x" }))));
    assert_eq!(stand(&world), ["b running busy"]);
    // An event that still comes from the old conversation belongs to it.
    silent(&world.hook_inside("s-1", "claude", &event("Stop", "a", json!({}))));
    assert_eq!(stand(&world), ["b running idle"]);
    silent(&world.hook_inside("s-1", "claude", &event("SessionEnd", "b", json!({ "reason": "prompt_input_exit" }))));
    assert_eq!(stand(&world), ["b ended unknown"]);
}

/// An agent that an agent starts has inherited its surroundings, and is not it.
#[test]
fn agent_inside_a_session_is_a_session_of_its_own() {
    let world = TestProject::new();
    world.run(["session", "upsert", "--id", "s-1", "--role", "backend", "--provider", "claude"]).exits(0);
    world.hook_inside("s-1", "claude", &start("startup", "outer")).exits(0);
    world.hook_inside("s-1", "codex", &start("startup", "inner")).exits(0);
    world.hook_inside("s-1", "claude", &start("startup", "inner")).exits(0);
    silent(&world.hook_inside("s-1", "claude", &event("UserPromptSubmit", "outer", json!({}))));
    silent(&world.hook_inside("s-1", "codex", &event("SessionEnd", "inner", json!({ "reason": "other" }))));
    silent(&world.hook_inside("s-1", "claude", &event("SessionEnd", "inner", json!({ "reason": "other" }))));
    assert_eq!(stand(&world), ["outer running busy", "inner ended unknown", "inner ended unknown"]);
    // Nor is it the one before its conversation is known.
    world.run(["session", "upsert", "--id", "s-2", "--role", "backend", "--provider", "claude"]).exits(0);
    world.hook_inside("s-2", "codex", &start("startup", "other")).exits(0);
    assert_eq!(world.json(["session", "show", "s-2"])["external_session_id"], Value::Null);
}

#[test]
fn ended_session_is_denied_until_it_restarts() {
    let world = TestProject::new();
    world.hook("claude", &start("startup", "a")).exits(0);
    silent(&world.hook("claude", &event("SessionEnd", "a", json!({ "reason": "other" }))));
    assert!(denied("claude", &world.hook("claude", &command("claude", "a", "true"))).contains("has ended"));
    // A late event is no new beginning.
    silent(&world.hook("claude", &event("Stop", "a", json!({}))));
    silent(&world.hook("claude", &event("SessionEnd", "a", json!({ "reason": "other" }))));
    assert_eq!(stand(&world), ["a ended unknown"]);
    world.hook("claude", &start("resume", "a")).exits(0);
    silent(&world.hook("claude", &command("claude", "a", "true")));
    assert_eq!(stand(&world), ["a ended unknown", "a running busy"]);
}

/// Its own surroundings name a session that is over: the one that went on in its place is meant.
#[test]
fn resumed_conversation_of_an_ended_session_starts_anew() {
    let world = TestProject::new();
    world.run(["session", "upsert", "--id", "s-1", "--role", "backend"]).exits(0);
    world.hook_inside("s-1", "claude", &start("startup", "a")).exits(0);
    world.run(["session", "end", "s-1"]).exits(0);
    denied("claude", &world.hook_inside("s-1", "claude", &command("claude", "a", "true")));
    world.hook_inside("s-1", "claude", &start("resume", "a")).exits(0);
    silent(&world.hook_inside("s-1", "claude", &command("claude", "a", "true")));
    silent(&world.hook_inside("s-1", "claude", &event("UserPromptSubmit", "a", json!({}))));
    assert_eq!(stand(&world), ["a ended unknown", "a running busy"]);
}

#[test]
fn helpers_inside_a_session_do_not_move_it() {
    let world = TestProject::new();
    world.hook("claude", &start("startup", "a")).exits(0);
    silent(&world.hook("claude", &event("UserPromptSubmit", "a", json!({}))));
    let helper = json!({ "agent_id": "helper-1", "agent_type": "Explore" });
    for name in ["SubagentStart", "SubagentStop", "Stop", "SessionStart", "SessionEnd"] {
        silent(&world.hook("claude", &event(name, "a", helper.clone())));
    }
    assert_eq!(stand(&world), ["a running busy"]);
}

#[test]
fn hook_call_revives_a_stale_session() {
    let world = TestProject::new();
    world.hook("gemini", &start("startup", "a")).exits(0);
    let id = world.session()["id"].as_str().unwrap().to_owned();
    world.run(["session", "upsert", "--id", &id, "--status", "stale"]).exits(0);
    silent(&world.hook("gemini", &event("PreCompress", "a", json!({ "trigger": "auto" }))));
    assert_eq!(world.session()["status"], "running");
}

#[test]
fn notifications_record_the_awaited_input() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "title"]).exits(0);
    world.run(["session", "upsert", "--id", "s-1", "--role", "backend", "--task-id", "T-1"]).exits(0);
    world.hook_inside("s-1", "claude", &start("startup", "a")).exits(0);
    let notice = |kind: &str, message: &str| {
        let payload = event("Notification", "a", json!({ "message": message, "notification_type": kind }));
        silent(&world.hook_inside("s-1", "claude", &payload));
    };
    notice("permission_prompt", "needs your permission with API_TOKEN=sk-ant-REDACTED");
    let session = world.session();
    assert_eq!(session["activity"], "requires_action");
    assert!(session["waiting_for"].as_str().unwrap().starts_with("needs your permission"), "{session:#}");
    assert!(!session["waiting_for"].as_str().unwrap().contains("0123456789"), "{session:#}");
    let latest = || world.json(["checkpoint", "latest", "T-1"]);
    assert_eq!(latest()["state"], "awaiting_input");
    // Told again, it is the same.
    notice("permission_prompt", "needs your permission with API_TOKEN=sk-ant-REDACTED");
    assert_eq!(world.json(["checkpoint", "list", "T-1"]).as_array().unwrap().len(), 1);
    notice("auth_success", "hello");
    assert_eq!(world.session()["activity"], "requires_action");
    notice("idle_prompt", "waits for your input");
    assert_eq!(world.session()["activity"], "idle");
    let failed = event("StopFailure", "a", json!({ "error": "rate_limit", "error_details": "too many" }));
    silent(&world.hook_inside("s-1", "claude", &failed));
    assert_eq!(latest()["summary"], "the turn failed: rate_limit: too many");
}

/// The question of an agent is its state, which its answer ends; its checkpoint stays and opens no gate's blocker.
#[test]
fn answered_permission_leaves_no_open_question() {
    let world = TestProject::new();
    let config = world.root().join(".fairway.toml");
    let gates = "[gates.merge]\nrequire = [\"no_open_questions\"]\n";
    fs::write(&config, format!("{}\n{gates}", fs::read_to_string(&config).unwrap())).unwrap();
    world.run(["task", "add", "T-1", "title"]).exits(0);
    world.run(["session", "upsert", "--id", "s-1", "--role", "backend", "--task-id", "T-1"]).exits(0);
    world.run(["--session", "s-1", "claim", "T-1"]).exits(0);
    world.hook_inside("s-1", "claude", &start("startup", "a")).exits(0);
    let notice = json!({ "message": "permission: Bash: ls -l", "notification_type": "permission_prompt" });
    silent(&world.hook_inside("s-1", "claude", &event("Notification", "a", notice)));

    let latest = world.json(["checkpoint", "latest", "T-1"]);
    assert_eq!((&latest["state"], &latest["origin"]), (&json!("awaiting_input"), &json!("hook")));
    let report = || -> Value { world.run(["merge-ready", "T-1", "--json"]).json() };
    let asks = report();
    assert_eq!(asks["blockers"][0]["code"], "open_question", "{asks}");
    assert_eq!(asks["blockers"][0]["message"], "the session s-1 waits for a person: permission: Bash: ls -l");
    assert_eq!(asks["blockers"][0]["fix"], "fairway session attach s-1");
    let explain = || world.run(["explain", "task", "T-1"]).exits(0).stdout;
    assert!(explain().contains("the claimant's session waits for a person: permission: Bash: ls -l"), "{}", explain());
    // The session itself acts: a person has answered in its own window.
    world.run(["--session", "s-1", "merge-ready", "T-1"]).exits(0);

    let used = json!({ "tool_name": "Bash", "tool_input": {}, "tool_response": {}, "tool_use_id": "t-1" });
    silent(&world.hook_inside("s-1", "claude", &event("PostToolUse", "a", used)));
    assert_eq!(world.session()["activity"], "busy");
    assert_eq!(report()["ready"], true, "{}", report());
    let told = world.run(["--session", "s-1", "prime"]).exits(0).stdout;
    assert!(!told.contains("awaiting_input") && !explain().contains("permission"), "{told}{}", explain());
    // The question that an agent writes down is one until it writes again.
    let record =
        |state| ["--session", "s-1", "checkpoint", "record", "T-1", "--state", state, "--summary", "which one?"];
    world.run(record("awaiting_input")).exits(0);
    let message = report()["blockers"][0]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("the newest checkpoint awaits input (checkpoint 2 by s-1, "), "{message}");
    world.run(record("active")).exits(0);
    assert_eq!(report()["ready"], true);
}

#[test]
fn tools_that_ran_are_counted_once() {
    let world = TestProject::new();
    for _ in 0..2 {
        let used = json!({ "tool_name": "Bash", "tool_input": {}, "tool_response": {}, "tool_use_id": "t-1", "duration_ms": 52 });
        silent(&world.hook("claude", &event("PostToolUse", "a", used)));
    }
    let used = json!({ "tool_name": "Bash", "tool_input": {}, "error": "x", "tool_use_id": "t-2" });
    silent(&world.hook("claude", &event("PostToolUseFailure", "a", used)));
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let mut rows = conn.prepare("SELECT name, success, duration_ms FROM tool_calls ORDER BY id").unwrap();
    let rows: Vec<(String, Option<i64>, Option<i64>)> =
        rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows, [("Bash".into(), Some(1), Some(52)), ("Bash".into(), Some(0), None)]);
}
