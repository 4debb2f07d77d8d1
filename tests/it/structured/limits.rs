//! Usage limits over the protocol: which errors park a session, until when, and how it goes on.

use std::fs;

use serde_json::{Value, json};

use super::{Scene, agent};
use crate::sessions::{Sessions, eventually};

/// Agents whose errors have the shapes that were seen at a limit, played by the agent of the tests.
fn scene() -> Scene {
    let world = Sessions::new();
    let log = world.dir().join("prompts").display().to_string();
    let program = agent().display().to_string();
    let provider = |name: &str| {
        format!(
            "[providers.{name}.acp]\ncommand = [{program:?}]\nmode = \"ask\"\n[providers.{name}.env]\nFAKE_ACP_LOG = {log:?}\n"
        )
    };
    world.configure(&["claude", "codex", "gemini", "vibe"].map(provider).concat());
    world.run(["trust"]).exits(0);
    for name in ["claude", "codex", "gemini", "vibe"] {
        world.launch(&["--role", "dev", "--structured", "--provider", name, "--id", name]);
    }
    Scene(world)
}

#[test]
fn usage_limit_parks_until_its_time_and_no_other_error_does() {
    let scene = scene();
    let parked = |id: &str| scene.json(["session", "show", id])["parked"].clone();
    let fails = |id: &str, code: i64, message: &str, data: Value| {
        let error = json!({ "code": code, "message": message, "data": data });
        fs::write(scene.dir().join("error.json"), error.to_string()).unwrap();
        let sent = scene.json(["prompt", id, "FAIL"])["message_id"].clone();
        let stopped = format!("SELECT id FROM messages WHERE id = {sent} AND stop_reason = 'failed'");
        eventually("the failure", || (scene.rows(&stopped).len() == 1).then_some(()));
        eventually("it is idle", || (scene.session(id)["activity"] == "idle").then_some(()));
        let parked = parked(id);
        scene.run(["unpark", id, "--stay"]).exits(0);
        parked["why"].is_string().then(|| parked["until"].as_str().unwrap_or("a person").to_owned())
    };
    let rate = || json!({ "errorKind": "rate_limit" });
    let until = |text: Option<String>, minute: &str| text.is_some_and(|text| text.contains(minute));
    assert!(until(fails("claude", -32603, "You've hit your limit · resets 1:14am (UTC)", rate()), "T01:14:00"));
    // A zone that cannot be read is no guess.
    let far = fails("claude", -32603, "You've hit your limit · resets Apr 1 at 9am (Mars/Base)", rate());
    assert_eq!(far.as_deref(), Some("a person"));
    assert_eq!(fails("claude", -32603, "Request rejected (429), not your usage limit", rate()), None);
    assert_eq!(fails("claude", -32603, "Overloaded", json!({ "errorKind": "server_error" })), None);
    let full = || json!({ "codexErrorInfo": "usageLimitExceeded" });
    let dated = fails("codex", -32603, "Or try again at Nov 28th, 2099 1:10 AM.", full());
    let until_local = "2099-11-2";
    assert!(until(dated, until_local));
    assert_eq!(fails("codex", -32603, "Quota exceeded. Check your plan and billing details.", full()), None);
    let daily = "You have exhausted your daily quota on this model.";
    assert_eq!(fails("gemini", 429, daily, Value::Null).as_deref(), Some("a person"));
    assert_eq!(fails("gemini", 429, "Resource exhausted, per minute", Value::Null), None);
    assert_eq!(fails("vibe", -31001, "Rate limit exceeded for mock", Value::Null), None);
    // It goes on once, by a prompt.
    fs::remove_file(scene.dir().join("error.json")).unwrap();
    scene.run(["park", "codex", "--for", "1h", "--limit"]).exits(0);
    scene.write_rows("UPDATE agent_sessions SET parked_until = 1 WHERE id = 'codex'");
    scene.run(["session", "reconcile"]).exits(0);
    let shown = || scene.run(["session", "peek", "codex"]).exits(0).stdout;
    eventually("it goes on", || shown().contains("did: ").then_some(()));
    scene.run(["session", "reconcile"]).exits(0);
    assert_eq!(shown().matches("go on where you stopped").count(), 1);
}
