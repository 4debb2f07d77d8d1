//! Messages that come with a turn: each once, and noted when it was written out.

use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fairway_core::os::poll_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::{event, silent, started};
use crate::common::TestProject;
use crate::common::test_project::CommandOutput;

/// A session of this vendor that is known; its id.
fn begun(world: &TestProject, vendor: &str) -> String {
    world.hook(vendor, &event("SessionStart", "a", json!({ "source": "startup" }))).exits(0);
    world.session()["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn status(world: &TestProject, id: i64) -> (String, String) {
    let conn = rusqlite::Connection::open(world.store()).unwrap();
    let row = conn.query_row("SELECT status, channel FROM messages WHERE id = ?1", [id], |row| {
        Ok((row.get(0)?, row.get::<_, Option<String>>(1)?.unwrap_or_default()))
    });
    row.unwrap()
}

/// The names of a turn's moments in the vendor's words: begin, after a tool, end.
fn moments(vendor: &str) -> [&'static str; 3] {
    match vendor {
        "gemini" => ["BeforeAgent", "AfterTool", "AfterAgent"],
        _ => ["UserPromptSubmit", "PostToolUse", "Stop"],
    }
}

#[test]
fn pending_messages_go_with_the_next_suitable_event() {
    for vendor in ["claude", "codex", "gemini"] {
        let world = TestProject::new();
        let session = begun(&world, vendor);
        let [begin, tool, end] = moments(vendor);
        let tool = event(tool, "a", json!({ "tool_name": "Bash", "tool_input": {}, "tool_response": {} }));
        let send = |priority: &str, text: &str| {
            let to = ["message", "send", "--to-session", &session, "--priority", priority, text];
            world.json(to)["id"].as_i64().unwrap()
        };
        let context = |run: &CommandOutput| {
            let answer = run.json();
            assert_eq!(answer.as_object().unwrap().len(), 1, "{answer:#}");
            assert_eq!(answer["hookSpecificOutput"].as_object().unwrap().len(), 2, "{answer:#}");
            answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
        };
        // At the beginning of a turn.
        let first = send("normal", "first");
        let run = world.hook(vendor, &event(begin, "a", json!({ "prompt": "x" }))).exits(0);
        assert!(context(&run).contains("  | first\n"), "{run:#?}");
        assert_eq!(status(&world, first), ("acknowledged".into(), "turn_start".into()));
        // In its midst only what is urgent.
        let (second, third) = (send("normal", "second"), send("urgent", "third"));
        let run = world.hook(vendor, &tool).exits(0);
        assert!(context(&run).contains("third") && !context(&run).contains("second"), "{run:#?}");
        assert_eq!(status(&world, third), ("acknowledged".into(), "tool".into()));
        assert_eq!(status(&world, second).0, "queued");
        silent(&world.hook(vendor, &tool));
        // At its end it goes on with what came meanwhile.
        let run = world.hook(vendor, &event(end, "a", json!({ "stop_hook_active": false }))).exits(0);
        let answer = run.json();
        // Claude Code would tell the model the same words twice if they were the reason of a block.
        let text = match vendor {
            "claude" => context(&run),
            _ => answer["reason"].as_str().unwrap().to_owned(),
        };
        match vendor {
            "claude" => {}
            "codex" => assert_eq!(answer, json!({ "decision": "block", "reason": text })),
            _ => assert_eq!(answer, json!({ "decision": "deny", "reason": text })),
        }
        assert!(text.contains("  | second\n"), "{text}");
        assert_eq!(status(&world, second), ("acknowledged".into(), "turn_end".into()));
        assert_eq!(world.session()["activity"], "busy");
        // Each goes once, and then the turn ends.
        silent(&world.hook(vendor, &event(end, "a", json!({ "stop_hook_active": true }))));
        assert_eq!(world.session()["activity"], "idle");
    }
}

/// Hooks run side by side: none of them takes what another has.
#[test]
fn concurrent_hooks_deliver_each_message_once() {
    let world = TestProject::new();
    let session = begun(&world, "claude");
    silent(&world.hook("claude", &event("UserPromptSubmit", "a", json!({}))));
    let mut texts = Vec::new();
    for number in 0..20 {
        texts.push(format!("word-{number}-end"));
        world.run(["message", "send", "--to-session", &session, "--priority", "urgent", &texts[number]]).exits(0);
    }
    let hooks: Vec<Child> = (0..8)
        .map(|number| {
            let tool = json!({ "tool_name": "Bash", "tool_input": {}, "tool_response": {}, "tool_use_id": number.to_string() });
            let hook = world.fairway(["hook", "claude", "PostToolUse"]);
            started(hook, event("PostToolUse", "a", tool).to_string().as_bytes())
        })
        .collect();
    let mut told = String::new();
    for hook in hooks {
        let run: CommandOutput = hook.wait_with_output().unwrap().into();
        told.push_str(&run.exits(0).stdout);
    }
    for text in texts {
        assert_eq!(told.matches(&text).count(), 1, "{text}: {told}");
    }
}

/// A text that could not be written out is not acknowledged.
#[test]
fn unread_hook_output_acknowledges_nothing() {
    let world = TestProject::new();
    let session = begun(&world, "claude");
    let id = world.json(["message", "send", "--to-session", &session, "hello"])["id"].as_i64().unwrap();
    let mut hook = world.fairway(["hook", "claude", "Stop"]);
    hook.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let mut child = hook.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let payload = event("Stop", "a", json!({})).to_string();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.as_bytes()).unwrap();
    CommandOutput::from(child.wait_with_output().unwrap()).exits(1);
    assert_eq!(status(&world, id), ("offered".into(), "turn_end".into()));
}

