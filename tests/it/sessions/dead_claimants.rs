//! A session whose processes are gone is dead on every surface at once: nothing reconciles it, and nothing is written.

use std::fs;
use std::process::{Command, Stdio};

use fairway_core::os::process::ProcessKey;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{Sessions, eventually, marked, text};
use crate::common::test_project::{CommandOutput, FAIRWAY};
use crate::common::{TestProject, require};

/// A session `api-agent` in the lane `api` that has claimed T-1 and written down how far it came.
fn working() -> (Sessions, Value) {
    working_as(&["sleep", "600"])
}

/// With this program.
fn working_as(program: &[&str]) -> (Sessions, Value) {
    let world = Sessions::new();
    world.run(["task", "add", "T-1", "Fix the total"]).exits(0);
    world.run(["lane", "add", "api"]).exits(0);
    let flags = ["--role", "dev", "--lane", "api", "--name", "api-agent", "--"];
    let session = world.launch(&[&flags, program].concat());
    world.run(["--session", "api-agent", "--as", "dev", "claim", "T-1"]).exits(0);
    let words = ["checkpoint", "record", "T-1", "--state", "active", "--summary", "the parser is done"];
    world.run([&["--session", "api-agent"], &words[..]].concat()).exits(0);
    (world, session)
}

fn kill(keys: impl IntoIterator<Item = ProcessKey>) {
    for key in keys {
        let _ = key.signal(Signal::SIGKILL);
    }
}

fn kill_supervisor(session: &Value) {
    kill(ProcessKey::of(i32::try_from(session["pid"].as_i64().unwrap()).unwrap()));
}

/// The program of a session: the process of its run that sleeps for 601 s, or else the only one.
fn program(session: &Value) -> Option<ProcessKey> {
    let is_program = |key: &ProcessKey| {
        let line = fs::read(format!("/proc/{}/cmdline", key.pid)).unwrap_or_default();
        i64::from(key.pid) != session["pid"] && line.split(|byte| *byte == 0).any(|word| word == b"601")
    };
    marked(&text(&session["run_id"])).unwrap().into_iter().find(is_program)
}

fn commands(need: &Value) -> Vec<String> {
    need["commands"].as_array().unwrap().iter().map(|next| text(&next["command"])).collect()
}

fn kill_all(session: &Value) {
    super::kill_run(i32::try_from(session["pid"].as_i64().unwrap()).unwrap(), &text(&session["run_id"]));
}

/// The events, and the store's main file: what a read must leave alone.
fn written(world: &TestProject) -> (String, Vec<u8>) {
    (world.run(["events", "--json"]).exits(0).stdout, fs::read(world.store()).unwrap())
}

fn need(world: &TestProject, id: &str) -> Option<Value> {
    let needs = world.json(["status"])["needs_you"].clone();
    needs.as_array().unwrap().iter().find(|need| need["id"] == id).cloned()
}

