//! `tmux.sh` with servers that are frozen, gone, come again, another's, missing; and its traces in them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fairway_core::os::process::{ProcessKey, ProcessStatus};
use nix::sys::signal::Signal;
use serde_json::json;

use super::shared_checks::reader;
use super::tmux::{server, tmux};
use super::{Caller, eventually, given, holds};
use crate::common::test_project::CommandOutput;

/// Calls the script, demands a failure within the limit, and that nothing was answered.
#[track_caller]
fn fails(caller: &Caller, args: &[&str], why: &str) {
    let begun = Instant::now();
    let run = caller.call(args, "text").exits(1);
    let took = begun.elapsed();
    assert!(run.stdout.is_empty() && run.stderr.contains(why), "{args:?}: {run:?}");
    // Ending a tree has its own grace.
    let limit = Duration::from_millis(if args[0] == "stop" { 8_000 } else { 2_500 });
    crate::common::soak::took(took, ..limit, args[0]);
}

#[test]
fn frozen_server_fails_calls_without_an_answer() {
    let caller = Caller::of("tmux");
    caller.start("x", "exec cat", json!({}));
    let server = server(&caller);
    server.signal(Signal::SIGSTOP).unwrap();
    for args in [
        &["is-running", "x"][..],
        &["list-running", ""],
        &["is-attached", "x"],
        &["peek", "x", "0"],
        &["nudge", "x"],
        &["send-keys", "x", "Enter"],
        &["interrupt", "x"],
        &["attach", "x"],
    ] {
        fails(&caller, args, "tmux did not answer");
    }
    // Operations without the server are answered: whether the program runs, and that the name is taken.
    assert_eq!(caller.call(&["process-alive", "x"], "cat").exits(0).stdout, "true\n");
    let again = caller.call(&["start", "x"], "{}").exits(1);
    assert!(again.stderr.contains("already exists"), "{again:?}");
    server.signal(Signal::SIGCONT).unwrap();
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    // The tree is ended whatever the server does, and the failure is said.
    server.signal(Signal::SIGSTOP).unwrap();
    fails(&caller, &["stop", "x"], "tmux did not answer");
    server.signal(Signal::SIGCONT).unwrap();
    caller.said(&["stop", "x"]);
    assert_eq!(caller.said(&["is-running", "x"]), "false\n");
    eventually("the server goes with its last session", || (server.status() != ProcessStatus::Alive).then_some(()));
}

#[test]
fn pane_number_that_came_again_is_not_taken_for_the_old_pane() {
    let caller = Caller::of("tmux");
    // It does not end with its terminal.
    let old = caller.start("old", "trap '' HUP; while :; do sleep 1; done", json!({}));
    server(&caller).signal(Signal::SIGKILL).unwrap();
    let out = caller.folder("out").join("new");
    let new = caller.start("new", &reader(&out), json!({"ready_prompt_prefix": "ready"}));
    assert_eq!(old["pane"], new["pane"], "the next server counts from the start");
    assert_eq!(caller.said(&["is-running", "old"]), "false\n");
    assert_eq!(caller.said(&["list-running", ""]), "new\n");
    for args in [&["nudge", "old"][..], &["interrupt", "old"], &["send-keys", "old", "x"], &["clear-scrollback", "old"]]
    {
        caller.call(args, "wrong").exits(0);
    }
    caller.call(&["attach", "old"], "").exits(1);
    caller.said(&["stop", "old"]);
    assert_eq!(caller.said(&["is-running", "new"]), "true\n");
    caller.call(&["nudge", "new"], "right").exits(0);
    holds(&out, b"right\r");
    // The control: the bare pane number means the new one.
    assert_eq!(tmux(&caller, &["display-message", "-p", "-t", "%0", "#{session_name}"]), "s-new");
    caller.said(&["stop", "new"]);
}

