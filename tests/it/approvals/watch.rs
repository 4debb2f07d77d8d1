//! A person who watches: requests come at once, wait longer, and are closed everywhere by one answer.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use fairway_core::os::pty;
use fairway_core::os::terminal::Size;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, require};
use crate::hooks::{command, started};
use crate::sessions::{Sessions, eventually};

/// Longer than the usual wait in these tests, and much shorter than the long one.
const BEYOND_USUAL: Duration = Duration::from_millis(1_500);

/// A world whose requests wait half a second, with the hooks of this version.
fn world() -> TestProject {
    let world = TestProject::new();
    world.real_time();
    fs::write(world.root().join(".fairway/local.toml"), "[hooks]\napproval_wait = \"300ms\"\n").unwrap();
    world.run(["hook", "install", "claude"]).exits(0);
    world
}

fn ask(world: &TestProject, session: Option<(&str, &str)>) -> Child {
    let mut payload = command("claude", "a", "touch x");
    payload["hook_event_name"] = "PermissionRequest".into();
    let mut hook = world.fairway(["hook", "claude", "PermissionRequest"]);
    if let Some((session, run)) = session {
        hook.env("FAIRWAY_SESSION_ID", session).env("FAIRWAY_RUN_ID", run);
    }
    started(hook, payload.to_string().as_bytes())
}

fn pending(world: &TestProject) -> Value {
    eventually("a request", || world.json(["approvals", "list"]).as_array()?.last().cloned())
}

