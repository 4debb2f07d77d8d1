//! A lane outlives its sessions: the next one continues what a dead one holds, and nothing else does.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairway_core::os::process::{ProcessKey, ProcessStatus};
use fairway_core::os::process_tree;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::{Sessions, eventually, marked, text};
use crate::common::concurrent_start::race;
use crate::common::test_project::CommandOutput;

/// A lane with a worktree, and a task with a check.
fn world() -> Sessions {
    let world = Sessions::with_git();
    world.configure(
        "[project]\nbase_branch = \"main\"\n[gates.done]\nrequire = [\"evidence\", \"checks\"]\n\
         [gates.merge]\nrequire = [\"checks\", \"clean_worktree\", \"based_on\"]\n",
    );
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=gates"]);
    world.run(["lane", "add", "a", "--create-worktree"]).exits(0);
    world.run(["task", "add", "T-1", "one", "--check", "unit=true"]).exits(0);
    world
}

fn launch(world: &Sessions, name: &str, lane: &str) -> String {
    let session = world.launch(&["--role", "r", "--lane", lane, "--name", name, "--", "sleep", "1000"]);
    text(&session["run_id"])
}

/// The session's root process: the supervisor of its program.
fn supervisor(world: &Sessions, run: &str) -> ProcessKey {
    let row =
        world.rows(&format!("SELECT pid, pid_started, boot_id FROM agent_sessions WHERE run_id = '{run}'")).remove(0);
    let number = |name: &str| row[name].parse().ok();
    ProcessKey::from_record(number("pid"), number("pid_started"), Some(&row["boot_id"])).unwrap()
}

/// Kills the program of a session and everything that it started, and waits for the end of its supervisor.
fn kill(world: &Sessions, run: &str) {
    let supervisor = supervisor(world, run);
    let _ = process_tree::terminate(Duration::ZERO, || marked(run));
    eventually("nothing of the session is left", || {
        let is_gone = matches!(supervisor.status(), ProcessStatus::Gone(_));
        (is_gone && marked(run).unwrap().is_empty()).then_some(())
    });
}

fn claim(world: &Sessions, session: &str, args: &[&str]) -> CommandOutput {
    world.run([&["claim"], args, &["--session", session, "--json"]].concat())
}

fn worktree(world: &Sessions, lane: &str) -> PathBuf {
    PathBuf::from(text(&world.json(["lane", "show", lane])["lane"]["worktree"]))
}

fn commit(world: &Sessions, dir: &Path, file: &str) -> String {
    fs::write(dir.join(file), file).unwrap();
    world.git(dir, &["add", "."]);
    world.git(dir, &["commit", "--quiet", "--message", file]);
    world.git(dir, &["rev-parse", "HEAD"]).trim().to_owned()
}

fn ended_as(world: &Sessions) -> Vec<String> {
    let rows = world.rows("SELECT ended_as FROM claims WHERE task_id = 'T-1' ORDER BY epoch");
    rows.into_iter().map(|mut row| row.remove("ended_as").unwrap()).collect()
}

/// Registers a session of a lane whose program is known to be gone, with a claim on T-1.
fn dead_holder(world: &Sessions, name: &str, lane: &str) -> String {
    let run = launch(world, name, lane);
    claim(world, name, &["T-1"]).exits(0);
    kill(world, &run);
    run
}

