//! Payloads of the vendors' own command lines, byte by byte, and their effects.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{VENDORS, command, denied, event, silent, started};
use crate::common::TestProject;

/// The payloads of a recording, as they were sent.
fn recorded(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/agents").join(name);
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// Plays a recording: each event with what was printed for it, and the sessions after it.
fn run_transcript(world: &TestProject, vendor: &str, name: &str) -> String {
    let mut told = String::new();
    for line in recorded(name) {
        let payload: Value = serde_json::from_str(&line).unwrap();
        let event = payload["hook_event_name"].as_str().unwrap();
        let run = world.hook_bytes(vendor, event, line.as_bytes());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{line}: {run:#?}");
        assert!(run.stdout.is_empty() || run.stdout.ends_with("}\n"), "{run:#?}");
        assert!(run.stdout.lines().count() < 2, "one object and nothing else: {run:#?}");
        // The text that a session gets at its start is another test's.
        let answer = match event {
            "SessionStart" => {
                let text = run.json()["hookSpecificOutput"]["additionalContext"].take();
                run.stdout.replace(&serde_json::to_string(text.as_str().unwrap()).unwrap(), "\"…\"")
            }
            _ if run.stdout.is_empty() => "-".into(),
            _ => run.stdout,
        };
        let stands = |session: &Value| {
            let word = |name: &str| session[name].as_str().unwrap_or("-").to_owned();
            let external: String = word("external_session_id").chars().take(4).collect();
            let waits = session["waiting_for"].as_str().map(|words| format!(" ({words})")).unwrap_or_default();
            format!("{external} {} {}{waits}", word("status"), word("activity"))
        };
        let sessions: Vec<String> = world.sessions().iter().map(stands).collect();
        told.push_str(&format!("{event}: {}\n  {}\n", answer.trim_end(), sessions.join(", ")));
    }
    told
}

#[test]
fn payloads_of_headless_claude_are_handled() {
    insta::assert_snapshot!(run_transcript(&TestProject::new(), "claude", "claude-code-2.1.329-headless-hooks.jsonl"), @r#"
    SessionStart: {"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"…"}}
      8b1c running idle
    UserPromptSubmit: -
      8b1c running busy
    PreToolUse: -
      8b1c running busy
    PostToolUse: -
      8b1c running busy
    PostToolBatch: -
      8b1c running busy
    Stop: -
      8b1c running idle
    SessionEnd: -
      8b1c ended unknown
    "#);
}

#[test]
fn payloads_of_claude_in_a_terminal_are_handled() {
    let world = TestProject::new();
    fs::write(world.root().join(".fairway/local.toml"), "[hooks]\napproval_wait = \"50ms\"\n").unwrap();
    insta::assert_snapshot!(run_transcript(&world, "claude", "claude-code-2.1.329-interactive-hooks.jsonl"), @r#"
    SessionStart: {"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"…"}}
      ac37 running idle
    UserPromptSubmit: -
      ac37 running busy
    PreToolUse: -
      ac37 running busy
    PermissionRequest: -
      ac37 running requires_action (permission: Bash: touch made-by-tool)
    Notification: -
      ac37 running requires_action (permission: Bash: touch made-by-tool)
    PostToolUse: -
      ac37 running busy
    PostToolBatch: -
      ac37 running busy
    Stop: -
      ac37 running idle
    Notification: -
      ac37 running idle
    SessionStart: {"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"…"}}
      ac37 running idle, cd72 running idle
    UserPromptSubmit: -
      ac37 running idle, cd72 running busy
    PreToolUse: -
      ac37 running idle, cd72 running busy
    PermissionRequest: -
      ac37 running idle, cd72 running requires_action (permission: Bash: touch made-by-tool)
    Notification: -
      ac37 running idle, cd72 running requires_action (permission: Bash: touch made-by-tool)
    SessionStart: {"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"…"}}
      ac37 running idle, cd72 running idle
    PreToolUse: -
      ac37 running idle, cd72 running busy
    PermissionRequest: -
      ac37 running idle, cd72 running requires_action (permission: Bash: touch made-by-tool)
    Notification: -
      ac37 running idle, cd72 running requires_action (permission: Bash: touch made-by-tool)
    SessionEnd: -
      ac37 running idle, cd72 ended unknown
    SessionEnd: -
      ac37 ended unknown, cd72 ended unknown
    "#);
}

#[test]
fn payloads_of_codex_are_handled() {
    insta::assert_snapshot!(run_transcript(&TestProject::new(), "codex", "codex-0.169.0-exec-hooks.jsonl"), @r#"
    SessionStart: {"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"…"}}
      01a1 running idle
    UserPromptSubmit: -
      01a1 running busy
    PreToolUse: -
      01a1 running busy
    PostToolUse: -
      01a1 running busy
    Stop: -
      01a1 running idle
    SessionEnd: -
      01a1 ended unknown
    "#);
}

#[test]
fn payloads_of_gemini_are_handled() {
    insta::assert_snapshot!(run_transcript(&TestProject::new(), "gemini", "gemini-cli-0.61.0-headless-hooks.jsonl"), @r#"
    SessionStart: {"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"…"}}
      1ccf running idle
    BeforeAgent: -
      1ccf running busy
    PreCompress: -
      1ccf running busy
    BeforeTool: -
      1ccf running busy
    AfterTool: -
      1ccf running busy
    PreCompress: -
      1ccf running busy
    AfterAgent: -
      1ccf running idle
    SessionEnd: -
      1ccf ended unknown
    "#);
}

/// Events of tomorrow, and fields of tomorrow in the events of today.
#[test]
fn unknown_events_and_fields_are_ignored() {
    let world = TestProject::new();
    for (vendor, _) in VENDORS {
        silent(&world.hook(vendor, &event("MoonPhaseChanged", "x", json!({ "phase": ["full", { "a": 1 }] }))));
        silent(&world.hook_bytes(vendor, "MoonPhaseChanged", b"not even JSON"));
        let mut call = command(vendor, "x", "true");
        call["tomorrow"] = json!({ "deep": [1, 2, { "er": null }] });
        call["tool_input"]["tomorrow"] = true.into();
        silent(&world.hook(vendor, &call));
    }
}

#[test]
fn hook_outside_a_project_abstains() {
    let world = TestProject::uninitialized();
    for (vendor, moment) in VENDORS {
        silent(&world.hook(vendor, &command(vendor, "x", "rm -rf /")));
        silent(&world.hook_bytes(vendor, moment, b"garbage"));
        // Somebody says that there is a session: then there must be a project.
        denied(vendor, &world.hook_inside("s-1", vendor, &command(vendor, "x", "true")));
    }
    assert!(fs::read_dir(world.root()).unwrap().next().is_none(), "nothing is written there");
}

/// An agent that has left its project's folder has not left the project.
#[test]
fn folder_of_the_vendor_leads_to_the_project() {
    let world = TestProject::new();
    let elsewhere = world.dir().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let path = world.root().join(".fairway.toml");
    let good = fs::read(&path).unwrap();
    fs::write(&path, "[broken").unwrap();
    let call = |vendor: &str, moment: &str, variable: &str, cwd: Option<&Path>| {
        let mut payload = command(vendor, "x", "true");
        if let Some(cwd) = cwd {
            payload["cwd"] = cwd.to_str().unwrap().into();
        }
        let mut hook = world.fairway(["hook", vendor, moment]);
        hook.current_dir(&elsewhere).env(variable, world.root());
        started(hook, payload.to_string().as_bytes()).wait_with_output().unwrap().into()
    };
    denied("claude", &call("claude", "PreToolUse", "CLAUDE_PROJECT_DIR", None));
    denied("gemini", &call("gemini", "BeforeTool", "GEMINI_PROJECT_DIR", None));
    denied("codex", &call("codex", "PreToolUse", "NONE", Some(&world.root())));
    silent(&call("codex", "PreToolUse", "NONE", None));
    fs::write(&path, good).unwrap();
}

#[test]
fn canary_is_always_denied_and_leaves_nothing() {
    let world = TestProject::uninitialized();
    for (vendor, moment) in VENDORS {
        let mut call = command(vendor, "fairway-canary", "true");
        call["tool_name"] = "fairway-canary".into();
        let run = world.hook(vendor, &call);
        assert_eq!((run.code, denied(vendor, &run).as_str()), (Some(0), "fairway-canary: this call is always denied"));
        // A denial that cannot be printed is one all the same.
        let mut hook = world.fairway(["hook", vendor, moment]);
        hook.stdin(Stdio::piped()).stderr(Stdio::piped());
        hook.stdout(OpenOptions::new().write(true).open("/dev/full").unwrap());
        let mut child = hook.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), call.to_string().as_bytes()).unwrap();
        assert!(denied(vendor, &child.wait_with_output().unwrap().into()).contains("fairway-canary"));
    }
    assert!(fs::read_dir(world.root()).unwrap().next().is_none(), "nothing is written there");
}
