//! `session attach`, `nudge`, `interrupt`, `meta`, and `stop` from inside, with real processes.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use super::{Sessions, eventually, marked, text};
use crate::common::require;
use crate::common::test_project::{CommandOutput, FAIRWAY};

/// Keeps each line that it reads in a file of its own name.
fn reader(world: &Sessions, name: &str) {
    let script = "trap 'echo interrupted >>\"$0.int\"' INT; while :; do while IFS= read -r line; do printf '%s\\n' \"$line\" >>\"$0\"; done; done";
    world.launch(&["--role", "r", "--name", name, "--", "sh", "-c", script, &format!("../{name}.got")]);
}

#[test]
fn nudge_reaches_only_its_session() {
    let world = Sessions::new();
    let names = ["a", "ab", "a-1", "a-10"];
    for name in names {
        reader(&world, name);
    }
    let hostile = "say \"hi\"; $(touch canary) `touch canary` 'q' \\ $1 %s;";
    world.run(["session", "nudge", "a", hostile]).exits(0);
    world.run_with_stdin(["session", "nudge", "ab", "-"], b"from stdin").exits(0);
    fs::write(world.dir().join("text"), "from a file").unwrap();
    world.run(["session", "nudge", "a-1", "--text-file", "../text"]).exits(0);
    let got = |name: &str| fs::read_to_string(world.dir().join(format!("{name}.got"))).unwrap_or_default();
    for (name, expected) in [("a", hostile), ("ab", "from stdin"), ("a-1", "from a file")] {
        eventually(name, || (got(name) == format!("{expected}\n")).then_some(()));
    }
    assert_eq!(got("a-10"), "");
    // Its size is an event; the text is kept nowhere.
    let events = world.rows("SELECT session_id, data FROM events WHERE kind = 'session.nudged' ORDER BY seq");
    assert_eq!(events.len(), 3);
    assert_eq!(events[0]["data"], format!("{{\"bytes\":{}}}", hostile.len()));
    assert!(!world.root().join("canary").exists());
    // A repeat types nothing again.
    for _ in 0..2 {
        world.run(["session", "nudge", "a-10", "once", "--request-id", "R-1"]).exits(0);
    }
    eventually("the one nudge", || (got("a-10") == "once\n").then_some(()));
    world.run(["session", "nudge", "a-10", "other", "--request-id", "R-1", "--json"]).refuses(2, "request_reused");
    for name in names {
        world.run(["session", "stop", name]).exits(0);
    }
    world.run(["session", "nudge", "a", "late", "--json"]).refuses(4, "session_final");
}

#[test]
fn interrupt_does_not_end_the_session() {
    let world = Sessions::new();
    reader(&world, "s1");
    eventually("it interrupts", || {
        world.run(["session", "interrupt", "s1"]).exits(0);
        world.dir().join("s1.got.int").exists().then_some(())
    });
    assert_eq!(world.session("s1")["status"], "running");
    assert!(!world.rows("SELECT seq FROM events WHERE kind = 'session.interrupted'").is_empty());
    world.run(["session", "stop", "s1"]).exits(0);
}

#[test]
fn values_are_kept_byte_by_byte() {
    let world = Sessions::new();
    world.launch(&["--role", "r", "--name", "s1", "--env", "GIVEN=a b", "--", "sleep", "300"]);
    let bytes = b"one\n\x00two\xff \n\n";
    world.run_with_stdin(["session", "meta", "set", "s1", "a/../key", "-"], bytes).exits(0);
    let out = world.fairway(["session", "meta", "get", "s1", "a/../key"]).output().unwrap();
    assert_eq!(out.stdout, bytes);
    // Of the start's environment only what the session is known by outlives the start: the rest may be secret.
    assert_eq!(world.run(["session", "meta", "get", "s1", "GIVEN"]).exits(0).stdout, "");
    assert_eq!(world.run(["session", "meta", "get", "s1", "FAIRWAY_ROLE"]).exits(0).stdout, "r");
    world.run(["session", "meta", "rm", "s1", "a/../key"]).exits(0);
    assert_eq!(world.run(["session", "meta", "get", "s1", "a/../key"]).exits(0).stdout, "");
    world.run(["session", "stop", "s1"]).exits(0);
}

