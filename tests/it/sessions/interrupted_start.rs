//! Starts that a signal or a crash ends, and what a start leaves on the disk.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use fairway_core::os::process::ProcessKey;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Sessions, eventually, marked, text};
use crate::common::test_project::CommandOutput;

const SECRET: &str = "tausend-und-eins";

/// The files below a directory that contain the secret.
fn leaks(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(leaks(&path));
        } else if path.is_file() && String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).contains(SECRET) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn interrupted_launch_says_that_the_start_may_go_on_and_how_to_stop_it() {
    for (signal, json) in [(Signal::SIGINT, false), (Signal::SIGTERM, true)] {
        let world = Sessions::new();
        world.configure("[providers.slow]\ncommand = \"sleep 300\"\nready_delay_ms = 50000\n");
        world.run(["trust"]).exits(0);
        let mut command = world.fairway(["session", "launch", "--role", "r", "--provider", "slow", "--name", "s1"]);
        if json {
            command.arg("--json");
        }
        let launch = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let run = eventually("the program runs", || {
            let row = world.rows("SELECT run_id FROM agent_sessions WHERE id = 's1'").pop()?;
            let run = row["run_id"].clone();
            let names = |key: &ProcessKey| fs::read_to_string(format!("/proc/{}/comm", key.pid)).unwrap_or_default();
            marked(&run).unwrap().iter().any(|key| names(key) == "sleep\n").then_some(run)
        });
        kill(Pid::from_raw(i32::try_from(launch.id()).unwrap()), signal).unwrap();
        let ended: CommandOutput = launch.wait_with_output().unwrap().into();
        assert_eq!(ended.code, Some(7), "{ended:?}");
        if json {
            let error = ended.error();
            assert_eq!(
                (&error["code"], &error["hint"]),
                (&"interrupted".into(), &"to stop it: fairway session stop s1".into())
            );
        } else {
            let expected = "error: interrupted: the start of s1 may go on\nhint: to stop it: fairway session stop s1\n";
            assert_eq!(ended.stderr, expected);
        }
        world.run(["session", "stop", "s1"]).exits(0);
        assert_eq!(marked(&run).unwrap(), []);
    }
}

#[test]
fn program_that_outlived_its_root_is_stopped_after_the_end() {
    let world = Sessions::new();
    let session = world.launch(&["--role", "r", "--name", "s1", "--", "sleep", "300"]);
    let run = text(&session["run_id"]);
    let root: i32 = world.session("s1")["pid"].parse().unwrap();
    kill(Pid::from_raw(root), Signal::SIGKILL).unwrap();
    eventually("the root is gone", || marked(&run).unwrap().iter().all(|key| key.pid != root).then_some(()));
    world.run(["session", "reconcile"]).exits(0);
    world.run(["session", "end", "s1"]).exits(0);
    assert!(!marked(&run).unwrap().is_empty());
    let stopped = world.run(["session", "stop", "s1"]).exits(0).stdout;
    assert!(stopped.starts_with("stopped the remaining program of s1"), "{stopped}");
    assert_eq!(marked(&run).unwrap(), []);
    assert_eq!(world.run(["session", "stop", "s1"]).exits(0).stdout, "unchanged: s1 has already ended\n");
}

#[test]
fn prompt_and_environment_of_a_start_are_nowhere_once_the_program_runs() {
    let world = Sessions::new();
    world.configure("[providers.p]\ncommand = \"cat\"\nprompt = \"nudge\"\n");
    world.run(["trust"]).exits(0);
    let token = format!("API_TOKEN={SECRET}");
    let flags = ["--role", "r", "--name", "s1", "--provider", "p", "--env", &token];
    world.launch(&flags);
    let state = world.dir().join("home/.local/state");
    assert_eq!(leaks(&state), Vec::<String>::new());
    // The session's identity stays.
    let run = world.session("s1")["run_id"].clone();
    assert!(!marked(&run).unwrap().is_empty());
    world.run(["session", "stop", "s1"]).exits(0);
    assert_eq!(marked(&run).unwrap(), []);
}

#[test]
fn start_that_was_killed_is_forgotten_by_reconcile_and_by_doctor() {
    for mend in [&["session", "reconcile"][..], &["doctor", "--fix"]] {
        let world = Sessions::new();
        world.configure("[providers.slow]\ncommand = \"sleep 300\"\nready_delay_ms = 50000\n");
        world.run(["trust"]).exits(0);
        let token = format!("API_TOKEN={SECRET}");
        let words = ["session", "launch", "--role", "r", "--provider", "slow", "--name", "s1", "--env", &token];
        let mut launch = world.fairway(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let run = eventually("the program runs", || {
            let row = world.rows("SELECT run_id FROM agent_sessions WHERE id = 's1'").pop()?;
            let run = row["run_id"].clone();
            let names = |key: &ProcessKey| fs::read_to_string(format!("/proc/{}/comm", key.pid)).unwrap_or_default();
            marked(&run).unwrap().iter().any(|key| names(key) == "sleep\n").then_some(run)
        });
        launch.kill().unwrap();
        launch.wait().unwrap();
        // The script that starts it goes the same way.
        let state = world.dir().join("home/.local/state");
        for key in marked(&run).unwrap() {
            let words = fs::read_to_string(format!("/proc/{}/cmdline", key.pid)).unwrap_or_default();
            if words.contains("finish-start") || words.contains("start\0") {
                let _ = kill(Pid::from_raw(key.pid), Signal::SIGKILL);
            }
        }
        for key in fairway_core::os::process_tree::with_env_entry(&format!("FAIRWAY_LAUNCH={run}")).unwrap() {
            let _ = kill(Pid::from_raw(key.pid), Signal::SIGKILL);
        }
        assert!(!leaks(&state).is_empty());
        // The program's own root process may be just about to record that it runs, and a killed one to end.
        eventually("doctor finds the start", || {
            world.run(["doctor", "--json"]).stdout.contains("start_left").then_some(())
        });
        world.run(mend);
        assert_eq!(leaks(&state), Vec::<String>::new(), "{mend:?}");
        let found = world.run(["doctor", "--json"]).stdout;
        assert!(!found.contains("start_left"), "{found}");
        world.run(["session", "stop", "s1"]).exits(0);
        assert_eq!(marked(&run).unwrap(), []);
    }
}

#[test]
fn transcripts_directory_that_is_a_link_is_refused() {
    let world = Sessions::new();
    let elsewhere = world.dir().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, world.root().join(".fairway/transcripts")).unwrap();
    let refused = world.run(["session", "launch", "--json", "--role", "r", "--", "true"]).refuses(2, "invalid_value");
    assert!(refused.stderr.contains("is a symbolic link"), "{refused:?}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}
