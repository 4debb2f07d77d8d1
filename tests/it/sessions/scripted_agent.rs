//! An agent of a script, in tmux: it calls hooks as Claude Code does, and its screen shows what the test wants.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::{Sessions, eventually, text};
use crate::common::require;
use crate::common::test_project::FAIRWAY;

/// The agent's own words: `hook EVENT [FIELDS]` calls a hook, and `lines` answers each typed line with a turn's hooks.
const AGENT: &str = r#"#!/bin/sh
hook() {
  printf '{"session_id":"conversation-1","cwd":"/","hook_event_name":"%s"%s}' "$1" "${2:-}" |
    "${FAIRWAY_BIN}" hook claude "$1" >/dev/null
}
lines() {
  while read -r line; do
    printf '%s\n' "${line}" >>"${0%/*}/typed"
    hook UserPromptSubmit
    hook Stop
  done
}
"#;

/// A project with a scripted agent; `None` without tmux.
fn scene(body: &str) -> Option<Sessions> {
    if !require::program("tmux") {
        return None;
    }
    let world = Sessions::new();
    world.run(["hook", "install", "claude"]).exits(0);
    world.script("agent", &format!("{AGENT}{body}\n"));
    Some(world)
}

fn launch_words(world: &Sessions, more: &[&str]) -> Vec<String> {
    let program = world.dir().join("agent").display().to_string();
    let words =
        ["session", "launch", "--json", "--role", "dev", "--id", "s", "--backend", "tmux", "--provider", "claude"];
    let words = words.iter().chain(more).map(|word| (*word).to_owned());
    words.chain(["--".to_owned(), program]).collect()
}

fn end(world: &Sessions) {
    world.run(["session", "stop", "s"]).exits(0);
    let socket = world.session("s")["socket"].clone();
    let _ = Command::new("tmux").args(["-S", &socket, "kill-server"]).output();
}

#[test]
fn first_prompt_that_a_hook_confirms_has_arrived() {
    let Some(world) = scene("hook SessionStart\nlines") else { return };
    let launched = world.run(launch_words(&world, &["--prompt", "begin", "--request-id", "r-1"])).exits(0);
    assert_eq!(
        launched.json()["first_prompt"],
        serde_json::json!({ "state": "arrived", "question": null, "message_id": null })
    );
    // The answer of a repeat says the same.
    let again = world.run(launch_words(&world, &["--prompt", "begin", "--request-id", "r-1"])).exits(0);
    assert_eq!(again.json()["first_prompt"], launched.json()["first_prompt"]);
    end(&world);
}

#[test]
fn first_prompt_behind_a_trust_question_waits_for_a_person() {
    let Some(world) = scene("printf '\\n ❯ No, exit\\n   Yes, I trust this folder\\n'; sleep 300") else { return };
    let prompt = &["--prompt", "begin"][..];
    let launched = world.run(launch_words(&world, prompt)).exits(0);
    let first = &launched.json()["first_prompt"];
    assert_eq!(
        (&first["state"], &first["question"]),
        (&"waiting_for_person".into(), &"Yes, I trust this folder".into())
    );
    end(&world);
    let waited = [prompt, &["--wait", "1s"]].concat();
    let refused = world.run(launch_words(&world, &waited)).refuses(6, "first_prompt_pending");
    assert_eq!(refused.error()["details"]["question"], "Yes, I trust this folder");
    // The session runs: its document is on stdout.
    let id = text(&refused.json()["id"]);
    assert_eq!(refused.json()["status"], "running");
    assert!(refused.error()["hint"].as_str().unwrap().contains(&format!("fairway session attach {id}")), "{refused:?}");
    world.run(["session", "stop", &id]).exits(0);
}

#[test]
fn first_prompt_without_any_report_is_not_seen() {
    let Some(world) = scene("hook SessionStart\nsleep 300") else { return };
    let refused =
        world.run(launch_words(&world, &["--prompt", "begin", "--wait", "1s"])).refuses(6, "first_prompt_pending");
    assert_eq!(refused.json()["first_prompt"]["state"], "not_seen");
    assert!(refused.error()["hint"].as_str().unwrap().contains("fairway session peek s"), "{refused:?}");
    end(&world);
}

