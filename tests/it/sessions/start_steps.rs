//! A start through the script: what the program finds around it, when it counts as up and ready, what runs before and after,
//! and what is left when it fails or is cut off.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::time::{Duration, Instant};

use fairway_core::os::process::ProcessKey;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::external_caller::{Caller, finish};
use super::{eventually, marked};

#[test]
fn environment_and_the_directory_are_exact() {
    let caller = Caller::new();
    let directory = caller.work().join("a $(touch x) #{y}; ü");
    fs::create_dir(&directory).unwrap();
    let mut command = caller.command(&["start", "x"]);
    // The surrounding session's and pane's own are not the program's.
    for (name, value) in
        [("GONE", "soon"), ("STAYS", "a\nb "), ("FAIRWAY_ROLE", "outer"), ("TMUX", "outer"), ("ZELLIJ_PANE_ID", "7")]
    {
        command.env(name, value);
    }
    command.env("RAW", OsStr::from_bytes(b"\xff=\xfe"));
    let config = json!({
        "work_dir": directory,
        // Without a shell, which would add some.
        "argv": ["cp", "/proc/self/environ", "seen"],
        "env": {"GONE": "", "MINE": "x\n'\"$(y)", "TERM": "own"},
        "lifecycle": "one_shot",
    });
    finish(command, config.to_string().as_bytes()).exits(0);
    let seen = fs::read(directory.join("seen")).unwrap();
    let mut seen: BTreeMap<&[u8], &[u8]> = seen
        .split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty())
        .map(|entry| entry.split_at(entry.iter().position(|byte| *byte == b'=').unwrap()))
        .map(|(name, value)| (name, &value[1..]))
        .collect();
    assert!(seen.remove(&b"FAIRWAY_RUN_ID"[..]).is_some_and(|run| !run.is_empty()), "its own mark");
    if let Some(place) = seen.remove(&b"PWD"[..]) {
        assert_eq!(place, directory.as_os_str().as_bytes());
    }
    // Whatever the shell is that runs the script.
    for name in [&b"OLDPWD"[..], b"SHLVL", b"_"] {
        seen.remove(name);
    }
    let (home, tmp, state) =
        (caller.world.dir().join("home"), caller.world.dir().join("tmp"), caller.world.dir().join("state"));
    let path = std::env::var_os("PATH").unwrap();
    let expected: BTreeMap<&[u8], &[u8]> = [
        (&b"HOME"[..], home.as_os_str().as_bytes()),
        (b"TMPDIR", tmp.as_os_str().as_bytes()),
        (b"PATH", path.as_bytes()),
        (b"LANG", b"C.UTF-8"),
        (b"TZ", b"UTC"),
        (b"GC_EXEC_STATE_DIR", state.as_os_str().as_bytes()),
        (b"RAW", b"\xff=\xfe"),
        (b"STAYS", b"a\nb "),
        (b"MINE", b"x\n'\"$(y)"),
        (b"TERM", b"own"),
    ]
    .into();
    assert_eq!(seen, expected);
    caller.ask(&["stop", "x"]);
    for bad in [json!({"env": {"A=B": "x"}}), json!({"env": {"": "x"}}), json!({"env": {"A": "\0"}})] {
        let run = caller.call(&["start", "x"], bad.to_string()).exits(1);
        assert!(run.stderr.contains("no variable"), "{run:?}");
    }
    assert!(caller.call(&["start", "a\nb"], "{}").exits(1).stderr.contains("control"));
    caller.is_empty();
}

