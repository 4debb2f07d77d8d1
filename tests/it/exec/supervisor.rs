//! One run and whoever looks after it: what it says of the end is what happened, and nothing of the run is left.

use std::fs;
use std::time::Duration;

use fairway_core::os::poll_until;
use fairway_core::os::process::ProcessKey;
use nix::sys::signal::Signal;
use serde_json::Value;

use super::job_project::{JobProject, WAIT_TIMEOUT};
use crate::common::TestProject;
use crate::common::test_project::FAIRWAY;

/// The run once it is final.
#[track_caller]
fn ended(place: &JobProject<'_>, run: &str) -> Value {
    let seen = place.json(["exec", "poll", run, "--until", "exit", "--wait", "30s"]);
    assert!(!["queued", "starting", "running"].contains(&seen["status"].as_str().unwrap()), "{seen}");
    seen
}

/// Waits until a file of the project holds something, and answers with it.
#[track_caller]
fn told(place: &JobProject<'_>, file: &str) -> String {
    let path = place.dir.join(file);
    let read = || fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'));
    poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(10), read).unwrap_or_else(|| panic!("nothing in {file}"))
}

#[track_caller]
fn events<'a>(seen: &'a Value, name: &str) -> Vec<&'a Value> {
    seen["items"].as_array().unwrap().iter().filter(|item| item["meta"]["event"] == name).collect()
}

#[test]
fn exit_codes_and_signals_are_recorded() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    for (text, status, code, signal, why) in [
        ("exit 0", "succeeded", Some(0), None, None),
        ("exit 7", "failed", Some(7), None, None),
        ("exit 143", "failed", Some(143), None, None),
        ("kill -9 $$", "failed", None, Some(9), Some("it was ended by SIGKILL")),
        ("kill -40 $$", "failed", None, Some(40), Some("it was ended by 40")),
    ] {
        let run = place.spawn(["--shell", text]);
        let seen = ended(&place, &run);
        let got = (seen["status"].as_str(), seen["exit_code"].as_i64(), seen["signal"].as_i64());
        assert_eq!(got, (Some(status), code, signal), "{text}: {seen}");
        assert_eq!(seen["error_message"].as_str(), why, "{text}");
        assert_eq!(events(&seen, "end").len(), 1, "{seen}");
    }
    place.wait_no_processes("all have ended");
}

#[test]
fn unstartable_command_fails_with_the_reason() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    fs::write(place.dir.join("text"), "no program").unwrap();
    fs::create_dir(place.dir.join("gone")).unwrap();
    let hold = place.spawn(["--queue", "q", "--", "sleep", "60"]);
    let late = place.spawn(["--queue", "q", "--cwd", "gone", "--", "true"]);
    fs::remove_dir(place.dir.join("gone")).unwrap();
    place.json(["exec", "kill", &hold]);
    let runs = [
        (place.spawn(["--", "no-such-program", "x"]), "'no-such-program' cannot be run: No such file or directory"),
        (place.spawn(["--", "./text"]), "'./text' cannot be run: Permission denied"),
        (late, "gone does not exist"),
    ];
    for (run, why) in runs {
        let seen = ended(&place, &run);
        assert_eq!((seen["status"].as_str(), &seen["exit_code"]), (Some("failed"), &Value::Null), "{seen}");
        assert!(seen["error_message"].as_str().unwrap().contains(why), "{seen}");
    }
    place.assert_stores_valid();
}

#[test]
fn escaped_processes_are_killed_and_reported() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let text = "setsid sh -c 'trap \"\" TERM; echo $$ >escaped; exec sleep 600' >/dev/null 2>&1 & \
                sh -c 'trap \"\" TERM; echo $$ >deaf; while :; do sleep 1; done' & \
                yes & echo $! >chatty; \
                until [ -s escaped ] && [ -s deaf ]; do sleep 0.01; done; exit 3";
    let run = place.spawn(["--shell", text]);
    let key = |file: &str| ProcessKey::of(told(&place, file).trim().parse().unwrap());
    let seen = ended(&place, &run);
    assert_eq!((seen["status"].as_str(), seen["exit_code"].as_i64()), (Some("failed"), Some(3)));
    for file in ["escaped", "deaf", "chatty"] {
        assert_eq!(key(file), None, "{file}");
    }
    let seen = place.json(["exec", "log", &run, "--stream", "event"]);
    let left = events(&seen, "leftovers");
    let named = left[0]["payload"].as_str().unwrap();
    assert!(left.len() == 1 && named.contains("yes (") && named.contains("sleep ("), "{seen}");
    place.wait_no_processes("the run has ended");
}

#[test]
fn job_timeout_kills_the_process_tree() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let text = "sh -c 'trap \"\" TERM; while :; do sleep 1; done' & sleep 600";
    let run = place.spawn(["--timeout", "300ms", "--shell", text]);
    let seen = ended(&place, &run);
    assert_eq!(seen["status"], "timed_out");
    assert_eq!(seen["error_message"], "it ran longer than 300ms");
    assert_eq!(seen["signal"], 15);
    place.wait_no_processes("time is over");
}

