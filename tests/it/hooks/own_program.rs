//! An agent whose shell does not find `fairway`: the person and the agent are told within the turn.

use std::fs;

use serde_json::{Value, json};

use super::{event, silent};
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_fairway")
}

fn world(provider: &str) -> TestProject {
    let world = TestProject::new();
    world.run(["session", "upsert", "--id", "s-1", "--role", "backend", "--provider", provider]).exits(0);
    world.hook_inside("s-1", provider, &event("SessionStart", "a", json!({ "source": "startup" }))).exits(0);
    world
}

fn item(world: &TestProject) -> Option<Value> {
    let needs = world.run(["status", "--json"]).json()["needs_you"].clone();
    needs.as_array().unwrap().iter().find(|need| need["kind"] == "program").cloned()
}

fn ended(name: &str, tool: &str, command: &str, rest: &Value) -> Value {
    let mut fields = json!({ "tool_name": tool, "tool_input": { "command": command }, "tool_use_id": command });
    fields.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    event(name, "a", fields)
}

/// The program's own path is in the answer, which is for the agent.
#[track_caller]
fn tells_the_way_out(run: &CommandOutput, words: impl Fn(&Value) -> String) {
    let told = words(&run.json());
    assert!(told.contains("does not find `fairway`") && told.contains(program()), "{run:?}");
}

#[test]
fn failed_call_is_told_to_the_person_and_the_agent_within_the_turn() {
    let cases = [
        (
            "claude",
            "PostToolUseFailure",
            "Bash",
            json!({ "error": "Exit code 127\n(eval):1: command not found: fairway" }),
        ),
        (
            "gemini",
            "AfterTool",
            "run_shell_command",
            json!({ "tool_response": { "llmContent": "Output: /usr/bin/bash: line 4: fairway: command not found\nExit Code: 127" } }),
        ),
    ];
    for (provider, name, tool, answer) in cases {
        let world = world(provider);
        assert_eq!(item(&world), None);
        let run = world.hook_inside("s-1", provider, &ended(name, tool, "fairway prime", &answer));
        tells_the_way_out(&run, |reply| reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned());
        let need = item(&world).unwrap();
        assert_eq!((&need["id"], &need["session_id"]), (&json!("program:s-1"), &json!("s-1")));
        assert_eq!(need["commands"][0]["command"], "fairway doctor");
        let text = world.run(["status"]).exits(0).stdout;
        assert!(text.contains("! program") && text.contains("its shell does not find `fairway`"), "{text}");
        let found = world.run(["doctor", "--json"]).json();
        let finding =
            found["findings"].as_array().unwrap().iter().find(|one| one["code"] == "program_missing").unwrap();
        assert_eq!(finding["fix"], format!("sudo ln -s {} /usr/local/bin/fairway", program()));
        // By its path it works: the agent can go on, and nobody has to do anything.
        let name = if provider == "claude" { "PostToolUse" } else { name };
        let works = json!({ "tool_response": { "stdout": "## role\n", "llmContent": "## role" } });
        silent(&world.hook_inside("s-1", provider, &ended(name, tool, &format!("{} prime", program()), &works)));
        assert_eq!(item(&world), None);
        assert!(!world.run(["doctor"]).stdout.contains("program_missing"));
    }
}

/// It calls no hook for a failed command: its record tells, at the end of the turn, which goes on once.
#[test]
fn codex_is_told_at_the_end_of_the_turn_and_once() {
    let world = world("codex");
    let record = world.dir().join("rollout.jsonl");
    let end = || {
        let mut stop = event("Stop", "a", json!({}));
        stop["transcript_path"] = record.to_str().unwrap().into();
        world.hook_inside("s-1", "codex", &stop)
    };
    let failed = json!({ "timestamp": "2026-01-01T00:00:00Z", "type": "event_msg", "payload": { "type": "item_completed",
        "item": { "type": "CommandExecution", "command": ["/bin/bash", "-lc", "fairway prime"], "exit_code": 127,
            "aggregated_output": "/bin/bash: line 1: fairway: command not found\n" } } });
    fs::write(&record, format!("{failed}\n")).unwrap();
    let run = end();
    assert_eq!(run.json()["decision"], "block");
    tells_the_way_out(&run, |reply| reply["reason"].as_str().unwrap().to_owned());
    assert_eq!(world.session()["activity"], "busy");
    assert_eq!(item(&world).unwrap()["id"], "program:s-1");
    fs::write(&record, format!("{failed}\n{failed}\n")).unwrap();
    silent(&end());
    assert!(item(&world).is_some());
    world.run(["session", "end", "s-1"]).exits(0);
    assert_eq!(item(&world), None);
}

#[test]
fn what_says_nothing_about_the_shell_is_left_alone() {
    let world = world("claude");
    for (command, answer) in [
        ("cat build.log", json!({ "tool_response": { "stdout": "sh: 1: fairway: not found" } })),
        ("cargo test", json!({ "tool_response": { "stdout": "ok" } })),
        ("fairway prime", json!({ "tool_response": {} })),
    ] {
        silent(&world.hook_inside("s-1", "claude", &ended("PostToolUse", "Bash", command, &answer)));
    }
    let other = json!({ "error": "Exit code 127\nbash: line 1: cargo: command not found" });
    silent(&world.hook_inside("s-1", "claude", &ended("PostToolUseFailure", "Bash", "cargo test", &other)));
    assert_eq!(item(&world), None);
}