#[test]
fn program_that_fails_before_it_reads_its_prompt_fails_the_launch() {
    let Some(world) = scene("sleep 2\necho 'no connection'\nexit 3") else { return };
    let refused = world.run(launch_words(&world, &["--prompt", "begin"])).refuses(7, "program_failed");
    let error = refused.error();
    assert!(text(&error["message"]).contains("exit code 3"), "{error}");
    assert!(text(&error["details"]["screen"]).contains("no connection"), "{error}");
    assert_eq!(world.session("s")["status"], "failed");
}

#[test]
fn launch_does_not_wait_for_a_program_that_reports_nothing() {
    let world = Sessions::new();
    let begun = std::time::Instant::now();
    let words = ["--role", "dev", "--id", "s", "--prompt", "begin", "--", "cat"];
    assert_eq!(world.launch(&words)["first_prompt"]["state"], "unconfirmed");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let without = ["--role", "dev", "--id", "t", "--", "cat"];
    assert_eq!(world.launch(&without)["first_prompt"], Value::Null);
    world.run(["session", "stop", "s", "t"]).exits(0);
}

/// A trust question is on every board from the first second, with the way to its answer, and no other cause is named.
#[test]
fn trust_question_that_a_launch_saw_needs_a_person_until_a_hook_calls() {
    let body = "printf '\\n ❯ No, exit\\n   Yes, I trust this folder\\n'\nread -r line\nprintf '\\033[2J\\033[H> '\nread -r line\nhook SessionStart\nsleep 300";
    let Some(world) = scene(body) else { return };
    world.configure(
        "[[guard.rules]]\nname = \"no-push\"\ncommand = [\"git\", \"push\"]\naction = \"deny\"\nreason = \"not from here\"\n",
    );
    world.run(["trust"]).exits(0);
    world.run(launch_words(&world, &["--prompt", "begin"])).exits(0);
    let board = world.json(["status"]);
    let need = &board["needs_you"][0];
    assert_eq!((&need["id"], &need["line"]), (&"question:s:1".into(), &"Yes, I trust this folder".into()), "{board}");
    assert_eq!(need["commands"].as_array().unwrap().len(), 1, "{need}");
    assert_eq!(need["commands"][0]["command"], "fairway session attach s");
    assert_eq!(world.json(["session", "show", "s"])["activity"], "requires_action");
    let explained = world.run(["explain", "session", "s"]).exits(0);
    assert!(explained.stdout.contains("waiting for: Yes, I trust this folder"), "{explained:?}");
    world.run(["answer", "question:s:1", "yes", "--json"]).refuses(4, "session_asks");
    // After the time in which an agent's first hook should have called, the cause is still this one.
    world.write_rows("UPDATE agent_sessions SET started_at = started_at - 120000");
    let kinds = |world: &Sessions| -> Vec<String> {
        world.json(["status"])["needs_you"].as_array().unwrap().iter().map(|need| text(&need["kind"])).collect()
    };
    assert_eq!(kinds(&world), ["question"]);
    // A person answers in the window, and leaves it: that tells it, before a hook does.
    let screen = world.dir().join("attached");
    let mut attached = world.command("script");
    attached.args(["-qec", &format!("'{FAIRWAY}' session attach s"), "/dev/null"]).env("TERM", "xterm");
    attached.stdin(Stdio::piped()).stdout(File::create(&screen).unwrap());
    let mut attached = attached.spawn().unwrap();
    let mut keys = attached.stdin.take().unwrap();
    eventually("the window", || fs::read_to_string(&screen).unwrap().contains("Yes, I trust").then_some(()));
    keys.write_all(b"yes\r").unwrap();
    let shown = || world.run(["session", "peek", "s", "--screen"]).exits(0).stdout;
    eventually("the dialog is gone", || (!shown().contains("Yes, I trust")).then_some(()));
    assert_eq!(world.session("s")["activity"], "requires_action");
    keys.write_all(b"\x02d").unwrap();
    attached.wait().unwrap();
    assert_eq!(world.session("s")["activity"], "unknown");
    world.run(["session", "nudge", "s", "go"]).exits(0);
    eventually("it begins", || (world.session("s")["activity"] == "idle").then_some(()));
    assert!(!kinds(&world).contains(&"question".to_owned()));
    end(&world);
}