#[test]
fn supervisor_that_is_told_to_end_takes_its_run_along() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT] {
        let run = place.spawn(["--shell", "echo up; sleep 600"]);
        place.json(["exec", "poll", &run, "--until", "output", "--wait", "30s"]);
        assert!(place.supervisor(&run).unwrap().signal(signal).unwrap());
        let seen = ended(&place, &run);
        assert_eq!(seen["status"], "canceled");
        assert_eq!(seen["error_message"], format!("its supervisor was ended by {signal}"));
    }
    place.wait_no_processes("all were ended");
}

/// How often a process has gone to sleep, and how many ticks it has used.
fn wakes(key: &ProcessKey) -> (String, Vec<u64>) {
    let status = fs::read_to_string(format!("/proc/{}/status", key.pid)).unwrap();
    let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap().to_owned();
    let stat = fs::read_to_string(format!("/proc/{}/stat", key.pid)).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    (line, fields[11..13].iter().map(|field| field.parse().unwrap()).collect())
}

#[test]
#[ignore = "it measures time; `just soak` runs it"]
fn idle_supervisor_never_wakes() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = place.spawn(["--queue", "", "--shell", "echo up; sleep 600"]);
    place.json(["exec", "poll", &run, "--until", "output", "--wait", "30s"]);
    let other = place.spawn(["--queue", "", "--", "sleep", "1"]);
    ended(&place, &other);
    // The first second has passed by the other's clock: whatever followed the beginning is over.
    let before = wakes(&place.supervisor(&run).unwrap());
    let other = place.spawn(["--queue", "", "--", "sleep", "3"]);
    ended(&place, &other);
    assert_eq!(wakes(&place.supervisor(&run).unwrap()), before);
    place.json(["exec", "kill", &run]);
}

#[test]
fn program_reads_its_stdin_and_then_end_of_file() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let text = "0123456789abcdef".repeat(15_000);
    let run = world
        .run_with_stdin(["exec", "spawn", "--quiet", "--stdin", "-", "--shell", "sleep 0.2; wc -c"], text.as_bytes())
        .exits(0);
    let seen = ended(&place, run.stdout.trim());
    assert_eq!((seen["status"].as_str(), seen["snippet"].as_str()), (Some("succeeded"), Some("240000\n")), "{seen}");
    // One that does not read it is not waited for; one that was given nothing reads the end.
    let run =
        world.run_with_stdin(["exec", "spawn", "--quiet", "--stdin", "-", "--", "true"], text.as_bytes()).exits(0);
    assert_eq!(ended(&place, run.stdout.trim())["status"], "succeeded");
    assert_eq!(ended(&place, &place.spawn(["--", "cat"]))["status"], "succeeded");
}

#[test]
fn program_inherits_no_descriptor_and_ignores_no_signal() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let text = "ls -l /proc/self/fd >fds; grep -E 'Sig(Ign|Blk)' /proc/self/status >signals";
    for pty in [&["--pty"][..], &[]] {
        let words = ["exec", "spawn", "--quiet", "--shell", text];
        // As a shell does with what it starts in the background.
        let mut command = place.world.command("/bin/sh");
        command.args(["-c", "trap '' INT HUP USR1 PIPE; exec \"$0\" \"$@\"", FAIRWAY]).args(words).args(pty);
        let run: crate::common::test_project::CommandOutput = command.output().unwrap().into();
        ended(&place, run.exits(0).stdout.trim());
        let fds = fs::read_to_string(place.dir.join("fds")).unwrap();
        let open: Vec<&str> = fds.lines().filter_map(|line| line.split_once(" -> ")).map(|(_, file)| file).collect();
        // The three streams, and the folder that is being listed.
        assert!(open.len() == 4 && !fds.contains("socket:") && !fds.contains(".fairway"), "{fds}");
        let signals = fs::read_to_string(place.dir.join("signals")).unwrap();
        let numbers = signals.lines().map(|line| u64::from_str_radix(&line[line.len() - 16..], 16).unwrap());
        // 32 and 33 are the C library's own, and it hands them on as they came.
        assert!(signals.lines().count() == 2 && numbers.into_iter().all(|set| set & !(3 << 31) == 0), "{signals}");
    }
    place.run(["exec", "spawn", "--pty", "--stdin", "x", "--json", "--", "cat"]).refuses(2, "usage");
}

