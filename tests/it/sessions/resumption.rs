//! The end of a usage limit: the session goes on, once, by whatever runs next.

use std::fs;

use serde_json::{Value, json};

use super::relaunch::{told, working};
use super::{Sessions, eventually};

/// T-1-claude is at its usage limit, which has passed.
fn limit_passes(world: &Sessions, id: &str) {
    world.run(["park", id, "--for", "1h", "--limit"]).exits(0);
    world.write_rows(&format!("UPDATE agent_sessions SET parked_until = 1 WHERE id = '{id}'"));
}

/// How often the session was told to go on.
fn times_told(world: &Sessions) -> usize {
    world.rows("SELECT id FROM messages WHERE source = 'resumption'").len()
}

#[test]
fn session_goes_on_once_when_its_limit_has_passed() {
    let world = working();
    let reconcile = || world.run(["session", "reconcile"]).exits(0).stderr;
    let agents = |text: &str| {
        let path = world.root().join(".fairway/local.toml");
        fs::write(path, text).unwrap();
        world.run(["trust"]).exits(0);
    };
    // Before its time nothing happens, and never to one that is to stay or was parked for another reason.
    world.run(["park", "T-1-claude", "--for", "1h", "--limit"]).exits(0);
    reconcile();
    limit_passes(&world, "T-1-claude");
    world.run(["unpark", "T-1-claude", "--stay"]).exits(0);
    reconcile();
    assert_eq!(times_told(&world), 0, "it is to stay");
    world.run(["park", "T-1-claude", "--for", "1h", "--reason", "usage limit of claude"]).exits(0);
    world.write_rows("UPDATE agent_sessions SET parked_until = 1");
    reconcile();
    assert_eq!(times_told(&world), 0, "a person has parked it");
    agents("[agents]\nresume = false\n");
    limit_passes(&world, "T-1-claude");
    reconcile();
    assert_eq!(times_told(&world), 0);
    agents("");
    reconcile();
    assert_eq!(times_told(&world), 0, "its parking has ended");
    // Of several that see the end, one tells it.
    limit_passes(&world, "T-1-claude");
    let both = [(); 2].map(|()| world.fairway(["work", "--once", "--quiet"]).spawn().unwrap());
    for mut one in both {
        one.wait().unwrap();
    }
    reconcile();
    assert_eq!(times_told(&world), 1);
    let text = "the usage limit has passed: go on where you stopped";
    assert_eq!(world.rows("SELECT content FROM messages WHERE source = 'resumption'")[0]["content"], text);
    // A person's unpark tells it too.
    limit_passes(&world, "T-1-claude");
    world.run(["unpark", "T-1-claude"]).exits(0);
    assert_eq!(times_told(&world), 2);
    // One that has died is relaunched with its conversation and its claim.
    world.run(["session", "upsert", "--id", "T-1-claude", "--external-session-id", "c-1"]).exits(0);
    limit_passes(&world, "T-1-claude");
    world.kill("T-1-claude");
    fs::remove_file(world.dir().join("told")).unwrap();
    let said = reconcile();
    assert!(said.contains("T-1-claude goes on: the usage limit has passed"), "{said}");
    assert_eq!(world.json(["task", "show", "T-1"])["claim"]["session_id"], "T-1-claude-2");
    let called = eventually("the call", || told(&world).lines().next().map(str::to_owned));
    assert!(called.contains("--resume c-1"), "{called}");
    let first = "SELECT content FROM messages WHERE to_session = 'T-1-claude-2'";
    let prompts: String = world.rows(first).iter().map(|row| row["content"].clone()).collect();
    assert!(format!("{prompts}{called}").contains(text), "{prompts}{called}");
    reconcile();
    assert_eq!((times_told(&world), world.rows("SELECT id FROM agent_sessions").len()), (2, 2));
}

/// As Codex was seen to write it: the window that is used up, then the end of the turn. Without a window a person has to pay.
#[test]
fn limit_of_which_no_hook_tells_is_found_at_the_end_of_the_transcript() {
    let world = Sessions::new();
    world.launch(&["--role", "dev", "--id", "s", "--provider", "codex", "--no-profile", "--", "cat"]);
    let rollout = world.dir().join("rollout.jsonl");
    let begins = json!({ "session_id": "a", "cwd": "/nowhere", "hook_event_name": "UserPromptSubmit", "prompt": "go",
        "transcript_path": rollout.to_str().unwrap() });
    world.hook_inside("s", "codex", &begins).exits(0);
    let until = world.session("s")["started_at"].parse::<i64>().unwrap() / 1_000 + 600;
    let window = |used: f64, at: i64| json!({ "used_percent": used, "window_minutes": 300, "resets_at": at });
    let after = |limits: Value, info: &str, cut: usize| {
        let limits =
            json!({ "type": "event_msg", "payload": { "type": "token_count", "info": null, "rate_limits": limits } });
        let error = json!({ "message": "You've hit your usage limit.", "codex_error_info": info });
        let end = json!({ "type": "event_msg", "payload": { "type": "task_complete", "error": error } });
        let text = format!("{limits}\n{end}");
        fs::write(&rollout, &text[..text.len() - cut]).unwrap();
        world.run(["session", "reconcile"]).exits(0);
        world.json(["session", "show", "s"])["parked"].clone()
    };
    let ends = |limits: Value| after(limits, "usage_limit_exceeded", 0);
    assert_eq!(ends(Value::Null), Value::Null);
    // A limit that has passed, an overload, and half a line.
    assert_eq!(ends(json!({ "primary": window(100.0, until - 9_000) })), Value::Null);
    assert_eq!(after(json!({ "primary": window(100.0, until) }), "server_overloaded", 0), Value::Null);
    assert_eq!(after(json!({ "primary": window(100.0, until) }), "usage_limit_exceeded", 2), Value::Null);
    assert_eq!(ends(json!({ "primary": window(82.5, until), "secondary": window(12.0, until + 1) })), Value::Null);
    let parked = ends(json!({ "primary": window(100.0, until), "secondary": window(12.0, until + 9_000) }));
    assert_eq!(
        (&parked["kind"], world.session("s")["parked_until"].as_str()),
        (&json!("usage_limit"), &*(until * 1_000).to_string())
    );
    assert_eq!(world.session("s")["activity"], "idle");
}

#[test]
fn program_in_a_terminal_starts_again_with_its_conversation() {
    let mut world = working();
    world.set("FAIRWAY_SESSIONS_DEFAULT_BACKEND", "tmux");
    world.run(["start", "Fix the toll", "--provider", "claude"]).exits(0);
    world.run(["session", "upsert", "--id", "T-2-claude", "--external-session-id", "c-2"]).exits(0);
    let before = world.session("T-2-claude");
    limit_passes(&world, "T-2-claude");
    world.run(["session", "reconcile"]).exits(0);
    let after = world.session("T-2-claude");
    assert_ne!(before["run_id"], after["run_id"]);
    assert_eq!((&*after["external_session_id"], &*after["parked_until"]), ("c-2", ""));
    eventually("the call", || told(&world).contains("--resume c-2").then_some(()));
    assert_eq!(world.rows("SELECT id FROM agent_sessions").len(), 2);
    assert_eq!(times_told(&world), 1);
}
