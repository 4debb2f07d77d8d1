//! The guard and the approvals, as the vendors' hooks carry them.

use std::fs;
use std::time::Duration;

use fairway_core::os::poll_until;
use serde_json::{Value, json};

use super::{VENDORS, command, denied, event, silent, started};
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

const RULES: &str = r#"
[guard]
default = "allow"

[[guard.rules]]
name = "no-force-push"
tools = ["Bash"]
command = ["git", "push"]
flags = ["--force", "-f"]
action = "deny"
reason = "force push is for people"

[[guard.rules]]
name = "tests-may-run"
tools = ["Bash"]
command = ["cargo", "test"]
action = "allow"
"#;

fn guarded() -> TestProject {
    let world = TestProject::new();
    fs::write(world.root().join(".fairway.toml"), RULES).unwrap();
    world.run(["trust"]).exits(0);
    world
}

#[test]
fn rules_deny_by_name_and_answer_permission_requests() {
    let world = guarded();
    for (vendor, _) in VENDORS {
        let run = world.hook(vendor, &command(vendor, vendor, "cd x && git push -fu origin main"));
        let reason = denied(vendor, &run);
        assert!(run.code == Some(0) && reason.contains("no-force-push"), "{run:#?}");
        silent(&world.hook(vendor, &command(vendor, vendor, "git push origin main")));
        let run = world.hook(vendor, &command(vendor, vendor, "cargo test"));
        match vendor {
            "claude" => assert_eq!(run.json()["hookSpecificOutput"]["permissionDecision"], "allow"),
            "gemini" => assert_eq!(run.json(), json!({ "decision": "allow" })),
            _ => silent(&run),
        }
    }
    let log = world.json(["guard", "log"]).to_string();
    assert_eq!(log.matches("\"no-force-push\"").count(), 3, "{log}");
}

#[test]
fn rules_that_are_not_trusted_deny_everything() {
    let world = guarded();
    fs::remove_dir_all(world.dir().join("home/.local/state/fairway/trust")).unwrap();
    for (vendor, _) in VENDORS {
        let reason = denied(vendor, &world.hook(vendor, &command(vendor, "x", "true")));
        assert!(reason.contains("trusted") && !reason.contains("fairway trust"), "{reason}");
    }
}

/// Agents in flight go on, by the rules that were trusted.
#[test]
fn last_trusted_rules_decide_when_the_file_changes() {
    let world = guarded();
    for text in [format!("{RULES}\n# changed\n"), String::new(), "[guard".to_owned(), "gaurd = 1\n".to_owned()] {
        fs::write(world.root().join(".fairway.toml"), text).unwrap();
        for (vendor, _) in VENDORS {
            silent(&world.hook(vendor, &command(vendor, "x", "true")));
            let reason = denied(vendor, &world.hook(vendor, &command(vendor, "x", "git push -f")));
            assert!(reason.contains("no-force-push"), "{reason}");
        }
    }
}

fn asks(vendor: &str, text: &str) -> Value {
    let mut payload = command(vendor, "a", text);
    payload["hook_event_name"] = "PermissionRequest".into();
    payload
}

#[test]
fn permission_request_is_answered_by_the_rules_first() {
    let world = guarded();
    for vendor in ["claude", "codex"] {
        let run = world.hook(vendor, &asks(vendor, "git push -f")).exits(0);
        let decision = run.json()["hookSpecificOutput"]["decision"].clone();
        assert_eq!((&decision["behavior"], decision.as_object().unwrap().len()), (&json!("deny"), 2), "{run:#?}");
        assert!(decision["message"].as_str().unwrap().contains("no-force-push"));
        let run = world.hook(vendor, &asks(vendor, "cargo test")).exits(0);
        let expected = json!({ "hookSpecificOutput": {
            "hookEventName": "PermissionRequest", "decision": { "behavior": "allow" },
        } });
        assert_eq!(run.json(), expected);
    }
    assert_eq!(world.json(["approvals", "list", "--all"]), json!([]));
}