#[test]
fn file_size_limit_ends_capture_not_the_job() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let text = "echo ran >>ran; yes | head -c 30000000; exit 3";
    let words = ["exec", "spawn", "--quiet", "--max-output", "64MiB", "--shell", text];
    let mut command = place.world.command("/bin/sh");
    // 8 MiB, in the shell's blocks.
    command.args(["-c", "ulimit -f 16384; exec \"$0\" \"$@\"", FAIRWAY]).args(words);
    let run: crate::common::test_project::CommandOutput = command.output().unwrap().into();
    let run = run.exits(0).stdout.trim().to_owned();
    let seen = ended(&place, &run);
    assert_eq!((seen["exit_code"].as_i64(), seen["attempt"].as_i64()), (Some(3), Some(1)), "{seen}");
    assert!(seen["truncated"] == true && place.count("ran", "ran") == 1, "{seen}");
}

#[test]
fn ignored_sigchld_of_the_caller_is_reset() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    for (words, code) in [(&["exec", "spawn", "--foreground"][..], 7), (&["exec", "call", "--file", "call"], 0)] {
        fs::write(place.dir.join("call"), r#"{"command": "sleep 0.1; exit 3"}"#).unwrap();
        let mut command = place.world.command("env");
        command.args(["--ignore-signal=CHLD", FAIRWAY]).args(words).current_dir(&place.dir);
        if code == 7 {
            command.args(["--shell", "sleep 0.1; exit 3"]);
        }
        let run: crate::common::test_project::CommandOutput = command.output().unwrap().into();
        let said = run.exits(code);
        assert!(format!("{}{}", said.stdout, said.stderr).contains("exit code 3"), "{said:?}");
    }
}

#[test]
fn secrets_in_a_command_are_masked_in_the_stores() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let run = place.spawn(["--", &format!("./{secret}"), &format!("--token={secret}")]);
    let seen = ended(&place, &run);
    assert!(seen["error_message"].as_str().unwrap().contains("cannot be run"), "{seen}");
    place.wait_no_processes("it could not be run");
    for entry in fs::read_dir(place.dir.join(".fairway")).unwrap().map(Result::unwrap) {
        let Ok(bytes) = fs::read(entry.path()) else { continue };
        assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "{:?}", entry.path());
    }
}

#[test]
fn job_started_by_a_job_is_independent() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let text = format!("{FAIRWAY} exec spawn --queue '' --quiet -- sleep 600 >inner");
    let outer = place.spawn(["--queue", "", "--shell", &text]);
    let seen = ended(&place, &outer);
    assert_eq!(seen["status"], "succeeded", "{seen}");
    assert!(events(&seen, "leftovers").is_empty(), "{seen}");
    let inner = told(&place, "inner").trim().to_owned();
    let up = || (place.json(["exec", "poll", &inner])["status"] == "running").then_some(());
    assert!(poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(20), up).is_some());
    assert_eq!(place.json(["exec", "kill", &inner])["status"], "canceled");
}

#[test]
fn program_prints_on_while_the_stores_are_locked() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let text = "echo up; until [ -e go ]; do sleep 0.01; done; head -c 3000000 /dev/zero | tr '\\0' x; echo >done";
    let run = place.spawn(["--watch", "up=up", "--shell", text]);
    place.json(["exec", "poll", &run, "--until", "output", "--wait", "30s"]);
    let (state, output) = (place.store(), place.output().unwrap());
    state.execute_batch("BEGIN IMMEDIATE").unwrap();
    output.execute_batch("BEGIN IMMEDIATE").unwrap();
    fs::write(place.dir.join("go"), "").unwrap();
    let printed = || place.dir.join("done").exists().then_some(());
    assert!(
        poll_until::poll_until(Duration::from_secs(8), Duration::from_millis(20), printed).is_some(),
        "it could not print"
    );
    drop((state, output));
    let seen = ended(&place, &run);
    assert_eq!(
        (seen["status"].as_str(), seen["output_bytes"].as_i64()),
        (Some("succeeded"), Some(3_000_003)),
        "{seen}"
    );
}

#[test]
fn end_is_recorded_in_a_store_restored_meanwhile() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = place.spawn(["--shell", "echo up; until [ -e go ]; do sleep 0.01; done; exit 4"]);
    place.json(["exec", "poll", &run, "--until", "output", "--wait", "30s"]);
    place.run(["backup", "kept.db"]).exits(0);
    place.run(["restore", "kept.db"]).exits(0);
    fs::write(place.dir.join("go"), "").unwrap();
    let seen = ended(&place, &run);
    assert_eq!((seen["status"].as_str(), seen["exit_code"].as_i64()), (Some("failed"), Some(4)), "{seen}");
    place.wait_no_processes("it has ended");
    place.assert_stores_valid();
}

#[test]
fn job_is_taken_by_its_named_supervisor_only() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let run = place.spawn(["--shell", "echo up; sleep 600"]);
    place.run(["exec", "supervise", &run, "--json"]).refuses(2, "usage");
    place.run(["exec", "supervise", "x", "--json"]).refuses(2, "invalid_value");
    assert_eq!(place.json(["exec", "kill", &run])["status"], "canceled");
}