#[test]
fn killed_agent_is_continued_by_the_next_session_of_its_lane() {
    let world = world();
    let run = launch(&world, "s1", "a");
    let claimed = claim(&world, "s1", &[]).exits(0).json();
    assert_eq!((&claimed["task"]["lane"], &claimed["takeover"]), (&Value::from("a"), &Value::from("fresh")));
    let head = commit(&world, &worktree(&world, "a"), "work");
    world.run(["evidence", "run", "T-1", "--check", "unit", "--session", "s1"]).exits(0);
    world.run(["handoff", "create", "T-1", "--to", "r", "--summary", "half", "--session", "s1"]).exits(0);
    kill(&world, &run);

    launch(&world, "s2", "a");
    let continued = claim(&world, "s2", &[]).exits(0).json();
    assert_eq!(continued["task"]["id"], "T-1");
    assert_eq!((&continued["takeover"], &continued["from"]), (&Value::from("continued"), &Value::from("s1")));
    assert_eq!(continued["task"]["claim"]["epoch"], 2);
    assert_eq!(ended_as(&world), ["continued", ""]);
    assert_eq!(world.session("s1")["status"], "failed");
    let events = world.run(["events", "--json"]).exits(0).stdout;
    let event: Value =
        serde_json::from_str(events.lines().rfind(|line| line.contains("task.claimed")).unwrap()).unwrap();
    assert_eq!((&event["data"]["takeover"], &event["data"]["from"]), (&"continued".into(), &"s1".into()));

    // The dead one's late writes are refused.
    for late in [&["evidence", "add", "T-1", "--result", "pass"][..], &["done", "T-1"], &["release", "T-1"]] {
        world.run([late, &["--session", "s1", "--json"]].concat()).refuses(4, "stale_claim");
    }
    // The dead one's evidence, at the lane's commit, counts for the next one.
    world.run(["handoff", "withdraw", "1", "--force", "--reason", "not needed"]).exits(0);
    let done = world.run(["done", "T-1", "--session", "s2", "--json"]).exits(0).json();
    assert_eq!(done["status"], "done");
    assert_eq!(done["judged"]["commit"], head);
    assert_eq!(done["judged"]["worktree"], worktree(&world, "a").to_str().unwrap());
    assert_eq!(done["judged"]["base"], "main");
}

#[test]
fn session_whose_supervisor_died_too_ends_as_failed_with_the_claim() {
    let world = world();
    let run = launch(&world, "s1", "a");
    claim(&world, "s1", &["T-1"]).exits(0);
    launch(&world, "s2", "a");
    supervisor(&world, &run).signal(Signal::SIGKILL).unwrap();
    // Its program is left.
    claim(&world, "s2", &["T-1"]).refuses(4, "already_claimed");
    kill(&world, &run);
    assert_eq!(world.session("s1")["status"], "running");
    // A refused claim leaves the session alone.
    world.run(["lane", "pause", "a"]).exits(0);
    claim(&world, "s2", &["T-1"]).refuses(5, "lane_paused");
    assert_eq!(world.session("s1")["status"], "running");
    world.run(["lane", "open", "a"]).exits(0);
    assert_eq!(claim(&world, "s2", &["T-1"]).exits(0).json()["takeover"], "continued");
    let ended = world.session("s1");
    assert_eq!(ended["status"], "failed");
    // Gone, or not reaped yet.
    assert!(ended["reason"].starts_with(&format!("process {} ", ended["pid"])), "{ended:?}");
}

#[test]
fn claim_stays_while_anything_of_the_dead_session_run_is_alive() {
    let world = world();
    // A process that leaves its session and outlives the root.
    let left = world.launch(&[
        "--role",
        "r",
        "--lane",
        "a",
        "--name",
        "s1",
        "--",
        "sh",
        "-c",
        "setsid sleep 1000 & exec sleep 1000",
    ]);
    let run = text(&left["run_id"]);
    claim(&world, "s1", &["T-1"]).exits(0);
    eventually("the second process", || (marked(&run).unwrap().len() >= 2).then_some(()));
    // Also an end that was reported proves nothing.
    world.run(["session", "end", "s1"]).exits(0);
    launch(&world, "s2", "a");
    claim(&world, "s2", &["T-1"]).refuses(4, "already_claimed");
    claim(&world, "s2", &[]).refuses(6, "nothing_ready");
    let killed = supervisor(&world, &run);
    killed.signal(Signal::SIGKILL).unwrap();
    // The supervisor may still be seen for a moment.
    let first = marked(&run).unwrap().into_iter().find(|process| *process != killed).unwrap();
    first.signal(Signal::SIGKILL).unwrap();
    eventually("one process is left", || (marked(&run).unwrap().len() == 1).then_some(()));
    claim(&world, "s2", &["T-1"]).refuses(4, "already_claimed");
    kill(&world, &run);
    assert_eq!(claim(&world, "s2", &["T-1"]).exits(0).json()["takeover"], "continued");
}

