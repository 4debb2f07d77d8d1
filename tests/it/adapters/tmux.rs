//! `tmux.sh`, operation by operation.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use fairway_core::os::process::ProcessKey;
use serde_json::{Value, json};

use super::shared_checks::{assert_missing_sessions_are_reported, reader};
use super::{Caller, eventually, holds};
use crate::common::concurrent_start::race;

/// tmux itself on a caller's private server.
#[track_caller]
pub(super) fn tmux(caller: &Caller, args: &[&str]) -> String {
    let socket = caller.state.join("tmux.sock");
    let output = Command::new("tmux").arg("-S").arg(socket).args(args).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// The process of a caller's private server.
pub(super) fn server(caller: &Caller) -> ProcessKey {
    ProcessKey::of(tmux(caller, &["display-message", "-p", "#{pid}"]).parse().unwrap()).unwrap()
}

fn pid(report: &Value) -> i32 {
    i32::try_from(report["pid"].as_i64().unwrap()).unwrap()
}

fn lines(said: &str) -> BTreeSet<&str> {
    said.lines().collect()
}

#[test]
fn session_is_started_queried_and_stopped() {
    let caller = Caller::of("tmux");
    let name = "city/agent; touch x #(touch y) ..;";
    assert_eq!(caller.said(&["is-running", name]), "false\n");
    let work = caller.folder("work");
    let start = json!({"work_dir": work, "env": {"GC_GREETING": "hi there", "TMPDIR": ""}, "terminal": {"rows": 33, "cols": 77}});
    let command = r#"echo "$GC_GREETING [${TMPDIR-unset}]"; pwd; stty size; printf 'no newline   '; exec cat"#;
    let report = caller.start(name, command, start);
    assert_eq!((&report["session_name"], &report["status"]), (&json!(name), &json!("running")));
    assert_eq!((&report["pane"], &report["socket"]), (&json!("%0"), &json!(caller.state.join("tmux.sock"))));
    let key = ProcessKey::of(pid(&report)).unwrap();
    let shown = format!("hi there [unset]\n{}\n33 77\nno newline\n", work.display());
    eventually("it prints", || (caller.said(&["peek", name, "0"]) == shown).then_some(()));
    assert_eq!(caller.said(&["peek", name, "2"]), "33 77\nno newline\n");
    assert_eq!(caller.said(&["peek", name, "-1"]), shown);
    // The transcript has every byte, from the first.
    let raw = format!("hi there [unset]\r\n{}\r\n33 77\r\nno newline   ", work.display());
    holds(Path::new(report["transcript"].as_str().unwrap()), raw.as_bytes());
    assert_eq!(fs::metadata(report["transcript"].as_str().unwrap()).unwrap().mode() & 0o777, 0o600);

    assert_eq!(caller.said(&["is-running", name]), "true\n");
    assert_eq!(caller.said(&["list-running", ""]), format!("{name}\n"));
    assert_eq!(caller.said(&["list-running", "city/"]), format!("{name}\n"));
    assert_eq!(caller.said(&["list-running", "city/*"]), "");
    assert_eq!(caller.call(&["process-alive", name], "nothing\ncat").exits(0).stdout, "true\n");
    assert_eq!(caller.call(&["process-alive", name], "ca\n").exits(0).stdout, "false\n");
    assert_eq!(caller.said(&["is-attached", name]), "false\n");
    assert!(caller.said(&["get-last-activity", name]).contains('T'));
    assert_eq!(caller.said(&["get-meta", name, "GC_GREETING"]), "hi there");
    caller.call(&["set-meta", name, "note"], "exact \n").exits(0);
    assert_eq!(caller.said(&["get-meta", name, "note"]), "exact \n");
    caller.said(&["remove-meta", name, "note"]);
    assert_eq!(caller.said(&["get-meta", name, "note"]), "");
    let again = caller.call(&["start", name], "{}").exits(1);
    assert!(again.stderr.contains("already exists"), "{again:?}");

    caller.said(&["stop", name]);
    assert_ne!(ProcessKey::of(pid(&report)), Some(key));
    assert_eq!(caller.said(&["is-running", name]), "false\n");
    assert_eq!(caller.said(&["list-running", ""]), "");
    caller.said(&["stop", name]);
    assert!(!work.join("x").exists() && !work.join("y").exists());
    let left: Vec<_> = fs::read_dir(&caller.state).unwrap().flatten().map(|one| one.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("s-")), "{left:?}");
}

#[test]
fn missing_sessions_and_unknown_operations_are_reported() {
    let caller = Caller::of("tmux");
    assert_missing_sessions_are_reported(&caller);
}

