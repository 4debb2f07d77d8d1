//! Asking for a run: what is refused, what is kept, and what a repeat does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use fairway_core::os::poll_until;

use super::job_project::{JobProject, WAIT_TIMEOUT};
use crate::common::TestProject;
use crate::common::test_project::FAIRWAY;

#[test]
fn invalid_spawn_is_refused_and_leaves_nothing() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    fs::write(place.dir.join("file"), "").unwrap();
    for (words, code, what) in [
        (&["--", ""][..], "invalid_value", "command"),
        (&["--shell", " "], "invalid_value", "command"),
        (&["--shell", "x", "--", "y"], "usage", "--shell"),
        (&[], "usage", "--shell"),
        (&["--cwd", "nowhere", "--", "true"], "invalid_value", "nowhere"),
        (&["--cwd", "file", "--", "true"], "invalid_value", "file"),
        (&["--timeout", "0s", "--", "true"], "invalid_value", "timeout"),
        (&["--max-output", "0", "--", "true"], "invalid_value", "max_output_bytes"),
        (&["--max-output", "1PiB", "--", "true"], "usage", "bytes"),
        (&["--env", "=x", "--", "true"], "invalid_value", "env"),
        (&["--watch", "(", "--", "true"], "usage", "watch"),
        (&["--recovery", "maybe", "--", "true"], "usage", "maybe"),
        (&["--queue", " ", "--", "true"], "invalid_value", "queue"),
        (&["--size", "1x1", "--", "true"], "usage", "--pty"),
        (&["--notify", "a b", "--", "true"], "usage", "session key"),
    ] {
        let run = place.run(["exec", "spawn", "--json"].into_iter().chain(words.iter().copied()));
        let error = run.error();
        assert_eq!((run.code, error["code"].as_str()), (Some(2), Some(code)), "{words:?}: {run:?}");
        assert!(run.stderr.contains(what), "{words:?}: {run:?}");
    }
    // Longer than a text may be, though a program could be given it.
    let long = "x".repeat(100 << 10);
    let words = ["exec", "spawn", "--json", "--", "echo", &long, &long, &long];
    place.run(words).refuses(2, "invalid_value");
    assert!(place.rows().is_empty());
    assert!(fs::read_dir(place.dir.join(".fairway/runs")).map_or(0, Iterator::count) == 0);
    // An acting session must be known, unless the run is for another key.
    place.run(["exec", "spawn", "--session", "ghost", "--json", "--", "true"]).refuses(3, "not_found");
    assert!(place.rows().is_empty());
    place.run(["exec", "spawn", "--session", "ghost", "--notify", "ghost", "--", "true"]).exits(0);
    place.wait_all_final("a foreign key");
    place.wait_no_processes("refusals");
}

#[test]
fn repeat_of_a_request_starts_nothing_twice() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let words = ["exec", "spawn", "--request-id", "r-1", "--json", "--shell", "echo ran >>ran"];
    let first = place.run(words).exits(0).json();
    place.wait_all_final("a request");
    assert_eq!(place.run(words).exits(0).json(), first);
    let other = ["exec", "spawn", "--request-id", "r-1", "--json", "--", "true"];
    place.run(other).refuses(2, "request_reused");
    assert_eq!((place.rows().len(), place.count("ran", "ran")), (1, 1));
    assert_eq!(super::job_project::job_dirs_without_row(&place), Vec::<String>::new());
    place.wait_no_processes("a request");
}

/// The files below a folder that hold the canary.
fn walk(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if fs::read(&path).is_ok_and(|text| text.windows(15).any(|part| part == b"c4n4ry-d34db33f")) {
            found.push(path);
        }
    }
}

#[test]
fn environment_file_is_private_and_removed_after_use() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let text = "echo \"$CANARY ${GONE-unset} $EMPTY.\" >seen; while [ ! -e go ]; do sleep 0.02; done";
    let mut command = place.fairway([
        "exec", "spawn", "--quiet", "--env", "CANARY=c4n4ry-d34db33f", "--env", "GONE", "--env", "EMPTY=", "--shell",
        text,
    ]);
    let run = command.env("GONE", "here").output().unwrap();
    let run = String::from_utf8(run.stdout).unwrap().trim().to_owned();
    poll_until::poll_until(WAIT_TIMEOUT, Duration::from_millis(10), || place.dir.join("seen").exists().then_some(()))
        .unwrap();
    let folder = place.dir.join(".fairway/runs").join(&run);
    let start = folder.join("start");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&start)), (0o700, 0o600));
    fs::write(place.dir.join("go"), "").unwrap();
    place.wait_all_final("an environment");
    place.wait_no_processes("an environment");
    assert_eq!(fs::read_to_string(place.dir.join("seen")).unwrap(), "c4n4ry-d34db33f unset .\n");
    let mut found = Vec::new();
    walk(&place.dir.join(".fairway"), &mut found);
    assert_eq!(found, Vec::<std::path::PathBuf>::new());
}

#[test]
fn foreground_waits_for_the_end_and_yield_only_for_a_while() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let ended = place.run(["exec", "spawn", "--foreground", "--json", "--shell", "echo out; exit 3"]).exits(7).json();
    assert_eq!((ended["status"].as_str(), ended["exit_code"].as_i64()), (Some("failed"), Some(3)), "{ended:#}");
    assert_eq!(ended["snippet"], "out\n");
    place.run(["exec", "spawn", "--foreground", "--", "true"]).exits(0);
    let soon = place.run(["exec", "spawn", "--json", "--wait-for", "20s", "--", "echo", "soon"]).exits(0).json();
    assert_eq!((soon["status"].as_str(), soon["snippet"].as_str()), (Some("succeeded"), Some("soon\n")), "{soon:#}");
    let later = place.json(["exec", "spawn", "--wait-for", "1s", "--shell", "while [ ! -e go ]; do sleep 0.02; done"]);
    // As it stands by then, and not as it was asked for.
    assert!(later.get("snippet").is_none() && later["status"] == "running", "{later:#}");
    fs::write(place.dir.join("go"), "").unwrap();
    place.wait_all_final("yield");
    place.wait_no_processes("yield");
}

#[test]
fn foreground_job_behind_its_own_waiter_is_refused() {
    let world = TestProject::new();
    let place = JobProject::of_world(&world);
    let inner = |queue: &str| format!("{FAIRWAY} exec spawn --queue '{queue}' --foreground -- echo inner 2>&1");
    let text = format!("{}; {}; {}", inner("same"), inner("other"), inner(""));
    let run = place.spawn(["--queue", "same", "--timeout", "20s", "--shell", &text]);
    place.run(["exec", "wait", &run]).exits(0);
    let seen = place.log(&run, "stdout");
    assert!(seen.contains("error: it would wait in the queue 'same' behind job "), "{seen}");
    assert_eq!(seen.matches("inner\n[end]").count(), 2, "{seen}");
}
