//! Session ids and the names in the backends: one user's projects share the backends, and a failed launch burns no id.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use super::{Sessions, eventually, text};
use crate::common::require;
use crate::common::test_project::CommandOutput;

/// A second project of the same user, with the same home.
struct SecondProject<'a> {
    world: &'a Sessions,
    root: PathBuf,
}

impl<'a> SecondProject<'a> {
    fn new(world: &'a Sessions) -> Self {
        let root = world.dir().join("second");
        std::fs::create_dir(&root).unwrap();
        let this = Self { world, root };
        this.run(&["init", "--quiet"]).exits(0);
        this
    }

    fn run(&self, args: &[&str]) -> CommandOutput {
        CommandOutput::from(self.world.fairway(args).current_dir(&self.root).output().unwrap())
    }

    fn show(&self, id: &str) -> Value {
        self.run(&["session", "show", id, "--json"]).exits(0).json()
    }
}

impl Drop for SecondProject<'_> {
    fn drop(&mut self) {
        let _ = self.run(&["session", "stop", "m1"]);
    }
}

fn assert_two_projects_run_one_id(backend: &str, separator: char) {
    if backend != "shell" && !require::program(backend) {
        return;
    }
    let world = Sessions::new();
    let second = SecondProject::new(&world);
    let launch = |own: &str| {
        let script = format!("echo in {own}; exec sleep 300");
        let mut words = vec!["session", "launch", "--json", "--role", "r", "--id", "m1", "--backend", backend, "--"];
        words.extend(["sh", "-c", &script]);
        let run = if own == "first" { world.run(&words) } else { second.run(&words) };
        run.exits(0).json()
    };
    let (one, two) = (launch("first"), launch("second"));
    for session in [&one, &two] {
        let name = text(&session["session_name"]);
        let project = name.strip_prefix(&format!("m1{separator}")).unwrap_or_else(|| panic!("{name}"));
        assert!(project.len() == 6 && project.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    }
    assert_ne!(one["session_name"], two["session_name"]);
    // Each is looked at, asked for and stopped by its own project alone.
    eventually("each shows its own output", || {
        let (first, other) = (world.run(["session", "peek", "m1"]), second.run(&["session", "peek", "m1"]));
        (first.stdout.contains("in first") && other.stdout.contains("in second")).then_some(())
    });
    let reconciled = world.json(["session", "reconcile"]);
    assert_eq!((&reconciled["stale"], &reconciled["unknown"]), (&Value::Array(Vec::new()), &Value::Array(Vec::new())));
    world.run(["session", "stop", "m1"]).exits(0);
    assert_eq!(second.run(&["session", "reconcile", "--json"]).exits(0).json()["stale"], Value::Array(Vec::new()));
    assert_eq!(second.show("m1")["status"], "running", "{backend}");
    assert!(second.run(&["session", "peek", "m1"]).exits(0).stdout.contains("in second"));
    second.run(&["session", "stop", "m1"]).exits(0);
    assert_eq!(second.show("m1")["status"], "ended");
}

#[test]
fn two_projects_run_one_id_in_shell() {
    assert_two_projects_run_one_id("shell", '.');
}

#[test]
fn two_projects_run_one_id_in_tmux() {
    assert_two_projects_run_one_id("tmux", '-');
}

#[test]
fn two_projects_run_one_id_in_screen() {
    assert_two_projects_run_one_id("screen", '-');
}

#[test]
fn two_projects_run_one_id_in_zellij() {
    assert_two_projects_run_one_id("zellij", '-');
}

#[test]
fn name_survives_a_restore_of_the_store() {
    let world = Sessions::new();
    let backup = world.dir().join("backup.db");
    let backup = backup.to_str().unwrap();
    let name =
        || text(&world.json(["session", "launch", "--role", "r", "--id", "a", "--dry-run"])["session"]["session_name"]);
    let before = name();
    world.run(["backup", backup]).exits(0);
    world.run(["restore", backup]).exits(0);
    assert_eq!(name(), before);
}

#[test]
fn session_of_an_earlier_version_keeps_its_name() {
    let world = Sessions::new();
    let calls = world.dir().join("calls");
    let script = format!(
        "#!/bin/sh\necho \"$1 $2\" >>'{}'\ncase $1 in start) cat >/dev/null ;; is-running) echo true ;; stop | nudge) ;; *) exit 2 ;; esac\n",
        calls.display()
    );
    let backend = format!("exec:{}", world.script("backend", &script).display());
    world.launch(&["--role", "r", "--id", "s1", "--backend", &backend, "--", "true"]);
    let started = world.backend_name("s1");
    assert!(started.starts_with("s1-"), "{started}");
    world.write_rows("UPDATE agent_sessions SET session_name = 's1' WHERE id = 's1'");
    world.run(["session", "nudge", "s1", "x"]).exits(0);
    world.run(["session", "stop", "s1"]).exits(0);
    let calls = std::fs::read_to_string(calls).unwrap();
    assert!(calls.contains(&format!("start {started}\n")), "{calls}");
    assert!(calls.contains("nudge s1\n") && calls.contains("stop s1\n"), "{calls}");
    assert!(!calls.contains(&format!("stop {started}\n")), "{calls}");
}

#[test]
fn failed_launch_burns_no_id() {
    let world = Sessions::new();
    for backend in ["shell", "tmux"] {
        let launch = |words: &[&str]| {
            let id = format!("m-{backend}");
            let flags = ["session", "launch", "--json", "--role", "r", "--id", &id, "--backend", backend, "--"];
            world.run(flags.iter().chain(words))
        };
        launch(&["sh", "-c", "exit 3"]).refuses(7, "program_failed");
        launch(&["sh", "-c", "exit 4"]).refuses(7, "program_failed");
        let session = launch(&["sleep", "300"]).exits(0).json();
        let id = text(&session["id"]);
        assert_eq!((id.as_str(), &session["status"]), (format!("m-{backend}").as_str(), &"running".into()));
        assert_eq!(
            (&session["requested_id"], &session["exit_code"], &session["reason"]),
            (&Value::Null, &Value::Null, &Value::Null)
        );
        // The failed ones stay in the history.
        let kinds = world.rows(&format!("SELECT kind FROM events WHERE session_id = '{id}' ORDER BY seq"));
        let kinds: Vec<&str> = kinds.iter().map(|row| row["kind"].as_str()).collect();
        let failed = ["session.starting", "session.failed"];
        assert_eq!(kinds, [&failed[..], &failed, &["session.starting", "session.running"]].concat());
        world.run(["session", "stop", &id]).exits(0);
    }
    // One that ran and failed later is history.
    world.launch(&["--role", "r", "--id", "late", "--", "sh", "-c", "sleep 1; exit 5"]);
    eventually("it has failed", || (world.session("late")["status"] == "failed").then_some(()));
    assert_eq!(world.launch(&["--role", "r", "--id", "late", "--", "true"])["id"], "late-2");
    // So is one that was registered by hand.
    world.run(["session", "upsert", "--id", "own", "--role", "r"]).exits(0);
    world.run(["session", "end", "own", "--status", "failed"]).exits(0);
    assert_eq!(world.launch(&["--role", "r", "--id", "own", "--", "true"])["id"], "own-2");
}

fn assert_attach_command_attaches(backend: &str) {
    if !require::program(backend) {
        return;
    }
    let world = Sessions::new();
    world.launch(&["--role", "r", "--id", "s1", "--backend", backend, "--", "sh", "-c", "echo here; exec sleep 300"]);
    let command = text(&world.json(["session", "show", "s1"])["attach_command"]);
    assert!(world.run(["session", "show", "s1"]).exits(0).stdout.contains(&format!("terminal    {command}\n")));
    let mut client = world
        .command("script")
        .args(["-qec", &format!("stty rows 50 cols 200; TERM=xterm {command}"), "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = Vec::new();
    let mut stdout = client.stdout.take().unwrap();
    while !String::from_utf8_lossy(&shown).contains("here") {
        let mut piece = [0; 4096];
        let count = std::io::Read::read(&mut stdout, &mut piece).unwrap();
        assert!(count > 0, "{command}: {}", String::from_utf8_lossy(&shown));
        shown.extend_from_slice(&piece[..count]);
    }
    world.run(["session", "stop", "s1"]).exits(0);
    drop(stdout);
    client.wait().unwrap();
    assert_eq!(world.json(["session", "show", "s1"])["attach_command"], Value::Null);
}

#[test]
fn attach_command_of_tmux_attaches() {
    assert_attach_command_attaches("tmux");
}

#[test]
fn attach_command_of_screen_attaches() {
    assert_attach_command_attaches("screen");
}

#[test]
fn attach_command_of_zellij_attaches() {
    assert_attach_command_attaches("zellij");
}
