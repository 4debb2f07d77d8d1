//! Typed text and interrupts while a program asks: by its last report, and by what stands on its screen.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::{Sessions, eventually, text};
use crate::common::require;

/// An agent that asks whether a directory is trusted, then for a permission, then works. It keeps the keys that it gets, and
/// shows what it waits for.
const AGENT: &str = "stty -icanon -echo
printf 'Do you trust this\\r\\n directory? 1. Yes'
dd bs=1 count=4 2>/dev/null >../trust
printf '\\033[2J\\033[HAllow this command?\\r\\n > yes'
dd bs=1 count=1 2>/dev/null >../permission
printf '\\033[2J\\033[Hready'
exec cat >../got
";

/// A provider whose questions are known.
const PROFILE: &str = "[providers.agent]\ncommand = \"sh agent.sh\"\ntrust_question = [\"Do you trust this directory?\"]\n\
     permission_question = [\"Allow this command?\"]\ninterrupt_keys = [\"Escape\"]\n\
     [roles.dev]\nprovider = \"agent\"\n";

fn asked(backend: &str) -> Sessions {
    let world = Sessions::new();
    fs::write(world.root().join("agent.sh"), AGENT).unwrap();
    world.configure(PROFILE);
    world.run(["trust"]).exits(0);
    world.launch(&["--role", "dev", "--backend", backend, "--name", "s1"]);
    world
}

fn shows(world: &Sessions, what: &str) {
    eventually(what, || world.run(["session", "peek", "s1"]).exits(0).stdout.contains(what).then_some(()));
}

fn kept(world: &Sessions, name: &str) -> String {
    fs::read_to_string(world.dir().join(name)).unwrap_or_default()
}

fn end(world: &Sessions) {
    let socket = text(&world.json(["session", "show", "s1"])["socket"]);
    world.run(["session", "stop", "s1"]).exits(0);
    let _ = Command::new("tmux").args(["-S", &socket, "kill-server"]).output();
}

#[test]
fn prompt_is_not_typed_into_a_question_on_the_screen() {
    for backend in ["tmux", "screen"] {
        let world = asked(backend);
        shows(&world, "1. Yes");
        let refused = world.run(["session", "nudge", "s1", "hello", "--json"]).refuses(4, "session_asks").error();
        assert_eq!(refused["details"], json!({ "session_id": "s1", "question": "Do you trust this directory?" }));
        let hint = text(&refused["hint"]);
        assert!(hint.contains("fairway approvals list") && hint.contains("fairway session attach s1"), "{hint}");
        let typed = world.run(["send", "s1", "--type", "hello", "--json"]).json();
        assert_eq!(typed[0]["error"]["code"], "session_asks", "{typed}");
        // An interrupt would answer it too.
        world.run(["session", "interrupt", "s1", "--json"]).refuses(4, "session_asks");
        for flags in [&["--now"][..], &["--priority", "urgent"]] {
            let prompt = world.run([&["prompt", "s1", "work"], flags].concat()).exits(0);
            assert!(prompt.stdout.starts_with("queued prompt"), "{prompt:?}");
            assert!(prompt.stderr.contains("the session s1 asks: Do you trust this directory?"), "{prompt:?}");
        }
        world.run(["session", "nudge", "s1", "--queued", "--json"]).refuses(4, "session_asks");
        assert_eq!(world.rows("SELECT id FROM messages WHERE status = 'queued'").len(), 2);
        assert_eq!(kept(&world, "trust"), "");
        // A person answers; the next question stands.
        world.run(["session", "nudge", "s1", "yes", "--force"]).exits(0);
        shows(&world, "Allow this command?");
        assert_eq!(kept(&world, "trust").trim_end(), "yes");
        world.run(["session", "nudge", "s1", "hello", "--json"]).refuses(4, "session_asks");
        assert_eq!(kept(&world, "permission"), "");
        // A permission may be refused by an interrupt: it is the provider's key.
        world.run(["session", "interrupt", "s1"]).exits(0);
        shows(&world, "ready");
        assert_eq!(kept(&world, "permission"), "\u{1b}");
        world.run(["session", "nudge", "s1", "--queued"]).exits(0);
        eventually("both prompts", || kept(&world, "got").contains("work\nwork\n").then_some(()));
        // An idle one is not interrupted, unless that is meant.
        world.run(["session", "heartbeat", "s1", "--activity", "idle"]).exits(0);
        assert_eq!(world.run(["session", "interrupt", "s1"]).exits(0).stdout, "unchanged: s1 is idle\n");
        assert!(!kept(&world, "got").contains('\u{1b}'));
        world.run(["session", "interrupt", "s1", "--force"]).exits(0);
        eventually("the key", || kept(&world, "got").contains('\u{1b}').then_some(()));
        assert!(world.rows("SELECT id FROM messages WHERE status = 'queued'").is_empty());
        end(&world);
    }
}

/// The question comes up while the text is on its way: the Enter would answer it.
#[test]
fn question_that_comes_up_after_the_paste_gets_no_enter() {
    for backend in ["tmux", "screen"] {
        comes_up_after_the_paste(backend);
    }
}

