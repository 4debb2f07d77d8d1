//! The multiplexer's server of a session: frozen, killed, and free of its caller.

use super::*;

with_each! {
    frozen_server_fails_calls_and_never_answers_false
    killed_server_takes_its_program_along
    server_ends_with_its_program
    server_keeps_no_lock_of_its_caller
    caller_environment_stays_out_of_program_and_server
    server_outlives_the_session_that_started_it
}

fn frozen_server_fails_calls_and_never_answers_false(caller: &Caller) {
    let report = caller.start("x", "exec cat", json!({}));
    let server = server(caller, &report);
    server.signal(Signal::SIGSTOP).unwrap();
    let why = format!("{} did not answer", backend(caller));
    let mut asked = vec![&["is-attached", "x"][..], &["clear-scrollback", "x"], &["attach", "x"]];
    // screen's display can be read without it.
    if backend(caller) == "zellij" {
        asked.push(&["peek", "x", "0"]);
    }
    for args in asked {
        let begun = Instant::now();
        let run = caller.call(args, "").exits(1);
        let took = begun.elapsed();
        assert!(run.stdout.is_empty() && run.stderr.contains(&why), "{args:?}: {run:?}");
        crate::common::soak::took(took, ..Duration::from_millis(2_500), args[0]);
    }
    // Operations without the server are answered, and typing needs none.
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    assert_eq!(caller.said(&["list-running", ""]), "x\n");
    assert_eq!(caller.call(&["process-alive", "x"], "cat").exits(0).stdout, "true\n");
    caller.call(&["nudge", "x"], "while frozen").exits(0);
    let again = caller.call(&["start", "x"], "{}").exits(1);
    assert!(again.stderr.contains("already exists"), "{again:?}");
    server.signal(Signal::SIGCONT).unwrap();
    assert_eq!(caller.said(&["is-attached", "x"]), "false\n", "nobody waits for an answer that did not come");
    eventually("it is shown", || caller.said(&["peek", "x", "0"]).contains("while frozen").then_some(()));
    // Frozen or not, stop leaves nothing.
    server.signal(Signal::SIGSTOP).unwrap();
    caller.said(&["stop", "x"]);
    assert_ne!(server.status(), ProcessStatus::Alive);
    nothing_is_left(caller);
}

fn killed_server_takes_its_program_along(caller: &Caller) {
    let transcript = caller.folder("out").join("t");
    let stubborn = "trap 'echo told' HUP; echo up; while :; do sleep 0.1; done";
    let report = caller.start("x", stubborn, json!({"transcript": transcript}));
    let root = ProcessKey::of(pid(&report)).unwrap();
    holds(&transcript, b"up\r\n");
    server(caller, &report).signal(Signal::SIGKILL).unwrap();
    eventually("it ends, told and then killed", || (root.status() != ProcessStatus::Alive).then_some(()));
    assert!(fs::read_to_string(&transcript).unwrap().contains("told"));
    assert_eq!(caller.said(&["is-running", "x"]), "false\n");
    assert_eq!(caller.said(&["list-running", ""]), "");
    caller.start("x", "exec cat", json!({}));
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    caller.said(&["stop", "x"]);
    nothing_is_left(caller);
}

fn server_ends_with_its_program(caller: &Caller) {
    let folder = caller.folder("out");
    for round in 0..3 {
        let transcript = folder.join(format!("t{round}"));
        let start = json!({"transcript": transcript, "lifecycle": "one_shot"});
        let report = caller.start("x", "seq 1 20000; echo the end", start);
        assert!(["ended", "running"].contains(&report["status"].as_str().unwrap()), "{report}");
        let all: String = (1..=20_000).map(|number| format!("{number}\r\n")).collect::<String>() + "the end\r\n";
        holds(&transcript, all.as_bytes());
        eventually("it has ended", || (caller.said(&["is-running", "x"]) == "false\n").then_some(()));
    }
    nothing_is_left(caller);
    // Its output can be read when it has ended.
    let start = json!({"command": "echo last words; sleep 0.5", "lifecycle": "one_shot"});
    caller.call(&["start", "y"], start.to_string()).exits(0);
    eventually("it has ended", || (caller.said(&["is-running", "y"]) == "false\n").then_some(()));
    assert_eq!(caller.said(&["peek", "y", "0"]).replace('\r', ""), "last words\n");
    nothing_is_left(caller);
    if backend(caller) == "zellij" {
        let folders = || fs::read_dir(caller.state.join("zellij")).unwrap().count();
        eventually("its folder is cleared away", || (folders() == 0).then_some(()));
    }
    caller.said(&["stop", "y"]);
}

