//! The end of a session: of its program, and by `session stop`.

use std::fs;

use fairway_core::os::process::ProcessKey;
use fairway_core::os::process_tree;

use super::{Sessions, eventually, marked, text};
use crate::common::test_project::CommandOutput;

#[test]
fn session_ends_with_its_programs_exit_code() {
    let world = Sessions::new();
    for (name, code, status) in [("zero", "0", "ended"), ("three", "3", "failed")] {
        world.launch(&["--role", "r", "--name", name, "--", "sh", "-c", &format!("read line; exit {code}")]);
        let input = eventually("the input is there", || {
            fs::OpenOptions::new().write(true).open(world.backend_dir(name).join("input")).ok()
        });
        std::io::Write::write_all(&mut { input }, b"go\n").unwrap();
        let row =
            eventually("the end is recorded", || Some(world.session(name)).filter(|row| !row["ended_at"].is_empty()));
        assert_eq!((row["status"].as_str(), row["exit_code"].as_str()), (status, code));
    }
    let kinds: Vec<String> = world
        .rows("SELECT kind FROM events WHERE session_id = 'three' ORDER BY seq")
        .into_iter()
        .map(|mut row| row.remove("kind").unwrap())
        .collect();
    assert_eq!(kinds, ["session.starting", "session.running", "session.failed"]);
    // Nothing of a session is left behind that ended by itself.
    let adapters = world.dir().join("home/.local/state/fairway/adapters");
    eventually("the folders are gone", || {
        let left: Vec<_> = fs::read_dir(&adapters).unwrap().flatten().map(|entry| entry.file_name()).collect();
        (left == [".lock"]).then_some(())
    });
}

#[test]
fn leftover_processes_end_with_the_program() {
    let world = Sessions::new();
    let script = "setsid sleep 300 & sleep 300 & sleep 0.3";
    let session = world.launch(&["--role", "r", "--name", "s1", "--", "sh", "-c", script]);
    let run = text(&session["run_id"]);
    eventually("the leftovers are ended", || marked(&run).unwrap().is_empty().then_some(()));
    eventually("its end is recorded", || (world.session("s1")["status"] == "ended").then_some(()));
}

#[test]
fn garbled_answer_is_unknown_not_dead() {
    let world = Sessions::new();
    let script = world.script(
        "odd",
        "#!/bin/sh\ncase $1 in start | stop) exit 0 ;; is-running) printf '\\377yes' ;; *) exit 2 ;; esac\n",
    );
    let backend = format!("exec:{}", script.display());
    let run =
        world.run(["session", "launch", "--role", "r", "--name", "s1", "--backend", &backend, "--", "true"]).exits(0);
    assert!(run.stderr.contains("neither true nor false"), "{run:?}");
    assert_eq!(world.session("s1")["status"], "starting");
}

#[test]
fn session_with_a_killed_supervisor_can_be_stopped() {
    let world = Sessions::new();
    let session = world.launch(&["--role", "r", "--name", "s1", "--", "sh", "-c", "setsid sleep 300 & sleep 300"]);
    let run = text(&session["run_id"]);
    let key = ProcessKey::of(i32::try_from(session["pid"].as_i64().unwrap()).unwrap()).unwrap();
    assert_eq!(world.session("s1")["pid_started"], key.started.to_string());
    key.signal(nix::sys::signal::Signal::SIGKILL).unwrap();
    assert!(!marked(&run).unwrap().is_empty());
    world.run(["session", "stop", "s1"]).exits(0);
    assert_eq!(marked(&run).unwrap(), []);
    assert_eq!(world.session("s1")["status"], "ended");
}