#[test]
fn claim_of_a_session_that_cannot_be_judged_stays() {
    let world = world();
    launch(&world, "s2", "a");
    // No process and no backend is known.
    world.run(["session", "upsert", "--id", "s1", "--role", "r", "--lane", "a"]).exits(0);
    claim(&world, "s1", &["T-1"]).exits(0);
    claim(&world, "s2", &["T-1"]).refuses(4, "already_claimed");
    // Its own report is all that can be known of its end.
    world.run(["session", "end", "s1"]).exits(0);
    assert_eq!(claim(&world, "s2", &["T-1"]).exits(0).json()["takeover"], "continued");
    world.run(["release", "T-1", "--force", "--reason", "test"]).exits(0);

    // Another host's session, of the same name: a container, or a machine of that name.
    launch(&world, "s3", "a");
    claim(&world, "s3", &["T-1"]).exits(0);
    world.kill("s3");
    let own = world.value("SELECT host_id FROM agent_sessions WHERE id = 's3'");
    world.write_rows("UPDATE agent_sessions SET host_id = 'another/1' WHERE id = 's3'");
    claim(&world, "s2", &["T-1"]).refuses(4, "already_claimed");
    // The same host under its old name.
    world.write_rows(&format!("UPDATE agent_sessions SET host_id = '{own}', host = 'old-name/1' WHERE id = 's3'"));
    assert_eq!(claim(&world, "s2", &["T-1"]).exits(0).json()["takeover"], "continued");
}

#[test]
fn claim_is_continued_only_by_a_session_of_its_lane() {
    let world = world();
    world.run(["lane", "add", "b", "--create-worktree"]).exits(0);
    dead_holder(&world, "s1", "a");
    launch(&world, "other", "b");
    claim(&world, "other", &["T-1"]).refuses(4, "already_claimed");
    world.run(["session", "upsert", "--id", "loose", "--role", "r"]).exits(0);
    claim(&world, "loose", &["T-1"]).refuses(4, "already_claimed");
    world.run(["claim", "T-1", "--json"]).refuses(4, "already_claimed");
    // A session that moves itself into the lane does not qualify; one that a person moves does.
    world.run(["session", "upsert", "--id", "loose", "--lane", "a", "--session", "loose"]).exits(0);
    claim(&world, "loose", &["T-1"]).refuses(4, "already_claimed");
    world.run(["session", "upsert", "--id", "loose", "--lane", "b"]).exits(0);
    world.run(["session", "upsert", "--id", "loose", "--lane", "a"]).exits(0);
    assert_eq!(claim(&world, "loose", &["T-1"]).exits(0).json()["takeover"], "continued");
}

#[test]
fn of_several_sessions_one_continues() {
    let world = world();
    dead_holder(&world, "s1", "a");
    for number in 0..8 {
        world.run(["session", "upsert", "--id", &format!("n{number}"), "--role", "r", "--lane", "a"]).exits(0);
    }
    let runs = race(8, |number| {
        let mut command = world.fairway(["claim", "T-1", "--json"]);
        command.env("FAIRWAY_SESSION_ID", format!("n{number}"));
        command
    });
    let codes: Vec<_> = runs.iter().map(|run| run.status.code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(4)).count(), 7, "{codes:?}");
    assert_eq!(ended_as(&world), ["continued", ""]);
}

#[test]
fn continued_task_keeps_its_state_and_the_rules_of_its_lane() {
    let world = world();
    world.run(["lane", "edit", "a", "--wip", "1"]).exits(0);
    let run = launch(&world, "s1", "a");
    claim(&world, "s1", &["T-1", "--lease", "1s"]).exits(0);
    world.run(["task", "block", "T-1", "--reason", "the key is missing", "--session", "s1"]).exits(0);
    kill(&world, &run);
    world.run(["session", "upsert", "--id", "s2", "--role", "r", "--lane", "a"]).exits(0);
    world.run(["lane", "pause", "a"]).exits(0);
    claim(&world, "s2", &["T-1"]).refuses(5, "lane_paused");
    // The refused call changed nothing.
    assert_eq!(ended_as(&world), [""]);
    world.run(["lane", "open", "a"]).exits(0);
    world.run(["task", "edit", "T-1", "--role", "lead"]).exits(0);
    claim(&world, "s2", &["T-1"]).refuses(5, "role_mismatch");
    world.run(["task", "edit", "T-1", "--role", ""]).exits(0);
    let continued = claim(&world, "s2", &[]).exits(0);
    assert!(continued.stderr.contains("stays blocked"), "{continued:?}");
    let task = &continued.json()["task"];
    assert_eq!((&task["status"], &task["blocked_reason"]), (&"blocked".into(), &"the key is missing".into()));
    assert_eq!(task["claim"]["lease_until"], Value::Null);
}