/// Every reader sees that a person has interrupted a turn, though no hook says so and no command that writes has looked.
#[test]
fn interrupted_session_is_idle_for_readers_who_write_nothing() {
    let body = "hook SessionStart\nhook UserPromptSubmit\nhook PreToolUse ',\"tool_name\":\"Bash\"'\n\
                echo '  Interrupted · What should Claude do instead?'\necho '> '\nsleep 300";
    let Some(world) = scene(body) else { return };
    until_busy(&world);
    let shown = |world: &Sessions| {
        let listed = world.json(["session", "list"])[0]["activity"].clone();
        let board = world.json(["status"])["sessions"][0]["activity"].clone();
        let one = world.json(["session", "show", "s"])["activity"].clone();
        assert!(listed == board && board == one || listed == "busy", "{listed} {board} {one}");
        listed
    };
    assert_eq!(shown(&world), "busy");
    eventually("it is idle", || (shown(&world) == "idle").then_some(()));
    assert_eq!(world.session("s")["activity"], "busy");
    assert!(world.run(["status"]).exits(0).stdout.contains("(screen)"));
    end(&world);
}

/// A turn has begun, and a person has ended it: no hook says so, and the screen shows no work.
const INTERRUPTED: &str = "hook SessionStart\nhook UserPromptSubmit\necho '> '\nlines";

fn until_busy(world: &Sessions) {
    world.run(launch_words(world, &[])).exits(0);
    eventually("it is busy", || (world.session("s")["activity"] == "busy").then_some(()));
}

#[test]
fn prompt_to_a_turn_that_a_person_ended_is_typed_once_the_screen_stands_still() {
    let Some(world) = scene(INTERRUPTED) else { return };
    until_busy(&world);
    let sent = world.run(["prompt", "s", "go on", "--json"]).exits(0);
    assert_eq!(sent.json()["reason"], "session_busy");
    assert!(sent.stderr.contains("s has been busy for "), "{sent:?}");
    assert!(sent.stderr.contains("interrupt the turn: fairway send s TEXT --priority urgent"), "{sent:?}");
    let listed = world.json(["outbox"]);
    assert_eq!(listed[0]["reason"], "session_busy");
    assert!(
        world.run(["outbox"]).exits(0).stdout.contains("interrupt the turn: fairway send s TEXT --priority urgent")
    );
    // Too early: the screen has not stood still for ten seconds.
    let refused = world.run(["prompt", "s", "and this", "--wait-ack", "1s", "--json"]).refuses(6, "not_acknowledged");
    assert_eq!(refused.error()["details"]["reason"], "session_busy");
    assert!(refused.error()["message"].as_str().unwrap().contains("s has been busy for "), "{refused:?}");
    world.run(["prompt", "s", "at last", "--wait-ack", "40s"]).exits(0);
    // The first is typed; the turn's hook may bring the others with it.
    let typed = fs::read_to_string(world.dir().join("typed")).unwrap();
    assert!(typed.starts_with("go on\n"), "{typed}");
    let left = world.rows("SELECT id FROM messages WHERE status <> 'acknowledged'");
    assert!(left.is_empty(), "{left:?}");
    let idle = "SELECT seq FROM events WHERE session_id = 's' AND json_extract(data, '$.to') = 'idle'";
    assert!(!world.rows(idle).is_empty());
    end(&world);
}

