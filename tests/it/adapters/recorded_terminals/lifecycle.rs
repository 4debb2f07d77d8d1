//! A session from its start to its end.

use super::*;

with_each! {
    session_is_started_queried_and_stopped
    missing_sessions_and_unknown_operations_are_reported
    interrupted_start_leaves_nothing
    stop_ends_the_whole_tree
    racing_starts_of_one_name_succeed_once_and_of_many_all
    sessions_of_another_script_are_not_its_own
}

fn session_is_started_queried_and_stopped(caller: &Caller) {
    let name = "city/agent; touch x $(touch y) ^Z %n ..;";
    assert_eq!(caller.said(&["is-running", name]), "false\n");
    let work = caller.folder("work $HOME");
    let start = json!({"work_dir": work, "env": {"GC_GREETING": "hi there", "TMPDIR": ""}, "terminal": {"rows": 33, "cols": 177}});
    let command = r#"echo "$GC_GREETING [${TMPDIR-unset}]"; pwd; stty size; printf 'no newline   '; exec cat"#;
    let report = caller.start(name, command, start);
    assert_eq!((&report["session_name"], &report["status"]), (&json!(name), &json!("running")));
    assert!(
        report["pane"].is_string()
            && report["socket"]
                .as_str()
                .is_some_and(|folder| Path::new(folder).starts_with(caller.state.join(backend(caller)))),
        "{report}"
    );
    let key = ProcessKey::of(pid(&report)).unwrap();
    let server = server(caller, &report);
    let shown = format!("hi there [unset]\n{}\n33 177\nno newline\n", work.display());
    let seen = || caller.said(&["peek", name, "0"]);
    let came = fairway_core::os::poll_until::poll_until(Duration::from_secs(10), Duration::from_millis(20), || {
        (seen() == shown).then_some(())
    });
    assert!(came.is_some(), "{:?} is not {shown:?}", seen());
    assert_eq!(caller.said(&["peek", name, "2"]), "33 177\nno newline\n");
    assert_eq!(caller.said(&["peek", name, "-1"]), shown);
    // The transcript has every byte, from the first.
    let raw = format!("hi there [unset]\r\n{}\r\n33 177\r\nno newline   ", work.display());
    holds(Path::new(report["transcript"].as_str().unwrap()), raw.as_bytes());
    assert_eq!(fs::metadata(report["transcript"].as_str().unwrap()).unwrap().mode() & 0o777, 0o600);
    let folder = report["socket"].as_str().unwrap();
    assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);

    assert_eq!(caller.said(&["is-running", name]), "true\n");
    assert_eq!(caller.said(&["list-running", ""]), format!("{name}\n"));
    assert_eq!(caller.said(&["list-running", "city/"]), format!("{name}\n"));
    assert_eq!(caller.said(&["list-running", "city/*"]), "");
    assert_eq!(caller.call(&["process-alive", name], "nothing\ncat").exits(0).stdout, "true\n");
    assert_eq!(caller.call(&["process-alive", name], "ca\n").exits(0).stdout, "false\n");
    assert_eq!(caller.said(&["is-attached", name]), "false\n");
    assert!(caller.said(&["get-last-activity", name]).contains('T'));
    assert_eq!(caller.said(&["get-meta", name, "GC_GREETING"]), "hi there");
    caller.call(&["set-meta", name, "note"], "exact \n").exits(0);
    assert_eq!(caller.said(&["get-meta", name, "note"]), "exact \n");
    caller.said(&["remove-meta", name, "note"]);
    assert_eq!(caller.said(&["get-meta", name, "note"]), "");
    let again = caller.call(&["start", name], "{}").exits(1);
    assert!(again.stderr.contains("already exists"), "{again:?}");
    assert_eq!(caller.said(&["is-running", name]), "true\n");

    caller.said(&["stop", name]);
    assert_ne!(ProcessKey::of(pid(&report)), Some(key));
    assert_ne!(server.status(), ProcessStatus::Alive);
    assert_eq!(caller.said(&["is-running", name]), "false\n");
    assert_eq!(caller.said(&["list-running", ""]), "");
    caller.said(&["stop", name]);
    assert!(!work.join("x").exists() && !work.join("y").exists());
    nothing_is_left(caller);
    let left: Vec<_> = fs::read_dir(&caller.state).unwrap().flatten().map(|one| one.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("s-")), "{left:?}");
}

fn missing_sessions_and_unknown_operations_are_reported(caller: &Caller) {
    assert_missing_sessions_are_reported(caller);
    // Without the multiplexer nothing is told, and nothing taken for gone.
    let mut command = caller.command(&["start", "x"]);
    command.env("PATH", caller.folder("empty"));
    called(command, b"{}").exits(1);
    nothing_is_left(caller);
}