/// A waiting hook beside an agent that is this process.
fn waiting(world: &TestProject, agent: u32) -> Child {
    let mut hook = world.fairway(["hook", "claude", "wait"]);
    hook.env("CLAUDE_PID", agent.to_string());
    let child = started(hook, event("Stop", "a", json!({})).to_string().as_bytes());
    let listen = world.root().join(".fairway/runtime/listen");
    let listens = || {
        let mut names = std::fs::read_dir(&listen).ok()?.flatten().map(|entry| entry.file_name());
        names.any(|name| name.to_string_lossy().starts_with("wait-")).then_some(())
    };
    poll_until::poll_until(Duration::from_secs(10), Duration::from_millis(10), listens).unwrap();
    child
}

#[test]
fn wake_hook_wakes_an_idle_agent() {
    let world = TestProject::new();
    world.real_time();
    let session = begun(&world, "claude");
    let hook = waiting(&world, std::process::id());
    let id = world.json(["message", "send", "--to-session", &session, "wake up"])["id"].as_i64().unwrap();
    let run: CommandOutput = hook.wait_with_output().unwrap().into();
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:#?}");
    assert!(run.stderr.contains("  | wake up\n"), "{run:#?}");
    assert_eq!(status(&world, id), ("acknowledged".into(), "wake".into()));
}

#[test]
fn wake_hook_ends_for_its_successor_or_session() {
    let world = TestProject::new();
    world.real_time();
    let session = begun(&world, "claude");
    let first = waiting(&world, std::process::id());
    let second = {
        let mut hook = world.fairway(["hook", "claude", "wait"]);
        hook.env("CLAUDE_PID", std::process::id().to_string());
        started(hook, event("Stop", "a", json!({})).to_string().as_bytes())
    };
    silent(&first.wait_with_output().unwrap().into());
    world.run(["session", "end", &session]).exits(0);
    silent(&second.wait_with_output().unwrap().into());
}

/// Without a terminal the agent would not go on before the hook is over.
#[test]
fn headless_agent_gets_no_wake_hook() {
    let world = TestProject::new();
    begun(&world, "claude");
    let mut hook = world.fairway(["hook", "claude", "wait"]);
    hook.env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
    let hook = started(hook, event("Stop", "a", json!({})).to_string().as_bytes());
    silent(&hook.wait_with_output().unwrap().into());
}

