//! The hook bridge, called as the vendors call it: one process per event, their JSON on stdin.

mod budget;
mod faults;
mod hand_started;
mod interrupt;
mod nested_project;
mod own_program;
mod own_verbs;
mod parked;
mod permission;
mod prompt_delivery;
mod recorded_payloads;
mod sessions;
mod turn_end;
mod via_server;

use std::io::Write;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

/// The vendors, with what they call the moment before a tool.
pub const VENDORS: [(&str, &str); 3] = [("claude", "PreToolUse"), ("codex", "PreToolUse"), ("gemini", "BeforeTool")];

impl TestProject {
    /// Calls a hook with these bytes on its stdin.
    #[track_caller]
    pub fn hook_bytes(&self, vendor: &str, event: &str, stdin: &[u8]) -> CommandOutput {
        self.run_with_stdin(["hook", vendor, event], stdin)
    }

    /// Calls the hook that a payload names.
    #[track_caller]
    pub fn hook(&self, vendor: &str, payload: &Value) -> CommandOutput {
        self.hook_bytes(vendor, payload["hook_event_name"].as_str().unwrap(), payload.to_string().as_bytes())
    }

    /// Calls the hook that a payload names, inside the session of this id.
    #[track_caller]
    pub fn hook_inside(&self, session: &str, vendor: &str, payload: &Value) -> CommandOutput {
        let mut hook = self.fairway(["hook", vendor, payload["hook_event_name"].as_str().unwrap()]);
        hook.env("FAIRWAY_SESSION_ID", session);
        started(hook, payload.to_string().as_bytes()).wait_with_output().unwrap().into()
    }

    /// Every session, as documents.
    #[track_caller]
    pub fn sessions(&self) -> Vec<Value> {
        self.json(["session", "list", "--all"]).as_array().unwrap().clone()
    }

    /// The only session there is.
    #[track_caller]
    pub fn session(&self) -> Value {
        let mut sessions = self.sessions();
        assert_eq!(sessions.len(), 1, "{sessions:#?}");
        sessions.remove(0)
    }
}

/// An event of a conversation, with what more it has.
pub fn event(name: &str, external: &str, more: Value) -> Value {
    let mut payload = json!({ "session_id": external, "cwd": "/nowhere", "hook_event_name": name });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    payload
}

/// A shell command that is about to run, in the vendor's form.
pub fn command(vendor: &str, external: &str, text: &str) -> Value {
    let (name, tool) = match vendor {
        "gemini" => ("BeforeTool", "run_shell_command"),
        _ => ("PreToolUse", "Bash"),
    };
    event(name, external, json!({ "tool_name": tool, "tool_input": { "command": text }, "tool_use_id": "t-1" }))
}

/// Why a tool call was denied, in a form that the vendor blocks by; fails unless it was.
#[track_caller]
pub fn denied(vendor: &str, run: &CommandOutput) -> String {
    match run.code {
        Some(2) => {
            assert!(!run.stderr.trim().is_empty(), "silence blocks nothing: {run:#?}");
            assert!(!run.stderr.contains("panicked"), "{run:#?}");
            assert_eq!(run.stdout, "", "{run:#?}");
            run.stderr.clone()
        }
        Some(0) => {
            let answer = run.json();
            let (reason, fields) = if vendor == "gemini" {
                assert_eq!(answer["decision"], "deny", "{run:#?}");
                (&answer["reason"], 2)
            } else {
                let inner = &answer["hookSpecificOutput"];
                assert_eq!(inner["permissionDecision"], "deny", "{run:#?}");
                assert_eq!(inner.as_object().unwrap().len(), 3, "a field more voids it: {run:#?}");
                (&inner["permissionDecisionReason"], 1)
            };
            assert_eq!(answer.as_object().unwrap().len(), fields, "{run:#?}");
            let reason = reason.as_str().unwrap().to_owned();
            assert!(!reason.trim().is_empty(), "{run:#?}");
            reason
        }
        _ => panic!("not denied: {run:#?}"),
    }
}

/// Fails unless nothing was said and nobody stopped.
#[track_caller]
pub fn silent(run: &CommandOutput) {
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""), "{run:#?}");
}

/// A started hook that was given this on its stdin.
pub fn started(mut command: Command, stdin: &[u8]) -> Child {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // One that refuses before it reads closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    child
}