#[test]
fn dead_pane_is_no_session_and_its_name_is_free() {
    let caller = Caller::of("tmux");
    caller.start("x", "exec cat", json!({}));
    tmux(&caller, &["set-option", "-w", "-t", "=s-x:", "remain-on-exit", "on"]);
    let root = caller.call(&["start", "y"], r#"{"command":"sleep 300"}"#).exits(0).json()["pid"].clone();
    tmux(&caller, &["send-keys", "-t", "=s-x:", "C-d"]);
    eventually("it is dead", || {
        (tmux(&caller, &["display-message", "-p", "-t", "=s-x:", "#{pane_dead}"]) == "1").then_some(())
    });
    assert_eq!(caller.said(&["is-running", "x"]), "false\n");
    assert_eq!(caller.said(&["list-running", ""]), "y\n");
    caller.start("x", "exec cat", json!({}));
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    // Killed from outside, by number: it is gone, whatever the server shows.
    tmux(&caller, &["set-option", "-w", "-t", "=s-y:", "remain-on-exit", "on"]);
    ProcessKey::of(i32::try_from(root.as_i64().unwrap()).unwrap()).unwrap().signal(Signal::SIGKILL).unwrap();
    eventually("it is seen", || (caller.said(&["is-running", "y"]) == "false\n").then_some(()));
    caller.said(&["stop", "x"]);
    caller.said(&["stop", "y"]);
    assert_eq!(caller.said(&["list-running", ""]), "");
}

/// tmux says "no current target" while its server has no session at all, whichever pane it was asked for.
#[test]
fn last_session_that_ends_just_before_the_keys_is_no_failure() {
    let caller = Caller::of("tmux");
    let bin = caller.program(
        "tmux",
        "#!/bin/sh\ncase \"$*\" in *display-message*) ;; *) \"$REAL\" -S \"$3\" set-option -s exit-empty off \\; kill-session -t =s-x: ;; esac\n\
         exec \"$REAL\" \"$@\"",
    );
    let path = std::env::var("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|folder| folder.join("tmux")).find(|file| file.exists()).unwrap();
    for args in [&["send-keys", "x", "Enter"][..], &["interrupt", "x"], &["clear-scrollback", "x"]] {
        caller.start("x", "exec cat", json!({}));
        let mut command = caller.command(args);
        command.env("PATH", format!("{}:{path}", bin.parent().unwrap().display())).env("REAL", &real);
        let run: CommandOutput = given(command, b"").wait_with_output().unwrap().into();
        run.exits(0);
        assert_eq!(caller.said(&["is-running", "x"]), "false\n", "{args:?}");
        caller.said(&["stop", "x"]);
    }
}

#[test]
fn missing_or_silent_tmux_gives_no_answer() {
    let caller = Caller::of("tmux");
    caller.start("x", "exec cat", json!({}));
    let path = std::env::var("PATH").unwrap();
    let bin = caller.folder("bin").display().to_string();
    let call = |args: &[&str], path: &str| {
        let mut command = caller.command(args);
        command.env("PATH", path);
        CommandOutput::from(given(command, b"").wait_with_output().unwrap())
    };
    let programs: Vec<(&str, i32, &str)> = vec![
        ("exit 127", 1, "cannot be run"),
        ("echo garbage >&2; exit 1", 1, "tmux failed"),
        ("echo 'error connecting to /x (Permission denied)' >&2; exit 1", 1, "tmux failed"),
        ("exec sleep 30", 1, "did not answer"),
    ];
    for (text, code, why) in programs {
        caller.program("tmux", &format!("#!/bin/sh\n{text}\n"));
        for args in [&["is-running", "x"][..], &["list-running", ""], &["is-attached", "x"]] {
            let run = call(args, &format!("{bin}:{path}")).exits(code);
            assert!(run.stdout.is_empty() && run.stderr.contains(why), "{text}: {run:?}");
        }
    }
    // Another temporary folder, another home, tmux's own folder elsewhere: the session is where it was.
    let mut moved = caller.command(&["is-running", "x"]);
    moved.env("TMPDIR", "/nowhere").env("HOME", "/nowhere").env("TMUX_TMPDIR", "/nowhere").env("TMUX", "/nowhere,1,0");
    assert_eq!(String::from_utf8_lossy(&given(moved, b"").wait_with_output().unwrap().stdout), "true\n");
    caller.said(&["stop", "x"]);
}

#[test]
fn server_keeps_no_lock_of_its_caller() {
    let caller = Caller::of("tmux");
    let lock = caller.world.dir().join("lock");
    let start = caller.folder("configs").join("x");
    fs::write(&start, r#"{"command":"sleep 300"}"#).unwrap();
    // A lock on a low and on a high descriptor, as bash gives them.
    let text = r#"exec 7>"$1"; flock -n 7 || exit 9; exec {high}>"$1.high"; flock -n "$high" || exit 9; exec "$2" start x <"$3""#;
    let command = caller.command(&[]);
    let script = PathBuf::from(command.get_program());
    let env: Vec<_> = command.get_envs().map(|(name, value)| (name.to_owned(), value.unwrap().to_owned())).collect();
    let status = Command::new("bash")
        .args(["-c", text, "bash"])
        .args([&lock, &script, &start])
        .env_clear()
        .envs(env)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    for lock in [lock.clone(), lock.with_file_name("lock.high")] {
        assert!(
            Command::new("flock").arg("-n").arg(&lock).arg("true").status().unwrap().success(),
            "{}",
            lock.display()
        );
    }
    caller.said(&["stop", "x"]);
}

#[test]
fn server_environment_stays_out_of_later_programs() {
    let caller = Caller::of("tmux");
    let start = |name: &str, variable: (&str, &str)| {
        let mut command = caller.command(&["start", name]);
        command
            .env(variable.0, variable.1)
            .env("FAIRWAY_SESSION_ID", "surrounding")
            .env("FAIRWAY_LAUNCH", "surrounding");
        let start = json!({"command": "env; exec cat", "env": {"BIG": "x".repeat(40_000)}});
        let run = CommandOutput::from(given(command, start.to_string().as_bytes()).wait_with_output().unwrap());
        run.exits(0)
    };
    start("first", ("SECRET_OF_FIRST", "leaks"));
    start("second", ("OWN", "value"));
    let shown = eventually("it has printed", || {
        let shown =
            fs::read_to_string(caller.state.join("s-second/transcript")).unwrap_or_default().replace("\r\n", "\n");
        shown.contains("\nPATH=").then_some(shown)
    });
    let value = |name: &str| shown.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
    assert!(value("SECRET_OF_FIRST").is_none(), "{shown}");
    assert_eq!((value("OWN"), value("BIG").map(str::len)), (Some("value"), Some(40_000)));
    assert!(value("TMUX").is_some() && value("TMUX_PANE") == Some("%1") && value("TERM").is_some(), "{shown}");
    let ours: Vec<&str> = shown.lines().filter(|line| line.starts_with("FAIRWAY_")).collect();
    assert!(ours.len() == 1 && ours[0].starts_with("FAIRWAY_RUN_ID="), "{ours:?}");
    // Nor does the server carry anything of who started it.
    let around = fs::read(format!("/proc/{}/environ", server(&caller).pid)).unwrap();
    let around = String::from_utf8_lossy(&around).into_owned();
    let ours: Vec<&str> =
        around.split('\0').filter(|entry| entry.starts_with("FAIRWAY_") || entry.starts_with("GC_")).collect();
    assert_eq!(ours, ["FAIRWAY_RUN_ID=server"]);
    caller.said(&["stop", "first"]);
    caller.said(&["stop", "second"]);
}

/// tmux on a server that stands for the person's own.
fn own(caller: &Caller, args: &[&str]) -> String {
    let mut command = caller.world.command("tmux");
    let output =
        command.args(["-f", "/dev/null"]).args(args).env("TMUX_TMPDIR", caller.folder("own")).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

#[test]
fn on_the_persons_own_server_only_its_own_sessions_are_touched() {
    let caller = Caller::of("tmux");
    let call = |args: &[&str], stdin: &str| {
        let mut command = caller.command(args);
        command.env("FAIRWAY_BACKEND_SOCKET", "default").env("TMUX_TMPDIR", caller.folder("own"));
        CommandOutput::from(given(command, stdin.as_bytes()).wait_with_output().unwrap())
    };
    own(&caller, &["new-session", "-d", "-s", "s-mine", "cat"]);
    own(&caller, &["set-option", "-g", "destroy-unattached", "off"]);
    own(&caller, &["set-option", "-wg", "remain-on-exit", "on"]);
    let options = || ["-s", "-g", "-wg"].map(|kind| own(&caller, &["show-options", kind]));
    let before = options();
    let report = call(&["start", "x"], r#"{"command":"exec cat"}"#).exits(0).json();
    let socket = report["socket"].as_str().unwrap();
    assert!(socket.starts_with(caller.world.dir().join("own").to_str().unwrap()), "{report}");
    assert!(!caller.state.join("tmux.sock").exists());
    assert_eq!(options(), before);
    // A session of the person's that has our name for another one is neither listed, nor taken, nor stopped.
    assert_eq!(call(&["list-running", ""], "").exits(0).stdout, "x\n");
    assert_eq!(call(&["is-running", "mine"], "").exits(0).stdout, "false\n");
    call(&["stop", "mine"], "").exits(0);
    let taken = call(&["start", "mine"], "{}").exits(1);
    assert!(taken.stderr.contains("already exists"), "{taken:?}");
    assert_eq!(call(&["is-running", "mine"], "").exits(0).stdout, "false\n");
    // Later calls find the server that was used, whatever surrounds them; a renamed session too.
    own(&caller, &["rename-session", "-t", "=s-x", "renamed"]);
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    own(&caller, &["split-window", "-t", "=renamed:", "cat"]);
    caller.call(&["nudge", "x"], "to the right pane").exits(0);
    eventually("it came", || {
        caller.said(&["peek", "x", "0"]).contains("to the right pane\nto the right pane").then_some(())
    });
    caller.said(&["stop", "x"]);
    assert_eq!(own(&caller, &["list-sessions", "-F", "#{session_name}"]), "s-mine");
    assert_eq!(options(), before);
    own(&caller, &["kill-server"]);
    let nowhere = call(&["list-running", ""], "").exits(0);
    assert_eq!(nowhere.stdout, "");
}

#[test]
fn server_outlives_the_session_that_started_it() {
    let caller = Caller::of("tmux");
    let inner = format!(
        r#"printf '%s' '{{"command":"sleep 300"}}' | FAIRWAY_BIN='{}' FAIRWAY_ADAPTER_STATE='{}' '{}' start inner; exec sleep 300"#,
        crate::common::test_project::FAIRWAY,
        caller.folder("inner").display(),
        caller.script.display(),
    );
    caller.start("outer", &inner, json!({}));
    let inside = |args: &[&str]| {
        let mut command = caller.command(args);
        command.env("FAIRWAY_ADAPTER_STATE", caller.folder("inner"));
        CommandOutput::from(given(command, b"").wait_with_output().unwrap()).exits(0).stdout
    };
    eventually("the inner one is up", || caller.said(&["peek", "outer", "0"]).contains("running").then_some(()));
    caller.said(&["stop", "outer"]);
    assert_eq!(inside(&["is-running", "inner"]), "true\n");
    inside(&["stop", "inner"]);
    assert_eq!(inside(&["is-running", "inner"]), "false\n");
}

#[test]
fn list_running_is_one_call_and_no_process_per_session() {
    let caller = Caller::of("tmux");
    for at in 0..12 {
        caller.start(&format!("n{at:02}"), "sleep 300", json!({}));
    }
    caller.start("odd name", "sleep 300", json!({}));
    let log = caller.folder("out").join("calls");
    let real = String::from_utf8(Command::new("sh").args(["-c", "command -v tmux"]).output().unwrap().stdout).unwrap();
    caller.program("tmux", &format!("#!/bin/sh\necho tmux >>'{}'\nexec {} \"$@\"\n", log.display(), real.trim()));
    let fairway = crate::common::test_project::FAIRWAY;
    caller.program("fairway", &format!("#!/bin/sh\necho fairway >>'{}'\nexec '{fairway}' \"$@\"\n", log.display()));
    let bin = caller.folder("bin");
    let mut command = caller.command(&["list-running", "n"]);
    command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    command.env("FAIRWAY_BIN", bin.join("fairway")).env("FAIRWAY_BACKEND_SOCKET", caller.state.join("tmux.sock"));
    let said = given(command, b"").wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout).lines().count(), 12, "{said:?}");
    // The one call of tmux, through the plumbing that limits it.
    assert_eq!(fs::read_to_string(&log).unwrap(), "fairway\ntmux\n");
    assert_eq!(caller.said(&["list-running", "odd"]), "odd name\n");
    for name in caller.said(&["list-running", ""]).lines() {
        caller.said(&["stop", name]);
    }
}

#[test]
fn binary_without_a_setting_is_found_in_path() {
    let caller = Caller::of("tmux");
    let bin = caller.folder("bin");
    std::os::unix::fs::symlink(crate::common::test_project::FAIRWAY, bin.join("fairway")).unwrap();
    let call = |args: &[&str], stdin: &str| {
        let mut command = caller.command(args);
        command.env_remove("FAIRWAY_BIN").env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
        CommandOutput::from(given(command, stdin.as_bytes()).wait_with_output().unwrap()).exits(0).stdout
    };
    call(&["start", "x"], r#"{"command":"exec cat"}"#);
    call(&["nudge", "x"], "here");
    eventually("it came", || call(&["peek", "x", "0"], "").contains("here\nhere").then_some(()));
    assert_eq!((call(&["is-running", "x"], ""), call(&["list-running"], "")), ("true\n".into(), "x\n".into()));
    call(&["stop", "x"], "");
}

#[test]
fn state_without_a_setting_lies_in_the_home() {
    let caller = Caller::of("tmux");
    let far = caller.world.dir().join("far.sock");
    let call = |args: &[&str], stdin: &str| {
        let mut command = caller.command(args);
        command.env_remove("GC_EXEC_STATE_DIR").env("FAIRWAY_BACKEND_SOCKET", &far);
        CommandOutput::from(given(command, stdin.as_bytes()).wait_with_output().unwrap()).exits(0).stdout
    };
    let report = call(&["start", "x"], r#"{"command":"exec cat"}"#);
    assert!(report.contains("far.sock"), "{report}");
    assert!(caller.world.dir().join("home/.local/state/fairway/adapters/s-x").is_dir());
    assert_eq!((call(&["is-running", "x"], ""), call(&["list-running"], "")), ("true\n".into(), "x\n".into()));
    call(&["stop", "x"], "");
    assert_eq!(call(&["list-running"], ""), "");
}

#[test]
fn pane_that_is_closed_takes_its_program_along() {
    let caller = Caller::of("tmux");
    let report = caller.start("x", "sleep 300; sleep 300", json!({}));
    let root = ProcessKey::of(i32::try_from(report["pid"].as_i64().unwrap()).unwrap()).unwrap();
    tmux(&caller, &["kill-pane", "-t", "%0"]);
    eventually("its root is gone", || (root.status() != ProcessStatus::Alive).then_some(()));
    assert_eq!(caller.call(&["process-alive", "x"], "sleep").exits(0).stdout, "false\n");
    caller.said(&["stop", "x"]);
}

/// What removes old files in a temporary directory takes the socket of a living server; the next call makes the server put it back.
#[test]
fn removed_socket_of_a_living_server_is_made_again() {
    let caller = Caller::of("tmux");
    let report = caller.start("x", "exec cat", json!({}));
    let socket = PathBuf::from(report["socket"].as_str().unwrap());
    fs::remove_file(&socket).unwrap();
    assert_eq!(caller.said(&["list-running", ""]), "");
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    assert!(socket.exists());
    assert_eq!(caller.said(&["list-running", ""]), "x\n");
    caller.said(&["stop", "x"]);
}
