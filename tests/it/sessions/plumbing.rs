//! The plumbing below `fairway adapter`, and the built-in script in the hands of other callers, without any project.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Stdio;

use fairway_core::env::Timestamp;
use fairway_core::os::process::{ProcessKey, ProcessStatus};
use fairway_core::os::process_tree;
use serde_json::json;

use super::external_caller::Caller;
use super::{eventually, marked};
use crate::common::TestProject;
use crate::common::mount::Mount;
use crate::common::test_project::CommandOutput;

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
fn script_keeps_to_the_exit_codes_of_the_protocol() {
    let caller = Caller::new();
    for operation in ["exec", "provision", "watch-startup", "stream", "made-up"] {
        let run = caller.call(&[operation, "x"], "").exits(2);
        assert_eq!(run.stdout, "");
    }
    // A session that is not there is never an error, except to whoever wants to sit down at it.
    for operation in ["stop", "interrupt", "nudge", "send-keys", "set-meta", "remove-meta", "copy-to"] {
        assert_eq!(caller.call(&[operation, "x", "key"], "").exits(0).stdout, "", "{operation}");
    }
    for operation in ["peek", "clear-scrollback", "check-image", "get-last-activity", "list-running"] {
        assert_eq!(caller.call(&[operation, "x"], "").exits(0).stdout, "", "{operation}");
    }
    for operation in ["is-running", "process-alive", "is-attached"] {
        assert_eq!(caller.call(&[operation, "x"], "").exits(0).stdout, "false\n", "{operation}");
    }
    caller.call(&["attach", "x"], "").exits(1);
    let protocol = caller.call(&["protocol"], "").exits(0).json();
    assert_eq!(protocol["version"], 0);
    for capability in ["start-nudge", "ready", "report-attachment", "report-activity"] {
        let stated = protocol["capabilities"].as_array().unwrap();
        assert!(stated.contains(&json!(capability)), "{capability}: {protocol}");
    }
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
    caller
        .call(&["start", "x"], r#"{"command":"sleep 300","env":{"GC_A":"one\n two ","A":"a secret","B":""}}"#)
        .exits(0);
    assert_eq!(caller.call(&["get-meta", "x", "GC_A"], "").exits(0).stdout, "one\n two ");
    for key in ["A", "B", "absent", ""] {
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
fn session_inside_a_session_does_not_end_the_outer_one() {
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
fn session_that_was_started_inside_another_outlives_it() {
    let world = super::Sessions::new();
    let inner = r#""$FAIRWAY_BIN" session launch --role r --name inner -- sleep 300
        env -i setsid -f sleep 299; sleep 298 & wait"#;
    let outer = world.launch(&["--role", "r", "--name", "outer", "--", "sh", "-c", inner]);
    let pid = i32::try_from(outer["pid"].as_i64().unwrap()).unwrap();
    let tree = eventually("all is up", || process_tree::subtree(pid, None).ok().filter(|found| found.len() >= 6));
    let is_up = || {
        world.rows("SELECT status FROM agent_sessions WHERE id = 'inner'").iter().any(|row| row["status"] == "running")
    };
    eventually("the inner one runs", || is_up().then_some(()));
    world.run(["session", "stop", "outer"]).exits(0);
    let inner = i32::try_from(world.session("inner")["pid"].parse::<i64>().unwrap()).unwrap();
    let inner: Vec<ProcessKey> = process_tree::subtree(inner, None).unwrap();
    assert_eq!(inner.len(), 2, "its supervisor and its program: {inner:?}");
    let alive = |key: &&ProcessKey| key.status() == ProcessStatus::Alive;
    let left: Vec<&ProcessKey> = tree.iter().filter(alive).filter(|key| !inner.contains(key)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(world.session("inner")["status"], "running");
    world.run(["session", "stop", "inner"]).exits(0);
    assert!(!inner.iter().any(|key| alive(&key)));
}

#[test]
fn run_in_the_foreground_answers_with_the_exit_code() {
    let world = TestProject::uninitialized();
    world.run_with_stdin(["adapter", "unpack", "x"], br#"{"command":"cat; exit 7"}"#).exits(0);
    let run = world.run_with_stdin(["adapter", "run", "x"], b"through\n").exits(7);
    assert_eq!(run.stdout, "through\n");
    world.run_with_stdin(["adapter", "unpack", "y"], br#"{"command":"kill -TERM $$"}"#).exits(0);
    world.run(["adapter", "run", "y"]).exits(143);
    world.run(["adapter", "run", "nobody"]).exits(1);
    world.run(["adapter", "kill-tree", "x"]).exits(0);
    world.run(["adapter", "kill-tree", "y"]).exits(0);
}

/// A multiplexer may start the program before it has set the size of its pane.
#[test]
fn terminal_of_unknown_size_begins_with_the_one_that_was_asked_for() {
    for (asked, size) in [(r#","terminal":{"rows":33,"cols":177}"#, "33 177"), ("", "50 200")] {
        let world = TestProject::uninitialized();
        let start = format!(r#"{{"command":"stty size"{asked}}}"#);
        world.run_with_stdin(["adapter", "unpack", "x"], start.as_bytes()).exits(0);
        let mut run = world.fairway(["adapter", "run", "--record", "x"]);
        let mut run = run.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // The end of its stdin would be that of the pane.
        let _input = run.stdin.take();
        assert!(run.wait().unwrap().success());
        let mut shown = String::new();
        run.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
        assert_eq!(shown, format!("{size}\r\n"));
    }
}

#[test]
fn tee_rotates_and_is_private() {
    let world = TestProject::uninitialized();
    let path = world.root().join("deep/t.log");
    let name = path.display().to_string();
    world.run_with_stdin(["adapter", "transcript", &name, "--limit", "10"], b"0123456789abc").exits(0);
    assert_eq!(fs::read_to_string(&path).unwrap(), "abc");
    assert_eq!(fs::read_to_string(path.with_file_name("t.log.1")).unwrap(), "0123456789");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    // A device is not a transcript, and stays as it is.
    let mode = || fs::metadata("/dev/full").unwrap().mode();
    let before = mode();
    world.run_with_stdin(["adapter", "transcript", "/dev/full"], b"x").exits(1);
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
    assert_eq!(caller.world.run(["adapter", "list", "--quiet"]).exits(0).stdout, "shell\nacp\ntmux\nscreen\nzellij\n");
}

#[test]
fn six_racing_starts_of_one_name_succeed_once() {
    let caller = Caller::new();
    let barrier = std::sync::Barrier::new(6);
    let runs: Vec<CommandOutput> = std::thread::scope(|scope| {
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

#[test]
fn programs_are_found_by_their_exact_names_below_the_root_only() {
    let caller = Caller::new();
    fs::copy("/bin/sleep", caller.work().join("own-agent")).unwrap();
    fs::write(caller.work().join("by-script"), "#!/bin/sh\nsleep 300\n").unwrap();
    fs::set_permissions(caller.work().join("by-script"), fs::Permissions::from_mode(0o755)).unwrap();
    let command = "setsid ./own-agent 300 & ./by-script & exec -a -renamed sleep 299";
    caller.start("x", &json!({"argv": ["bash", "-c", command]}));
    let alive = |names: &str| caller.call(&["process-alive", "x"], names).exits(0).stdout == "true\n";
    for names in ["own-agent", "by-script", "renamed", "-renamed", "sleep", "no\nown-agent", "no\n\nsleep\n", "", "\n"]
    {
        eventually(&format!("{names:?} runs"), || alive(names).then_some(()));
    }
    for names in ["own", "own-agent2", "own-agent 300", "./own-agent", "fairway", "OWN-AGENT", ".*", "no\nnone"] {
        assert!(!alive(names), "{names:?}");
    }
    caller.ask(&["stop", "x"]);
    assert!(!alive("own-agent") && !alive(""));
}

#[test]
fn values_are_kept_byte_by_byte() {
    let caller = Caller::new();
    caller.start("x", &json!({"command": "sleep 300", "env": {"GC_START": "env", "START": "secret"}}));
    let value = b"\xff\0 one\ntwo \n\n";
    for key in ["a", "A", "a/../b", "..", "with space", &"long".repeat(200)] {
        caller.call(&["set-meta", "x", key], value).exits(0);
        let seen = caller.command(&["get-meta", "x", key]).output().unwrap();
        assert_eq!((seen.status.code(), &seen.stdout[..]), (Some(0), &value[..]), "{key}");
    }
    // A text that may be secret does not outlive the start.
    assert_eq!(caller.ask(&["get-meta", "x", "START"]), "");
    assert_eq!(caller.ask(&["get-meta", "x", "GC_START"]), "env");
    caller.call(&["set-meta", "x", "GC_START"], "other").exits(0);
    assert_eq!(caller.ask(&["get-meta", "x", "GC_START"]), "other");
    for key in ["GC_START", "a", "never"] {
        caller.ask(&["remove-meta", "x", key]);
        assert_eq!(caller.ask(&["get-meta", "x", key]), "", "{key}");
    }
    assert_ne!(caller.ask(&["get-meta", "x", "A"]), "");
    // A session that is not there keeps nothing.
    caller.call(&["set-meta", "nobody", "key"], "v").exits(0);
    assert_eq!(caller.ask(&["get-meta", "nobody", "key"]), "");
    caller.ask(&["stop", "x"]);
    caller.is_empty();
}

#[test]
fn live_sessions_are_listed_by_their_real_names() {
    let caller = Caller::new();
    let long = "long".repeat(100);
    let names = ["a", "a-1", "a-10", "ab", "b c/$x;", &long, "ü"];
    for name in names {
        caller.start(name, &json!({"command": "sleep 300"}));
    }
    // A directory of another program is no session.
    fs::create_dir(caller.state().join("s-junk")).unwrap();
    fs::write(caller.state().join("file"), "").unwrap();
    let listed = |prefix: &str| caller.ask(&["list-running", prefix]);
    assert_eq!(listed(""), names.map(|name| format!("{name}\n")).concat());
    assert_eq!(listed("a-1"), "a-1\na-10\n");
    assert_eq!(listed("ü"), "ü\n");
    assert_eq!(listed("x"), "");
    caller.ask(&["stop", "a"]);
    assert_eq!(listed("a"), "a-1\na-10\nab\n", "only the one that was named is gone");
    assert_eq!(caller.call(&["list-running"], "").exits(0).stdout.lines().count(), names.len() - 1);
}

#[test]
fn last_activity_is_the_last_output() {
    let caller = Caller::new();
    caller.start("x", &json!({"command": "echo one; cat"}));
    let last = || Timestamp::parse(&caller.ask(&["get-last-activity", "x"])).expect("a moment");
    let first = eventually("it has printed", || Timestamp::parse(&caller.ask(&["get-last-activity", "x"])));
    caller.call(&["nudge", "x"], "more").exits(0);
    eventually("it moves", || (last() > first).then_some(()));
}

#[test]
fn stop_kills_processes_that_ignore_term() {
    let caller = Caller::new();
    let command = "trap '' TERM HUP; setsid -f sh -c 'trap \"\" TERM; cd /; touch \"$0\"; sleep 300' \"$PWD/up\"; sleep 299 & wait; wait";
    caller.start("x", &json!({"command": command}));
    eventually("the one that leaves is up", || caller.work().join("up").exists().then_some(()));
    let run = caller.ask(&["get-meta", "x", "FAIRWAY_RUN_ID"]);
    assert!(marked(&run).unwrap().len() >= 4);
    caller.ask(&["stop", "x"]);
    assert_eq!(marked(&run).unwrap(), []);
    caller.is_empty();
}

#[test]
fn tee_survives_a_full_disk_and_refuses_non_files() {
    let world = TestProject::uninitialized();
    let folder = world.dir().join("small");
    fs::create_dir(&folder).unwrap();
    let tee = |file: &str, text: &[u8]| {
        let path = folder.join(file).display().to_string();
        world.run_with_stdin(["adapter", "transcript", path.as_str()], text)
    };
    fs::create_dir(folder.join("dir")).unwrap();
    nix::unistd::mkfifo(&folder.join("fifo"), nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    for file in ["dir", "fifo"] {
        assert!(!tee(file, b"x").exits(1).stderr.is_empty(), "{file}");
    }
    let Some(_mount) = Mount::tmpfs(&folder, 256) else { return };
    // Far more than fits, and than a pipe holds: whoever writes gets through.
    let mut child = world
        .fairway(["adapter", "transcript", folder.join("t").to_str().unwrap()])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for _ in 0..64 {
        stdin.write_all(&vec![b'x'; 64 * 1024]).unwrap();
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert!(fs::metadata(folder.join("t")).unwrap().len() <= 256 * 1024);
    // And it goes on where there is room again.
    fs::write(folder.join("t"), "").unwrap();
    tee("t", b"again\n").exits(0);
    assert_eq!(fs::read_to_string(folder.join("t")).unwrap(), "again\n");
}

#[test]
fn transcript_starts_anew_while_its_session_prints() {
    let caller = Caller::new();
    // Just above the size at which it starts anew.
    let command = "head -c 67108000 /dev/zero | tr '\\0' x; echo; seq 1 500; sleep 300";
    caller.start("x", &json!({"command": command, "transcript": "log"}));
    let (log, old) = (caller.work().join("log"), caller.work().join("log.1"));
    eventually("it has started anew", || old.exists().then_some(()));
    eventually("all is printed", || fs::read_to_string(&log).ok().filter(|text| text.ends_with("500\n")));
    assert_eq!(fs::metadata(&old).unwrap().len(), 64 << 20);
    for path in [&log, &old] {
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o600);
    }
    let expected: String = (1..=500).map(|number| format!("{number}\n")).collect();
    assert_eq!(caller.ask(&["peek", "x", "500"]), expected, "also what lies in the one before");
    let lines = fs::read_to_string(&log).unwrap().lines().count();
    assert!(lines < 500, "{lines}");
}