#[test]
fn screen_makes_a_session_idle_at_reconcile_and_a_hook_overrules_it() {
    let Some(world) = scene(
        "hook SessionStart\nhook UserPromptSubmit\necho '> '\nread -r line\n\
        hook PostToolUse ',\"tool_name\":\"Bash\"'\nsleep 300",
    ) else {
        return;
    };
    until_busy(&world);
    let reconciled = eventually("it is idle", || {
        let report = world.json(["session", "reconcile"]);
        (report["idle"].as_array().unwrap().len() == 1).then_some(report)
    });
    assert_eq!(reconciled["idle"][0]["session_id"], "s");
    let session = world.session("s");
    assert_eq!((&*session["activity"], &*session["activity_source"]), ("idle", "screen"));
    // A read writes nothing, and a second reconcile has nothing to say.
    assert_eq!(world.json(["session", "reconcile"])["idle"], serde_json::json!([]));
    world.run(["session", "nudge", "s", "a line"]).exits(0);
    eventually("the hook has the last word", || (world.session("s")["activity"] == "busy").then_some(()));
    end(&world);
}

/// A busy session with this on its screen stays busy, and its prompt waits.
fn it_stays_busy(body: &str) {
    let Some(world) = scene(&format!("hook SessionStart\nhook UserPromptSubmit\n{body}")) else { return };
    until_busy(&world);
    world.run(["prompt", "s", "go on", "--wait-ack", "13s", "--json"]).refuses(6, "not_acknowledged");
    assert_eq!(world.json(["session", "reconcile"])["idle"], serde_json::json!([]));
    assert_eq!(world.session("s")["activity"], "busy");
    let stopped = world.run(["session", "stop", "s"]).exits(0);
    assert!(stopped.stderr.contains("prompt 1 was not delivered and has expired"), "{stopped:?}");
}

#[test]
fn screen_with_a_working_sign_leaves_a_session_busy() {
    it_stays_busy("echo '✻ Thinking'; echo '  esc to interrupt'\nsleep 300");
}

#[test]
fn screen_says_nothing_while_a_tool_call_is_open() {
    it_stays_busy(
        "hook PreToolUse ',\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"true\"}'\necho '> '; sleep 300",
    );
}

#[test]
fn screen_that_shows_an_interruption_frees_a_session_with_an_open_tool_call() {
    let call = "hook PreToolUse ',\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"true\"}'";
    let interrupted = "echo '  ⎿  Interrupted · What should Claude do instead?'; echo '> '";
    let body = format!("hook SessionStart\nhook UserPromptSubmit\n{call}\n{interrupted}\nlines");
    let Some(world) = scene(&body) else { return };
    until_busy(&world);
    let sent = world.json(["prompt", "s", "go on", "--wait-ack", "40s"]);
    assert_eq!(sent["message"]["status"], "acknowledged", "{sent}");
    end(&world);
}

#[test]
fn screen_with_a_question_leaves_a_session_busy() {
    it_stays_busy("echo ' Do you want to proceed?'; echo ' ❯ 1. Yes'\nsleep 300");
}

/// As of a busy agent that takes the Enter behind a paste for a line break.
#[test]
fn text_that_no_hook_confirms_gets_another_enter_and_a_command_none() {
    let body = "hook SessionStart\nwhile read -r line; do\n  printf '%s\\n' \"${line}\" >>\"${0%/*}/typed\"\n  \
                case ${line} in '') hook UserPromptSubmit; hook Stop ;; *) ;; esac\ndone";
    let Some(world) = scene(body) else { return };
    world.run(launch_words(&world, &[])).exits(0);
    eventually("it is idle", || (world.session("s")["activity"] == "idle").then_some(()));
    let typed = || fs::read_to_string(world.dir().join("typed")).unwrap_or_default();
    world.run(["prompt", "s", "the first word"]).exits(0);
    let status =
        |id: u32| world.rows(&format!("SELECT status FROM messages WHERE id = {id}")).remove(0)["status"].clone();
    eventually("it is acknowledged", || (status(1) == "acknowledged").then_some(()));
    assert_eq!(typed(), "the first word\n\n");
    // The end of the turn would deliver what comes before it.
    eventually("its turn has ended", || (world.session("s")["activity"] == "idle").then_some(()));
    // Its dialog would take the Enter for an answer.
    world.run(["prompt", "s", "/model"]).exits(0);
    eventually("it is typed", || (typed() == "the first word\n\n/model\n").then_some(()));
    assert_eq!(status(2), "offered");
    end(&world);
}