/// An agent that is killed is seen to be gone at once.
#[test]
fn wake_hook_ends_with_its_agent() {
    let world = TestProject::new();
    world.real_time();
    // A program that starts the hook and stays above it, as an agent does.
    let script = r#"printf '%s' "$PAYLOAD" | CLAUDE_PID=$$ "$FAIRWAY" hook claude wait & wait"#;
    let mut agent = Command::new("sh");
    agent.args(["-c", script]).current_dir(world.root()).env_clear();
    agent.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", world.dir().join("home"));
    agent.env("FAIRWAY", crate::common::test_project::FAIRWAY);
    let payload = event("SessionStart", "a", json!({ "source": "startup" })).to_string();
    let mut agent = agent.env("PAYLOAD", payload).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let listens = || {
        let found = std::fs::read_dir(world.root().join(".fairway/runtime/listen")).ok()?;
        found.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("wait-")).then_some(())
    };
    poll_until::poll_until(Duration::from_secs(10), Duration::from_millis(10), listens).unwrap();
    assert_eq!(world.session()["pid"], i64::from(agent.id()));
    kill(Pid::from_raw(i32::try_from(agent.id()).unwrap()), Signal::SIGKILL).unwrap();
    let stale = || (world.session()["status"] == "stale").then_some(());
    // A corpse that its parent has not looked at is dead all the same.
    poll_until::poll_until(Duration::from_secs(10), Duration::from_millis(20), stale).unwrap();
    agent.wait().unwrap();
    // And the hook has ended, since nobody holds its stderr any more.
    let mut rest = agent.stderr.take().unwrap();
    assert!(rest.as_raw_fd() >= 0);
    std::io::Read::read_to_string(&mut rest, &mut String::new()).unwrap();
}

#[test]
fn usage_is_read_from_the_transcript_once() {
    let world = TestProject::new();
    let record = world.dir().join("record.jsonl");
    let answer = |id: &str, output: i64| {
        json!({ "type": "assistant", "timestamp": "2026-01-01T00:00:00.000Z", "requestId": id, "message": {
            "id": id, "model": "m", "role": "assistant", "content": [],
            "usage": { "input_tokens": 3, "output_tokens": output, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0 },
        } })
    };
    let with = |name: &str, more: Value| {
        let mut payload = event(name, "a", more);
        payload["transcript_path"] = record.to_str().unwrap().into();
        world.hook("claude", &payload).exits(0);
    };
    let total = || {
        let conn = rusqlite::Connection::open(world.store()).unwrap();
        let sum = conn.query_row("SELECT count(*), coalesce(sum(output_tokens), 0) FROM usage_turns", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        });
        sum.unwrap()
    };
    // The usage of an earlier session in the same conversation is not this one's.
    std::fs::write(&record, format!("{}\n", answer("before", 1000))).unwrap();
    with("SessionStart", json!({ "source": "resume" }));
    with("Stop", json!({}));
    assert_eq!(total(), (0, 0));
    let mut text = std::fs::read_to_string(&record).unwrap();
    text.push_str(&format!("{}\n{}\n", answer("one", 5), answer("two", 7)));
    std::fs::write(&record, &text).unwrap();
    with("Stop", json!({}));
    with("Stop", json!({}));
    assert_eq!(total(), (2, 12));
    text.push_str(&format!("{}\n", answer("three", 11)));
    std::fs::write(&record, &text).unwrap();
    with("SessionEnd", json!({ "reason": "other" }));
    assert_eq!(total(), (3, 23));
}

/// Every vendor's own record, as it is: also how full the context is, where it says so.
#[test]
fn transcripts_of_all_providers_are_read_at_turn_end() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/agents");
    for (vendor, record) in [
        ("claude", "claude-code-2.1.329-record.jsonl"),
        ("codex", "codex-0.169.0-record.jsonl"),
        ("gemini", "gemini-cli-0.61.0-record.jsonl"),
    ] {
        let world = TestProject::new();
        let [begin, _, end] = moments(vendor);
        for (name, path) in [(begin, "not-there-yet"), (end, record), ("SessionEnd", record)] {
            let mut payload = event(name, "a", json!({ "reason": "other" }));
            payload["transcript_path"] = data.join(path).to_str().unwrap().into();
            silent(&world.hook(vendor, &payload));
        }
        let conn = rusqlite::Connection::open(world.store()).unwrap();
        let turns: i64 = conn.query_row("SELECT count(*) FROM usage_turns", [], |row| row.get(0)).unwrap();
        assert!(turns > 0, "{vendor}");
        assert_eq!(world.session()["status"], "ended");
    }
}