#[test]
fn session_launched_elsewhere_is_not_touched() {
    let world = Sessions::new();
    for id in ["elsewhere", "by-hand"] {
        world.run(["session", "upsert", "--id", id, "--role", "r"]).exits(0);
    }
    let moved = "UPDATE agent_sessions SET host = 'another/1', host_id = 'another/1', adapter_script = '/bin/false', adapter_state = '/tmp' \
         WHERE id = 'elsewhere'";
    world.write_rows(moved);
    assert_eq!(world.value("SELECT count(*) FROM agent_sessions WHERE host_id = 'another/1'"), "1");
    for id in ["elsewhere", "by-hand"] {
        world.run(["session", "stop", id, "--json"]).refuses(4, "session_mismatch");
        world.run(["session", "peek", id, "--json"]).refuses(4, "session_mismatch");
        assert_eq!(world.session(id)["activity"], "unknown");
    }
    // Its host was silent for long: a person gives it up, and nobody else.
    let stop = || world.run(["session", "stop", "elsewhere", "--json"]).error()["hint"].clone();
    assert!(!stop().as_str().unwrap().contains("forget"), "{}", stop());
    world.run(["session", "forget", "elsewhere", "--json"]).refuses(4, "host_alive");
    world.write_rows("UPDATE agent_sessions SET started_at = 1, last_heartbeat_at = NULL WHERE id = 'elsewhere'");
    let hint = stop();
    let there = "run it there: ssh another fairway session stop elsewhere";
    assert_eq!(hint, format!("{there}\nif that host or container is gone: fairway session forget elsewhere"));
    world.run(["--session", "by-hand", "session", "forget", "elsewhere", "--json"]).refuses(5, "inside_session");
    let alive = world.run(["session", "forget", "by-hand", "--json"]).refuses(4, "session_alive").error();
    assert_eq!(alive["hint"], "end it first: fairway session end by-hand", "Fairway has nothing to stop");
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["--session", "elsewhere", "claim", "T-1"]).exits(0);
    world.write_rows("UPDATE agent_sessions SET last_heartbeat_at = NULL WHERE id = 'elsewhere'");
    let given_up = world.run(["session", "forget", "elsewhere"]).exits(0);
    assert!(given_up.stderr.contains("fairway release T-1 --force --reason TEXT"), "{given_up:?}");
    let row = world.session("elsewhere");
    assert_eq!(row["status"], "failed");
    assert!(row["reason"].contains("given up by "), "{row:?}");
    assert_eq!(
        world.run(["session", "forget", "elsewhere"]).exits(0).stdout,
        "unchanged: elsewhere has already failed\n"
    );
}

#[test]
fn session_name_of_another_project_is_not_touched_by_stop() {
    let world = Sessions::new();
    let other = world.dir().join("other").display().to_string();
    fs::create_dir(&other).unwrap();
    let there = |args: &[&str]| CommandOutput::from(world.fairway(args).current_dir(&other).output().unwrap()).exits(0);
    there(&["init"]);
    let session = world.launch(&["--role", "r", "--name", "s1", "--", "sleep", "300"]);
    let pid = i32::try_from(session["pid"].as_i64().unwrap()).unwrap();
    // No process is left to record the end.
    for key in process_tree::subtree(pid, None).unwrap() {
        key.signal(nix::sys::signal::Signal::SIGKILL).unwrap();
    }
    eventually("it is gone", || ProcessKey::of(pid).is_none().then_some(()));
    there(&["session", "launch", "--role", "r", "--name", "s1", "--", "sh", "-c", "echo theirs; sleep 300"]);
    assert_eq!(world.run(["session", "peek", "s1"]).exits(0).stdout, "");
    world.run(["session", "stop", "s1"]).exits(0);
    assert_eq!(world.session("s1")["status"], "ended");
    assert_eq!(there(&["session", "peek", "s1"]).stdout, "theirs\n");
    assert_eq!(there(&["session", "status", "s1"]).stdout, "running\n");
    there(&["session", "stop", "s1"]);
}

#[test]
fn failed_stop_leaves_the_session_as_it_was() {
    let world = Sessions::new();
    let script = world.script(
        "stuck",
        "#!/bin/sh\ncase $1 in start) exit 0 ;; is-running) echo true ;; stop) echo stuck >&2; exit 1 ;; *) exit 2 ;; esac\n",
    );
    world.launch(&["--role", "r", "--name", "s1", "--backend", &format!("exec:{}", script.display()), "--", "true"]);
    let error = world.run(["session", "stop", "s1", "--json"]).refuses(7, "adapter_failed").error();
    assert!(text(&error["message"]).ends_with("failed at stop: stuck"), "{error}");
    let row = world.session("s1");
    assert_eq!((row["status"].as_str(), row["activity"].as_str()), ("running", "unknown"));
}

/// A program may record its own end and go on; stop ends it all the same.
#[test]
fn process_alive_after_its_recorded_end_can_be_stopped() {
    let world = Sessions::new();
    let words = "\"$FAIRWAY_BIN\" session end \"$FAIRWAY_SESSION_ID\"; exec sleep 600";
    world.run(["session", "launch", "--role", "r", "--name", "s1", "--", "sh", "-c", words]).exits(0);
    let run = world.session("s1")["run_id"].clone();
    eventually("it goes on", || (!marked(&run).unwrap().is_empty()).then_some(()));
    assert_eq!(world.session("s1")["status"], "ended");
    let stopped = world.run(["session", "stop", "s1"]).exits(0);
    assert!(stopped.stdout.contains("stopped the remaining program"), "{stopped:?}");
    assert!(marked(&run).unwrap().is_empty());
    let again = world.run(["session", "stop", "s1"]).exits(0);
    assert!(again.stdout.starts_with("unchanged"), "{again:?}");
}
