//! `pre_start` may make the worktree; the branch is git's; the start configuration holds what the script knows.

use std::fs;

use serde_json::Value;

use super::Sessions;
use crate::common::TestProject;

/// A script that keeps to the older revision of the protocol: it creates the session and returns.
const RECORDING: &str = r#"#!/bin/sh
d=$FAIRWAY_ADAPTER_STATE/$2
case $1 in
  start) mkdir -p "$d" && cat >"$FAIRWAY_ADAPTER_STATE/start.json" && : >"$d/runs" ;;
  stop) rm -rf "$d" ;;
  is-running) if [ -e "$d/runs" ]; then echo true; else echo false; fi ;;
  *) exit 2 ;;
esac
"#;

fn with_git() -> Sessions {
    let world = TestProject::with_git();
    world.real_time();
    Sessions(world)
}

fn trust(world: &Sessions, text: &str) {
    world.configure(text);
    world.run(["trust"]).exits(0);
}

/// The document that the recording script was given.
fn start_document(world: &Sessions) -> Value {
    let path = world.dir().join("home/.local/state/fairway/adapters/start.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn pre_start_makes_the_worktree_of_a_launch() {
    let world = with_git();
    trust(&world, "[roles.r]\npre_start = ['git worktree add --quiet ../tree -b topic']\n");
    let launch = ["session", "launch", "--role", "r", "--name", "a", "--worktree", "../tree"];
    let dry = world.run(launch.iter().chain(&["--dry-run", "--", "./tool"])).exits(0);
    assert!(dry.stderr.contains("/tree is not there yet: pre_start makes it"), "{dry:?}");
    assert!(dry.stderr.contains("whether ./tool exists was not checked"), "{dry:?}");
    assert!(!world.dir().join("tree").exists());
    world.run(launch.iter().chain(&["--", "sleep", "300"])).exits(0);
    let row = world.session("a");
    assert_eq!(row["worktree"], world.dir().join("tree").display().to_string());
    assert_eq!(row["branch"], "topic", "git's branch");
    world.run(["session", "stop", "a"]).exits(0);
    // Nothing makes that of another role.
    let error = world.run(["session", "launch", "--json", "--role", "x", "--worktree", "../none", "--dry-run"]);
    assert_eq!(error.refuses(3, "not_found").error()["details"]["noun"], "worktree");
}

#[test]
fn pre_start_and_setup_of_a_script_that_knows_neither_are_run_by_the_launch() {
    let world = with_git();
    let script = world.script("old", RECORDING);
    let configure = |pre_start: &str| {
        trust(
            &world,
            &format!(
                "[backends.old]\nscript = '{}'\nsetup = 'caller'\n[roles.r]\nbackend = 'old'\n\
                 pre_start = ['{pre_start}']\nsession_setup = ['pwd >../setup']\n",
                script.display()
            ),
        );
    };
    let launch = |name: &str, tree: &str| {
        let args = ["session", "launch", "--json", "--role", "r", "--name", name, "--worktree", tree, "--", "true"];
        world.run(args)
    };
    configure("git worktree add --quiet ../tree -b topic; pwd >../before");
    let session = launch("a", "../tree").exits(0).json();
    assert_eq!(session["branch"], "topic");
    let text = |name: &str| fs::read_to_string(world.dir().join(name)).unwrap();
    assert_eq!(text("before"), format!("{}\n", world.root().display()), "in the project's root");
    assert_eq!(text("setup"), format!("{}\n", world.dir().join("tree").display()), "in the worktree");
    assert_eq!(start_document(&world).get("pre_start"), None, "not run twice");
    // Once it is there, it is where it runs.
    configure("pwd >../before");
    launch("b", "../tree").exits(0);
    assert_eq!(text("before"), format!("{}\n", world.dir().join("tree").display()));
    // One that makes nothing starts nothing.
    fs::remove_file(world.dir().join("home/.local/state/fairway/adapters/start.json")).unwrap();
    let error = launch("c", "../none").refuses(7, "launch_failed").error();
    assert!(error["message"].as_str().unwrap().contains("there is no worktree"), "{error}");
    assert!(!world.dir().join("home/.local/state/fairway/adapters/start.json").exists());
    assert_eq!(world.session("c")["status"], "failed");
}

#[test]
fn script_gets_the_fields_of_the_protocol_and_names_no_transcript_that_is_not_there() {
    let world = Sessions::new();
    let script = world.script("old", RECORDING);
    trust(
        &world,
        &format!(
            "[backends.old]\nscript = '{}'\n[roles.r]\nbackend = 'old'\nprovider = 'p'\n[providers.p]\nready_delay_ms = 1\n",
            script.display()
        ),
    );
    let session = world.launch(&["--role", "r", "--name", "a", "--", "true"]);
    assert_eq!(session["transcript"], Value::Null, "it writes none");
    let document = start_document(&world);
    assert_eq!((document.get("ready_prompt_prefix"), document.get("ready_delay_ms")), (None, None), "{document}");
    // One that waits itself is told for what.
    let waits = RECORDING.replace("  *) exit 2", "  protocol) echo '{\"capabilities\":[\"ready\"]}' ;;\n  *) exit 2");
    fs::write(&script, waits).unwrap();
    world.run(["trust"]);
    world.launch(&["--role", "r", "--name", "b", "--", "true"]);
    assert_eq!(start_document(&world)["ready_delay_ms"], 1);
}

#[test]
fn launch_finds_that_the_multiplexer_is_missing() {
    let mut world = Sessions::new();
    let bin = world.dir().join("bin");
    fs::create_dir(&bin).unwrap();
    for program in ["sh", "true"] {
        let found = fairway_core::os::executable::find(program, None, world.dir()).unwrap();
        std::os::unix::fs::symlink(found, bin.join(program)).unwrap();
    }
    world.set("PATH", &bin);
    for backend in ["tmux", "screen", "zellij"] {
        let args = ["session", "launch", "--json", "--role", "r", "--backend", backend, "--", "true"];
        for dry_run in [&["--dry-run"][..], &[]] {
            let words: Vec<&str> = args[..3].iter().chain(dry_run).chain(&args[3..]).copied().collect();
            let error = world.run(words).refuses(3, "not_found").error();
            assert_eq!(error["message"], format!("there is no multiplexer '{backend}'"));
        }
    }
    world.run(["session", "launch", "--role", "r", "--backend", "shell", "--dry-run", "--", "true"]).exits(0);
    assert!(!world.store().exists() || world.rows("SELECT id FROM agent_sessions").is_empty(), "nothing was started");
}

#[test]
fn pid_of_a_built_in_backend_is_shown_as_the_supervisors() {
    let world = Sessions::new();
    let session = world.launch(&["--role", "r", "--name", "a", "--", "sleep", "300"]);
    let shown = world.run(["session", "show", "a"]).exits(0).stdout;
    assert!(shown.contains(&format!("pid         {} (supervisor of the program)\n", session["pid"])), "{shown}");
    world.run(["session", "upsert", "--id", "b", "--role", "r", "--pid", &std::process::id().to_string()]).exits(0);
    let shown = world.run(["session", "show", "b"]).exits(0).stdout;
    assert!(shown.contains(&format!("pid         {}\n", std::process::id())), "{shown}");
}
