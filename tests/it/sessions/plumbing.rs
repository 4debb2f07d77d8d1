//! The plumbing below `fairway adapter`, and the built-in script in the hands of other callers, without any project.

use std::{
    fs,
    io::Write,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::PathBuf,
    process::{Command, Stdio},
};

use fairway::os::{
    process::{Presence, ProcessKey},
    tree,
};

use super::eventually;
use crate::common::{World, world::Run};

/// A caller that knows nothing of Fairway but its script.
struct Caller {
    world: World,
    script: PathBuf,
}

impl Caller {
    fn new() -> Self {
        let world = World::bare();
        world.real_time();
        let folder = world.dir().join("scripts");
        let run = world.run(["adapter", "install", &folder.display().to_string()]).exits(0);
        assert!(run.stdout.contains("/shell.sh"), "{run:?}");
        Self { script: folder.join("shell.sh"), world }
    }

    fn call(&self, args: &[&str], stdin: &str) -> Run {
        let mut command: Command = self.world.command(&self.script);
        command.args(args).env("FAIRWAY_BIN", crate::common::world::FAIRWAY);
        command.env("GC_EXEC_STATE_DIR", self.world.dir().join("state"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        child.wait_with_output().unwrap().into()
    }
}

#[test]
fn another_caller_without_a_project_is_served() {
    let caller = Caller::new();
    let name = "city/agent; touch x #..";
    let start = r#"{"command":"echo \"$GREETING\"; echo \"[${TMPDIR-unset}]\"; sleep 300 & wait","env":{"GREETING":"hi there","TMPDIR":""},"work_dir":"/","lifecycle":{}}"#;
    assert_eq!(caller.call(&["is-running", name], "").exits(0).stdout, "false\n");
    let report = caller.call(&["start", name], start).exits(0).json();
    assert_eq!((&report["session_name"], &report["status"]), (&name.into(), &"running".into()));
    assert_eq!(caller.call(&["is-running", name], "").exits(0).stdout, "true\n");
    eventually("it prints", || {
        (caller.call(&["peek", name, "0"], "").exits(0).stdout == "hi there\n[unset]\n").then_some(())
    });
    assert_eq!(caller.call(&["peek", name, "1"], "").exits(0).stdout, "[unset]\n");
    assert_eq!(caller.call(&["peek", name, "-1"], "").exits(0).stdout, "hi there\n[unset]\n");
    let again = caller.call(&["start", name], "{}").exits(1);
    assert!(again.stderr.contains("already exists"), "{again:?}");
    let pid = i32::try_from(report["pid"].as_i64().unwrap()).unwrap();
    let key = ProcessKey::of(pid).unwrap();
    caller.call(&["stop", name], "").exits(0);
    assert_ne!(ProcessKey::of(pid), Some(key));
    assert_eq!(caller.call(&["is-running", name], "").exits(0).stdout, "false\n");
    assert_eq!(caller.call(&["peek", name, "0"], "").exits(0).stdout, "");
    caller.call(&["stop", name], "").exits(0);
    assert_eq!(fs::metadata(caller.world.dir().join("state")).unwrap().mode() & 0o777, 0o700);
    let left: Vec<_> =
        fs::read_dir(caller.world.dir().join("state")).unwrap().flatten().map(|one| one.file_name()).collect();
    assert_eq!(left, [".lock"]);
}

#[test]
fn the_script_keeps_to_the_exit_codes_of_the_protocol() {
    let caller = Caller::new();
    for operation in ["attach", "nudge", "set-meta", "list-running", "made-up"] {
        let run = caller.call(&[operation, "x"], "").exits(2);
        assert_eq!(run.stdout, "");
    }
    assert_eq!(caller.call(&["protocol"], "").exits(0).stdout, "{\"version\":0,\"capabilities\":[]}\n");
    for (args, stdin) in [
        (&[][..], ""),
        (&["start"], "{}"),
        (&["start", "x"], "no json"),
        (&["start", "x"], "[]"),
        (&["start", "x"], r#"{"work_dir":"/no/such/folder"}"#),
        (&["start", "x"], r#"{"argv":["no-such-program"]}"#),
    ] {
        let run = caller.call(args, stdin).exits(1);
        assert!(!run.stderr.is_empty() && run.stdout.is_empty(), "{args:?}: {run:?}");
        assert_eq!(caller.call(&["is-running", "x"], "").exits(0).stdout, "false\n");
    }
    for key in ["A", "B", "absent", ""] {
        assert_eq!(caller.call(&["get-meta", "x", key], "").exits(0).stdout, "", "of a missing session");
    }
    caller.call(&["start", "x"], r#"{"command":"sleep 300","env":{"A":"one\n two ","B":""}}"#).exits(0);
    assert_eq!(caller.call(&["get-meta", "x", "A"], "").exits(0).stdout, "one\n two ");
    for key in ["B", "absent", ""] {
        assert_eq!(caller.call(&["get-meta", "x", key], "").exits(0).stdout, "", "{key}");
    }
    caller.call(&["stop", "x"], "").exits(0);
    // A dead one is recycled; arguments are exact.
    for _ in 0..2 {
        caller.call(&["start", "x"], r#"{"argv":["printf","%s|","a b","$HOME",";"]}"#).exits(0);
        eventually("it has ended", || (caller.call(&["is-running", "x"], "").stdout == "false\n").then_some(()));
        assert_eq!(caller.call(&["peek", "x", "0"], "").exits(0).stdout, "a b|$HOME|;|\n");
    }
    caller.call(&["stop", "x"], "").exits(0);
}

#[test]
fn a_session_inside_a_session_does_not_end_the_outer_one() {
    let caller = Caller::new();
    let world = &caller.world;
    world.run(["init"]).exits(0);
    let root = world.root();
    let inner =
        format!(r#"printf '%s' '{{"argv":["env"]}}' | "{}" start inner; exec sleep 300"#, caller.script.display());
    let command = ["session", "launch", "--role", "r", "--name", "outer", "--", "sh", "-c", inner.as_str()];
    world.run(command).exits(0);
    let path = world.dir().join("home/.local/state/fairway/adapters/s-inner/transcript");
    let seen = eventually("the inner one has printed", || {
        fs::read_to_string(&path).ok().filter(|seen| seen.contains("HOME="))
    });
    let ours: Vec<&str> = seen.lines().filter(|line| line.starts_with("FAIRWAY_")).collect();
    assert_eq!(ours.len(), 1, "only its own mark: {ours:?}");
    assert!(ours[0].starts_with("FAIRWAY_RUN_ID="));
    let conn = rusqlite::Connection::open(root.join(".fairway/fairway.db")).unwrap();
    let status: String = conn.query_row("SELECT status FROM agent_sessions", [], |row| row.get(0)).unwrap();
    assert_eq!(status, "running");
    world.run(["session", "stop", "outer"]).exits(0);
}

#[test]
fn a_session_that_was_started_inside_another_outlives_it() {
    let world = super::Sessions::new();
    let inner = r#""$FAIRWAY_BIN" session launch --role r --name inner -- sleep 300
        env -i setsid -f sleep 299; sleep 298 & wait"#;
    let outer = world.launch(&["--role", "r", "--name", "outer", "--", "sh", "-c", inner]);
    let pid = i32::try_from(outer["pid"].as_i64().unwrap()).unwrap();
    let tree = eventually("all is up", || tree::below(pid, None).ok().filter(|found| found.len() >= 6));
    let is_up = || {
        world.rows("SELECT status FROM agent_sessions WHERE id = 'inner'").iter().any(|row| row["status"] == "running")
    };
    eventually("the inner one runs", || is_up().then_some(()));
    world.run(["session", "stop", "outer"]).exits(0);
    let inner = i32::try_from(world.session("inner")["pid"].parse::<i64>().unwrap()).unwrap();
    let inner: Vec<ProcessKey> = tree::below(inner, None).unwrap();
    assert_eq!(inner.len(), 2, "its supervisor and its program: {inner:?}");
    let alive = |key: &&ProcessKey| key.presence() == Presence::Alive;
    let left: Vec<&ProcessKey> = tree.iter().filter(alive).filter(|key| !inner.contains(key)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(world.session("inner")["status"], "running");
    world.run(["session", "stop", "inner"]).exits(0);
    assert!(!inner.iter().any(|key| alive(&key)));
}

#[test]
fn run_in_the_foreground_answers_with_the_exit_code() {
    let world = World::bare();
    world.run_with(["adapter", "unpack", "x"], br#"{"command":"cat; exit 7"}"#).exits(0);
    let run = world.run_with(["adapter", "run", "x"], b"through\n").exits(7);
    assert_eq!(run.stdout, "through\n");
    world.run_with(["adapter", "unpack", "y"], br#"{"command":"kill -TERM $$"}"#).exits(0);
    world.run(["adapter", "run", "y"]).exits(143);
    world.run(["adapter", "run", "nobody"]).exits(1);
    world.run(["adapter", "kill-tree", "x"]).exits(0);
    world.run(["adapter", "kill-tree", "y"]).exits(0);
}

#[test]
fn tee_rotates_and_is_private() {
    let world = World::bare();
    let path = world.root().join("deep/t.log");
    let name = path.display().to_string();
    world.run_with(["adapter", "tee", &name, "--limit", "10"], b"0123456789abc").exits(0);
    assert_eq!(fs::read_to_string(&path).unwrap(), "abc");
    assert_eq!(fs::read_to_string(path.with_file_name("t.log.1")).unwrap(), "0123456789");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    // A device is not a transcript, and stays as it is.
    let mode = || fs::metadata("/dev/full").unwrap().mode();
    let before = mode();
    world.run_with(["adapter", "tee", "/dev/full"], b"x").exits(1);
    assert_eq!(mode(), before);
}

#[test]
fn install_keeps_what_was_changed() {
    let caller = Caller::new();
    let folder = caller.script.parent().unwrap().display().to_string();
    caller.world.run(["adapter", "install", &folder]).exits(0);
    fs::write(&caller.script, "mine").unwrap();
    fs::set_permissions(&caller.script, fs::Permissions::from_mode(0o755)).unwrap();
    caller.world.run(["adapter", "install", &folder]).exits(1);
    assert_eq!(fs::read_to_string(&caller.script).unwrap(), "mine");
    assert_eq!(caller.world.run(["adapter", "list", "--quiet"]).exits(0).stdout, "shell\n");
}

#[test]
fn of_six_starts_under_one_name_one_succeeds() {
    let caller = Caller::new();
    let barrier = std::sync::Barrier::new(6);
    let runs: Vec<Run> = std::thread::scope(|scope| {
        let start = || {
            barrier.wait();
            caller.call(&["start", "x"], r#"{"command":"sleep 300"}"#)
        };
        let callers: Vec<_> = (0..6).map(|_| scope.spawn(start)).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    let (won, lost): (Vec<_>, Vec<_>) = runs.iter().partition(|run| run.code == Some(0));
    assert_eq!((won.len(), lost.len()), (1, 5), "{runs:#?}");
    assert!(lost.iter().all(|run| run.stderr.contains("already exists")), "{lost:#?}");
    caller.call(&["stop", "x"], "").exits(0);
    let pid = i32::try_from(won[0].json()["pid"].as_i64().unwrap()).unwrap();
    assert_eq!(ProcessKey::of(pid), None);
}