fn interrupted_start_leaves_nothing(caller: &Caller) {
    for start in [
        json!({"command": "sleep 300", "pre_start": ["sleep 20"]}),
        json!({"command": "sleep 300", "ready_prompt_prefix": "never"}),
        json!({"command": "setsid -f sleep 300; sleep 300", "session_setup": ["sleep 20"]}),
    ] {
        let mut command = caller.command(&["start", "x"]);
        command.process_group(0);
        let child = given(command, start.to_string().as_bytes());
        let group = Pid::from_raw(i32::try_from(child.id()).unwrap());
        let begun = |name: &str| caller.state.join("s-x").join(name).exists();
        let is_early = start.get("pre_start").is_some();
        eventually("it is under way", || begun(if is_early { "start.json" } else { "program" }).then_some(()));
        killpg(group, Signal::SIGTERM).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert!(!ended.status.success(), "{ended:?}");
        assert_eq!(caller.said(&["is-running", "x"]), "false\n");
        assert_eq!(caller.said(&["list-running", ""]), "");
        assert!(!caller.state.join("s-x").exists(), "{start}");
        nothing_is_left(caller);
    }
    caller.start("x", "exec cat", json!({}));
    caller.said(&["stop", "x"]);
}

fn stop_ends_the_whole_tree(caller: &Caller) {
    let pids = caller.folder("out").join("pids");
    let tree = format!(
        r#"trap '' TERM HUP
        for kind in '' 'setsid -f' nohup; do $kind sh -c 'trap "" TERM HUP; echo $$ >>"$1"; while :; do sleep 1; done' sh '{}' & done
        wait"#,
        pids.display()
    );
    caller.start("x", &tree, json!({}));
    let read = || fs::read_to_string(&pids).unwrap_or_default();
    eventually("all are up", || (read().lines().count() == 3).then_some(()));
    let keys: Vec<_> = read().lines().map(|pid| ProcessKey::of(pid.parse().unwrap()).unwrap()).collect();
    caller.said(&["stop", "x"]);
    assert!(keys.iter().all(|key| key.status() != ProcessStatus::Alive));
    nothing_is_left(caller);
}

fn racing_starts_of_one_name_succeed_once_and_of_many_all(caller: &Caller) {
    let configs = caller.folder("configs").join("x");
    fs::write(&configs, r#"{"command":"exec cat"}"#).unwrap();
    let start = |name: &str| {
        let mut command = caller.command(&["start", name]);
        command.stdin(fs::File::open(&configs).unwrap());
        command
    };
    let runs: Vec<CommandOutput> = race(4, |_| start("x")).into_iter().map(CommandOutput::from).collect();
    let (won, lost): (Vec<_>, Vec<_>) = runs.iter().partition(|run| run.code == Some(0));
    assert_eq!(won.len(), 1, "{runs:?}");
    assert!(lost.iter().all(|run| run.code == Some(1) && run.stderr.contains("already exists")), "{lost:?}");
    assert_eq!(caller.said(&["is-running", "x"]), "true\n");
    let names = ["y1", "y2", "y3", "y4", "y5", "y6", "y7", "y8"];
    let runs: Vec<CommandOutput> = race(8, |at| start(names[at])).into_iter().map(CommandOutput::from).collect();
    assert!(runs.iter().all(|run| run.code == Some(0)), "{runs:?}");
    assert_eq!(caller.said(&["list-running", ""]), "x\ny1\ny2\ny3\ny4\ny5\ny6\ny7\ny8\n");
    assert_eq!(caller.said(&["list-running", "y3"]), "y3\n");
    let servers: BTreeSet<i32> = runs.iter().map(|run| server(caller, &run.json()).pid).collect();
    assert_eq!(servers.len(), 8, "each has its own");
    race(8, |at| caller.command(&["stop", names[at]]));
    assert_eq!(caller.said(&["list-running", ""]), "x\n");
    caller.said(&["stop", "x"]);
    nothing_is_left(caller);
}

fn sessions_of_another_script_are_not_its_own(caller: &Caller) {
    let other = caller.script.with_file_name("shell.sh");
    let call = |args: &[&str], stdin: &[u8]| {
        let mut command = caller.world.command(&other);
        command.args(args).env("FAIRWAY_BIN", FAIRWAY).env("GC_EXEC_STATE_DIR", &caller.state);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        called(command, stdin)
    };
    call(&["start", "theirs"], br#"{"command":"exec cat"}"#).exits(0);
    caller.start("ours", "exec cat", json!({}));
    assert_eq!(caller.said(&["list-running", ""]), "ours\n");
    assert_eq!(caller.said(&["is-running", "theirs"]), "false\n");
    let taken = caller.call(&["start", "theirs"], "{}").exits(1);
    assert!(taken.stderr.contains("already exists"), "{taken:?}");
    assert_eq!(call(&["is-running", "theirs"], b"").exits(0).stdout, "true\n");
    caller.said(&["stop", "ours"]);
    call(&["stop", "theirs"], b"").exits(0);
}