#[test]
fn early_exit_fails_the_start_with_its_last_screen() {
    let caller = Caller::new();
    fs::write(caller.work().join("log"), "of an older session\n").unwrap();
    let run = caller
        .call(
            &["start", "x"],
            r#"{"command":"echo one; echo two >&2; echo API_KEY=abcdef; echo it is $A_TOKEN; exit 3",
                "env":{"A_TOKEN":"canary77"},"transcript":"log"}"#,
        )
        .exits(1);
    for said in ["exit code 3", "one", "two", "API_KEY="] {
        assert!(run.stderr.contains(said), "{run:?}");
    }
    assert!(
        !run.stderr.contains("older")
            && !run.stderr.contains("abcdef")
            && !run.stderr.contains("canary77")
            && run.stdout.is_empty(),
        "{run:?}"
    );
    assert_eq!(caller.ask(&["is-running", "x"]), "false\n");
    caller.is_empty();
    // One that fails while its readiness is waited for is not waited for any longer.
    let start = Instant::now();
    let late = json!({"command": "sleep 0.6; echo late; exit 4", "process_names": ["never"]});
    let run = caller.call(&["start", "x"], late.to_string()).exits(1);
    assert!(run.stderr.contains("exit code 4") && run.stderr.contains("late"), "{run:?}");
    crate::common::soak::took(start.elapsed(), ..Duration::from_secs(15), "the failure");
    caller.is_empty();
    // A program that is expected to end, or ends well, has not failed.
    for config in [json!({"command": "exit 3", "lifecycle": "one_shot"}), json!({"command": "echo done"})] {
        assert_eq!(caller.start("x", &config)["status"], "ended");
        eventually("its name is free", || (caller.ask(&["is-running", "x"]) == "false\n").then_some(()));
    }
    assert_eq!(caller.ask(&["peek", "x", "0"]), "done\n");
}

#[test]
fn start_returns_when_the_program_is_ready() {
    let caller = Caller::new();
    // Its own copy: a name that nothing else has.
    fs::copy("/bin/sleep", caller.work().join("late-agent")).unwrap();
    let names = json!({"command": "sleep 0.7; ./late-agent 300 & wait", "process_names": ["other", "late-agent"]});
    let start = Instant::now();
    caller.start("names", &names);
    assert!(start.elapsed() >= Duration::from_millis(700));
    assert_eq!(caller.call(&["process-alive", "names"], "late-agent").stdout, "true\n");
    let prompt = json!({"command": "sleep 0.7; printf 'hello\\n ❯\u{a0}'; sleep 300", "ready_prompt_prefix": "❯ "});
    caller.start("prompt", &prompt);
    assert!(caller.ask(&["peek", "prompt", "0"]).contains('❯'));
    let start = Instant::now();
    caller.start("delay", &json!({"command": "sleep 300", "ready_delay_ms": 800}));
    assert!(start.elapsed() >= Duration::from_millis(800));
}

#[test]
fn setup_commands_run_in_order_and_only_warn() {
    let caller = Caller::new();
    let script = caller.work().join("setup script.sh");
    fs::write(&script, "#!/bin/sh\necho \"script $MINE\" >>log\nexit 5\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let config = json!({
        "work_dir": "made",
        "command": "echo program >>log; cat >>log",
        "env": {"MINE": "mine"},
        "pre_start": ["mkdir made", "exit 3", "echo \"pre $MINE\" >>made/log"],
        "process_names": ["cat"],
        "session_setup": ["echo \"setup $MINE\" >>log", "echo no >&2; exit 4", "sleep 299 & echo $! >left"],
        "session_setup_script": "../setup script.sh",
        "session_live": ["echo live >>log"],
        "nudge": "typed",
    });
    let run = caller.call(&["start", "x"], config.to_string()).exits(0);
    for said in ["pre_start failed: exit 3", "session_setup failed", "exit code 4 no", "session_setup_script failed"] {
        assert!(run.stderr.contains(said), "{said}: {run:?}");
    }
    let log = eventually("everything has run", || {
        fs::read_to_string(caller.work().join("made/log")).ok().filter(|log| log.contains("typed"))
    });
    assert_eq!(log, "pre mine\nprogram\nsetup mine\nscript mine\nlive\ntyped\n");
    let left = String::from_utf8(caller.file("made/left")).unwrap().trim().parse().unwrap();
    assert!(ProcessKey::of(left).is_some());
    caller.ask(&["stop", "x"]);
    assert_eq!(ProcessKey::of(left), None, "what setup leaves running ends with the session");
    caller.is_empty();
}

