//! `evidence run` and what can happen to it while its program runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use fairway_core::os::poll_until;
use fairway_core::os::process::ProcessKey;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use sha2::{Digest, Sha256};

use crate::common::concurrent_start::race;
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, fixtures};

/// Waits for a file that a program of ours makes.
fn await_file(path: &Path) {
    let there = || path.exists().then_some(());
    poll_until::poll_until(Duration::from_secs(20), Duration::from_millis(5), there).expect("the file appears");
}

fn held() -> TestProject {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "t", "--check", "unit=test -e flag && echo \"$HOME\" | grep -q home"]).exits(0);
    world
}

#[test]
fn recorded_result_matches_the_run() {
    let world = held();
    world.run(["claim", "T-1"]).exits(0);
    let run = world.run(["evidence", "run", "T-1", "--json", "--", "sh", "-c", "echo out; echo err >&2; exit 3"]);
    let run = run.exits(7);
    let record = run.json();
    // With --json the document has stdout for itself.
    assert!(run.stderr.contains("out\n") && run.stderr.contains("err\n"), "{run:#?}");
    assert_eq!(record["result"], "fail");
    assert_eq!(record["exit_code"], 3);
    assert_eq!(record["observed"], true);
    assert_eq!(record["command"], "sh -c 'echo out; echo err >&2; exit 3'");
    let artifact = Path::new(record["artifact"].as_str().unwrap());
    let kept = fs::read(artifact).unwrap();
    assert_eq!(fs::metadata(artifact).unwrap().permissions().mode() & 0o777, 0o600);
    let digest: String = Sha256::digest(&kept).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(record["sha256"], digest);
    let mut lines: Vec<_> = kept.split(|byte| *byte == b'\n').collect();
    lines.sort();
    assert_eq!(lines, [b"".as_slice(), b"err", b"out"]);
}

#[test]
fn program_holds_no_signal_back() {
    let world = held();
    let run = world.run(["evidence", "run", "T-1", "--", "grep", "SigBlk", "/proc/self/status"]).exits(0);
    assert!(run.stdout.starts_with("SigBlk:\t0000000000000000\n"), "{run:#?}");
}

#[test]
fn arguments_are_not_shell_text() {
    let world = held();
    world.run(["evidence", "run", "T-1", "--", "touch", "$(touch pwned); a b"]).exits(0);
    assert!(world.root().join("$(touch pwned); a b").exists() && !world.root().join("pwned").exists());
    world.run(["evidence", "run", "T-1", "--check", "unit"]).exits(7);
    fs::write(world.root().join("flag"), "").unwrap();
    world.run(["evidence", "run", "T-1", "--check", "unit"]).exits(0);
    world.run(["evidence", "run", "T-1", "--json", "--check", "lint"]).refuses(3, "not_found");
    world.run(["evidence", "run", "T-1", "--json", "--check", "unit", "--", "true"]).refuses(2, "usage");
}

#[test]
fn program_that_is_not_there_leaves_nothing() {
    let world = held();
    let args = ["evidence", "run", "T-1", "--json", "--request-id", "r1", "--", "no-such-program"];
    world.run(args).refuses(7, "program_not_found");
    // Nothing was begun, so the same request may try again.
    world.run(args).refuses(7, "program_not_found");
    assert_eq!(world.json(["evidence", "list", "T-1"]), serde_json::json!([]));
}

#[test]
fn commit_is_recorded_only_for_a_clean_tree() {
    let world = held();
    let commit = fixtures::init_repository(&world);
    let run = |script: &str| {
        let args = ["evidence", "run", "T-1", "--json", "--", "sh", "-c", script];
        world.run(args).exits(0).json()["commit"].clone()
    };
    assert_eq!(run("true"), commit);
    assert!(run("touch made").is_null());
    assert!(run("true").is_null());
    fs::remove_file(world.root().join("made")).unwrap();
    assert_eq!(run("true"), commit);
}

#[test]
fn evidence_runs_in_the_worktree_of_the_lane() {
    let world = TestProject::new();
    let worktree = world.dir().join("lane");
    fs::create_dir(&worktree).unwrap();
    fixtures::add_lane(&world, "ui", None, Some(&worktree));
    world.run(["task", "add", "T-1", "t", "--lane", "ui"]).exits(0);
    world.run(["evidence", "run", "T-1", "--", "touch", "here"]).exits(0);
    assert!(worktree.join("here").exists());
}