fn server_keeps_no_lock_of_its_caller(caller: &Caller) {
    let lock = caller.world.dir().join("lock");
    let start = caller.folder("configs").join("x");
    fs::write(&start, r#"{"command":"sleep 300"}"#).unwrap();
    let text = r#"exec 7>"$1"; flock -n 7 || exit 9; exec {high}>"$1.high"; flock -n "$high" || exit 9; exec "$2" start x <"$3""#;
    let command = caller.command(&[]);
    let env: Vec<_> = command.get_envs().map(|(name, value)| (name.to_owned(), value.unwrap().to_owned())).collect();
    let mut bash = Command::new("bash");
    bash.args(["-c", text, "bash"]).args([&lock, &caller.script, &start]).env_clear().envs(env);
    assert!(bash.stdout(Stdio::null()).status().unwrap().success());
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    for lock in [lock.clone(), lock.with_file_name("lock.high")] {
        let free = Command::new("flock").arg("-n").arg(&lock).arg("true").status().unwrap();
        assert!(free.success(), "{}", lock.display());
    }
    caller.said(&["stop", "x"]);
}

fn caller_environment_stays_out_of_program_and_server(caller: &Caller) {
    let mut command = caller.command(&["start", "x"]);
    for name in ["FAIRWAY_SESSION_ID", "FAIRWAY_LAUNCH", "TMUX", "STY", "WINDOW", "ZELLIJ", "ZELLIJ_SESSION_NAME"] {
        command.env(name, "surrounding");
    }
    command.env("OWN", "value").env("FAIRWAY_RUN_ID", "surrounding");
    let start = json!({"command": "env; exec cat", "env": {"BIG": "x".repeat(40_000)}});
    let report = called(command, start.to_string().as_bytes()).exits(0).json();
    let shown = eventually("it has printed", || {
        let shown = fs::read_to_string(caller.state.join("s-x/transcript")).unwrap_or_default().replace("\r\n", "\n");
        shown.contains("\nPATH=").then_some(shown)
    });
    let value = |name: &str| shown.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
    assert_eq!((value("OWN"), value("BIG").map(str::len)), (Some("value"), Some(40_000)));
    assert!(!shown.contains("surrounding") && value("TERM").is_some(), "{shown}");
    let pane = if backend(caller) == "screen" { ("STY", "WINDOW") } else { ("ZELLIJ_SESSION_NAME", "ZELLIJ_PANE_ID") };
    assert!(value(pane.0).is_some() && value(pane.1) == Some("0"), "{shown}");
    let ours: Vec<&str> = shown.lines().filter(|line| line.starts_with("FAIRWAY_")).collect();
    assert!(ours.len() == 1 && ours[0].starts_with("FAIRWAY_RUN_ID="), "{ours:?}");
    // Nor does the server carry anything of who started it.
    let around = fs::read(format!("/proc/{}/environ", server(caller, &report).pid)).unwrap();
    let around = String::from_utf8_lossy(&around).into_owned();
    assert!(!around.contains("surrounding"), "{around}");
    assert!(around.split('\0').any(|entry| entry == "FAIRWAY_RUN_ID=server"));
    caller.said(&["stop", "x"]);
}

fn server_outlives_the_session_that_started_it(caller: &Caller) {
    let inner = format!(
        r#"printf '%s' '{{"command":"sleep 300"}}' | FAIRWAY_BIN='{FAIRWAY}' FAIRWAY_ADAPTER_STATE='{}' '{}' start inner; exec sleep 300"#,
        caller.folder("inner").display(),
        caller.script.display(),
    );
    caller.start("outer", &inner, json!({}));
    let inside = |args: &[&str]| {
        let mut command = caller.command(args);
        command.env("FAIRWAY_ADAPTER_STATE", caller.folder("inner"));
        called(command, b"").exits(0).stdout
    };
    eventually("the inner one is up", || caller.said(&["peek", "outer", "0"]).contains("running").then_some(()));
    caller.said(&["stop", "outer"]);
    assert_eq!(inside(&["is-running", "inner"]), "true\n");
    assert_eq!(inside(&["peek", "inner", "0"]), "");
    inside(&["stop", "inner"]);
    assert_eq!(inside(&["is-running", "inner"]), "false\n");
}
