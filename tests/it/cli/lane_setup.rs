//! `fairway lane setup`: a lane's worktree is made ready once, and a failure says how.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use fairway_core::os::poll_until;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::common::TestProject;

/// A repository with a lane `api` and these settings, which are trusted.
fn world(lanes: &str) -> TestProject {
    let world = TestProject::with_git();
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    set(&world, lanes);
    world
}

fn set(world: &TestProject, lanes: &str) {
    fs::write(world.root().join(".fairway/local.toml"), format!("[lanes]\n{lanes}\n")).unwrap();
    world.run(["trust"]).exits(0);
}

fn lane(world: &TestProject) -> PathBuf {
    world.root().join(".fairway/worktrees/api")
}

/// The state of the lane's setup, of which the board shows what is not ready.
fn state(world: &TestProject) -> Value {
    let state = world.json(["lane", "show", "api"])["lane"]["setup"]["state"].clone();
    let shown = world.json(["status"])["lanes"][0]["setup"]["state"].clone();
    assert_eq!(shown, if state == "ready" { Value::Null } else { state.clone() });
    state
}

fn wait_for(what: &str, fact: impl Fn() -> bool) {
    let seen = poll_until::poll_until(Duration::from_secs(60), Duration::from_millis(20), || fact().then_some(()));
    seen.unwrap_or_else(|| panic!("{what} never came"));
}

#[test]
fn setup_runs_once_and_shows_its_state() {
    let world = world("setup = ['echo hello; echo x >>ran', 'test -e ok']\nteardown = ['echo bye >>../torn']");
    fs::write(world.root().join(".git/info/exclude"), "ran\nok\n.fairway\n").unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway lane list",
        "fairway lane setup api",
        "fairway lane list",
        "fairway lane show api",
        "fairway status",
        "fairway lane setup nowhere",
    ]).replace(world.git(&lane(&world), &["rev-parse", "--short=12", "HEAD"]).trim(), "[commit]"), @"
    $ fairway lane list
    NAME  STATUS  ROLE  HELD  SETUP       BRANCH    WORKTREE                                          TITLE
    api   open    -     0     not set up  lane/api  [world]/project/.fairway/worktrees/api  -
    $ fairway lane setup api
    hello
    error: the setup of the lane api failed: 'test -e ok' (exit 1): no output
    hint: read its output: cat [world]/project/.git/worktrees/api/fairway-setup.log
    hint: try again: fairway lane setup api
    [exit 5]
    $ fairway lane list
    NAME  STATUS  ROLE  HELD  SETUP         BRANCH    WORKTREE                                          TITLE
    api   open    -     0     setup failed  lane/api  [world]/project/.fairway/worktrees/api  -
    $ fairway lane show api
    api
    status      open
    held        0
    branch      lane/api
    base        main
    worktree    [world]/project/.fairway/worktrees/api
    commit      [commit], 0 ahead of main, 0 behind
    changes     none
    setup       setup failed: 'test -e ok' (exit 1)
    ports       20000 to 20009
    created     2026-01-01 00:00:05
    $ fairway status
    nothing needs you

    0 ready · 0 in progress · 0 done

    LANES (1)
    LANE   TASK  SESSION  PROVIDER  ACTIVITY  DOING
    ○ api  -     -        -         free      -
    lane api is not ready, setup failed: 'test -e ok' (exit 1)
    $ fairway lane setup nowhere
    error: there is no lane 'nowhere'
    hint: list the lanes: fairway lane list
    [exit 3]
    ");
    let log = world.json(["lane", "show", "api"])["lane"]["setup"].clone();
    assert_eq!(log["output"], "");
    let text = fs::read_to_string(log["log"].as_str().unwrap()).unwrap();
    assert_eq!(text, "$ echo hello; echo x >>ran\nhello\n$ test -e ok\n");
    fs::write(lane(&world).join("ok"), "").unwrap();
    insta::assert_snapshot!(world.transcript(&[
        "fairway lane setup api",
        "fairway lane setup api",
        "fairway lane setup api --again",
        "fairway lane setup api --teardown",
        "fairway lane list",
        "fairway lane rm api",
    ]), @"
    $ fairway lane setup api
    hello
    set up lane api
    $ fairway lane setup api
    unchanged: lane api is set up already
    $ fairway lane setup api --again
    hello
    set up lane api
    $ fairway lane setup api --teardown
    tore lane api down
    $ fairway lane list
    NAME  STATUS  ROLE  HELD  SETUP       BRANCH    WORKTREE                                          TITLE
    api   open    -     0     not set up  lane/api  [world]/project/.fairway/worktrees/api  -
    $ fairway lane rm api
    removed lane api, its worktree and its branch lane/api
    ");
    // A worktree that is not set up is not torn down.
    assert_eq!(fs::read_to_string(world.root().join(".fairway/worktrees/torn")).unwrap(), "bye\n");
}

#[test]
fn teardown_runs_before_the_worktree_goes_and_its_failure_keeps_nothing() {
    for (teardown, told) in [("pwd >>../torn", ""), ("echo down; exit 3", "the teardown of the lane api has failed")] {
        let world = world(&format!("setup = ['true']\nteardown = ['{teardown}']"));
        world.run(["lane", "setup", "api"]).exits(0);
        let run = world.run(["lane", "rm", "api"]).exits(0);
        assert!(run.stderr.contains(told), "{run:?}");
        assert!(!lane(&world).exists());
        let torn = fs::read_to_string(world.root().join(".fairway/worktrees/torn")).unwrap_or_default();
        let dir = lane(&world);
        assert_eq!(torn.trim_end(), if told.is_empty() { dir.to_str().unwrap() } else { "" });
    }
}