#[test]
fn claim_lost_meanwhile_leaves_no_record() {
    let world = held();
    world.run(["claim", "T-1"]).exits(0);
    let script = "touch begun; until test -e go; do sleep 0.01; done";
    let mut command = world.fairway(["evidence", "run", "T-1", "--json", "--", "sh", "-c", script]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    await_file(&world.root().join("begun"));
    fixtures::add_session(&world, "s2", "backend", None);
    world.run(["--session", "s2", "claim", "T-1", "--steal", "--reason", "it sleeps"]).exits(0);
    fs::write(world.root().join("go"), "").unwrap();
    CommandOutput::from(child.wait_with_output().unwrap()).refuses(4, "stale_claim");
    assert_eq!(world.json(["evidence", "list", "T-1"]), serde_json::json!([]));
    assert_eq!(fs::read_dir(world.root().join(".fairway/evidence")).unwrap().count(), 0, "the output is gone too");

    // The control: while the claim stays, the same run is recorded.
    world.run(["--session", "s2", "evidence", "run", "T-1", "--", "sh", "-c", script]).exits(0);
    assert_eq!(world.json(["evidence", "list", "T-1"]).as_array().unwrap().len(), 1);
}

#[test]
fn repeated_request_runs_once_and_answers_the_same() {
    let world = held();
    let args = ["evidence", "run", "T-1", "--request-id", "r1", "--", "sh", "-c", "echo ran >> runs; exit 3"];
    let first = world.run(args).exits(7);
    let second = world.run(args).exits(7);
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(fs::read_to_string(world.root().join("runs")).unwrap(), "ran\n");
    world.run(["evidence", "run", "T-1", "--json", "--request-id", "r1", "--", "true"]).refuses(2, "request_reused");
    // The control: without the id it runs again.
    world.run(["evidence", "run", "T-1", "--", "sh", "-c", "echo ran >> runs; exit 3"]).exits(7);
    assert_eq!(fs::read_to_string(world.root().join("runs")).unwrap(), "ran\nran\n");
}

#[test]
fn six_equal_requests_run_once() {
    let world = held();
    let outputs = race(6, |_| {
        let args = ["evidence", "run", "T-1", "--json", "--request-id", "r1", "--", "sh", "-c", "echo ran >> runs"];
        // Six of one caller, as if it had tried again too early.
        world.fairway(args)
    });
    assert_eq!(fs::read_to_string(world.root().join("runs")).unwrap(), "ran\n");
    for output in outputs {
        let run = CommandOutput::from(output);
        match run.code {
            Some(0) => assert_eq!(run.json()["id"], 1),
            _ => drop(run.refuses(4, "request_open")),
        }
    }
    assert_eq!(world.json(["evidence", "list", "T-1"]).as_array().unwrap().len(), 1);
}

/// Of a program that starts much and waits for none of it, no corpses pile up with us.
#[test]
fn orphans_are_reaped_while_the_program_runs() {
    let world = held();
    let script = "for i in 1 2 3 4 5 6 7 8 9; do (sh -c 'exit 0' &); done; i=0; \
        dead() { cat /proc/[0-9]*/stat 2>/dev/null | awk -v p=$PPID '$4 == p && $3 == \"Z\"' | grep -c .; }; \
        while [ \"$(dead)\" != 0 ]; do i=$((i + 1)); [ $i -lt 100 ] || exit 1; sleep 0.01; done";
    world.run(["evidence", "run", "T-1", "--", "sh", "-c", script]).exits(0);
}

#[test]
fn reader_that_goes_away_changes_neither_record_nor_exit() {
    let world = held();
    let mut command = world.fairway(["evidence", "run", "T-1", "--", "sh", "-c", "yes | head -c 300000; exit 3"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(7));
    let list = world.json(["evidence", "list", "T-1"]);
    assert_eq!(list[0]["exit_code"], 3);
    assert_eq!(fs::metadata(list[0]["artifact"].as_str().unwrap()).unwrap().len(), 300_000);
}

#[test]
fn request_whose_run_was_killed_is_never_started_again() {
    let world = held();
    let script = "echo ran >> runs; touch begun; until test -e go; do sleep 0.01; done";
    let args = ["evidence", "run", "T-1", "--json", "--request-id", "r1", "--", "sh", "-c", script];
    let mut child = world.fairway(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_file(&world.root().join("begun"));
    let running = world.run(args).refuses(4, "request_open").error();
    assert!(running["message"].as_str().unwrap().contains("it is running since"), "{running}");
    // Whoever is busy is no case for the doctor, however long it takes.
    world.advance_clock(3_600);
    let notes = || world.run(["doctor"]).exits(0).stdout;
    assert!(!notes().contains("unsettled"), "{}", notes());

    child.kill().unwrap();
    child.wait().unwrap();
    let gone = world.run(args).refuses(4, "request_open").error();
    assert!(gone["message"].as_str().unwrap().contains("ended without a record"), "{gone}");
    assert!(notes().contains("unsettled  fairway evidence run T-1 -- COMMAND"), "{}", notes());
    assert_eq!(fs::read_to_string(world.root().join("runs")).unwrap(), "ran\n");
    fs::write(world.root().join("go"), "").unwrap();
}

/// The processes of a run whose script wrote its pids into this file, one a line.
fn keys(pids: &Path) -> Vec<ProcessKey> {
    let text = fs::read_to_string(pids).unwrap();
    text.lines().filter_map(|pid| ProcessKey::of(pid.trim().parse().unwrap())).collect()
}

/// A tree that ignores what it is told, one of it in a session of its own and without its parent.
const STUBBORN: &str = "trap '' TERM INT HUP; echo $$ >> pids; \
    (setsid sh -c 'trap \"\" TERM; echo $$ >> pids; touch begun; sleep 60' &); wait; sleep 60";

#[test]
fn signals_and_timeouts_end_the_whole_program() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let world = held();
        let mut command = world.fairway(["evidence", "run", "T-1", "--json", "--", "sh", "-c", STUBBORN]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        await_file(&world.root().join("begun"));
        let keys = keys(&world.root().join("pids"));
        assert_eq!(keys.len(), 2);
        nix::sys::signal::kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        // A second one does not wait for the grace.
        nix::sys::signal::kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
        let run = CommandOutput::from(child.wait_with_output().unwrap());
        run.refuses(7, "interrupted");
        assert!(keys.iter().all(|key| ProcessKey::of(key.pid).as_ref() != Some(key)), "{signal}: {keys:?}");
        assert_eq!(world.json(["evidence", "list", "T-1"]), serde_json::json!([]));
    }
}

#[test]
fn timeout_is_a_failure_on_record_and_ends_the_whole_tree() {
    let world = held();
    let run =
        world.run(["evidence", "run", "T-1", "--json", "--timeout", "400ms", "--", "sh", "-c", STUBBORN]).exits(7);
    let record = run.json();
    assert_eq!((record["result"].as_str(), record["exit_code"].as_i64()), (Some("fail"), None));
    assert_eq!(record["summary"], "timed out after 400ms");
    assert_eq!(keys(&world.root().join("pids")), []);
}

#[test]
fn leftovers_are_killed_and_large_output_is_truncated() {
    let world = held();
    let script = "(setsid sleep 60 >/dev/null 2>&1 & echo $! > pids); head -c 3000000 /dev/zero | tr '\\0' 'x'";
    let run = world.run(["evidence", "run", "T-1", "--", "sh", "-c", script]).exits(0);
    assert!(run.stderr.contains("left processes behind"), "{}", run.stderr);
    assert!(run.stdout.len() > 3_000_000, "everything streams through");
    assert_eq!(keys(&world.root().join("pids")), []);
    let list = world.json(["evidence", "list", "T-1"]);
    let kept = fs::read(list[0]["artifact"].as_str().unwrap()).unwrap();
    assert!((1_000_000..1_100_000).contains(&kept.len()), "{}", kept.len());
    assert!(String::from_utf8(kept).unwrap().contains("bytes left out]"));
}

/// A signal that is kept back while a program runs is kept back from Fairway alone: a program that is told to end must hear it.
#[test]
fn program_has_no_signal_blocked() {
    let world = TestProject::new();
    world.run(["task", "add", "T-1", "x"]).exits(0);
    let run = world.run(["evidence", "run", "T-1", "--", "cat", "/proc/self/status"]).exits(0);
    assert!(run.stdout.contains("SigBlk:\t0000000000000000\n"), "{run:?}");
}