#[test]
fn name_is_never_taken_for_another_that_begins_like_it() {
    let caller = Caller::of("tmux");
    for name in ["ab", "a-1", "a-10"] {
        caller.start(name, &format!("echo this is {name}; exec cat"), json!({}));
    }
    assert_eq!(caller.said(&["is-running", "a"]), "false\n");
    assert_eq!(caller.said(&["peek", "a", "0"]), "");
    for args in [&["stop", "a"][..], &["interrupt", "a"], &["send-keys", "a", "x"], &["clear-scrollback", "a"]] {
        caller.said(args);
    }
    caller.call(&["nudge", "a"], "wrong").exits(0);
    caller.said(&["stop", "a-1"]);
    assert_eq!(caller.said(&["list-running", "a"]), "a-10\nab\n");
    assert_eq!(caller.said(&["list-running", "a-1"]), "a-10\n");
    assert_eq!(caller.said(&["is-running", "a-1"]), "false\n");
    assert_eq!(caller.said(&["peek", "a-10", "0"]), "this is a-10\n");
    // The control: a bare target means whatever begins so.
    assert_eq!(tmux(&caller, &["display-message", "-p", "-t", "s-a-1", "#{session_name}"]), "s-a-10");
    caller.said(&["stop", "a-10"]);
    assert_eq!(caller.said(&["is-running", "ab"]), "true\n");
    caller.said(&["stop", "ab"]);
}

#[test]
fn keys_are_keys_by_their_names_and_everything_else_is_text() {
    let caller = Caller::of("tmux");
    let out = caller.folder("out").join("keys");
    caller.start("x", &reader(&out), json!({"ready_prompt_prefix": "ready"}));
    let keys =
        ["Enter", "up", "x;", ";", "C-c", "Escape", "Down", "", "-l", "hé", "BSpace", "Space", "Tab", "$HOME", "a b"];
    caller.said(&["send-keys", "x"].iter().chain(&keys).copied().collect::<Vec<_>>());
    holds(&out, "\rupx;;\u{3}\u{1b}\u{1b}[B-lhé\u{7f} \t$HOMEa b".as_bytes());
    caller.said(&["stop", "x"]);
}

#[test]
fn interrupt_reaches_the_program_and_not_what_looks_after_it() {
    let caller = Caller::of("tmux");
    caller.start("x", "trap 'echo got it' INT; while :; do sleep 1; done", json!({}));
    tmux(&caller, &["copy-mode", "-t", "=s-x:"]);
    caller.said(&["interrupt", "x"]);
    eventually("it was interrupted", || caller.said(&["peek", "x", "0"]).contains("got it").then_some(()));
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    caller.said(&["stop", "x"]);
}

#[test]
fn scrollback_is_seen_to_its_end_and_cleared() {
    let caller = Caller::of("tmux");
    caller.start("x", "seq 1 3000; exec cat", json!({"terminal": {"rows": 20, "cols": 40}}));
    let all: String = (1..=3000).map(|number| format!("{number}\n")).collect();
    eventually("all is there", || (caller.said(&["peek", "x", "0"]) == all).then_some(()));
    assert_eq!(caller.said(&["peek", "x", "100"]).lines().next(), Some("2901"));
    caller.said(&["clear-scrollback", "x"]);
    assert!(caller.said(&["peek", "x", "0"]).lines().count() <= 20);
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    caller.said(&["stop", "x"]);
}

#[test]
fn attached_is_seen_and_attach_ends_with_the_session() {
    let caller = Caller::of("tmux");
    caller.start("x", "echo inside; exec cat", json!({}));
    // `script` lends a terminal.
    let attach = caller.command(&["attach", "x"]);
    let line = format!("'{}' attach x", attach.get_program().to_string_lossy());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env_clear().env("TERM", "xterm");
    for (name, value) in attach.get_envs() {
        value.map(|value| command.env(name, value));
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("somebody is attached", || (caller.said(&["is-attached", "x"]) == "true\n").then_some(()));
    caller.said(&["stop", "x"]);
    eventually("attach is over", || child.try_wait().unwrap());
}

#[test]
fn concurrent_starts_of_one_name_succeed_once() {
    let caller = Caller::of("tmux");
    let start = |name: &str| {
        let config = caller.folder("configs").join(name);
        fs::write(&config, r#"{"command":"sleep 300"}"#).unwrap();
        let mut command = caller.command(&["start", name]);
        command.stdin(fs::File::open(config).unwrap());
        command
    };
    let same = race(6, |_| start("x"));
    let (won, lost): (Vec<_>, Vec<_>) = same.iter().partition(|output| output.status.success());
    assert_eq!((won.len(), lost.len()), (1, 5), "{same:#?}");
    let says = |text: &[u8]| String::from_utf8_lossy(text).contains("already exists");
    assert!(lost.iter().all(|output| says(&output.stderr)), "{lost:#?}");
    assert_eq!(caller.said(&["list-running", ""]), "x\n");
    caller.said(&["stop", "x"]);

    let names = ["n0", "n1", "n2", "n3", "n4", "n5"];
    let all = race(6, |at| start(names[at]));
    assert!(all.iter().all(|output| output.status.success()), "{all:#?}");
    assert_eq!(lines(&caller.said(&["list-running", "n"])), BTreeSet::from(names));
    let all = race(6, |at| caller.command(&["interrupt", names[at]]));
    assert!(all.iter().all(|output| output.status.success()), "{all:#?}");
    let all = race(6, |at| caller.command(&["stop", names[at]]));
    assert!(all.iter().all(|output| output.status.success()), "{all:#?}");
    assert_eq!(caller.said(&["list-running", ""]), "");
    // Its server went with the last of them, and comes again.
    for _ in 0..5 {
        start("y").output().unwrap();
        assert_eq!(caller.said(&["list-running", ""]), "y\n");
        caller.said(&["stop", "y"]);
    }
}