#[test]
fn killed_session_is_dead_everywhere_at_once_and_the_cure_is_named() {
    let (world, session) = working();
    let listed = world.json(["session", "list"]);
    assert_eq!((&listed[0]["alive"], &listed[0]["alive_source"]), (&json!(true), &json!("process")));
    assert_eq!(listed[0]["holds"][0]["task_id"], "T-1");
    assert_eq!(listed[0]["doing"]["text"], "the parser is done");
    assert!(!world.run(["task", "list"]).stdout.contains("dead"));
    assert_eq!(need(&world, "dead:api-agent"), None);

    let before = written(&world);
    kill_all(&session);
    let listed = world.json(["session", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!((&listed[0]["status"], &listed[0]["alive"]), (&json!("running"), &json!(false)));
    assert!(text(&listed[0]["alive_reason"]).starts_with(&format!("process {}", session["pid"])), "{listed}");
    let release = "fairway release T-1 --force --reason TEXT";
    for (words, expected) in [
        (&["session", "list"][..], &["api-agent  dead", "T-1", "the parser is done"][..]),
        (&["session", "show", "api-agent"], &["status      dead", "T-1", "fairway start T-1", release]),
        (&["session", "status", "api-agent"], &["dead: process"]),
        (&["task", "list"], &["api-agent (dead)"]),
        (&["task", "list", "--held"], &["api-agent (dead)"]),
        (&["task", "show", "T-1"], &["api-agent (dead)", "lane api: fairway start T-1", release]),
        (&["ready", "--why"], &["api-agent (dead)", "lane api: fairway start T-1", release]),
        (&["lane", "show", "api"], &["api-agent  dead", "T-1"]),
        (&["explain", "task", "T-1"], &["session is dead: process", "lane api: fairway start T-1", release]),
        (&["doctor"], &["claimant_dead", release]),
        (&["status"], &["✗ dead", "api-agent", "lane api: fairway start T-1", release]),
    ] {
        let shown = world.run(words).exits(0).stdout;
        for part in expected {
            assert!(shown.contains(part), "{words:?} without {part:?}:\n{shown}");
        }
        // Its program was one of its own, which is not stored.
        assert!(!shown.contains("relaunch"), "{words:?}:\n{shown}");
    }
    for words in [["explain", "session", "api-agent"], ["session", "show", "api-agent"]] {
        let shown = world.run(words).exits(0).stdout;
        assert!(!shown.contains("attach"), "a dead session cannot be attached to:\n{shown}");
    }
    let need = need(&world, "dead:api-agent").expect("an item about the dead session");
    assert_eq!((&need["task_id"], &need["lane"]), (&json!("T-1"), &json!("api")));
    assert!(text(&need["evidence"]).contains("source: process"), "{need}");
    let task = world.json(["task", "show", "T-1"]);
    assert_eq!((&task["claimant"]["alive"], &task["claimant"]["status"]), (&json!(false), &json!("running")));
    assert_eq!(written(&world), before, "a look writes nothing");

    world.run(["release", "T-1", "--force", "--reason", "its agent is dead"]).exits(0);
    assert_eq!(self::need(&world, "dead:api-agent"), None);
}

/// The supervisor is killed, and the agent works on: it is neither dead nor stale, and no second worker is advised.
#[test]
fn program_that_outlives_its_supervisor_works_until_it_is_stopped() {
    let (world, session) = working_as(&["sleep", "601"]);
    kill_supervisor(&session);
    let orphan = eventually("an item", || need(&world, "orphan:api-agent"));
    assert_eq!(commands(&orphan), ["fairway session stop api-agent"], "{orphan}");
    assert_eq!((&orphan["task_id"], need(&world, "dead:api-agent")), (&json!("T-1"), None));
    let events = |world: &TestProject| world.run(["events", "--json"]).exits(0).stdout;
    let before = events(&world);
    for _ in 0..3 {
        let report = world.json(["session", "reconcile"]);
        assert_eq!((&report["stale"], &report["revived"]), (&json!([]), &json!([])), "{report:#}");
        world.run(["--session", "api-agent", "note", "on it"]).exits(0);
    }
    assert!(!events(&world).replace(&before, "").contains("session."), "its state does not change");
    let pid = program(&session).unwrap().pid;
    let reason = format!("its supervisor is gone, its program (process {pid}) works");
    let shown = world.json(["session", "show", "api-agent"]);
    assert_eq!(
        (&shown["alive"], &shown["alive_source"], &shown["alive_reason"]),
        (&json!(true), &json!("program"), &json!(reason))
    );
    for (words, expected) in [
        (
            &["session", "show", "api-agent"][..],
            &["status      orphaned", "yes: its supervisor is gone", "session stop"][..],
        ),
        (&["session", "list"], &["api-agent  orphaned"]),
        (&["task", "list"], &["api-agent (orphaned)"]),
        (&["task", "show", "T-1"], &["api-agent (orphaned)", "stop it; it works on otherwise: fairway session stop"]),
        (&["status"], &["✗ orphan", &reason]),
    ] {
        let shown = world.run(words).exits(0).stdout;
        for part in expected {
            assert!(shown.contains(part), "{words:?} without {part:?}:\n{shown}");
        }
        assert!(!shown.contains("--force") && !shown.contains("dead"), "{words:?}:\n{shown}");
    }
    world.run(["session", "relaunch", "api-agent", "--json"]).refuses(4, "session_alive");
    world.run(["release", "--dead"]).exits(0);
    assert_eq!(world.json(["task", "show", "T-1"])["status"], "in_progress");
    world.run(["session", "stop", "api-agent"]).exits(0);
    assert_eq!(marked(&text(&session["run_id"])).unwrap(), []);
    assert_eq!((need(&world, "orphan:api-agent"), need(&world, "dead:api-agent")), (None, None));
}

/// The two words that a person types: an id and `--dead`.
#[test]
fn release_of_a_named_task_with_dead_releases_that_one_alone() {
    let (world, session) = working();
    world.run(["task", "add", "--id", "T-7", "other"]).exits(0);
    let alive = world.run(["release", "T-1", "--dead"]).exits(0);
    assert!(alive.stdout.contains("no claim of a dead session"), "{alive:?}");
    assert!(alive.stderr.starts_with("the claims of api-agent (running) stay: process "), "{alive:?}");
    kill_all(&session);
    let other = world.run(["release", "T-7", "--dead"]).exits(0).stdout;
    assert!(other.contains("no claim of a dead session"), "{other}");
    world.run(["release", "T-99", "--dead", "--json"]).refuses(3, "not_found");
    let released = world.run(["release", "T-1", "--dead"]).exits(0).stdout;
    assert!(released.starts_with("released T-1: in_progress → todo (api-agent is dead"), "{released}");
}

#[test]
fn remaining_processes_of_a_dead_session_end_before_its_claim_continues() {
    // A helper that its program leaves behind.
    let (world, session) = working_as(&["sh", "-c", "setsid sleep 600 & exec sleep 601"]);
    let run = text(&session["run_id"]);
    eventually("the helper", || (marked(&run).unwrap().len() >= 3).then_some(()));
    kill_supervisor(&session);
    kill(program(&session));
    let remains = eventually("a dead session", || need(&world, "dead:api-agent"));
    assert_eq!(commands(&remains), ["fairway session stop api-agent"], "{remains}");
    kill_all(&session);
    let remains = need(&world, "dead:api-agent").unwrap();
    assert_eq!(remains["commands"][0]["command"], "fairway start T-1", "{remains}");
}

/// A session of the lane whose commands run in a pid namespace of their own, as those of a sandbox do.
fn in_sandbox(world: &Sessions, words: &[&str]) -> Option<CommandOutput> {
    let flags = ["--pid", "--fork", "--mount-proc", "--kill-child"];
    let unshare = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(flags).args(words).stdin(Stdio::null());
        command
    };
    unshare(&["true"]).stderr(Stdio::null()).status().is_ok_and(|status| status.success()).then(|| {
        let own = world.fairway(words);
        let mut command = unshare(&[FAIRWAY]);
        command.args(words).env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(own.get_current_dir().unwrap()).output().unwrap().into()
    })
}

#[test]
fn recorded_end_is_proof_enough_in_a_sandbox() {
    let (world, session) = working();
    world.run(["session", "upsert", "--id", "next", "--role", "dev", "--lane", "api"]).exits(0);
    let sandboxed = |words: &[&str]| in_sandbox(&world, &[&["--session", "next"], words].concat());
    let held = sandboxed(&["claim", "T-1", "--json"]);
    require::met(held.is_some(), "no pid namespace can be made: it needs root");
    let Some(held) = held else { return };
    held.refuses(4, "already_claimed");
    // Killed as a whole: nothing has recorded an end, and nothing of it can be seen from there.
    kill_all(&session);
    sandboxed(&["claim", "T-1", "--json"]).unwrap().refuses(4, "already_claimed");
    world.run(["session", "end", "api-agent", "--status", "failed"]).exits(0);
    for words in [&["done", "T-1"][..], &["task", "submit", "T-1"], &["release", "T-1"]] {
        let refused = sandboxed(words).unwrap().exits(4).stderr;
        assert!(refused.contains("hint: to continue the claim: fairway claim T-1\n"), "{words:?}: {refused}");
        assert!(!refused.contains("--force"), "{words:?}: {refused}");
    }
    let claimed = sandboxed(&["claim", "T-1", "--json"]).unwrap().exits(0).json();
    assert_eq!((&claimed["takeover"], &claimed["from"]), (&json!("continued"), &json!("api-agent")));
}

#[test]
fn ended_session_is_listed_while_it_has_a_claim() {
    let (world, session) = working();
    // The program alone: its supervisor records the end.
    let root = i64::from(i32::try_from(session["pid"].as_i64().unwrap()).unwrap());
    kill(marked(&text(&session["run_id"])).unwrap().into_iter().filter(|key| i64::from(key.pid) != root));
    eventually("the recorded end", || (world.session("api-agent")["status"] == "failed").then_some(()));
    assert_eq!(world.json(["session", "list"]), json!([]), "the document keeps its members");
    let holding = world.json(["session", "list", "--holding"]);
    assert_eq!((&holding[0]["id"], &holding[0]["status"]), (&json!("api-agent"), &json!("failed")));
    let listed = world.run(["session", "list"]).exits(0).stdout;
    assert!(listed.contains("api-agent  failed") && listed.contains("T-1"), "{listed}");
    // The supervisor outlives its record for a moment.
    eventually("the mark", || world.run(["task", "list"]).stdout.contains("api-agent (dead)").then_some(()));
    assert!(world.run(["lane", "show", "api"]).stdout.contains("api-agent  failed"));
    assert!(need(&world, "dead:api-agent").is_some());
    world.run(["release", "T-1", "--force", "--reason", "its agent is dead"]).exits(0);
    assert_eq!(world.run(["session", "list"]).exits(0).stdout, "no sessions\n");
}

#[test]
fn session_that_cannot_be_looked_at_is_not_called_dead() {
    let world = TestProject::new();
    for task in ["T-1", "T-2", "T-3"] {
        world.run(["task", "add", task, "some work"]).exits(0);
    }
    // On another host, without a process, and a person.
    world.add_session("elsewhere");
    world.run(["session", "upsert", "--id", "unrecorded", "--role", "worker"]).exits(0);
    world.run(["--session", "elsewhere", "claim", "T-1"]).exits(0);
    world.run(["--session", "unrecorded", "claim", "T-2"]).exits(0);
    world.run(["claim", "T-3"]).exits(0);
    for words in
        [&["task", "list"][..], &["ready", "--why"], &["task", "show", "T-1"], &["session", "list"], &["doctor"]]
    {
        let shown = world.run(words).exits(0).stdout;
        assert!(!shown.contains("dead") && !shown.contains("--force"), "{words:?}:\n{shown}");
    }
    let listed = world.json(["session", "list"]);
    for one in listed.as_array().unwrap() {
        assert_eq!((&one["alive"], &one["alive_source"]), (&Value::Null, &json!("none")), "{one}");
    }
    assert_eq!(world.json(["status"])["needs_you"], json!([]));
    assert_eq!(world.json(["task", "show", "T-3"]).get("claimant"), None, "a person has no session");

    // Stale is a suspicion, and is called that.
    world.run(["session", "upsert", "--id", "unrecorded", "--status", "stale"]).exits(0);
    assert!(world.run(["task", "list"]).stdout.contains("unrecorded (stale)"));
    let needs = world.json(["status"])["needs_you"].clone();
    assert_eq!((&needs[0]["id"], needs.as_array().unwrap().len()), (&json!("stale:unrecorded"), 1));
}

#[test]
fn session_that_a_person_stopped_is_at_rest_and_one_that_died_is_not() {
    let (world, session) = working();
    world.run(["session", "stop", "api-agent"]).exits(0);
    assert_eq!(need(&world, "dead:api-agent"), None);
    let board = world.json(["status"]);
    let stopped = &board["lanes"][0]["sessions"][0];
    let me = world.json(["session", "show", "api-agent"])["reason"].as_str().unwrap().to_owned();
    assert_eq!(me, format!("stopped by {}", stopped["stopped_by"].as_str().unwrap()));
    let shown = world.run(["status"]).exits(0).stdout;
    assert!(shown.starts_with("nothing needs you"), "{shown}");
    let row = shown.lines().find(|line| line.contains("api-agent")).unwrap();
    assert!(row.starts_with("○ api") && row.contains("stopped by you"), "{row}");
    assert!(row.contains("release it? fairway release T-1 --force --reason TEXT"), "{row}");
    // One that dies is an item as before.
    let other = world.launch(&["--role", "dev", "--lane", "api", "--name", "second", "--", "sleep", "600"]);
    world.run(["task", "add", "T-2", "Refunds"]).exits(0);
    world.run(["--session", "second", "--as", "dev", "claim", "T-2"]).exits(0);
    kill_all(&other);
    let died = need(&world, "dead:second").unwrap();
    let commands: Vec<&Value> = died["commands"].as_array().unwrap().iter().map(|next| &next["command"]).collect();
    // Its program was one of its own, which is not stored.
    assert_eq!(commands, ["fairway start T-2", "fairway release T-2 --force --reason TEXT"], "{session}");
}

/// A host that launches a session in the lane of a dead one records that end first: from the sandbox nothing could tell.
#[test]
fn launch_in_the_lane_of_a_dead_session_records_its_end() {
    let (world, session) = working();
    let launch = |name: &str| {
        world.launch(&["--role", "dev", "--lane", "api", "--name", name, "--", "sleep", "1000"]);
    };
    launch("beside");
    assert_eq!(world.session("api-agent")["status"], "running", "it lives");
    kill_all(&session);
    assert_eq!(world.session("api-agent")["status"], "running", "nothing has recorded its end");
    launch("next");
    let ended = world.session("api-agent");
    assert_eq!(ended["status"], "failed", "{ended:?}");
    let Some(claimed) = in_sandbox(&world, &["--session", "next", "claim", "--json"]) else {
        require::met(false, "no pid namespace can be made: it needs root");
        return;
    };
    let claimed = claimed.exits(0).json();
    assert_eq!((&claimed["takeover"], &claimed["from"]), (&json!("continued"), &json!("api-agent")));
}
