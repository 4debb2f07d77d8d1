//! A turn that a person interrupts, where the provider tells of it.

use serde_json::{Value, json};

use super::{command, event};
use crate::common::TestProject;

#[test]
fn interrupted_turn_is_idle_and_its_approval_is_over() {
    let world = TestProject::new();
    world.hook("codex", &event("SessionStart", "a", json!({ "source": "startup" }))).exits(0);
    world.hook("codex", &event("UserPromptSubmit", "a", json!({ "turn_id": "t", "prompt": "x" }))).exits(0);
    world.hook("codex", &command("codex", "a", "sleep 9")).exits(0);
    assert_eq!(world.session()["activity"], "busy");
    let interrupted = world.hook("codex", &event("Interrupt", "a", json!({ "turn_id": "t" }))).exits(0);
    assert_eq!(interrupted.stdout, "", "codex takes no answer");
    let session = world.session();
    assert_eq!((&session["activity"], &session["activity_source"]), (&"idle".into(), &"hook".into()));
    assert_eq!(world.json(["approvals", "list"]), json!([]));
}

#[test]
fn codex_hook_for_interruptions_is_installed_within_its_limit() {
    let world = TestProject::new();
    world.run(["hook", "install", "codex"]).exits(0);
    let text = std::fs::read_to_string(world.root().join(".codex/hooks.json")).unwrap();
    let settings: Value = serde_json::from_str(&text).unwrap();
    let hook = &settings["hooks"]["Interrupt"][0]["hooks"][0];
    assert_eq!(hook["timeout"], 3, "codex allows no more");
    assert!(hook["command"].as_str().unwrap().ends_with(" hook codex Interrupt"), "{hook}");
}