/// A provider asks before the tool and again for the permission: that is one decision. Two calls are two.
#[test]
fn guard_log_has_one_row_for_a_call_and_its_permission_request() {
    let world = guarded();
    // A changed file is in force once it is trusted.
    fs::write(world.root().join(".fairway/local.toml"), "[hooks]\napproval_wait = \"50ms\"\n").unwrap();
    world.run(["trust"]).exits(0);
    let logged = || world.json(["guard", "log"]).as_array().unwrap().len();
    let before = |text: &str| world.hook("claude", &command("claude", "a", text)).exits(0);
    before("cargo test");
    world.hook("claude", &asks("claude", "cargo test")).exits(0);
    assert_eq!(logged(), 1);
    before("cargo test");
    world.hook("claude", &asks("claude", "cargo test")).exits(0);
    assert_eq!(logged(), 2);
    world.hook("claude", &asks("claude", "cargo build")).exits(0);
    assert_eq!(logged(), 3);
    world.advance_clock(60);
    world.hook("claude", &asks("claude", "cargo build")).exits(0);
    assert_eq!(logged(), 4);
}

#[test]
fn person_answers_a_permission_request_from_here() {
    let world = TestProject::new();
    world.real_time();
    for (vendor, word) in [("claude", "allow"), ("codex", "deny")] {
        let hook = world.fairway(["hook", vendor, "PermissionRequest"]);
        let hook = started(hook, asks(vendor, "touch x").to_string().as_bytes());
        let pending = || {
            let list = world.json(["approvals", "list"]);
            let first = list.as_array()?.first()?;
            Some((first["id"].as_i64()?.to_string(), first["session_id"].as_str()?.to_owned()))
        };
        let (id, session) =
            poll_until::poll_until(Duration::from_secs(10), Duration::from_millis(20), pending).unwrap();
        assert_eq!(world.json(["session", "show", &session])["activity"], "requires_action");
        world.run(["approvals", "answer", &id, word, "--reason", "because"]).exits(0);
        let run: CommandOutput = hook.wait_with_output().unwrap().into();
        let decision = run.exits(0).json()["hookSpecificOutput"]["decision"].clone();
        let expected = match word {
            "allow" => json!({ "behavior": "allow" }),
            _ => json!({ "behavior": "deny", "message": "because" }),
        };
        assert_eq!(decision, expected);
    }
}

/// Without an answer the vendor asks as if nobody were here; that it went on ends the question.
#[test]
fn unanswered_permission_request_returns_to_the_provider() {
    let world = TestProject::new();
    world.real_time();
    fs::write(world.root().join(".fairway/local.toml"), "[hooks]\napproval_wait = \"50ms\"\n").unwrap();
    silent(&world.hook("claude", &asks("claude", "touch x")));
    assert_eq!(world.session()["activity"], "requires_action");
    let used = json!({ "tool_name": "Bash", "tool_input": {}, "tool_response": {}, "tool_use_id": "t-1" });
    silent(&world.hook("claude", &event("PostToolUse", "a", used)));
    assert_eq!(world.json(["approvals", "list"]), json!([]));
}

/// Some vendors only tell that they ask: the question stands in the list, and is answered there.
#[test]
fn notification_only_provider_is_listed() {
    let world = TestProject::new();
    let details = json!({ "type": "exec", "title": "Confirm", "command": "touch x" });
    let notice =
        json!({ "notification_type": "ToolPermission", "message": "Tool requires editing", "details": details });
    silent(&world.hook("gemini", &event("Notification", "a", notice)));
    assert_eq!(world.session()["activity"], "requires_action");
    let list = world.json(["approvals", "list"]);
    assert_eq!(list.as_array().unwrap().len(), 1, "{list:#}");
    let used = json!({ "tool_name": "run_shell_command", "tool_input": {}, "tool_response": { "llmContent": "" } });
    silent(&world.hook("gemini", &event("AfterTool", "a", used)));
    silent(&world.hook("gemini", &event("AfterAgent", "a", json!({}))));
    assert_eq!(world.json(["approvals", "list"]), json!([]));
}