fn comes_up_after_the_paste(backend: &str) {
    if !require::program(backend) {
        return;
    }
    let world = Sessions::new();
    let agent = "stty -icanon -echo -icrnl\nprintf ready\ndd bs=1 count=1 2>/dev/null >../first\n\
         printf '\\033[2J\\033[HAllow this command?'\nexec dd bs=1 of=../rest 2>/dev/null\n";
    fs::write(world.root().join("agent.sh"), agent).unwrap();
    world.configure(PROFILE);
    world.run(["trust"]).exits(0);
    world.launch(&["--role", "dev", "--backend", backend, "--name", "s1"]);
    shows(&world, "ready");
    world.run(["session", "nudge", "s1", "hello", "--json"]).refuses(4, "session_asks");
    shows(&world, "Allow this command?");
    eventually("the text", || (kept(&world, "first") + &kept(&world, "rest") == "hello").then_some(()));
    assert!(!kept(&world, "rest").contains('\r'));
    end(&world);
}

/// A backend without a screen: what the session has reported counts.
#[test]
fn session_that_reports_a_question_is_typed_to_only_by_force() {
    let world = Sessions::new();
    let script = "while IFS= read -r line; do printf '%s\\n' \"$line\" >>\"$0\"; done";
    world.launch(&["--role", "r", "--name", "s1", "--", "sh", "-c", script, "../got"]);
    let beat = ["session", "heartbeat", "s1", "--activity", "requires_action", "--waiting-for", "Bash: git push"];
    world.run(beat).exits(0);
    let refused = world.run(["session", "nudge", "s1", "yes"]);
    assert_eq!(
        refused.exits(4).stderr,
        "error: the session s1 asks: Bash: git push\nhint: list the questions: fairway approvals list\n\
         hint: answer in its terminal: fairway session attach s1\n\
         hint: type it all the same: fairway send s1 TEXT --type --force\n"
    );
    let sent = world.run(["prompt", "s1", "later", "--now", "--json"]).exits(0).json();
    assert_eq!((&sent["queued"], &sent["reason"]), (&json!(true), &json!("session_asks")), "{sent}");
    assert_eq!(world.json(["outbox"])[0]["reason"], "session_asks");
    assert_eq!(kept(&world, "got"), "");
    // An interrupt is no answer here.
    world.run(["session", "nudge", "s1", "yes", "--force"]).exits(0);
    eventually("the answer", || (kept(&world, "got") == "yes\n").then_some(()));
    world.run(["session", "heartbeat", "s1", "--activity", "idle"]).exits(0);
    eventually("the prompt", || (kept(&world, "got") == "yes\nlater\n").then_some(()));
    world.run(["session", "stop", "s1"]).exits(0);
}

/// A first prompt that is typed does not meet a question either, though the program looks ready.
#[test]
fn first_prompt_is_not_typed_into_a_question() {
    let world = Sessions::new();
    fs::write(world.root().join("agent.sh"), AGENT).unwrap();
    world.configure(&PROFILE.replace("[roles", "ready_prompt_prefix = \"Do you\"\nprompt = \"nudge\"\n[roles"));
    world.run(["trust"]).exits(0);
    let launch = ["session", "launch", "--role", "dev", "--backend", "tmux", "--name", "s1", "--prompt", "begin"];
    let launched = world.run(launch).exits(0);
    assert!(
        launched.stderr.contains("the prompt was not delivered: the session s1 asks: Do you trust"),
        "{launched:?}"
    );
    assert_eq!(kept(&world, "trust"), "");
    end(&world);
}

/// Where the provider's keys are known, Ctrl-C never takes their place: it ends the idle program of some.
#[test]
fn script_that_knows_only_interrupt_is_called_for_unknown_providers_alone() {
    let world = Sessions::new();
    let script = world.script(
        "plain",
        "#!/bin/sh\necho \"$*\" >>\"${0%/*}/calls\"\ncase $1 in is-running) echo true ;; start | stop | interrupt) ;; *) exit 2 ;; esac\n",
    );
    world.configure(PROFILE);
    world.run(["trust"]).exits(0);
    let backend = format!("exec:{}", script.display());
    let calls = || kept(&world, "calls").lines().filter(|call| call.starts_with("interrupt")).count();
    world.launch(&["--role", "r", "--backend", &backend, "--name", "s1", "--", "true"]);
    assert_eq!(world.run(["session", "interrupt", "s1"]).exits(0).stdout, "interrupted s1\n");
    assert_eq!(calls(), 1);
    world.launch(&["--role", "r", "--backend", &backend, "--provider", "agent", "--name", "s2", "--", "true"]);
    let nothing = world.run(["session", "interrupt", "s2"]).exits(0);
    assert_eq!(nothing.stdout, "unchanged: s2\n");
    assert!(nothing.stderr.contains("does not know send-keys; to press the key yourself"), "{nothing:?}");
    assert_eq!((calls(), world.rows("SELECT seq FROM events WHERE kind = 'session.interrupted'").len()), (1, 1));
    // Words that are no keys would be typed.
    world.configure(&PROFILE.replace("Escape", "yes"));
    world.run(["trust"]).exits(0);
    world.run(["session", "interrupt", "s2", "--json"]).refuses(2, "invalid_value");
}
