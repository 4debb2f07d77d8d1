//! `provider-event.sh` and the watcher that calls it.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use serde_json::{Value, json};

use super::{Sessions, eventually, text};
use crate::common::require;
use crate::common::test_project::{CommandOutput, FAIRWAY};

const THREAD: &str = "01a1f9d1-efcf-7f13-a7c8-07004617cf34";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn script(world: &Sessions, path: impl AsRef<Path>, args: &[&str]) -> Command {
    let mut command = world.command(path.as_ref());
    command.args(args).env("FAIRWAY_BIN", FAIRWAY);
    command
}

#[track_caller]
fn ran(command: &mut Command) -> CommandOutput {
    command.output().unwrap().into()
}

#[test]
fn script_forwards_arguments_and_the_exit_code() {
    let world = Sessions::new();
    world.run(["task", "add", "T-1", "t"]).exits(0);
    let real = root().join("session-adapters/provider-event.sh");
    let example = root().join("examples/session-adapters/provider-event.sh");
    let (near, far) = (world.dir().join("near"), world.dir().join("home/far link"));
    symlink(&example, &near).unwrap();
    symlink("../near", &far).unwrap();
    let words = "a 'b' \"c\" $(touch canary) `id` \\n; * --state x";
    for (number, path) in [&real, &example, &near, &far].into_iter().enumerate() {
        let external = format!("x {number}");
        let args =
            ["--provider", "acme", "--external-session-id", &external, "--role", "r", "--task-id", "T-1", "--json"];
        let answer = ran(script(&world, path, &args).args(["--state", "waitingOnInput", "--summary", words])).exits(0);
        assert_eq!(answer.json()["checkpoint"]["summary"], words);
        assert_eq!(answer.json()["session"]["external_session_id"], external);
        ran(script(&world, path, &args).args(["--state", "completed", "--role"])).refuses(2, "usage");
        ran(script(&world, path, &args).args(["--state", "failed"])).exits(0);
        ran(script(&world, path, &args).args(["--state", "running"])).refuses(4, "session_final");
        assert!(ran(&mut script(&world, path, &["--help"])).exits(0).stdout.contains("waiting_on_approval"));
        ran(&mut script(&world, path, &[])).exits(1);
        let lost = ran(script(&world, path, &args).env("FAIRWAY_BIN", "/nowhere/fairway")).exits(1);
        assert!(lost.stderr.contains("there is no program '/nowhere/fairway'"), "{}", lost.stderr);
    }
    assert!(!world.root().join("canary").exists());
    // By default it is the one in PATH.
    let bin = world.dir().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(FAIRWAY, bin.join("fairway")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = world.command(&real);
    command.args(["--state", "started", "--provider", "acme", "--external-session-id", "y", "--role", "r"]);
    ran(command.env("PATH", path)).exits(0);
    // A copy by itself says what is missing.
    let copy = world.dir().join("copy.sh");
    fs::copy(&example, &copy).unwrap();
    assert!(ran(&mut script(&world, &copy, &["--state", "x"])).exits(1).stderr.contains("fairway adapter install"));
}

fn watcher(world: &Sessions, args: &[&str]) -> Command {
    let mut command = script(world, root().join("examples/watchers/codex-app-server.py"), args);
    command.args(["--role", "backend", "--task-id", "T-1"]);
    // A version manager's python is found through the real home.
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn with_task() -> Sessions {
    let world = Sessions::new();
    world.run(["task", "add", "T-1", "t"]).exits(0);
    world
}

/// The records on the task, and the events of the session.
fn story(world: &Sessions) -> Vec<String> {
    let checkpoints = world.rows("SELECT state, summary FROM checkpoints ORDER BY id");
    checkpoints.iter().map(|row| format!("{}: {}", row["state"], row["summary"])).collect()
}

fn activities(world: &Sessions) -> Vec<String> {
    let query = "SELECT json_extract(data, '$.to') AS it FROM events WHERE kind = 'session.activity' ORDER BY seq";
    world.rows(query).into_iter().map(|row| row["it"].clone()).collect()
}

#[test]
fn recorded_stream_becomes_events_once() {
    if !require::program("python3") {
        return;
    }
    let world = with_task();
    let queue = world.queue();
    let recorded = root().join("tests/data/codex-app-server.jsonl").display().to_string();
    ran(&mut watcher(&world, &[&recorded])).exits(0);
    let approval = "awaiting_input: /bin/bash -lc 'touch made-by-codex' (need write)";
    let started =
        format!("active: started; codex session {THREAD}, transcript /home/dev/.codex/sessions/rollout.jsonl");
    assert_eq!(story(&world), [started.as_str(), approval]);
    // The turn has ended, the task has not.
    assert_eq!(activities(&world), ["busy", "requires_action", "busy", "idle"]);
    let row = world.rows("SELECT * FROM agent_sessions").pop().unwrap();
    assert_eq!([&row["status"], &row["activity"], &row["external_session_id"]], ["running", "idle", THREAD]);
    assert_eq!(world.queue(), queue);

    let events = world.rows("SELECT * FROM events");
    // Whole, from the middle, and as the bare messages of the server.
    let text = fs::read_to_string(&recorded).unwrap();
    let bare: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("< ")).collect();
    ran(&mut watcher(&world, &[&recorded])).exits(0);
    for stream in [text.lines().skip(6).collect::<Vec<_>>().join("\n"), bare.join("\n")] {
        fed(watcher(&world, &[]), &stream).exits(0);
    }
    assert_eq!(world.rows("SELECT * FROM events"), events);

    // A caller whose only turn it is says so; then a replay opens nothing either.
    ran(&mut watcher(&world, &["--complete", "--handoff-to", "qa", &recorded])).exits(0);
    ran(&mut watcher(&world, &["--complete", "--handoff-to", "qa", &recorded])).exits(0);
    assert_eq!(story(&world)[2..], ["done: all done"]);
    assert_eq!(world.rows("SELECT * FROM handoffs").len(), 1);
    let rows = world.rows("SELECT status FROM agent_sessions");
    assert_eq!(rows.iter().map(|row| &*row["status"]).collect::<Vec<_>>(), ["ended"]);
    assert_eq!(world.queue(), queue);
}

fn fed(mut command: Command, stream: &str) -> CommandOutput {
    let mut child = piped(&mut command);
    child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

fn piped(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn line(method: &str, mut params: Value) -> String {
    params["threadId"] = json!("t1");
    format!("{}\n", json!({ "method": method, "params": params }))
}

fn status(flags: &[&str]) -> String {
    line("thread/status/changed", json!({ "status": { "type": "active", "activeFlags": flags } }))
}

#[test]
fn questions_errors_and_what_comes_after_them() {
    if !require::program("python3") {
        return;
    }
    let world = with_task();
    let turn = |id: &str, status: &str, error: Value| {
        line("turn/completed", json!({ "turn": { "id": id, "status": status, "error": error } }))
    };
    let asked = json!({ "turnId": "u1", "itemId": "i1", "questions": [{ "question": "which\u{1b}[2J port?" }, { "question": "why?" }] });
    let stream = [
        "no json\n[1]\n{\"method\":7}\n{\"method\":\"thread/started\"}\n".to_owned(),
        line("thread/started", json!({ "thread": { "id": "t1" } })),
        status(&[]),
        status(&["waitingOnUserInput"]),
        line("item/tool/requestUserInput", asked),
        status(&[]),
        turn("u1", "interrupted", Value::Null),
        status(&["waitingOnApproval"]),
        status(&[]),
        line("thread/status/changed", json!({ "status": { "type": "systemError" } })),
        turn("u2", "failed", json!({ "message": "the model is away" })),
        // It goes on all the same: a new session.
        status(&[]),
        line("turn/started", json!({ "turn": { "id": "u3" } })),
        "x".repeat(2 << 20),
    ];
    let run = fed(watcher(&world, &[]), &stream.concat());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        story(&world),
        [
            "active: started; codex session t1",
            "awaiting_input: which [2J port? / why?",
            "awaiting_input: waits for an approval",
            "blocked: the model is away",
            "active: started; codex session t1",
        ]
    );
    let rows = world.rows("SELECT status, activity FROM agent_sessions ORDER BY started_at");
    let rows: Vec<_> = rows.iter().map(|row| (&*row["status"], &*row["activity"])).collect();
    assert_eq!(rows, [("failed", "unknown"), ("running", "busy")]);
}

/// A stream stays open while the agent waits: what is known is told at once, not with the next message.
#[test]
fn live_stream_is_reported_while_open() {
    if !require::program("python3") {
        return;
    }
    let world = with_task();
    let mut command = watcher(&world, &[]);
    let mut child = piped(&mut command);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(status(&["waitingOnApproval"]).as_bytes()).unwrap();
    stdin.flush().unwrap();
    eventually("the approval without its words", || {
        (story(&world) == ["awaiting_input: waits for an approval"]).then_some(())
    });
    thread::sleep(Duration::from_millis(10));
    assert!(child.try_wait().unwrap().is_none());
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn refused_event_is_reported_and_the_stream_continues() {
    if !require::program("python3") {
        return;
    }
    let world = with_task();
    world.run(["task", "add", "T-2", "t"]).exits(0);
    fed(watcher(&world, &[]), &status(&[])).exits(0);
    let id = text(&world.json(["session", "list"])[0]["id"]);
    // Another task: refused for good, and no fault of the watcher's.
    let stream =
        [status(&["x"]), line("turn/completed", json!({ "turn": { "id": "u", "status": "failed" } }))].concat();
    let mut other = watcher(&world, &[]);
    other.args(["--task-id", "T-2"]);
    let run = fed(other, &stream).exits(0);
    assert_eq!(run.stderr.matches("works on T-1, not on T-2").count(), 2, "{}", run.stderr);
    assert_eq!(world.session(&id)["status"], "running");
    // A lane that nobody knows is.
    let mut other = watcher(&world, &["--lane", "nowhere"]);
    other.env("LANG", "C");
    fed(other, &status(&["y"])).exits(1);
}