/// Another run that has the session's name by now: nothing is done to it.
#[test]
fn session_of_another_run_is_not_touched() {
    let world = Sessions::new();
    reader(&world, "s1");
    world.write_rows("UPDATE agent_sessions SET run_id = '0190c2a4-0000-7000-8000-000000000000'");
    let run = fs::read_to_string(world.backend_dir("s1").join("start.json")).unwrap();
    for words in [
        &["nudge", "s1", "x"][..],
        &["interrupt", "s1"],
        &["meta", "get", "s1", "FAIRWAY_ROLE"],
        &["meta", "set", "s1", "a", "b"],
        &["attach", "s1"],
    ] {
        world.run(["session", "--json"].iter().chain(words)).refuses(4, "session_mismatch");
    }
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    let run = text(&run["env"]["FAIRWAY_RUN_ID"]);
    assert!(!world.dir().join("s1.got.int").exists());
    assert!(!marked(&run).unwrap().is_empty());
    world.write_rows(&format!("UPDATE agent_sessions SET run_id = '{run}'"));
    world.run(["session", "stop", "s1"]).exits(0);
}

#[test]
fn attach_without_a_terminal_follows_or_names_the_transcript() {
    let world = Sessions::new();
    world.launch(&["--role", "r", "--name", "s1", "--", "sh", "-c", "echo shown; sleep 300"]);
    eventually("it shows", || (world.run(["session", "peek", "s1"]).exits(0).stdout == "shown\n").then_some(()));
    let mut follower = world.fairway(["session", "attach", "s1"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut screen = BufReader::new(follower.stdout.take().unwrap());
    let mut shown = String::new();
    screen.read_line(&mut shown).unwrap();
    // Nothing of the store is held by it.
    world.run(["session", "heartbeat", "s1"]).exits(0);
    world.run(["session", "stop", "s1"]).exits(0);
    screen.read_to_string(&mut shown).unwrap();
    assert_eq!((shown.as_str(), follower.wait().unwrap().code()), ("shown\n", Some(0)));
    let script =
        world.script("min", "#!/bin/sh\ncase $1 in is-running) echo true ;; start | stop) ;; *) exit 2 ;; esac\n");
    let backend = format!("exec:{}", script.display());
    let launch = ["session", "launch", "--json", "--role", "r", "--name", "s2", "--backend", &backend];
    world.run(launch.iter().chain(&["--attach", "--", "true"])).refuses(2, "usage");
    assert!(world.rows("SELECT id FROM agent_sessions WHERE id = 's2'").is_empty(), "refused before it is launched");
    world.run(launch.iter().chain(&["--", "true"])).exits(0);
    let error = world.run(["session", "attach", "s2", "--json"]).refuses(2, "usage").error();
    assert!(text(&error["message"]).ends_with("fairway session peek s2"), "{error}");
}

/// With a terminal: its keys reach the script, its exit code is ours, and what the terminal interrupts is the script alone.
#[test]
fn attach_hands_the_terminal_over() {
    let world = Sessions::new();
    let script = world.script(
        "seat",
        "#!/bin/sh\ncase $1 in\nis-running) echo true ;;\nattach)\n  trap 'echo INT' INT\n  [ -t 0 ] && [ -t 1 ] && echo seated\n  \
         while :; do while read -r line; do echo \"got $line\"; [ \"$line\" != bye ] || exit 5; done; done ;;\nstart | stop) ;;\n*) exit 2 ;;\nesac\n",
    );
    let backend = format!("exec:{}", script.display());
    let fairway = |words: &str| format!("trap : INT; '{FAIRWAY}' session {words}; echo \"code $?\"");
    for (name, words) in [
        ("s1", format!("launch --role r --name s1 --backend '{backend}' --attach -- true")),
        ("s2", format!("launch --role r --name s2 --backend '{backend}' -- true; '{FAIRWAY}' session attach s2")),
    ] {
        let mut command = world.command("script");
        let mut child = command
            .args(["-qec", &fairway(&words), "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::from(fs::File::create(world.dir().join("screen")).unwrap()))
            .spawn()
            .unwrap();
        let mut keys = child.stdin.take().unwrap();
        let screen = || fs::read_to_string(world.dir().join("screen")).unwrap();
        eventually("a seat", || screen().contains("seated").then_some(()));
        std::io::Write::write_all(&mut keys, b"hello\n").unwrap();
        eventually("the line", || screen().contains("got hello").then_some(()));
        std::io::Write::write_all(&mut keys, b"\x03").unwrap();
        eventually("the interrupt", || screen().contains("INT\r\n").then_some(()));
        std::io::Write::write_all(&mut keys, b"bye\n").unwrap();
        eventually("its exit code", || screen().contains("code 5").then_some(()));
        drop(keys);
        child.wait().unwrap();
        assert_eq!(world.session(name)["status"], "running");
    }
}

/// A signal to us alone is meant for what we run.
#[test]
fn attach_forwards_signals() {
    let world = Sessions::new();
    let script = world.script(
        "seat",
        "#!/bin/sh\ncase $1 in\nis-running) echo true ;;\nprotocol) echo '{\"capabilities\":[\"follow\"]}' ;;\nattach)\n  \
         trap 'exit 9' TERM\n  echo seated\n  while :; do sleep 0.05; done ;;\nstart | stop) ;;\n*) exit 2 ;;\nesac\n",
    );
    let backend = format!("exec:{}", script.display());
    world.launch(&["--role", "r", "--name", "s1", "--backend", &backend, "--", "true"]);
    let mut attached = world.fairway(["session", "attach", "s1"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = [0; 7];
    Read::read_exact(attached.stdout.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(&said, b"seated\n");
    let pid = nix::unistd::Pid::from_raw(i32::try_from(attached.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(attached.wait().unwrap().code(), Some(9));
}

/// The program's terminal is as large as the one that it was launched from.
#[test]
fn terminal_size_is_passed_on() {
    let world = Sessions::new();
    let launch = format!("stty rows 33 cols 111; '{FAIRWAY}' session launch --role r --dry-run --json");
    let run =
        CommandOutput::from(world.command("script").args(["-qec", &launch, "/dev/null"]).output().unwrap()).exits(0);
    assert!(run.stdout.contains("\"terminal\":{\"rows\":33,\"cols\":111}"), "{run:?}");
    let without = world.json(["session", "launch", "--role", "r", "--dry-run"]);
    assert!(without["start"].get("terminal").is_none());
}

/// The keys that the help of `session attach` names. A session that is stopped meanwhile ends the attachment without a failure.
fn attached_terminal_detaches_and_outlives_a_stop(backend: &str, keys: &[&[u8]]) {
    if !require::program(backend) {
        return;
    }
    let mut world = Sessions::new();
    // No multiplexer knows it.
    world.set("TERM", "xterm-of-tomorrow");
    world.launch(&["--role", "r", "--name", "s1", "--backend", backend, "--", "sh", "-c", "echo shown; exec cat"]);
    let screen_file = world.dir().join("screen");
    let attach = || {
        let child = world
            .command("script")
            .args(["-qec", &format!("'{FAIRWAY}' session attach s1; echo \"code $?\""), "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::from(fs::File::create(&screen_file).unwrap()))
            .spawn();
        child.unwrap()
    };
    let screen = || String::from_utf8_lossy(&fs::read(&screen_file).unwrap()).into_owned();
    let peek = || world.run(["session", "peek", "s1", "--lines", "0"]).exits(0).stdout;
    let mut child = attach();
    let mut terminal = child.stdin.take().unwrap();
    eventually("the screen", || screen().contains("shown").then_some(()));
    // Other commands are not held up meanwhile.
    world.run(["session", "heartbeat", "s1"]).exits(0);
    std::io::Write::write_all(&mut terminal, b"typed\r").unwrap();
    eventually("the typed line", || (peek().matches("typed").count() == 2).then_some(()));
    for key in keys {
        std::io::Write::write_all(&mut terminal, key).unwrap();
    }
    eventually("the detaching", || screen().contains("code 0").then_some(()));
    drop(terminal);
    child.wait().unwrap();
    assert_eq!(world.run(["session", "status", "s1"]).exits(0).stdout, "running\n");
    assert!(!peek().contains('^'), "{}", peek());
    let mut child = attach();
    let terminal = child.stdin.take().unwrap();
    eventually("the screen again", || screen().contains("shown").then_some(()));
    world.run(["session", "stop", "s1"]).exits(0);
    eventually("the end", || screen().contains("code 0").then_some(()));
    drop(terminal);
    child.wait().unwrap();
}

#[test]
fn attached_terminal_of_tmux_detaches_and_outlives_a_stop() {
    attached_terminal_detaches_and_outlives_a_stop("tmux", &[b"\x02", b"d"]);
}

#[test]
fn attached_terminal_of_screen_detaches_and_outlives_a_stop() {
    attached_terminal_detaches_and_outlives_a_stop("screen", &[b"\x01", b"d"]);
}

#[test]
fn attached_terminal_of_zellij_detaches_and_outlives_a_stop() {
    attached_terminal_detaches_and_outlives_a_stop("zellij", &[b"\x07", b"\x0f", b"d"]);
}

#[test]
fn session_is_stopped_from_inside() {
    let world = Sessions::new();
    // With its marks, and without any: then its process tells.
    let unmarked = "env -u FAIRWAY_RUN_ID -u FAIRWAY_SESSION_ID ";
    for (name, backend, clean) in
        [("s1", "shell", ""), ("s2", "shell", unmarked), ("s3", "tmux", ""), ("s4", "tmux", unmarked)]
    {
        let script = format!(
            "trap '' TERM; setsid sleep 300 & until [ -e ../{name}.launched ]; do sleep 0.05; done; {clean}\"$FAIRWAY_BIN\" session stop {name} >../{name}.said 2>&1; sleep 300"
        );
        let session = world.launch(&["--role", "r", "--name", name, "--backend", backend, "--", "sh", "-c", &script]);
        fs::write(world.dir().join(format!("{name}.launched")), "").unwrap();
        eventually("it is recorded", || (world.session(name)["status"] == "ended").then_some(()));
        assert_eq!(marked(&text(&session["run_id"])).unwrap(), []);
        let row = world.session(name);
        assert!(row["reason"].starts_with("stopped"), "{row:?}");
        let said = fs::read_to_string(world.dir().join(format!("{name}.said"))).unwrap();
        assert!(!said.contains("error"), "{said}");
        assert_eq!(
            world.run(["session", "stop", name]).exits(0).stdout,
            format!("unchanged: {name} has already ended\n")
        );
    }
    let outside = fairway_core::os::process_tree::with_env_entry("FAIRWAY_RUN_ID=outside").unwrap();
    assert_eq!(outside, [], "whoever stood outside is gone too");
}

/// Where the multiplexer listens is recorded, and told on every later call.
#[test]
fn every_call_gets_the_recorded_socket() {
    let world = Sessions::new();
    world.script(
        "socket",
        "#!/bin/sh\necho \"$1 ${FAIRWAY_BACKEND_SOCKET:-none}\" >>\"${0%/*}/calls\"\ncase $1 in is-running) echo true ;; esac\n",
    );
    let configure = |socket: &str| {
        world.configure(&format!("[backends.b]\nscript = \"../socket\"\n{socket}"));
        world.run(["trust"]).exits(0);
    };
    for (name, socket, told) in [
        ("s1", "socket = \"default\"\n", "default".to_owned()),
        ("s2", "socket = \"run/m.sock\"\n", world.root().join("run/m.sock").display().to_string()),
        ("s3", "", "none".to_owned()),
    ] {
        configure(socket);
        let _ = fs::remove_file(world.dir().join("calls"));
        world.launch(&["--role", "r", "--name", name, "--backend", "b", "--", "true"]);
        // Whatever the configuration says by then.
        configure("socket = \"/another\"\n");
        world.run(["session", "nudge", name, "x"]).exits(0);
        world.run(["session", "peek", name]).exits(0);
        world.run(["session", "stop", name]).exits(0);
        let calls = fs::read_to_string(world.dir().join("calls")).unwrap();
        let told = format!(" {told}");
        assert!(calls.lines().count() > 4 && calls.lines().all(|call| call.ends_with(&told)), "{calls}");
    }
}

/// A script that would not be launched is not called either.
#[test]
fn script_is_called_as_long_as_it_would_be_launched() {
    let world = Sessions::new();
    let yes = "#!/bin/sh\n: >>\"${0%/*}/called\"\ncase $1 in is-running) echo true ;; esac\n";
    let script = world.script("yes", yes);
    world.configure("[backends.b]\nscript = \"../yes\"\n");
    world.run(["trust"]).exits(0);
    world.launch(&["--role", "r", "--name", "s1", "--backend", "b", "--", "true"]);
    let backend = format!("exec:{}", script.display());
    world.launch(&["--role", "r", "--name", "s2", "--backend", &backend, "--", "true"]);
    let called = || fs::remove_file(world.dir().join("called")).is_ok();
    assert!(called());
    let refused = || {
        for words in
            [&["nudge", "s1", "x"][..], &["interrupt", "s2"], &["peek", "s1"], &["stop", "s2"], &["attach", "s1"]]
        {
            world.run(["session", "--json"].iter().chain(words)).refuses(9, "untrusted");
        }
        assert!(!called());
    };
    // Running sessions go on while the configuration is not trusted.
    world.configure("[backends.b]\nscript = \"../yes\"\nsetup = \"script\"\n");
    world.run(["session", "nudge", "s1", "x"]).exits(0);
    assert!(called());
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o757)).unwrap();
    refused();
}

#[test]
fn several_sessions_are_stopped_each_by_itself() {
    let world = Sessions::new();
    world.run(["lane", "add", "api"]).exits(0);
    for (id, lane) in [("a", "api"), ("b", "api"), ("c", ""), ("d", "")] {
        let mut words = vec!["--role", "r", "--id", id];
        if !lane.is_empty() {
            words.extend(["--lane", lane]);
        }
        world.launch(&[&words[..], &["--", "sleep", "300"]].concat());
    }
    world.run(["task", "add", "T-1", "one"]).exits(0);
    world.run(["--session", "c", "claim", "T-1"]).exits(0);
    let lane = world.run(["session", "stop", "--lane", "api"]).exits(0);
    assert_eq!(lane.stdout, "stopped a\nstopped b\n");
    world.run(["session", "stop", "--lane", "nowhere", "--json"]).refuses(3, "not_found");
    let several = world.run(["session", "stop", "nowhere", "c"]).exits(3);
    assert_eq!(several.stdout, "stopped c\n");
    assert!(several.stderr.contains("there is no session 'nowhere'"), "{several:?}");
    assert!(several.stderr.contains("T-1 is still claimed by c"), "{several:?}");
    // One that was registered by hand has no program that a stop could end.
    world.run(["session", "upsert", "--id", "own", "--role", "r"]).exits(0);
    let all = world.run(["session", "stop", "--all", "--json"]).exits(0);
    assert_eq!((all.json().as_array().unwrap().len(), &all.json()[0]["id"]), (1, &"d".into()));
    assert!(all.stderr.contains("own was not launched by fairway"), "{all:?}");
    assert_eq!(world.session("own")["status"], "running");
    assert!(world.run(["session", "stop", "--all"]).exits(0).stdout.contains("no sessions to stop"));
    world.run(["session", "stop", "d", "--all", "--json"]).refuses(2, "usage");
    world.run(["session", "stop", "--json"]).refuses(2, "usage");
}