#[test]
fn files_are_copied_only_into_the_directory() {
    let caller = Caller::new();
    let base = caller.world.dir().join("base");
    for folder in ["work", "pack/.hooks", "mine", "outside"] {
        fs::create_dir_all(base.join(folder)).unwrap();
    }
    for (file, text) in [("pack/.hooks/a", "pack"), ("pack/b", "pack"), ("mine/b", "mine"), ("f", "f")] {
        fs::write(base.join(file), text).unwrap();
    }
    symlink(base.join("outside"), base.join("work/out")).unwrap();
    let with = |rel_dst: &str| {
        json!({
            "work_dir": base.join("work"),
            "command": "cat .hooks/a b f; sleep 300",
            "pack_overlay_dirs": [base.join("pack"), base.join("none")],
            "overlay_dir": base.join("mine"),
            "copy_files": [{"src": base.join("f"), "rel_dst": rel_dst}],
        })
    };
    for rel_dst in ["..", "../x", "/tmp/x", "out/x"] {
        let run = caller.call(&["start", "x"], with(rel_dst).to_string()).exits(1);
        assert!(run.stderr.contains("leads out"), "{rel_dst}: {run:?}");
        caller.is_empty();
    }
    assert_eq!(fs::read_dir(base.join("outside")).unwrap().count(), 0);
    assert!(!base.join("x").exists());
    let run = caller.call(&["start", "x"], with("").to_string()).exits(0);
    assert!(run.stderr.contains("none is not copied"), "{run:?}");
    eventually("it has read them", || (caller.ask(&["peek", "x", "0"]) == "packminef\n").then_some(()));
    let source = base.join("mine").display().to_string();
    caller.ask(&["copy-to", "x", &source, "later"]);
    assert_eq!(fs::read_to_string(base.join("work/later/b")).unwrap(), "mine");
    caller.call(&["copy-to", "x", &source, "out"], "").exits(1);
    caller.ask(&["copy-to", "nobody", &source, "later"]);
    assert_eq!(fs::read_dir(base.join("outside")).unwrap().count(), 0);
}

/// A start in a group of its own, as callers make it, with a run that is known.
fn begun(caller: &Caller, name: &str, run: &str, config: &Value) -> Child {
    let mut config = config.clone();
    config["env"] = json!({"FAIRWAY_RUN_ID": run});
    let mut command = caller.command(&["start", name]);
    let mut child = command.process_group(0).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), config.to_string().as_bytes()).unwrap();
    child
}

#[test]
fn start_that_is_cut_off_leaves_nothing() {
    let caller = Caller::new();
    let stuck = "trap '' TERM; setsid sh -c 'trap \"\" TERM; touch up; sleep 300' & sleep 300 & wait; wait";
    let cases = [
        json!({"command": "sleep 300", "pre_start": ["touch up; sleep 300"]}),
        json!({"command": stuck, "process_names": ["never"]}),
        json!({"command": "sleep 300", "session_setup": ["touch up; setsid sleep 299; sleep 300"]}),
    ];
    for (at, config) in cases.iter().enumerate() {
        let run = format!("cut-{}-{at}", caller.world.dir().file_name().unwrap().to_string_lossy());
        let mut child = begun(&caller, "x", &run, config);
        caller_is_up(&caller);
        let group = Pid::from_raw(i32::try_from(child.id()).unwrap());
        assert!(!marked(&run).unwrap().is_empty(), "{config}");
        let told = Instant::now();
        killpg(group, Signal::SIGTERM).unwrap();
        let status = child.wait().unwrap();
        assert!(!status.success(), "{status}");
        // After two seconds it would be killed.
        crate::common::soak::took(told.elapsed(), ..Duration::from_millis(1_900), "the cleanup");
        eventually("all of it is gone", || marked(&run).unwrap().is_empty().then_some(()));
        assert_eq!(caller.ask(&["is-running", "x"]), "false\n");
        caller.is_empty();
    }
}

fn caller_is_up(caller: &Caller) {
    let up = caller.work().join("up");
    eventually("it is under way", || fs::remove_file(&up).ok());
}

