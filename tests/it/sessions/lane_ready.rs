//! `fairway start` and `session launch` in a lane that must be made ready first.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::json;

use super::{Sessions, eventually};

/// A repository with ignored files to copy and these trusted settings.
fn world(lanes: &str) -> Sessions {
    let mut world = Sessions::with_git();
    world.set("FAIRWAY_SESSIONS_DEFAULT_BACKEND", "shell");
    fs::write(world.root().join(".git/info/exclude"), ".fairway/\n.env\nran\ngo\n").unwrap();
    fs::write(world.root().join(".env"), "TOKEN=1\n").unwrap();
    fs::write(world.root().join(".worktreeinclude"), ".env\n").unwrap();
    set(&world, lanes);
    world
}

fn set(world: &Sessions, lanes: &str) {
    fs::write(world.root().join(".fairway/local.toml"), format!("[lanes]\n{lanes}\n")).unwrap();
    world.run(["trust"]).exits(0);
}

fn lane(world: &Sessions, name: &str) -> PathBuf {
    world.root().join(".fairway/worktrees").join(name)
}

#[test]
fn agent_starts_in_a_lane_that_has_copies_and_setup() {
    let world = world("setup = ['cp .env ran']");
    let started =
        world.run(["start", "Fix the tax", "--json", "--", "sh", "-c", "cp ran seen; exec sleep 600"]).exits(0);
    assert!(started.stderr.contains("set up the lane T-1: cp .env ran"), "{started:?}");
    eventually("the agent", || lane(&world, "T-1").join("seen").exists().then_some(()));
    assert_eq!(fs::read_to_string(lane(&world, "T-1").join("seen")).unwrap(), "TOKEN=1\n");
    // Another launch there sets up nothing.
    fs::remove_file(lane(&world, "T-1").join("ran")).unwrap();
    world.launch(&["--lane", "T-1", "--role", "qa", "--", "sleep", "600"]);
    assert!(!lane(&world, "T-1").join("ran").exists());
}

#[test]
fn no_agent_starts_in_a_lane_whose_setup_failed() {
    let world = world("setup = ['echo no network >&2; test -e go']");
    let run = world.run(["start", "Fix the tax", "--json", "--", "sleep", "600"]).refuses(5, "setup_failed");
    let error = run.error();
    assert_eq!(error["details"]["output"], "no network");
    assert!(error["hint"].as_str().unwrap().ends_with("try again: fairway lane setup T-1"), "{error}");
    assert_eq!(world.json(["session", "list", "--all"]), json!([]));
    assert_eq!(world.json(["task", "show", "T-1"])["claimant"], json!(null));
    assert_eq!(world.json(["lane", "show", "T-1"])["lane"]["setup"]["state"], "setup_failed");
    // It is not tried again before a person says so.
    fs::write(lane(&world, "T-1").join("go"), "").unwrap();
    world.run(["start", "T-1", "--json", "--", "sleep", "600"]).refuses(5, "setup_failed");
    world.run(["lane", "setup", "T-1"]).exits(0);
    world.run(["start", "T-1", "--json", "--", "sleep", "600"]).exits(0);
}

#[test]
fn setup_of_a_later_lane_ends_no_agent_of_an_earlier_one() {
    let world = world("setup = ['true']");
    for title in ["one", "two"] {
        world.run(["task", "add", title]).exits(0);
    }
    world.run(["start", "T-1", "T-2", "--json", "--", "sleep", "600"]).exits(0);
    for session in world.rows("SELECT * FROM agent_sessions") {
        let pid: i32 = session["pid"].parse().unwrap();
        kill(Pid::from_raw(pid), None).unwrap_or_else(|_| panic!("{} has ended", session["id"]));
    }
    assert_eq!(world.rows("SELECT * FROM agent_sessions WHERE status = 'running'").len(), 2);
}

#[test]
fn interrupted_start_ends_the_setup_with_all_its_processes() {
    let world = world("setup = ['sleep 617 & echo $! >ran; while [ ! -e go ]; do sleep 0.01; done']");
    let mut command = world.fairway(["start", "Fix the tax", "--json", "--", "sleep", "600"]);
    let running = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let ran = lane(&world, "T-1").join("ran");
    eventually("the setup", || fs::read_to_string(&ran).ok().filter(|text| text.ends_with('\n')));
    let below: i32 = fs::read_to_string(&ran).unwrap().trim().parse().unwrap();
    killpg(Pid::from_raw(i32::try_from(running.id()).unwrap()), Signal::SIGINT).unwrap();
    let output = running.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(7), "{told}");
    assert!(told.contains("interrupted by SIGINT; the program was ended"), "{told}");
    eventually("its end", || kill(Pid::from_raw(below), None).err());
    assert!(!lane(&world, "T-1").exists(), "the lane stays: {told}");
    assert_eq!(world.json(["session", "list", "--all"]), json!([]));
}