#[test]
fn setup_needs_trust() {
    let world = TestProject::with_git();
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    let file = world.root().join(".fairway.toml");
    let before = fs::read_to_string(&file).unwrap_or_default();
    for line in ["setup = ['touch ran']", "teardown = ['touch ran']", "setup_outside = true"] {
        fs::write(&file, format!("{before}\n[lanes]\n{line}\n")).unwrap();
        world.run(["lane", "setup", "api", "--json"]).refuses(9, "untrusted");
    }
    world.run(["lane", "rm", "api"]).exits(0);
    assert!(!world.root().join(".fairway/worktrees/ran").exists());
    fs::write(&file, format!("{before}\n[lanes]\ninclude = ['.env']\nsetup_when_changed = ['x']\n")).unwrap();
    world.run(["lane", "add", "api", "--create-worktree"]).exits(0);
    world.run(["lane", "setup", "api"]).exits(0);
}

#[test]
fn setup_that_reads_hangs_or_leaves_a_daemon_ends() {
    let world = world("setup = ['cat', 'setsid sleep 613 & echo $! >daemon']");
    world.run(["lane", "setup", "api"]).exits(0);
    let daemon: i32 = fs::read_to_string(lane(&world).join("daemon")).unwrap().trim().parse().unwrap();
    assert!(nix::sys::signal::kill(Pid::from_raw(daemon), None).is_err(), "the daemon {daemon} lives");
    set(&world, "setup = ['sleep 614']\nsetup_timeout = '200ms'");
    let run = world.run(["lane", "setup", "api", "--again", "--json"]).refuses(5, "setup_failed");
    assert_eq!(run.error()["details"]["how"], "timed out after 200ms");
    assert_eq!(state(&world), "setup_failed");
}

#[test]
fn killed_setup_leaves_the_lane_not_set_up_and_a_running_one_keeps_it() {
    let world = world("setup = ['echo x >>ran; while [ ! -e go ]; do sleep 0.01; done']");
    for end in [Signal::SIGKILL, Signal::SIGINT, Signal::SIGTERM] {
        let mut command = world.fairway(["lane", "setup", "api"]);
        let mut running = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for("the setup", || lane(&world).join("ran").exists());
        assert_eq!(state(&world), "setting_up");
        let run = world.run(["lane", "rm", "api", "--json"]);
        assert_eq!(run.code, Some(5), "{run:?}");
        killpg(Pid::from_raw(i32::try_from(running.id()).unwrap()), end).unwrap();
        running.wait().unwrap();
        if end == Signal::SIGKILL {
            // Its command works in a group of its own, and lives on: until it ends, the lane is being set up.
            assert_eq!(state(&world), "setting_up");
            fs::write(lane(&world).join("go"), "").unwrap();
            wait_for("its end", || state(&world) == "not_set_up");
            fs::remove_file(lane(&world).join("go")).unwrap();
        }
        assert_eq!(state(&world), "not_set_up", "{end}");
        fs::remove_file(lane(&world).join("ran")).unwrap();
    }
    fs::write(lane(&world).join("go"), "").unwrap();
    world.run(["lane", "setup", "api"]).exits(0);
    assert_eq!(state(&world), "ready");
}

#[test]
fn changed_lock_file_makes_a_new_setup_necessary() {
    let world = world("setup = ['true']\nsetup_when_changed = ['package-lock.json']");
    let root = world.root();
    let write = |text: &str| {
        fs::write(root.join("package-lock.json"), text).unwrap();
        world.git(&root, &["add", "package-lock.json"]);
        world.git(&root, &["commit", "--quiet", "--message", text]);
    };
    write("one");
    world.run(["lane", "sync", "api"]).exits(0);
    world.run(["lane", "setup", "api"]).exits(0);
    fs::write(root.join("other"), "x").unwrap();
    world.git(&root, &["add", "other"]);
    world.git(&root, &["commit", "--quiet", "--message=other"]);
    world.run(["lane", "sync", "api"]).exits(0);
    assert_eq!(state(&world), "ready");
    write("two");
    world.run(["lane", "sync", "api"]).exits(0);
    assert_eq!(state(&world), "not_set_up");
    world.run(["lane", "setup", "api"]).exits(0);
    assert_eq!(state(&world), "ready");
}

#[test]
fn lane_without_setup_or_with_a_worktree_of_its_own_has_no_state() {
    let world = world("teardown = ['true']");
    let setup = |name: &str| world.json(["lane", "show", name])["lane"]["setup"].clone();
    assert_eq!(setup("api"), Value::Null);
    set(&world, "setup = ['touch ran']");
    let own = world.dir().join("own");
    world.git(&world.root(), &["worktree", "add", "--quiet", own.to_str().unwrap(), "-b", "own"]);
    world.run(["lane", "add", "own", "--worktree", own.to_str().unwrap()]).exits(0);
    world.run(["lane", "add", "none"]).exits(0);
    assert_eq!((setup("own"), setup("none")), (Value::Null, Value::Null));
    assert_eq!(
        setup("api"),
        json!({ "state": "not_set_up", "command": null, "how": null, "output": null, "log": null })
    );
    world.run(["lane", "setup", "own"]).exits(0);
    assert!(own.join("ran").exists());
    world.run(["lane", "setup", "none", "--json"]).refuses(5, "no_worktree");
}