#[test]
fn killed_start_leaves_a_stoppable_session() {
    let caller = Caller::new();
    let run = format!("killed-{}", caller.world.dir().file_name().unwrap().to_string_lossy());
    let config = json!({"command": "touch up; sleep 300", "process_names": ["never"]});
    let mut child = begun(&caller, "x", &run, &config);
    caller_is_up(&caller);
    let again = caller.call(&["start", "x"], "{}").exits(1);
    assert!(again.stderr.contains("already exists"), "{again:?}");
    killpg(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    assert_eq!(caller.ask(&["is-running", "x"]), "true\n", "the program is there");
    caller.ask(&["stop", "x"]);
    assert!(marked(&run).unwrap().is_empty());
    // Killed before anything ran: the name is free again.
    let config = json!({"command": "true", "pre_start": ["touch up; sleep 300"]});
    let mut child = begun(&caller, "x", &run, &config);
    caller_is_up(&caller);
    killpg(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    caller.start("x", &json!({"command": "sleep 300"}));
    assert!(marked(&run).unwrap().is_empty(), "what the dead one left is ended");
}

#[test]
fn stopped_start_leaves_its_successor_alone() {
    let caller = Caller::new();
    let name = caller.world.dir().file_name().unwrap().to_string_lossy().into_owned();
    let waiting = json!({"command": "touch up; sleep 300", "process_names": ["never"]});
    let mut first = begun(&caller, "x", &format!("first-{name}"), &waiting);
    caller_is_up(&caller);
    caller.ask(&["stop", "x"]);
    let report = caller.start("x", &json!({"command": "sleep 300"}));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut first.stderr.take().unwrap(), &mut said).unwrap();
    assert!(!first.wait().unwrap().success());
    // Whichever of the two it saw first.
    assert!(said.contains("was stopped while it started") || said.contains("exit code 143"), "{said}");
    assert_eq!(caller.ask(&["is-running", "x"]), "true\n");
    assert!(ProcessKey::of(i32::try_from(report["pid"].as_i64().unwrap()).unwrap()).is_some());
}

#[test]
fn session_with_a_killed_root_is_cleaned_up() {
    let caller = Caller::new();
    let report = caller.start("x", &json!({"command": "sleep 300", "env": {"OLD": "1"}}));
    caller.call(&["set-meta", "x", "key"], "old").exits(0);
    let run = caller.ask(&["get-meta", "x", "FAIRWAY_RUN_ID"]);
    kill(Pid::from_raw(i32::try_from(report["pid"].as_i64().unwrap()).unwrap()), Signal::SIGKILL).unwrap();
    eventually("its root is gone", || (caller.ask(&["is-running", "x"]) == "false\n").then_some(()));
    assert_eq!(caller.ask(&["list-running", ""]), "");
    assert!(!marked(&run).unwrap().is_empty());
    caller.start("x", &json!({"command": "sleep 300"}));
    assert!(marked(&run).unwrap().is_empty());
    for key in ["key", "OLD"] {
        assert_eq!(caller.ask(&["get-meta", "x", key]), "", "nothing of the dead one is the new one's");
    }
}

#[test]
fn many_sessions_start_are_interrupted_and_stop_at_once() {
    let caller = Caller::new();
    let names: Vec<String> = (0..8).map(|at| format!("a{}", "b".repeat(at))).collect();
    let all = |call: &(dyn Fn(&str) + Sync)| {
        std::thread::scope(|scope| {
            for name in &names {
                scope.spawn(move || call(name));
            }
        });
    };
    all(&|name| drop(caller.start(name, &json!({"command": "trap : INT; while :; do sleep 0.2; done"}))));
    all(&|name| drop(caller.ask(&["interrupt", name])));
    let listed = caller.ask(&["list-running", ""]);
    assert_eq!(listed.lines().collect::<Vec<_>>(), names.iter().map(String::as_str).collect::<Vec<_>>());
    all(&|name| drop(caller.ask(&["stop", name])));
    caller.is_empty();
}