/// A process that is killed when the test ends, however it ends.
struct Watcher {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watcher {
    fn start(world: &TestProject, args: &[&str]) -> Self {
        let mut command = world.fairway(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().expect("a line").unwrap()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn reply(hook: Child) -> CommandOutput {
    CommandOutput::from(hook.wait_with_output().unwrap()).exits(0)
}

#[test]
fn watcher_sees_each_request_and_its_answer_and_makes_it_wait() {
    let world = world();
    let mut watcher = Watcher::start(&world, &["approvals", "--watch", "--json"]);
    let mut other = Watcher::start(&world, &["approvals", "watch"]);
    let hook = ask(&world, None);
    let asked: Value = serde_json::from_str(&watcher.line()).unwrap();
    assert_eq!((&asked["status"], &asked["tool"]), (&json!("pending"), &json!("Bash")));
    assert!(other.line().contains("asks for Bash: touch x"));
    assert!(other.line().contains("fairway approvals answer 1 allow"));
    std::thread::sleep(BEYOND_USUAL);
    assert_eq!(pending(&world)["answerable"], true, "a person watches");
    world.run(["approvals", "answer", "1", "allow"]).exits(0);
    assert_eq!(reply(hook).json()["hookSpecificOutput"]["decision"]["behavior"], "allow");
    let closed: Value = serde_json::from_str(&watcher.line()).unwrap();
    assert_eq!((&closed["id"], &closed["status"]), (&json!(1), &json!("allowed")));
    assert!(other.line().starts_with("approval 1: allowed by "));
    assert_eq!(world.json(["status"])["needs_you"], json!([]));
}

#[test]
fn long_wait_ends_with_the_watcher_even_if_it_is_killed() {
    let world = world();
    let watcher = Watcher::start(&world, &["approvals", "list", "--watch", "--json"]);
    let hook = ask(&world, None);
    pending(&world);
    std::thread::sleep(BEYOND_USUAL);
    assert_eq!(pending(&world)["answerable"], true);
    let start = Instant::now();
    drop(watcher);
    assert_eq!(reply(hook).stdout, "", "the provider asks now");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!(pending(&world)["answerable"], false);
}

#[test]
fn watch_ends_after_its_time_and_needs_no_request() {
    let world = TestProject::new();
    let run = world.run(["approvals", "watch", "--for", "50ms"]).exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", "watching for permission requests; Ctrl-C ends\n"));
}

/// An entry of an earlier version lets its hook run for 65 s: the provider would end a longer wait.
#[test]
fn request_waits_no_longer_than_its_installed_hook_may_run() {
    let world = world();
    let file = world.root().join(".claude/settings.json");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"timeout\": 615"), "{text}");
    fs::write(&file, text.replace("\"timeout\": 615", "\"timeout\": 15")).unwrap();
    let doctor = world.run(["doctor", "hooks", "claude"]);
    let told = "a permission request waits at most 0s for an answer, not up to 10m";
    assert!(doctor.stdout.contains(told), "{doctor:?}");
    let _watcher = Watcher::start(&world, &["approvals", "watch"]);
    let hook = ask(&world, None);
    pending(&world);
    assert_eq!(reply(hook).stdout, "", "the usual time only");
}

/// The provider ends its hook, or both crash: nobody would get the answer.
#[test]
fn answer_to_a_hook_that_has_ended_is_refused() {
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let world = world();
        let _watcher = Watcher::start(&world, &["approvals", "watch"]);
        let hook = ask(&world, None);
        let id = pending(&world)["id"].to_string();
        assert_eq!(pending(&world)["answerable"], true);
        kill(Pid::from_raw(i32::try_from(hook.id()).unwrap()), signal).unwrap();
        let ended = hook.wait_with_output().unwrap();
        if signal == Signal::SIGTERM {
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert_eq!((ended.status.code(), ended.stdout.len()), (Some(1), 0), "{said}");
            let stored = world.value("SELECT answerable FROM approvals");
            assert_eq!(stored, "0", "the hook has closed it");
        }
        assert_eq!(pending(&world)["answerable"], false, "{signal}");
        let table = world.run(["approvals", "list"]).exits(0).stdout;
        assert!(table.contains(" pending  no "), "{table}");
        for answer in ["allow", "deny"] {
            world.run(["approvals", "answer", &id, answer, "--json"]).refuses(5, "not_answerable");
        }
        let board = world.json(["status"]);
        assert!(!board["needs_you"][0]["commands"].to_string().contains("approvals answer"), "{board}");
        let session = world.json(["session", "list"])[0].clone();
        assert_eq!(session["activity"], "requires_action", "the provider asks in its own window now");
        // The next turn shows that it was answered there.
        let mut payload = command("claude", "a", "touch x");
        payload["hook_event_name"] = "UserPromptSubmit".into();
        let turn = started(world.fairway(["hook", "claude", "UserPromptSubmit"]), payload.to_string().as_bytes());
        reply(turn);
        world.run(["approvals", "answer", &id, "allow", "--json"]).refuses(4, "approval_lapsed");
    }
}

/// A session without a terminal is not watched: its request waits, until a person comes to it.
#[test]
fn request_of_a_session_without_a_terminal_waits_until_one_is_attached() {
    let world = Sessions::new();
    fs::write(world.root().join(".fairway/local.toml"), "[hooks]\napproval_wait = \"300ms\"\n").unwrap();
    let launched = world.launch(&["--role", "dev", "--name", "s1", "--", "sleep", "60"]);
    let run = launched["run_id"].as_str().unwrap().to_owned();
    let hook = ask(&world, Some(("s1", &run)));
    pending(&world);
    std::thread::sleep(BEYOND_USUAL);
    assert_eq!(pending(&world)["answerable"], true, "no terminal is attached");
    let _terminal = Watcher::start(&world, &["session", "attach", "s1"]);
    assert_eq!(reply(hook).stdout, "", "the provider asks at the terminal");
    assert_eq!(pending(&world)["answerable"], false);
}

/// The multiplexer's own command tells nobody that a person has come.
#[test]
fn terminal_attached_by_the_multiplexer_ends_the_long_wait() {
    if !require::program("tmux") {
        return;
    }
    let world = Sessions::new();
    fs::write(world.root().join(".fairway/local.toml"), "[hooks]\napproval_wait = \"300ms\"\n").unwrap();
    let launched = world.launch(&["--role", "dev", "--backend", "tmux", "--name", "s1", "--", "sleep", "60"]);
    let run = launched["run_id"].as_str().unwrap().to_owned();
    let hook = ask(&world, Some(("s1", &run)));
    pending(&world);
    std::thread::sleep(BEYOND_USUAL);
    assert_eq!(pending(&world)["answerable"], true, "no terminal is attached");
    let socket = launched["socket"].as_str().unwrap();
    let (_terminal, end) = pty::open(Size { rows: 24, cols: 80 }).unwrap();
    let mut attach = world.command("tmux");
    attach.args(["-S", socket, "attach"]).env("TERM", "xterm").stdin(end.try_clone().unwrap());
    let mut attach = attach.stdout(end.try_clone().unwrap()).stderr(end).spawn().unwrap();
    assert_eq!(reply(hook).stdout, "", "the provider asks at the terminal");
    let _ = world.command("tmux").args(["-S", socket, "kill-server"]).output();
    attach.wait().unwrap();
}