#[test]
fn chain_of_continuations_keeps_evidence_and_handoffs_until_a_release() {
    let world = world();
    world.configure("[gates.done]\nrequire = [\"evidence\"]\n");
    let run = launch(&world, "s1", "a");
    claim(&world, "s1", &["T-1"]).exits(0);
    world.run(["evidence", "add", "T-1", "--result", "pass", "--session", "s1"]).exits(0);
    world.run(["handoff", "create", "T-1", "--to", "r", "--summary", "half", "--session", "s1"]).exits(0);
    kill(&world, &run);
    dead_continuation(&world, "s2");
    launch(&world, "s3", "a");
    claim(&world, "s3", &["T-1"]).exits(0);
    assert_eq!(ended_as(&world), ["continued", "continued", ""]);
    // The first one's handoff still moves the task.
    world.run(["session", "upsert", "--id", "taker", "--role", "r"]).exits(0);
    world.run(["handoff", "accept", "1", "--claim", "--session", "taker", "--json"]).exits(0);
    // A handoff ends the chain.
    world.run(["done", "T-1", "--session", "taker", "--json"]).refuses(5, "gate_blocked");
    world.run(["release", "T-1", "--session", "taker"]).exits(0);
    claim(&world, "s3", &["T-1"]).exits(0);
    world.run(["done", "T-1", "--session", "s3", "--json"]).refuses(5, "gate_blocked");
}

/// Continues as this session, which then dies too.
fn dead_continuation(world: &Sessions, name: &str) {
    let run = launch(world, name, "a");
    claim(world, name, &["T-1"]).exits(0);
    kill(world, &run);
}

#[test]
fn release_dead_releases_proven_claims_only() {
    let world = world();
    world.run(["lane", "add", "b", "--create-worktree"]).exits(0);
    for id in ["T-2", "T-3", "T-4"] {
        world.run(["task", "add", id, "more"]).exits(0);
    }
    let run = launch(&world, "s1", "a");
    claim(&world, "s1", &["T-1"]).exits(0);
    claim(&world, "s1", &["T-2"]).exits(0);
    world.run(["task", "submit", "T-2", "--session", "s1"]).exits(0);
    launch(&world, "alive", "a");
    claim(&world, "alive", &["T-3"]).exits(0);
    let other = launch(&world, "s2", "b");
    claim(&world, "s2", &["T-4"]).exits(0);
    kill(&world, &run);
    kill(&world, &other);
    // A person's command.
    world.run(["release", "--dead", "--session", "alive", "--json"]).refuses(5, "inside_session");
    let mut inside = world.fairway(["release", "--dead", "--json"]);
    inside.env("FAIRWAY_RUN_ID", "0198a000-0000-7000-8000-000000000000");
    CommandOutput::from(inside.output().unwrap()).refuses(5, "inside_session");

    let released = world.run(["release", "--dead", "--lane", "a", "--json"]).exits(0);
    let ids = |run: &CommandOutput| -> Vec<String> {
        run.json()["tasks"].as_array().unwrap().iter().map(|task| text(&task["id"])).collect()
    };
    assert_eq!(ids(&released), ["T-1"]);
    assert!(released.stderr.contains("T-2 of s1 is in review and stays"), "{released:?}");
    assert_eq!(world.session("s1")["status"], "failed");
    let task = world.json(["task", "show", "T-1"]);
    assert_eq!((&task["status"], &task["lane"]), (&"todo".into(), &Value::Null));
    let status = |id: &str| text(&world.json(["task", "show", id])["status"]);
    assert_eq!(["T-2", "T-3", "T-4"].map(status), ["review", "in_progress", "in_progress"]);
    assert_eq!(ids(&world.run(["release", "--dead", "--json"]).exits(0)), ["T-4"]);
    assert_eq!(ids(&world.run(["release", "--dead", "--json"]).exits(0)), [""; 0]);
}
